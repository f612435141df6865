/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Unpacks with zlib. The size of the output is fixed beforehand: a bomb is refused at its first byte too many. */
#include "git/objects.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK 8192

struct unpack {
	z_stream z;
	const struct git_stream *from;
	uint64_t at;
	unsigned char in[CHUNK];
};

/* 1: more input, 0: end of file, -errno. */
static int refill(struct unpack *u)
{
	ssize_t n;
	do
		n = pread(u->from->fd, u->in, sizeof u->in, (off_t)u->at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	u->at += (uint64_t)n;
	u->z.next_in = u->in;
	u->z.avail_in = (unsigned)n;
	return n > 0;
}

/* 1: the stream ended, 0: out is full, -errno. */
static int run(struct unpack *u, unsigned char *out, size_t size)
{
	u->z.next_out = out;
	u->z.avail_out = (unsigned)size;
	for (;;) {
		int rc = u->z.avail_in == 0 ? refill(u) : 1;
		if (rc < 0)
			return rc;
		int z = inflate(&u->z, Z_NO_FLUSH);
		if (z == Z_STREAM_END)
			return 1;
		if (z == Z_MEM_ERROR)
			return -ENOMEM;
		if (z != Z_OK && z != Z_BUF_ERROR)
			return -EBADMSG;
		if (u->z.avail_out == 0)
			return 0;
		if (rc == 0 && z == Z_BUF_ERROR)
			return -EBADMSG; /* cut short */
	}
}

int git_inflate_some(const struct git_stream *from, size_t limit, struct buf *out)
{
	struct unpack *u = calloc(1, sizeof *u);
	unsigned char *bytes = malloc(limit ? limit : 1);
	int rc = -ENOMEM;
	if (u && bytes && inflateInit(&u->z) == Z_OK) {
		u->from = from;
		u->at = from->at;
		rc = run(u, bytes, limit);
		if (rc >= 0)
			buf_add(out, bytes, limit - u->z.avail_out);
		(void)inflateEnd(&u->z);
	}
	free(bytes);
	free(u);
	return out->failed ? -ENOMEM : rc;
}

int git_inflate(struct git_objects *o, const struct git_stream *from, size_t size, struct buf *out)
{
	size_t before = out->len;
	if (size > GIT_MAX_OBJECT)
		return -EFBIG;
	if (o->bytes_left < size)
		return -EDQUOT;
	o->bytes_left -= size;
	/* Room for one byte more: a stream longer than it should be is damaged. */
	int rc = git_inflate_some(from, size + 1, out);
	if (rc < 0)
		return rc;
	return rc == 1 && out->len - before == size ? 0 : -EBADMSG;
}

/* ── Deltas ── */

struct bit_input {
	const unsigned char *p, *end;
};

/* Seven bits a byte, lowest first. */
static bool take_size(struct bit_input *in, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; in->p < in->end && shift < 63; shift += 7) {
		unsigned char c = *in->p++;
		*ret |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return true;
	}
	return false;
}

/* Those of the n bytes that the bits of which select. */
static bool take_some(struct bit_input *in, unsigned which, unsigned n, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!(which & 1u << i))
			continue;
		if (in->p == in->end)
			return false;
		*ret |= (uint64_t)*in->p++ << (8 * i);
	}
	return true;
}

static bool copy_part(struct bit_input *in, unsigned char op, const struct buf *base, uint64_t room, struct buf *out)
{
	uint64_t at, n;
	if (!take_some(in, op, 4, &at) || !take_some(in, op >> 4 & 7, 3, &n))
		return false;
	n = n ? n : 0x10000;
	if (at > base->len || n > base->len - at || n > room)
		return false;
	buf_add(out, base->data + at, (size_t)n);
	return true;
}

int git_delta_apply(const struct buf *base, const struct buf *delta, struct buf *out)
{
	struct bit_input in = {(const unsigned char *)buf_str(delta),
			       (const unsigned char *)buf_str(delta) + delta->len};
	uint64_t from, to;
	buf_reset(out);
	if (!take_size(&in, &from) || !take_size(&in, &to) || from != base->len)
		return -EBADMSG;
	if (to > GIT_MAX_OBJECT)
		return -EFBIG;
	while (in.p < in.end && !out->failed) {
		unsigned char op = *in.p++;
		uint64_t room = to - out->len;
		if (op & 128) {
			if (!copy_part(&in, op, base, room, out))
				return -EBADMSG;
			continue;
		}
		if (op == 0 || op > room || op > (size_t)(in.end - in.p))
			return -EBADMSG;
		buf_add(out, in.p, op);
		in.p += op;
	}
	return out->failed ? -ENOMEM : out->len == to ? 0 : -EBADMSG;
}
