/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/output_capture.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

int capture_init(struct capture *c, int64_t cap)
{
	*c = (struct capture){.half = (size_t)(cap / 2)};
	if (c->half < 16)
		c->half = 16;
	c->head = malloc(c->half);
	c->tail = malloc(c->half);
	if (c->head && c->tail)
		return 0;
	capture_done(c);
	return -ENOMEM;
}

void capture_done(struct capture *c)
{
	free(c->head);
	free(c->tail);
	*c = (struct capture){0};
}

void capture_add(struct capture *c, const char *data, size_t len)
{
	size_t n = AL_MIN(len, c->half - c->head_len);
	memcpy(c->head + c->head_len, data, n);
	c->head_len += n;
	c->total += len;
	data += n;
	len -= n;
	if (len > c->half) { /* only the end of it fits */
		data += len - c->half;
		c->tail_at = (c->tail_at + len - c->half) % c->half;
		len = c->half;
	}
	while (len > 0) {
		n = AL_MIN(len, c->half - c->tail_at);
		memcpy(c->tail + c->tail_at, data, n);
		c->tail_at = (c->tail_at + n) % c->half;
		data += n;
		len -= n;
	}
}

/* ── As text ── */

static void add_tail(const struct capture *c, size_t len, struct buf *out)
{
	size_t start = (c->tail_at + c->half - len % c->half) % c->half;
	size_t first = AL_MIN(len, c->half - start);
	buf_add(out, c->tail + start, first);
	buf_add(out, c->tail, len - first);
}

/* The bytes that are kept after the head. */
static size_t tail_length(const struct capture *c)
{
	return (size_t)AL_MIN(c->total - c->head_len, (uint64_t)c->half);
}

/* The sequence at s: its bytes, and their number once invalid ones have become U+FFFD. */
static size_t sequence(const char *s, size_t n, size_t *ret_shown)
{
	size_t len = text_utf8_length((const unsigned char *)s, n);
	*ret_shown = len ? len : 3;
	return len ? len : 1;
}

static size_t shown_length(const char *s, size_t n)
{
	size_t all = 0, shown;
	for (size_t i = 0; i < n; all += shown)
		i += sequence(s + i, n - i, &shown);
	return all;
}

static bool fits(const struct capture *c, const struct buf *whole)
{
	return c->total <= 2 * c->half && shown_length(buf_str(whole), whole->len) <= 2 * c->half;
}

bool capture_is_cut(const struct capture *c)
{
	if (c->total > 2 * (uint64_t)c->half || 3 * c->total <= 2 * (uint64_t)c->half)
		return c->total > 2 * (uint64_t)c->half;
	_cleanup_buf_ struct buf whole = BUF_INIT;
	buf_add(&whole, c->head, c->head_len);
	add_tail(c, tail_length(c), &whole);
	return !fits(c, &whole);
}

/* The number of bytes of an unfinished UTF-8 sequence at the end. */
static size_t unfinished_tail(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char b = (unsigned char)s[n - back];
		if ((b & 0xc0) == 0x80)
			continue;
		size_t need = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1;
		return need > back ? back : 0;
	}
	return 0;
}

static size_t leading_continuation(const char *s, size_t n)
{
	size_t i = 0;
	while (i < 3 && i < n && ((unsigned char)s[i] & 0xc0) == 0x80)
		i++;
	return i;
}

/* How many bytes of the beginning fit into this much room. */
static size_t fit_head(const char *s, size_t n, size_t room)
{
	size_t i = 0, shown;
	n -= unfinished_tail(s, n);
	for (size_t len; i < n; i += len, room -= shown) {
		len = sequence(s + i, n - i, &shown);
		if (shown > room)
			break;
	}
	return i;
}

/* How many bytes to skip so that the rest fits. */
static size_t fit_tail(const char *s, size_t n, size_t room)
{
	size_t i = leading_continuation(s, n), shown;
	for (size_t left = shown_length(s + i, n - i); left > room; left -= shown)
		i += sequence(s + i, n - i, &shown);
	return i;
}

/* The line between head and tail counts too, unless the cap is so small that nothing else would remain. */
#define LINE_MAX_LENGTH 48
static size_t room_of_half(const struct capture *c)
{
	return c->half >= 2 * LINE_MAX_LENGTH ? c->half - LINE_MAX_LENGTH / 2 : c->half;
}

void capture_text(const struct capture *c, struct buf *out)
{
	_cleanup_buf_ struct buf head = BUF_INIT, tail = BUF_INIT;
	bool is_whole = c->total <= 2 * (uint64_t)c->half; /* then both are the same */
	buf_add(&head, c->head, c->head_len);
	add_tail(c, tail_length(c), is_whole ? &head : &tail);
	out->failed |= head.failed || tail.failed;
	if (is_whole && fits(c, &head)) {
		buf_add(out, buf_str(&head), head.len);
		return;
	}
	const struct buf *end = is_whole ? &head : &tail;
	size_t first = fit_head(buf_str(&head), head.len, room_of_half(c));
	size_t skip = fit_tail(buf_str(end), end->len, room_of_half(c));
	buf_add(out, buf_str(&head), first);
	buf_printf(out, "\n[... %" PRIu64 " bytes left out ...]\n", c->total - first - (end->len - skip));
	buf_add(out, buf_str(end) + skip, end->len - skip);
}
