/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/merge.h"

#include "config/rules.h"

#include <assert.h>
#include <string.h>

enum merge_mode merge_mode_of(const struct config_file *f)
{
	if (f->is_above)
		return MERGE_TIGHTEN_QUIETLY;
	return f->untrusted ? MERGE_TIGHTEN : MERGE_ALL;
}

struct config_file *merge_project_file(struct merge *m)
{
	return &m->files[m->n_files - 1];
}

int merge_set(struct merge *m, const struct schema_key *key, const struct schema_value *v, struct airlock_origin origin,
	      struct airlock_error *err)
{
	origin = rule_origin_keep(origin, &m->c->origin_names);
	if (m->c->origin_names.failed || schema_store(key, m->c, v) < 0)
		return base_oom(err);
	m->origins[schema_index(key)] = origin;
	return 0;
}

int merge_leave_out(struct merge *m, const struct config_file *f, const struct toml_entry *e, const char *prefix,
		    struct airlock_error *err)
{
	_cleanup_buf_ struct buf key = BUF_INIT, value = BUF_INIT;
	buf_printf(&key, "%s.%s", prefix, e->key);
	schema_add_toml(&value, e->value);
	if (key.failed || value.failed)
		return base_oom(err);
	return values_add(m, buf_str(&key), buf_str(&value), RULE_ORIGIN(FILE, f->path, e->line), true, err);
}

/* ── Lists ── */

static int add_text(struct merge *m, const struct schema_key *key, const char *text, struct airlock_error *err)
{
	struct strs *list = (struct strs *)(void *)((char *)m->c + key->offset);
	strs_add(list, text);
	return list->failed ? base_oom(err) : 0;
}

static int add_pattern(struct merge *m, const struct schema_key *key, const char *text, struct airlock_error *err)
{
	if (key->type == SCHEMA_GLOBS)
		return add_text(m, key, text, err);
	bool allows = key->offset == offsetof(struct config, policy.env_allow);
	return allows ? policy_allow_env(&m->c->policy, text, err) : policy_deny_env(&m->c->policy, text, err);
}

int merge_add_item(struct merge *m, const struct schema_key *key, const char *text, const char *base,
		   struct airlock_origin origin, struct buf *shown, struct airlock_error *err)
{
	_cleanup_free_ char *path = NULL;
	int rc;
	if (key->type == SCHEMA_HOSTS) {
		rc = merge_add_host(m, key->verdict, text, origin, err);
	} else if (key->type == SCHEMA_PATHS) {
		rc = config_expand_path(text, base, m->in->home, &path, err);
		if (rc >= 0 && key->offset != SCHEMA_NOWHERE) /* of [cache]: not a rule of the policy */
			rc = add_text(m, key, path, err);
		else if (rc >= 0)
			rc = policy_add_path(&m->c->policy, key->access, path, origin, err);
	} else
		rc = add_pattern(m, key, text, err);
	if (rc < 0)
		return rc;
	buf_adds(shown, shown->len ? ", " : "");
	schema_add_string(shown, path ? path : text);
	return shown->failed ? base_oom(err) : 0;
}

static int merge_list(struct merge *m, const struct config_file *f, const struct schema_key *key,
		      const struct toml_entry *e, struct airlock_error *err)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;
	for (size_t i = 0; i < e->value->u.array.n; i++) {
		const struct toml_value *item = e->value->u.array.items[i];
		_cleanup_free_ char *rebased = NULL;
		int rc = 1;
		if (f->is_above && key->type == SCHEMA_GLOBS)
			rc = merge_rebase_glob(m, f, item->u.string.s, &rebased, err);
		if (rc > 0)
			rc = merge_add_item(m, key, rebased ? rebased : item->u.string.s, f->base,
					    RULE_ORIGIN(FILE, f->path, item->line), &shown, err);
		if (rc < 0)
			return rc;
	}
	return values_add_list(m, key, buf_str(&shown), RULE_ORIGIN(FILE, f->path, e->line), err);
}

/* ── Tables ── */

static bool loosens(const struct merge *m, const struct schema_key *key, const struct schema_value *v)
{
	return schema_is_list(key) ? key->tight != SCHEMA_ADDS : schema_loosens(key, m->c, v);
}

