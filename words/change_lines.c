/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "words/change_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of enum airlock_change_kind; and what undoing each of them does. */
static const char letters[] = "AMDRmT", undone_letters[] = "DMARmT";

char change_letter(enum airlock_change_kind kind)
{
	return letters[kind];
}

static bool add_inert(FILE *out, const char *text)
{
	char *inert = airlock_text_inert(text, strlen(text));
	if (inert)
		(void)fputs(inert, out);
	airlock_free(inert);
	return inert != NULL;
}

static bool add_path(FILE *out, const struct airlock_change *c, const char *path)
{
	bool ok = true;
	if (!c->in_project) {
		ok = add_inert(out, c->root);
		(void)fputc('/', out);
	}
	return add_inert(out, path) && ok;
}

/* first may be NULL. */
static bool add_paths(FILE *out, const struct airlock_change *c, const char *first, const char *second)
{
	bool ok = true;
	if (first) {
		ok = add_path(out, c, first);
		(void)fputs(" -> ", out);
	}
	return add_path(out, c, second) && ok;
}

/* Closes the stream; returns the text if all of it was written. */
static char *finish(FILE *out, bool ok, char **text)
{
	if (fclose(out) == 0 && ok)
		return *text;
	free(*text);
	return NULL;
}

char *change_path(const struct airlock_change *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	return out ? finish(out, add_paths(out, c, c->from, c->path), &text) : NULL;
}

char *change_reason(const struct airlock_change *c)
{
	char *text = airlock_change_reason_text(c), *inert = text ? airlock_text_inert(text, strlen(text)) : NULL;
	airlock_free(text);
	return inert;
}

static bool add_line(FILE *out, const struct airlock_change *c, bool is_mixed)
{
	char *line = airlock_change_line(c, is_mixed);
	if (line)
		(void)fputs(line, out);
	airlock_free(line);
	return line != NULL;
}

static bool add_undone_line(FILE *out, const struct airlock_change *c)
{
	(void)fprintf(out, "%c  ", undone_letters[c->kind]);
	bool ok = c->from ? add_paths(out, c, c->path, c->from) : add_path(out, c, c->path);
	(void)fputc('\n', out);
	return ok;
}

/* If all are held or all applied, the caller says so once. */
static bool has_several_states(const struct airlock_changes *c)
{
	for (size_t i = 1; i < airlock_changes_count(c); i++)
		if (airlock_changes_at(c, i)->state != airlock_changes_at(c, 0)->state)
			return true;
	return false;
}

char *change_lines(const struct airlock_changes *c, const bool *skip)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	bool ok = true, is_mixed = has_several_states(c);
	for (size_t i = 0; i < airlock_changes_count(c); i++)
		if (!skip || !skip[i])
			ok = add_line(out, airlock_changes_at(c, i), is_mixed) && ok;
	return finish(out, ok, &text);
}

char *change_lines_done(const struct airlock_changes *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	bool ok = true, is_undone = airlock_changes_action(c) == AIRLOCK_ACTION_UNDO;
	for (size_t i = 0; i < airlock_changes_count(c); i++) {
		const struct airlock_change *change = airlock_changes_at(c, i);
		if (change->is_done)
			ok = (is_undone ? add_undone_line(out, change) : add_line(out, change, false)) && ok;
	}
	for (size_t i = 0; airlock_changes_note(c, i); i++) {
		char *line = airlock_note_text(airlock_changes_note(c, i));
		(void)fprintf(out, "note: %s\n", line ? line : airlock_note_name(airlock_changes_note(c, i)->code));
		airlock_free(line);
	}
	return finish(out, ok, &text);
}
