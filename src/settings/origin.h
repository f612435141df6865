/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who wants a run: a person, or an agent.
 *
 *   origin_decide(s, &view, &job->origin, err);
 *   if (job->origin.kind == ORIGIN_AGENT) …the question is not put where a model could answer it…
 *
 * The mark comes from the option "agent" and its variable. It can only be added: a later "false" takes nothing back, so
 * neither a variable nor a second option undoes what a hook wrote into the command line.
 */
#pragma once

#include "settings/settings.h"

enum origin_kind { ORIGIN_PERSON, ORIGIN_AGENT };

struct origin {
	enum origin_kind kind;
	char *who; /* the way in, for the history: "cli", "hook:claude", "airlock-sh", "mcp: name of the client" */
};

int origin_decide(const struct airlock_settings *s, const struct settings_view *v, struct origin *ret,
		  struct airlock_error *err);
void origin_done(struct origin *o);

/* Takes out of an error what only a person should read: how to grant what was refused. Before it is told, and after it was
 * written into the history. */
void origin_redact(const struct origin *o, struct airlock_error *err);
