/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines in and out of two descriptors, neither of which may ever stop the loop.
 *
 *   wire_read(&w)                      after POLLIN: takes what there is; 0 at end of input
 *   while (wire_next_line(&w, &line, &len)) …
 *   wire_send(&w, text, len)           queues a line
 *   wire_flush(&w)                     after POLLOUT: writes what can be written without waiting
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WIRE_LINE_MAX ((size_t)16 << 20)   /* one message; a whole file to be written fits */
#define WIRE_QUEUE_HIGH ((size_t)32 << 20) /* if a client does not read, we stop reading from it too */

struct wire_bytes {
	char *data;
	size_t start, end, size;
};

struct wire {
	int in_fd, out_fd;
	struct wire_bytes in, out;
	size_t scanned; /* bytes of `in` known to contain no newline */
	bool skipping;	/* inside a line that was too long */
	bool is_broken; /* nobody reads what we write, or out of memory */
};

enum wire_line { WIRE_NONE, WIRE_LINE, WIRE_TOO_LONG };

int wire_read(struct wire *w); /* 1: something came, 0: end of input or an error */
/* The line, without its newline, is valid until the next call of wire_read. It is followed by a NUL. */
enum wire_line wire_next_line(struct wire *w, char **ret_line, size_t *ret_len);
void wire_send(struct wire *w, const char *text, size_t len); /* the newline is added */
void wire_flush(struct wire *w);
bool wire_has_output(const struct wire *w);
bool wire_is_full(const struct wire *w);
void wire_done(struct wire *w);
