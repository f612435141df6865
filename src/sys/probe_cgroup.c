/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the control groups that can hold a limit for us, by trying: make a group, set its limits to "none", move a
 * child into it, remove it. Version 2 first: beside our own group (if systemd's user manager has delegated the level
 * above), then below it (rare: in version 2 a group that contains processes passes on no controllers). Version 1 has
 * one hierarchy per controller and no such rule. */
#include "sys/probe.h"

#include "sys/probe_child.h"

#include "base/buf.h"
#include "base/path.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ── Where we are ── */

struct mount_line {
	char root[PATH_MAX], place[PATH_MAX], type[32], options[256];
};

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static void decode(char *s)
{
	char *out = s;
	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static bool parse_mount(const char *line, struct mount_line *ret)
{
	const char *tail = strstr(line, " - ");
	if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->place) != 2 ||
	    sscanf(tail, " - %31s %*s %255s", ret->type, ret->options) != 2)
		return false;
	decode(ret->root);
	decode(ret->place);
	return true;
}

static bool has_word(const char *list, const char *separators, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; *p; p += strcspn(p, separators), p += strspn(p, separators))
		if (strncmp(p, word, n) == 0 && (!p[n] || strchr(separators, p[n])))
			return true;
	return false;
}

/* Copies the group of a controller ("" for version 2) from lines like "4:memory:/user" and "0::/user". */
static bool own_group(const char *cgroup, const char *controller, char ret[PATH_MAX])
{
	for (const char *line = cgroup; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		char list[128] = "", group[PATH_MAX];
		bool v2 = sscanf(line, "%*d::%4095[^\n]", group) == 1;
		if (!v2 && sscanf(line, "%*d:%127[^:\n]:%4095[^\n]", list, group) != 2)
			continue;
		if (*controller ? !has_word(list, ",", controller) : !v2)
			continue;
		memcpy(ret, group, strlen(group) + 1);
		return true;
	}
	return false;
}

/* The directory of the group below this mount, "" if the mount does not show it. */
static void directory_of(const struct mount_line *m, const char *group, char ret[PATH_MAX])
{
	const char *rest = path_is_normal(group) ? path_rest(group, m->root) : NULL;
	int n = rest ? snprintf(ret, PATH_MAX, "%s%s%s", m->place, *rest ? "/" : "", rest) : 0;
	if (n <= 0 || n >= PATH_MAX)
		ret[0] = '\0';
}

static void place_v1(const struct mount_line *m, const char *cgroup, const char *controller, char ret[PATH_MAX])
{
	char group[PATH_MAX];
	if (!*ret && has_word(m->options, ",", controller) && own_group(cgroup, controller, group))
		directory_of(m, group, ret);
}

static void place_v2(const struct mount_line *m, const char *cgroup, struct sys_cgroup_places *ret)
{
	char group[PATH_MAX];
	if (*ret->v2 || !own_group(cgroup, "", group))
		return;
	directory_of(m, group, ret->v2);
	if (!*ret->v2 || strcmp(ret->v2, m->place) == 0)
		return;
	memcpy(ret->v2_parent, ret->v2, sizeof ret->v2_parent);
	*strrchr(ret->v2_parent, '/') = '\0';
}

void sys_cgroup_parse(const char *cgroup, const char *mountinfo, struct sys_cgroup_places *ret)
{
	*ret = (struct sys_cgroup_places){0};
	for (const char *line = mountinfo; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		char copy[3 * PATH_MAX];
		struct mount_line m;
		size_t n = strcspn(line, "\n");
		if (n >= sizeof copy)
			continue;
		memcpy(copy, line, n);
		copy[n] = '\0';
		if (!strstr(copy, " - cgroup") || !parse_mount(copy, &m))
			continue;
		if (strcmp(m.type, "cgroup2") == 0)
			place_v2(&m, cgroup, ret);
		if (strcmp(m.type, "cgroup") == 0) {
			place_v1(&m, cgroup, "memory", ret->v1_memory);
			place_v1(&m, cgroup, "pids", ret->v1_pids);
		}
	}
}

static int read_all(const char *path, struct buf *ret)
{
	char chunk[4096];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n;
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		buf_add(ret, chunk, (size_t)n);
	return n < 0 ? -errno : ret->failed ? -ENOMEM : 0;
}

int sys_cgroup_locate(struct sys_cgroup_places *ret)
{
	_cleanup_buf_ struct buf cgroup = BUF_INIT, mounts = BUF_INIT;
	int rc = read_all("/proc/self/cgroup", &cgroup);
	if (rc == 0)
		rc = read_all("/proc/self/mountinfo", &mounts);
	if (rc == 0)
		sys_cgroup_parse(buf_str(&cgroup), buf_str(&mounts), ret);
	return rc;
}

int sys_cgroup_locate_of(const char *cgroup, struct sys_cgroup_places *ret)
{
	_cleanup_buf_ struct buf mounts = BUF_INIT;
	int rc = read_all("/proc/self/mountinfo", &mounts);
	if (rc == 0)
		sys_cgroup_parse(cgroup, buf_str(&mounts), ret);
	return rc;
}

/* ── What can be done there ── */

/* Our own group while we try it. */
struct trial {
	char path[PATH_MAX + 64]; /* the group */
	char file[PATH_MAX + 96]; /* a file in it or above it */
};

static const char *file_in(struct trial *t, const char *dir, const char *name)
{
	(void)snprintf(t->file, sizeof t->file, "%s/%s", dir, name);
	return t->file;
}

