/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Three versions of a path as one: what it was when the session first touched it, what one side made of it, what the other did.
 *
 * A path that only one side changed is that side's. Where both changed it, texts are merged, and everything else is a conflict.
 * All paths are merged or none: nobody gets a tree with the marks of a conflict in it.
 */
#include "session/session_parts.h"

#include "base/path.h"
#include "change/reason.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/io.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MERGE_MAX ((size_t)8 << 20) /* a larger file is hardly text */

/* ── One file ── */

static int read_whole(int fd, struct buf *ret)
{
	return fd < 0 ? fd : fs_read_all(fd, MERGE_MAX, ret);
}

static bool is_text(const struct buf *b)
{
	return b->len == 0 || !memchr(b->data, '\0', b->len);
}

/* The file of a layer at path. */
static int read_layer(const char *upper, const char *path, struct buf *ret)
{
	const char *name = NULL;
	_cleanup_close_ int root = open(upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int dir = root < 0 ? -errno : fs_open_parent(root, path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : upper_open_file(dir, name);
	return read_whole(fd, ret);
}

static int read_live(const char *root_path, const char *path, struct buf *ret)
{
	const char *name = NULL;
	_cleanup_close_ int root = open(root_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int dir = root < 0 ? -errno : fs_open_parent(root, path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : open_regular_at(dir, name);
	return read_whole(fd, ret);
}

/* A file that was not there is an empty text. */
static int read_base(const struct fold_base *base, struct buf *ret)
{
	if (base && base->stat.type == CHANGE_NOTHING)
		return 0;
	_cleanup_close_ int fd = base ? fold_base_open(base) : -ENOENT;
	return read_whole(fd, ret);
}

/* 1: ret is the merged text; 0: it cannot be merged; a code. */
static int merge_texts(const struct buf *ours, const struct buf *base, const struct buf *theirs, struct buf *ret,
		       struct airlock_error *err)
{
	if (ours->len == theirs->len && (ours->len == 0 || memcmp(ours->data, theirs->data, ours->len) == 0)) {
		buf_add(ret, ours->data, ours->len);
		return ret->failed ? base_oom(err) : 1;
	}
	if (!is_text(ours) || !is_text(base) || !is_text(theirs))
		return 0;
	return diff_merge(ours, base, theirs, ret, err);
}

/* Puts the text in the place of the layer's file, which keeps its attributes. */
static int replace_content(const char *upper, const char *path, const struct buf *text, uint32_t mode,
			   struct change_stat *ret, struct airlock_error *err)
{
	static const char temporary[] = ".airlock-merged";
	const char *name = NULL;
	_cleanup_close_ int root = open(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int dir = root < 0 ? -errno : upper_open_parent(root, path, &name);
	struct stat st;
	bool shared;
	int rc = dir < 0 ? dir : 0;
	if (rc == 0) {
		(void)unlinkat(dir, temporary, 0);
		rc = transfer_copy_quickly((struct transfer_place){dir, name}, (struct transfer_place){dir, temporary},
					   0600, &shared);
	}
	_cleanup_close_ int fd = rc < 0 ? rc : openat(dir, temporary, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (rc == 0 && fd < 0)
		rc = -errno;
	rc = rc < 0 ? rc : fs_write_all(fd, buf_str(text), text->len);
	if (rc == 0 &&
	    (fchmod(fd, mode) < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0 || renameat(dir, temporary, dir, name) < 0))
		rc = -errno;
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "merge", path);
	*ret = change_stat_of(&st);
	return 0;
}

/* ── Somebody's edits of the project ── */

/* Their version and ours of one conflict. 1: merged into the layer; 0: it stays a conflict. */
static int merge_edit(const struct fold_bases *bases, const struct change_root *root, struct change *c,
		      struct airlock_error *err)
{
	_cleanup_buf_ struct buf ours = BUF_INIT, base = BUF_INIT, theirs = BUF_INIT, merged = BUF_INIT;
	const struct fold_base *known = fold_bases_find(bases, root->path, c->path);
	const char *name = NULL;
	struct change_stat live;
	if (c->kind != CHANGE_MODIFIED || c->after.type != CHANGE_FILE)
		return 0;
	_cleanup_close_ int live_root = open(root->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int dir = live_root < 0 ? -errno : fs_open_parent(live_root, c->path, &name);
	/* Looked at before it is read: an edit after that is a conflict when it is applied. */
	if (dir < 0 || change_stat_fresh(dir, name, &live) < 0 || live.type != CHANGE_FILE)
		return 0;
	if (read_base(known, &base) < 0 || read_layer(root->upper, c->path, &ours) < 0 ||
	    read_live(root->path, c->path, &theirs) < 0)
		return 0;
	int rc = merge_texts(&ours, &base, &theirs, &merged, err);
	if (rc <= 0)
		return rc;
	rc = replace_content(root->upper, c->path, &merged, c->after.mode, &c->after, err);
	if (rc < 0)
		return rc;
	c->before = live;
	c->settled = true;
	conflict_forget(c);
	return 1;
}

int session_merge_edits(const struct session *s, struct change_set *set, const bool *selected,
			struct airlock_error *err)
{
	_cleanup_bases_ struct fold_bases bases = FOLD_BASES_INIT;
	int left = 0;
	int rc = session_load_bases(s, 0, s->n_layers, &bases, err);
	if (rc == 0)
		rc = conflict_check(set, NULL, err);
	for (size_t i = 0; rc >= 0 && i < set->n; i++) {
		if (!selected[i] || set->v[i].state != CHANGE_CONFLICT)
			continue;
		rc = merge_edit(&bases, &set->roots[set->v[i].root], &set->v[i], err);
		left += rc == 0;
	}
	return rc < 0 ? rc : left;
}

/* ── Another session ── */

enum side { SIDE_TAKE, SIDE_SAME, SIDE_MERGED, SIDE_CONFLICT };

struct merging {
	struct session_merge *m;
	struct fold_bases from_bases, into_bases;
	struct change_set *set; /* a copy of m->changes: what is not taken is thrown away in it */
	struct buf *texts;	/* per change: the merged text */
	enum side *sides;
	struct airlock_error *err;
};

static bool is_same_root(const struct merging *g, const struct change *a, const struct change *b)
{
	return strcmp(g->set->roots[a->root].path, g->m->others->roots[b->root].path) == 0;
}

/* Both made the same of it. 1, 0 or a code. */
static int is_same_result(const struct merging *g, const struct change *a, const struct change *b)
{
	_cleanup_buf_ struct buf x = BUF_INIT, y = BUF_INIT;
	if (a->after.type != b->after.type || strcmp(a->path, b->path) != 0)
		return 0;
	if (a->after.type == CHANGE_NOTHING || a->after.type == CHANGE_DIRECTORY)
		return a->after.mode == b->after.mode;
	if (a->after.type != CHANGE_FILE || a->after.size != b->after.size || a->after.mode != b->after.mode)
		return 0;
	if (read_layer(g->set->roots[a->root].upper, a->path, &x) < 0 ||
	    read_layer(g->m->others->roots[b->root].upper, b->path, &y) < 0)
		return 0;
	return x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
}

static int merge_both(struct merging *g, size_t i, const struct change *b)
{
	const struct change *a = &g->set->v[i];
	const char *root = g->set->roots[a->root].path;
	_cleanup_buf_ struct buf ours = BUF_INIT, base = BUF_INIT, theirs = BUF_INIT;
	if (is_same_result(g, a, b))
		return SIDE_SAME;
	if (a->after.type != CHANGE_FILE || b->after.type != CHANGE_FILE || strcmp(a->path, b->path) != 0 || a->from ||
	    b->from)
		return SIDE_CONFLICT;
	const struct fold_base *known = fold_bases_find(&g->into_bases, root, a->path);
	const struct fold_base *other = fold_bases_find(&g->from_bases, root, a->path);
	if (!known || !known->slot)
		known = other;
	if (read_base(known, &base) < 0 || read_layer(g->m->others->roots[b->root].upper, b->path, &ours) < 0 ||
	    read_layer(g->set->roots[a->root].upper, a->path, &theirs) < 0)
		return SIDE_CONFLICT;
	int rc = merge_texts(&ours, &base, &theirs, &g->texts[i], g->err);
	return rc < 0 ? rc : rc ? SIDE_MERGED : SIDE_CONFLICT;
}

/* The outcome for each change. */
static int decide(struct merging *g)
{
	for (size_t i = 0; i < g->set->n; i++) {
		struct change *a = &g->set->v[i];
		int side = a->state == CHANGE_HELD || a->state == CHANGE_CONFLICT ? SIDE_TAKE : SIDE_SAME;
		for (size_t k = 0; side == SIDE_TAKE && k < g->m->others->n; k++) {
			const struct change *b = &g->m->others->v[k];
			bool counts = b->state == CHANGE_HELD || b->state == CHANGE_CONFLICT;
			if (counts && is_same_root(g, a, b) && session_changes_collide(a, b))
				side = merge_both(g, i, b);
		}
		if (side < 0)
			return side;
		g->sides[i] = (enum side)side;
		if (side == SIDE_CONFLICT)
			strs_add(&g->m->conflicts, a->path);
		if (side == SIDE_SAME)
			a->state = CHANGE_DISCARDED;
	}
	return g->m->conflicts.failed ? base_oom(g->err) : 0;
}

static int too_different(const struct merging *g)
{
	base_error(g->err, AIRLOCK_ERR_CONFLICT, "merge", g->m->from->name,
		   "%zu %s cannot be merged, because both sessions changed the same place; nothing was merged",
		   g->m->conflicts.n, g->m->conflicts.n == 1 ? "path" : "paths");
	return base_hint(g->err, "`airlock diff %s %s` shows how the sessions differ", g->m->from->name,
			 g->m->into->name);
}

/* The layer of the step: what is taken, with the merged texts. */
static int write_layer(struct merging *g, const char *dir)
{
	int count = fold_rest(g->set, dir, g->err), rc = count < 0 ? count : 0;
	for (size_t i = 0; rc == 0 && i < g->set->n; i++) {
		struct change *c = &g->set->v[i];
		struct change_stat made;
		if (g->sides[i] != SIDE_MERGED)
			continue;
		_cleanup_free_ char *upper = fold_upper_path(dir, c->root);
		rc = upper ? replace_content(upper, c->path, &g->texts[i], c->after.mode, &made, g->err)
			   : base_oom(g->err);
	}
	return rc < 0 ? rc : count;
}

static int scan_layer(struct merging *g, const char *run, const char *dir, struct change_set **ret)
{
	_cleanup_changes_ struct change_set *set = change_set_new(run);
	int rc = set && (set->session = strdup(g->m->into->name)) ? 0 : base_oom(g->err);
	for (size_t i = 0; rc == 0 && i < g->set->n_roots; i++) {
		const struct change_root *root = &g->set->roots[i];
		_cleanup_strs_ struct strs lowers = STRS_INIT;
		if (change_set_take_root(set, strdup(root->path), fold_upper_path(dir, i), root->device, root->inode) <
		    0)
			return base_oom(g->err);
		session_lowers(g->m->into, root->path, &lowers);
		int fd = lowers.failed ? -ENOMEM : session_view(&lowers, root->path, g->m->user_ns);
		if (fd < 0)
			return base_errno(g->err, AIRLOCK_ERR_IO, fd, "see the session's layers over", root->path);
		set->roots[i].below_fd = fd;
	}
	if (rc < 0)
		return rc;
	set->started_ns = AL_MAX(g->from_bases.started_ns, g->into_bases.started_ns);
	rc = change_scan(set, NULL, g->err);
	if (rc == 0)
		*ret = TAKE_PTR(set);
	return rc;
}

static int make_step(struct merging *g, const struct host *host)
{
	char id[48];
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs"), *dir = NULL, *record = NULL;
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_close_ int making = -EBADF;
	int rc = runs ? session_claim_run(runs, id, sizeof id, &dir, &making, g->err) : base_oom(g->err);
	if (rc == 0 && !(record = path_join(dir, "changes")))
		rc = base_oom(g->err);
	int count = rc < 0 ? rc : write_layer(g, dir);
	if (count <= 0)
		return count;
	rc = scan_layer(g, id, dir, &set);
	if (rc < 0)
		return rc;
	assert(set); /* scan_layer succeeded */
	if (set->n == 0)
		return 0;
	rc = fold_bases_keep(&g->from_bases, g->set, dir, g->err);
	if (rc == 0)
		rc = change_set_save(set, record, g->err);
	const struct session_command command = {.run = id, .run_dir = dir, .command = g->m->command};
	if (rc == 0)
		rc = session_append_step(g->m->into, &command, set, g->err);
	if (rc == 0)
		g->m->step = session_last_step(g->m->into);
	return rc;
}

static int copy_set(const struct host *host, const struct change_set *set, struct change_set **ret,
		    struct airlock_error *err)
{
	struct buf file = BUF_INIT;
	buf_printf(&file, "%s/runs/%s/changes", host->state_dir, set->run);
	_cleanup_free_ char *path = buf_take(&file);
	return path ? change_set_load(path, ret, err) : base_oom(err);
}

int session_merge(struct session_merge *m, const struct host *host, struct airlock_error *err)
{
	struct merging g = {.m = m, .from_bases = FOLD_BASES_INIT, .into_bases = FOLD_BASES_INIT, .err = err};
	m->step = 0;
	if (m->changes->n == 0)
		return 0;
	int rc = copy_set(host, m->changes, &g.set, err);
	size_t n = rc == 0 ? g.set->n : 0;
	if (rc == 0)
		rc = session_load_bases(m->from, 0, m->from->n_layers, &g.from_bases, err);
	if (rc == 0)
		rc = session_load_bases(m->into, 0, m->into->n_layers, &g.into_bases, err);
	g.texts = calloc(n + 1, sizeof *g.texts);
	g.sides = calloc(n + 1, sizeof *g.sides);
	if (rc == 0 && (!g.texts || !g.sides))
		rc = base_oom(err);
	if (rc == 0)
		rc = decide(&g);
	if (rc == 0 && m->conflicts.n > 0)
		rc = too_different(&g);
	if (rc == 0)
		rc = make_step(&g, host);
	for (size_t i = 0; g.texts && i < n; i++)
		buf_done(&g.texts[i]);
	free(g.texts);
	free(g.sides);
	change_set_free(g.set);
	fold_bases_done(&g.from_bases);
	fold_bases_done(&g.into_bases);
	return rc;
}
