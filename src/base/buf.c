/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

static bool reserve(struct buf *b, size_t more)
{
	if (b->failed)
		return false;
	if (more < b->cap - b->len)
		return true;
	size_t want = b->len + more + 1;
	if (want < more) {
		b->failed = true;
		return false;
	}
	size_t cap = b->cap ? b->cap : 64;
	while (cap < want)
		cap = cap > (size_t)-1 / 2 ? want : cap * 2;
	char *p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

/* Try the free space first: most output fits into it. */
void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	size_t room = b->failed ? 0 : b->cap - b->len;
	int need = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
	if (need < 0)
		b->failed = true;
	else if ((size_t)need < room)
		b->len += (size_t)need;
	else if (reserve(b, (size_t)need)) {
		(void)vsnprintf(b->data + b->len, (size_t)need + 1, fmt, again);
		b->len += (size_t)need;
	}
	if (b->failed && room)
		b->data[b->len] = '\0';
	va_end(again);
}

void buf_add_unsigned(struct buf *b, uint64_t n, unsigned base)
{
	char digits[64];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + n % base);
	while (n /= base);
	buf_add(b, digits + at, sizeof digits - at);
}

void buf_add_signed(struct buf *b, int64_t n)
{
	if (n < 0)
		buf_addc(b, '-');
	buf_add_unsigned(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	base_freep(&b->data);
	*b = (struct buf)BUF_INIT;
}

char *buf_take(struct buf *b)
{
	if (!b->data && !b->failed)
		buf_add(b, "", 0);
	char *s = b->failed ? NULL : TAKE_PTR(b->data);
	buf_done(b);
	return s;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

void strs_take(struct strs *l, char *s)
{
	if (!s || (!l->failed && !ARRAY_ROOM(l->v, l->n + 1, l->cap, 8)))
		l->failed = true;
	if (l->failed) {
		free(s);
		return;
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
}

void strs_addn(struct strs *l, const char *s, size_t n)
{
	strs_take(l, strndup(s, n));
}

void strs_add(struct strs *l, const char *s)
{
	strs_take(l, strdup(s));
}

void strs_addf(struct strs *l, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	strs_take(l, buf_take(&b));
}

void strs_add_all(struct strs *l, const struct strs *from)
{
	for (size_t i = 0; i < from->n; i++)
		strs_add(l, from->v[i]);
}

bool strs_has(const struct strs *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], s) == 0)
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strs_sort(struct strs *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof *l->v, compare);
}

void strs_remove_at(struct strs *l, size_t i)
{
	free(l->v[i]);
	memmove(l->v + i, l->v + i + 1, (l->n - i) * sizeof *l->v);
	l->n--;
}

void strs_done(struct strs *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	base_freep(&l->v);
	*l = (struct strs)STRS_INIT;
}
