/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

#include "base/path.h"
#include "config/config_settings.h"
#include "config/merge.h"

#include <string.h>
#include <sys/stat.h>

#define DEFAULT_MAX_OUTPUT (INT64_C(100) << 10)
#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define DEFAULT_KEEP_BACKUPS (7 * DAY_MS)
#define DEFAULT_KEEP_RUNS (30 * DAY_MS)
#define DEFAULT_PERMISSION_WAIT ((int64_t)120 * 1000)
#define DEFAULT_SESSION_IDLE ((int64_t)8 * 3600 * 1000)
#define DEFAULT_SESSION_SHARE INT64_C(-10) /* a tenth of the disk space that was free */
#define DEFAULT_COPY_SIZE ((int64_t)512 << 20)
#define DEFAULT_COPY_FILES 100000

void config_free(struct config *c)
{
	if (!c)
		return;
	base_freep(&c->backend);
	base_freep(&c->shell);
	strs_done(&c->gate_hold);
	strs_done(&c->gate_allow);
	strs_done(&c->cache_paths);
	strs_done(&c->cache_exclude);
	net_rules_done(&c->network_rules);
	for (size_t i = 0; i < c->n_host_sets; i++) {
		base_freep(&c->host_sets[i].name);
		strs_done(&c->host_sets[i].hosts);
	}
	base_freep(&c->host_sets);
	policy_done(&c->policy);
	for (size_t i = 0; i < c->n_values; i++) {
		base_freep(&c->values[i].key);
		base_freep(&c->values[i].value);
	}
	base_freep(&c->values);
	strs_done(&c->origin_names);
	notes_done(&c->warnings);
	base_freep(&c);
}

bool config_is_set(const struct config *c, const char *key)
{
	for (size_t i = 0; i < c->n_values; i++)
		if (!c->values[i].ignored && strcmp(c->values[i].key, key) == 0)
			return c->values[i].origin.kind != AIRLOCK_ORIGIN_BUILTIN;
	return false;
}

const struct strs *config_host_set(const struct config *c, const char *name)
{
	for (size_t i = c->n_host_sets; i-- > 0;)
		if (strcmp(c->host_sets[i].name, name) == 0)
			return &c->host_sets[i].hosts;
	return NULL;
}

static void merge_done(struct merge *m)
{
	for (size_t i = 0; i < m->n_files; i++)
		config_file_done(&m->files[i]);
	merge_drop_kept(m);
	config_free(m->c);
	m->c = NULL;
}

static struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->enabled = true;
	c->fallback = CONFIG_FALLBACK_REFUSE;
	c->max_output = DEFAULT_MAX_OUTPUT;
	c->warm_start = true;
	c->keep_backups_ms = DEFAULT_KEEP_BACKUPS;
	c->keep_runs_ms = DEFAULT_KEEP_RUNS;
	c->permission_wait_ms = DEFAULT_PERMISSION_WAIT;
	c->session_idle_ms = DEFAULT_SESSION_IDLE;
	c->session_disk = c->session_tmp_size = DEFAULT_SESSION_SHARE;
	c->copy_size = DEFAULT_COPY_SIZE;
	c->copy_files = DEFAULT_COPY_FILES;
	c->cache_enabled = true;
	c->network_ask = true;
	c->backend = strdup("auto");
	c->shell = strdup("sh");
	c->policy.profile = strdup("moderate");
	if (!c->backend || !c->shell || !c->policy.profile) {
		config_free(c);
		return NULL;
	}
	return c;
}

/* ── Files ── */

/* A missing file counts as empty, unless the user named it. */
static int open_file(struct config_file *f, const char *path, enum config_file_kind kind, bool required,
		     struct airlock_error *err)
{
	struct airlock_error why = {0};
	f->path = strdup(path);
	if (!f->path)
		return base_oom(err);
	int rc = config_file_read(path, kind, &f->text, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND && !required)
		return 0;
	if (rc < 0)
		return base_pass(err, &why);
	return config_file_parse(f, err);
}

static int open_project_file(struct merge *m, struct airlock_error *err)
{
	const struct config_inputs *in = m->in;
	struct config_file *f = merge_project_file(m);
	_cleanup_free_ char *path = path_join(in->project_dir, CONFIG_PROJECT_FILE);
	bool trusted = false;
	if (!path)
		return base_oom(err);
	f->base = in->project_dir;
	int rc = open_file(f, path, CONFIG_FILE_PROJECT, false, err);
	/* Checks exactly the bytes that were parsed. */
	if (rc >= 0 && f->doc && in->trust_dir)
		rc = config_is_trusted(in->trust_dir, in->project_dir, buf_str(&f->text), f->text.len, &trusted, err);
	/* The project could give itself a profile that the files above do not know; so they must be trusted too. */
	f->accepted = trusted;
	f->untrusted = !trusted || m->untrusted_above;
	return rc;
}

