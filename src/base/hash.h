/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256, for trust by content and for names made from paths. */
#pragma once

#include <stddef.h>

/* 64 hexadecimal digits and NUL. */
void hash_sha256_hex(const void *data, size_t len, char out[65]);
