/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whoever can replace bwrap owns every sandbox: so it is used only from where only root and we can put it. */
#include "backend/bwrap_probe_parts.h"

#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* In a user namespace every unmapped user, including the machine's root, appears as this one (kernel.overflowuid). */
#define OVERFLOW_UID 65534

static bool is_mapped(unsigned long id)
{
	char map[1024];
	unsigned long inside, outside, count;
	if (sys_read_small("/proc/self/uid_map", map, sizeof map) <= 0)
		return true;
	for (const char *line = map; *line; line += strcspn(line, "\n"), line += *line == '\n')
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers have 32 bits */
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && id >= inside && id - inside < count)
			return true;
	return false;
}

/* Root and other unmapped users look the same there; in the system's own directories it is root. */
static bool is_system_owner(const char *path, uid_t owner)
{
	bool system_dir =
		path_is_beneath(path, "/usr") || path_is_beneath(path, "/bin") || path_is_beneath(path, "/nix/store");
	return owner == OVERFLOW_UID && system_dir && !is_mapped(OVERFLOW_UID);
}

static bool has_good_owner(const char *path, const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid() || is_system_owner(path, st->st_uid);
}

/* The group with the same number is the user's own, on distributions that give everyone one and a umask of 002. */
static bool others_may_write(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_gid != st->st_uid);
}

/* Ignores "/": otherwise nothing would be left, and whoever works on the whole system has decided already. */
static bool is_untrusted(const char *path, const char *const *dirs)
{
	for (; dirs && *dirs; dirs++)
		if (strcmp(*dirs, "/") != 0 && path_is_beneath(path, *dirs))
			return true;
	return false;
}

static const char *fault_of_directory(const char *file)
{
	struct stat st;
	_cleanup_free_ char *dir = path_dirname(file);
	if (!dir || stat(dir, &st) < 0)
		return "its directory cannot be examined";
	if (!has_good_owner(dir, &st))
		return "its directory belongs to another user";
	return others_may_write(&st) && !(st.st_mode & S_ISVTX) ? "other users can write to its directory" : NULL;
}

static const char *fault_of_file(const char *path, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || !(st->st_mode & 0111))
		return "it is not a program";
	if (!has_good_owner(path, st))
		return "it belongs to another user";
	return others_may_write(st) ? "other users can write to it" : NULL;
}

/* Where the descriptor's file really is, whatever symlinks led to it. */
static bool real_path(int fd, char ret[PATH_MAX])
{
	char link[32];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* NULL if the program at path is acceptable; then ret->path and ret->st are set. */
static const char *fault_of(const char *path, int fd, const char *const *untrusted, struct bwrap_found *ret)
{
	char real[PATH_MAX];
	struct stat st;
	if (fstat(fd, &st) < 0)
		return "it cannot be examined";
	if (!real_path(fd, real))
		return "it cannot be examined because /proc is not mounted";
	if (is_untrusted(path, untrusted) || is_untrusted(real, untrusted))
		return "it is in the project or another directory that commands may write to";
	const char *fault = fault_of_file(real, &st);
	if (!fault)
		fault = fault_of_directory(real);
	if (fault)
		return fault;
	memcpy(ret->path, real, strlen(real) + 1);
	ret->st = st;
	return NULL;
}

/* True if dir has an acceptable bwrap. */
static bool look_in(const char *dir, const char *const *untrusted, struct bwrap_found *ret)
{
	_cleanup_free_ char *normal = path_normalize(NULL, dir);
	_cleanup_free_ char *path = normal ? path_join(normal, "bwrap") : NULL;
	if (!path)
		return false;
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	const char *fault = fault_of(path, fd, untrusted, ret);
	if (fault && !ret->refusal) {
		ret->refusal = fault;
		(void)snprintf(ret->refused, sizeof ret->refused, "%s", path);
	}
	return !fault;
}

void bwrap_find(const char *path_env, const char *const *untrusted_dirs, struct bwrap_found *ret)
{
	static const char *const usual[] = {"/usr/bin", "/usr/local/bin", "/bin"};
	*ret = (struct bwrap_found){0};
	for (const char *p = path_env; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		char dir[PATH_MAX];
		size_t n = strcspn(p, ":");
		if (*p != '/' || n >= sizeof dir)
			continue;
		memcpy(dir, p, n);
		dir[n] = '\0';
		if (look_in(dir, untrusted_dirs, ret))
			return;
	}
	for (size_t i = 0; i < AL_ARRAY_LEN(usual); i++)
		if (look_in(usual[i], untrusted_dirs, ret))
			return;
}
