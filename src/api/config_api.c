/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock config` and `airlock trust`. */

#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "config/toml.h"
#include "fs/fs.h"
#include "project/project.h"
#include "settings/config_context.h"

#include <string.h>

#define PROJECT_FILE ".airlock.toml"
#define PROJECT_FILE_MAX (1 << 20)

#define BUILTIN_SHOWN 120

/* Hundreds of built-in paths would hide everything else; what somebody wrote is shown whole. */
static void add_value(struct buf *out, const struct config_value *v)
{
	size_t len = strlen(v->value), shown = len;
	if (v->origin.kind == AIRLOCK_ORIGIN_BUILTIN && len > BUILTIN_SHOWN) {
		shown = BUILTIN_SHOWN;
		while (shown > 0 && v->value[shown - 1] != ' ')
			shown--;
	}
	text_add_escaped(out, v->value, shown);
	if (shown < len)
		buf_adds(out, "... (--json shows all)");
}

static void values_text(const struct config *config, struct buf *out)
{
	for (size_t i = 0; i < config->n_values; i++) {
		const struct config_value *v = &config->values[i];
		text_add_escaped(out, v->key, strlen(v->key));
		buf_adds(out, " = ");
		add_value(out, v);
		buf_adds(out, "    # ");
		_cleanup_free_ char *origin = airlock_origin_text(&v->origin);
		buf_adds(out, origin ? origin : "");
		buf_adds(out, v->ignored ? " (left out: the project is not trusted)\n" : "\n");
	}
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

static void api_json(const struct config *config, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "values");
	for (size_t i = 0; i < config->n_values; i++) {
		const struct config_value *v = &config->values[i];
		json_open_object(&j, NULL);
		json_string(&j, "key", v->key);
		add_json_value(&j, v->value);
		rule_origin_add_json(&j, "source", &v->origin);
		json_bool(&j, "ignored", v->ignored);
		json_close(&j);
	}
	json_close(&j);
	json_open_array(&j, "warnings");
	for (size_t i = 0; i < config->warnings.n; i++)
		json_string(&j, NULL, config->warnings.v[i]);
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

int airlock_config_show(const struct airlock_settings *s, int json, char **ret_text, struct airlock_error *err)
{
	struct config *config = NULL;
	int rc = config_of_settings(s, &config, err);
	if (rc == 0) {
		struct buf out = BUF_INIT;
		(json ? api_json : values_text)(config, &out);
		*ret_text = buf_take(&out);
		rc = *ret_text ? 0 : base_oom(err);
	}
	config_free(config);
	return rc;
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

static void add_file(struct buf *out, const char *path, const char *remark)
{
	struct stat st;
	text_add_escaped(out, path, strlen(path));
	buf_printf(out, "%s\n", stat(path, &st) < 0 ? " (missing)" : remark);
}

static const char *trust_remark(const struct config_context *c, const char *dir, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	bool trusted = false;
	if (fs_read_file(path, PROJECT_FILE_MAX, &text, NULL) < 0 ||
	    config_is_trusted(c->host.trust_dir, dir, buf_str(&text), text.len, &trusted, NULL) < 0)
		return " (unreadable)";
	return trusted ? " (trusted)" : " (not trusted)";
}

/* Those that exist: there is a directory for each component of the project's path, and most have none. */
static void add_files_above(const struct config_context *c, struct buf *out)
{
	_cleanup_strs_ struct strs dirs = STRS_INIT;
	config_list_above(c->project, c->host.home, &dirs);
	if (dirs.failed)
		out->failed = true;
	for (size_t i = 0; i < dirs.n; i++) {
		_cleanup_free_ char *path = path_join(dirs.v[i], PROJECT_FILE);
		struct stat st;
		if (!path)
			out->failed = true;
		else if (lstat(path, &st) == 0)
			add_file(out, path,
				 !config_counts_above(c->project, dirs.v[i], &st)
					 ? " (left out: belongs to another user)"
				 : !S_ISREG(st.st_mode) ? " (not a regular file)"
							: trust_remark(c, dirs.v[i], path));
	}
}

int airlock_config_paths(const struct airlock_settings *s, char **ret_text, struct airlock_error *err)
{
	struct config_context c;
	struct buf out = BUF_INIT;
	int rc = config_context_init(&c, s, err);
	if (rc == 0) {
		add_file(&out, c.host.system_file, "");
		add_file(&out, c.named ? c.named : c.host.user_file, "");
		if (c.project)
			add_files_above(&c, &out);
		_cleanup_free_ char *path = c.project ? path_join(c.project, PROJECT_FILE) : NULL;
		if (path)
			add_file(&out, path, trust_remark(&c, c.project, path));
		*ret_text = buf_take(&out);
		rc = *ret_text ? 0 : base_oom(err);
	}
	config_context_done(&c);
	return rc;
}

/* Trust in a file that every run would refuse helps nobody. */
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
