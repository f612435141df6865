/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool array_grow(void *v, size_t *cap, size_t first, size_t size)
{
	/* Copied with memcpy: reading one pointer type through another is undefined behaviour. */
	void *old;
	memcpy(&old, v, sizeof old);
	size_t more = *cap ? *cap * 2 : first;
	void *grown = *cap > SIZE_MAX / 2 ? NULL : reallocarray(old, more, size);
	if (!grown)
		return false;
	memcpy(v, &grown, sizeof grown);
	*cap = more;
	return true;
}
