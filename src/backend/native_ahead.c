/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How every sandbox begins, made while the plan is: namespaces, the host's root, /dev and /proc. A kernel takes as long for
 * them as we do to read the configuration and to decide, and most machines have two processors. Nothing of it is a decision:
 * a plan that begins otherwise, or asks for other namespaces, gets a new sandbox. */
#include "backend/native.h"

#include "backend/prepared.h"
#include "backend/spawn.h"
#include "child/job.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static const struct plan_mount beginning[] = {
	{.kind = PLAN_READ, .source = (char *)"/", .target = (char *)"/"},
	{.kind = PLAN_DEV, .target = (char *)"/dev"},
	{.kind = PLAN_PROC, .target = (char *)"/proc"},
};
static const struct plan usual = {.namespaces = PLAN_NS_MOUNT | PLAN_NS_PID | PLAN_NS_NET | PLAN_NS_IPC | PLAN_NS_UTS |
						PLAN_NS_CGROUP,
				  .new_session = true,
				  .mounts = (struct plan_mount *)beginning,
				  .n_mounts = AL_ARRAY_LEN(beginning)};

static int beginning_fd(void)
{
	struct child_mount_spec mounts[AL_ARRAY_LEN(beginning)];
	struct child_plan_spec spec;
	int rc = native_translate(&usual, true, "", NULL, mounts, &spec);
	if (rc < 0)
		return rc;
	spec.flags |= CHILD_PLAN_AHEAD;
	return child_plan_fd(&spec);
}

/* Every place the child gets something in later is taken, by its socket: what comes with CHILD_TAKE is not in the way. */
static int launch_with(struct launch_ahead *a, int control, int program, int plan)
{
	static const char *const argv[] = {"airlock", "view", NULL};
	_cleanup_close_ int lifted_program = fcntl(program, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD),
			    lifted_plan = fcntl(plan, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD),
			    lifted = fcntl(control, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);
	if (lifted_program < 0 || lifted < 0 || lifted_plan < 0)
		return -EMFILE;
	a->l = (struct launch){.namespaces = native_clone_flags(&usual),
			       .argv = argv,
			       .uid = geteuid(),
			       .gid = getegid(),
			       .new_session = usual.new_session,
			       .program_fd = lifted_program};
	for (int i = 0; i < LAUNCH_FDS; i++)
		a->l.fds[i] = lifted;
	a->l.fds[CHILD_FD_PLAN] = lifted_plan;
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
	_cleanup_close_ int control = sockets[1], program = child_program_fd(), plan = beginning_fd();
	if (program < 0 || plan < 0)
		return program < 0 ? program : plan;
	if (setsockopt(p->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) < 0)
		return -errno;
	struct launch_ahead *a = malloc(sizeof *a);
	if (!a)
		return -ENOMEM;
	int rc = launch_with(a, control, program, plan);
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

/* Neither a mount of the host's came or went, nor did the child end, which it does when it fails. */
static bool is_as_then(const struct backend_prepared *p)
{
	struct pollfd fds[] = {{p->host_mounts_fd, POLLPRI, 0}, {p->control_fd, POLLIN, 0}};
	return poll(fds, AL_ARRAY_LEN(fds), 0) == 0;
}

static bool is_beginning(const struct plan_mount *m)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(beginning); i++)
		if (m->kind == beginning[i].kind && strcmp(m->target, beginning[i].target) == 0)
			return m->kind != PLAN_READ || strcmp(m->source, beginning[i].source) == 0;
	return false;
}

/* The rest of the plan; -EINVAL when it does not begin as usual. */
static int rest_fd(const struct plan *plan, const char *empty_file, const struct backend_fds *fds)
{
	_cleanup_free_ struct child_mount_spec *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan_spec spec;
	size_t found = 0;
	int rc = mounts ? native_translate(plan, true, empty_file, fds, mounts, &spec) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++) {
		mounts[i].late = !is_beginning(&plan->mounts[i]);
		found += !mounts[i].late;
	}
	if (rc == 0 && (mounts[0].late || found != AL_ARRAY_LEN(beginning)))
		rc = -EINVAL;
	return rc < 0 ? rc : child_plan_fd(&spec);
}

bool native_take_ahead(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		       struct backend_prepared *p)
{
	const struct launch *was = &p->ahead->l;
	if (!own_proc || was->namespaces != native_clone_flags(plan) || was->new_session != plan->new_session ||
	    was->uid != geteuid() || was->gid != getegid() || !is_as_then(p))
		return false;
	_cleanup_close_ int rest = rest_fd(plan, empty_file, fds);
	/* Sent before it is known whether there is anybody: who is there need not wait until we are woken to hear of it. */
	return rest >= 0 && native_send_command(p, fds, rest) == 0 && backend_prepared_settle(p) == 0;
}
