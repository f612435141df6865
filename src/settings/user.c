/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does not use getpwuid(3): it loads NSS plugins into the process. A static program cannot do that, and a library
 * should not do it to its host program for one string. */
#include "settings/user.h"

#include "base/macros.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRY_BYTES 16384

/* The entry of uid in a stream that is written like /etc/passwd. */
static char *home_in(FILE *f, uid_t uid)
{
	struct passwd entry, *found = NULL;
	_cleanup_free_ char *text = malloc(ENTRY_BYTES);
	while (text && fgetpwent_r(f, &entry, text, ENTRY_BYTES, &found) == 0)
		if (found->pw_uid == uid)
			return found->pw_dir && found->pw_dir[0] == '/' ? path_normalize(NULL, found->pw_dir) : NULL;
	return NULL;
}

/* Users from LDAP or systemd-homed are in no file: run getent(1), which knows how to ask. */
static char *home_by_getent(uid_t uid)
{
	char name[] = "getent", database[] = "passwd", number[24];
	char *argv[] = {name, database, number, NULL}, *envp[] = {NULL};
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t pid;
	(void)snprintf(number, sizeof number, "%lu", (unsigned long)uid);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	int rc = posix_spawn(&pid, "/usr/bin/getent", &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	FILE *f = fdopen(ends[0], "r");
	char *home = rc == 0 && f ? home_in(f, uid) : NULL;
	if (f)
		(void)fclose(f);
	else
		(void)close(ends[0]);
	while (rc == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return home;
}

char *user_home(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	char *home = f ? home_in(f, uid) : NULL;
	if (f)
		(void)fclose(f);
	return home ? home : home_by_getent(uid);
}
