/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run_holder.h"

#include "base/path.h"
#include "fs/fs.h"
#include "run/layers.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>

/* ── Which ── */

/* Whether these sandboxes can share namespaces at all. A user namespace with more groups than one is a run's own. So is everything
 * of a whole agent: whoever shares its pid namespace could read its credentials in /proc/PID/root and /proc/PID/environ, and a
 * process that it left could go on writing to its state in the home after airlock has cleaned that. */
static bool can_share(const struct airlock_job *job)
{
	const struct backend *b = job->backend;
	if (job->agent.recipe || !b->hold || job->user_ns_fd > 0 || !(job->plan->namespaces & PLAN_NS_PID) ||
	    layers_capture(job) == AIRLOCK_CAPTURE_COPY) /* whose end only the end of all processes tells */
		return false;
	struct backend_isolation iso = b->isolation(&job->ctx, job->plan);
	return iso.own_pid_namespace && !iso.foreign_proc;
}

static unsigned wanted_traits(const struct plan *plan)
{
	return (plan->nested ? SESSION_HOLDER_NESTED : 0) | (plan->ids.others ? SESSION_HOLDER_IDS : 0);
}

/* ── A program that the session ends with ── */

/* One pipe for all sessions. Its writing end stays open in this program for as long as it lives, and is nowhere else. */
static int lifeline[2] = {-EBADF, -EBADF};
static bool has_lifeline; /* read by all threads, written once */

