/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "denial/denial.h"

#include "denial/mount_rules.h"

#include <stdlib.h>
#include <string.h>

#define ALL (CHILD_REFUSES_READ | CHILD_REFUSES_WRITE)

/* With mounts: what is not granted does not exist, or is empty. */
static uint32_t refused_by_mount(enum plan_mount_kind kind)
{
	switch (kind) {
	case PLAN_READ:
		return CHILD_REFUSES_WRITE;
	case PLAN_TMPFS:
		return CHILD_REFUSES_MISSING;
	case PLAN_REBUILD:
	case PLAN_DEV:
		return CHILD_REFUSES_WRITE | CHILD_REFUSES_MISSING;
	case PLAN_EMPTY_DIR:
	case PLAN_EMPTY_FILE:
		return ALL;
	default:
		return 0;
	}
}

static uint32_t refused_in_place(enum plan_mount_kind kind)
{
	switch (kind) {
	case PLAN_READ:
		return CHILD_REFUSES_WRITE;
	case PLAN_WRITE:
	case PLAN_LAYER:
	case PLAN_PROC:
		return 0;
	default:
		return ALL;
	}
}

bool denial_regions(const struct denial_scene *scene, struct child_region **ret, size_t *ret_n)
{
	const struct plan *plan = scene->plan;
	struct child_region *v = calloc(plan->n_mounts + plan->n_left_out + DENIAL_DEVICES + 1, sizeof *v);
	size_t n = 0;
	if (!v)
		return false;
	v[n++] = (struct child_region){{"/"}, scene->in_place ? ALL : CHILD_REFUSES_WRITE | CHILD_REFUSES_MISSING};
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (mount_decides(m))
			v[n++] = (struct child_region){{mount_place(scene, m)},
						       scene->in_place ? refused_in_place(m->kind)
								       : refused_by_mount(m->kind)};
	}
	for (size_t i = 0; i < plan->n_left_out; i++)
		v[n++] = (struct child_region){{plan->left_out[i].path}, ALL};
	for (size_t i = 0; scene->in_place && i < DENIAL_DEVICES; i++)
		v[n++] = (struct child_region){{denial_devices[i]}, 0};
	for (size_t i = 0; scene->workspace && i < n; i++)
		v[i].refuses &= ~(uint32_t)CHILD_REFUSES_MISSING;
	*ret = v;
	*ret_n = n;
	return true;
}
