/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which profile is active, what it extends, and what results.
 *
 * A profile extends another down to a built-in one; the tables of all files for each of them are merged from the
 * bottom up. Untrusted files and files above the project may only tighten (I10), so their choice of a profile counts
 * only if it is stricter, and a profile that a stricter choice replaced keeps tightening. */
#include "config/merge.h"

#include <assert.h>
#include <string.h>

#define DEFAULT_PARENT "moderate"
#define CHAIN_MAX 32 /* deeper than anybody needs, and small enough to check every profile on every start */

/* ── Names ── */

/* True if the profiles of f may be used: an untrusted file defines none. */
static bool defines(const struct merge *m, const struct config_file *f)
{
	return !f->untrusted || f == m->asking;
}

bool merge_has_profile(const struct merge *m, const char *name)
{
	if (policy_is_builtin(name))
		return true;
	for (size_t i = 0; i < m->n_files; i++)
		if (defines(m, &m->files[i]) && config_file_profile(&m->files[i], name))
			return true;
	return false;
}

static void collect_names(const struct merge *m, struct strs *ret)
{
	for (const char *const *name = policy_builtin_names(); *name; name++)
		strs_add(ret, *name);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct toml_value *profiles =
			defines(m, &m->files[i]) ? config_file_table(&m->files[i], "profiles") : NULL;
		for (size_t k = 0; profiles && k < profiles->u.table.n; k++)
			if (!strs_has(ret, profiles->u.table.entries[k].key))
				strs_add(ret, profiles->u.table.entries[k].key);
	}
}

void merge_add_known_profiles(const struct merge *m, const char *name, struct buf *out)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	const struct config_file *project = &m->files[m->n_files - 1];
	collect_names(m, &names);
	if (names.failed)
		return;
	const char *nearest = text_nearest(name, (const char *const *)names.v);
	const struct config_file *distrusted = project->accepted ? m->untrusted_above : project;
	if (project->untrusted && config_file_profile(project, name))
		buf_printf(out, "; %s has one but %s not trusted (see `airlock trust`)", project->path,
			   distrusted == project ? "is" : "a file above it is");
	else if (nearest)
		buf_printf(out, "; did you mean \"%s\"?", nearest);
	else
		for (size_t i = 0; i < names.n; i++)
			buf_printf(out, "%s%s", i ? ", " : "; there are ", names.v[i]);
}

static int unknown_profile(const struct merge *m, const struct config_file *f, const struct toml_value *v,
			   struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_printf(&text, "unknown profile \"%s\"", v->u.string.s);
	merge_add_known_profiles(m, v->u.string.s, &text);
	return config_file_fault(f, v->line, v->column, err, "%s", buf_str(&text));
}

/* ── extends ── */

struct parent_profile {
	const char *name;
	const struct config_file *file; /* and value: where it was set; NULL: it is the default */
	const struct toml_value *value;
};

static struct parent_profile parent_of(const struct merge *m, const char *name)
{
	struct parent_profile p = {.name = DEFAULT_PARENT};
	for (size_t i = 0; i < m->n_files; i++) {
		const struct config_file *f = &m->files[i];
		const struct toml_value *profile = defines(m, f) ? config_file_profile(f, name) : NULL;
		const struct toml_value *v = profile ? toml_get(profile, "extends") : NULL;
		if (v)
			p = (struct parent_profile){.name = v->u.string.s, .file = f, .value = v};
	}
	return p;
}

static int cycle(const struct parent_profile *p, const char *name, struct airlock_error *err)
{
	if (strcmp(p->name, name) == 0)
		return config_file_fault(p->file, p->value->line, p->value->column, err,
					 "profile \"%s\" extends itself", name);
	return config_file_fault(p->file, p->value->line, p->value->column, err,
				 "profile \"%s\" extends \"%s\", which extends it in turn", name, p->name);
}

/* The profile, the one it extends, and so on to a built-in one. */
static int chain_of(const struct merge *m, const char *name, struct strs *ret, struct airlock_error *err)
{
	strs_add(ret, name);
	while (!policy_is_builtin(name)) {
		struct parent_profile p = parent_of(m, name);
		if (p.value && strs_has(ret, p.name))
			return cycle(&p, name, err);
		if (p.value && !merge_has_profile(m, p.name))
			return unknown_profile(m, p.file, p.value, err);
		if (p.value && ret->n == CHAIN_MAX) /* the default is built in: it ends the chain */
			return config_file_fault(p.file, p.value->line, p.value->column, err,
						 "more than %d profiles extend each other", CHAIN_MAX);
		strs_add(ret, p.name);
		name = p.name;
	}
	return ret->failed ? base_oom(err) : 0;
}

