/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256, for trust by content and for names made from paths; and a checksum. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 64 hexadecimal digits and NUL. */
void hash_sha256_hex(const void *data, size_t len, char out[65]);

/* The same in parts. */
struct hash_sha256 {
	uint32_t state[8];
	unsigned char rest[64]; /* what does not fill a block yet */
	uint64_t total;
};
void hash_sha256_begin(struct hash_sha256 *h);
void hash_sha256_add(struct hash_sha256 *h, const void *data, size_t len);
void hash_sha256_end(struct hash_sha256 *h, char out[65]);

/* FNV-1a. Detects accidental damage (a torn or damaged line), not deliberate changes. */
uint64_t hash_checksum(const void *data, size_t len);
