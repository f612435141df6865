/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads /proc without a C library; for watch.c and watch_shared.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WATCH_PATH 64 /* room for every path made here */

/* "/proc/<pid>/<file>", or "/proc/<file>" when pid is 0. */
void watch_path(char path[WATCH_PATH], int pid, const char *file);
/* The same with "/<number>" after it. */
void watch_path_numbered(char path[WATCH_PATH], int pid, const char *file, int number);
/* A file's content and a NUL; returns its length, or -errno. A process that has ended has no files. */
long watch_read(const char *path, char *buf, size_t size);
/* Reads digits, after blanks. */
int64_t watch_parse_number(const char **p);
/* The number after `name` at the beginning of a line, or -1. */
int64_t watch_find_number(const char *text, const char *name);
/* Calls visit for each name in a directory that is a number, until it returns non-zero. Returns 0 or -errno. */
long watch_each_number(const char *dir, int (*visit)(int number, void *data), void *data);
