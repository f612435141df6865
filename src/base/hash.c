/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256 as in FIPS 180-4. Written by hand, because the run path should not load a crypto library for two hashes. */
#include "base/hash.h"

#include <string.h>

#define BLOCK 64

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void put_big_endian(unsigned char *p, uint64_t x, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (unsigned char)(x >> (8 * (bytes - 1 - i)));
}

static void make_schedule(uint32_t w[64], const unsigned char block[BLOCK])
{
	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

/* One round. The caller rotates the names of the variables instead of moving their values. */
static inline void do_round(const uint32_t v[8], unsigned at, uint32_t *d, uint32_t *h, uint32_t added)
{
	uint32_t a = v[at], b = v[(at + 1) % 8], c = v[(at + 2) % 8];
	uint32_t e = v[(at + 4) % 8], f = v[(at + 5) % 8], g = v[(at + 6) % 8];
	uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
	uint32_t t1 = *h + s1 + (g ^ (e & (f ^ g))) + added;
	uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
	*d += t1;
	*h = t1 + s0 + ((a & b) | (c & (a | b)));
}

/* v[0..7] are a..h of the standard; after each round the names shift by one. */
static void compress(uint32_t state[8], const unsigned char block[BLOCK])
{
	uint32_t w[64], v[8];
	make_schedule(w, block);
	memcpy(v, state, sizeof v);
	for (size_t i = 0; i < 64; i += 8)
#pragma GCC unroll 8
		for (unsigned k = 0; k < 8; k++) {
			unsigned at = (8 - k) % 8; /* Where `a` is after this round. */
			do_round(v, at, &v[(at + 3) % 8], &v[(at + 7) % 8], round_constants[i + k] + w[i + k]);
		}
	for (size_t i = 0; i < 8; i++)
		state[i] += v[i];
}

/* The last, partial block: a 1 bit, zeros and the length in bits. If it does not fit, a second block follows. */
static void finish(uint32_t state[8], const unsigned char *rest, size_t n, uint64_t total)
{
	unsigned char tail[2 * BLOCK] = {0};
	if (n > 0)
		memcpy(tail, rest, n);
	tail[n] = 0x80;
	size_t len = n + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	put_big_endian(tail + len - 8, total * 8, 8);
	for (size_t i = 0; i < len; i += BLOCK)
		compress(state, tail + i);
}

static void put_hex(char out[65], const uint32_t state[8])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < 64; i++)
		out[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 0xf];
	out[64] = '\0';
}

void hash_sha256_begin(struct hash_sha256 *h)
{
	*h = (struct hash_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
					    0x1f83d9ab, 0x5be0cd19}};
}

void hash_sha256_add(struct hash_sha256 *h, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t held = h->total % BLOCK;
	h->total += len;
	if (held > 0 && held + len >= BLOCK) {
		memcpy(h->rest + held, p, BLOCK - held);
		compress(h->state, h->rest);
		p += BLOCK - held;
		len -= BLOCK - held;
		held = 0;
	}
	for (; held == 0 && len >= BLOCK; p += BLOCK, len -= BLOCK)
		compress(h->state, p);
	if (len > 0)
		memcpy(h->rest + held, p, len);
}

void hash_sha256_end(struct hash_sha256 *h, char out[65])
{
	finish(h->state, h->rest, h->total % BLOCK, h->total);
	put_hex(out, h->state);
}

void hash_sha256_hex(const void *data, size_t len, char out[65])
{
	struct hash_sha256 h;
	hash_sha256_begin(&h);
	hash_sha256_add(&h, data, len);
	hash_sha256_end(&h, out);
}

uint64_t hash_checksum(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t sum = 0xcbf29ce484222325;
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * 0x100000001b3;
	return sum;
}
