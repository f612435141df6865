/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's index, HEAD and references say what the work tree is. Applied without a file that waits for a person, they say that
 * somebody has deleted it, and the next `git commit -a` does. So such a run is applied whole or not at all. The same goes for
 * a run of which a file of objects waits: others that it replaces may be gone. */
#include "change/gate/gate_repo.h"

static bool changes_bookkeeping(struct gate *g)
{
	for (size_t i = 0; i < g->set->n; i++) {
		const struct change *c = &g->set->v[i];
		if (!gate_is_open(g, c) || c->type == CHANGE_DIRECTORY)
			continue;
		if (gate_is_bookkeeping(g, c->root, c->path, NULL, NULL) ||
		    (c->verdict == CHANGE_HOLD && gate_is_of_objects(g, c->root, c->path, NULL, NULL)))
			return true;
	}
	return false;
}

int gate_hold_whole(struct gate *g)
{
	const struct change *held = NULL;
	int rc = 0;
	for (size_t i = 0; !held && i < g->set->n; i++)
		if (gate_is_open(g, &g->set->v[i]) && g->set->v[i].verdict == CHANGE_HOLD)
			held = &g->set->v[i];
	if (!held || !changes_bookkeeping(g))
		return 0;
	const struct airlock_reason reason = {.code = AIRLOCK_REASON_APPLIED_WHOLE, .path = held->path};
	for (size_t i = 0; rc == 0 && i < g->set->n; i++)
		if (gate_is_open(g, &g->set->v[i]) && g->set->v[i].verdict != CHANGE_HOLD)
			rc = gate_hold(&g->set->v[i], &reason);
	return rc;
}
