/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of our own text files: fields with one space between them, strings with every byte that is no plain printable
 * character as %XX, so that no name can end a field or a line.
 *
 *   fields_add_string(&b, path);                              " src/a%20b.c"; NULL becomes " -"
 *
 *   struct fields f = fields_of(line, len);
 *   if (fields_take_string(&f, &path) < 0 || fields_end(&f) < 0) …f.wanted says what was expected…
 *
 * Every take returns 0, -EINVAL or -ENOMEM.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct fields {
	const char *at, *end; /* the rest of the line */
	const char *wanted;   /* after a failure: what should have been there */
};

void fields_add_string(struct buf *b, const char *s); /* with a space before it */
void fields_add_number(struct buf *b, uint64_t n);
void fields_add_signed(struct buf *b, int64_t n);

struct fields fields_of(const char *line, size_t len);
int fields_take_literal(struct fields *f, const char *word);
int fields_take_name(struct fields *f, const char *const *names, const char *wanted, unsigned *ret); /* its index */
int fields_take_number(struct fields *f, uint64_t *ret);
int fields_take_signed(struct fields *f, int64_t *ret);
int fields_take_mode(struct fields *f, uint32_t *ret);			   /* octal, at most 7777 */
int fields_take_string(struct fields *f, char **ret);			   /* NULL for "-"; else the caller's */
int fields_take_word(struct fields *f, const char **ret, size_t *ret_len); /* as it is written; borrowed */
int fields_end(struct fields *f);					   /* nothing is left */
