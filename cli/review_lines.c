/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as questions, one line at a time: first what to do with all changes, then, if the person chooses, with
 * each of them. It does the same things as the list, through review_act.c. */
#include "review_lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "change_list.h"
#include "diff_show.h"
#include "output.h"
#include "words/change_lines.h"

#define LINES_MAX 100 /* apply lists the sensitive ones anyway */

/* On the terminal itself: standard output belongs to the command. */
static void show_diff(const struct review *r, const char *const *paths)
{
	struct airlock_error err = {0};
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (tty < 0)
		return;
	if (diff_show(r->settings, r->changes, paths, tty, &err) < 0)
		output_error(&err);
	(void)close(tty);
}

/* ── one by one ── */

/* "modified src/a.c (reason)", escaped. */
static char *question_about(const struct airlock_change *c)
{
	char *path = airlock_text_inert(c->path, strlen(c->path)), *why = change_reason(c), *text = NULL;
	if (!path || !why ||
	    asprintf(&text, *why ? "%s %s (%s)" : "%s %s", airlock_change_kind_name(c->kind), path, why) < 0)
		text = NULL;
	airlock_free(path);
	airlock_free(why);
	return text;
}

/* A plain yes would fail if someone else has changed the file: then force is offered too. */
static struct ask_keys keys_for(const struct airlock_change *c, const char *text)
{
	if (c->state == AIRLOCK_CHANGE_CONFLICT)
		return (struct ask_keys){text, "apply? [y]es  [n]o  [f]orce: over what is there now  [d]iff  [q]uit",
					 "ynfdq"};
	return (struct ask_keys){text, "apply? [y]es  [n]o  [d]iff  [q]uit", "yndq"};
}

/* 'y', 'f', 'n' (also Enter), 'q' or 0. */
static int ask_about(const struct review *r, const struct airlock_change *c)
{
	char *text = question_about(c), *path = review_path(c);
	const char *paths[] = {path, NULL};
	int key = 0;
	while (text && path) {
		struct airlock_error err = {0};
		const struct ask_keys ask = keys_for(c, text);
		key = ask_key(&ask, &err);
		if (key != 'd')
			break;
		show_diff(r, paths);
	}
	free(text);
	free(path);
	return key == '\n' ? 'n' : key > 0 ? key : 0;
}

struct choice {
	bool *chosen, *forced; /* one each for every change */
};

/* Asks about every change that has none beneath it. False: cancelled, nothing is done. */
static bool ask_about_all(const struct review *r, const struct choice *c)
{
	for (size_t i = 0; i < r->n; i++) {
		if (review_beneath(r, i) > 0)
			continue;
		int key = ask_about(r, r->waiting[i]);
		if (key == 0)
			return false;
		if (key == 'q')
			break;
		c->chosen[i] = key == 'y';
		c->forced[i] = key == 'f';
	}
	return true;
}

static bool apply(struct review *r, const struct choice *c)
{
	bool settled = review_apply_chosen(r, c->chosen);
	for (size_t i = 0; settled && r->failure.code >= 0 && i < r->n; i++)
		if (c->forced[i])
			(void)review_apply_anyway(r, i);
	r->goes_on = false; /* each was asked about */
	return settled;
}

static bool choose(struct review *r)
{
	struct choice c = {calloc(r->n + 1, sizeof *c.chosen), calloc(r->n + 1, sizeof *c.forced)};
	bool settled = true;
	if (c.chosen && c.forced && ask_about_all(r, &c))
		settled = apply(r, &c);
	free(c.chosen);
	free(c.forced);
	return settled;
}

/* ── all of them ── */

/* Returns whether everything is decided. */
static bool decide(struct review *r, int key)
{
	switch (key) {
	case 'a':
		return review_apply(r, NULL);
	case 'c':
		return choose(r);
	case 'd':
		review_discard(r, NULL);
		return true;
	case 'i':
		show_diff(r, NULL);
		return false;
	default:
		return true; /* [h]old, Enter, Ctrl-C, or nobody there any more */
	}
}

static void list_waiting(const struct review *r)
{
	bool *skip = calloc(airlock_changes_count(r->changes) + 1, sizeof *skip);
	for (size_t i = 0; skip && i < airlock_changes_count(r->changes); i++)
		skip[i] = !review_waits(airlock_changes_at(r->changes, i));
	char *text = skip ? change_lines(r->changes, skip) : NULL;
	output_say("%s, not applied yet:", change_count(r->n).text);
	size_t left = text ? output_lines(text, LINES_MAX) : r->n;
	if (left > 0)
		output_say("… and %zu more", left);
	free(text);
	free(skip);
}

void review_lines(struct review *r)
{
	list_waiting(r);
	int key;
	do {
		const struct ask_keys ask = {NULL, "[a]pply all  [c]hoose  [d]iscard  [h]old  d[i]ff", "acdhi"};
		struct airlock_error nobody = {0};
		key = ask_key(&ask, &nobody);
	} while (!decide(r, key));
}
