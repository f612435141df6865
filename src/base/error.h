/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Making errors: one expression, where the subject is known.
 *
 *   return base_error(err, AIRLOCK_ERR_INVALID, "parse", "3:4", "expected a value after '='");
 *   return base_errno(err, AIRLOCK_ERR_IO, errno, "openat", path);
 *   return base_hint(err, "run `airlock doctor`"), rc;
 *
 * The first error wins: a filled struct is never overwritten on the way up.
 *
 * A function has one kind of failure, and its parameters show which: with `err` it returns an airlock code, without it -errno.
 * The two never meet, because the ranges do not; who mixes them up is stopped by the assertions here.
 */
#pragma once

#include "airlock/error.h"
#include "base/macros.h"

#include <stdbool.h>

/* The largest errno that Linux has room for. */
#define BASE_ERRNO_MAX 4095

static inline bool base_is_errno(int rc)
{
	return rc < 0 && rc >= -BASE_ERRNO_MAX;
}

static inline bool base_is_code(int rc)
{
	return rc <= AIRLOCK_ERR_USAGE && rc >= AIRLOCK_ERR_INTERNAL;
}
_Static_assert(AIRLOCK_ERR_USAGE < -BASE_ERRNO_MAX && AIRLOCK_ERR_INTERNAL < AIRLOCK_ERR_USAGE,
	       "no code is a negative errno");

/* Fills err (when not NULL and still empty) and returns code. op and subject may be NULL. */
int base_error(struct airlock_error *err, int code, const char *op, const char *subject, const char *fmt, ...)
	AL_PRINTF(5, 6);

/* The same from an errno value: message is "<op> <subject>: <strerror>". errnum may be given negative. */
int base_errno(struct airlock_error *err, int code, int errnum, const char *op, const char *subject);

int base_oom(struct airlock_error *err);

/* True if this errno of a lookup proves that the path does not exist. After any other error (a failing disk, no
 * memory) the path may exist, so what should be hidden must still be hidden. */
bool base_is_absent(int errnum);

/* Sets the hint of a filled error that has none yet; returns err->code (or AIRLOCK_ERR_INTERNAL when err is NULL). */
int base_hint(struct airlock_error *err, const char *fmt, ...) AL_PRINTF(2, 3);

/* Passes an error on: copies why into err if err is empty, and returns its code. */
int base_pass(struct airlock_error *err, const struct airlock_error *why);

/* The exit status of a run that failed with this error: that of its code, or 127 if the program does not exist. */
int base_exit_status(const struct airlock_error *err);

void base_error_clear(struct airlock_error *err);
