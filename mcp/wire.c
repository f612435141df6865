/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE 65536

/* Makes room for n more bytes at the end. */
static bool reserve(struct wire_bytes *b, size_t n)
{
	if (b->start == b->end)
		b->start = b->end = 0;
	if (b->size - b->end >= n)
		return true;
	if (b->start > 0) {
		memmove(b->data, b->data + b->start, b->end - b->start);
		b->end -= b->start;
		b->start = 0;
	}
	size_t wanted = b->size ? b->size : READ_SIZE;
	while (wanted - b->end < n)
		wanted *= 2;
	if (wanted == b->size)
		return true;
	char *grown = realloc(b->data, wanted);
	if (!grown)
		return false;
	b->data = grown;
	b->size = wanted;
	return true;
}

int wire_read(struct wire *w)
{
	if (w->in.start == w->in.end)
		w->scanned = 0;
	if (!reserve(&w->in, READ_SIZE + 1))
		return 0;
	ssize_t n = read(w->in_fd, w->in.data + w->in.end, READ_SIZE);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	w->in.end += (size_t)n;
	return n > 0;
}

/* Drops the received part of a line that is too long; its end may not have arrived. */
static enum wire_line skip(struct wire *w, const char *newline)
{
	bool first = !w->skipping;
	w->in.start = newline ? (size_t)(newline - w->in.data) + 1 : w->in.end;
	w->scanned = 0;
	w->skipping = !newline;
	return first ? WIRE_TOO_LONG : WIRE_NONE;
}

enum wire_line wire_next_line(struct wire *w, char **ret_line, size_t *ret_len)
{
	while (w->in.start < w->in.end) {
		char *line = w->in.data + w->in.start, *from = line + w->scanned;
		size_t have = w->in.end - w->in.start;
		char *newline = memchr(from, '\n', have - w->scanned);
		size_t len = newline ? (size_t)(newline - line) : have;
		if (len > WIRE_LINE_MAX || w->skipping) {
			if (skip(w, newline) == WIRE_TOO_LONG)
				return WIRE_TOO_LONG;
			continue;
		}
		if (!newline) {
			w->scanned = have;
			return WIRE_NONE;
		}
		*newline = '\0';
		w->in.start += len + 1;
		w->scanned = 0;
		*ret_line = line;
		*ret_len = len;
		return WIRE_LINE;
	}
	return WIRE_NONE;
}

void wire_send(struct wire *w, const char *text, size_t len)
{
	if (w->is_broken || !reserve(&w->out, len + 1)) {
		w->is_broken = true;
		return;
	}
	memcpy(w->out.data + w->out.end, text, len);
	w->out.data[w->out.end + len] = '\n';
	w->out.end += len + 1;
}

/* The client shares the descriptor, so its flags are left alone. A socket supports non-blocking writes per call; a
 * pipe that polls writable has room for PIPE_BUF bytes. */
static ssize_t write_some(int fd, const char *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0 || errno != ENOTSOCK)
		return n;
	return write(fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

void wire_flush(struct wire *w)
{
	if (!wire_has_output(w))
		return;
	ssize_t n = write_some(w->out_fd, w->out.data + w->out.start, w->out.end - w->out.start);
	if (n > 0)
		w->out.start += (size_t)n;
	else if (n < 0 && errno != EINTR && errno != EAGAIN)
		w->is_broken = true;
	if (w->out.start == w->out.end && w->out.size > 4 * READ_SIZE) { /* frees the memory of a large answer */
		free(w->out.data);
		w->out = (struct wire_bytes){0};
	}
}

bool wire_has_output(const struct wire *w)
{
	return !w->is_broken && w->out.start < w->out.end;
}

bool wire_is_full(const struct wire *w)
{
	return w->out.end - w->out.start > WIRE_QUEUE_HIGH;
}

void wire_done(struct wire *w)
{
	free(w->in.data);
	free(w->out.data);
	*w = (struct wire){.in_fd = -1, .out_fd = -1};
}
