/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-1 is here because git names objects by it, not because we trust it: it tells whether an object is the one that a
 * reference or a tree names. Whoever can make two contents with one name can deceive git itself. */
#include "git/oid.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

bool git_oid_parse(const char *text, size_t size, struct git_oid *ret)
{
	*ret = (struct git_oid){{0}};
	for (size_t i = 0; i < size; i++) {
		int high = text_hex_digit(text[2 * i]), low = high < 0 ? -1 : text_hex_digit(text[2 * i + 1]);
		if (low < 0)
			return false;
		ret->b[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

void git_oid_hex(const struct git_oid *oid, size_t size, char *out)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < size; i++) {
		out[2 * i] = digits[oid->b[i] >> 4];
		out[2 * i + 1] = digits[oid->b[i] & 15];
	}
	out[2 * size] = '\0';
}

/* ── SHA-1, FIPS 180-4 ── */

struct sha1 {
	uint32_t h[5];
	uint64_t length;
	unsigned char block[64];
	size_t filled;
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
	switch (t / 20) {
	case 0:
		return ((b & c) | (~b & d)) + 0x5a827999u;
	case 1:
		return (b ^ c ^ d) + 0x6ed9eba1u;
	case 2:
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
	default:
		return (b ^ c ^ d) + 0xca62c1d6u;
	}
}

static void sha1_block(struct sha1 *s, const unsigned char *p)
{
	uint32_t w[80], v[5];
	for (unsigned t = 0; t < 16; t++)
		w[t] = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16 | (uint32_t)p[4 * t + 2] << 8 |
		       p[4 * t + 3];
	for (unsigned t = 16; t < 80; t++)
		w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	memcpy(v, s->h, sizeof v);
	for (unsigned t = 0; t < 80; t++) {
		uint32_t next = rotate(v[0], 5) + mix(t, v[1], v[2], v[3]) + v[4] + w[t];
		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (unsigned i = 0; i < 5; i++)
		s->h[i] += v[i];
}

static void sha1_add(struct sha1 *s, const void *data, size_t len)
{
	const unsigned char *p = data;
	s->length += len;
	while (len > 0) {
		if (s->filled == 0 && len >= sizeof s->block) {
			sha1_block(s, p);
			p += sizeof s->block;
			len -= sizeof s->block;
			continue;
		}
		size_t part = sizeof s->block - s->filled < len ? sizeof s->block - s->filled : len;
		memcpy(s->block + s->filled, p, part);
		s->filled += part;
		p += part;
		len -= part;
		if (s->filled == sizeof s->block) {
			sha1_block(s, s->block);
			s->filled = 0;
		}
	}
}

static void sha1_end(struct sha1 *s, unsigned char out[GIT_SHA1])
{
	static const unsigned char padding[64] = {0x80};
	unsigned char bits[8];
	uint64_t length = s->length * 8;
	for (unsigned i = 0; i < 8; i++)
		bits[i] = (unsigned char)(length >> (56 - 8 * i));
	sha1_add(s, padding, 1 + (119 - s->filled) % 64);
	sha1_add(s, bits, sizeof bits);
	for (unsigned i = 0; i < GIT_SHA1; i++)
		out[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* Out of memory gives a name that no object has: the object is then not found. */
static void sha256_of(const char *head, size_t n, const void *data, size_t len, struct git_oid *ret)
{
	char hex[65];
	char *whole = malloc(n + len);
	if (!whole)
		return;
	memcpy(whole, head, n);
	if (len > 0)
		memcpy(whole + n, data, len);
	hash_sha256_hex(whole, n + len, hex);
	(void)git_oid_parse(hex, GIT_SHA256, ret);
	free(whole);
}

void git_oid_of(const char *word, const void *data, size_t len, size_t size, struct git_oid *ret)
{
	char head[32];
	size_t n = (size_t)snprintf(head, sizeof head, "%s %zu", word, len) + 1;
	*ret = (struct git_oid){{0}};
	if (size == GIT_SHA256) {
		sha256_of(head, n, data, len, ret);
		return;
	}
	struct sha1 s = {.h = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
	sha1_add(&s, head, n);
	sha1_add(&s, data, len);
	sha1_end(&s, ret->b);
}
