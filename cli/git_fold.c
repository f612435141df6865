/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "git_fold.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words/change_lines.h"

#define SUMMARY_MAX 160

/* The parts that are counted, in the order of the line. */
enum part { INDEX, HEAD, REFS, OBJECTS, LOGS, OTHER, N_PARTS };

static bool starts(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s, with, n) == 0;
}

static bool equals(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(s, word, len) == 0;
}

/* A name in the git directory, or -1: not bookkeeping. */
static int part_of(const char *name, size_t len)
{
	static const char *const states[] = {"ORIG_HEAD",	 "FETCH_HEAD",	"MERGE_HEAD", "MERGE_MSG",
					     "MERGE_MODE",	 "AUTO_MERGE",	"MERGE_RR",   "COMMIT_EDITMSG",
					     "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "REBASE_HEAD"};
	static const struct {
		const char *prefix;
		enum part part;
	} folders[] = {{"refs/", REFS},
		       {"objects/", OBJECTS},
		       {"logs/", LOGS},
		       {"rebase-merge/", OTHER},
		       {"rr-cache/", OTHER}};
	if (equals(name, len, "index"))
		return INDEX;
	if (equals(name, len, "HEAD"))
		return HEAD;
	if (equals(name, len, "packed-refs"))
		return REFS;
	if (equals(name, len, "logs") || equals(name, len, "rebase-merge"))
		return OTHER;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (starts(name, len, folders[i].prefix))
			return folders[i].part;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (equals(name, len, states[i]))
			return OTHER;
	return -1;
}

static int part_of_change(const struct airlock_change *c)
{
	static const char git[] = ".git/";
	if (c->n_reasons > 0 || c->kind == AIRLOCK_KIND_RENAMED)
		return -1;
	for (const char *at = c->path; (at = strstr(at, git)); at++)
		if (at == c->path || at[-1] == '/') {
			const char *name = at + sizeof git - 1;
			return part_of(name, strlen(name));
		}
	return -1;
}

static void add(char *out, size_t size, const char *text)
{
	size_t len = strlen(out);
	(void)snprintf(out + len, size - len, "%s%s", len > 5 ? ", " : "", text);
}

static void tell(const size_t *counts, char *out, size_t size)
{
	static const char *const names[N_PARTS] = {"index", "HEAD", "ref", "object", NULL, NULL};
	(void)snprintf(out, size, "git: ");
	for (int i = 0; i < N_PARTS; i++) {
		char text[64];
		if (counts[i] == 0 || !names[i])
			continue;
		if (i == INDEX || i == HEAD)
			(void)snprintf(text, sizeof text, "%s", names[i]);
		else
			(void)snprintf(text, sizeof text, "%zu %s%s", counts[i], names[i], counts[i] == 1 ? "" : "s");
		add(out, size, text);
	}
	if (strlen(out) == 5)
		add(out, size, "its own records");
	(void)strncat(out, "\n", size - strlen(out) - 1);
}

/* Marks the folded changes. Returns their number. */
static size_t find_folded(const struct airlock_changes *changes, bool *skip, size_t counts[N_PARTS])
{
	size_t folded = 0;
	for (size_t i = 0; i < airlock_changes_count(changes); i++) {
		const struct airlock_change *c = airlock_changes_at(changes, i);
		int part = part_of_change(c);
		skip[i] = part >= 0;
		folded += skip[i];
		if (part >= 0)
			counts[part] += c->type != AIRLOCK_TYPE_DIRECTORY;
	}
	return folded;
}

char *git_fold(const struct airlock_changes *changes)
{
	size_t counts[N_PARTS] = {0};
	bool *skip = calloc(airlock_changes_count(changes) + 1, sizeof *skip);
	size_t folded = skip ? find_folded(changes, skip, counts) : 0;
	char *lines = skip ? change_lines(changes, skip) : NULL, *all = NULL, summary[SUMMARY_MAX] = "";
	if (folded > 0)
		tell(counts, summary, sizeof summary);
	if (lines && asprintf(&all, "%s%s", lines, summary) < 0)
		all = NULL;
	free(lines);
	free(skip);
	return all;
}
