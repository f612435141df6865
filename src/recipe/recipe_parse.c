/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One recipe: TOML in, a value out. Everything is checked here, with the line where it stands. */
#include "recipe/recipe.h"

#include "base/path.h"
#include "config/config_file.h"

#include <stddef.h>
#include <string.h>

enum key_type {
	KEY_TEXT,
	KEY_WORDS,     /* a list of words of a command line */
	KEY_HOSTS,     /* rules, or @SET */
	KEY_PATHS,     /* below the home */
	KEY_PATTERNS,  /* names of variables */
	KEY_VARIABLES, /* a table: name = "value" */
};

struct recipe_key {
	const char *table; /* NULL: the top of the file */
	const char *name;
	enum key_type type;
	size_t offset; /* in struct recipe */
	const char *form;
};

#define AT(field) offsetof(struct recipe, field)
#define A_HOST "a list of hosts such as \"example.org:443\", \"*.example.net\" or \"@set\""
#define A_DIR_OPTION "an option such as \"--add-dir DIR\", \"--add-dir DIR...\" or \"--add-dir DIR,...\""
#define A_PATH "a list of paths below your home, such as \"~/.toy\""
static const struct recipe_key keys[] = {
	{NULL, "title", KEY_TEXT, AT(title), "a text"},
	{NULL, "program", KEY_TEXT, AT(program), "a name, or a path that starts with / or ~/"},
	{NULL, "install", KEY_TEXT, AT(install), "a text"},
	{NULL, "add_dir", KEY_TEXT, AT(add_dir), A_DIR_OPTION},
	{NULL, "arguments", KEY_WORDS, AT(arguments), "a list of words"},
	{NULL, "yolo", KEY_WORDS, AT(yolo), "a list of words"},
	{NULL, "hosts", KEY_HOSTS, AT(hosts), A_HOST},
	{NULL, "deny", KEY_HOSTS, AT(deny), A_HOST},
	{"home", "private", KEY_PATHS, AT(private_dirs), A_PATH},
	{"home", "private_files", KEY_PATHS, AT(private_files), A_PATH},
	{"home", "state", KEY_PATHS, AT(state), A_PATH},
	{"home", "credentials", KEY_PATHS, AT(credentials), A_PATH},
	{"home", "files", KEY_PATHS, AT(files), A_PATH},
	{"env", "keep", KEY_PATTERNS, AT(env_keep), "a list of names or patterns such as \"TOY_*\""},
	{"env", "set", KEY_VARIABLES, AT(env_set), "a table such as { NAME = \"value\" }"},
};
static const char *const tables[] = {"home", "env", NULL};

struct reader {
	const struct config_file *file; /* its path only */
	const char *home;
	struct recipe *out;
	struct airlock_error *err;
};

static char *inert(const char *s, size_t len)
{
	struct buf b = BUF_INIT;
	text_add_escaped(&b, s, AL_MIN(len, (size_t)200));
	return buf_take(&b);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct recipe_key *find_key(const char *table, const struct toml_entry *e)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++)
		if (is_same(keys[i].table, table) && strlen(keys[i].name) == e->key_len &&
		    memcmp(keys[i].name, e->key, e->key_len) == 0)
			return &keys[i];
	return NULL;
}

static const char *nearest(const char *table, const char *name)
{
	const char *names[AL_ARRAY_LEN(keys) + AL_ARRAY_LEN(tables)] = {0};
	size_t n = 0;
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++)
		if (is_same(keys[i].table, table))
			names[n++] = keys[i].name;
	for (size_t i = 0; !table && tables[i]; i++)
		names[n++] = tables[i];
	return text_nearest(name, names);
}

static int unknown_key(const struct reader *r, const char *table, const struct toml_entry *e)
{
	_cleanup_free_ char *name = inert(e->key, e->key_len);
	_cleanup_buf_ struct buf text = BUF_INIT;
	const char *other = NULL, *near = nearest(table, e->key);
	for (size_t i = 0; i < AL_ARRAY_LEN(keys) && !other; i++)
		if (strlen(keys[i].name) == e->key_len && memcmp(keys[i].name, e->key, e->key_len) == 0)
			other = keys[i].table ? keys[i].table : "";
	buf_printf(&text, "unknown key \"%s\"", name ? name : "");
	if (table)
		buf_printf(&text, " in [%s]", table);
	if (other && *other)
		buf_printf(&text, "; it belongs in [%s]", other);
	else if (other)
		buf_adds(&text, "; it belongs at the top of the file");
	else if (near)
		buf_printf(&text, "; did you mean \"%s\"?", near);
	return text.failed ? base_oom(r->err)
			   : config_file_fault(r->file, e->line, e->column, r->err, "%s", buf_str(&text));
}

