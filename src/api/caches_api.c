/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock cache`: what the caches of each project take up, and removing them. What is in them was written by commands, so it
 * is only measured and removed, beneath descriptors. */
#include "layer/cache_dirs.h"

#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/fs.h"
#include "settings/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

static const char *const parts[] = {"upper", "whole"};

/* The path below the home that a directory's name stands for. */
static char *path_of_name(const char *name)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "~/");
	for (const char *p = name; *p; p++) {
		bool slash = strncmp(p, "%2F", 3) == 0, percent = strncmp(p, "%25", 3) == 0;
		buf_addc(&b, slash ? '/' : *p);
		p += slash || percent ? 2 : 0;
	}
	return buf_take(&b);
}

/* ── Listing ── */

struct cache_listing {
	struct buf *out;
	struct json *json; /* NULL: for people */
	uint64_t total;
};

static void tell_cache(struct cache_listing *l, const char *project, const char *path, uint64_t bytes, uint64_t entries)
{
	l->total += bytes;
	if (l->json) {
		json_open_object(l->json, NULL);
		json_path(l->json, "project", *project ? project : NULL);
		json_path(l->json, "path", path);
		json_int(l->json, "bytes", (int64_t)bytes);
		json_int(l->json, "entries", (int64_t)entries);
		json_close(l->json);
		return;
	}
	text_add_size(l->out, (int64_t)bytes);
	buf_addc(l->out, '\t');
	text_add_escaped(l->out, path, strlen(path));
	buf_addc(l->out, '\t');
	text_add_escaped(l->out, *project ? project : "(shared)", strlen(*project ? project : "(shared)"));
	buf_addc(l->out, '\n');
}

static int list_part(struct cache_listing *l, int dir_fd, const char *part, const char *project)
{
	_cleanup_close_ int fd = openat(dir_fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	if (!entries)
		return 0;
	(void)TAKE_FD(fd);
	for (struct dirent *e; (e = readdir(entries));) {
		uint64_t bytes = 0, count = 0;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fs_tree_size_at(dirfd(entries), e->d_name, &bytes, &count, NULL) < 0 || count <= 1)
			continue; /* nothing in it but itself */
		_cleanup_free_ char *path = path_of_name(e->d_name);
		if (path)
			tell_cache(l, project, path, bytes, count - 1);
	}
	(void)closedir(entries);
	return 0;
}

static void list_all(struct cache_listing *l, const struct host *host, int all_fd, const struct strs *names)
{
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_free_ char *project = cache_dirs_project(host->state_dir, names->v[i]);
		_cleanup_close_ int fd = openat(all_fd, names->v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		for (size_t k = 0; fd >= 0 && k < AL_ARRAY_LEN(parts); k++)
			(void)list_part(l, fd, parts[k], project ? project : "?");
	}
}

int airlock_caches_list(const struct airlock_settings *s, int json, char **ret_text, struct airlock_error *err)
{
	struct host host;
	struct buf out = BUF_INIT;
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = cache_dirs_open(host.state_dir, &names);
	struct json j = json_begin(&out, true);
	struct cache_listing l = {.out = &out, .json = json ? &j : NULL};
	if (json) {
		json_open_object(&j, NULL);
		json_open_array(&j, "caches");
	}
	if (fd >= 0)
		list_all(&l, &host, fd, &names);
	else if (fd != -ENOENT)
		rc = base_errno(err, AIRLOCK_ERR_IO, fd, "open", "caches");
	if (json) {
		json_close(&j);
		json_int(&j, "bytes", (int64_t)l.total);
		json_close(&j);
		buf_addc(&out, '\n');
	}
	host_done(&host);
	*ret_text = rc == 0 && !names.failed ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}

/* ── Removing ── */

int airlock_caches_clear(const struct airlock_settings *s, const char *dir, uint64_t *ret_entries,
			 struct airlock_error *err)
{
	struct host host;
	_cleanup_strs_ struct strs names = STRS_INIT;
	*ret_entries = 0;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = cache_dirs_open(host.state_dir, &names);
	if (fd < 0 && fd != -ENOENT)
		rc = base_errno(err, AIRLOCK_ERR_IO, fd, "open", "caches");
	for (size_t i = 0; fd >= 0 && rc == 0 && i < names.n; i++) {
		_cleanup_free_ char *project = cache_dirs_project(host.state_dir, names.v[i]);
		const char *shown = !project ? names.v[i] : *project ? project : "all projects";
		if (!dir || (project && strcmp(project, dir) == 0))
			rc = cache_dirs_clear(fd, names.v[i], shown, ret_entries, err);
	}
	host_done(&host);
	return rc;
}
