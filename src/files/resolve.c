/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "files/resolve.h"

#include "base/path.h"
#include "layer/upper.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define MAX_LINKS 40
#define MAX_LEVELS 256
#define MAX_RACES 1000 /* how often one component may change its type while we look */

/* A directory on the way, on each side. Outside every mount both are -EBADF and mount is NULL. */
struct walked_dir {
	const struct files_mount *mount;
	int upper_fd, lower_fd;
	size_t inside_len;
};

struct path_walk {
	const struct files_place *place;
	const char *shown; /* the path as it was given */
	struct airlock_error *err;
	struct walked_dir levels[MAX_LEVELS];
	size_t n;
	struct buf inside; /* path of the level on top, "" for the root */
	char *todo;	   /* what is still to be walked */
	size_t given; /* how many bytes at the end of todo are the caller's; what is before them came from a link */
	unsigned links, races;
	bool detour;
};

void files_at_done(struct files_at *at)
{
	base_closep(&at->upper_fd);
	base_closep(&at->lower_fd);
	free(at->name);
	free(at->rest);
	free(at->inside);
	*at = (struct files_at)FILES_AT_INIT;
}

/* ── Refusals ── */

static int blocked(const char *shown, const char *how, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_BLOCKED, "open", shown, "%s leads out of the project or workspace: %s", shown, how);
	return AIRLOCK_ERR_BLOCKED;
}

static int refused(const char *shown, int rc, struct airlock_error *err)
{
	switch (-rc) {
	case ENOMEM:
		return base_oom(err);
	case ENOENT:
	case ENOTDIR:
		return base_errno(err, AIRLOCK_ERR_NOT_FOUND, rc, "open", shown);
	case ENAMETOOLONG:
	case ELOOP:
		return base_errno(err, AIRLOCK_ERR_INVALID, rc, "open", shown);
	default:
		return base_errno(err, AIRLOCK_ERR_IO, rc, "open", shown);
	}
}

/* ── The kernel's answer ── */

static bool has_dotdot(const char *path)
{
	for (const char *c = path; *c;) {
		size_t n = strcspn(c, "/");
		if (n == 2 && c[0] == '.' && c[1] == '.')
			return true;
		c += n + strspn(c + n, "/");
	}
	return false;
}

static int open_in_root(int root_fd, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS};
	int fd, tries = 0;
	do /* EAGAIN: a rename raced with the resolution of ".." in a link */
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN) && tries++ < MAX_RACES);
	return fd < 0 ? -errno : fd;
}

