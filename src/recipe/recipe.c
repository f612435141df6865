/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where recipes are: built in, in the system's directory, in the user's. Of two with one name the later one counts, as a whole. */
#include "recipe/recipe.h"

#include "base/array.h"
#include "base/path.h"
#include "config/config_file.h"
#include "recipe/recipe_builtin.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define SUFFIX ".toml"

const char *recipe_source_name(enum recipe_source source)
{
	static const char *const names[] = {
		[RECIPE_BUILTIN] = "built-in", [RECIPE_SYSTEM] = "system", [RECIPE_USER] = "user"};
	return names[source];
}

bool recipe_is_name(const char *name)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	static const char *const words[] = {"list", "show", "explain", "help", NULL};
	for (size_t i = 0; words[i]; i++)
		if (strcmp(name, words[i]) == 0)
			return false;
	return name[0] && name[0] != '-' && name[strspn(name, safe)] == '\0' && strlen(name) <= 32;
}

bool recipe_is_pattern(const char *path)
{
	return strchr(path, '*') != NULL;
}

const char *const *recipe_builtin_names(void)
{
	return recipe_builtin_list;
}

/* ── One ── */

static int parse_builtin(const struct recipe_places *at, size_t i, struct recipe **ret, struct airlock_error *err)
{
	const char *name = recipe_builtin_list[i], *text = recipe_builtin_texts[i];
	_cleanup_buf_ struct buf file = BUF_INIT;
	buf_printf(&file, "built-in recipe %s", name);
	return recipe_parse(text, strlen(text), buf_str(&file), name, at->home, ret, err);
}

/* AIRLOCK_ERR_NOT_FOUND: no such file. */
static int parse_file(const struct recipe_places *at, enum recipe_source source, const char *name, struct recipe **ret,
		      struct airlock_error *err)
{
	const char *dir = source == RECIPE_USER ? at->user_dir : at->system_dir;
	_cleanup_buf_ struct buf path = BUF_INIT, text = BUF_INIT;
	if (!dir)
		return AIRLOCK_ERR_NOT_FOUND;
	buf_printf(&path, "%s/%s" SUFFIX, dir, name);
	struct airlock_error why = {0};
	int rc = path.failed ? base_oom(&why) : config_file_read(buf_str(&path), CONFIG_FILE_OURS, &text, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		return rc;
	if (rc < 0)
		return base_pass(err, &why);
	if (memchr(buf_str(&text), '\0', text.len))
		return base_error(err, AIRLOCK_ERR_INVALID, "read", buf_str(&path), "%s is not a text file",
				  buf_str(&path));
	rc = recipe_parse(buf_str(&text), text.len, buf_str(&path), name, at->home, ret, err);
	if (rc >= 0)
		(*ret)->source = source;
	return rc;
}

static int load(const struct recipe_places *at, const char *name, struct recipe **ret, struct airlock_error *err)
{
	int rc = parse_file(at, RECIPE_USER, name, ret, err);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		rc = parse_file(at, RECIPE_SYSTEM, name, ret, err);
	for (size_t i = 0; rc == AIRLOCK_ERR_NOT_FOUND && recipe_builtin_list[i]; i++)
		if (strcmp(recipe_builtin_list[i], name) == 0)
			return parse_builtin(at, i, ret, err);
	return rc;
}

/* ── All ── */

static void add_name(struct strs *names, const char *name)
{
	if (!strs_has(names, name))
		strs_add(names, name);
}

static int list_dir(const char *dir, struct strs *names, struct airlock_error *err)
{
	DIR *d = dir ? opendir(dir) : NULL;
	if (!d && dir && !base_is_absent(errno))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t len = strlen(e->d_name), end = strlen(SUFFIX);
		_cleanup_free_ char *name =
			len > end && strcmp(e->d_name + len - end, SUFFIX) == 0 ? strndup(e->d_name, len - end) : NULL;
		if (name && recipe_is_name(name))
			add_name(names, name);
	}
	if (d)
		(void)closedir(d);
	return 0;
}

static int list_names(const struct recipe_places *at, bool with_builtin, struct strs *ret, struct airlock_error *err)
{
	for (size_t i = 0; with_builtin && recipe_builtin_list[i]; i++)
		strs_add(ret, recipe_builtin_list[i]);
	int rc = list_dir(at->system_dir, ret, err);
	if (rc == 0)
		rc = list_dir(at->user_dir, ret, err);
	strs_sort(ret);
	return rc == 0 && ret->failed ? base_oom(err) : rc;
}

int recipe_list_load(struct recipe_list *l, const struct recipe_places *at, bool with_builtin,
		     struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = list_names(at, with_builtin, &names, err);
	for (size_t i = 0; rc == 0 && i < names.n; i++) {
		struct recipe *r = NULL;
		rc = load(at, names.v[i], &r, err);
		if (rc == AIRLOCK_ERR_NOT_FOUND) /* removed a moment ago */
			rc = 0;
		else if (rc == 0 && !ARRAY_ROOM(l->v, l->n, l->cap, 16)) {
			recipe_free(r);
			rc = base_oom(err);
		} else if (rc == 0)
			l->v[l->n++] = r;
	}
	return rc;
}

void recipe_list_done(struct recipe_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		recipe_free(l->v[i]);
	free(l->v);
	*l = (struct recipe_list){0};
}

int recipe_find(const struct recipe_places *at, const char *name, struct recipe **ret, struct airlock_error *err)
{
	int rc = recipe_is_name(name) ? load(at, name, ret, err) : AIRLOCK_ERR_NOT_FOUND;
	if (rc != AIRLOCK_ERR_NOT_FOUND)
		return rc;
	_cleanup_strs_ struct strs names = STRS_INIT;
	_cleanup_free_ char *shown = NULL;
	struct buf b = BUF_INIT;
	text_add_escaped(&b, name, AL_MIN(strlen(name), (size_t)100));
	shown = buf_take(&b);
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "agent", name, "there is no recipe for an agent called \"%s\"",
		   shown ? shown : "");
	const char *near =
		list_names(at, true, &names, NULL) == 0 ? text_nearest(name, (const char *const *)names.v) : NULL;
	if (near)
		base_hint(err, "did you mean \"%s\"? airlock agent list names all", near);
	else
		base_hint(err, "airlock agent list names all; airlock-agent(1) says how to write one");
	return AIRLOCK_ERR_NOT_FOUND;
}
