/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/aliases.h"

#include "base/array.h"
#include "base/path.h"
#include "fs/fs.h"
#include "sys/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOUNTINFO_BYTES (64u << 20)

struct mount {
	char *device;	    /* "8:1" */
	char *root, *point; /* the directory of the file system that is seen, and where */
	bool twice;	    /* another mount shows the same file system */
};

struct mounts {
	struct mount *v;
	size_t n, cap;
};

static void mounts_done(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].device);
		free(m->v[i].root);
		free(m->v[i].point);
	}
	free(m->v);
}

/* ── Reading the list ── */

/* Blanks, newlines and backslashes are written as three octal digits. */
static char *unescaped(const char *s, size_t len)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < len; i++) {
		bool octal = s[i] == '\\' && i + 3 < len && s[i + 1] >= '0' && s[i + 1] <= '3';
		if (octal)
			buf_addc(&b, (char)((s[i + 1] - '0') * 64 + (s[i + 2] - '0') * 8 + (s[i + 3] - '0')));
		else
			buf_addc(&b, s[i]);
		i += octal ? 3 : 0;
	}
	return buf_take(&b);
}

/* File systems without user data. Most machines mount some of them several times. */
static bool is_of_the_kernel(const char *line, size_t len)
{
	static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "nsfs", "autofs"};
	const char *type = memmem(line, len, " - ", 3);
	type = type ? type + 3 : "";
	size_t n = strcspn(type, " \n");
	for (size_t i = 0; i < AL_ARRAY_LEN(types); i++)
		if (strlen(types[i]) == n && memcmp(types[i], type, n) == 0)
			return true;
	return false;
}

/* "36 35 98:0 /root /point options - type …" */
static int add_line(struct mounts *m, const char *line)
{
	char *fields[3] = {NULL};
	const char *p = line;
	if (!ARRAY_ROOM(m->v, m->n, m->cap, 64))
		return -ENOMEM;
	for (int i = 0; i < 5; i++) {
		size_t n = strcspn(p, " \n");
		if (i >= 2)
			fields[i - 2] = unescaped(p, n);
		p += n + (p[n] == ' ');
	}
	m->v[m->n++] = (struct mount){fields[0], fields[1], fields[2], false};
	return fields[0] && fields[1] && fields[2] ? 0 : -ENOMEM;
}

static int compare_devices(const void *a, const void *b)
{
	return strcmp((*(const struct mount *const *)a)->device, (*(const struct mount *const *)b)->device);
}

/* Returns 1 when there are any. */
static int mark_doubles(struct mounts *m)
{
	int any = 0;
	_cleanup_free_ struct mount **by_device = calloc(m->n + 1, sizeof(struct mount *));
	if (!by_device)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		by_device[i] = &m->v[i];
	qsort(by_device, m->n, sizeof *by_device, compare_devices);
	for (size_t i = 1; i < m->n; i++)
		if (strcmp(by_device[i - 1]->device, by_device[i]->device) == 0) {
			by_device[i - 1]->twice = by_device[i]->twice = true;
			any = 1;
		}
	return any;
}

static int read_mounts(const char *text, struct mounts *ret)
{
	int rc = 0;
	while (rc == 0 && *text) {
		size_t len = strcspn(text, "\n");
		if (!is_of_the_kernel(text, len))
			rc = add_line(ret, text);
		text += len + (text[len] == '\n');
	}
	return rc < 0 ? rc : mark_doubles(ret);
}

/* ── Names ── */

/* The mount through which a real path is seen: the deepest, and of those at the same place the last. */
static const struct mount *mount_of(const struct mounts *m, const char *path)
{
	const struct mount *found = NULL;
	for (size_t i = 0; i < m->n; i++)
		if (path_is_beneath(path, m->v[i].point) && (!found || strlen(m->v[i].point) >= strlen(found->point)))
			found = &m->v[i];
	return found;
}

/* True also if it cannot be known: hide when in doubt. */
static bool is_same_thing(const char *a, const char *b)
{
	struct stat x, y;
	if (lstat(a, &x) < 0 || lstat(b, &y) < 0)
		return !base_is_absent(errno);
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static char *join(const char *dir, const char *rest)
{
	return rest && *rest ? path_join(dir, rest) : strdup(dir);
}

/* A rule for that very place says it may be seen. */
static bool is_shown(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->n_paths; i++)
		if (policy->paths[i].access != POLICY_HIDE && strcmp(policy->paths[i].path, path) == 0)
			return true;
	return strcmp(path, "/") == 0;
}

