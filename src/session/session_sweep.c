/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions that hold nothing and were unused for long. What they had is in the history as long as its runs are. */
#include "session/session_parts.h"

#include "base/path.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool is_unused(const struct session *s, int64_t before_ns)
{
	return s->n_layers == 0 && s->used_ns < before_ns;
}

/* Its record first: without it there is no session. */
static int remove_session(const struct session *s, struct airlock_error *err)
{
	_cleanup_close_ int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || unlinkat(dir, "session", 0) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", s->dir);
	session_clear_tmp(s);
	(void)unlinkat(dir, "lock", 0);
	(void)rmdir(s->dir);
	_cleanup_free_ char *project = path_dirname(s->dir);
	if (project)
		(void)rmdir(project); /* unless it has others */
	return 0;
}

/* Somebody may have gone on with it since it was looked at. */
static int remove_locked(const struct host *host, const struct session *seen, int64_t before_ns, struct strs *ret,
			 struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {host, seen->project};
	int rc = session_open(&s, &at, seen->name, SESSION_LOCK, err);
	if (rc < 0 || !is_unused(&s, before_ns))
		return rc;
	rc = remove_session(&s, err);
	if (rc == 0)
		strs_add(ret, s.name);
	return rc;
}

int session_sweep(const struct host *host, int64_t before_ns, bool dry_run, struct strs *ret, struct airlock_error *err)
{
	_cleanup_strs_ struct strs all = STRS_INIT;
	int rc = session_list(&(struct session_place){host, NULL}, &all, err);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		_cleanup_session_ struct session s = SESSION_INIT;
		rc = session_open_entry(&s, host, all.v[i], err);
		if (rc < 0 || !is_unused(&s, before_ns))
			continue;
		if (dry_run)
			strs_add(ret, s.name);
		else
			rc = remove_locked(host, &s, before_ns, ret, err);
	}
	return rc < 0 ? rc : ret->failed ? base_oom(err) : 0;
}
