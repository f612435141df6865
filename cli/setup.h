/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of an agent's configuration with airlock in it, or without. Pure: text in, text out.
 *
 *   struct setup su = {.agent = a, .command = "/usr/bin/airlock hook claude", .edits = a->edits, .n_edits = 2, …};
 *   rc = setup_edit(&su, text, SETUP_ADD, &edited, &err);
 *   1: write *edited; 0: it is like that already
 *
 * Everything else in it stays, in its order and with its indentation. JSON with comments cannot be kept as it is, and is
 * refused. The same text gives the same result, so that whoever has the text of before can tell whether anybody has edited
 * the file since.
 */
#pragma once

#include <airlock/airlock.h>

#include "agents.h"

enum setup_direction { SETUP_ADD, SETUP_REMOVE };

struct setup {
	const struct agent *agent;
	const char *command, *program, *shell; /* the hook's line, airlock, airlock-bash */
	const struct agent_edit *edits;	       /* of one file; at least one */
	size_t n_edits;
};

/* text: NULL if there is no file. edited: the caller frees it; "" if nothing is left in it. */
int setup_edit(const struct setup *su, const char *text, enum setup_direction direction, char **ret_edited,
	       struct airlock_error *err);
