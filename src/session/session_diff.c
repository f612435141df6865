/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How what one session shows differs from what another does. Only paths that one of them changed can differ, so only those are
 * looked at, in the views of both. */
#include "session/session_diff.h"

#include "base/path.h"
#include "change/scan/compare.h"
#include "fs/beneath.h"
#include "fs/io.h"
#include "layer/open.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

struct views {
	const struct session *sessions[2];
	struct change_set *set;
	int *fds[2]; /* per root of the set */
	struct compare compare;
	struct airlock_error *err;
};

static void views_done(struct views *v)
{
	for (size_t side = 0; side < 2; side++) {
		for (size_t i = 0; v->fds[side] && i < v->set->n_roots; i++)
			base_closep(&v->fds[side][i]);
		free(v->fds[side]);
	}
	compare_done(&v->compare);
	change_set_free(v->set);
}

static int add_roots(struct views *v, const struct change_set *from)
{
	for (size_t i = 0; i < from->n_roots; i++) {
		bool known = false;
		for (size_t k = 0; k < v->set->n_roots; k++)
			known |= strcmp(v->set->roots[k].path, from->roots[i].path) == 0;
		if (!known && change_set_add_root(v->set, from->roots[i].path, from->roots[i].path, v->err) < 0)
			return v->err ? v->err->code : AIRLOCK_ERR_IO;
	}
	return 0;
}

static int open_views(struct views *v)
{
	for (size_t side = 0; side < 2; side++) {
		v->fds[side] = calloc(v->set->n_roots + 1, sizeof *v->fds[side]);
		if (!v->fds[side])
			return base_oom(v->err);
		for (size_t i = 0; i < v->set->n_roots; i++)
			v->fds[side][i] = -EBADF;
		for (size_t i = 0; i < v->set->n_roots; i++) {
			_cleanup_strs_ struct strs lowers = STRS_INIT;
			session_lowers(v->sessions[side], v->set->roots[i].path, &lowers);
			int fd = lowers.failed ? -ENOMEM : session_view(&lowers, v->set->roots[i].path, -EBADF);
			if (fd < 0)
				return base_errno(v->err, AIRLOCK_ERR_IO, fd, "see the session's layers over",
						  v->set->roots[i].path);
			v->fds[side][i] = fd;
		}
	}
	return 0;
}

/* ── One path ── */

static int look(int view, const char *path, struct change_stat *ret)
{
	const char *name = NULL;
	_cleanup_close_ int dir = fs_open_parent(view, path, &name);
	*ret = (struct change_stat){0};
	if (dir == -ENOENT || dir == -ENOTDIR || dir == -ELOOP)
		return 0;
	return dir < 0 ? dir : change_stat_fresh(dir, name, ret);
}

/* A symlink's target as a file. */
static int open_target(int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof target);
	_cleanup_close_ int fd = n < 0 ? -EBADF : memfd_create("target", MFD_CLOEXEC);
	if (fd < 0 || fs_write_all(fd, target, (size_t)n) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int open_in(int view, const char *path, enum change_type type)
{
	const char *name = NULL;
	_cleanup_close_ int dir = fs_open_parent(view, path, &name);
	if (dir < 0)
		return dir;
	return type == CHANGE_SYMLINK ? open_target(dir, name) : open_regular_at(dir, name);
}

static int open_before(void *context, const struct change *c)
{
	const struct views *v = context;
	return open_in(v->fds[0][c->root], c->path, c->before.type);
}

static int open_after(void *context, const struct change *c)
{
	const struct views *v = context;
	return open_in(v->fds[1][c->root], c->path, c->after.type);
}

static bool has_same_content(struct views *v, size_t root, const char *path, const struct change_stat *a,
			     const struct change_stat *b)
{
	int ignored;
	if (a->type != CHANGE_FILE && a->type != CHANGE_SYMLINK)
		return true;
	_cleanup_close_ int x = open_in(v->fds[0][root], path, a->type), y = open_in(v->fds[1][root], path, b->type);
	return a->size == b->size && x >= 0 && y >= 0 && compare_files(&v->compare, x, y, a->size, &ignored) == 1;
}

static int add_path(struct views *v, size_t root, const char *path)
{
	struct change_stat a, b;
	if (look(v->fds[0][root], path, &a) < 0 || look(v->fds[1][root], path, &b) < 0)
		return 0; /* neither can be shown */
	bool same_content = a.type == b.type && has_same_content(v, root, path, &a, &b);
	if (same_content && a.mode == b.mode)
		return 0;
	struct change *c = change_set_add(v->set, root, path);
	if (!c)
		return base_oom(v->err);
	c->before = a;
	c->after = b;
	c->type = b.type == CHANGE_NOTHING ? a.type : b.type;
	c->kind = a.type == CHANGE_NOTHING   ? CHANGE_ADDED
		  : b.type == CHANGE_NOTHING ? CHANGE_DELETED
		  : a.type != b.type	     ? CHANGE_TYPE
		  : same_content	     ? CHANGE_METADATA
					     : CHANGE_MODIFIED;
	return 0;
}

static int add_paths(struct views *v, const struct change_set *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct change *c = &from->v[i];
		size_t root = 0;
		while (strcmp(v->set->roots[root].path, from->roots[c->root].path) != 0)
			root++;
		int rc = add_path(v, root, c->path);
		if (rc == 0 && c->from)
			rc = add_path(v, root, c->from);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Both may have changed the same path. */
static void drop_repeated(struct change_set *set)
{
	size_t kept = 0;
	change_set_sort(set);
	for (size_t i = 0; i < set->n; i++) {
		bool again = kept > 0 && set->v[kept - 1].root == set->v[i].root &&
			     strcmp(set->v[kept - 1].path, set->v[i].path) == 0;
		if (again)
			change_done(&set->v[i]);
		else
			set->v[kept++] = set->v[i];
	}
	set->n = kept;
}

int session_diff(const struct decided *a, const struct decided *b, bool colour, struct buf *out,
		 struct airlock_error *err)
{
	_cleanup_(views_done) struct views v = {
		.sessions = {&a->session, &b->session}, .set = change_set_new(b->session.name), .err = err};
	if (!v.set)
		return base_oom(err);
	int rc = add_roots(&v, a->run.set);
	if (rc == 0)
		rc = add_roots(&v, b->run.set);
	if (rc == 0)
		rc = open_views(&v);
	if (rc == 0)
		rc = add_paths(&v, a->run.set);
	if (rc == 0)
		rc = add_paths(&v, b->run.set);
	if (rc < 0)
		return rc;
	drop_repeated(v.set);
	const struct diff_source source = {open_before, open_after, &v};
	const struct diff_options options = {.colour = colour, .source = &source};
	return diff_write(v.set, NULL, &options, out, err);
}
