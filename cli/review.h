/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--changes ask` and `airlock review`: the person at the terminal decides what becomes of the changes of a run. */
#pragma once

#include <airlock/airlock.h>

/* A list on the whole terminal, or questions in lines where that cannot be shown. Whatever is not clearly decided stays
 * held. Says on stderr how things stand afterwards. run: a whole id. 1: nothing waits. */
int review(const struct airlock_settings *s, const char *run, struct airlock_error *err);
