/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The few files that the page's server keeps: in airlock's state directory, which no sandbox shows. */
#include "ui_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *state_directory(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	if (state && state[0] == '/')
		return asprintf(&dir, "%s/airlock", state) < 0 ? NULL : dir;
	if (!home || home[0] != '/')
		return NULL;
	return asprintf(&dir, "%s/.local/state/airlock", home) < 0 ? NULL : dir;
}

/* Ours alone, and no link. */
static bool is_private(const char *dir)
{
	struct stat st;
	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

char *ui_place(const char *name)
{
	char *state = state_directory(), *dir = NULL, *path = NULL;
	if (state && asprintf(&dir, "%s/ui", state) < 0)
		dir = NULL;
	if (dir && (mkdir(dir, 0700) == 0 || errno == EEXIST) && is_private(dir) &&
	    asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	free(state);
	free(dir);
	return path;
}

unsigned ui_port_last(void)
{
	char text[16] = "", *path = ui_place("port");
	int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	free(path);
	unsigned long port = strtoul(text, NULL, 10);
	return port >= 1024 && port <= 65535 ? (unsigned)port : 0;
}

void ui_port_remember(unsigned port)
{
	char text[16], *path = ui_place("port");
	int len = snprintf(text, sizeof text, "%u\n", port);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		(void)!write(fd, text, (size_t)len); /* without it the next one takes another port */
		(void)close(fd);
	}
	free(path);
}