static int wrong_type(const struct reader *r, const struct recipe_key *key, const struct toml_value *v)
{
	return config_file_fault(r->file, v->line, v->column, r->err, "\"%s\" must be %s, not %s %s", key->name,
				 key->form, v->type == TOML_ARRAY || v->type == TOML_INTEGER ? "an" : "a",
				 toml_type_name(v->type));
}

/* ── Values ── */

static bool is_plain_text(const struct toml_value *v)
{
	return v->type == TOML_STRING && v->u.string.len > 0 && strlen(v->u.string.s) == v->u.string.len;
}

static int bad_item(const struct reader *r, const struct recipe_key *key, const struct toml_value *item,
		    const char *why)
{
	_cleanup_free_ char *text = inert(item->u.string.s, item->u.string.len);
	return config_file_fault(r->file, item->line, item->column, r->err, "\"%s\" in \"%s\": %s", text ? text : "",
				 key->name, why);
}

static int take_path(const struct reader *r, const struct recipe_key *key, const struct toml_value *item,
		     struct strs *out)
{
	char *path = NULL;
	if (strncmp(item->u.string.s, "~/", 2) != 0)
		return bad_item(r, key, item, "a path must start with ~/");
	if (recipe_is_pattern(item->u.string.s) && key->offset != AT(files))
		return bad_item(r, key, item, "only \"files\" may have patterns");
	if (policy_expand_path(item->u.string.s, r->home, &path, NULL) < 0)
		return base_oom(r->err);
	strs_take(out, path);
	switch (policy_cache_check(path, r->home)) {
	case POLICY_CACHE_FINE:
		return out->failed ? base_oom(r->err) : 0;
	case POLICY_CACHE_OUTSIDE:
		return bad_item(r, key, item, "it is not below your home");
	case POLICY_CACHE_PROGRAMS:
		break;
	}
	return bad_item(r, key, item, "programs are started from there, so it cannot be an agent's own");
}

static int take_host(const struct reader *r, const struct recipe_key *key, const struct toml_value *item,
		     struct recipe_hosts *out)
{
	struct host_rule ignored;
	const char *text = item->u.string.s;
	enum host_rule_fault fault =
		text[0] == '@' && text[1] ? HOST_RULE_FINE : host_rule_parse(text, HOST_RULE_ALLOW, &ignored);
	if (fault != HOST_RULE_FINE)
		return bad_item(r, key, item, host_rule_fault_text(fault));
	int *lines = reallocarray(out->lines, out->rules.n + 1, sizeof *lines);
	if (!lines)
		return base_oom(r->err);
	out->lines = lines;
	lines[out->rules.n] = item->line;
	strs_add(&out->rules, text);
	return out->rules.failed ? base_oom(r->err) : 0;
}

static int take_item(const struct reader *r, const struct recipe_key *key, const struct toml_value *item, void *field)
{
	struct strs *out = field;
	bool is_pattern = key->type == KEY_PATTERNS;
	if (!is_plain_text(item) || (is_pattern && strchr(item->u.string.s, '=')))
		return config_file_fault(r->file, item->line, item->column, r->err,
					 "\"%s\" must be %s; this item is not", key->name, key->form);
	if (key->type == KEY_HOSTS)
		return take_host(r, key, item, field);
	if (key->type == KEY_PATHS)
		return take_path(r, key, item, out);
	strs_add(out, item->u.string.s);
	return out->failed ? base_oom(r->err) : 0;
}

static int take_text(const struct reader *r, const struct recipe_key *key, const struct toml_value *v, char **out)
{
	if (!is_plain_text(v))
		return v->type == TOML_STRING ? config_file_fault(r->file, v->line, v->column, r->err,
								  "\"%s\" must not be empty", key->name)
					      : wrong_type(r, key, v);
	if (key->offset == AT(add_dir) && !recipe_is_dir_option(v->u.string.s))
		return config_file_fault(r->file, v->line, v->column, r->err, "\"%s\" must be %s", key->name,
					 key->form);
	*out = strdup(v->u.string.s);
	return *out ? 0 : base_oom(r->err);
}

static int take_variables(const struct reader *r, const struct recipe_key *key, const struct toml_value *v,
			  struct strs *out)
{
	if (v->type != TOML_TABLE)
		return wrong_type(r, key, v);
	for (size_t i = 0; i < v->u.table.n; i++) {
		const struct toml_entry *e = &v->u.table.entries[i];
		if (e->value->type != TOML_STRING || strlen(e->value->u.string.s) != e->value->u.string.len)
			return config_file_fault(r->file, e->value->line, e->value->column, r->err,
						 "\"set\" must be %s; the value of a variable is a text", key->form);
		if (e->key_len == 0 || strlen(e->key) != e->key_len || strchr(e->key, '='))
			return config_file_fault(r->file, e->line, e->column, r->err, "that is no name of a variable");
		strs_addf(out, "%s=%s", e->key, e->value->u.string.s);
	}
	return out->failed ? base_oom(r->err) : 0;
}

