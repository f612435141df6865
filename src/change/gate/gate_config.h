/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's configuration syntax, read exactly as git reads it: what git would not see must not hide a setting from us, and
 * what we do not see must be an error for git too. */
#pragma once

#include "base/buf.h"

/* name is "section.key" or "section.subsection.key", section and key in lower case; value is NULL for a bare key. Both are
 * borrowed for the call. A return value other than 0 ends the reading. */
typedef int (*gitconfig_entry)(void *context, const char *name, const char *value);

/* 0, what entry returned, -EINVAL for text git refuses, -ENOMEM. */
int gitconfig_read(const char *text, size_t len, gitconfig_entry entry, void *context);
