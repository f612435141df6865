/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room for one more in an array that grows.
 *
 *   if (!ARRAY_ROOM(l->v, l->n, l->cap, 16))
 *           return base_oom(err);               the array is as it was
 *   l->v[l->n++] = item;
 *
 * It begins with `first` elements and doubles. v, n and cap are lvalues, cap a size_t.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_ROOM(v, n, cap, first) ((n) < (cap) || array_grow(&(v), &(cap), first, sizeof *(v)))

/* v: the address of the pointer to the elements. */
bool array_grow(void *v, size_t *cap, size_t first, size_t size);
