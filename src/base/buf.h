/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing byte buffer and string list.
 *
 *   _cleanup_buf_ struct buf b = BUF_INIT;
 *   buf_add(&b, "x", 1); buf_printf(&b, "%d", 3);
 *   if (b.failed) return base_oom(err);           one check at the end
 *
 * A failed allocation sets `failed` and makes later calls do nothing.
 */
#pragma once

#include "base/macros.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* always NUL-terminated once anything was added; may be NULL when empty */
	size_t len, cap;
	bool failed;
};
#define BUF_INIT                                                                                                       \
	{                                                                                                              \
		0                                                                                                      \
	}

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) AL_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) AL_PRINTF(2, 0);
/* For hot paths: printf takes ten times as long for a number. */
void buf_add_unsigned(struct buf *b, uint64_t n, unsigned base); /* base 2 to 10 */
void buf_add_signed(struct buf *b, int64_t n);
void buf_reset(struct buf *b);		  /* empties, keeps the memory */
void buf_done(struct buf *b);		  /* frees */
char *buf_take(struct buf *b);		  /* the string, owned by the caller; NULL when failed; "" when empty */
const char *buf_str(const struct buf *b); /* never NULL */
#define _cleanup_buf_ _cleanup_(buf_done)

/* A list of owned strings, always NULL-terminated in v (so it can be an argv or envp). */
struct strs {
	char **v;
	size_t n, cap;
	bool failed;
};
#define STRS_INIT                                                                                                      \
	{                                                                                                              \
		0                                                                                                      \
	}

void strs_add(struct strs *l, const char *s);		 /* copies */
void strs_addn(struct strs *l, const char *s, size_t n); /* copies n bytes */
void strs_addf(struct strs *l, const char *fmt, ...) AL_PRINTF(2, 3);
void strs_take(struct strs *l, char *s); /* takes ownership, also on failure; NULL marks failed */
void strs_add_all(struct strs *l, const struct strs *from);
bool strs_has(const struct strs *l, const char *s);
void strs_sort(struct strs *l);
void strs_remove_at(struct strs *l, size_t i);
void strs_done(struct strs *l);
#define _cleanup_strs_ _cleanup_(strs_done)