static int try_enter(const void *arg, struct probe_report *r)
{
	long rc = probe_put(arg, "0");
	return rc < 0 ? probe_stop(r, "moving a process into it", rc) : 0;
}

static int begin(struct trial *t, const char *dir)
{
	(void)snprintf(t->path, sizeof t->path, "%s/airlock-probe-%d", dir, (int)gettid());
	if (mkdir(t->path, 0700) == 0 || errno == EEXIST)
		return 0;
	return -errno;
}

/* A group stays busy for a moment after its last process has ended. */
static void end(struct trial *t)
{
	for (int i = 0; i < 50 && rmdir(t->path) < 0 && errno == EBUSY; i++)
		(void)poll(NULL, 0, 2);
}

static int set_limit(struct trial *t, const char *name, const char *none, struct probe_report *r)
{
	long rc = probe_put(file_in(t, t->path, name), none);
	return rc < 0 ? probe_stop(r, name, rc) : 0;
}

static int enter(struct trial *t, struct probe_report *r)
{
	probe_try(0, try_enter, file_in(t, t->path, "cgroup.procs"), r);
	return r->step ? -1 : 0;
}

static bool try_v1(const char *dir, const char *limit, const char *none, struct probe_report *r)
{
	struct trial t = {0};
	*r = (struct probe_report){0};
	int rc = *dir ? begin(&t, dir) : -ENOENT;
	if (rc < 0) {
		(void)probe_stop(r, "making a group", rc);
		return false;
	}
	bool good = set_limit(&t, limit, none, r) == 0 && enter(&t, r) == 0;
	end(&t);
	return good;
}

/* In version 2, a group has a controller's files only if the group above passes the controller on. We do not enable a
 * missing one: that would change the machine. */
static bool try_limit(struct trial *t, const char *name, struct probe_report *r)
{
	return access(file_in(t, t->path, name), F_OK) == 0 && set_limit(t, name, "max", r) == 0;
}

static void try_v2(const char *dir, struct sys_cgroup *ret, struct probe_report *r)
{
	struct trial t = {0};
	*r = (struct probe_report){0};
	int rc = *dir ? begin(&t, dir) : -ENOENT;
	if (rc < 0) {
		(void)probe_stop(r, "making a group", rc);
		return;
	}
	ret->memory = try_limit(&t, "memory.max", r);
	ret->pids = try_limit(&t, "pids.max", r);
	if (!ret->memory && !ret->pids)
		(void)probe_stop(r, "the controllers memory and pids are not passed on", -EOPNOTSUPP);
	else if (enter(&t, r) < 0)
		ret->memory = ret->pids = false;
	end(&t);
}

static void examine_v2(const struct sys_cgroup_places *at, struct sys_cgroup *ret, struct probe_report *r)
{
	const char *dir = at->v2_parent;
	try_v2(dir, ret, r);
	if (!ret->memory && !ret->pids) {
		struct probe_report above = *r;
		try_v2(dir = at->v2, ret, r);
		if (*at->v2_parent && !ret->memory && !ret->pids)
			*r = above; /* The more informative of two failures: delegation happens there. */
	}
	if (!ret->memory && !ret->pids)
		return;
	ret->kind = SYS_CGROUP_V2;
	(void)snprintf(ret->memory_dir, sizeof ret->memory_dir, "%s", ret->memory ? dir : "");
	(void)snprintf(ret->pids_dir, sizeof ret->pids_dir, "%s", ret->pids ? dir : "");
}

static void examine_v1(const struct sys_cgroup_places *at, struct sys_cgroup *ret, struct probe_report *r)
{
	struct probe_report second;
	ret->memory = try_v1(at->v1_memory, "memory.limit_in_bytes", "-1", r);
	ret->pids = try_v1(at->v1_pids, "pids.max", "max", &second);
	if (!r->step)
		*r = second;
	if (!ret->memory && !ret->pids)
		return;
	ret->kind = SYS_CGROUP_V1;
	(void)snprintf(ret->memory_dir, sizeof ret->memory_dir, "%s", ret->memory ? at->v1_memory : "");
	(void)snprintf(ret->pids_dir, sizeof ret->pids_dir, "%s", ret->pids ? at->v1_pids : "");
}

void sys_probe_cgroup(struct sys_cgroup *ret)
{
	struct sys_cgroup_places at = {0};
	struct probe_report v2 = {0}, v1 = {0};
	char what[64];
	*ret = (struct sys_cgroup){0};
	int rc = sys_cgroup_locate(&at);
	if (rc < 0) {
		(void)probe_stop(&v2, "reading /proc/self/cgroup", rc);
		probe_conclude(&ret->probe, &v2, "");
		return;
	}
	examine_v2(&at, ret, &v2);
	if (ret->kind == SYS_CGROUP_NONE && (*at.v1_memory || *at.v1_pids))
		examine_v1(&at, ret, &v1);
	else
		v1 = v2;
	if (!*at.v2 && !*at.v1_memory && !*at.v1_pids)
		(void)probe_stop(&v1, "no hierarchy is mounted", -ENOENT);
	(void)snprintf(what, sizeof what, "version %d; set limits on a group and moved a process into it",
		       (int)ret->kind);
	probe_conclude(&ret->probe, &v1, what);
	ret->probe.works = ret->memory && ret->pids;
	if (ret->memory != ret->pids)
		(void)snprintf(ret->probe.detail, sizeof ret->probe.detail, "version %d; only %s can be limited",
			       (int)ret->kind, ret->memory ? "memory" : "the number of processes");
}
