/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of hosts in one spelling: lower case, without the dot at the end, ASCII (punycode where the name has other
 * letters). Two names are the same host exactly if their spellings are equal. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define HOST_NAME_MAX_BYTES 253

/* Appends the one spelling of a name to out. False: this is no name (empty labels, labels above 63 bytes, characters that
 * no name has). */
bool host_name_normalize(const char *text, size_t len, struct buf *out);

/* Appends a normalized name for a person: with its own letters, and in brackets what is really looked up, where the two
 * differ; a name that only looks like another one shows it. */
void host_name_add_shown(struct buf *out, const char *name);
