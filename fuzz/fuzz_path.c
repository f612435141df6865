/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lexical paths, and paths resolved beneath a directory full of traps: nothing outside it is ever reached. */
#include "base/path.h"
#include "fs/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static char place[] = "/tmp/airlock-fuzz-XXXXXX";
static const char *const made[] = {"top",	"top/a",   "top/a/b", "secret",	  "top/f",
				   "top/a/b/f", "top/out", "top/abs", "top/loop", "top/to"};

static const char *at(const char *name)
{
	static char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", place, name);
	return path;
}

static void leave(void)
{
	for (size_t i = sizeof made / sizeof made[0]; i-- > 0;)
		(void)remove(at(made[i]));
	(void)rmdir(place);
}

/* top/{a/{b/f},f,out→..,abs→/,loop→loop,to→a}, and beside it a secret */
static int make_traps(void)
{
	static const char *const links[] = {"..", "/", "loop", "a"};
	demand(mkdtemp(place) != NULL && atexit(leave) == 0);
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
		if (i < 3)
			demand(mkdir(at(made[i]), 0700) == 0);
		else if (i < 6)
			demand(close(creat(at(made[i]), 0600)) == 0);
		else
			demand(symlink(links[i - 6], at(made[i])) == 0);
	}
	int fd = open(at("top"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	demand(fd >= 0);
	return fd;
}

static void check_lexical(const char *text)
{
	char *normal = path_normalize("/base", text);
	demand(normal && path_is_normal(normal) && normal[0] == '/');
	char *again = path_normalize("/other", normal);
	demand(again && strcmp(again, normal) == 0);
	char *dir = path_dirname(normal);
	demand(dir && path_is_normal(dir) && path_is_beneath(normal, dir));
	const char *rest = path_rest(normal, dir);
	demand(rest && (strcmp(normal, "/") == 0 || strcmp(rest, path_basename(normal)) == 0));
	if (*rest) {
		char *joined = path_join(dir, rest);
		demand(joined && strcmp(joined, normal) == 0);
		free(joined);
	}
	demand(path_compare(normal, again) == 0 && path_is_beneath(normal, "/"));
	free(normal);
	free(again);
	free(dir);
}

/* The callers' promise: relative and normal. What is not that is made so. */
static void check_beneath(int top, const char *text)
{
	struct stat outside, st;
	char *normal = path_normalize("/", text);
	const char *path = normal + 1, *name = NULL;
	demand(fstatat(top, "../secret", &outside, AT_SYMLINK_NOFOLLOW) == 0);
	int fd = fs_open_beneath(top, path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0) {
		char link[4200], shown[64];
		(void)snprintf(shown, sizeof shown, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(shown, link, sizeof link - 1);
		demand(n > 0 && fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode) && st.st_ino != outside.st_ino);
		link[n] = '\0';
		demand(strstr(link, "/top") != NULL);
		(void)close(fd);
	}
	if (*path) {
		int dir = fs_open_parent(top, path, &name);
		demand(dir < 0 || (name && strcmp(name, path_basename(normal)) == 0));
		if (dir >= 0)
			(void)close(dir);
	}
	int rc = fs_stat_beneath(top, path, &st);
	demand(rc == 0 || rc < 0);
	demand(rc < 0 || st.st_ino != outside.st_ino);
	free(normal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int top = -1;
	if (top < 0)
		top = make_traps();
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	check_lexical(text);
	check_beneath(top, text);
	free(text);
	return 0;
}
