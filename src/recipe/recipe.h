/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a whole agent needs beyond a project: its program, its hosts, what is its own in the home. Data, in TOML.
 *
 *   struct recipe_places at = {.home = "/home/u", .system_dir = "/etc/airlock/agents", .user_dir = ".../airlock/agents"};
 *   struct recipe *r = NULL;
 *   recipe_find(&at, "claude", &r, err);          the user's file, else the system's, else the built-in one
 *   recipe_apply(r, &others, &scene, config, err);
 *   recipe_free(r);
 *
 * An agent has these files of its own in the home:
 *   private       directories that it sees and may write to; what it writes stays with the session. Nothing that it leaves there
 *                 (hooks, plugins, servers to start) is ever obeyed outside, or by another session.
 *   private_files the same for single files
 *   state         directories that it writes to in the home itself: transcripts and other data that nothing executes
 *   credentials   files that it may see and no other command may. In a private directory, a changed one is brought home
 *   files         the same for files that are no secret; a pattern with * brings home every file that it matches
 */
#pragma once

#include "config/config.h"

enum recipe_source { RECIPE_BUILTIN, RECIPE_SYSTEM, RECIPE_USER };
const char *recipe_source_name(enum recipe_source source); /* "built-in" "system" "user" */

struct recipe_hosts {
	struct strs rules; /* or @SET */
	int *lines;	   /* of each */
};

struct recipe {
	char *name;
	enum recipe_source source;
	char *file;    /* path, or "built-in recipe NAME" */
	char *text;    /* the TOML as it was read */
	char *title;   /* "Claude Code" */
	char *program; /* a name to be found in PATH, or an absolute path */
	char *install; /* how a person gets the program; NULL: not said */
	char *add_dir; /* its option for one more directory, such as "--add-dir DIR"; NULL: it has none */
	struct strs arguments, yolo;
	struct recipe_hosts hosts; /* that it needs */
	struct recipe_hosts deny;  /* that it would like to reach and does not need: refused without a question */
	/* Absolute paths below the home. */
	struct strs private_dirs, private_files, state, credentials, files;
	struct strs env_keep; /* patterns */
	struct strs env_set;  /* NAME=VALUE */
};

struct recipe_places {
	const char *home;	/* absolute, normal */
	const char *system_dir; /* NULL: none */
	const char *user_dir;
};

/* Letters, digits, - and _; not one of the words of `airlock agent`. */
bool recipe_is_name(const char *name);

/* Checks everything; an error names file, line and column. file is what errors name. */
int recipe_parse(const char *text, size_t len, const char *file, const char *name, const char *home,
		 struct recipe **ret, struct airlock_error *err);
void recipe_free(struct recipe *r);
static inline void recipe_freep(struct recipe **r)
{
	recipe_free(*r);
}
#define _cleanup_recipe_ _cleanup_(recipe_freep)

/* True of an item of files that has a star, which stands for any text, also with slashes. */
bool recipe_is_pattern(const char *path);

/* AIRLOCK_ERR_NOT_FOUND: there is none; the hint names the nearest one. */
int recipe_find(const struct recipe_places *at, const char *name, struct recipe **ret, struct airlock_error *err);

/* All of them, by name, each from the place that counts. */
struct recipe_list {
	struct recipe **v;
	size_t n, cap;
};
/* with_builtin false: only those in files. */
int recipe_list_load(struct recipe_list *l, const struct recipe_places *at, bool with_builtin,
		     struct airlock_error *err);
void recipe_list_done(struct recipe_list *l);

/* The names of the built-in ones; NULL-terminated, static. */
const char *const *recipe_builtin_names(void);

/* ── recipe_program.c: where the program is ── */

struct recipe_program {
	char *path;	   /* absolute; what is started */
	struct strs shown; /* directories below which it and what it is started with lie: they are made visible */
};
void recipe_program_done(struct recipe_program *p);
/* project: programs that PATH finds there do not count. AIRLOCK_ERR_NOT_FOUND with op "exec": it is not installed. */
int recipe_program_find(const struct recipe *r, const char *path_env, const char *project, struct recipe_program *ret,
			struct airlock_error *err);

/* ── recipe_dirs.c: directories that a person adds to it ── */

/* "--add-dir DIR", "--add-dir DIR..." or "--add-dir DIR,..." */
bool recipe_is_dir_option(const char *text);
/* Those that these arguments add, as they are written there. */
int recipe_added_dirs(const struct recipe *r, const struct strs *argv, struct strs *ret, struct airlock_error *err);
/* Tells the agent about one. Does nothing where it has no option for it. */
void recipe_add_dir(const struct recipe *r, const char *dir, struct strs *argv);

/* ── recipe_apply.c: what it means for a sandbox ── */

struct recipe_scene {
	const char *home, *project;
	const struct recipe_program *program;
};
/* Its own things are visible, those of the others hidden; its hosts are allowed; its variables are kept. What a person chose
 * by option or file stays as it is. */
int recipe_apply(const struct recipe *r, const struct recipe_list *all, const struct recipe_scene *scene,
		 struct config *c, struct airlock_error *err);
/* For every other command: what these recipes keep in the home is hidden where the profile hides secrets. */
int recipe_hide(const struct recipe_list *all, const struct recipe_scene *scene, struct config *c,
		struct airlock_error *err);
