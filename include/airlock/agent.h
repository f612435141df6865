/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole agents: programs that work for hours with their own state, credentials and hosts. A recipe says what one needs.
 *
 *   struct airlock_recipes *all = NULL;
 *   if (airlock_recipes_open(s, &all, &err) < 0)
 *           return err.code;
 *   for (size_t i = 0; i < airlock_recipes_count(all); i++)
 *           printf("%s %s\n", airlock_recipes_at(all, i)->name, airlock_recipes_at(all, i)->title);
 *   airlock_recipes_free(all);
 *
 *   // A job that is the agent: its program, with these arguments after those of the recipe.
 *   airlock_settings_set(s, "session", "work", "me", &err);
 *   airlock_settings_set_agent(s, "claude", 0, NULL, &err);
 *   airlock_job_prepare(s, &job, &err);
 *
 * Everything an object hands out lives as long as the object.
 */
#ifndef AIRLOCK_AGENT_H
#define AIRLOCK_AGENT_H

#include <stddef.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

enum airlock_recipe_source {
	AIRLOCK_RECIPE_BUILTIN,
	AIRLOCK_RECIPE_SYSTEM, /* /etc/airlock/agents */
	AIRLOCK_RECIPE_USER,   /* $XDG_CONFIG_HOME/airlock/agents */
};
const char *airlock_recipe_source_name(enum airlock_recipe_source source); /* "built-in" */

/* Lists of texts end with NULL. */
struct airlock_recipe {
	const char *name, *title;
	enum airlock_recipe_source source;
	const char *file;    /* path, or "built-in recipe NAME" */
	const char *text;    /* the TOML as it was read */
	const char *program; /* as the recipe says it */
	const char *found;   /* the path of the program that would be started; NULL: it is not installed */
	const char *install; /* how to get it; NULL: not said */
	const char *const *arguments, *const *yolo;
	const char *const *hosts, *const *deny;
	/* Paths of the home. */
	const char *const *private_dirs, *const *private_files, *const *state, *const *credentials, *const *files;
	const char *const *env_keep, *const *env_set;
	const char *add_dir; /* its option for one more directory: "--add-dir DIR"; NULL: it has none */
};

/* All recipes, by name. AIRLOCK_ERR_INVALID: one of them has a mistake; the error names file and line. */
struct airlock_recipes;
int airlock_recipes_open(const struct airlock_settings *s, struct airlock_recipes **ret, struct airlock_error *err);
/* Only this one. AIRLOCK_ERR_NOT_FOUND: there is none. */
int airlock_recipes_open_one(const struct airlock_settings *s, const char *name, struct airlock_recipes **ret,
			     struct airlock_error *err);
size_t airlock_recipes_count(const struct airlock_recipes *l);
const struct airlock_recipe *airlock_recipes_at(const struct airlock_recipes *l, size_t i);
/* What `airlock agent list --json` prints; ends with a newline. NULL: out of memory. */
const char *airlock_recipes_json(struct airlock_recipes *l);
/* One of them as an object; ends with a newline. The caller's: airlock_free. NULL: out of memory. */
char *airlock_recipe_json(const struct airlock_recipe *r);
void airlock_recipes_free(struct airlock_recipes *l);

/* The run is this agent: instead of airlock_settings_set_argv. yolo: with the agent's own option that asks nothing. argv: what
 * comes after the recipe's arguments, or NULL. Marks the settings as an agent's. The recipe is read when the job is prepared. */
int airlock_settings_set_agent(struct airlock_settings *s, const char *name, int yolo, const char *const *argv,
			       struct airlock_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
