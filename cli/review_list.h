/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as a list to go through, on the whole terminal. */
#pragma once

#include "review_act.h"

/* Failures to show the list are returned; then nothing was decided. */
int review_list(struct review *r, struct airlock_error *err);
