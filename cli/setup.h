/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's configuration with our hook in it, or without. Pure: text in, text out.
 *
 *   rc = setup_edit(agent, "/usr/bin/airlock hook claude", text, SETUP_ADD, &edited, &err);
 *   1: write *edited; 0: it is like that already
 *
 * Everything else in it stays, in its order and with its indentation. JSON with comments cannot be kept as it is, and is
 * refused.
 */
#pragma once

#include <airlock/airlock.h>

#include "agents.h"

enum setup_direction { SETUP_ADD, SETUP_REMOVE };

/* text: NULL if there is no file. edited: the caller frees it; "" if nothing is left in it. */
int setup_edit(const struct agent *a, const char *command, const char *text, enum setup_direction direction,
	       char **ret_edited, struct airlock_error *err);
