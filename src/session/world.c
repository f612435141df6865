/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/world.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static enum plan_type type(const char *path, void *data)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return PLAN_MISSING;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return PLAN_FILE;
	case S_IFDIR:
		return PLAN_DIRECTORY;
	case S_IFLNK:
		return PLAN_LINK;
	case S_IFSOCK:
		return PLAN_SOCKET;
	default:
		return PLAN_OTHER;
	}
}

static char *real(const char *path, void *data)
{
	return realpath(path, NULL);
}

static char *read_link(const char *path, void *data)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof text);
	return n > 0 && n < (ssize_t)sizeof text ? strndup(text, (size_t)n) : NULL;
}

static int list(const char *path, struct strs *ret, void *data)
{
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strs_add(ret, e->d_name);
	(void)closedir(dir);
	return 0;
}

const struct plan_world world_of_this_machine = {.type = type, .real = real, .link = read_link, .list = list};