static int open_files(struct merge *m, struct airlock_error *err)
{
	const struct config_inputs *in = m->in;
	int rc = 0;
	for (size_t i = 0; i < MERGE_MAX_FILES; i++)
		m->files[i].home = in->home;
	if (in->system_file)
		rc = open_file(&m->files[MERGE_SYSTEM], in->system_file, CONFIG_FILE_OURS, false, err);
	if (rc >= 0 && in->user_file)
		rc = open_file(&m->files[MERGE_USER], in->user_file, CONFIG_FILE_OURS, in->user_file_required, err);
	if (rc >= 0 && in->project_dir)
		rc = merge_open_above(m, err);
	return rc >= 0 && in->project_dir ? open_project_file(m, err) : rc;
}

/* ── Everything together ── */

static struct airlock_origin origin_of(const struct merge *m, const char *name)
{
	return m->origins[schema_index(schema_find(SCHEMA_SANDBOX, name, strlen(name)))];
}

static int fold(struct merge *m, struct airlock_error *err)
{
	int rc = open_files(m, err);
	if (rc >= 0)
		rc = merge_check_profiles(m, err);
	if (rc >= 0)
		rc = merge_sandbox(m, err);
	if (rc >= 0)
		rc = merge_gate(m, err);
	if (rc >= 0)
		rc = merge_retention(m, err);
	if (rc >= 0)
		rc = merge_capture(m, err);
	if (rc >= 0)
		rc = merge_cache(m, err);
	if (rc >= 0)
		rc = merge_permission(m, err);
	if (rc >= 0)
		rc = merge_session(m, err);
	if (rc >= 0)
		rc = merge_network(m, err);
	if (rc >= 0)
		rc = settings_apply_sandbox(m, err);
	if (rc >= 0)
		rc = merge_profile(m, err);
	if (rc >= 0)
		rc = merge_commands(m, err);
	if (rc >= 0)
		rc = settings_apply_policy(m, err);
	return rc < 0 ? rc : policy_validate(&m->c->policy, err);
}

static int finish(struct merge *m, struct airlock_error *err)
{
	int rc = values_finish(m, err);
	if (rc >= 0)
		rc = values_warn(m, err);
	m->c->network_mode_origin = m->origins[schema_index(schema_find(SCHEMA_NETWORK, "mode", strlen("mode")))];
	m->c->enabled_origin = origin_of(m, "enabled");
	m->c->backend_origin = origin_of(m, "backend");
	m->c->max_output_asked = origin_of(m, "max_output").kind != AIRLOCK_ORIGIN_BUILTIN;
	m->c->explain_asked = origin_of(m, "explain_denials").kind != AIRLOCK_ORIGIN_BUILTIN;
	return rc;
}

int config_load(const struct config_inputs *in, struct config **ret, struct airlock_error *err)
{
	_cleanup_(merge_done) struct merge m = {.in = in, .c = config_new(), .n_files = MERGE_ABOVE + 1};
	if (!m.c)
		return base_oom(err);
	int rc = fold(&m, err);
	if (rc >= 0)
		rc = finish(&m, err);
	if (rc >= 0)
		*ret = TAKE_PTR(m.c);
	return rc;
}

/* A mistake in another file is not a mistake of the file being checked: the other file counts as empty. */
static void open_other(struct merge *m, size_t i, const char *path, const char *checked)
{
	struct config_file *f = &m->files[i];
	struct stat a, b;
	bool is_same =
		path && stat(path, &a) == 0 && stat(checked, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	if (!path || is_same)
		return;
	f->home = m->in->home;
	if (open_file(f, path, CONFIG_FILE_OURS, false, NULL) < 0) {
		config_file_done(f);
		*f = (struct config_file){0};
	}
}

/* Accepts relative paths: the file may be a project's. */
int config_check_file(const char *path, const struct config_inputs *others, struct airlock_error *err)
{
	_cleanup_(merge_done) struct merge m = {.in = others, .n_files = MERGE_ABOVE + 1};
	struct config_file *f = merge_project_file(&m);
	m.only = f;
	f->home = others->home;
	f->base = strcmp(path_basename(path), CONFIG_PROJECT_FILE) == 0 ? "/" : NULL;
	int rc = open_file(f, path, CONFIG_FILE_ANY, true, err);
	if (rc < 0)
		return rc;
	open_other(&m, MERGE_SYSTEM, others->system_file, path);
	open_other(&m, MERGE_USER, others->user_file, path);
	return merge_check_profiles(&m, err);
}
