/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For programs that know nothing of airlock but its public headers: a home and a project of our own, so that nothing of
 * the caller's is looked at. The project is the current directory. */
#pragma once

#include "tests.h"

#include <airlock/airlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static char place[64];

static inline int make_place(void **state)
{
	char path[128];
	(void)snprintf(place, sizeof place, "/var/tmp/airlock-library.XXXXXX");
	if (!mkdtemp(place))
		return -1;
	(void)snprintf(path, sizeof path, "%s/project", place);
	(void)setenv("HOME", place, 1);
	(void)unsetenv("XDG_STATE_HOME");
	(void)unsetenv("XDG_DATA_HOME");
	(void)unsetenv("XDG_CONFIG_HOME");
	return mkdir(path, 0755) < 0 ? -1 : chdir(path);
}

static inline int remove_place(void **state)
{
	char command[160];
	(void)snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -rf %s", place, place);
	return chdir("/") < 0 ? -1 : system(command);
}
