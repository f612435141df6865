/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include "decide.h"
#include "waiting.h"

int cmd_discard(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	waiting_begin("discarding");
	int rc = airlock_changes_discard(inv->settings, inv->operand, decide_paths(inv), &changes, err);
	waiting_end();
	if (rc >= 0)
		rc = decide_tell(inv, changes, err);
	airlock_changes_free(changes);
	return rc;
}