/* "a//b/" → "a" and "b"; false for "" and ".", which name no entry. */
static bool split_last(const char *path, struct buf *dir, struct buf *name)
{
	size_t end = strlen(path);
	while (end > 0 && path[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	buf_add(name, path + start, end - start);
	buf_add(dir, path, start);
	return end > start && !(end - start == 1 && path[start] == '.');
}

/* 1: answered. 0: the walk must find out. The fast path: no layer, one mount, no error message needed. */
static int ask_kernel(const struct files_place *p, const char *path, int flags, struct files_at *ret)
{
	const struct files_mount *m = p->mounts;
	_cleanup_buf_ struct buf dir = BUF_INIT, name = BUF_INIT;
	const char *relative = path;
	if (flags & FILES_NO_FAST || p->n_mounts != 1 || p->n_rules > 0 || m->upper_fd >= 0 || has_dotdot(path))
		return 0;
	if (*path == '/' && !p->workspace)
		relative = path_is_normal(path) ? path_rest(path, m->inside) : NULL;
	while (relative && *relative == '/')
		relative++;
	if (!relative || !split_last(relative, &dir, &name) || dir.failed || name.failed || dir.len >= PATH_MAX)
		return 0;
	_cleanup_close_ int fd = open_in_root(m->lower_fd, dir.len ? buf_str(&dir) : ".",
					      p->workspace ? RESOLVE_IN_ROOT : RESOLVE_BENEATH);
	if (fd < 0 || fstatat(fd, name.data, &ret->st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISLNK(ret->st.st_mode) && !(flags & FILES_NO_FOLLOW))
		return 0;
	ret->mount = m;
	ret->lower_fd = TAKE_FD(fd);
	ret->found = true;
	ret->name = buf_take(&name);
	ret->rest = strdup("");
	ret->inside = path_normalize(m->inside, dir.len ? buf_str(&dir) : ".");
	return ret->name && ret->rest && ret->inside ? 1 : -ENOMEM;
}

/* ── The walk ── */

static struct walked_dir *top(struct path_walk *w)
{
	return &w->levels[w->n - 1];
}

static const char *inside_of(const struct path_walk *w)
{
	return w->inside.len ? w->inside.data : "/";
}

static bool is_mount_top(const struct walked_dir *l)
{
	return l->mount && l->lower_fd == l->mount->lower_fd;
}

static void close_level(struct walked_dir *l)
{
	if (is_mount_top(l))
		return; /* the place's own descriptors */
	base_closep(&l->upper_fd);
	base_closep(&l->lower_fd);
}

static void pop(struct path_walk *w)
{
	close_level(top(w));
	w->n--;
	if (w->n == 0)
		return;
	w->inside.len = top(w)->inside_len;
	if (w->inside.data)
		w->inside.data[w->inside.len] = '\0';
}

static void walk_done(struct path_walk *w)
{
	while (w->n > 0)
		pop(w);
	buf_done(&w->inside);
	free(w->todo);
}

/* Takes the descriptors. */
static int push(struct path_walk *w, const struct files_mount *m, int upper_fd, int lower_fd)
{
	struct walked_dir l = {m, upper_fd, lower_fd, w->inside.len};
	if (w->n == MAX_LEVELS || w->inside.failed) {
		close_level(&l);
		return w->inside.failed ? base_oom(w->err)
					: base_error(w->err, AIRLOCK_ERR_LIMIT, "open", w->shown,
						     "%s is more than %d directories deep", w->shown, MAX_LEVELS);
	}
	w->levels[w->n++] = l;
	return 0;
}

static int push_mount(struct path_walk *w, const struct files_mount *m)
{
	return m ? push(w, m, m->upper_fd, m->lower_fd) : push(w, NULL, -EBADF, -EBADF);
}

static int start_at_root(struct path_walk *w)
{
	while (w->n > 0)
		pop(w);
	w->inside.len = 0;
	return push_mount(w, files_place_at(w->place, "/"));
}

/* Puts text in front of the rest of todo. */
static int prepend(struct path_walk *w, const char *text, size_t rest_at)
{
	struct buf todo = BUF_INIT;
	buf_adds(&todo, text);
	buf_addc(&todo, '/');
	size_t before = todo.len;
	buf_adds(&todo, w->todo + rest_at);
	w->given = AL_MIN(w->given, todo.len - before);
	free(w->todo);
	w->todo = buf_take(&todo);
	return w->todo ? 0 : base_oom(w->err);
}

static int go_up(struct path_walk *w, bool given)
{
	if (w->n > 1) {
		pop(w);
		return 0;
	}
	if (given)
		return blocked(w->shown, "\"..\" goes above it", w->err);
	w->detour = true; /* in a link: to a command the root is its own parent */
	return 0;
}

/* A link on the way, or at the end: its text replaces its name. */
static int follow(struct path_walk *w, const char *name, bool in_upper, size_t rest_at)
{
	char text[PATH_MAX];
	const struct walked_dir *l = top(w);
	ssize_t n = readlinkat(in_upper ? l->upper_fd : l->lower_fd, name, text, sizeof text);
	if (n < 0 && errno == EINVAL && w->races++ < MAX_RACES)
		return 1; /* not a link any more: look again */
	if (n < 0)
		return refused(w->shown, -errno, w->err);
	if (n == 0 || n == (ssize_t)sizeof text)
		return refused(w->shown, -ENAMETOOLONG, w->err);
	text[n] = '\0';
	if (++w->links > MAX_LINKS)
		return refused(w->shown, -ELOOP, w->err);
	int rc = prepend(w, text, rest_at);
	if (rc == 0 && text[0] == '/') {
		w->detour |= w->place->workspace;
		rc = start_at_root(w);
	}
	return rc;
}

/* -EAGAIN: it is something else now. */
static int open_level(struct path_walk *w, const char *name, bool in_upper, int *ret_upper, int *ret_lower)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct walked_dir *l = top(w);
	struct upper_dir marks = {0};
	_cleanup_close_ int upper = in_upper ? openat(l->upper_fd, name, flags) : -EBADF;
	if (in_upper && upper < 0)
		return -errno;
	int rc = in_upper ? upper_dir_read(upper, NULL, &marks) : 0;
	if (rc < 0)
		return rc;
	_cleanup_close_ int lower = l->lower_fd >= 0 && !marks.opaque ? openat(l->lower_fd, name, flags) : -EBADF;
	if (!in_upper && lower < 0)
		return errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? -EAGAIN : -errno;
	*ret_upper = TAKE_FD(upper);
	*ret_lower = TAKE_FD(lower);
	return 0;
}

/* 1: look again. */
static int enter(struct path_walk *w, const char *name, bool in_upper)
{
	int upper = -EBADF, lower = -EBADF;
	const struct files_mount *m = top(w)->mount;
	int rc = open_level(w, name, in_upper, &upper, &lower);
	if (rc == -EAGAIN && w->races++ < MAX_RACES)
		return 1;
	if (rc < 0)
		return refused(w->shown, rc, w->err);
	buf_printf(&w->inside, "/%s", name);
	return push(w, m, upper, lower);
}

/* The first component of todo: its length, and where the rest begins. */
static size_t next_component(const char *todo, size_t *ret_start, size_t *ret_rest)
{
	size_t start = strspn(todo, "/"), len = strcspn(todo + start, "/");
	*ret_start = start;
	*ret_rest = start + len + strspn(todo + start + len, "/");
	return len;
}

/* Hands the top level over as the directory of the result. */
static int finish(struct path_walk *w, const char *name, const char *rest, struct files_at *ret)
{
	struct walked_dir *l = top(w);
	bool own = !is_mount_top(l);
	ret->mount = l->mount;
	ret->detour = w->detour;
	ret->name = strdup(name);
	ret->rest = strdup(rest);
	ret->inside = strdup(inside_of(w));
	ret->upper_fd = own ? TAKE_FD(l->upper_fd) : l->upper_fd >= 0 ? fcntl(l->upper_fd, F_DUPFD_CLOEXEC, 3) : -EBADF;
	ret->lower_fd = own ? TAKE_FD(l->lower_fd) : fcntl(l->lower_fd, F_DUPFD_CLOEXEC, 3);
	if (!own && ret->lower_fd < 0)
		return refused(w->shown, -errno, w->err);
	return ret->name && ret->rest && ret->inside ? 0 : base_oom(w->err);
}

/* The walk ended at a directory that is already open: it is its own ".". */
static int finish_here(struct path_walk *w, struct files_at *ret)
{
	if (!top(w)->mount)
		return blocked(w->shown, "only files in the project or workspace can be used", w->err);
	int rc = finish(w, ".", "", ret);
	if (rc < 0)
		return rc;
	ret->in_upper = ret->upper_fd >= 0;
	ret->found = true;
	return fstat(ret->in_upper ? ret->upper_fd : ret->lower_fd, &ret->st) < 0 ? refused(w->shown, -errno, w->err)
										  : 0;
}

/* Below a path without a mount. */
static int enter_void(struct path_walk *w, const char *name)
{
	buf_printf(&w->inside, "/%s", name);
	if (w->inside.failed)
		return base_oom(w->err);
	const struct files_mount *m = files_place_at(w->place, w->inside.data);
	if (!m && !files_place_leads_to(w->place, w->inside.data))
		return blocked(w->shown, "it is not inside", w->err);
	return push_mount(w, m);
}

/* Only the way to a mount is there, which a command would see as empty directories. */
static bool is_way_to_mount(const struct path_walk *w, const char *name)
{
	if (w->place->n_mounts < 2)
		return false;
	_cleanup_free_ char *whole = path_join(inside_of(w), name);
	return whole && files_place_leads_to(w->place, whole);
}

/* 1: there is a mount at name, and we entered it; 0: there is none. */
static int consult_place(struct path_walk *w, const char *name)
{
	if (w->place->n_mounts < 2 && w->place->n_rules == 0)
		return 0;
	_cleanup_free_ char *whole = path_join(inside_of(w), name);
	if (!whole)
		return base_oom(w->err);
	const struct files_mount *m = files_place_at(w->place, whole);
	if (!m)
		return files_place_access(w->place, whole) == FILES_HIDDEN
			       ? base_error(w->err, AIRLOCK_ERR_BLOCKED, "open", w->shown, "%s is hidden by the policy",
					    w->shown)
			       : 0;
	buf_printf(&w->inside, "/%s", name);
	int rc = push_mount(w, m);
	return rc < 0 ? rc : 1;
}

/* One component. 1: the walk is over, *ret is filled. */
static int step_into(struct path_walk *w, const char *name, size_t rest_at, int flags, struct files_at *ret)
{
	const struct walked_dir *l = top(w);
	struct files_look look = {w->place, l->mount, inside_of(w), l->upper_fd, l->lower_fd};
	bool in_upper, last = w->todo[rest_at] == '\0';
	struct stat st;
	if (!l->mount)
		return enter_void(w, name);
	int consulted = consult_place(w, name);
	if (consulted != 0)
		return consulted < 0 ? consulted : 0;
	for (;;) {
		int rc = files_look(&look, name, &st, &in_upper);
		if (rc < 0)
			return refused(w->shown, rc, w->err);
		if (rc == 0 && is_way_to_mount(w, name))
			return enter_void(w, name);
		bool link = rc == 1 && S_ISLNK(st.st_mode) && !(last && flags & FILES_NO_FOLLOW);
		if (rc == 1 && !link && !last && !S_ISDIR(st.st_mode))
			return refused(w->shown, -ENOTDIR, w->err);
		if (rc == 0 || (last && !link)) {
			ret->found = rc == 1;
			ret->in_upper = in_upper;
			ret->st = st;
			rc = finish(w, name, w->todo + rest_at, ret);
			return rc < 0 ? rc : 1;
		}
		rc = link ? follow(w, name, in_upper, rest_at) : enter(w, name, in_upper);
		if (rc != 1)
			return rc < 0 ? rc : link ? 2 : 0;
	}
}

static int step(struct path_walk *w, int flags, struct files_at *ret)
{
	size_t start, rest_at;
	size_t len = next_component(w->todo, &start, &rest_at);
	bool given = strlen(w->todo + start) <= w->given;
	if (len == 0) {
		int rc = finish_here(w, ret);
		return rc < 0 ? rc : 1;
	}
	_cleanup_free_ char *name = strndup(w->todo + start, len);
	if (!name)
		return base_oom(w->err);
	int rc = strcmp(name, ".") == 0	   ? 0
		 : strcmp(name, "..") == 0 ? go_up(w, given)
					   : step_into(w, name, rest_at, flags, ret);
	if (rc == 0)
		memmove(w->todo, w->todo + rest_at, strlen(w->todo + rest_at) + 1);
	return rc == 2 ? 0 : rc; /* a link has put its text there already */
}

static int walk(struct path_walk *w, const char *path, int flags, struct files_at *ret)
{
	bool relative = *path != '/' && !w->place->workspace;
	w->todo = strdup(path);
	w->given = strlen(path);
	int rc = w->todo ? start_at_root(w) : base_oom(w->err);
	assert(rc != 0 || w->todo); /* base_oom fails */
	if (rc == 0 && relative)
		rc = prepend(w, w->place->base, 0);
	while (rc == 0)
		rc = step(w, flags, ret);
	return rc < 0 ? rc : 0;
}

int files_resolve(const struct files_place *p, const char *path, int flags, struct files_at *ret,
		  struct airlock_error *err)
{
	*ret = (struct files_at)FILES_AT_INIT;
	int rc = ask_kernel(p, path, flags, ret);
	if (rc == 1)
		return 0;
	files_at_done(ret);
	struct path_walk *w = rc == 0 ? calloc(1, sizeof *w) : NULL;
	if (!w)
		return base_oom(err);
	w->place = p;
	w->shown = *path ? path : "/";
	w->err = err;
	rc = walk(w, path, flags, ret);
	walk_done(w);
	free(w);
	if (rc < 0)
		files_at_done(ret);
	return rc;
}

int files_find(const struct files_place *p, const char *path, int flags, struct files_at *ret,
	       struct airlock_error *err)
{
	int rc = files_resolve(p, path, flags, ret, err);
	if (rc < 0 || ret->found)
		return rc;
	rc = ret->detour ? blocked(path, "a symbolic link on the way leads outside", err)
			 : base_error(err, AIRLOCK_ERR_NOT_FOUND, "open", path, "%s does not exist", path);
	files_at_done(ret);
	return rc;
}
