/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ln a b` of a file that was there makes one file of two names in the layer. b is new; a is as it was, so nothing is said of it. That
 * they are one file is written down with b, and applying gives the live file its second name (apply_link.c). */
#include "change/scan/scan_parts.h"

#include "base/array.h"

#include <string.h>

int scan_remember_link(struct scan *s, const char *path, const struct stat *upper)
{
	char *copy = strdup(path);
	if (!copy || !ARRAY_ROOM(s->links, s->n_links, s->cap_links, 16)) {
		free(copy);
		return base_oom(s->err);
	}
	s->links[s->n_links++] = (struct scan_link){.inode = upper->st_ino, .path = copy};
	return 0;
}

static int compare_links(const void *a, const void *b)
{
	const struct scan_link *x = a, *y = b;
	return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

static const struct scan_link *link_of(const struct scan *s, const struct change *c)
{
	const struct scan_link key = {.inode = c->after.inode};
	if (c->kind != CHANGE_ADDED || c->after.type != CHANGE_FILE || c->after.links < 2)
		return NULL;
	return bsearch(&key, s->links, s->n_links, sizeof key, compare_links);
}

int scan_find_links(struct scan *s)
{
	int rc = 0;
	if (s->n_links > 1)
		qsort(s->links, s->n_links, sizeof *s->links, compare_links);
	for (size_t i = s->first; rc == 0 && s->n_links && i < s->set->n; i++) {
		const struct scan_link *l = link_of(s, &s->set->v[i]);
		s->set->v[i].link = l ? strdup(l->path) : NULL;
		rc = l && !s->set->v[i].link ? base_oom(s->err) : 0;
	}
	for (size_t i = 0; i < s->n_links; i++)
		free(s->links[i].path);
	base_freep(&s->links);
	s->n_links = s->cap_links = 0;
	return rc;
}
