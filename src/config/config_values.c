/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of `config show`: every value, and every ignored value, with what set it. */
#include "config/merge.h"

#include "base/array.h"

#include <string.h>

#define WARN_KEYS 8 /* how many names a sentence lists */

static void row_done(struct config_value *row)
{
	base_freep(&row->key);
	base_freep(&row->value);
}

int values_add(struct merge *m, const char *key, const char *value, struct airlock_origin origin, bool ignored,
	       struct airlock_error *err)
{
	int rc = ARRAY_ROOM(m->c->values, m->c->n_values, m->cap_values, 64) ? 0 : base_oom(err);
	if (rc < 0)
		return rc;
	struct config_value row = {.key = strdup(key),
				   .value = strdup(value),
				   .origin = rule_origin_keep(origin, &m->c->origin_names),
				   .ignored = ignored};
	if (!row.key || !row.value || m->c->origin_names.failed) {
		row_done(&row);
		return base_oom(err);
	}
	m->c->values[m->c->n_values++] = row;
	return 0;
}

/* "sandbox.backend", "profiles.moderate.env.deny". */
static char *name_of(const struct merge *m, const struct schema_key *key)
{
	struct buf b = BUF_INIT;
	if (key->scopes & SCHEMA_SANDBOX)
		buf_adds(&b, "sandbox.");
	else if (key->scopes & SCHEMA_GATE)
		buf_adds(&b, "gate.");
	else if (key->scopes & SCHEMA_RETENTION)
		buf_adds(&b, "retention.");
	else if (key->scopes & SCHEMA_CAPTURE)
		buf_adds(&b, "capture.");
	else if (key->scopes & SCHEMA_CACHE)
		buf_adds(&b, "cache.");
	else if (key->scopes & SCHEMA_PERMISSION)
		buf_adds(&b, "permission.");
	else if (key->scopes & SCHEMA_SESSION)
		buf_adds(&b, "session.");
	else if (key->scopes & SCHEMA_NETWORK)
		buf_adds(&b, "network.");
	else
		buf_printf(&b, "profiles.%s.%s", m->c->policy.profile, key->scopes & SCHEMA_ENV ? "env." : "");
	buf_adds(&b, key->name);
	return buf_take(&b);
}

static struct config_value *find(const struct merge *m, const char *key, const struct airlock_origin *origin)
{
	for (size_t i = 0; i < m->c->n_values; i++) {
		struct config_value *row = &m->c->values[i];
		if (!row->ignored && strcmp(row->key, key) == 0 &&
		    (!origin || rule_origin_is_same(&row->origin, origin)))
			return row;
	}
	return NULL;
}

int values_add_list(struct merge *m, const struct schema_key *key, const char *items, struct airlock_origin origin,
		    struct airlock_error *err)
{
	_cleanup_free_ char *name = name_of(m, key);
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (!name)
		return base_oom(err);
	struct config_value *row = find(m, name, &origin);
	if (!row) {
		buf_printf(&text, "[%s]", items);
		return text.failed ? base_oom(err) : values_add(m, name, buf_str(&text), origin, false, err);
	}
	buf_add(&text, row->value, strlen(row->value) - 1);
	buf_printf(&text, "%s%s]", text.len > 1 ? ", " : "", items);
	char *joined = buf_take(&text);
	if (!joined)
		return base_oom(err);
	free(row->value);
	row->value = joined;
	return 0;
}

void values_drop(struct merge *m, const struct schema_key *key)
{
	_cleanup_free_ char *name = name_of(m, key);
	struct config_value *rows = m->c->values;
	size_t kept = 0;
	for (size_t i = 0; i < m->c->n_values; i++) {
		if (name && !rows[i].ignored && strcmp(rows[i].key, name) == 0)
			row_done(&rows[i]);
		else
			rows[kept++] = rows[i];
	}
	m->c->n_values = kept;
}

static int add_single(struct merge *m, const struct schema_key *key, const char *name, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	schema_add_value(key, m->c, &text);
	return text.failed ? base_oom(err)
			   : values_add(m, name, buf_str(&text), m->origins[schema_index(key)], false, err);
}

/* Single values are shown as they ended up; lists got a row from each source, but a list may have no source. */
static int add_row(struct merge *m, const struct schema_key *key, struct airlock_error *err)
{
	if (key->type == SCHEMA_ARGV || key->type == SCHEMA_TABLE || m->without_row[schema_index(key)])
		return 0;
	_cleanup_free_ char *name = name_of(m, key);
	if (!name)
		return base_oom(err);
	if (schema_is_list(key))
		return find(m, name, NULL) ? 0 : values_add_list(m, key, "", RULE_ORIGIN(BUILTIN), err);
	return key->offset == SCHEMA_NOWHERE ? 0 : add_single(m, key, name, err);
}

/* Sorts by key; equal keys stay in the order they were set, which is their order in memory. */
static int compare(const void *a, const void *b)
{
	const struct config_value *x = *(const struct config_value *const *)a,
				  *y = *(const struct config_value *const *)b;
	if (x->ignored != y->ignored)
		return x->ignored ? 1 : -1;
	int order = strcmp(x->key, y->key);
	return order ? order : (x > y) - (x < y);
}

static int sort(struct config *c, struct airlock_error *err)
{
	_cleanup_free_ const struct config_value **order = calloc(c->n_values + 1, sizeof *order);
	struct config_value *sorted = calloc(c->n_values + 1, sizeof *sorted);
	if (!order || !sorted) {
		free(sorted);
		return base_oom(err);
	}
	for (size_t i = 0; i < c->n_values; i++)
		order[i] = &c->values[i];
	qsort(order, c->n_values, sizeof *order, compare);
	for (size_t i = 0; i < c->n_values; i++)
		sorted[i] = *order[i];
	free(c->values);
	c->values = sorted;
	return 0;
}

int values_finish(struct merge *m, struct airlock_error *err)
{
	size_t n;
	const struct schema_key *keys = schema_keys(&n);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++)
		rc = add_row(m, &keys[i], err);
	return rc < 0 ? rc : sort(m->c, err);
}

int values_warn(struct merge *m, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	size_t left_out = 0;
	for (size_t i = 0; i < m->c->n_values; i++) {
		if (!m->c->values[i].ignored)
			continue;
		if (left_out++ < WARN_KEYS)
			buf_printf(&text, "%s%s", text.len ? ", " : "", m->c->values[i].key);
	}
	if (left_out > WARN_KEYS)
		buf_printf(&text, " and %zu more", left_out - WARN_KEYS);
	if (left_out > 0 && merge_project_file(m)->accepted)
		NOTE(&m->c->warnings, UNTRUSTED_ABOVE, .subject = m->untrusted_above->path, .other = buf_str(&text),
		     .cause = merge_project_file(m)->path);
	else if (left_out > 0)
		NOTE(&m->c->warnings, UNTRUSTED, .subject = merge_project_file(m)->path, .other = buf_str(&text));
	return text.failed || m->c->warnings.failed ? base_oom(err) : 0;
}
