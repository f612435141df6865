/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/cgroup.h"

#include "base/path.h"
#include "sys/probe.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <dirent.h>

#define CGROUP_FILE_MAX (64 * 1024)
#define NAME_PREFIX "airlock-"
#define STALE_SECONDS 60

int cgroup_write(const char *group, const char *file, const char *value)
{
	_cleanup_free_ char *path = path_join(group, file);
	if (!path)
		return -ENOMEM;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

int cgroup_write_number(const char *group, const char *file, int64_t value)
{
	char text[24];
	(void)snprintf(text, sizeof text, "%" PRId64, value);
	return cgroup_write(group, file, text);
}

/* Files of /proc and cgroups report no size: read until the end. */
static char *slurp(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = fd >= 0 ? malloc(CGROUP_FILE_MAX) : NULL;
	if (!text)
		return NULL;
	size_t len = 0;
	ssize_t n;
	while (len < CGROUP_FILE_MAX - 1 && (n = read(fd, text + len, CGROUP_FILE_MAX - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return TAKE_PTR(text);
}

int64_t cgroup_event(const char *group, const char *file, const char *key)
{
	_cleanup_free_ char *path = path_join(group, file);
	_cleanup_free_ char *text = path ? slurp(path) : NULL;
	size_t len = strlen(key);
	for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoll(line + len, NULL, 10);
	return 0;
}

/* True if `word` is one of the blank- or comma-separated words of text, up to the end of the line. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	while (text && *text && *text != '\n') {
		size_t n = strcspn(text, " ,\n");
		if (n == len && strncmp(text, word, n) == 0)
			return true;
		text += n + (text[n] == ' ' || text[n] == ',');
	}
	return false;
}

/* The pid namespace in which our pids mean something: containers may share one tree of groups. 0: unknown. */
static unsigned long long pid_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (unsigned long long)st.st_ino;
}

/* Removes groups that a killed airlock left behind: empty, and either the pid in their name (inNAMESPACE.PID-…) is
 * gone or no process was in them for a minute. A group with a process in it cannot be removed, so this never affects a
 * running one. */
static bool is_stale(int parent_fd, const char *name)
{
	struct stat st;
	unsigned long long namespace = 0;
	int pid = 0;
	/* NOLINTNEXTLINE(cert-err34-c): a wrong number is no namespace and no process of ours */
	if (sscanf(name, NAME_PREFIX "in%llu.%d-", &namespace, &pid) == 2 && namespace &&
	    namespace == pid_namespace() && pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	return fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtim.tv_sec + STALE_SECONDS < time(NULL);
}

/* A session's group may have groups of its commands in it, no more of them deep. */
static void sweep(const char *parent, bool is_session)
{
	DIR *dir = opendir(parent);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (strncmp(e->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 || !is_stale(dirfd(dir), e->d_name) ||
		    unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) == 0 || is_session)
			continue;
		_cleanup_free_ char *below = path_join(parent, e->d_name);
		if (below)
			sweep(below, true);
		(void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		(void)closedir(dir);
}

/* A group that belongs to no process has 0 in its name. */
static char *group_path(const char *parent, pid_t whose, const char *name)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "%s/" NAME_PREFIX "in%llu.%d-%s", parent, pid_namespace(), (int)whose, name);
	return buf_take(&b);
}

static char *make_in(const char *parent, const char *name, bool is_shared)
{
	_cleanup_free_ char *path = group_path(parent, is_shared ? 0 : getpid(), name);
	if (!path || (mkdir(path, 0755) < 0 && !(is_shared && errno == EEXIST)))
		return NULL;
	sweep(parent, false);
	return TAKE_PTR(path);
}

char *cgroup_make_below(const char *group, const char *name)
{
	return make_in(group, name, false);
}

/* A v2 group can control its children only if its own subtree_control says so. */
static bool controls(const char *dir, const char *controller)
{
	_cleanup_free_ char *path = path_join(dir, "cgroup.subtree_control");
	_cleanup_free_ char *text = path ? slurp(path) : NULL;
	return text && has_word(text, controller);
}

static char *make_version2(const struct sys_cgroup_places *places, const char *controller, const char *name,
			   bool is_shared)
{
	/* Beside us first: our own group contains a process, so its children have no controllers. */
	char *made = *places->v2_parent && controls(places->v2_parent, controller)
			     ? make_in(places->v2_parent, name, is_shared)
			     : NULL;
	return made						 ? made
	       : *places->v2 && controls(places->v2, controller) ? make_in(places->v2, name, is_shared)
								 : NULL;
}

static char *make(const char *controller, const char *name, bool is_shared, bool *ret_version2)
{
	_cleanup_free_ struct sys_cgroup_places *places = calloc(1, sizeof *places);
	*ret_version2 = false;
	if (!places || sys_cgroup_locate(places) < 0)
		return NULL;
	char *made = make_version2(places, controller, name, is_shared);
	*ret_version2 = made != NULL;
	if (made)
		return made;
	const char *own = strcmp(controller, "memory") == 0 ? places->v1_memory : places->v1_pids;
	return *own ? make_in(own, name, is_shared) : NULL;
}

char *cgroup_make(const char *controller, const char *name, bool *ret_version2)
{
	return make(controller, name, false, ret_version2);
}

char *cgroup_make_shared(const char *controller, const char *name, bool *ret_version2)
{
	return make(controller, name, true, ret_version2);
}

/* The groups of commands that left processes behind are still there: nobody could remove them while those lived. */
static void remove_with_groups_below(const char *group)
{
	DIR *dir = opendir(group);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		_cleanup_free_ char *below =
			strncmp(e->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 ? path_join(group, e->d_name) : NULL;
		if (below)
			cgroup_remove(below);
	}
	if (!dir)
		return;
	(void)closedir(dir);
	cgroup_remove(group);
}

void cgroup_remove_shared(const char *name)
{
	_cleanup_free_ struct sys_cgroup_places *places = calloc(1, sizeof *places);
	if (!places || sys_cgroup_locate(places) < 0)
		return;
	const char *const parents[] = {places->v2_parent, places->v2, places->v1_memory, places->v1_pids};
	for (size_t i = 0; i < AL_ARRAY_LEN(parents); i++) {
		_cleanup_free_ char *group = *parents[i] ? group_path(parents[i], 0, name) : NULL;
		if (group)
			remove_with_groups_below(group);
	}
}

void cgroup_remove_if_unused(const char *group)
{
	(void)rmdir(group);
}

void cgroup_remove(const char *group)
{
	/* The kernel releases the last process a moment after it was waited for. */
	for (int i = 0; i < 50 && rmdir(group) < 0 && errno == EBUSY; i++) {
		struct timespec ms = {0, 1000000};
		(void)nanosleep(&ms, NULL);
	}
}
