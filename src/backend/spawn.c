/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* posix_spawn(3) shares memory instead of copying page tables, and does nothing unsafe after clone. */
#include "backend/spawn.h"

#include "child/child_job.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#define MAX_FDS 11

int spawn_lift_fds(const int *from, size_t n, int *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = -1;
	for (size_t i = 0; i < n; i++) {
		if (from[i] < 0 || (ret[i] = fcntl(from[i], F_DUPFD_CLOEXEC, SPAWN_SAFE_FD)) >= 0)
			continue;
		int rc = -errno;
		spawn_drop_fds(ret, n);
		return rc;
	}
	return 0;
}

void spawn_drop_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		base_closep(&fds[i]);
}

static int place_fds(posix_spawn_file_actions_t *actions, const int *from, size_t n, int *copies)
{
	int rc = spawn_lift_fds(from, n, copies);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (copies[i] >= 0)
			rc = -posix_spawn_file_actions_adddup2(actions, copies[i], (int)i);
	return rc;
}

static int set_attributes(posix_spawnattr_t *attr, bool new_session)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	if (new_session)
		flags |= POSIX_SPAWN_SETSID;
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	return -posix_spawnattr_setflags(attr, flags);
}

int spawn_process(const char *file, const char *const *argv, const struct backend_fds *fds,
		  const struct spawn_more *more, bool new_session, pid_t *ret_pid, struct airlock_error *err)
{
	int from[MAX_FDS] = {fds->stdin_fd, fds->stdout_fd,    fds->stderr_fd,	 fds->control_fd,
			     fds->job_fd,   fds->program_fd,   more->args,	 more->stage,
			     more->user,    more->holder_user, more->holder_pids};
	_Static_assert(CHILD_FD_CONTROL == 3 && CHILD_FD_JOB == 4 && CHILD_FD_SELF == 5 && CHILD_FD_ARGS == 6 &&
			       CHILD_FD_STAGE == 7 && CHILD_FD_USER_NS == 8 && CHILD_FD_HOLDER == 8 &&
			       CHILD_FD_HOLDER_USER == 9 && CHILD_FD_HOLDER_PIDS == 10,
		       "the order of `from` is the numbering of child/child_job.h");
	int copies[MAX_FDS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	char *const no_environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return base_oom(err);
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return base_oom(err);
	}
	int rc = place_fds(&actions, from, MAX_FDS, copies);
	if (rc == 0)
		rc = set_attributes(&attr, new_session);
	if (rc == 0)
		rc = -posix_spawn(ret_pid, file, &actions, &attr, (char *const *)argv, no_environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	spawn_drop_fds(copies, MAX_FDS);
	return rc == 0 ? 0 : base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "spawn", file);
}
