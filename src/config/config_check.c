/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks a parsed file against the schema: unknown keys, wrong types, wrong values. Whatever passes here can be merged
 * without further checks. Everything quoted from the file is escaped: strangers write a project's file. */
#include "config/config_file.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static char *inert(const char *s, size_t len)
{
	struct buf b = BUF_INIT;
	text_add_escaped(&b, s, AL_MIN(len, (size_t)200));
	return buf_take(&b);
}

/* The right key in the wrong table is more likely than a misspelt key. */
static const char *home_of(const struct toml_entry *e)
{
	if (schema_find(SCHEMA_SANDBOX, e->key, e->key_len))
		return "[sandbox]";
	if (schema_find(SCHEMA_PROFILE, e->key, e->key_len))
		return "[profiles.NAME]";
	if (schema_find(SCHEMA_COMMAND, e->key, e->key_len))
		return "[[commands]]";
	if (schema_find(SCHEMA_ENV, e->key, e->key_len))
		return "env of [profiles.NAME]";
	if (schema_find(SCHEMA_RETENTION, e->key, e->key_len))
		return "[retention]";
	if (schema_find(SCHEMA_CAPTURE, e->key, e->key_len))
		return "[capture]";
	if (schema_find(SCHEMA_CACHE, e->key, e->key_len))
		return "[cache]";
	if (schema_find(SCHEMA_PERMISSION, e->key, e->key_len))
		return "[permission]";
	if (schema_find(SCHEMA_SESSION, e->key, e->key_len))
		return "[session]";
	if (schema_find(SCHEMA_GATE, e->key, e->key_len))
		return "[gate]";
	return schema_find(SCHEMA_NETWORK, e->key, e->key_len) ? "[network]" : NULL;
}

static int unknown_key(const struct config_file *f, const struct toml_entry *e, const char *where, const char *nearest,
		       struct airlock_error *err)
{
	_cleanup_free_ char *name = inert(e->key, e->key_len);
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_printf(&text, "unknown key \"%s\"", name ? name : "");
	if (where)
		buf_printf(&text, " in %s", where);
	if (home_of(e))
		buf_printf(&text, "; it belongs in %s", home_of(e));
	else if (nearest)
		buf_printf(&text, "; did you mean \"%s\"?", nearest);
	return text.failed ? base_oom(err) : config_file_fault(f, e->line, e->column, err, "%s", buf_str(&text));
}

/* Describes the actual value: `"5x"`, `-3`, `a boolean`. */
static void add_found(struct buf *out, const struct toml_value *v)
{
	if (v->type == TOML_STRING) {
		buf_addc(out, '"');
		text_add_escaped(out, v->u.string.s, AL_MIN(v->u.string.len, (size_t)200));
		buf_addc(out, '"');
	} else if (v->type == TOML_INTEGER)
		buf_printf(out, "%" PRId64, v->u.integer);
	else
		buf_printf(out, "%s %s", v->type == TOML_ARRAY ? "an" : "a", toml_type_name(v->type));
}

static const char *nearest_word(const struct schema_key *key, const struct toml_value *v)
{
	const char *words[SCHEMA_MAX_KEYS + 1] = {0};
	for (size_t i = 0; key->words && key->words[i].word; i++)
		words[i] = key->words[i].word;
	return v->type == TOML_STRING ? text_nearest(v->u.string.s, words) : NULL;
}

static int wrong_value(const struct config_file *f, const struct schema_key *key, const struct toml_value *v,
		       struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_printf(&text, "\"%s\" must be ", key->name);
	schema_add_form(key, &text);
	buf_adds(&text, ", not ");
	add_found(&text, v);
	const char *nearest = nearest_word(key, v);
	if (nearest)
		buf_printf(&text, "; did you mean \"%s\"?", nearest);
	return text.failed ? base_oom(err) : config_file_fault(f, v->line, v->column, err, "%s", buf_str(&text));
}

