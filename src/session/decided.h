/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What people name when they look at changes or decide about them: a run, or a session.
 *
 *   _cleanup_decided_ struct decided d = DECIDED_INIT;
 *   decided_open(&d, settings, "work", DECIDED_TO_APPLY, err);
 *   …d.run.set and d.run.dir…
 *   decided_settle(&d, err);             what was decided is told to the session
 *
 * A session is decided about as one run that has all of its changes. Nobody else changes the session until it is closed.
 */
#pragma once

#include "history/past_run.h"
#include "session/session.h"

enum decided_purpose {
	DECIDED_TO_LOOK,
	DECIDED_TO_APPLY, /* or to throw away */
	DECIDED_TO_UNDO,
};

struct decided {
	struct past_run run;
	struct session session; /* name NULL: it was a run */
};
#define DECIDED_INIT                                                                                                   \
	{                                                                                                              \
		.session = SESSION_INIT                                                                                \
	}
void decided_done(struct decided *d);
#define _cleanup_decided_ _cleanup_(decided_done)

/* past_run_init, and commands of sessions that were cut short are found, too. */
int decided_init(struct past_run *e, const struct airlock_settings *s, struct airlock_error *err);
/* AIRLOCK_ERR_NOT_FOUND: there is neither. AIRLOCK_ERR_INVALID: a step of a session is decided about with the session. */
int decided_open(struct decided *d, const struct airlock_settings *s, const char *name, enum decided_purpose purpose,
		 struct airlock_error *err);
/* The same, to look at a session; it stays locked. AIRLOCK_ERR_USAGE: that is no name of one. */
int decided_open_session(struct decided *d, const struct airlock_settings *s, const char *name,
			 struct airlock_error *err);
/* The same with one that was found already, of any project. Looks for no commands that were cut short: whoever has another session open
 * would wait for himself. */
int decided_open_known(struct decided *d, const struct airlock_settings *s, const struct session *known,
		       struct airlock_error *err);
/* d->run was found in another way: opens the session that it belongs to, if any. */
int decided_join(struct decided *d, struct airlock_error *err);
/* Around a decision; both do nothing for a run that belongs to no session. */
int decided_begin(struct decided *d, struct airlock_error *err);
int decided_settle(struct decided *d, struct airlock_error *err);
