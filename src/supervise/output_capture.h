/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept of a stream for the result: everything up to a cap, beyond that its head and its tail. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct capture {
	char *head, *tail; /* halves of the cap */
	size_t half, head_len;
	size_t tail_at; /* where the next byte goes in the ring */
	uint64_t total; /* total number of bytes */
};

int capture_init(struct capture *c, int64_t cap); /* -ENOMEM */
void capture_done(struct capture *c);
void capture_add(struct capture *c, const char *data, size_t len);
bool capture_is_cut(const struct capture *c);
/* The text: head, a line with the number of missing bytes, tail; within the cap even after invalid bytes have become
 * U+FFFD. Never splits a UTF-8 sequence. */
void capture_text(const struct capture *c, struct buf *out);
