/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the system's directories lie over a workspace something must be below them: empty directories in the workspace itself,
 * made before a run and removed after it.
 *
 * Several runs may be in one workspace, and a directory that is removed takes what is mounted on it with it, in every
 * namespace. So each run holds a shared lock on the workspace, and only who gets it exclusively, which is the last one,
 * removes them. They are known by a time nobody else gives a file, so that those of a run that was killed are found by the
 * next one, and nothing of the user's is taken for one of them. */
#pragma once

#include "plan/plan.h"

struct mount_points {
	bool active; /* zeroed is nothing made */
	int dir_fd;  /* the workspace */
	bool locked;
	struct strs paths; /* below it, with the directories above them; parents first */
	struct strs made;  /* those of them that were not there */
};

/* Something else of that name in the way is AIRLOCK_ERR_INVALID. */
int mount_points_make(struct mount_points *m, const struct plan *plan, const char *dir, struct airlock_error *err);
void mount_points_remove(struct mount_points *m);
/* Processes go on that need them, and have the lock: a later run removes them. */
void mount_points_leave(struct mount_points *m);