static int take_value(const struct reader *r, const struct recipe_key *key, const struct toml_value *v)
{
	void *field = (char *)r->out + key->offset;
	if (key->type == KEY_TEXT)
		return take_text(r, key, v, field);
	if (key->type == KEY_VARIABLES)
		return take_variables(r, key, v, field);
	if (v->type != TOML_ARRAY)
		return wrong_type(r, key, v);
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < v->u.array.n; i++)
		rc = take_item(r, key, v->u.array.items[i], field);
	return rc;
}

/* ── The file ── */

static bool is_table_name(const struct toml_entry *e)
{
	for (size_t i = 0; tables[i]; i++)
		if (strlen(tables[i]) == e->key_len && memcmp(tables[i], e->key, e->key_len) == 0)
			return true;
	return false;
}

static int take_table(const struct reader *r, const char *table, const struct toml_value *v)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < v->u.table.n; i++) {
		const struct toml_entry *e = &v->u.table.entries[i];
		const struct recipe_key *key = find_key(table, e);
		if (!table && is_table_name(e))
			rc = e->value->type == TOML_TABLE
				     ? take_table(r, e->key, e->value)
				     : config_file_fault(r->file, e->value->line, e->value->column, r->err,
							 "\"%s\" must be a table [%s]", e->key, e->key);
		else
			rc = key ? take_value(r, key, e->value) : unknown_key(r, table, e);
	}
	return rc;
}

static bool lies_in(const struct strs *dirs, const char *path)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (path_is_beneath(path, dirs->v[i]) && strcmp(path, dirs->v[i]) != 0)
			return true;
	return false;
}

static int check_whole(const struct reader *r)
{
	const struct recipe *out = r->out;
	if (!out->program)
		return config_file_fault(r->file, 1, 1, r->err, "\"program\" is missing: what is to be started");
	bool is_name = !strchr(out->program, '/');
	if (!is_name && out->program[0] != '/' && strncmp(out->program, "~/", 2) != 0)
		return config_file_fault(r->file, 1, 1, r->err,
					 "\"program\" must be a name, or a path that starts with / or ~/");
	/* Elsewhere it would be a mount point that no program can replace by a new file. */
	for (size_t i = 0; i < out->files.n; i++)
		if (!lies_in(&out->private_dirs, out->files.v[i]))
			return config_file_fault(r->file, 1, 1, r->err,
						 "\"%s\" in \"files\" must lie in a directory of \"private\"",
						 out->files.v[i]);
	return 0;
}

static int settle(struct recipe *out, const char *home, struct airlock_error *err)
{
	if (!out->title && !(out->title = strdup(out->name)))
		return base_oom(err);
	if (!out->program || out->program[0] != '~')
		return 0;
	char *path = NULL;
	if (policy_expand_path(out->program, home, &path, err) < 0)
		return err ? err->code : AIRLOCK_ERR_INTERNAL;
	free(out->program);
	out->program = path;
	return 0;
}

int recipe_parse(const char *text, size_t len, const char *file, const char *name, const char *home,
		 struct recipe **ret, struct airlock_error *err)
{
	struct toml_doc *doc = NULL;
	struct config_file named = {.path = (char *)file};
	_cleanup_recipe_ struct recipe *out = calloc(1, sizeof *out);
	if (!out || !(out->name = strdup(name)) || !(out->file = strdup(file)) || !(out->text = strndup(text, len)))
		return base_oom(err);
	struct reader r = {.file = &named, .home = home, .out = out, .err = err};
	int rc = toml_parse(text, len, file, NULL, &doc, err);
	if (rc >= 0)
		rc = take_table(&r, NULL, toml_root(doc));
	if (rc >= 0)
		rc = check_whole(&r);
	if (rc >= 0)
		rc = settle(out, home, err);
	toml_free(doc);
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(out);
	return 0;
}

void recipe_free(struct recipe *r)
{
	if (!r)
		return;
	char *texts[] = {r->name, r->file, r->text, r->title, r->program, r->install, r->add_dir};
	struct strs *lists[] = {&r->arguments,	  &r->yolo,	     &r->hosts.rules, &r->deny.rules,
				&r->private_dirs, &r->private_files, &r->state,	      &r->files,
				&r->credentials,  &r->env_keep,	     &r->env_set};
	for (size_t i = 0; i < AL_ARRAY_LEN(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < AL_ARRAY_LEN(lists); i++)
		strs_done(lists[i]);
	free(r->hosts.lines);
	free(r->deny.lines);
	free(r);
}
