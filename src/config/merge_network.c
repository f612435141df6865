/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* [network]: rules about hosts, and sets of them that have a name. */
#include "config/merge.h"

#include <string.h>

static int add_rule(struct merge *m, enum host_rule_verdict verdict, const char *text, struct airlock_origin origin,
		    struct airlock_error *err)
{
	struct host_rule rule;
	enum host_rule_fault fault = host_rule_parse(text, verdict, &rule);
	if (fault != HOST_RULE_FINE)
		return base_error(err, AIRLOCK_ERR_INVALID, "network", text, "%s", host_rule_fault_text(fault));
	rule.origin = rule_origin_keep(origin, &m->c->origin_names);
	if (m->c->origin_names.failed || net_rules_add(&m->c->network_rules, &rule) < 0)
		return base_oom(err);
	return 0;
}

static const struct toml_value *sets_of(const struct config_file *f)
{
	const struct toml_value *network = config_file_table(f, "network");
	const struct toml_value *sets = network ? toml_get(network, "sets") : NULL;
	return sets && sets->type == TOML_TABLE ? sets : NULL;
}

/* A file that may only tighten cannot say what a name means that others allow. */
static const struct toml_value *find_set(const struct merge *m, const char *name, const struct config_file **ret_file)
{
	for (size_t i = m->n_files; i-- > 0;) {
		const struct config_file *f = &m->files[i];
		const struct toml_value *sets = merge_mode_of(f) == MERGE_ALL ? sets_of(f) : NULL;
		const struct toml_value *set = sets ? toml_get(sets, name) : NULL;
		*ret_file = f;
		if (set)
			return set;
	}
	return NULL;
}

int merge_add_host(struct merge *m, enum host_rule_verdict verdict, const char *text, struct airlock_origin origin,
		   struct airlock_error *err)
{
	const struct config_file *f;
	if (text[0] != '@')
		return add_rule(m, verdict, text, origin, err);
	const struct toml_value *set = find_set(m, text + 1, &f);
	if (!set) {
		_cleanup_buf_ struct buf where = BUF_INIT;
		if (origin.kind == AIRLOCK_ORIGIN_FILE) {
			rule_origin_add(&where, &origin);
			buf_adds(&where, ": ");
		}
		return base_error(err, AIRLOCK_ERR_INVALID, "network", text, "%sthere is no set %s in [network.sets]",
				  buf_str(&where), text);
	}
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < set->u.array.n; i++) {
		const struct toml_value *item = set->u.array.items[i];
		/* What an option grants is the option's; what a file grants is on the line where the host is named. */
		struct airlock_origin by =
			origin.kind == AIRLOCK_ORIGIN_FILE ? RULE_ORIGIN(FILE, f->path, item->line) : origin;
		rc = add_rule(m, verdict, item->u.string.s, by, err);
	}
	return rc;
}

static int keep_set(struct config *c, const struct toml_entry *e, struct airlock_error *err)
{
	struct config_host_set *sets = reallocarray(c->host_sets, c->n_host_sets + 1, sizeof *sets);
	if (!sets)
		return base_oom(err);
	c->host_sets = sets;
	struct config_host_set *set = &sets[c->n_host_sets++];
	*set = (struct config_host_set){.name = strdup(e->key)};
	for (size_t i = 0; i < e->value->u.array.n; i++)
		strs_add(&set->hosts, e->value->u.array.items[i]->u.string.s);
	return !set->name || set->hosts.failed ? base_oom(err) : 0;
}

static int show_sets(struct merge *m, const struct config_file *f, struct airlock_error *err)
{
	const struct toml_value *sets = merge_mode_of(f) == MERGE_ALL ? sets_of(f) : NULL;
	int rc = 0;
	for (size_t i = 0; rc >= 0 && sets && i < sets->u.table.n; i++) {
		const struct toml_entry *e = &sets->u.table.entries[i];
		_cleanup_buf_ struct buf key = BUF_INIT, value = BUF_INIT;
		buf_printf(&key, "network.sets.%s", e->key);
		schema_add_toml(&value, e->value);
		rc = key.failed || value.failed ? base_oom(err)
						: values_add(m, buf_str(&key), buf_str(&value),
							     RULE_ORIGIN(FILE, f->path, e->line), false, err);
		if (rc >= 0)
			rc = keep_set(m->c, e, err);
	}
	return rc;
}

/* An answer that counts for a whole session is only for the person's own files to say, however trusted a project is. */
static int merge_one(struct merge *m, const struct config_file *f, bool is_own, struct airlock_error *err)
{
	const struct toml_value *table = config_file_table(f, "network");
	const struct schema_key *key = schema_find(SCHEMA_NETWORK, "remember", strlen("remember"));
	struct airlock_origin before = m->origins[schema_index(key)];
	enum config_remember remember = m->c->network_remember;
	int rc = table ? merge_table(m, f, table, SCHEMA_NETWORK, merge_mode_of(f), "network", err) : 0;
	if (rc >= 0 && !is_own && m->c->network_remember == CONFIG_REMEMBER_SESSION) {
		m->c->network_remember = remember;
		m->origins[schema_index(key)] = before;
	}
	return rc < 0 ? rc : show_sets(m, f, err);
}

int merge_network(struct merge *m, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->n_files; i++)
		rc = merge_one(m, &m->files[i], i == MERGE_SYSTEM || i == MERGE_USER, err);
	return rc;
}
