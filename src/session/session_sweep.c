/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions that hold nothing and were unused for long. What they had is in the history as long as its runs are. */
#include "session/session_parts.h"

#include "base/path.h"
#include "fs/fs.h"
#include "session/holder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_unused(const struct session *s, int64_t before_ns)
{
	_cleanup_processes_ struct session_processes running = {0};
	return s->n_layers == 0 && s->used_ns < before_ns && session_processes(s->dir, &running) == 0 && running.n == 0;
}

/* The entries of its directory beside the record. */
static void remove_rest(int dir, const char *path)
{
	static const char *const others[] = {"before", "holder", "busy", "gate", "keepers", "lock"};
	(void)fs_remove_tree_at(dir, SESSION_HOME, NULL, NULL);
	(void)fs_remove_tree_at(dir, SESSION_OWN_DIR, NULL, NULL);
	for (size_t i = 0; i < AL_ARRAY_LEN(others); i++)
		(void)unlinkat(dir, others[i], 0);
	(void)fs_remove_tree_at(dir, "tmp", NULL, NULL);
	(void)rmdir(path);
	_cleanup_free_ char *project = path_dirname(path);
	if (project)
		(void)rmdir(project); /* unless it has others */
}

/* Its record first: without it there is no session. */
int session_remove(const struct session *s, struct airlock_error *err)
{
	_cleanup_close_ int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || unlinkat(dir, "session", 0) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", s->dir);
	remove_rest(dir, s->dir);
	return 0;
}

/* A server starts the holder before the first command makes the session. If no command came, the directory stays. */
static void remove_unborn(const char *path, int64_t before_ns)
{
	struct stat st;
	_cleanup_holder_ struct session_holder h = SESSION_HOLDER_INIT;
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || faccessat(dir, "session", F_OK, AT_SYMLINK_NOFOLLOW) == 0 || fstat(dir, &st) < 0 ||
	    (int64_t)st.st_mtim.tv_sec * 1000000000 >= before_ns || session_holder_find(path, &h) == 0)
		return;
	remove_rest(dir, path);
}

static void remove_all_unborn(const struct host *host, int64_t before_ns)
{
	_cleanup_strs_ struct strs all = STRS_INIT;
	if (session_list_directories(host, &all) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		remove_unborn(all.v[i], before_ns);
}

/* Another program may have used it since we looked. */
static int remove_locked(const struct host *host, const struct session *seen, int64_t before_ns, struct strs *ret,
			 struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {host, seen->project};
	int rc = session_open(&s, &at, seen->name, SESSION_LOCK, err);
	if (rc < 0 || !is_unused(&s, before_ns))
		return rc;
	rc = session_remove(&s, err);
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
	if (rc == 0 && !dry_run)
		remove_all_unborn(host, before_ns);
	return rc < 0 ? rc : ret->failed ? base_oom(err) : 0;
}