static int check_default_profiles(const struct merge *m, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->n_files; i++) {
		const struct config_file *f = &m->files[i];
		const struct toml_entry *e = config_entry(config_file_table(f, "sandbox"), "default_profile");
		if (m->only && m->only != f)
			continue;
		if (e && !f->untrusted && !merge_has_profile(m, e->value->u.string.s))
			rc = unknown_profile(m, f, e->value, err);
	}
	return rc;
}

/* Checks all of them, not only the active one: the user should learn of a mistake before the profile is used. */
int merge_check_profiles(const struct merge *m, struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	collect_names(m, &names);
	int rc = names.failed ? base_oom(err) : check_default_profiles(m, err);
	for (size_t i = 0; rc >= 0 && i < names.n; i++) {
		_cleanup_strs_ struct strs chain = STRS_INIT;
		if (m->only && !config_file_profile(m->only, names.v[i]))
			continue;
		rc = chain_of(m, names.v[i], &chain, err);
	}
	return rc;
}

/* ── [sandbox] ── */

static int tightness_of(const char *builtin_name)
{
	static const char *const loosest_first[] = {"permissive", "moderate", "strict"};
	for (size_t i = 0; i < AL_ARRAY_LEN(loosest_first); i++)
		if (strcmp(loosest_first[i], builtin_name) == 0)
			return (int)i;
	return -1;
}

/* I10: only from one built-in profile to a tighter one that nobody has adjusted. An adjusted profile may be looser
 * than its name says, and custom profiles have no order. */
static bool tightens_to(const struct merge *m, const char *name)
{
	int now = tightness_of(m->c->policy.profile), then = tightness_of(name);
	if (now < 0 || then <= now)
		return false;
	for (size_t i = 0; i < m->n_files; i++)
		if (!m->files[i].untrusted && config_file_profile(&m->files[i], name))
			return false;
	return true;
}

void merge_drop_kept(struct merge *m)
{
	while (m->n_kept > 0)
		base_freep(&m->kept[--m->n_kept].profile);
}

static int keep_profile(struct merge *m, const char *name, struct merge_kept kept, struct airlock_error *err)
{
	kept.profile = strdup(name);
	if (!kept.profile)
		return base_oom(err);
	assert(m->n_kept < AL_ARRAY_LEN(m->kept)); /* at most two for each file */
	m->kept[m->n_kept++] = kept;
	return 0;
}

static int choose_profile(struct merge *m, const struct config_file *f, const struct toml_entry *e, const char *name,
			  struct airlock_error *err)
{
	const struct schema_key *key = schema_find(SCHEMA_SANDBOX, "default_profile", strlen("default_profile"));
	const struct schema_value v = {.text = name};
	return merge_set(m, key, &v, RULE_ORIGIN(FILE, f->path, e->line), err);
}

/* The choice of an untrusted file: counts only if it is stricter, and what tightened the replaced profile stays. */
static int tighten_profile(struct merge *m, const struct config_file *f, const struct toml_entry *e,
			   struct airlock_error *err)
{
	const char *name = e->value->u.string.s;
	if (strcmp(name, m->c->policy.profile) == 0)
		return 0;
	if (!tightens_to(m, name))
		return f->is_above ? 0 : merge_leave_out(m, f, e, "sandbox", err);
	size_t index = (size_t)(f - m->files);
	int rc = keep_profile(m, m->c->policy.profile, (struct merge_kept){.n_files = index, .is_first = true}, err);
	return rc < 0 ? rc : choose_profile(m, f, e, name, err);
}

/* The choice of a trusted file above. In its own project it counts in full, but it must not loosen a project below. So
 * the chosen profile tightens value by value, and the built-in profile behind it replaces a looser one. */