int run_holder_end_with_program(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int rc = 0;
	(void)pthread_mutex_lock(&lock);
	if (!__atomic_load_n(&has_lifeline, __ATOMIC_ACQUIRE)) {
		rc = pipe2(lifeline, O_CLOEXEC) < 0 ? -errno : 0;
		__atomic_store_n(&has_lifeline, rc == 0, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

/* ── Starting one ── */

/* A process that the caller named comes before this program itself. */
static int lifeline_of(const struct airlock_job *job)
{
	return job->end_with_fd >= 0 ? job->end_with_fd : has_lifeline ? lifeline[0] : -EBADF;
}

static int start_holder(const struct airlock_job *job, const char *dir, struct session_holder *ret,
			struct airlock_error *err)
{
	pid_t pid = 0;
	_cleanup_close_ int lock = session_holder_lock(dir), busy = session_holder_open_busy(dir);
	if (lock < 0 || busy < 0)
		return base_errno(err, AIRLOCK_ERR_IO, lock < 0 ? lock : busy, "lock", dir);
	int64_t idle = job->config->session_idle_ms;
	struct backend_holder holder = {.lock_fd = lock,
					.busy_fd = busy,
					.lifeline_fd = lifeline_of(job),
					.idle_ms = idle < 0 ? INT64_MAX / 1000000 : idle};
	int rc = job->backend->hold(&job->ctx, job->plan, &holder, &pid, err);
	if (rc < 0)
		return rc;
	unsigned traits = wanted_traits(job->plan);
	rc = session_holder_record(lock, pid, traits);
	int pid_fd = rc < 0 ? -EBADF : (int)syscall(SYS_pidfd_open, pid, 0);
	if (rc < 0 || pid_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc < 0 ? rc : errno, "record the holder of", dir);
	*ret = (struct session_holder){.pid_fd = pid_fd, .pid = pid, .traits = traits};
	return 0;
}

/* Only one command at a time has the gate to the network in the session's namespace: it listens on every address there. */
static int take_gate(struct airlock_job *job, const struct session *s, struct notes *notes)
{
	_cleanup_free_ char *path = path_join(s->dir, "gate");
	if (!path)
		return -ENOMEM;
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		job->work.gate_fd = TAKE_FD(fd);
		return 0;
	}
	job->work.own_network = true;
	NOTE(notes, SESSION_OWN_NETWORK, .subject = s->name);
	return 0;
}

int run_holder_join(struct airlock_job *job, const struct session *s, struct notes *notes, struct airlock_error *err)
{
	if (!can_share(job))
		return 0;
	job->work.busy_fd = session_holder_busy(s->dir); /* first: a holder that finds nobody busy may end */
	job->work.keepers_fd = job->work.busy_fd < 0 ? -EBADF : session_keepers_open(s->dir);
	if (job->work.busy_fd < 0 || job->work.keepers_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, AL_MIN(job->work.busy_fd, job->work.keepers_fd), "lock", s->dir);
	struct session_holder found = SESSION_HOLDER_INIT;
	int rc = session_holder_find(s->dir, &found);
	if (rc == 0 && found.traits != wanted_traits(job->plan)) {
		session_holder_done(&found);
		NOTE(notes, SESSION_OWN_SANDBOX, .subject = s->name);
		return 0;
	}
	struct airlock_error why = {0};
	if (rc == 0)
		job->work.holder = found;
	else
		rc = start_holder(job, s->dir, &job->work.holder, &why);
	if (rc < 0 &&
	    why.code == AIRLOCK_ERR_INIT_FAILED) { /* not on this machine; bwrap may have rights that we lack */
		NOTE(notes, SESSION_OWN_SANDBOX, .subject = s->name, .cause = why.message);
		base_error_clear(&why);
		return 0;
	}
	if (rc < 0)
		return base_pass(err, &why);
	rc = job->plan->gate ? take_gate(job, s, notes) : 0;
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "lock", s->dir) : 0;
}

void run_holder_alone(struct airlock_job *job, const char *run, pid_t pid)
{
	struct job_session *work = &job->work;
	if (!work->dir || work->holder.pid_fd >= 0)
		return;
	(void)snprintf(work->own_run, sizeof work->own_run, "%s", run);
	work->own_fd = session_own_enter(work->dir, run, pid); /* without it `session end` does not find the run */
}

bool run_holder_has_others(const struct airlock_job *job, const char *run)
{
	const struct job_session *work = &job->work;
	_cleanup_holder_ struct session_holder h = SESSION_HOLDER_INIT;
	if (!work->dir)
		return false;
	return session_own_has_other(work->dir, run) ||
	       (work->holder.pid_fd < 0 && session_holder_find(work->dir, &h) == 0);
}

#define DYING_ROUNDS 60
#define DYING_NS 5000000

/* A holder that was killed has its lock until the kernel gets to closing its files. */
bool run_holder_renew(struct airlock_job *job)
{
	const struct session_holder *old = &job->work.holder;
	if (old->pid_fd < 0)
		return false;
	for (int i = 0; i < DYING_ROUNDS; i++) {
		struct session_holder found = SESSION_HOLDER_INIT;
		int rc = session_holder_find(job->work.dir, &found);
		if (rc == 0 && found.pid == old->pid) {
			session_holder_done(&found);
			(void)nanosleep(&(struct timespec){.tv_nsec = DYING_NS}, NULL);
			continue;
		}
		if (rc < 0)
			rc = start_holder(job, job->work.dir, &found, NULL);
		if (rc < 0 || found.traits != wanted_traits(job->plan)) {
			session_holder_done(&found);
			return false;
		}
		session_holder_done(&job->work.holder);
		job->work.holder = found;
		return true;
	}
	return false;
}

static struct backend_shared shared_of(const struct session_holder *h, bool own_network)
{
	if (h->pid_fd < 0)
		return (struct backend_shared){0};
	return (struct backend_shared){h->pid_fd, h->pid, own_network};
}

struct backend_shared run_holder_shared(const struct airlock_job *job)
{
	return shared_of(&job->work.holder, job->work.own_network);
}

/* Whoever waits for a command may start the holder of a session that does not exist yet: it has a directory then, and no record. */
bool run_holder_expect(const struct airlock_job *job, struct session_holder *ret)
{
	const struct session_place at = {&job->host, job->project->dir};
	_cleanup_free_ char *dir = session_dir(&at, job->work.name);
	if (!dir || !can_share(job) || fs_make_private_dir(dir, NULL) < 0)
		return false;
	_cleanup_close_ int busy = session_holder_busy(dir); /* first, as above */
	if (busy < 0 || (session_holder_find(dir, ret) < 0 && start_holder(job, dir, ret, NULL) < 0))
		return false;
	return ret->traits == wanted_traits(job->plan);
}

void run_holder_leave(struct airlock_job *job)
{
	session_holder_done(&job->work.holder);
	if (job->work.own_fd >= 0)
		session_own_leave(job->work.dir, job->work.own_run, TAKE_FD(job->work.own_fd));
	if (job->work.busy_fd >= 0)
		session_holder_touch(job->work.busy_fd);
	base_closep(&job->work.busy_fd);
	base_closep(&job->work.gate_fd);
	base_closep(&job->work.keepers_fd);
}