static int merge_entry(struct merge *m, const struct config_file *f, const struct schema_key *key,
		       const struct toml_entry *e, enum merge_mode mode, const char *prefix, struct airlock_error *err)
{
	struct schema_value v = {0};
	assert(!f->untrusted || mode != MERGE_ALL); /* I10 */
	if (!schema_is_list(key) && schema_read(key, e->value, &v) < 0)
		return base_error(err, AIRLOCK_ERR_INTERNAL, "merge", key->name, "%s was not checked", key->name);
	if (mode != MERGE_ALL && loosens(m, key, &v))
		return mode == MERGE_TIGHTEN ? merge_leave_out(m, f, e, prefix, err) : 0;
	if (schema_is_list(key))
		return merge_list(m, f, key, e, err);
	return merge_set(m, key, &v, RULE_ORIGIN(FILE, f->path, e->line), err);
}

/* These keys decide which tables count, so they are read before any table is merged. */
static bool is_decided_elsewhere(const struct schema_key *key)
{
	return key->type == SCHEMA_PROFILE_NAME || key->type == SCHEMA_ARGV;
}

static int merge_env(struct merge *m, const struct config_file *f, const struct toml_value *env, enum merge_mode mode,
		     const char *prefix, struct airlock_error *err)
{
	_cleanup_buf_ struct buf env_prefix = BUF_INIT;
	buf_printf(&env_prefix, "%s.env", prefix);
	return env_prefix.failed ? base_oom(err) : merge_table(m, f, env, SCHEMA_ENV, mode, buf_str(&env_prefix), err);
}

/* In the order of the schema, not of the file: a TOML table has no order, and env's allow must follow its deny. */
int merge_table(struct merge *m, const struct config_file *f, const struct toml_value *table, unsigned scope,
		enum merge_mode mode, const char *prefix, struct airlock_error *err)
{
	size_t n;
	const struct schema_key *keys = schema_keys(&n);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		const struct toml_entry *e = (keys[i].scopes & scope) ? config_entry(table, keys[i].name) : NULL;
		if (!e || is_decided_elsewhere(&keys[i]))
			continue;
		rc = keys[i].type == SCHEMA_TABLE ? merge_env(m, f, e->value, mode, prefix, err)
						  : merge_entry(m, f, &keys[i], e, mode, prefix, err);
	}
	return rc;
}

/* ── [gate], [retention], [capture], [cache] ── */

/* Merges a table that exists once per file, for every file. */
static int merge_plain(struct merge *m, unsigned scope, const char *name, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->n_files; i++) {
		const struct config_file *f = &m->files[i];
		const struct toml_value *table = config_file_table(f, name);
		rc = table ? merge_table(m, f, table, scope, merge_mode_of(f), name, err) : 0;
	}
	return rc;
}

int merge_gate(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_GATE, "gate", err);
}

int merge_retention(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_RETENTION, "retention", err);
}

int merge_capture(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_CAPTURE, "capture", err);
}

int merge_cache(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_CACHE, "cache", err);
}

int merge_permission(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_PERMISSION, "permission", err);
}

int merge_session(struct merge *m, struct airlock_error *err)
{
	return merge_plain(m, SCHEMA_SESSION, "session", err);
}

/* ── [[commands]] ── */

static int merge_command(struct merge *m, const struct config_file *f, const struct toml_value *rule,
			 struct airlock_error *err)
{
	struct airlock_origin *said =
		&m->origins[schema_index(schema_find(SCHEMA_COMMAND, "changes", strlen("changes")))];
	struct airlock_origin before = *said;
	*said = RULE_ORIGIN(BUILTIN);
	int rc = merge_table(m, f, rule, SCHEMA_COMMAND, merge_mode_of(f), "commands", err);
	/* A rule for exactly this command counts as a choice; it may also have been ignored. */
	if (said->kind != AIRLOCK_ORIGIN_BUILTIN)
		m->c->policy.changes_asked = true;
	else
		*said = before;
	return rc;
}

int merge_commands(struct merge *m, struct airlock_error *err)
{
	_cleanup_strs_ struct strs words = STRS_INIT;
	int rc = rules_command_words(m->in, &words, err);
	for (size_t i = 0; rc >= 0 && i < m->n_files; i++) {
		const struct toml_value *rules = config_file_table(&m->files[i], "commands");
		for (size_t k = 0; rc >= 0 && rules && k < rules->u.array.n; k++)
			if (rules_match(toml_get(rules->u.array.items[k], "match"), &words))
				rc = merge_command(m, &m->files[i], rules->u.array.items[k], err);
	}
	return rc;
}
