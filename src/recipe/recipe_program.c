/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where an agent's program is, and which directories must be visible for it to start: people install agents below their home
 * (npm's prefix, ~/.local/bin, a version manager of node), which a profile may hide. */
#include "recipe/recipe.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHEBANG_MAX 256

void recipe_program_done(struct recipe_program *p)
{
	base_freep(&p->path);
	strs_done(&p->shown);
}

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first program of this name in PATH that does not lie in the project: what is there somebody else may have written, and it
 * would be given the agent's credentials. Relative entries of PATH are left out for the same reason. */
static char *find_in_path(const char *name, const char *path_env, const char *project)
{
	for (const char *p = path_env; *p;) {
		size_t len = strcspn(p, ":");
		_cleanup_free_ char *dir = len > 0 && *p == '/' ? strndup(p, len) : NULL;
		_cleanup_free_ char *path = dir ? path_normalize(dir, name) : NULL;
		_cleanup_free_ char *real = path && is_program(path) ? realpath(path, NULL) : NULL;
		bool is_theirs = project && real && (path_is_beneath(real, project) || path_is_beneath(path, project));
		if (real && !is_theirs)
			return TAKE_PTR(path);
		p += len + (p[len] == ':');
	}
	return NULL;
}

static void show(struct strs *shown, char *dir)
{
	_cleanup_free_ char *own = dir;
	if (own && own[1] && !strs_has(shown, own))
		strs_add(shown, own);
	shown->failed |= !own;
}

/* Packages find their neighbours: all of the outermost node_modules, or the version's directory that has bin/ and lib/. */
static char *tree_of(const char *real)
{
	static const char modules[] = "/node_modules/";
	const char *at = strstr(real, modules);
	if (at)
		return strndup(real, (size_t)(at - real) + sizeof modules - 2);
	_cleanup_free_ char *dir = path_dirname(real);
	if (!dir)
		return NULL;
	return strcmp(path_basename(dir), "bin") == 0 ? path_dirname(dir) : TAKE_PTR(dir);
}

/* "#!/usr/bin/env node" → "node", "#!/opt/x/python -u" → "/opt/x/python"; NULL: it needs no other program. */
static char *interpreter_of(const char *path)
{
	char line[SHEBANG_MAX] = "";
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	char *rest = line + 2, *word = strtok_r(rest, " \t", &rest);
	bool is_env = word && strcmp(path_basename(word), "env") == 0;
	while (is_env && (word = strtok_r(NULL, " \t", &rest)) && (word[0] == '-' || strchr(word, '=')))
		;
	return word ? strdup(word) : NULL;
}

static void show_program(struct recipe_program *p, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	if (!real)
		return;
	show(&p->shown, path_dirname(path));
	show(&p->shown, tree_of(real));
}

static int not_installed(const struct recipe *r, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "exec", r->program, "%s is not installed: %s was not found%s", r->title,
		   r->program, strchr(r->program, '/') ? "" : " in PATH, or only in the project");
	return r->install ? base_hint(err, "to install it: %s", r->install) : AIRLOCK_ERR_NOT_FOUND;
}

int recipe_program_find(const struct recipe *r, const char *path_env, const char *project, struct recipe_program *ret,
			struct airlock_error *err)
{
	*ret = (struct recipe_program){0};
	if (strchr(r->program, '/'))
		ret->path = is_program(r->program) ? strdup(r->program) : NULL;
	else
		ret->path = find_in_path(r->program, path_env, project);
	if (!ret->path)
		return not_installed(r, err);
	show_program(ret, ret->path);
	_cleanup_free_ char *word = interpreter_of(ret->path);
	_cleanup_free_ char *other = word && word[0] != '/' ? find_in_path(word, path_env, project) : NULL;
	if (word && word[0] == '/')
		show_program(ret, word);
	else if (other)
		show_program(ret, other);
	if (!ret->shown.failed)
		return 0;
	recipe_program_done(ret);
	return base_oom(err);
}
