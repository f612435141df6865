/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the lists of the public API have in common: their elements are v and n, their JSON is json. */
#pragma once

#include "base/buf.h"

#include <stdlib.h>

/* airlock_NAME_count and airlock_NAME_at. */
#define API_LIST(name, element)                                                                                        \
	size_t airlock_##name##_count(const struct airlock_##name *l)                                                  \
	{                                                                                                              \
		return l->n;                                                                                           \
	}                                                                                                              \
	const struct element *airlock_##name##_at(const struct airlock_##name *l, size_t i)                            \
	{                                                                                                              \
		return i < l->n ? &l->v[i] : NULL;                                                                     \
	}

/* Ends the text with a newline and gives it to the object, in place of the one before. NULL: out of memory. */
static inline const char *api_json(struct buf *text, char **owned)
{
	buf_addc(text, '\n');
	free(*owned);
	*owned = buf_take(text);
	return *owned;
}
