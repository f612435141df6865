/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lexical paths: bytes and slashes, no system calls, no symlinks. */
#pragma once

#include "base/buf.h"

/* Absolute and normal: starts with '/', no empty, "." or ".." component, no trailing slash (but "/" itself). */
bool path_is_normal(const char *path);

/* Normalises lexically an absolute path, or a relative one against base. NULL on out of memory. ".." at the root stays at the root. */
char *path_normalize(const char *base, const char *path);

/* dir + "/" + name, without doubling the slash of "/". NULL on out of memory. */
char *path_join(const char *dir, const char *name);

/* True when path is dir or lies below it. Both normal. */
bool path_is_beneath(const char *path, const char *dir);

/* The rest of path below dir without leading slash ("" when equal), or NULL when not beneath. Borrowed from path. */
const char *path_rest(const char *path, const char *dir);

/* Last component; "/" for the root. Borrowed. */
const char *path_basename(const char *path);

/* Everything before the last component ("/" for top-level entries). NULL on out of memory. */
char *path_dirname(const char *path);

/* Order in which parents precede their children and siblings are bytewise: '/' sorts below every other byte. */
int path_compare(const char *a, const char *b);
