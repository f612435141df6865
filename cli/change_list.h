/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's changes as the library tells them in JSON, for those who need more than to print them.
 *
 *   struct change_list list = {0};
 *   if (change_list_load(inv->settings, "last", &list, &err) < 0) …
 *   list.run, list.n, change_list_count(&list, "held")
 *   change_list_done(&list);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

struct change_item {
	char *path, *root;	     /* exact bytes, not inert */
	char *kind, *state, *reason; /* the words of the JSON; reason may be NULL */
	char *shown; /* inert: as `airlock changes` shows the path; NULL before change_list_read_lines */
	bool is_directory;
};

struct change_list {
	char *run; /* the whole id, whatever it was asked for by; NULL in a list made from a result */
	struct change_item *v;
	size_t n;
	bool is_direct; /* nothing was captured */
};

int change_list_load(const struct airlock_settings *s, const char *run, struct change_list *ret,
		     struct airlock_error *err);
/* From an object with "files": that of `airlock changes --json`, or "changes" of a result. Borrowed. */
int change_list_parse(const char *object, struct change_list *ret, struct airlock_error *err);
void change_list_done(struct change_list *l);
/* Fills `shown`. text: the lines of the same changes, as the library shows them. */
int change_list_read_lines(struct change_list *l, const char *text, struct airlock_error *err);
/* Only those that wait for somebody: held, or in conflict. text: their lines, of which the same are kept. */
void change_list_keep_waiting(struct change_list *l, char *text);

/* How many changes are in this state? */
size_t change_list_count(const struct change_list *l, const char *state);

/* "1 change", "5 changes" */
struct change_count {
	char text[32];
};
struct change_count change_count(size_t n);

/* "2 applied, 1 held": the states that occur, in words. "" for an empty list. */
struct change_summary {
	char text[160];
};
struct change_summary change_list_summary(const struct change_list *l);
