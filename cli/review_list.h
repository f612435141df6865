/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as a list on the whole terminal. */
#pragma once

#include "review_act.h"

/* Returns failures to show the list; then nothing was decided. */
int review_list(struct review *r, struct airlock_error *err);