static int check_path(const struct config_file *f, const struct schema_key *key, const struct toml_value *item,
		      struct airlock_error *err)
{
	struct airlock_error why = {0};
	_cleanup_free_ char *path = NULL;
	if (config_expand_path(item->u.string.s, f->base, f->home, &path, &why) >= 0)
		return 0;
	if (why.code != AIRLOCK_ERR_INVALID)
		return base_oom(err);
	_cleanup_free_ char *text = inert(item->u.string.s, item->u.string.len);
	return config_file_fault(f, item->line, item->column, err, "\"%s\" in \"%s\" must start with / or ~/%s",
				 text ? text : "", key->name, f->base ? ", or be relative to the project" : "");
}

static int check_host(const struct config_file *f, const struct schema_key *key, const struct toml_value *item,
		      bool may_name_set, struct airlock_error *err)
{
	struct host_rule ignored;
	const char *text = item->u.string.s;
	if (may_name_set && text[0] == '@' && schema_is_profile_name(text + 1))
		return 0;
	enum host_rule_fault fault = host_rule_parse(text, key->verdict, &ignored);
	if (fault == HOST_RULE_FINE)
		return 0;
	_cleanup_free_ char *shown = inert(text, item->u.string.len);
	return config_file_fault(f, item->line, item->column, err, "\"%s\" in \"%s\": %s", shown ? shown : "",
				 key->name, host_rule_fault_text(fault));
}

static int check_item(const struct config_file *f, const struct schema_key *key, const struct toml_value *item,
		      struct airlock_error *err)
{
	if (item->type == TOML_STRING && key->type == SCHEMA_HOSTS && strlen(item->u.string.s) == item->u.string.len)
		return check_host(f, key, item, true, err);
	if (item->type != TOML_STRING || item->u.string.len == 0 || strlen(item->u.string.s) != item->u.string.len ||
	    (key->type == SCHEMA_PATTERNS && strchr(item->u.string.s, '='))) {
		_cleanup_buf_ struct buf found = BUF_INIT;
		add_found(&found, item);
		return config_file_fault(f, item->line, item->column, err, "\"%s\" must be %s; this item is %s",
					 key->name, key->form, buf_str(&found));
	}
	return key->type == SCHEMA_PATHS ? check_path(f, key, item, err) : 0;
}

static int check_list(const struct config_file *f, const struct schema_key *key, const struct toml_value *v,
		      struct airlock_error *err)
{
	/* A rule that matches every command would be a profile. */
	if (v->type != TOML_ARRAY || (key->type == SCHEMA_ARGV && v->u.array.n == 0))
		return wrong_value(f, key, v, err);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < v->u.array.n; i++)
		rc = check_item(f, key, v->u.array.items[i], err);
	return rc;
}

static int check_table(const struct config_file *f, const struct toml_value *table, unsigned scope, const char *label,
		       struct airlock_error *err);

static int check_env(const struct config_file *f, const struct toml_value *env, const char *label,
		     struct airlock_error *err)
{
	_cleanup_buf_ struct buf env_label = BUF_INIT;
	buf_printf(&env_label, "env of %s", label);
	return env_label.failed ? base_oom(err) : check_table(f, env, SCHEMA_ENV, buf_str(&env_label), err);
}

static int check_entry(const struct config_file *f, const struct toml_entry *e, unsigned scope, const char *label,
		       struct airlock_error *err)
{
	struct schema_value ignored;
	const struct schema_key *key = schema_find(scope, e->key, e->key_len);
	if (!key)
		return unknown_key(f, e, label, schema_nearest(scope, e->key), err);
	if (schema_is_list(key))
		return check_list(f, key, e->value, err);
	if (key->type == SCHEMA_TABLE && e->value->type == TOML_TABLE)
		return check_env(f, e->value, label, err);
	return schema_read(key, e->value, &ignored) < 0 ? wrong_value(f, key, e->value, err) : 0;
}

