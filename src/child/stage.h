/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The stage before the backend; see child_job.h. Freestanding. */
__attribute__((noreturn)) void stage_main(void);
