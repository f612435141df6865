/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The .airlock.toml files above the project.
 *
 * A project ends where the next .git or .airlock.toml begins. So a command could make a directory its own project
 * (`git init sub`) and shed the rules of the project around it. Therefore every .airlock.toml from the project up to
 * the home counts as well (up to / if the project is not in the home), but it can only tighten, trusted or not: it was
 * written, or accepted, for another project.
 *
 * Most directories have no such file: each start costs one failing open() per directory.
 *
 * Other users may be able to write to a directory above (/tmp, a shared disk). Their file must neither stop our runs
 * nor change them. So the owner is checked first, and other faults matter only if the file is ours. Owner and bytes
 * come from the same descriptor. */
#include "config/config.h"
#include "config/merge.h"

#include "base/glob.h"
#include "base/path.h"

#include <fcntl.h>
#include <string.h>

/* ── Which directories ── */

void config_list_above(const char *project_dir, const char *home, struct strs *ret)
{
	_cleanup_strs_ struct strs innermost_first = STRS_INIT;
	bool in_home = home && path_is_beneath(project_dir, home);
	_cleanup_free_ char *dir = strdup(project_dir);
	while (dir && strcmp(dir, "/") != 0 && !(in_home && strcmp(dir, home) == 0)) {
		char *parent = path_dirname(dir);
		free(dir);
		dir = parent;
		if (dir)
			strs_add(&innermost_first, dir);
	}
	for (size_t i = innermost_first.n; i-- > 0;)
		strs_add(ret, innermost_first.v[i]);
	if (!dir || innermost_first.failed)
		ret->failed = true;
}

bool config_counts_above(const char *project_dir, const char *dir, const struct stat *file)
{
	struct stat st;
	if (file->st_uid == 0 || file->st_uid == geteuid())
		return true;
	if (stat(dir, &st) < 0 || (st.st_mode & S_IWOTH))
		return false;
	return stat(project_dir, &st) == 0 && st.st_uid == file->st_uid;
}

/* ── Opening ── */

static int warn_of_foreign(struct merge *m, const char *path, struct airlock_error *err)
{
	NOTE(&m->c->warnings, FOREIGN_FILE, .subject = path);
	return m->c->warnings.failed ? base_oom(err) : 0;
}

/* Takes dir and path. The project's file stays last. */
static struct config_file *add_file(struct merge *m, char **dir, char **path)
{
	struct config_file *f = merge_project_file(m);
	m->n_files++;
	*f = (struct config_file){.path = TAKE_PTR(*path),
				  .home = m->in->home,
				  .dir = TAKE_PTR(*dir),
				  .untrusted = true,
				  .is_above = true};
	f->base = f->dir;
	return f;
}

static int read_above(struct merge *m, struct config_file *f, int fd_or_errno, struct airlock_error *err)
{
	int rc = config_file_read_fd(fd_or_errno, f->path, CONFIG_FILE_PROJECT, &f->text, err);
	if (rc >= 0)
		rc = config_file_parse(f, err);
	if (rc >= 0 && m->in->trust_dir)
		rc = config_is_trusted(m->in->trust_dir, f->dir, buf_str(&f->text), f->text.len, &f->accepted, err);
	if (rc >= 0 && !f->accepted)
		m->untrusted_above = f;
	return rc;
}

static int open_above(struct merge *m, const char *dir, struct airlock_error *err)
{
	_cleanup_free_ char *path = path_join(dir, CONFIG_PROJECT_FILE), *copy = NULL;
	struct stat st;
	if (!path)
		return base_oom(err);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
	int fd_or_errno = fd < 0 ? -errno : fd;
	if (fd_or_errno == -ENOENT || fd_or_errno == -ENOTDIR)
		return 0;
	/* A link, or a file that we cannot read, still has an owner. */
	if ((fd >= 0 ? fstat(fd, &st) : lstat(path, &st)) < 0)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "stat", path);
	if (!config_counts_above(m->in->project_dir, dir, &st))
		return warn_of_foreign(m, path, err);
	if (m->n_files == MERGE_MAX_FILES)
		return base_error(err, AIRLOCK_ERR_LIMIT, "config", path, "%s: more than %d files %s above the project",
				  path, CONFIG_MAX_ABOVE, CONFIG_PROJECT_FILE);
	copy = strdup(dir);
	return copy ? read_above(m, add_file(m, &copy, &path), fd_or_errno, err) : base_oom(err);
}

int merge_open_above(struct merge *m, struct airlock_error *err)
{
	_cleanup_strs_ struct strs dirs = STRS_INIT;
	config_list_above(m->in->project_dir, m->in->home, &dirs);
	int rc = dirs.failed ? base_oom(err) : 0;
	for (size_t i = 0; rc >= 0 && i < dirs.n; i++)
		rc = open_above(m, dirs.v[i], err);
	return rc;
}

/* ── Patterns ── */

/* Cuts the first component off *path and returns it; NULL at the end. */
static char *cut_component(char **path)
{
	char *name = strsep(path, "/");
	return name && *name == '\0' ? cut_component(path) : name;
}

/* Patterns of [gate] are relative to the project of their file. A pattern with a slash is matched component by
 * component from the top, so the components that lead to our project are cut off; if it matches a directory on the
 * way, it means everything in it. A pattern without a slash is matched with every name. */
int merge_rebase_glob(const struct merge *m, const struct config_file *f, const char *pattern, char **ret,
		      struct airlock_error *err)
{
	const char *rest = path_rest(m->in->project_dir, f->dir);
	_cleanup_free_ char *way = strdup(rest ? rest : ""), *copy = NULL;
	while (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	size_t len = strlen(pattern);
	bool anchored = len > 0 && memchr(pattern, '/', len - 1);
	bool below = len > 3 && strcmp(pattern + len - 3, "/**") == 0;
	copy = strndup(pattern, len - (below ? 3 : 0));
	if (!way || !copy)
		return base_oom(err);
	char *left = copy, *way_left = way, *first = anchored ? NULL : cut_component(&left);
	bool covered = false;
	for (char *name; !covered && (name = cut_component(&way_left));) {
		char *part = anchored ? cut_component(&left) : first;
		if (anchored && part && !glob_matches(part, name, GLOB_ANY_CASE))
			return 0;
		covered = !part || (!anchored && glob_matches(part, name, GLOB_ANY_CASE));
	}
	_cleanup_buf_ struct buf out = BUF_INIT;
	while (left && *left == '/')
		left++;
	if (covered || (anchored && (!left || *left == '\0')))
		buf_addc(&out, '*');
	else if (anchored)
		buf_printf(&out, "/%s%s", left, below ? "/**" : "");
	else
		buf_adds(&out, pattern);
	*ret = buf_take(&out);
	return *ret ? 1 : base_oom(err);
}