static int tighten_profile_accepted(struct merge *m, const struct config_file *f, const struct toml_entry *e,
				    struct airlock_error *err)
{
	_cleanup_strs_ struct strs now = STRS_INIT, then = STRS_INIT;
	const char *name = e->value->u.string.s;
	size_t index = (size_t)(f - m->files);
	if (strcmp(name, m->c->policy.profile) == 0)
		return 0;
	int rc = chain_of(m, m->c->policy.profile, &now, err);
	m->asking = f;
	if (rc >= 0 && !merge_has_profile(m, name))
		rc = unknown_profile(m, f, e->value, err);
	if (rc >= 0)
		rc = chain_of(m, name, &then, err);
	m->asking = NULL;
	if (rc >= 0)
		rc = keep_profile(m, name, (struct merge_kept){.above = f, .n_files = index + 1}, err);
	if (rc < 0 || tightness_of(then.v[then.n - 1]) <= tightness_of(now.v[now.n - 1]))
		return rc;
	rc = keep_profile(m, m->c->policy.profile, (struct merge_kept){.n_files = index}, err);
	for (size_t i = 0; i < m->n_kept; i++)
		m->kept[i].is_first = false; /* The user may have adjusted the profile that is active now. */
	return rc < 0 ? rc : choose_profile(m, f, e, then.v[then.n - 1], err);
}

static int merge_default_profile(struct merge *m, const struct config_file *f, const struct toml_entry *e,
				 struct airlock_error *err)
{
	if (f->is_above && f->accepted)
		return tighten_profile_accepted(m, f, e, err);
	if (f->untrusted)
		return tighten_profile(m, f, e, err);
	merge_drop_kept(m);
	return choose_profile(m, f, e, e->value->u.string.s, err);
}

int merge_sandbox(struct merge *m, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->n_files; i++) {
		const struct config_file *f = &m->files[i];
		const struct toml_value *sandbox = config_file_table(f, "sandbox");
		const struct toml_entry *profile = config_entry(sandbox, "default_profile");
		if (sandbox)
			rc = merge_table(m, f, sandbox, SCHEMA_SANDBOX, merge_mode_of(f), "sandbox", err);
		if (rc >= 0 && profile)
			rc = merge_default_profile(m, f, profile, err);
	}
	return rc;
}

/* ── [profiles.NAME] ── */

/* A built-in list: rules of one kind of access, or patterns. */
struct builtin_list {
	const struct merge *m;
	const struct schema_key *key;
	size_t at;
};

static const char *next_item(struct builtin_list *l)
{
	const struct policy *p = &l->m->c->policy;
	if (l->key->type == SCHEMA_PATTERNS) {
		const struct strs *patterns =
			(const struct strs *)(const void *)((const char *)l->m->c + l->key->offset);
		return l->at < patterns->n ? patterns->v[l->at++] : NULL;
	}
	while (l->at < p->n_paths)
		if (p->paths[l->at++].access == l->key->access)
			return p->paths[l->at - 1].path;
	return NULL;
}

static bool is_long(const struct merge *m, const struct schema_key *key)
{
	struct builtin_list l = {m, key, 0};
	size_t bytes = 0;
	for (const char *item; bytes <= CONFIG_SHORT_LIST && (item = next_item(&l));)
		bytes += strlen(item) + strlen("\"\", ");
	return bytes > CONFIG_SHORT_LIST;
}

static int show_builtin_list(struct merge *m, const struct schema_key *key, struct airlock_error *err)
{
	_cleanup_buf_ struct buf items = BUF_INIT;
	struct builtin_list l = {m, key, 0};
	if (!m->in->long_lists && is_long(m, key)) {
		m->without_row[schema_index(key)] = true;
		return 0;
	}
	for (const char *item; (item = next_item(&l));) {
		buf_adds(&items, items.len ? ", " : "");
		schema_add_string(&items, item);
	}
	return items.len ? values_add_list(m, key, buf_str(&items), RULE_ORIGIN(BUILTIN), err) : 0;
}

static int show_builtin_lists(struct merge *m, struct airlock_error *err)
{
	size_t n;
	const struct schema_key *keys = schema_keys(&n);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++)
		if ((keys[i].type == SCHEMA_PATHS && !(keys[i].scopes & SCHEMA_CACHE)) ||
		    keys[i].type == SCHEMA_PATTERNS)
			rc = show_builtin_list(m, &keys[i], err);
	return rc;
}

static int start_from(struct merge *m, const char *builtin_name, struct airlock_error *err)
{
	struct policy p = POLICY_INIT;
	int rc = policy_apply_builtin(&p, builtin_name, m->in->home, err);
	if (rc < 0) {
		policy_done(&p);
		return rc;
	}
	/* The active profile keeps its own name. */
	free(p.profile);
	p.profile = TAKE_PTR(m->c->policy.profile);
	policy_done(&m->c->policy);
	m->c->policy = p;
	return show_builtin_lists(m, err);
}

