/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/change.h"

#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* What the entry is now; for a deleted one, what it was. */
static const struct change_stat *shown(const struct change *c)
{
	return c->kind == CHANGE_DELETED ? &c->before : &c->after;
}

/* As it will be in the live tree. */
static unsigned shown_mode(const struct change *c)
{
	return c->setid_dropped ? shown(c)->mode & 01777u : shown(c)->mode;
}

/* A directory's size depends on the file system and tells nothing. */
static int64_t shown_size(const struct change *c)
{
	return c->type == CHANGE_DIRECTORY ? 0 : (int64_t)shown(c)->size;
}

static void add_object(struct json *j, const struct change_set *set, const struct change *c)
{
	char mode[16];
	(void)snprintf(mode, sizeof mode, "%04o", shown_mode(c));
	json_open_object(j, NULL);
	json_path(j, "path", c->path);
	json_path(j, "root", set->roots[c->root].path);
	json_string(j, "kind", change_kind_name(c->kind));
	json_string(j, "type", change_type_name(c->type));
	json_string(j, "state", change_state_name(c->state));
	json_string(j, "reason", c->reason);
	if (c->from)
		json_path(j, "from", c->from);
	else
		json_null(j, "from");
	json_int(j, "size", shown_size(c));
	json_string(j, "mode", mode);
	json_close(j);
}

void change_set_json(const struct change_set *set, struct json *j, const char *key)
{
	json_open_array(j, key);
	for (size_t i = 0; i < set->n; i++)
		add_object(j, set, &set->v[i]);
	json_close(j);
}

/* Paths of the first root, the project, are short; those of other roots say where they are. */
static void add_path(struct buf *out, const struct change_set *set, const struct change *c, const char *path)
{
	if (c->root > 0) {
		const char *root = set->roots[c->root].path;
		text_add_escaped(out, root, strlen(root));
		buf_addc(out, '/');
	}
	text_add_escaped(out, path, strlen(path));
}

/* The word for a state that is not simply the whole set's. */
static const char *state_word(const struct change *c)
{
	if (c->state == CHANGE_HELD)
		return c->verdict == CHANGE_HOLD ? "held" : NULL;
	return c->state == CHANGE_APPLIED ? NULL : change_state_name(c->state);
}

static void add_why(struct buf *out, const struct change *c)
{
	const char *word = state_word(c);
	if (!word && !c->reason)
		return;
	buf_adds(out, "  (");
	if (word)
		buf_adds(out, word);
	if (word && c->reason)
		buf_adds(out, ": ");
	if (c->reason)
		text_add_escaped(out, c->reason, strlen(c->reason));
	buf_addc(out, ')');
}

void change_set_text(const struct change_set *set, struct buf *out)
{
	static const char letters[] = "AMDRmT"; /* in the order of enum change_kind */
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		buf_addc(out, letters[c->kind]);
		buf_adds(out, "  ");
		if (c->from) {
			add_path(out, set, c, c->from);
			buf_adds(out, " -> ");
		}
		add_path(out, set, c, c->path);
		add_why(out, c);
		buf_addc(out, '\n');
	}
}
