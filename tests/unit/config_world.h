/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A made-up home with configuration files, for the tests of config: each test starts in an empty one.
 *
 *   write_file(w, w->user, "[sandbox]\n…");
 *   option(w, "timeout", "5s", "--timeout");
 *   assert_int_equal(load(w), 0);
 *   assert_value(w, "profiles.moderate.timeout", "\"5s\"", "--timeout");
 */
#pragma once

#include "origins.h"

#include "base/path.h"
#include "config/config.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define AL_TEST AL_UNUSED static

struct world {
	char dir[32];
	char home[64], system[64], user[64], project[96], project_file[128], trust[64];
	struct config_setting settings[16];
	size_t n_settings;
	const char *const *argv;
	const char *shell_command;
	bool user_file_required;
	struct config *c;
	struct airlock_error err;
};

AL_TEST void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

AL_TEST int world_open(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	strcpy(w->dir, "/tmp/airlock-config-XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	snprintf(w->home, sizeof w->home, "%s/home", w->dir);
	snprintf(w->system, sizeof w->system, "%s/system.toml", w->dir);
	snprintf(w->user, sizeof w->user, "%s/user.toml", w->dir);
	snprintf(w->project, sizeof w->project, "%s/project", w->dir);
	snprintf(w->project_file, sizeof w->project_file, "%s/.airlock.toml", w->project);
	snprintf(w->trust, sizeof w->trust, "%s/trust", w->dir);
	*state = w;
	return mkdir(w->home, 0755) || mkdir(w->project, 0755) ? -1 : 0;
}

AL_TEST int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

AL_TEST int world_close(void **state)
{
	struct world *w = *state;
	config_free(w->c);
	nftw(w->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(w);
	return 0;
}

/* Forgets files, options and results; the directory stays. */
AL_TEST void world_clear(struct world *w)
{
	config_free(w->c);
	w->c = NULL;
	w->n_settings = 0;
	w->argv = NULL;
	w->shell_command = NULL;
	w->err = (struct airlock_error){0};
	unlink(w->system);
	unlink(w->user);
	unlink(w->project_file);
}

AL_TEST void option(struct world *w, const char *key, const char *value, const char *origin)
{
	w->settings[w->n_settings++] = (struct config_setting){key, value, origin};
}

AL_TEST void trust(struct world *w)
{
	struct airlock_error err = {0};
	assert_int_equal(config_trust(w->trust, w->project, &err), 0);
}

AL_TEST int load(struct world *w)
{
	const struct config_inputs in = {
		.long_lists = true,
		.home = w->home,
		.cwd = w->project,
		.system_file = w->system,
		.user_file = w->user,
		.user_file_required = w->user_file_required,
		.project_dir = w->project,
		.trust_dir = w->trust,
		.settings = w->settings,
		.n_settings = w->n_settings,
		.argv = w->argv,
		.shell_command = w->shell_command,
	};
	config_free(w->c);
	w->c = NULL;
	w->err = (struct airlock_error){0};
	return config_load(&in, &w->c, &w->err);
}

AL_TEST void load_well(struct world *w)
{
	int rc = load(w);
	if (rc < 0)
		print_message("# %s\n", w->err.message);
	assert_int_equal(rc, 0);
}

AL_TEST const struct config_value *find_value(const struct world *w, const char *key, bool ignored)
{
	const struct config_value *found = NULL;
	for (size_t i = 0; i < w->c->n_values; i++)
		if (strcmp(w->c->values[i].key, key) == 0 && w->c->values[i].ignored == ignored)
			found = &w->c->values[i];
	return found;
}

/* "user:3" is line 3 of the user's file; options and "built-in" are themselves. */
AL_TEST void spell_source(const struct world *w, const char *source, char *out, size_t size)
{
	const char *names[] = {"system:", "user:", "project:"};
	const char *files[] = {w->system, w->user, w->project_file};
	snprintf(out, size, "%s", source);
	for (size_t i = 0; i < 3; i++)
		if (strncmp(source, names[i], strlen(names[i])) == 0)
			snprintf(out, size, "%s%s", files[i], source + strlen(names[i]) - 1);
}

/* The last row of the key that holds. */
AL_TEST void assert_value(const struct world *w, const char *key, const char *value, const char *source)
{
	char spelt[256];
	const struct config_value *v = find_value(w, key, false);
	print_message("# %s\n", key);
	assert_non_null(v);
	assert_string_equal(v->value, value);
	if (!source)
		return;
	spell_source(w, source, spelt, sizeof spelt);
	assert_origin(&v->origin, spelt);
}

/* err.message is "<file>:" and then this. */
AL_TEST void assert_fault(const struct world *w, const char *file, const char *message)
{
	char expected[1024];
	snprintf(expected, sizeof expected, "%s:%s", file, message);
	assert_string_equal(w->err.message, expected);
	assert_int_equal(strncmp(w->err.message, w->err.subject, strlen(w->err.subject)), 0);
}

AL_TEST const char *access_of(const struct world *w, const char *path)
{
	_cleanup_free_ char *full = path_normalize(w->home, path[0] == '~' ? path + 2 : path);
	const struct policy_path *rule = policy_rule_for(&w->c->policy, full);
	return rule ? policy_access_name(rule->access) : "unseen";
}
