/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The live tree is what was before the run. What will be after it is the change set where that names a path, the live
 * tree elsewhere. Everything is reached beneath the fd of a root, no symlink is followed (I6). */
#include "change/gate/gate.h"
#include "change/gate/gate_repo.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/io.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

static int open_top(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -EBADF : fd;
}

int gate_open(struct gate *g, struct change_set *set, const char *home, struct airlock_error *err)
{
	*g = (struct gate){.set = set, .home = home};
	g->roots = calloc(set->n_roots ? set->n_roots : 1, sizeof *g->roots);
	int rc = g->roots ? moved_collect(&g->moved, set) : -ENOMEM;
	rc = rc < 0 ? rc : gate_rows_init(&g->names, sensitive_names);
	rc = rc < 0 ? rc : gate_rows_init(&g->harmless, sensitive_harmless);
	for (size_t i = 0; g->roots && i < set->n_roots; i++)
		g->roots[i] = (struct gate_root){.live = -EBADF, .layer = -EBADF};
	assert(rc != 0 || g->roots); /* without them rc is -ENOMEM */
	for (size_t i = 0; rc == 0 && i < set->n_roots; i++) {
		g->roots[i].live = open_top(change_root_before(&set->roots[i]));
		g->roots[i].layer = open_top(change_root_after(&set->roots[i]));
		g->roots[i].in_git = gate_is_in_git(set->roots[i].path);
		g->roots[i].in_place = set->roots[i].copy != NULL;
		rc = gate_find_above(g, i, home);
	}
	if (rc < 0) {
		gate_close(g);
		return base_oom(err);
	}
	return 0;
}

void gate_close(struct gate *g)
{
	for (size_t i = 0; g->roots && i < g->set->n_roots; i++) {
		base_closep(&g->roots[i].live);
		base_closep(&g->roots[i].layer);
		free(g->roots[i].above);
		free(g->roots[i].home);
	}
	for (size_t i = 0; i < g->n_aliases; i++)
		free(g->aliases[i].path);
	free(g->aliases);
	free(g->roots);
	gate_repos_close(g);
	for (struct gate_kept *next; g->kept; g->kept = next) {
		next = g->kept->next;
		change_reason_done(&g->kept->reason);
		free(g->kept);
	}
	strs_done(&g->tops);
	moved_done(&g->moved);
	gate_rows_done(&g->names);
	gate_rows_done(&g->harmless);
	buf_done(&g->shape.dir);
	free(g->top.dir);
	buf_done(&g->tracked.dir);
	strs_done(&g->tracked.data);
}

const struct airlock_reason *gate_keep_reason(struct gate *g, const struct airlock_reason *reason)
{
	struct gate_kept *kept = malloc(sizeof *kept);
	if (!kept || change_reason_copy(reason, &kept->reason) < 0) {
		free(kept);
		g->failed = true;
		return change_reason_of(AIRLOCK_REASON_UNREADABLE);
	}
	kept->next = g->kept;
	g->kept = kept;
	return &kept->reason;
}

/* ── What is there ── */

int gate_stat_before(struct gate *g, size_t root, const char *path, struct stat *ret)
{
	return g->roots[root].live < 0 ? -ENOENT : fs_stat_beneath(g->roots[root].live, path, ret);
}

enum change_type gate_type_before(struct gate *g, size_t root, const char *path)
{
	struct stat st;
	return gate_stat_before(g, root, path, &st) < 0 ? CHANGE_NOTHING : change_type_of(st.st_mode);
}

enum change_type gate_type_after(struct gate *g, size_t root, const char *path)
{
	const struct change *c = change_set_find(g->set, root, path), *away = NULL;
	if (c && gate_is_open(g, c))
		return c->after.type;
	if (!c)
		away = moved_find(&g->moved, root, path);
	return away && gate_is_open(g, away) ? CHANGE_NOTHING : gate_type_before(g, root, path);
}

bool gate_has_symlink(struct gate *g, size_t root, const char *path)
{
	_cleanup_free_ char *part = strdup(path);
	for (char *end = part; end && *end;) {
		end += strcspn(end, "/");
		char kept = *end;
		*end = '\0';
		if (gate_type_after(g, root, part) == CHANGE_SYMLINK)
			return true;
		*end = kept;
		end += kept == '/';
	}
	return !part;
}

/* ── What is in it ── */

