/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cleaning up, in an order that may be cut off anywhere: first the record, then the file. A file without a record is found
 * by its name or its directory the next time; a record without its file would promise what is not there. */
#pragma once

#include "airlock/history.h"
#include "config/config.h"
#include "history/past_run.h"
#include "store/store.h"

struct gc {
	struct past_run e;
	struct store *store; /* NULL: there is none yet */
	struct config *config;
	bool dry_run;
	int64_t now;
	char *running;		   /* the newest run that is not over; NULL: none */
	const struct strs *needed; /* directories that sessions need; NULL: not known, so everything of sessions is */
	struct strs *removed;	   /* or what would be: a list for each enum airlock_garbage_kind */
	struct airlock_error *err; /* the first failure; the rest is tried all the same */
};

#define GC_KINDS (AIRLOCK_GARBAGE_SESSION + 1)
/* needed: the runs and layers that sessions need, as sorted paths; NULL: they could not be read, and nothing of sessions goes.
 * ret_removed: what was, or would be, removed: GC_KINDS lists, one for each enum airlock_garbage_kind. */
int gc_collect(const struct airlock_settings *s, bool dry_run, const struct strs *needed, struct strs *ret_removed,
	       struct airlock_error *err);
/* Runs that began before this are old, in ns since 1970; INT64_MIN: none ever is. */
int64_t gc_oldest(const struct config *config, int64_t now);

/* gc_backups.c: those past their retention, and files in edited/ that nobody knows. */
void gc_backups(struct gc *g);
/* A directory of the state, not through a symlink; -ENOENT when there is none. */
int gc_open_dir(const struct gc *g, const char *name);
