/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit graph: what git would otherwise read from the commits, their trees and parents, in one file that it believes. */
#include "git/objects.h"

#include <errno.h>
#include <unistd.h>

#define MAX_CHUNKS 32
#define NO_PARENT 0x70000000u
#define MORE_PARENTS 0x80000000u /* the second number is a place in the list of edges */
#define LAST_EDGE 0x80000000u

static uint32_t big32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct graph {
	struct git_objects *o;
	int fd;
	uint64_t fanout, names, data, edges; /* where they begin; 0: there are none */
	uint32_t n;
};

static int read_at(const struct graph *g, uint64_t at, void *to, size_t n)
{
	ssize_t got = pread(g->fd, to, n, (off_t)at);
	return got < 0 ? -errno : (size_t)got == n ? 0 : -EBADMSG;
}

static int note_chunk(struct graph *g, const unsigned char *row)
{
	static const struct {
		const char *id;
		size_t field;
	} known[] = {{"OIDF", offsetof(struct graph, fanout)},
		     {"OIDL", offsetof(struct graph, names)},
		     {"CDAT", offsetof(struct graph, data)},
		     {"EDGE", offsetof(struct graph, edges)}};
	for (size_t i = 0; i < AL_ARRAY_LEN(known); i++) {
		uint64_t *at = (uint64_t *)(void *)((char *)g + known[i].field);
		if (memcmp(row, known[i].id, 4) != 0)
			continue;
		if (*at)
			return -EBADMSG;
		*at = (uint64_t)big32(row + 4) << 32 | big32(row + 8);
	}
	return 0;
}

static int read_head(struct graph *g)
{
	unsigned char head[8], row[12], last[4] = {0};
	int rc = read_at(g, 0, head, sizeof head);
	if (rc < 0)
		return rc;
	if (memcmp(head, "CGPH", 4) != 0 || head[4] != 1 || head[5] != (g->o->hash == GIT_SHA256 ? 2 : 1) ||
	    head[6] > MAX_CHUNKS)
		return -EBADMSG;
	if (head[7] != 0)
		return -EOPNOTSUPP;
	for (unsigned i = 0; rc == 0 && i < head[6]; i++) {
		rc = read_at(g, sizeof head + i * sizeof row, row, sizeof row);
		rc = rc < 0 ? rc : note_chunk(g, row);
	}
	if (rc == 0 && (!g->fanout || !g->names || !g->data))
		rc = -EBADMSG;
	rc = rc < 0 ? rc : read_at(g, g->fanout + 255 * sizeof last, last, sizeof last);
	g->n = big32(last);
	return rc;
}

static int name_of(const struct graph *g, uint32_t i, struct git_oid *ret)
{
	*ret = (struct git_oid){{0}};
	return i < g->n ? read_at(g, g->names + (uint64_t)i * g->o->hash, ret->b, g->o->hash) : -EBADMSG;
}

static int compare_parent(const struct graph *g, const struct git_commit *commit, size_t nth, uint32_t i)
{
	struct git_oid oid;
	int rc = nth < commit->n_parents ? name_of(g, i, &oid) : -EBADMSG;
	return rc < 0 ? rc : git_oid_compare(&oid, &commit->parents[nth]) == 0 ? 0 : -EBADMSG;
}

static int compare_edges(const struct graph *g, const struct git_commit *commit, uint32_t first)
{
	size_t nth = 1;
	for (uint64_t at = first;; at++, nth++) {
		unsigned char four[4];
		int rc = g->edges ? read_at(g, g->edges + 4 * at, four, sizeof four) : -EBADMSG;
		rc = rc < 0 ? rc : compare_parent(g, commit, nth, big32(four) & ~LAST_EDGE);
		if (rc < 0)
			return rc;
		if (big32(four) & LAST_EDGE)
			return nth + 1 == commit->n_parents ? 0 : -EBADMSG;
	}
}

static int compare_parents(const struct graph *g, const struct git_commit *commit, uint32_t first, uint32_t second)
{
	if (first == NO_PARENT)
		return commit->n_parents == 0 ? 0 : -EBADMSG;
	int rc = compare_parent(g, commit, 0, first);
	if (rc < 0)
		return rc;
	if (second == NO_PARENT)
		return commit->n_parents == 1 ? 0 : -EBADMSG;
	if (second & MORE_PARENTS)
		return compare_edges(g, commit, second & ~MORE_PARENTS);
	rc = compare_parent(g, commit, 1, second);
	return rc < 0 ? rc : commit->n_parents == 2 ? 0 : -EBADMSG;
}

static int compare_commit(const struct graph *g, uint32_t i)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	unsigned char numbers[8];
	struct git_commit commit;
	struct git_oid oid, tree = {{0}};
	uint64_t at = g->data + (uint64_t)i * (g->o->hash + 16);
	int rc = name_of(g, i, &oid);
	rc = rc < 0 ? rc : read_at(g, at, tree.b, g->o->hash);
	rc = rc < 0 ? rc : read_at(g, at + g->o->hash, numbers, sizeof numbers);
	rc = rc < 0 ? rc : git_object_read(g->o, &oid, GIT_COMMIT, NULL, &text);
	rc = rc < 0 ? rc : git_commit_parse(&text, g->o->hash, &commit);
	if (rc < 0)
		return rc == -ENOENT ? -EBADMSG : rc;
	if (git_oid_compare(&tree, &commit.tree) != 0)
		return -EBADMSG;
	return compare_parents(g, &commit, big32(numbers), big32(numbers + 4));
}

int git_graph_check(struct git_objects *o, int fd)
{
	struct graph g = {.o = o, .fd = fd};
	int rc = read_head(&g);
	for (uint32_t i = 0; rc == 0 && i < g.n; i++)
		rc = compare_commit(&g, i);
	return rc;
}
