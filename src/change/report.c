/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/change.h"

#include "base/text.h"
#include "change/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the entry is now; for a deleted one, what it was. */
static const struct change_stat *shown(const struct change *c)
{
	return c->kind == CHANGE_DELETED ? &c->before : &c->after;
}

unsigned change_mode(const struct change *c)
{
	return c->setid_dropped ? shown(c)->mode & 01777u : shown(c)->mode;
}

uint64_t change_size(const struct change *c)
{
	return c->type == CHANGE_DIRECTORY ? 0 : shown(c)->size;
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
static const char *state_word(const struct change *c, bool is_mixed)
{
	if (c->state == CHANGE_HELD && (is_mixed || c->verdict == CHANGE_HOLD))
		return c->undone ? "undone" : "held";
	return c->state == CHANGE_HELD || c->state == CHANGE_APPLIED ? NULL : change_state_name(c->state);
}

static void add_why(struct buf *out, const struct change *c, const char *word)
{
	_cleanup_buf_ struct buf why = BUF_INIT;
	if (!word && c->n_reasons == 0)
		return;
	buf_printf(out, "  (%s%s", word ? word : "", word && c->n_reasons ? ": " : "");
	change_reasons_add_text(&why, c->reasons, c->n_reasons);
	text_add_escaped(out, buf_str(&why), why.len);
	buf_addc(out, ')');
	out->failed |= why.failed;
}

static void add_owner(struct buf *out, const struct change *c)
{
	if (!c->has_owner)
		return;
	buf_adds(out, "  (owner ");
	if (c->before.type != CHANGE_NOTHING)
		buf_printf(out, "%" PRIu32 ":%" PRIu32 " -> ", c->owner_before.uid, c->owner_before.gid);
	buf_printf(out, "%" PRIu32 ":%" PRIu32 ")", c->owner.uid, c->owner.gid);
}

static void add_line(struct buf *out, const struct change_set *set, const struct change *c, bool is_mixed)
{
	static const char letters[] = "AMDRmT"; /* in the order of enum change_kind */
	buf_addc(out, letters[c->kind]);
	buf_adds(out, "  ");
	if (c->from) {
		add_path(out, set, c, c->from);
		buf_adds(out, " -> ");
	}
	add_path(out, set, c, c->path);
	add_owner(out, c);
	add_why(out, c, state_word(c, is_mixed));
	buf_addc(out, '\n');
}

/* When all are held or all applied, saying so once is enough, and somebody else does. */
static bool has_several_states(const struct change_set *set)
{
	for (size_t i = 1; i < set->n; i++)
		if (set->v[i].state != set->v[0].state)
			return true;
	return false;
}

void change_set_text(const struct change_set *set, struct buf *out)
{
	bool is_mixed = has_several_states(set);
	for (size_t i = 0; i < set->n; i++)
		add_line(out, set, &set->v[i], is_mixed);
}

void change_set_text_of(const struct change_set *set, const bool *selected, struct buf *out)
{
	for (size_t i = 0; i < set->n; i++)
		if (selected[i])
			add_line(out, set, &set->v[i], false);
}
