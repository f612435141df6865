/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The caller's terminal in another mode for a while.
 *
 *   struct terminal t = TERMINAL_INIT;
 *   if (terminal_raw(&t, STDIN_FILENO, &err) < 0) …
 *   terminal_restore(&t);                 does nothing when nothing was changed
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include <airlock/airlock.h>

struct terminal {
	int fd; /* borrowed; -1 when there is nothing to put back */
	struct termios saved;
};
#define TERMINAL_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* Passes every byte in both directions unchanged: a pty below does the rest. */
int terminal_raw(struct terminal *t, int fd, struct airlock_error *err);
/* Keys as they are pressed, not echoed; Ctrl-C is an ordinary key. Drops what was typed before. */
int terminal_keys(struct terminal *t, int fd, struct airlock_error *err);
void terminal_restore(struct terminal *t);

/* True if this process may use the terminal; from the background it would be stopped. */
bool terminal_is_ours(int fd);