static int check_table(const struct config_file *f, const struct toml_value *table, unsigned scope, const char *label,
		       struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < table->u.table.n; i++)
		rc = check_entry(f, &table->u.table.entries[i], scope, label, err);
	return rc;
}

/* ── The same path readable and blocked in one table: certainly a mistake ── */

struct listed {
	char *path;
	const struct schema_key *key;
	const struct toml_value *item;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int order = strcmp(x->path, y->path);
	return order ? order : (x->item->line > y->item->line) - (x->item->line < y->item->line);
}

static size_t collect_paths(const struct config_file *f, const struct toml_value *table, struct listed *out, size_t cap)
{
	size_t n = 0, n_keys;
	const struct schema_key *keys = schema_keys(&n_keys);
	for (size_t k = 0; k < n_keys; k++) {
		const struct toml_value *list = keys[k].type == SCHEMA_PATHS ? toml_get(table, keys[k].name) : NULL;
		for (size_t i = 0; list && i < list->u.array.n && n < cap; i++) {
			const struct toml_value *item = list->u.array.items[i];
			out[n] = (struct listed){.key = &keys[k], .item = item};
			if (config_expand_path(item->u.string.s, f->base, f->home, &out[n].path, NULL) >= 0)
				n++;
		}
	}
	return n;
}

static size_t count_paths(const struct toml_value *table)
{
	size_t total = 0, n_keys;
	const struct schema_key *keys = schema_keys(&n_keys);
	for (size_t k = 0; k < n_keys; k++) {
		const struct toml_value *list = keys[k].type == SCHEMA_PATHS ? toml_get(table, keys[k].name) : NULL;
		total += list ? list->u.array.n : 0;
	}
	return total;
}

static int check_contradictions(const struct config_file *f, const struct toml_value *table, struct airlock_error *err)
{
	size_t cap = count_paths(table), n;
	_cleanup_free_ struct listed *all = calloc(cap + 1, sizeof *all);
	if (!all)
		return base_oom(err);
	n = collect_paths(f, table, all, cap);
	qsort(all, n, sizeof *all, compare_listed);
	int rc = 0;
	for (size_t i = 1; rc >= 0 && i < n; i++) {
		if (all[i].key == all[i - 1].key || strcmp(all[i].path, all[i - 1].path) != 0)
			continue;
		_cleanup_free_ char *text = inert(all[i].path, strlen(all[i].path));
		rc = config_file_fault(f, all[i].item->line, all[i].item->column, err,
				       "\"%s\" is in \"%s\" and in \"%s\" of the same table", text ? text : "",
				       all[i - 1].key->name, all[i].key->name);
	}
	for (size_t i = 0; i < n; i++)
		free(all[i].path);
	return rc;
}

/* ── Tables ── */

static int not_a_table(const struct config_file *f, const struct toml_entry *e, const char *what,
		       struct airlock_error *err)
{
	_cleanup_buf_ struct buf found = BUF_INIT;
	add_found(&found, e->value);
	return config_file_fault(f, e->value->line, e->value->column, err, "%s, not %s", what, buf_str(&found));
}

/* If a built-in profile started from another one, its name would be misleading. */
static int check_extends(const struct config_file *f, const struct toml_entry *profile, struct airlock_error *err)
{
	const struct toml_entry *e = config_entry(profile->value, "extends");
	if (!e || !policy_is_builtin(profile->key))
		return 0;
	return config_file_fault(f, e->line, e->column, err,
				 "the built-in profile \"%s\" cannot extend another; choose another name",
				 profile->key);
}

