/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What airlock itself says: errors and notes on stderr, results on stdout.
 *
 *   return output_fail(err, AIRLOCK_ERR_USAGE, "--profil", "unknown option --profil");
 *   output_error(&err);                   airlock: unknown option --profil
 *                                         airlock: hint: did you mean --profile?
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <airlock/config.h>

/* Fills err unless it already has an error; returns code. */
int output_fail(struct airlock_error *err, int code, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds the hint to an error that has none yet; returns its code. */
int output_hint(struct airlock_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr. The arguments may be hostile: the whole line is escaped. */
void output_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void output_error(const struct airlock_error *err);
void output_note(const struct airlock_note *note);
/* The same on stdout, behind a label. */
void output_note_line(FILE *out, const char *label, const struct airlock_note *note);
/* The first lines of an escaped text, at most max, indented, on stderr. Returns how many are left. */
size_t output_lines(const char *text, size_t max);

/* The JSON of an object of the library on stdout. NULL, its lack of memory, fails. */
int output_json(const char *json, struct airlock_error *err);

/* Bytes from outside, made inert; with spaces up to so many columns. */
void output_text(FILE *out, const char *bytes);
void output_cell(FILE *out, const char *bytes, size_t width);

void output_origin(FILE *out, const struct airlock_origin *origin);

/* Escaped lines on stdout. On a terminal a long line is cut, so that a list stays a list. */
void output_list(const char *text);

/* A user's path on stdout: exact for a program, escaped for a person at a terminal. */
void output_path(const char *path);

/* The whole text, without stdio, through signals and short counts; waits even if the descriptor is non-blocking. False
 * with errno. */
bool output_write(int fd, const char *text, size_t len);

/* From now on writes to stdout or stderr wait for the reader although the descriptor is non-blocking: stdio would drop
 * the rest. We must not clear the flag itself: others who share the pipe or terminal rely on it. */
void output_wait(int fd);

/* Flushes everything. A result that could not be written is a failure, unless the reader simply stopped reading. */
int output_finish(int status);

struct output_size {
	char text[32]; /* "12.3 MiB" */
};
struct output_size output_size(uint64_t bytes);

struct output_time {
	char text[32]; /* "2026-11-15 19:30:12 UTC" */
};
struct output_time output_time(int64_t ns); /* since 1970 */

struct output_age {
	char text[32]; /* "just now", "5 min ago", "2 days ago" */
};
struct output_age output_age(int64_t ns); /* of a moment since 1970 */

struct output_duration {
	char text[32]; /* "120 ms", "1.2 s", "10 min" */
};
struct output_duration output_duration(int64_t ms);

/* True if escape sequences may be written to this descriptor: a terminal, no NO_COLOR, not a dumb one. */
bool output_has_colour(int fd);
