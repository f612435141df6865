/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/gate/gate_moved.h"

#include "base/path.h"

static int compare(const void *a, const void *b)
{
	const struct change *x = *(const struct change *const *)a, *y = *(const struct change *const *)b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return path_compare(x->from, y->from);
}

int moved_collect(struct moved *m, const struct change_set *set)
{
	size_t n = 0;
	*m = (struct moved){0};
	for (size_t i = 0; i < set->n; i++)
		n += set->v[i].from != NULL;
	if (n == 0)
		return 0;
	m->v = calloc(n, sizeof(void *));
	if (!m->v)
		return -ENOMEM;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].from)
			m->v[m->n++] = &set->v[i];
	qsort(m->v, n, sizeof(void *), compare);
	return 0;
}

const struct change *moved_find(const struct moved *m, size_t root, const char *path)
{
	const struct change key = {.root = root, .from = (char *)path}, *k = &key;
	const struct change **hit = m->n ? bsearch(&k, m->v, m->n, sizeof(void *), compare) : NULL;
	return hit ? *hit : NULL;
}

void moved_done(struct moved *m)
{
	base_freep(&m->v);
	m->n = 0;
}
