/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts of a plan as rules. */
#pragma once

#include "denial/denial.h"

/* The entries of /dev that backends without mounts grant one by one. */
#define DENIAL_DEVICES 6
extern const char *const denial_devices[DENIAL_DEVICES];

/* True if the mount has its own rule. Links are followed to what has rules itself. */
static inline bool mount_decides(const struct plan_mount *m)
{
	return m->kind != PLAN_SEAL && m->kind != PLAN_SYMLINK && m->kind != PLAN_DIR;
}

/* The path at which the command sees it. */
static inline const char *mount_place(const struct denial_scene *scene, const struct plan_mount *m)
{
	return scene->in_place && m->source ? m->source : m->target;
}