static int check_profile(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (strlen(e->key) != e->key_len || !schema_is_profile_name(e->key)) {
		_cleanup_free_ char *name = inert(e->key, e->key_len);
		return config_file_fault(f, e->line, e->column, err,
					 "\"%s\" is not a valid profile name; use letters, digits, - and _",
					 name ? name : "");
	}
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "a profile must be a table [profiles.NAME]", err);
	_cleanup_buf_ struct buf label = BUF_INIT;
	buf_printf(&label, "[profiles.%s]", e->key);
	int rc = check_table(f, e->value, SCHEMA_PROFILE, buf_str(&label), err);
	if (rc >= 0)
		rc = check_extends(f, e, err);
	return rc < 0 ? rc : check_contradictions(f, e->value, err);
}

static int check_profiles(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"profiles\" must be tables [profiles.NAME]", err);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < e->value->u.table.n; i++)
		rc = check_profile(f, &e->value->u.table.entries[i], err);
	return rc;
}

static int check_command(const struct config_file *f, const struct toml_value *rule, struct airlock_error *err)
{
	if (rule->type != TOML_TABLE)
		return config_file_fault(f, rule->line, rule->column, err, "\"commands\" must be tables [[commands]]");
	int rc = check_table(f, rule, SCHEMA_COMMAND, "[[commands]]", err);
	if (rc >= 0 && !toml_get(rule, "match"))
		rc = config_file_fault(f, rule->line, rule->column, err,
				       "[[commands]] needs \"match\", the words the command starts with");
	return rc < 0 ? rc : check_contradictions(f, rule, err);
}

static int check_commands(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_ARRAY)
		return not_a_table(f, e, "\"commands\" must be tables [[commands]]", err);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < e->value->u.array.n; i++)
		rc = check_command(f, e->value->u.array.items[i], err);
	return rc;
}

static int check_sandbox(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"sandbox\" must be a table [sandbox]", err);
	return check_table(f, e->value, SCHEMA_SANDBOX, "[sandbox]", err);
}

/* Paths of a layer are relative to its root; such a pattern would silently match nothing. */
static bool leaves_project(const char *pattern)
{
	assert(pattern); /* a TOML string */
	for (const char *p = pattern; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (strcspn(p, "/") == 2 && strncmp(p, "..", 2) == 0)
			return true;
	return pattern[0] == '~';
}

static int check_globs(const struct config_file *f, const struct toml_value *list, const char *name,
		       struct airlock_error *err)
{
	for (size_t i = 0; list && i < list->u.array.n; i++) {
		const struct toml_value *item = list->u.array.items[i];
		if (!leaves_project(item->u.string.s))
			continue;
		_cleanup_free_ char *text = inert(item->u.string.s, item->u.string.len);
		return config_file_fault(f, item->line, item->column, err,
					 "\"%s\" in \"%s\" is not in the project; patterns are relative to it",
					 text ? text : "", name);
	}
	return 0;
}

static int check_gate(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"gate\" must be a table [gate]", err);
	int rc = check_table(f, e->value, SCHEMA_GATE, "[gate]", err);
	rc = rc < 0 ? rc : check_globs(f, toml_get(e->value, "hold"), "hold", err);
	return rc < 0 ? rc : check_globs(f, toml_get(e->value, "allow"), "allow", err);
}

static int check_retention(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"retention\" must be a table [retention]", err);
	return check_table(f, e->value, SCHEMA_RETENTION, "[retention]", err);
}

static int check_capture(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"capture\" must be a table [capture]", err);
	return check_table(f, e->value, SCHEMA_CAPTURE, "[capture]", err);
}

static const char *cache_fault_text(enum policy_cache_fault fault)
{
	switch (fault) {
	case POLICY_CACHE_FINE:
		break;
	case POLICY_CACHE_OUTSIDE:
		return "a cache must be a directory below your home";
	case POLICY_CACHE_PROGRAMS:
		return "programs are started from there, so it cannot be a cache";
	}
	return "";
}

