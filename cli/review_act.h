/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a person can do with a run's changes while reviewing them, whichever way they are shown. */
#pragma once

#include <stdbool.h>

#include <airlock/changes.h>

struct review {
	const struct airlock_settings *settings;
	struct airlock_changes *changes;
	const struct airlock_change **waiting; /* those that are held or in conflict */
	size_t n;
	struct airlock_error failure; /* of applying or discarding; everything not applied is still held */
	bool goes_on;		      /* one was applied, and others wait: they are to be loaded and shown again */
	size_t cursor;		      /* where the list was then */
};

/* Does it wait for somebody? */
bool review_waits(const struct airlock_change *c);
/* Root and path of a change; freed by the caller. */
char *review_path(const struct airlock_change *c);
/* How many of those that wait after this one lie beneath it: parents come right before their children. */
size_t review_beneath(const struct review *r, size_t at);

/* These paths, or all of them (NULL). Asks about the sensitive ones. False: that was declined, nothing is settled. */
bool review_apply(struct review *r, const char *const *paths);
void review_discard(struct review *r, const char *const *paths);
/* This one, over what is there now, as `airlock apply --force` does. The person was asked; about sensitive ones in a
 * directory they are asked here. False: declined. */
bool review_apply_anyway(struct review *r, size_t at);

/* The same for those that are chosen, one flag for each change. A directory brings everything beneath it, so it goes with
 * them when all of that is chosen; a new one also comes by itself with what is chosen in it. */
bool review_apply_chosen(struct review *r, bool *chosen);
void review_discard_chosen(struct review *r, bool *chosen);
