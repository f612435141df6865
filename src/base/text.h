/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words and numbers of the command line, the configuration and the reports. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

#define TEXT_NONE INT64_MAX /* "none": no limit */

/* "90s" "5m" "1h" "2d" "500ms" "1.5s" "30" (seconds) "none" → milliseconds (≥ 1). Returns 0, or -EINVAL / -ERANGE. */
int text_parse_duration_ms(const char *s, int64_t *ret_ms);

/* "512M" "2G" "100K" "1T" "4096" "10MB" "10MiB" "none" → bytes (powers of 1024). Returns 0, or -EINVAL / -ERANGE. */
int text_parse_size(const char *s, int64_t *ret_bytes);

/* A plain non-negative decimal number or "none". */
int text_parse_count(const char *s, int64_t *ret);

/* "true/false", "yes/no", "on/off", "1/0". */
int text_parse_bool(const char *s, bool *ret);

void text_add_duration(struct buf *out, int64_t ms); /* "1.2 s", "10 min", "none" */
void text_add_time(struct buf *out, int64_t ns);     /* "2026-11-15T19:30:12.482731Z" */
void text_add_size(struct buf *out, int64_t bytes);  /* "4.0 KiB", "none" */

/* Length in bytes of the valid UTF-8 sequence at s (1–4), or 0 when the bytes there are not one. */
size_t text_utf8_length(const unsigned char *s, size_t n);
/* The character of such a sequence. */
uint32_t text_utf8_decode(const unsigned char *s, size_t len);
/* Appends a character, below U+110000 and no surrogate. */
void text_add_character(struct buf *out, uint32_t c);
bool text_is_utf8(const char *s, size_t n);
/* Appends s as valid UTF-8: bytes that are not become U+FFFD. */
void text_add_utf8(struct buf *out, const char *s, size_t n);

/* Appends s so that it is inert on a terminal: C0/C1 controls, DEL, invalid bytes and bidi or invisible
 * formatting characters become \n, \t, \xNN or \u{NNNN}; a backslash becomes two. */
void text_add_escaped(struct buf *out, const char *s, size_t n);

/* Appends s as one word a POSIX shell reads back; left bare when it needs no quotes. */
void text_add_shell_word(struct buf *out, const char *s);

/* The candidate that is most similar to word, if it is similar enough to be a slip, else NULL. NULL-terminated list. */
const char *text_nearest(const char *word, const char *const *candidates);

/* 0 to 15, in either case; -1: it is no digit. */
int text_hex_digit(int c);

/* Standard base64 with padding. */
void text_add_base64(struct buf *out, const void *data, size_t n);
