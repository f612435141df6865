/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <airlock/agent.h>

#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "recipe/recipe.h"
#include "settings/config_context.h"

#include <string.h>

struct airlock_recipes {
	struct recipe_list list;
	struct airlock_recipe *shown;
	struct strs found; /* paths of programs; "": not installed */
	char *json;
};

_Static_assert((int)AIRLOCK_RECIPE_BUILTIN == (int)RECIPE_BUILTIN && (int)AIRLOCK_RECIPE_USER == (int)RECIPE_USER,
	       "sources have the same numbers");

const char *airlock_recipe_source_name(enum airlock_recipe_source source)
{
	return recipe_source_name((enum recipe_source)source);
}

static const char *const *words_of(const struct strs *l)
{
	static const char *const none[] = {NULL};
	return l->v ? (const char *const *)l->v : none;
}

static struct airlock_recipe show(const struct recipe *r, const char *found)
{
	return (struct airlock_recipe){.name = r->name,
				       .title = r->title,
				       .source = (enum airlock_recipe_source)r->source,
				       .file = r->file,
				       .text = r->text,
				       .program = r->program,
				       .found = *found ? found : NULL,
				       .install = r->install,
				       .arguments = words_of(&r->arguments),
				       .yolo = words_of(&r->yolo),
				       .hosts = words_of(&r->hosts.rules),
				       .deny = words_of(&r->deny.rules),
				       .private_dirs = words_of(&r->private_dirs),
				       .private_files = words_of(&r->private_files),
				       .state = words_of(&r->state),
				       .credentials = words_of(&r->credentials),
				       .files = words_of(&r->files),
				       .env_keep = words_of(&r->env_keep),
				       .env_set = words_of(&r->env_set),
				       .add_dir = r->add_dir};
}

static int show_all(struct airlock_recipes *l, const struct host *host, struct airlock_error *err)
{
	l->shown = calloc(l->list.n + 1, sizeof *l->shown);
	for (size_t i = 0; i < l->list.n; i++) {
		struct recipe_program p = {0};
		bool is_there = recipe_program_find(l->list.v[i], host->path_env, NULL, &p, NULL) >= 0;
		strs_add(&l->found, is_there ? p.path : "");
		recipe_program_done(&p);
	}
	if (!l->shown || l->found.failed)
		return base_oom(err);
	for (size_t i = 0; i < l->list.n; i++)
		l->shown[i] = show(l->list.v[i], l->found.v[i]);
	return 0;
}

static int load(struct airlock_recipes *l, const struct recipe_places *at, const char *name, struct airlock_error *err)
{
	if (!name)
		return recipe_list_load(&l->list, at, true, err);
	l->list.v = calloc(1, sizeof *l->list.v);
	int rc = l->list.v ? recipe_find(at, name, &l->list.v[0], err) : base_oom(err);
	l->list.n = rc == 0;
	return rc;
}

static int open_recipes(const struct airlock_settings *s, const char *name, struct airlock_recipes **ret,
			struct airlock_error *err)
{
	struct airlock_recipes *l = calloc(1, sizeof *l);
	struct host host = {0};
	int rc = l ? host_init(s, &host, err) : base_oom(err);
	_cleanup_free_ char *user = rc == 0 ? path_join(host.config_dir, "agents") : NULL;
	_cleanup_free_ char *etc = rc == 0 ? path_dirname(host.system_file) : NULL;
	_cleanup_free_ char *system = etc ? path_join(etc, "agents") : NULL;
	const struct recipe_places at = {.home = host.home, .system_dir = system, .user_dir = user};
	if (rc == 0 && (!user || !system))
		rc = base_oom(err);
	if (rc == 0)
		rc = load(l, &at, name, err);
	if (rc == 0)
		rc = show_all(l, &host, err);
	host_done(&host);
	if (rc < 0)
		airlock_recipes_free(l);
	else
		*ret = l;
	return rc;
}

int airlock_recipes_open(const struct airlock_settings *s, struct airlock_recipes **ret, struct airlock_error *err)
{
	return open_recipes(s, NULL, ret, err);
}

int airlock_recipes_open_one(const struct airlock_settings *s, const char *name, struct airlock_recipes **ret,
			     struct airlock_error *err)
{
	return open_recipes(s, name, ret, err);
}

size_t airlock_recipes_count(const struct airlock_recipes *l)
{
	return l->list.n;
}

const struct airlock_recipe *airlock_recipes_at(const struct airlock_recipes *l, size_t i)
{
	return i < l->list.n ? &l->shown[i] : NULL;
}

void airlock_recipes_free(struct airlock_recipes *l)
{
	if (!l)
		return;
	recipe_list_done(&l->list);
	strs_done(&l->found);
	free(l->shown);
	free(l->json);
	free(l);
}

/* ── JSON ── */

static void add_words(struct json *j, const char *key, const char *const *words)
{
	json_open_array(j, key);
	for (; *words; words++)
		json_string(j, NULL, *words);
	json_close(j);
}

static void add_text(struct json *j, const char *key, const char *text)
{
	if (text)
		json_string(j, key, text);
	else
		json_null(j, key);
}

static void add_recipe(struct json *j, const struct airlock_recipe *r)
{
	json_open_object(j, NULL);
	json_string(j, "agent", r->name);
	json_string(j, "title", r->title);
	json_string(j, "source", airlock_recipe_source_name(r->source));
	json_string(j, "file", r->file);
	json_string(j, "program", r->program);
	add_text(j, "found", r->found);
	add_text(j, "install", r->install);
	add_text(j, "add_dir", r->add_dir);
	add_words(j, "arguments", r->arguments);
	add_words(j, "yolo", r->yolo);
	add_words(j, "hosts", r->hosts);
	add_words(j, "deny", r->deny);
	json_open_object(j, "home");
	add_words(j, "private", r->private_dirs);
	add_words(j, "private_files", r->private_files);
	add_words(j, "state", r->state);
	add_words(j, "credentials", r->credentials);
	add_words(j, "files", r->files);
	json_close(j);
	json_open_object(j, "env");
	add_words(j, "keep", r->env_keep);
	add_words(j, "set", r->env_set);
	json_close(j);
	json_close(j);
}

char *airlock_recipe_json(const struct airlock_recipe *r)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	add_recipe(&j, r);
	buf_addc(&out, '\n');
	return buf_take(&out);
}

const char *airlock_recipes_json(struct airlock_recipes *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	if (l->json)
		return l->json;
	json_open_object(&j, NULL);
	json_open_array(&j, "agents");
	for (size_t i = 0; i < l->list.n; i++)
		add_recipe(&j, &l->shown[i]);
	json_close(&j);
	json_close(&j);
	buf_addc(&out, '\n');
	l->json = buf_take(&out);
	return l->json;
}

/* ── A job that is an agent ── */

int airlock_settings_set_agent(struct airlock_settings *s, const char *name, int yolo, const char *const *argv,
			       struct airlock_error *err)
{
	_cleanup_buf_ struct buf who = BUF_INIT;
	buf_printf(&who, "agent:%s", name);
	int rc = airlock_settings_set_argv(s, argv, err);
	if (rc == 0)
		rc = airlock_settings_set(s, "agent", buf_str(&who), "airlock agent", err);
	if (rc < 0)
		return rc;
	free(s->recipe);
	s->recipe = strdup(name);
	s->yolo = yolo;
	return s->recipe && !who.failed ? 0 : base_oom(err);
}
