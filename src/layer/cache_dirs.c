/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/cache_dirs.h"

#include "base/error.h"
#include "base/path.h"
#include "fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MAX_PROJECT_BYTES 65536

int cache_dirs_open(const char *state_dir, struct strs *ret_names)
{
	_cleanup_free_ char *dir = path_join(state_dir, "caches");
	DIR *entries = dir ? opendir(dir) : NULL;
	if (!entries)
		return dir ? -errno : -ENOMEM;
	for (struct dirent *e; (e = readdir(entries));)
		if (e->d_name[0] != '.')
			strs_add(ret_names, e->d_name);
	int fd = fcntl(dirfd(entries), F_DUPFD_CLOEXEC, 0);
	(void)closedir(entries);
	strs_sort(ret_names);
	return fd < 0 ? -errno : fd;
}

char *cache_dirs_project(const char *state_dir, const char *name)
{
	struct buf text = BUF_INIT;
	char *file = NULL;
	if (asprintf(&file, "%s/caches/%s/project", state_dir, name) < 0)
		return NULL;
	int rc = fs_read_file(file, MAX_PROJECT_BYTES, &text, NULL);
	free(file);
	if (rc < 0) {
		buf_done(&text);
		return NULL;
	}
	return text.len ? buf_take(&text) : strdup("");
}

int cache_dirs_clear(int all_fd, const char *name, const char *project, uint64_t *ret_entries,
		     struct airlock_error *err)
{
	static const char *const removed[] = {"upper", "whole", "used"};
	_cleanup_close_ int fd = openat(all_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int use = fd < 0 ? -EBADF : openat(fd, "use", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (use < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", project);
	if (flock(use, LOCK_EX | LOCK_NB) < 0) {
		base_error(err, AIRLOCK_ERR_BUSY, "cache", project, "a run is using the caches of %s", project);
		return base_hint(err, "try again when it has ended");
	}
	for (size_t i = 0; i < AL_ARRAY_LEN(removed); i++) {
		uint64_t entries = 0;
		struct airlock_error why = {0};
		int rc = fs_remove_tree_at(fd, removed[i], &entries, &why);
		if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
			return base_pass(err, &why);
		*ret_entries += entries > 0 && strcmp(removed[i], "used") != 0 ? entries - 1 : 0;
	}
	return 0;
}

/* Is there no such directory any more? In doubt there is. */
static bool is_gone(const char *project)
{
	struct stat st;
	return project[0] == '/' && stat(project, &st) < 0 && errno == ENOENT;
}

void cache_dirs_sweep(const char *state_dir, bool dry_run, struct strs *ret_removed)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	_cleanup_close_ int fd = cache_dirs_open(state_dir, &names);
	for (size_t i = 0; fd >= 0 && i < names.n; i++) {
		_cleanup_free_ char *project = cache_dirs_project(state_dir, names.v[i]);
		uint64_t entries = 0;
		if (!project || !is_gone(project))
			continue;
		if (!dry_run && (cache_dirs_clear(fd, names.v[i], project, &entries, NULL) < 0 ||
				 fs_remove_tree_at(fd, names.v[i], NULL, NULL) < 0))
			continue; /* in use, or it could not be removed: the next gc tries again */
		strs_add(ret_removed, project);
	}
}
