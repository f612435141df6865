/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts the bytes on the disk that a session has written, and compares them with its limits.
 *
 * The record of the session has the bytes of every layer, so that only the layers of commands that are running have to be measured.
 */
#include "session/session_parts.h"

#include "base/path.h"
#include "fs/fs.h"
#include "history/begun.h"
#include "settings/config_context.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

uint64_t session_disk_free(const char *dir)
{
	struct statvfs st;
	return statvfs(dir, &st) < 0 ? 0 : (uint64_t)st.f_bavail * st.f_frsize;
}

struct session_limits session_limits_of(const struct config *c, uint64_t free_bytes)
{
	int64_t all = (int64_t)AL_MIN(free_bytes, (uint64_t)INT64_MAX / 128); /* a percentage of it must fit */
	return (struct session_limits){.disk = policy_share_bytes(c->session_disk, all),
				       .tmp = policy_share_bytes(c->session_tmp_size, all)};
}

static uint64_t tree_bytes(const char *path)
{
	_cleanup_free_ char *parent = path_dirname(path);
	_cleanup_close_ int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	uint64_t bytes = 0, entries = 0;
	return fd < 0 || fs_tree_size_at(fd, path_basename(path), &bytes, &entries, NULL) < 0 ? 0 : bytes;
}

uint64_t session_uppers_bytes(const struct strs *uppers)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < uppers->n; i++)
		bytes += tree_bytes(uppers->v[i]);
	return bytes;
}

uint64_t session_layers_bytes(const struct session *s)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < s->n_layers; i++)
		bytes += s->layers[i].bytes;
	return bytes;
}

uint64_t session_running_bytes(const struct host *host, const char *project, const char *name, const char *run)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	uint64_t bytes = 0;
	if (begun_list(host, &runs, NULL) < 0)
		return 0;
	for (size_t i = 0; i < runs.n; i++) {
		_cleanup_begun_ struct begun b = BEGUN_INIT;
		if ((run && strcmp(runs.v[i], run) == 0) || begun_load(host, runs.v[i], &b, NULL) < 0 || !b.session ||
		    b.mirrored || strcmp(b.session, name) != 0 || strcmp(b.project, project) != 0)
			continue;
		for (size_t k = 0; k < b.set->n_roots; k++)
			bytes += tree_bytes(b.set->roots[k].upper);
	}
	return bytes;
}
