/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes of the entry `name` in a directory, or of the descriptor itself (also O_PATH) if name is NULL.
 * Does not follow symlinks. All return ≥ 0 or -errno. */
#pragma once

#include "base/buf.h"

/* The names, each with its NUL, into an emptied buffer. Empty if the file system has no attributes. */
int xattrs_list(int fd, const char *name, struct buf *ret);

/* The value into an emptied buffer; -ENODATA: no such attribute. */
int xattrs_get(int fd, const char *name, const char *attribute, struct buf *ret);

/* Of the descriptor itself, which may be O_PATH. */
int xattrs_set(int fd, const char *attribute, const void *value, size_t len);

int xattrs_remove(int fd, const char *name, const char *attribute);
