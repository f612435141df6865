/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of reports and records for the enumerations of change.h, in their order, NULL-terminated. */
#pragma once

extern const char *const change_kind_names[];
extern const char *const change_type_names[];
extern const char *const change_state_names[];
extern const char *const change_verdict_names[];