/* Is what lies below a hidden path shown again by a more specific rule? */
static bool is_shown_again(const struct policy *policy, const char *hidden, const char *part)
{
	const struct policy_path *rule = policy_rule_for(policy, part);
	return rule && rule->access != POLICY_HIDE && path_is_beneath(rule->path, hidden);
}

struct alias_search {
	const struct mounts *mounts;
	const struct policy *policy;
	const struct plan_world *world;
	const char *path, *real; /* what is to be hidden */
	struct strs *paths, *originals;
};

static void add_name(const struct alias_search *s, const char *name, const char *original)
{
	if (strcmp(name, s->real) == 0 || strcmp(name, s->path) == 0 || strs_has(s->paths, name) ||
	    is_shown(s->policy, name) || !is_same_thing(name, original))
		return;
	strs_add(s->paths, name);
	strs_add(s->originals, original);
}

/* The path at which the mount `other` shows the hidden file, whose path in its file system is `within`. */
static void look_in(const struct alias_search *s, const char *within, const struct mount *other)
{
	const char *rest = path_rest(within, other->root), *part = path_rest(other->root, within);
	_cleanup_free_ char *name = rest ? join(other->point, rest) : NULL;
	_cleanup_free_ char *original = !rest && part ? join(s->path, part) : NULL;
	if (name)
		add_name(s, name, s->real);
	else if (original && !is_shown_again(s->policy, s->path, original))
		add_name(s, other->point, original);
	else if (rest || (part && !original))
		s->paths->failed = true;
}

static int add_aliases(struct alias_search *s, struct airlock_error *err)
{
	if (s->world->type(s->path, s->world->data) == PLAN_MISSING) /* as most are */
		return 0;
	errno = 0; /* NULL with errno still 0 means "nothing there" */
	_cleanup_free_ char *real = s->world->real(s->path, s->world->data);
	if (!real && errno && !base_is_absent(errno))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "look at", s->path);
	const struct mount *own = real ? mount_of(s->mounts, real) : NULL;
	if (!own || !own->twice)
		return 0;
	_cleanup_free_ char *within = join(own->root, path_rest(real, own->point));
	if (!within)
		s->paths->failed = true;
	s->real = real;
	for (size_t i = 0; within && i < s->mounts->n; i++)
		if (&s->mounts->v[i] != own && strcmp(s->mounts->v[i].device, own->device) == 0)
			look_in(s, within, &s->mounts->v[i]);
	return 0;
}

int aliases_find_in(const char *mountinfo, const struct policy *policy, const struct plan_world *world,
		    const char *const *dirs, struct strs *ret_paths, struct strs *ret_originals,
		    struct airlock_error *err)
{
	_cleanup_(mounts_done) struct mounts m = {0};
	int any = read_mounts(mountinfo, &m), rc = 0;
	struct alias_search s = {&m, policy, world, NULL, NULL, ret_paths, ret_originals};
	for (; rc == 0 && any > 0 && *dirs; dirs++) {
		s.path = *dirs;
		rc = add_aliases(&s, err);
	}
	for (size_t i = 0; rc == 0 && any > 0 && i < policy->n_paths; i++) {
		s.path = policy->paths[i].path;
		rc = policy->paths[i].access == POLICY_HIDE ? add_aliases(&s, err) : 0;
	}
	if (rc < 0)
		return rc;
	return any < 0 || ret_paths->failed || ret_originals->failed ? base_oom(err) : 0;
}

int aliases_read_mounts(struct buf *ret_text, struct strs *ret_points, struct airlock_error *err)
{
	char point[PATH_MAX];
	int rc = fs_read_file("/proc/self/mountinfo", MOUNTINFO_BYTES, ret_text, err);
	if (rc < 0)
		return rc;
	for (const char *line = buf_str(ret_text); *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (sys_mount_point(line, point, sizeof point))
			strs_add(ret_points, point);
	return ret_points->failed ? base_oom(err) : 0;
}
