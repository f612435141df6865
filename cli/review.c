/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "review.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "change_list.h"
#include "diff_show.h"
#include "decide.h"
#include "output.h"
#include "report.h"

#define LINES_MAX 100 /* apply lists the sensitive ones all the same */

struct review {
	const struct airlock_settings *settings;
	struct change_list list;
};

/* ── showing ── */

/* On the terminal itself: standard output belongs to the command. */
static void show_diff(const struct review *r, const char *const *paths)
{
	struct airlock_error err = {0};
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (tty < 0)
		return;
	if (diff_show(r->settings, &r->list, paths, tty, &err) < 0)
		output_error(&err);
	(void)close(tty);
}

/* How things stand now. */
static void tell(const struct review *r)
{
	struct change_list now = {0};
	struct airlock_error err = {0};
	int rc = change_list_load(r->settings, r->list.run, &now, &err);
	if (rc < 0)
		output_error(&err);
	else
		report_headline(now.run, &now, NULL);
	change_list_done(&now);
}

/* ── deciding ── */

/* Failures and a "no" leave everything held. Returns whether the matter is settled. */
static bool apply(const struct review *r, const char *const *paths)
{
	struct airlock_error err = {0};
	size_t count = 0;
	char *text = NULL;
	int rc = decide_confirm(r->settings, r->list.run, paths, false, &err);
	if (rc == AIRLOCK_ERR_DENIED)
		return false;
	if (rc >= 0)
		rc = airlock_changes_apply(r->settings, r->list.run, paths, false, &count, &text, &err);
	if (rc < 0)
		output_error(&err);
	airlock_free(text);
	return true;
}

static bool discard(const struct review *r)
{
	struct airlock_error err = {0};
	size_t count = 0;
	char *text = NULL;
	if (airlock_changes_discard(r->settings, r->list.run, NULL, &count, &text, &err) < 0)
		output_error(&err);
	airlock_free(text);
	return true;
}

/* ── one by one ── */

static char *full_path(const struct change_item *c)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", c->root, c->path) < 0 ? NULL : path;
}

static bool is_beneath(const struct change_item *c, const struct change_item *dir)
{
	size_t len = strlen(dir->path);
	return strcmp(c->root, dir->root) == 0 && strncmp(c->path, dir->path, len) == 0 && c->path[len] == '/';
}

/* How many changes after this one lie beneath it: parents come right before their children. */
static size_t count_beneath(const struct change_list *l, size_t at)
{
	size_t n = 0;
	while (l->v[at].is_directory && at + 1 + n < l->n && is_beneath(&l->v[at + 1 + n], &l->v[at]))
		n++;
	return n;
}

/* "M src/a.c (reason)? " made inert. */
static char *question_about(const struct change_item *c)
{
	char *text = NULL;
	if (asprintf(&text, "%s %s%s%s%s", c->kind, c->path, c->reason ? " (" : "", c->reason ? c->reason : "",
		     c->reason ? ")" : "") < 0)
		return NULL;
	char *inert = airlock_text_inert(text, strlen(text));
	free(text);
	return inert;
}

/* 'y', 'n' (also Enter), 'q' or 0. */
static int ask_about(const struct review *r, const struct change_item *c)
{
	char *text = question_about(c), *path = full_path(c);
	const char *paths[] = {path, NULL};
	int key = 0;
	while (text && path) {
		struct airlock_error err = {0};
		const struct ask_keys ask = {text, "apply? [y]es  [n]o  [d]iff  [q]uit", "yndq"};
		key = ask_key(&ask, &err);
		if (key != 'd')
			break;
		show_diff(r, paths);
	}
	airlock_free(text);
	free(path);
	return key == '\n' ? 'n' : key > 0 ? key : 0;
}

/* Asks about every change that has none beneath it. False: broken off, nothing is to be done. */
static bool ask_about_all(const struct review *r, bool *chosen)
{
	for (size_t i = 0; i < r->list.n; i++) {
		if (strcmp(r->list.v[i].state, "held") != 0 || count_beneath(&r->list, i) > 0)
			continue;
		int key = ask_about(r, &r->list.v[i]);
		if (key == 0)
			return false;
		if (key == 'q')
			break;
		chosen[i] = key == 'y';
	}
	return true;
}

/* A directory brings everything beneath it, so it is chosen when all of that is; a new one also comes by itself with
 * what is chosen in it. */
static void choose_directories(const struct change_list *l, bool *chosen)
{
	for (size_t i = l->n; i-- > 0;) {
		size_t n = count_beneath(l, i);
		bool all = n > 0;
		for (size_t k = 1; k <= n; k++)
			all = all && chosen[i + k];
		chosen[i] = chosen[i] || all;
	}
}

static bool apply_chosen(const struct review *r, const bool *chosen)
{
	const char **paths = calloc(r->list.n + 1, sizeof *paths);
	size_t n = 0;
	for (size_t i = 0; paths && i < r->list.n; i++)
		if (chosen[i] && (paths[n] = full_path(&r->list.v[i])))
			n++;
	bool settled = n == 0 || apply(r, paths);
	for (size_t i = 0; i < n; i++)
		free((char *)paths[i]);
	free(paths);
	return settled;
}

static bool choose(const struct review *r)
{
	bool *chosen = calloc(r->list.n + 1, sizeof *chosen), settled = true;
	if (chosen && ask_about_all(r, chosen)) {
		choose_directories(&r->list, chosen);
		settled = apply_chosen(r, chosen);
	}
	free(chosen);
	return settled;
}

/* ── all of them ── */

static bool decide(const struct review *r, int key)
{
	switch (key) {
	case 'a':
		return apply(r, NULL);
	case 'c':
		return choose(r);
	case 'd':
		return discard(r);
	case 'i':
		show_diff(r, NULL);
		return false;
	default:
		return true; /* [h]old, Enter, Ctrl-C, nobody there any more */
	}
}

void review(const struct airlock_settings *s, const char *run, const char *text)
{
	struct review r = {.settings = s};
	struct airlock_error err = {0};
	if (change_list_load(s, run, &r.list, &err) < 0) {
		output_error(&err);
		return;
	}
	output_say("%s, not applied yet:", change_count(r.list.n).text);
	size_t left = output_lines(text, LINES_MAX);
	if (left > 0)
		output_say("… and %zu more", left);
	int key;
	do {
		const struct ask_keys ask = {NULL, "[a]pply all  [c]hoose  [d]iscard  [h]old  d[i]ff", "acdhi"};
		struct airlock_error nobody = {0};
		key = ask_key(&ask, &nobody);
	} while (!decide(&r, key));
	tell(&r);
	change_list_done(&r.list);
}
