/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ln a b` of a file that was there makes one file of two names in the layer. Applied, b comes from the layer and a stays the
 * live file that it was: they are two files with the same content. A report that did not say so would not be true (I7). */
#include "change/scan/scan_parts.h"

#include "base/array.h"
#include "base/text.h"

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

static void say(struct scan *s, const struct change *c, const struct scan_link *l, size_t n)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_adds(&text, "hard link split: ");
	text_add_escaped(&text, c->path, strlen(c->path));
	buf_adds(&text, " was made as another name of ");
	text_add_escaped(&text, l->path, strlen(l->path));
	buf_adds(&text, ", and is a file of its own once it is applied");
	if (n > 1)
		buf_printf(&text, "; so are %zu more", n - 1);
	strs_take(s->notes, buf_take(&text));
}

void scan_tell_links(struct scan *s)
{
	size_t n = 0;
	const struct change *first = NULL;
	if (s->n_links > 1)
		qsort(s->links, s->n_links, sizeof *s->links, compare_links);
	for (size_t i = s->first; s->n_links && i < s->set->n; i++) {
		bool split = link_of(s, &s->set->v[i]) != NULL;
		first = split && !first ? &s->set->v[i] : first;
		n += split;
	}
	if (first)
		say(s, first, link_of(s, first), n);
	for (size_t i = 0; i < s->n_links; i++)
		free(s->links[i].path);
	base_freep(&s->links);
	s->n_links = s->cap_links = 0;
}
