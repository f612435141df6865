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

#include <airlock/airlock.h>

/* Fills err unless it tells of an earlier failure already; returns code. */
int output_fail(struct airlock_error *err, int code, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds the way out to an error that has none yet; returns its code. */
int output_hint(struct airlock_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr. The arguments may be hostile: the whole line is made inert. */
void output_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void output_error(const struct airlock_error *err);
void output_inert(const char *line); /* one line that is inert already */
/* The first lines of a text that is inert already, at most max, indented, on stderr. Returns how many are left. */
size_t output_lines(const char *text, size_t max);

/* Inert lines on stdout. On a terminal a line that is too long for it is cut, so that a list stays a list. */
void output_list(const char *text);

/* A path of the user's on stdout: exact for a program that reads it, inert for a person at a terminal. */
void output_path(const char *path);

/* The whole text, past stdio, through signals and short counts; waits where the descriptor does not. False with errno. */
bool output_write(int fd, const char *text, size_t len);

/* From now on stdout or stderr waits for its reader though the descriptor does not: stdio would drop the rest. The flag
 * itself is not ours to take away, whoever else has that pipe or terminal relies on it. */
void output_wait(int fd);

/* Writes everything out. A result that could not be written is a failure, unless the reader simply stopped reading. */
int output_finish(int status);

struct output_size {
	char text[32]; /* "12.3 MiB" */
};
struct output_size output_size(uint64_t bytes);

/* May escape sequences be written to this descriptor? A terminal, no NO_COLOR, not a dumb one. */
bool output_has_colour(int fd);
