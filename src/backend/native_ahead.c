/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Namespaces made while the plan is. A kernel takes as long for them as we do to read the configuration and to decide, and
 * most machines have two processors. What they are does not depend on the plan; a plan that asks for others gets new ones. */
#include "backend/native.h"

#include "backend/prepared.h"
#include "backend/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

static const struct plan usual = {.namespaces = PLAN_NS_MOUNT | PLAN_NS_PID | PLAN_NS_NET | PLAN_NS_IPC | PLAN_NS_UTS |
						PLAN_NS_CGROUP,
				  .new_session = true};

/* Every place the child gets something in later is taken, by its socket: what comes with CHILD_TAKE is not in the way. */
static int launch_with(struct launch_ahead *a, int control, int program)
{
	static const char *const argv[] = {"airlock", "ahead", NULL};
	_cleanup_close_ int lifted_program = fcntl(program, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD),
			    lifted = fcntl(control, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);
	if (lifted_program < 0 || lifted < 0)
		return -EMFILE;
	a->l = (struct launch){.namespaces = native_clone_flags(&usual),
			       .argv = argv,
			       .uid = geteuid(),
			       .gid = getegid(),
			       .new_session = usual.new_session,
			       .program_fd = lifted_program};
	for (int i = 0; i < LAUNCH_FDS; i++)
		a->l.fds[i] = lifted;
	return launch_ahead(a);
}

static int begin(struct backend_prepared *p)
{
	int sockets[2], one = 1;
	/* Before the namespaces, so that nothing can change unnoticed. */
	p->host_mounts_fd = native_open_mount_table();
	if (p->host_mounts_fd < 0)
		return p->host_mounts_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	p->control_fd = sockets[0];
	_cleanup_close_ int control = sockets[1], program = child_program_fd();
	if (program < 0)
		return program;
	if (setsockopt(p->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) < 0)
		return -errno;
	struct launch_ahead *a = malloc(sizeof *a);
	if (!a)
		return -ENOMEM;
	int rc = launch_with(a, control, program);
	if (rc == 0)
		p->ahead = a;
	else
		free(a);
	return rc;
}

int native_begin(struct backend_prepared **ret, struct airlock_error *err)
{
	struct backend_prepared *p = backend_prepared_new();
	if (!p)
		return base_oom(err);
	int rc = begin(p);
	if (rc == 0) {
		*ret = p;
		return 0;
	}
	backend_prepared_free(p);
	return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "begin", "native");
}

static bool has_mounts_of_then(const struct backend_prepared *p)
{
	struct pollfd fd = {p->host_mounts_fd, POLLPRI, 0};
	return poll(&fd, 1, 0) == 0;
}

bool native_take_ahead(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		       struct backend_prepared *p)
{
	const struct launch was = p->ahead->l;
	if (was.namespaces != native_clone_flags(plan) || was.new_session != plan->new_session ||
	    was.uid != geteuid() || was.gid != getegid() || !has_mounts_of_then(p))
		return false;
	_cleanup_close_ int plan_fd = native_plan_fd(plan, own_proc, empty_file, fds);
	return plan_fd >= 0 && backend_prepared_settle(p) == 0 && native_send_command(p, fds, plan_fd) == 0;
}
