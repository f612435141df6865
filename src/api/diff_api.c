/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock diff`, and the content that it compares. */
#include "session/decided.h"

#include "base/error.h"
#include "base/path.h"

#include <string.h>

int airlock_changes_diff(const struct airlock_settings *s, const char *run, const char *const *paths, int colour,
			 char **ret_text, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	struct buf out = BUF_INIT;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc == 0) {
		struct diff_options options = {.colour = colour != 0, .run_dir = d.run.dir};
		rc = diff_write(d.run.set, paths, &options, &out, err);
	}
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}

static const struct change *find_change(const struct change_set *set, const char *path, struct airlock_error *err)
{
	_cleanup_free_ char *full = path_normalize(set->n_roots ? set->roots[0].path : "/", path);
	if (!full) {
		(void)base_oom(err);
		return NULL;
	}
	for (size_t i = 0; i < set->n; i++) {
		const char *rel = path_rest(full, set->roots[set->v[i].root].path);
		if (rel && strcmp(rel, set->v[i].path) == 0)
			return &set->v[i];
	}
	(void)base_error(err, AIRLOCK_ERR_NOT_FOUND, "content", path, "run %s changed nothing at %s", set->run, path);
	return NULL;
}

int airlock_changes_content(const struct airlock_settings *s, const char *run, const char *path, enum airlock_side side,
			    int *ret_fd, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc < 0)
		return rc;
	struct airlock_error why = {0};
	const struct change *c = find_change(d.run.set, path, &why);
	if (!c)
		return base_pass(err, &why);
	int fd = diff_open_side(d.run.set, d.run.dir, c, side);
	if (fd == -ENOENT)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "content", path,
				  "there is no file %s on this side of the change", path);
	if (fd == -EISDIR || fd == -EINVAL)
		return base_error(err, AIRLOCK_ERR_INVALID, "content", path, "%s is no file", path);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, -fd, "open", path);
	*ret_fd = fd;
	return 0;
}
