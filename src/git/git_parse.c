/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses commits, tags and trees as git does. */
#include "git/objects.h"

#include <errno.h>
#include <stdlib.h>

struct lines {
	const char *p, *end;
};

/* "word OID\n" */
static bool take_named(struct lines *l, const char *word, size_t hash, struct git_oid *ret)
{
	size_t n = strlen(word), whole = n + 1 + 2 * hash + 1;
	if ((size_t)(l->end - l->p) < whole || memcmp(l->p, word, n) != 0 || l->p[n] != ' ' || l->p[whole - 1] != '\n')
		return false;
	if (!git_oid_parse(l->p + n + 1, hash, ret))
		return false;
	l->p += whole;
	return true;
}

/* "committer NAME <MAIL> SECONDS ZONE": the number after the last '>' of that line. */
static int64_t find_time(const struct lines *l)
{
	static const char word[] = "\ncommitter ";
	const char *at = memmem(l->p, (size_t)(l->end - l->p), word, sizeof word - 1);
	const char *newline = at ? memchr(at + 1, '\n', (size_t)(l->end - at - 1)) : NULL;
	const char *mark = newline ? memrchr(at, '>', (size_t)(newline - at)) : NULL;
	if (!mark || mark[1] != ' ')
		return 0;
	long long t = strtoll(mark + 2, NULL, 10); /* ends at the newline at the latest */
	return t > 0 && t < INT64_MAX ? t : 0;
}

int git_commit_parse(const struct buf *text, size_t hash, struct git_commit *ret)
{
	struct lines l = {buf_str(text), buf_str(text) + text->len};
	*ret = (struct git_commit){.n_parents = 0};
	if (!take_named(&l, "tree", hash, &ret->tree))
		return -EBADMSG;
	while (l.end - l.p >= 7 && memcmp(l.p, "parent ", 7) == 0) {
		if (ret->n_parents == GIT_MAX_PARENTS)
			return -EFBIG;
		if (!take_named(&l, "parent", hash, &ret->parents[ret->n_parents++]))
			return -EBADMSG;
	}
	l.p -= l.p > buf_str(text); /* the newline before the author */
	ret->time = find_time(&l);
	return 0;
}

int git_tag_parse(const struct buf *text, size_t hash, struct git_oid *ret)
{
	struct lines l = {buf_str(text), buf_str(text) + text->len};
	return take_named(&l, "object", hash, ret) ? 0 : -EBADMSG;
}

int git_tree_next(const struct buf *tree, size_t hash, size_t *at, struct git_entry *ret)
{
	const char *p = buf_str(tree) + *at, *end = buf_str(tree) + tree->len;
	*ret = (struct git_entry){0};
	if (p == end)
		return 0;
	for (int digits = 0; p < end && *p >= '0' && *p <= '7' && digits < 7; p++, digits++)
		ret->mode = ret->mode << 3 | (uint32_t)(*p - '0');
	if (p == end || *p != ' ' || ret->mode == 0)
		return -EBADMSG;
	ret->name = ++p;
	const char *nul = memchr(p, '\0', (size_t)(end - p));
	if (!nul || nul == p || (size_t)(end - nul - 1) < hash || memchr(p, '/', (size_t)(nul - p)))
		return -EBADMSG;
	ret->name_len = (size_t)(nul - p);
	memcpy(ret->oid.b, nul + 1, hash);
	*at = (size_t)(nul + 1 + hash - buf_str(tree));
	return 1;
}
