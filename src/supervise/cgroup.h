/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes and reads control groups; decides nothing. */
#pragma once

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

/* Makes a group `name` with the controller ("memory" or "pids"), beside or below our own group. Returns its directory
 * (owned by the caller), or NULL if this machine or user has none. */
char *cgroup_make(const char *controller, const char *name, bool *ret_version2);
/* The group of a session, made if there is none: whoever runs a command of it makes a group of its own below. */
char *cgroup_make_shared(const char *controller, const char *name, bool *ret_version2);
/* A group below another one of ours. NULL: it cannot be made, or the one above is gone. */
char *cgroup_make_below(const char *group, const char *name);
/* Removes the group of a session whose processes have ended, and what is below it. */
void cgroup_remove_shared(const char *name);
/* Removes it unless somebody uses it, and does not wait. */
void cgroup_remove_if_unused(const char *group);
int cgroup_write(const char *group, const char *file, const char *value); /* -errno */
int cgroup_write_number(const char *group, const char *file, int64_t value);
/* The number after `key` in a file of "key value" lines, or 0. */
int64_t cgroup_event(const char *group, const char *file, const char *key);
void cgroup_remove(const char *group);
