/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the project directory, named or not. */
#include "project/project.h"

#include "base/path.h"
#include "fs/fs.h"
#include "project/unclaimed.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

static int missing(struct airlock_error *err, const char *path)
{
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "project", path, "the project directory %s does not exist", path);
}

static int real_directory(const char *path, char **ret, struct airlock_error *err)
{
	_cleanup_free_ char *real = NULL;
	struct stat st;
	struct airlock_error why = {0};
	/* A lookup that finds nothing gets a message about projects; every other failure keeps its own. */
	int rc = fs_real_path(path, &real, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		return missing(err, path);
	if (rc < 0)
		return base_pass(err, &why);
	if (stat(real, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "stat", real);
	if (!S_ISDIR(st.st_mode))
		return base_error(err, AIRLOCK_ERR_INVALID, "project", path, "%s is not a directory", path);
	*ret = TAKE_PTR(real);
	return 0;
}

/* Joined, not normalised: in a/../b the ".." leaves the directory that a leads to. */
static int detect_wanted(const char *wanted, const char *cwd, char **ret, struct airlock_error *err)
{
	if (wanted[0] == '\0') /* An unset variable in a script must not mean the current directory. */
		return base_error(err, AIRLOCK_ERR_INVALID, "project", wanted,
				  "the name of the project directory is empty");
	if (wanted[0] == '/')
		return real_directory(wanted, ret, err);
	if (!cwd)
		return missing(err, wanted);
	_cleanup_free_ char *path = path_join(cwd, wanted);
	return path ? real_directory(path, ret, err) : base_oom(err);
}

static bool has_entry(const char *dir, const char *name)
{
	_cleanup_free_ char *path = path_join(dir, name);
	struct stat st;
	return path && lstat(path, &st) == 0;
}

/* /, $HOME and the directories above it: the upward search ends there, whatever they contain. */
static bool is_too_wide(const char *dir, const char *home)
{
	return strcmp(dir, "/") == 0 || (home && path_is_beneath(home, dir));
}

/* A directory added with `airlock project add` is a project wherever it is. */
static bool is_marked(const char *dir, const char *home, const char *state_dir)
{
	if (state_dir && project_is_known(state_dir, dir))
		return true;
	return project_may_adopt(dir, home) && (has_entry(dir, ".git") || has_entry(dir, ".airlock.toml"));
}

/* cwd, if nothing marks a directory below $HOME and /. */
static char *nearest_marked(const char *cwd, const char *home, const char *state_dir)
{
	assert(cwd); /* real_directory succeeded */
	_cleanup_free_ char *dir = strdup(cwd);
	while (dir && !is_too_wide(dir, home)) {
		if (is_marked(dir, home, state_dir))
			return TAKE_PTR(dir);
		char *parent = path_dirname(dir);
		free(dir);
		dir = parent;
	}
	return dir ? strdup(cwd) : NULL;
}

/* *ret is NULL if there is no acceptable one. */
static int resolve_home(const char *home, char **ret, struct airlock_error *err)
{
	if (!home || home[0] != '/')
		return 0;
	*ret = realpath(home, NULL);
	if (*ret)
		return 0;
	if (!base_is_absent(errno))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "realpath", home);
	*ret = path_normalize(NULL, home);
	return *ret ? 0 : base_oom(err);
}

static int refuse_unclaimed(const char *dir, const char *home, struct airlock_error *err)
{
	(void)base_error(err, AIRLOCK_ERR_INVALID, "project", dir,
			 "%s is %s: airlock uses it as the project only if you name it", dir,
			 project_unclaimed_words(project_unclaimed(dir, home)));
	(void)base_hint(err, "name it: airlock run -p . …");
	return AIRLOCK_ERR_INVALID;
}

int project_detect(const char *wanted, const char *cwd, const char *home, char **ret_dir, struct airlock_error *err)
{
	return project_detect_known(wanted, cwd, home, NULL, ret_dir, err);
}

int project_detect_known(const char *wanted, const char *cwd, const char *home, const char *state_dir, char **ret_dir,
			 struct airlock_error *err)
{
	_cleanup_free_ char *here = NULL, *real_home = NULL;
	if (wanted)
		return detect_wanted(wanted, cwd, ret_dir, err);
	if (!cwd)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "project", NULL, "the current directory does not exist");
	int rc = real_directory(cwd, &here, err);
	if (rc == 0)
		rc = resolve_home(home, &real_home, err);
	if (rc < 0)
		return rc;
	_cleanup_free_ char *dir = nearest_marked(here, real_home, state_dir);
	if (!dir)
		return base_oom(err);
	bool added = !is_too_wide(dir, real_home) && state_dir && project_is_known(state_dir, dir);
	if (!added && !project_may_adopt(dir, real_home))
		return refuse_unclaimed(dir, real_home, err);
	*ret_dir = TAKE_PTR(dir);
	return 0;
}