/* The tables of one profile in the first n_files files. quietly: they only tighten, and ignored settings are not
 * reported. */
static int merge_profile_tables(struct merge *m, const char *name, size_t n_files, bool quietly,
				struct airlock_error *err)
{
	_cleanup_buf_ struct buf prefix = BUF_INIT;
	buf_printf(&prefix, "profiles.%s", name);
	int rc = prefix.failed ? base_oom(err) : 0;
	for (size_t i = 0; rc >= 0 && i < n_files; i++) {
		const struct config_file *f = &m->files[i];
		const struct toml_value *table = config_file_profile(f, name);
		if (table)
			rc = merge_table(m, f, table, SCHEMA_PROFILE,
					 quietly ? MERGE_TIGHTEN_QUIETLY : merge_mode_of(f), buf_str(&prefix), err);
	}
	return rc;
}

static int merge_kept(struct merge *m, const struct merge_kept *kept, struct airlock_error *err)
{
	_cleanup_strs_ struct strs chain = STRS_INIT;
	m->asking = kept->above;
	int rc = chain_of(m, kept->profile, &chain, err);
	m->asking = NULL;
	for (size_t i = chain.n; rc >= 0 && i-- > 0;)
		rc = merge_profile_tables(m, chain.v[i], kept->n_files, true, err);
	return rc;
}

static int merge_all_kept(struct merge *m, bool is_first, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < m->n_kept; i++)
		if (m->kept[i].is_first == is_first)
			rc = merge_kept(m, &m->kept[i], err);
	return rc;
}

static int show_extends(struct merge *m, const char *name, struct airlock_error *err)
{
	struct parent_profile p = parent_of(m, name);
	_cleanup_buf_ struct buf key = BUF_INIT, value = BUF_INIT;
	buf_printf(&key, "profiles.%s.extends", name);
	schema_add_string(&value, p.name);
	if (key.failed || value.failed)
		return base_oom(err);
	struct airlock_origin origin = RULE_ORIGIN(BUILTIN);
	if (p.file)
		origin = RULE_ORIGIN(FILE, p.file->path, p.value->line);
	return values_add(m, buf_str(&key), buf_str(&value), origin, false, err);
}

/* An untrusted project adds no profile and changes no ancestry: report each such key. */
static int leave_out_profile(struct merge *m, const struct config_file *f, const struct toml_entry *profile,
			     struct airlock_error *err)
{
	_cleanup_buf_ struct buf prefix = BUF_INIT;
	bool exists = merge_has_profile(m, profile->key);
	int rc = 0;
	buf_printf(&prefix, "profiles.%s", profile->key);
	for (size_t i = 0; rc >= 0 && i < profile->value->u.table.n; i++) {
		const struct toml_entry *e = &profile->value->u.table.entries[i];
		bool extends = strcmp(e->key, "extends") == 0;
		if (exists && (!extends || strcmp(parent_of(m, profile->key).name, e->value->u.string.s) == 0))
			continue;
		rc = merge_leave_out(m, f, e, buf_str(&prefix), err);
	}
	return rc;
}

static int leave_out_profiles(struct merge *m, struct airlock_error *err)
{
	const struct config_file *f = merge_project_file(m);
	const struct toml_value *profiles = f->untrusted ? config_file_table(f, "profiles") : NULL;
	int rc = 0;
	for (size_t i = 0; rc >= 0 && profiles && i < profiles->u.table.n; i++)
		rc = leave_out_profile(m, f, &profiles->u.table.entries[i], err);
	return rc;
}

int merge_profile(struct merge *m, struct airlock_error *err)
{
	_cleanup_strs_ struct strs chain = STRS_INIT;
	int rc = chain_of(m, m->c->policy.profile, &chain, err);
	if (rc >= 0)
		rc = start_from(m, chain.v[chain.n - 1], err);
	if (rc >= 0)
		rc = merge_all_kept(m, true, err);
	for (size_t i = chain.n; rc >= 0 && i-- > 0;)
		rc = merge_profile_tables(m, chain.v[i], m->n_files, false, err);
	if (rc >= 0) /* No table of the active profile loosens what these tighten. */
		rc = merge_all_kept(m, false, err);
	if (rc >= 0 && chain.n > 1)
		rc = show_extends(m, chain.v[0], err);
	return rc < 0 ? rc : leave_out_profiles(m, err);
}
