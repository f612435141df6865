/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--changes ask`: the person at the terminal decides what becomes of the changes of the run that has just ended. */
#pragma once

#include <airlock/airlock.h>

/* text: the library's lines. Whatever is not clearly decided stays held. Failures are told, not returned: the exit
 * status belongs to the command that was run. */
void review(const struct airlock_settings *s, const char *run, const char *text);
