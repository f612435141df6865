/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256, for trust by content and for names made from paths; and a checksum. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 64 hexadecimal digits and NUL. */
void hash_sha256_hex(const void *data, size_t len, char out[65]);

/* FNV-1a. Detects accidental damage (a torn or damaged line), not deliberate changes. */
uint64_t hash_checksum(const void *data, size_t len);
