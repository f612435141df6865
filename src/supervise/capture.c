/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/capture.h"

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
	if (len > c->half) { /* only the last of it can stay */
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

bool capture_is_cut(const struct capture *c)
{
	return c->total > 2 * (uint64_t)c->half;
}

/* Bytes of an unfinished UTF-8 sequence at the end. */
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

static void add_tail(const struct capture *c, size_t len, struct buf *out)
{
	size_t start = (c->tail_at + c->half - len % c->half) % c->half;
	size_t first = AL_MIN(len, c->half - start);
	buf_add(out, c->tail + start, first);
	buf_add(out, c->tail, len - first);
}

void capture_text(const struct capture *c, struct buf *out)
{
	size_t behind = (size_t)AL_MIN(c->total - c->head_len, (uint64_t)c->half);
	if (!capture_is_cut(c)) {
		buf_add(out, c->head, c->head_len);
		add_tail(c, behind, out);
		return;
	}
	_cleanup_buf_ struct buf tail = BUF_INIT;
	add_tail(c, behind, &tail);
	size_t head = c->head_len - unfinished_tail(c->head, c->head_len);
	size_t skip = leading_continuation(buf_str(&tail), tail.len);
	buf_add(out, c->head, head);
	buf_printf(out, "\n[... %" PRIu64 " bytes left out ...]\n", c->total - head - (tail.len - skip));
	buf_add(out, buf_str(&tail) + skip, tail.len - skip);
	out->failed |= tail.failed;
}
