/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes to a descriptor of the caller without blocking and without changing its flags, which it shares with others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RELAY_BUFFER (64 * 1024)

struct relay {
	int fd; /* our own duplicate, or -EBADF: nobody listens */
	bool terminal;
	bool plain;  /* a regular file or the like: plain writes, always ready */
	bool small;  /* non-blocking writes do not work: at most PIPE_BUF bytes when poll says so */
	bool broken; /* the reader is gone, or accepts no more */
	int errnum;  /* the errno if no reader has gone: a file is full or the like */
	char *data;  /* pending bytes */
	size_t at, len;
};

/* Without it one read or write could wait for the command and stop everything else. -errno */
int relay_unblock(int fd);

int relay_init(struct relay *r, int fd); /* fd borrowed; -1: none. -errno */
void relay_done(struct relay *r);
bool relay_is_full(const struct relay *r); /* something is pending: stop reading until it is written */
/* Only when not full. */
void relay_put(struct relay *r, const char *data, size_t len);
void relay_flush(struct relay *r); /* writes what it can */