/* Of a reversed change, what comes back: its after is the before of the change that is undone. */
static int open_image(struct gate *g, const struct change *c, const char **ret_name)
{
	const struct change undone = {.path = c->path, .before = c->after, .slot = c->slot, .state = CHANGE_APPLIED};
	int rc = change_find_image(g->before_fd, g->roots[c->root].layer, &undone, &g->image);
	*ret_name = g->image.name;
	return rc < 0 ? rc : g->image.dir_fd;
}

int gate_open_parent_after(struct gate *g, const struct change *c, const char **ret_name)
{
	if (g->is_undo)
		return open_image(g, c, ret_name);
	const struct gate_root *r = &g->roots[c->root];
	return (r->in_place ? fs_open_parent : upper_open_parent)(r->layer, c->path, ret_name);
}

/* Takes dir, a descriptor or -errno. */
static int read_in(int dirfd, const char *name, bool layer, struct buf *ret)
{
	_cleanup_close_ int dir = dirfd;
	if (dir < 0)
		return dir == -ENOTDIR || dir == -ELOOP ? -ENOENT : dir;
	_cleanup_close_ int fd = (layer ? upper_open_file : open_regular_at)(dir, name);
	if (fd < 0)
		return fd == -EINVAL ? -ENOENT : fd;
	return fs_read_all(fd, GATE_MAX_CONTENT, ret);
}

int gate_read_before(struct gate *g, size_t root, const char *path, struct buf *ret)
{
	const char *name;
	buf_reset(ret);
	if (g->roots[root].live < 0)
		return -ENOENT;
	int dir = fs_open_parent(g->roots[root].live, path, &name);
	return read_in(dir, name, false, ret);
}

int gate_read_after(struct gate *g, const struct change *c, struct buf *ret)
{
	const char *name;
	buf_reset(ret);
	if (g->content && g->content->change == c)
		return g->content->after(g->content->context, ret);
	if (g->roots[c->root].layer < 0 && !g->is_undo)
		return -ENOENT;
	int dir = gate_open_parent_after(g, c, &name);
	return read_in(dir, name, true, ret);
}

const struct airlock_reason *gate_read_both(struct gate *g, const struct change *c, struct buf *before,
					    struct buf *after)
{
	int rc = c->after.type == CHANGE_FILE ? gate_read_after(g, c, after) : -EINVAL;
	if (rc < 0)
		return change_reason_of(rc == -EFBIG ? AIRLOCK_REASON_TOO_LARGE : AIRLOCK_REASON_UNREADABLE);
	rc = g->content && g->content->change == c ? g->content->before(g->content->context, before)
						   : gate_read_before(g, c->root, c->path, before);
	if (rc < 0)
		buf_reset(before); /* then everything in it is new */
	return before->failed || after->failed ? change_reason_of(AIRLOCK_REASON_UNREADABLE) : NULL;
}

int gate_read_link(struct gate *g, const struct change *c, struct buf *ret)
{
	char target[PATH_MAX];
	const char *name;
	if (g->content && g->content->change == c)
		return g->content->after(g->content->context, ret);
	_cleanup_close_ int dir = gate_open_parent_after(g, c, &name);
	if (dir < 0)
		return dir;
	ssize_t n = readlinkat(dir, name, target, sizeof target);
	if (n < 0)
		return -errno;
	buf_reset(ret);
	buf_add(ret, target, (size_t)n);
	return ret->failed ? -ENOMEM : 0;
}

/* ── Where it leads ── */

/* ".." after a name means another directory when that name is a symlink: then no words tell where it leads. */
static bool climbs_after_name(const char *target)
{
	bool named = false;
	for (const char *p = target; *p;) {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");
		bool up = n == 2 && p[0] == '.' && p[1] == '.';
		if (up && named)
			return true;
		named |= n > 0 && !up && !(n == 1 && p[0] == '.');
		p += n;
	}
	return false;
}

/* The roots are real paths, so that for them words do tell. */
static bool find_root(struct gate *g, const char *path, size_t *ret_root, char **ret_path)
{
	for (size_t i = 0; i < g->set->n_roots; i++) {
		const char *rest = path_rest(path, g->set->roots[i].path);
		if (!rest)
			continue;
		*ret_root = i;
		*ret_path = strdup(rest);
		return *ret_path != NULL;
	}
	return false;
}

bool gate_resolve(struct gate *g, size_t root, const char *dir, const char *target, size_t *ret_root, char **ret_path)
{
	*ret_path = NULL;
	if (*target == '\0' || climbs_after_name(target))
		return false;
	_cleanup_free_ char *base = path_join(g->set->roots[root].path, dir);
	_cleanup_free_ char *path = base ? path_normalize(base, target) : NULL;
	return path && find_root(g, path, ret_root, ret_path);
}
