/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of a run before its command starts: enough to find its changes if airlock is killed.
 *
 *   <state>/begun/<run>      the record, written before the command starts and removed once the changes are recorded
 *   <state>/begun/.spare     the file of a run that is over, which the next one uses again
 *
 * Whoever runs the command has this file locked, and so has the first process of its sandbox, which shares the descriptor: as long
 * as anybody can still write to the layer, nobody gets the lock. A record that nobody has locked is that of a run that was cut short
 * (cut_run.h). Nothing is synced: after a power cut the layer need not be whole either.
 */
#pragma once

#include "change/change.h"
#include "settings/host.h"

#define BEGUN_DIR "begun"

struct begun {
	const char *run, *command, *project, *working_dir, *asked_by;
	int64_t started_ns;	  /* for the history */
	int64_t real_ns, boot_ns; /* the same by the clock of the calendar and by one that nobody sets */
	/* A command of a session that holds its changes; NULL: of none. */
	const char *session;
	uint64_t turns, last_step; /* of the session when the command began */
	const char *
		tail_of; /* the layers are what processes of that run's command go on with (session/tail.h); NULL: not */
	bool mirrored;	 /* the layers are copies of the roots; origins in the run's directory says of what */
	/* Roots and layers, the clock of the layers, no changes. */
	struct change_set *set;
	/* The session's layers below those of the run, for each root the topmost first: lowers.v[i] lies over lower_roots.v[i]. */
	struct strs lower_roots, lowers;
	struct strs texts; /* behind the strings of one that was loaded */
};
#define BEGUN_INIT                                                                                                     \
	{                                                                                                              \
		.set = NULL                                                                                            \
	}
/* Frees a record that was loaded. */
void begun_done(struct begun *b);
#define _cleanup_begun_ _cleanup_(begun_done)

/* Returns the descriptor, locked; the caller's. */
int begun_write(const struct host *host, const struct begun *b, struct airlock_error *err);
/* AIRLOCK_ERR_CORRUPT: it is not whole, so the command never started, or the power failed. */
int begun_load(const struct host *host, const char *run, struct begun *ret, struct airlock_error *err);
void begun_remove(const struct host *host, const char *run);
/* True if there is such a record, whoever has it locked. */
bool begun_exists(const struct host *host, const char *run);
/* The runs that have one, sorted. */
int begun_list(const struct host *host, struct strs *ret, struct airlock_error *err);
/* True if this open file still has this path: another process may have renamed or removed it before we got its lock. */
bool begun_is_at(int fd, const char *path);
/* The path of the record; NULL: out of memory. */
char *begun_path(const struct host *host, const char *run);
