/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies the caller's standard input to the command's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct input {
	int source;	   /* our own duplicate of the caller's, or -EBADF: none */
	bool is_over;	   /* nothing more is read from it */
	int sink;	   /* write end of the command's pipe, or the pty's master; -EBADF when closed */
	bool source_plain; /* a regular file: always ready, unsupported by epoll */
	bool is_terminal;
	bool to_pty;
	bool is_mid_line; /* of the last byte */
	char *data;
	size_t at, len;
};

/* source_fd is borrowed; -1: none. A terminal counts only if the command gets one too (to_pty): a program that sees a
 * pipe into which nobody writes waits for input instead of doing its work. -errno */
int input_init(struct input *in, int source_fd, bool to_pty);
bool input_is_none(const struct input *in); /* nothing will ever come: the command gets /dev/null */
void input_done(struct input *in);
int input_set_sink(struct input *in, int fd, bool to_pty); /* takes ownership; made non-blocking. -errno */
bool input_wants_source(const struct input *in);
bool input_wants_sink(const struct input *in);
/* Reading a terminal from the background would stop this process. */
bool input_in_background(const struct input *in);
/* A terminal has no end of file, only a key for it, and a program that is just setting up its terminal drops that key:
 * so it is sent repeatedly. */
bool input_is_at_end(const struct input *in);
void input_say_end(struct input *in);
void input_read(struct input *in);
void input_write(struct input *in);
