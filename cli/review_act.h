/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The actions of a review: apply and discard changes. The list on the screen and the plain form share them. */
#pragma once

#include <stdbool.h>

#include <airlock/changes.h>

struct review {
	const struct airlock_settings *settings;
	struct airlock_changes *changes;
	const struct airlock_change **waiting; /* those that are held or in conflict */
	size_t n;
	struct airlock_error failure; /* result of applying or discarding; everything not applied is still held */
	bool goes_on;		      /* one was applied, and others are held: load and show them again */
	size_t cursor;		      /* the position of the list then */
};

/* True if it is held. */
bool review_waits(const struct airlock_change *c);
/* Root and path of a change; freed by the caller. */
char *review_path(const struct airlock_change *c);
/* The number of held changes after this one that are beneath it: parents come right before their children. */
size_t review_beneath(const struct review *r, size_t at);

/* Applies these paths, or all of them (NULL). Asks about the sensitive ones. False: declined, nothing is decided. */
bool review_apply(struct review *r, const char *const *paths);
void review_discard(struct review *r, const char *const *paths);
/* Applies this one over the present file, as `airlock apply --force` does. The person was asked already; this asks
 * about sensitive ones in a directory. False: declined. */
bool review_apply_anyway(struct review *r, size_t at);

/* The same for the chosen ones, one flag for each change. A directory includes everything beneath it, so it is added
 * if all of that is chosen; a new directory also comes by itself with what is chosen in it. */
bool review_apply_chosen(struct review *r, bool *chosen);
void review_discard_chosen(struct review *r, bool *chosen);