static int check_caches(const struct config_file *f, const struct toml_value *list, struct airlock_error *err)
{
	for (size_t i = 0; list && i < list->u.array.n; i++) {
		const struct toml_value *item = list->u.array.items[i];
		_cleanup_free_ char *path = NULL, *text = inert(item->u.string.s, item->u.string.len);
		if (config_expand_path(item->u.string.s, f->base, f->home, &path, NULL) < 0)
			return base_oom(err);
		enum policy_cache_fault fault = policy_cache_check(path, f->home ? f->home : "/");
		if (fault != POLICY_CACHE_FINE)
			return config_file_fault(f, item->line, item->column, err, "\"%s\" in \"paths\": %s",
						 text ? text : "", cache_fault_text(fault));
	}
	return 0;
}

static int check_cache(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"cache\" must be a table [cache]", err);
	int rc = check_table(f, e->value, SCHEMA_CACHE, "[cache]", err);
	return rc < 0 ? rc : check_caches(f, toml_get(e->value, "paths"), err);
}

static int check_permission(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"permission\" must be a table [permission]", err);
	return check_table(f, e->value, SCHEMA_PERMISSION, "[permission]", err);
}

static int check_session(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"session\" must be a table [session]", err);
	return check_table(f, e->value, SCHEMA_SESSION, "[session]", err);
}

/* Sets of hosts, each with a name: @NAME stands for all of them. */
static int check_sets(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	static const struct schema_key set = {.name = "sets", .type = SCHEMA_HOSTS, .verdict = HOST_RULE_ALLOW};
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"sets\" must be a table [network.sets]", err);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < e->value->u.table.n; i++) {
		const struct toml_entry *s = &e->value->u.table.entries[i];
		_cleanup_free_ char *name = inert(s->key, s->key_len);
		if (strlen(s->key) != s->key_len || !schema_is_profile_name(s->key))
			return config_file_fault(f, s->line, s->column, err,
						 "\"%s\" is not a valid name of a set; use letters, digits, - and _",
						 name ? name : "");
		if (s->value->type != TOML_ARRAY)
			return not_a_table(f, s, "a set must be a list of hosts", err);
		for (size_t k = 0; rc >= 0 && k < s->value->u.array.n; k++) {
			const struct toml_value *item = s->value->u.array.items[k];
			rc = item->type == TOML_STRING && strlen(item->u.string.s) == item->u.string.len
				     ? check_host(f, &set, item, false, err)
				     : config_file_fault(f, item->line, item->column, err,
							 "a set must be a list of hosts");
		}
	}
	return rc;
}

static int check_network(const struct config_file *f, const struct toml_entry *e, struct airlock_error *err)
{
	if (e->value->type != TOML_TABLE)
		return not_a_table(f, e, "\"network\" must be a table [network]", err);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < e->value->u.table.n; i++) {
		const struct toml_entry *k = &e->value->u.table.entries[i];
		bool is_sets = k->key_len == strlen("sets") && memcmp(k->key, "sets", k->key_len) == 0;
		rc = is_sets ? check_sets(f, k, err) : check_entry(f, k, SCHEMA_NETWORK, "[network]", err);
	}
	return rc;
}

int config_file_check(const struct config_file *f, struct airlock_error *err)
{
	static const char *const names[] = {"sandbox", "profiles", "commands",	 "gate",    "retention", "capture",
					    "cache",   "network",  "permission", "session", NULL};
	static int (*const checks[])(const struct config_file *, const struct toml_entry *, struct airlock_error *) = {
		check_sandbox, check_profiles, check_commands, check_gate,	 check_retention,
		check_capture, check_cache,    check_network,  check_permission, check_session};
	const struct toml_value *root = toml_root(f->doc);
	for (size_t i = 0; i < root->u.table.n; i++) {
		const struct toml_entry *e = &root->u.table.entries[i];
		size_t k = 0;
		while (names[k] && (strlen(names[k]) != e->key_len || memcmp(names[k], e->key, e->key_len) != 0))
			k++;
		int rc = names[k] ? checks[k](f, e, err) : unknown_key(f, e, NULL, text_nearest(e->key, names), err);
		if (rc < 0)
			return rc;
	}
	return 0;
}
