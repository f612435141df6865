/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/values.h"

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

/* ── Lines for people ── */

/* Paths of the first root, the project, are short; those of other roots say where they are. */
static void add_path(struct buf *out, const struct airlock_change *c, const char *path)
{
	if (!c->in_project) {
		text_add_escaped(out, c->root, strlen(c->root));
		buf_addc(out, '/');
	}
	text_add_escaped(out, path, strlen(path));
}

/* The word for a state that is not simply the whole set's. */
static const char *state_word(const struct airlock_change *c, bool is_mixed)
{
	if (c->state == AIRLOCK_CHANGE_HELD && (is_mixed || c->is_sensitive))
		return c->is_undone ? "undone" : "held";
	bool is_plain = c->state == AIRLOCK_CHANGE_HELD || c->state == AIRLOCK_CHANGE_APPLIED;
	return is_plain ? NULL : airlock_change_state_name(c->state);
}

static void add_why(struct buf *out, const struct airlock_change *c, const char *word)
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

static void add_owner(struct buf *out, const struct airlock_change *c)
{
	if (!c->owner)
		return;
	buf_adds(out, "  (owner ");
	if (c->owner_before)
		buf_printf(out, "%" PRIu32 ":%" PRIu32 " -> ", c->owner_before->uid, c->owner_before->gid);
	buf_printf(out, "%" PRIu32 ":%" PRIu32 ")", c->owner->uid, c->owner->gid);
}

static void add_line(struct buf *out, const struct airlock_change *c, bool is_mixed)
{
	static const char letters[] = "AMDRmT"; /* in the order of enum airlock_change_kind */
	buf_addc(out, letters[c->kind]);
	buf_adds(out, "  ");
	if (c->from) {
		add_path(out, c, c->from);
		buf_adds(out, " -> ");
	}
	add_path(out, c, c->path);
	add_owner(out, c);
	add_why(out, c, state_word(c, is_mixed));
	buf_addc(out, '\n');
}

char *airlock_change_line(const struct airlock_change *c, int is_mixed)
{
	struct buf out = BUF_INIT;
	add_line(&out, c, is_mixed);
	return buf_take(&out);
}

/* When all are held or all applied, saying so once is enough, and somebody else does. */
static bool has_several_states(const struct change_set *set)
{
	for (size_t i = 1; i < set->n; i++)
		if (set->v[i].state != set->v[0].state)
			return true;
	return false;
}

void change_set_text(const struct change_set *set, const bool *selected, struct buf *out)
{
	bool is_mixed = !selected && has_several_states(set);
	for (size_t i = 0; i < set->n; i++)
		if (!selected || selected[i]) {
			const struct airlock_change value = change_value(set, i, false);
			add_line(out, &value, is_mixed);
		}
}
