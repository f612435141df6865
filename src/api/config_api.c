/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock config` and `airlock trust`. */

#include "airlock/config.h"
#include "api/list.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/rule_origin.h"
#include "config/toml.h"
#include "fs/fs.h"
#include "project/project.h"
#include "settings/config_context.h"

#include <string.h>

#define PROJECT_FILE ".airlock.toml"
#define PROJECT_FILE_MAX (1 << 20)

struct airlock_config {
	struct config *config; /* behind v */
	struct airlock_config_value *v;
	size_t n;
	char *json;
};

API_LIST(config, airlock_config_value)

void airlock_config_free(struct airlock_config *c)
{
	if (!c)
		return;
	config_free(c->config);
	free(c->v);
	free(c->json);
	free(c);
}

const struct airlock_note *airlock_config_warning(const struct airlock_config *c, size_t i)
{
	return notes_at(&c->config->warnings, i);
}

int airlock_config_open(const struct airlock_settings *s, struct airlock_config **ret, struct airlock_error *err)
{
	struct airlock_config *c = calloc(1, sizeof *c);
	int rc = c ? config_of_settings(s, &c->config, err) : base_oom(err);
	if (rc == 0 && !(c->v = calloc(c->config->n_values + 1, sizeof *c->v)))
		rc = base_oom(err);
	if (rc < 0) {
		airlock_config_free(c);
		return rc;
	}
	for (; c->n < c->config->n_values; c->n++) {
		const struct config_value *from = &c->config->values[c->n];
		c->v[c->n] = (struct airlock_config_value){
			.key = from->key, .toml = from->value, .origin = from->origin, .is_ignored = from->ignored};
	}
	*ret = c;
	return 0;
}

static void add_toml(struct json *j, const char *key, const struct toml_value *v)
{
	switch (v->type) {
	case TOML_INTEGER:
		json_int(j, key, v->u.integer);
		break;
	case TOML_BOOLEAN:
		json_bool(j, key, v->u.boolean);
		break;
	case TOML_ARRAY:
		json_open_array(j, key);
		for (size_t i = 0; i < v->u.array.n; i++)
			add_toml(j, NULL, v->u.array.items[i]);
		json_close(j);
		break;
	case TOML_TABLE:
		json_open_object(j, key);
		for (size_t i = 0; i < v->u.table.n; i++)
			add_toml(j, v->u.table.entries[i].key, v->u.table.entries[i].value);
		json_close(j);
		break;
	default: /* no key of ours takes a float or a date */
		json_stringn(j, key, v->u.string.s, v->u.string.len);
	}
}

/* Values are kept as TOML text, which people are shown. Text that is no TOML (a path that is not UTF-8) stays text. */
static void add_json_value(struct json *j, const char *toml)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct toml_doc *doc = NULL;
	const struct toml_limits limits = {.max_bytes = SIZE_MAX, .max_values = SIZE_MAX};
	buf_printf(&text, "v = %s\n", toml);
	bool is_toml = !text.failed && toml_parse(buf_str(&text), text.len, "value", &limits, &doc, NULL) >= 0;
	const struct toml_value *v = is_toml ? toml_get(toml_root(doc), "v") : NULL;
	if (v && v->type != TOML_FLOAT)
		add_toml(j, "value", v);
	else
		json_string(j, "value", toml);
	toml_free(doc);
}

const char *airlock_config_json(struct airlock_config *c)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "values");
	for (size_t i = 0; i < c->n; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "key", c->v[i].key);
		add_json_value(&j, c->v[i].toml);
		rule_origin_add_json(&j, "source", &c->v[i].origin);
		json_bool(&j, "ignored", c->v[i].is_ignored);
		json_close(&j);
	}
	json_close(&j);
	notes_add_json(&j, "warnings", &c->config->warnings);
	json_close(&j);
	return api_json(&out, &c->json);
}

int airlock_config_check(const struct airlock_settings *s, const char *file, struct airlock_error *err)
{
	struct host host;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	const struct config_inputs others = {
		.home = host.home, .system_file = host.system_file, .user_file = host.user_file};
	_cleanup_free_ char *path = path_normalize(host.cwd, file);
	rc = path ? config_check_file(path, &others, err) : base_oom(err);
	host_done(&host);
	return rc;
}

/* ── Files ── */

struct airlock_config_files {
	struct airlock_config_file *v;
	size_t n, cap;
	struct strs paths; /* behind v */
};

API_LIST(config_files, airlock_config_file)

void airlock_config_files_free(struct airlock_config_files *l)
{
	if (!l)
		return;
	strs_done(&l->paths);
	free(l->v);
	free(l);
}

/* state: of a file that is there. */
static void add_file(struct airlock_config_files *l, const char *path, enum airlock_config_file_state state)
{
	struct stat st;
	strs_add(&l->paths, path);
	l->paths.failed |= !ARRAY_ROOM(l->v, l->n, l->cap, 4);
	if (l->paths.failed)
		return;
	l->v[l->n++] = (struct airlock_config_file){l->paths.v[l->paths.n - 1],
						    stat(path, &st) < 0 ? AIRLOCK_FILE_MISSING : state};
}

static enum airlock_config_file_state trust_of(const struct config_context *c, const char *dir, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	bool trusted = false;
	if (fs_read_file(path, PROJECT_FILE_MAX, &text, NULL) < 0 ||
	    config_is_trusted(c->host.trust_dir, dir, buf_str(&text), text.len, &trusted, NULL) < 0)
		return AIRLOCK_FILE_UNREADABLE;
	return trusted ? AIRLOCK_FILE_TRUSTED : AIRLOCK_FILE_NOT_TRUSTED;
}

/* Lists only files that exist: every directory above the project could have one, and most have none. */
static void add_files_above(const struct config_context *c, struct airlock_config_files *l)
{
	_cleanup_strs_ struct strs dirs = STRS_INIT;
	config_list_above(c->project, c->host.home, &dirs);
	l->paths.failed |= dirs.failed;
	for (size_t i = 0; i < dirs.n; i++) {
		_cleanup_free_ char *path = path_join(dirs.v[i], PROJECT_FILE);
		struct stat st;
		if (!path)
			l->paths.failed = true;
		else if (lstat(path, &st) == 0)
			add_file(l, path,
				 !config_counts_above(c->project, dirs.v[i], &st) ? AIRLOCK_FILE_FOREIGN
				 : !S_ISREG(st.st_mode)				  ? AIRLOCK_FILE_NOT_REGULAR
										  : trust_of(c, dirs.v[i], path));
	}
}

int airlock_config_files_open(const struct airlock_settings *s, struct airlock_config_files **ret,
			      struct airlock_error *err)
{
	struct config_context c;
	struct airlock_config_files *l = calloc(1, sizeof *l);
	if (!l)
		return base_oom(err);
	int rc = config_context_init(&c, s, err);
	if (rc == 0) {
		add_file(l, c.host.system_file, AIRLOCK_FILE_READ);
		add_file(l, c.named ? c.named : c.host.user_file, AIRLOCK_FILE_READ);
		if (c.project)
			add_files_above(&c, l);
		_cleanup_free_ char *path = c.project ? path_join(c.project, PROJECT_FILE) : NULL;
		if (path)
			add_file(l, path, trust_of(&c, c.project, path));
		rc = l->paths.failed || (c.project && !path) ? base_oom(err) : 0;
	}
	config_context_done(&c);
	if (rc == 0)
		*ret = l;
	else
		airlock_config_files_free(l);
	return rc;
}

/* Refuse to trust a file that every run would reject anyway. */
static int check_project_file(const struct config_context *c, const char *project, struct airlock_error *err)
{
	const struct config_inputs others = config_context_inputs(c);
	_cleanup_free_ char *path = path_join(project, PROJECT_FILE);
	return path ? config_check_file(path, &others, err) : base_oom(err);
}

int airlock_trust(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err)
{
	struct config_context c;
	_cleanup_free_ char *found = NULL;
	int rc = config_context_init(&c, s, err);
	const char *wanted = dir ? dir : rc == 0 ? settings_get(&c.view, "project") : NULL;
	if (rc == 0)
		rc = project_detect_known(wanted, c.host.cwd, c.host.home, c.host.state_dir, &found, err);
	if (rc == 0)
		rc = check_project_file(&c, found, err);
	if (rc == 0)
		rc = config_trust(c.host.trust_dir, found, err);
	config_context_done(&c);
	if (rc == 0)
		*ret_dir = TAKE_PTR(found);
	return rc;
}
