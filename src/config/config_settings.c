/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_settings.h"

#include <string.h>

struct setting_row;
typedef int (*apply_fn)(struct merge *m, const struct setting_row *row, const struct config_setting *s,
			struct airlock_error *err);

static int set_value(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		     struct airlock_error *err);
static int set_profile(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_backend(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_enabled(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_explain(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_changes(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int add_path(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		    struct airlock_error *err);
static int set_network(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_network_mode(struct merge *m, const struct setting_row *row, const struct config_setting *s,
			    struct airlock_error *err);
static int add_host(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		    struct airlock_error *err);
static int add_publish(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err);
static int set_clear_env(struct merge *m, const struct setting_row *row, const struct config_setting *s,
			 struct airlock_error *err);
static int add_env(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		   struct airlock_error *err);

/* Maps an option to the schema. */
static const struct setting_row {
	const char *option;
	apply_fn apply;
	unsigned scope;
	const char *key;	/* NULL: no key of a file corresponds to it */
	enum schema_type reads; /* how the text is read */
	const char *form;	/* what it accepts; NULL: the same as the key */
} rows[] = {
	{"profile", set_profile, SCHEMA_SANDBOX, "default_profile", SCHEMA_PROFILE_NAME, NULL},
	{"backend", set_backend, SCHEMA_SANDBOX, "backend", SCHEMA_CHOICE, NULL},
	{"sandbox", set_enabled, SCHEMA_SANDBOX, "enabled", SCHEMA_BOOL, NULL},
	{"no-sandbox", set_enabled, SCHEMA_SANDBOX, "enabled", SCHEMA_BOOL, NULL},
	{"shell", set_value, SCHEMA_SANDBOX, "shell", SCHEMA_SHELL, NULL},
	{"explain-denials", set_explain, SCHEMA_SANDBOX, "explain_denials", SCHEMA_BOOL, NULL},
	{"max-output", set_value, SCHEMA_SANDBOX, "max_output", SCHEMA_SIZE, "a size such as 100K or 1M, up to 1G"},
	{"network", set_network, SCHEMA_PROFILE, NULL, SCHEMA_BOOL, NULL},
	{"network-mode", set_network_mode, SCHEMA_PROFILE, NULL, SCHEMA_WORD, NULL},
	{"allow-host", add_host, SCHEMA_PROFILE, NULL, SCHEMA_HOSTS, NULL},
	{"publish", add_publish, SCHEMA_PROFILE, NULL, SCHEMA_ARGV, NULL},
	{"allow-write", add_path, SCHEMA_PROFILE, "writable_paths", SCHEMA_PATHS, NULL},
	{"ro", add_path, SCHEMA_PROFILE, "readonly_paths", SCHEMA_PATHS, NULL},
	{"hide", add_path, SCHEMA_PROFILE, "blocked_paths", SCHEMA_PATHS, NULL},
	{"changes", set_changes, SCHEMA_PROFILE, "changes", SCHEMA_WORD, NULL},
	{"timeout", set_value, SCHEMA_PROFILE, "timeout", SCHEMA_DURATION, "a duration such as 90s, 5m or 1h, or none"},
	{"memory", set_value, SCHEMA_PROFILE, "memory_limit_mb", SCHEMA_SIZE,
	 "a size such as 512M or 2G, at least 1M, or none"},
	{"pids", set_value, SCHEMA_PROFILE, "pids", SCHEMA_COUNT, "a number, at least 1, or none"},
	{"fsize", set_value, SCHEMA_PROFILE, "file_size", SCHEMA_SIZE, "a size such as 512M or 2G, or none"},
	{"permission-wait", set_value, SCHEMA_PERMISSION, "wait", SCHEMA_WAIT,
	 "a duration such as 90s or 5m, 0 for not at all, or none"},
	{"clear-env", set_clear_env, SCHEMA_PROFILE, NULL, SCHEMA_BOOL, NULL},
	{"env", add_env, SCHEMA_PROFILE, NULL, SCHEMA_ARGV, NULL},
};

static struct airlock_origin by(const struct config_setting *s)
{
	return RULE_ORIGIN(CALLER, s->origin);
}

static int bad_value(const struct config_setting *s, const char *form, struct airlock_error *err)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	text_add_escaped(&value, s->value, AL_MIN(strlen(s->value), (size_t)200));
	return base_error(err, AIRLOCK_ERR_USAGE, "settings", s->origin, "%s must be %s, not \"%s\"", s->origin, form,
			  buf_str(&value));
}

static const struct schema_key *key_of(const struct setting_row *row)
{
	return schema_find(row->scope, row->key, strlen(row->key));
}

static int read_bool(const struct config_setting *s, bool *ret, struct airlock_error *err)
{
	return text_parse_bool(s->value, ret) < 0 ? bad_value(s, "true or false", err) : 0;
}

static int set_value(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		     struct airlock_error *err)
{
	const struct schema_key *key = key_of(row);
	_cleanup_buf_ struct buf form = BUF_INIT;
	struct schema_value v;
	if (row->form)
		buf_adds(&form, row->form);
	else
		schema_add_form(key, &form);
	if (schema_parse(key, row->reads, s->value, &v) < 0)
		return bad_value(s, buf_str(&form), err);
	int rc = merge_set(m, key, &v, by(s), err);
	/* A person set it for this run: it must be enforced, or nothing runs. */
	if (rc >= 0 && schema_is_limit(key))
		((struct policy_limit *)(void *)((char *)m->c + key->offset))->asked = true;
	return rc;
}

static int set_profile(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (!schema_is_profile_name(s->value))
		return bad_value(s, key_of(row)->form, err);
	if (!merge_has_profile(m, s->value)) {
		buf_printf(&text, "unknown profile \"%s\"", s->value);
		merge_add_known_profiles(m, s->value, &text);
		return base_error(err, AIRLOCK_ERR_USAGE, "settings", s->origin, "%s: %s", s->origin, buf_str(&text));
	}
	/* A person's choice replaces a project's choice, and what that kept of an earlier profile. */
	merge_drop_kept(m);
	return set_value(m, row, s, err);
}

static int set_sandboxed(struct merge *m, bool enabled, struct airlock_origin origin, struct airlock_error *err)
{
	const struct schema_key *key = schema_find(SCHEMA_SANDBOX, "enabled", strlen("enabled"));
	return merge_set(m, key, &(struct schema_value){.number = enabled}, origin, err);
}

/* Naming a backend asks for a sandbox, whatever a file says. */
static int set_backend(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	int rc = set_value(m, row, s, err);
	if (rc < 0 || strcmp(s->value, "passthrough") == 0)
		return rc;
	return m->c->enabled ? 0 : set_sandboxed(m, true, by(s), err);
}

static int set_enabled(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	bool on;
	int rc = read_bool(s, &on, err);
	return rc < 0 ? rc : set_sandboxed(m, strcmp(row->option, "sandbox") == 0 ? on : !on, by(s), err);
}

static int set_explain(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	bool on;
	int rc = read_bool(s, &on, err);
	return rc < 0 ? rc : merge_set(m, key_of(row), &(struct schema_value){.number = on}, by(s), err);
}

static int set_changes(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	int rc = set_value(m, row, s, err);
	if (rc >= 0)
		m->c->policy.changes_asked = true;
	return rc;
}

static int add_path(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		    struct airlock_error *err)
{
	const struct schema_key *key = key_of(row);
	_cleanup_buf_ struct buf shown = BUF_INIT;
	struct airlock_error why = {0};
	int rc = merge_add_item(m, key, s->value, m->in->cwd, by(s), &shown, &why);
	if (rc == AIRLOCK_ERR_INVALID)
		return bad_value(s, "a path", err);
	return rc < 0 ? base_oom(err) : values_add_list(m, key, buf_str(&shown), by(s), err);
}

static int set_network(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	m->c->network_asked_origin = rule_origin_keep(by(s), &m->c->origin_names);
	return read_bool(s, &m->c->policy.network_wanted, err);
}

static int set_network_mode(struct merge *m, const struct setting_row *row, const struct config_setting *s,
			    struct airlock_error *err)
{
	for (enum net_mode mode = NET_OFF; mode <= NET_HOST; mode++)
		if (strcmp(s->value, net_mode_name(mode)) == 0) {
			m->c->network_mode_asked = true;
			m->c->network_asked = mode;
			m->c->network_asked_origin = rule_origin_keep(by(s), &m->c->origin_names);
			return 0;
		}
	return bad_value(s, "off, hosts, open or host", err);
}

static int add_host(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		    struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = merge_add_host(m, HOST_RULE_ALLOW, s->value, by(s), &why);
	if (rc != AIRLOCK_ERR_INVALID)
		return rc < 0 ? base_pass(err, &why) : 0;
	_cleanup_buf_ struct buf value = BUF_INIT;
	text_add_escaped(&value, s->value, AL_MIN(strlen(s->value), (size_t)200));
	return base_error(err, AIRLOCK_ERR_USAGE, "settings", s->origin, "%s: \"%s\": %s", s->origin, buf_str(&value),
			  why.message);
}

static int parse_port(const char *text, size_t len, unsigned *ret)
{
	int64_t n;
	char digits[8];
	if (len == 0 || len >= sizeof digits || strspn(text, "0123456789") < len)
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (text_parse_count(digits, &n) < 0 || n < 1 || n > 65535)
		return -EINVAL;
	*ret = (unsigned)n;
	return 0;
}

/* [HOSTPORT:]PORT */
static int add_publish(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		       struct airlock_error *err)
{
	struct config_publish p = {0};
	const char *colon = strchr(s->value, ':'), *port = colon ? colon + 1 : s->value;
	int rc = parse_port(port, strlen(port), &p.port);
	p.host_port = p.port;
	if (rc == 0 && colon)
		rc = parse_port(s->value, (size_t)(colon - s->value), &p.host_port);
	if (rc < 0)
		return bad_value(s, "[HOSTPORT:]PORT, with ports from 1 to 65535", err);
	if (m->c->n_publish == CONFIG_MAX_PUBLISH)
		return base_error(err, AIRLOCK_ERR_USAGE, "settings", s->origin,
				  "%s: at most %d ports can be published", s->origin, CONFIG_MAX_PUBLISH);
	m->c->publish[m->c->n_publish++] = p;
	return 0;
}

static bool is_last_of_its_key(const struct merge *m, const struct config_setting *s)
{
	for (const struct config_setting *t = s + 1; t < m->in->settings + m->in->n_settings; t++)
		if (strcmp(t->key, s->key) == 0)
			return false;
	return true;
}

static int forget_patterns(struct merge *m, const char *name, struct airlock_origin origin, struct airlock_error *err)
{
	const struct schema_key *key = schema_find(SCHEMA_ENV, name, strlen(name));
	values_drop(m, key);
	strs_done((struct strs *)(void *)((char *)m->c + key->offset));
	return values_add_list(m, key, "", origin, err);
}

/* Empties the environment except what --env names. This cannot be undone, so only the last value counts. */
static int set_clear_env(struct merge *m, const struct setting_row *row, const struct config_setting *s,
			 struct airlock_error *err)
{
	const struct schema_key *inherit = schema_find(SCHEMA_ENV, "inherit", strlen("inherit"));
	bool clear;
	int rc = read_bool(s, &clear, err);
	if (rc < 0 || !clear || !is_last_of_its_key(m, s))
		return rc;
	m->c->policy.n_env_deny_after = 0;
	m->c->policy.env_values_after = 0;
	rc = forget_patterns(m, "allow", by(s), err);
	if (rc >= 0)
		rc = forget_patterns(m, "deny", by(s), err);
	return rc < 0 ? rc : merge_set(m, inherit, &(struct schema_value){0}, by(s), err);
}

/* A later value of a name replaces an earlier one. */
static int add_env(struct merge *m, const struct setting_row *row, const struct config_setting *s,
		   struct airlock_error *err)
{
	struct strs *set = &m->c->policy.env_set;
	size_t len = strcspn(s->value, "=");
	if (len == 0)
		return bad_value(s, "NAME or NAME=VALUE", err);
	for (size_t i = 0; i < set->n; i++)
		if (strncmp(set->v[i], s->value, len) == 0 && (set->v[i][len] == '=' || set->v[i][len] == '\0')) {
			strs_remove_at(set, i);
			break;
		}
	strs_add(set, s->value);
	return set->failed ? base_oom(err) : 0;
}

static int apply(struct merge *m, unsigned scopes, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->in->n_settings; i++) {
		const struct config_setting *s = &m->in->settings[i];
		for (size_t k = 0; rc >= 0 && k < AL_ARRAY_LEN(rows); k++)
			if ((rows[k].scope & scopes) && strcmp(rows[k].option, s->key) == 0)
				rc = rows[k].apply(m, &rows[k], s, err);
	}
	return rc;
}

int settings_apply_sandbox(struct merge *m, struct airlock_error *err)
{
	return apply(m, SCHEMA_SANDBOX | SCHEMA_PERMISSION, err);
}

int settings_apply_policy(struct merge *m, struct airlock_error *err)
{
	return apply(m, SCHEMA_PROFILE, err);
}
