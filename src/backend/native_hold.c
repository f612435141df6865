/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The holder of a session's namespaces (child/hold.h): started as a view with nothing in it. It is the same for native and bubblewrap.
 *
 * All namespaces belong to the holder's user namespace, because bwrap mounts /proc and a process must have capabilities in the user
 * namespace that the pid namespace belongs to. An ordinary user's has another one around it, in which nobody lives: from there
 * the stage can enter all but the user and the pid namespace, and bwrap those (child/stage.c). Root needs none, being root outside.
 * One with the ids of other users is entered last, and belongs to native alone.
 */
#include "backend/native.h"

#include "base/other_ids.h"
#include "child/child_exec.h"
#include "child/hold.h"
#include "child/pass.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

static bool user_comes_last(const struct plan *plan)
{
	return child_is_privileged() && plan->ids.others;
}

/* All that commands share, and mounts that show nothing. */
static int holder_namespaces(const struct plan *plan)
{
	return (user_comes_last(plan) ? 0 : CLONE_NEWUSER) | CLONE_NEWNS | NATIVE_SHARED_NAMESPACES;
}

static struct child_plan holder_plan(const struct plan *plan, const struct backend_holder *h)
{
	struct child_plan spec = {
		.flags = (user_comes_last(plan) ? CHILD_PLAN_USER_LAST : 0) | CHILD_PLAN_LOOPBACK |
			 (plan->nested ? 0 : CHILD_PLAN_NO_NESTED),
		.uid = geteuid(),
		.gid = getegid(),
		.idle_ms = h->idle_ms,
		.first_id = plan->ids.others ? IDS_FIRST : 0,
		.n_ids = plan->ids.others ? IDS_COUNT : 0,
	};
	return spec;
}

/* Until the namespaces are there, or it said why not. */
static int wait_for_hello(int control)
{
	struct pass_received in;
	long rc;
	do
		rc = pass_receive(control, PASS_WAIT, &in);
	while (rc == -EINTR);
	if (rc <= 0)
		return rc < 0 ? (int)rc : -ECONNRESET;
	pass_close(&in);
	return in.m.type == CHILD_HELLO ? 0 : in.m.b > 0 ? -in.m.b : -EPROTO;
}

/* Commands will have to open its namespaces: root needs CAP_SYS_PTRACE for that, which containers may lack. */
static int check_can_enter(pid_t pid)
{
	char path[32];
	(void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static int launch_holder(const struct plan *plan, const struct backend_holder *h, pid_t *ret_pid, const char **ret_call)
{
	const struct child_plan spec = holder_plan(plan, h);
	int sockets[2];
	*ret_call = "socketpair";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	_cleanup_close_ int ours = sockets[0], theirs = sockets[1];
	*ret_call = "memfd_create";
	_cleanup_close_ int job = child_plan_fd(&spec), program = child_program_fd();
	if (job < 0 || program < 0)
		return job < 0 ? job : program;
	_Static_assert(CHILD_FD_CONTROL == 3 && HOLD_FD_LOCK == 4 && HOLD_FD_BUSY == 6 && CHILD_FD_PLAN == 7 &&
			       HOLD_FD_LIFELINE == 8,
		       "their places below");
	/* Its place must not stay to a descriptor of the caller's; a file in memory never ends. */
	int lifeline = h->lifeline_fd >= 0 ? h->lifeline_fd : job;
	const int from[LAUNCH_FDS] = {-1, -1, -1, theirs, h->lock_fd, -1, h->busy_fd, job, lifeline};
	struct launch l;
	int rc = native_launch_open(&l, "hold", holder_namespaces(plan), true, from, program, 0);
	if (rc < 0)
		return rc;
	l.leaves = 1;
	l.outer_user = !child_is_privileged();
	rc = launch(&l, ret_pid);
	*ret_call = l.failed_call;
	native_launch_close(&l);
	base_closep(&theirs);
	if (rc < 0)
		return rc;
	*ret_call = "hold namespaces";
	rc = wait_for_hello(ours);
	if (rc == 0) {
		*ret_call = "enter namespaces";
		rc = check_can_enter(*ret_pid);
	}
	if (rc < 0)
		(void)kill(*ret_pid, SIGKILL);
	return rc;
}

int native_hold(const struct backend_context *ctx, const struct plan *plan, const struct backend_holder *holder,
		pid_t *ret_pid, struct airlock_error *err)
{
	const char *call = NULL;
	int rc = launch_holder(plan, holder, ret_pid, &call);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, call, "for the session") : 0;
}
