/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* package.json: the members that are commands. Our reader of JSON is stricter than JavaScript's: what it refuses is held, so
 * that no other reader sees a script that was hidden from us. */
#include "change/gate/gate.h"

#include "base/json_value.h"

#include <string.h>

struct commands {
	struct strs keys;    /* "member", TAB, "name" */
	struct strs records; /* the same, TAB, and the value as it is written */
};

static void commands_done(struct commands *c)
{
	strs_done(&c->keys);
	strs_done(&c->records);
}

static void add_command(struct commands *c, const char *member, const char *name, struct json_value value)
{
	strs_addf(&c->keys, "%s\t%s", member, name);
	strs_addf(&c->records, "%s\t%s\t%.*s", member, name, (int)value.len, value.at);
}

static bool is_in(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* member: one of those that hold commands. */
static bool add_commands(struct commands *c, const char *member, struct json_value value)
{
	if (json_value_kind(value) != '{')
		add_command(c, member, "", value);
	for (struct json_item i = {0}; json_value_kind(value) == '{' && json_value_next(value, &i);) {
		_cleanup_free_ char *name = json_value_string(i.name);
		if (!name)
			return false;
		add_command(c, member, name, i.value);
	}
	return true;
}

static bool has_repeated_key(const struct commands *c)
{
	_cleanup_strs_ struct strs sorted = STRS_INIT;
	strs_add_all(&sorted, &c->keys);
	strs_sort(&sorted);
	for (size_t i = 1; i < sorted.n; i++)
		if (strcmp(sorted.v[i - 1], sorted.v[i]) == 0)
			return true;
	return sorted.failed;
}

static bool read_commands(const struct buf *text, struct commands *ret)
{
	/* npm passes over a byte order mark */
	size_t mark = text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct json_value top;
	if (!json_value_parse(buf_str(text) + mark, text->len - mark, &top) || json_value_kind(top) != '{')
		return false;
	for (struct json_item i = {0}; json_value_next(top, &i);) {
		_cleanup_free_ char *name = json_value_string(i.name);
		if (!name || (is_in(sensitive_package_members, name) && !add_commands(ret, name, i.value)))
			return false;
	}
	return !ret->keys.failed && !ret->records.failed && !has_repeated_key(ret);
}

static int compare_records(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In a file that was there before, every script counts: people call them by names they know. In a new one, those that run
 * by themselves. before is sorted, NULL for a new file. */
static bool is_sensitive(const struct strs *before, const char *key, const char *record)
{
	if (before)
		return before->n == 0 || !bsearch(&record, before->v, before->n, sizeof(char *), compare_records);
	return strncmp(key, "scripts\t", 8) != 0 || is_in(sensitive_package_lifecycle, key + 8);
}

const struct airlock_reason *gate_judge_package(struct gate *g, const struct change *c,
						const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	_cleanup_(commands_done) struct commands old = {.keys = STRS_INIT}, new = {.keys = STRS_INIT};
	const struct airlock_reason *reason = gate_read_both(g, c, &before, &after);
	if (reason)
		return reason;
	if (!read_commands(&after, &new))
		return change_reason_of(AIRLOCK_REASON_INVALID_JSON);
	if (!read_commands(&before, &old))
		commands_done(&old); /* then nothing of it worked, and every script is new */
	strs_sort(&old.records);
	bool is_new = gate_type_before(g, c->root, c->path) == CHANGE_NOTHING;
	for (size_t i = 0; i < new.keys.n; i++)
		if (is_sensitive(is_new ? NULL : &old.records, new.keys.v[i], new.records.v[i]))
			return &rule->reason;
	return NULL;
}
