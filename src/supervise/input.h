/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The caller's standard input, carried to the command's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct input {
	int source;	   /* our own duplicate of the caller's, or -EBADF at its end */
	int sink;	   /* write end of the command's pipe, or the pty's master; -EBADF when closed */
	bool source_plain; /* a regular file: always ready, unknown to epoll */
	bool is_terminal;
	bool to_pty;
	char *data;
	size_t at, len;
};

int input_init(struct input *in, int source_fd); /* borrowed; -1: none. -errno */
void input_done(struct input *in);
void input_set_sink(struct input *in, int fd, bool to_pty); /* takes ownership; made non-blocking */
bool input_wants_source(const struct input *in);
bool input_wants_sink(const struct input *in);
/* Reading a terminal from the background would stop this process. */
bool input_in_background(const struct input *in);
void input_read(struct input *in);
void input_write(struct input *in);
