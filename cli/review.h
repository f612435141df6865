/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--changes ask` and `airlock review`: the person at the terminal decides about the changes of a run. */
#pragma once

#include <airlock/airlock.h>

/* A list on the whole terminal, or questions line by line if that is impossible. Whatever is not clearly decided stays
 * held. Prints the result on stderr. run: a whole id. 1: no change is held. */
int review(const struct airlock_settings *s, const char *run, struct airlock_error *err);
