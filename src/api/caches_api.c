/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock cache`: measures and removes the caches of each project. Commands wrote their content, so it is never
 * trusted: only measured and removed, beneath descriptors (I6). */
#include "layer/cache_dirs.h"

#include "airlock/history.h"
#include "api/list.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "fs/fs.h"
#include "settings/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

struct airlock_caches {
	struct airlock_cache *v;
	size_t n, cap;
	struct strs texts; /* behind v */
	char *json;
};

API_LIST(caches, airlock_cache)

void airlock_caches_free(struct airlock_caches *l)
{
	if (!l)
		return;
	strs_done(&l->texts);
	free(l->v);
	free(l->json);
	free(l);
}

static void add_cache(struct airlock_caches *l, const char *project, const char *name, uint64_t bytes, uint64_t entries)
{
	strs_add(&l->texts, project);
	strs_take(&l->texts, path_of_name(name));
	l->texts.failed |= !ARRAY_ROOM(l->v, l->n, l->cap, 8);
	if (l->texts.failed)
		return;
	const char *whose = l->texts.v[l->texts.n - 2], *path = l->texts.v[l->texts.n - 1];
	l->v[l->n++] = (struct airlock_cache){*whose ? whose : NULL, path, bytes, entries};
}

static void list_part(struct airlock_caches *l, int dir_fd, const char *part, const char *project)
{
	_cleanup_close_ int fd = openat(dir_fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	if (!entries)
		return;
	(void)TAKE_FD(fd);
	for (struct dirent *e; (e = readdir(entries));) {
		uint64_t bytes = 0, count = 0;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fs_tree_size_at(dirfd(entries), e->d_name, &bytes, &count, NULL) < 0 || count <= 1)
			continue; /* nothing in it but itself */
		add_cache(l, project, e->d_name, bytes, count - 1);
	}
	(void)closedir(entries);
}

static void list_all(struct airlock_caches *l, const struct host *host, int all_fd, const struct strs *names)
{
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_free_ char *project = cache_dirs_project(host->state_dir, names->v[i]);
		_cleanup_close_ int fd = openat(all_fd, names->v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		for (size_t k = 0; fd >= 0 && k < AL_ARRAY_LEN(parts); k++)
			list_part(l, fd, parts[k], project ? project : "?");
	}
}

int airlock_caches_open(const struct airlock_settings *s, struct airlock_caches **ret, struct airlock_error *err)
{
	struct host host;
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	struct airlock_caches *l = calloc(1, sizeof *l);
	_cleanup_close_ int fd = cache_dirs_open(host.state_dir, &names);
	if (l && fd >= 0)
		list_all(l, &host, fd, &names);
	else if (fd < 0 && fd != -ENOENT)
		rc = base_errno(err, AIRLOCK_ERR_IO, fd, "open", "caches");
	host_done(&host);
	if (rc == 0 && (!l || names.failed || l->texts.failed))
		rc = base_oom(err);
	if (rc == 0)
		*ret = l;
	else
		airlock_caches_free(l);
	return rc;
}

const char *airlock_caches_json(struct airlock_caches *l)
{
	uint64_t total = 0;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "caches");
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_cache *c = &l->v[i];
		json_open_object(&j, NULL);
		if (c->project)
			json_path(&j, "project", c->project);
		else
			json_null(&j, "project");
		json_path(&j, "path", c->path);
		json_int(&j, "bytes", (int64_t)c->bytes);
		json_int(&j, "entries", (int64_t)c->entries);
		json_close(&j);
		total += c->bytes;
	}
	json_close(&j);
	json_int(&j, "bytes", (int64_t)total);
	json_close(&j);
	return api_json(&out, &l->json);
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
