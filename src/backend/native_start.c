/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as the child's job, and the child. */
#include "backend/native.h"

#include "backend/spawn.h"
#include "backend/stage_job.h"
#include "base/other_ids.h"
#include "base/path.h"
#include "child/child_exec.h"
#include "child/launch.h"
#include "child/program.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

static const struct child_layer *layer_of(const struct backend_fds *fds, const char *root)
{
	for (size_t i = 0; i < fds->n_layers; i++)
		if (strcmp(fds->layers[i].root.text, root) == 0)
			return &fds->layers[i];
	return NULL;
}

/* Taken from inside: a socket of the host's cannot be reached through an overlay, but could through a bind of what is
 * below it. */
static bool lies_in_layer(const struct plan *plan, const struct plan_mount *m)
{
	for (const struct plan_mount *l = plan->mounts; l < m; l++)
		if (l->kind == PLAN_LAYER && strcmp(l->source, l->target) == 0 && path_is_beneath(m->source, l->target))
			return true;
	return false;
}

static bool is_entry(const struct plan *plan, const struct plan_mount *m)
{
	return m->kind == PLAN_READ && strcmp(m->source, m->target) == 0 && stage_rebuilt_parent(plan, m);
}

static int fill_layer(const struct backend_fds *fds, struct child_mount *spec)
{
	spec->kind = CHILD_MOUNT_LAYER;
	if (!fds) /* the layer is a run's, and there is no run yet */
		return 0;
	const struct child_layer *l = layer_of(fds, spec->source.text);
	if (!l)
		return -EINVAL;
	spec->upper = l->upper;
	spec->work = l->work;
	spec->lowers = l->lowers;
	spec->n_lowers = l->n_lowers;
	return 0;
}

static int translate(const struct plan *plan, const struct plan_mount *m, const char *empty_file,
		     const struct backend_fds *fds, struct child_mount *ret)
{
	*ret = (struct child_mount){
		.source = {m->source}, .target = {m->target}, .mode = 0755, .size = CHILD_SMALL_TMPFS};
	switch (m->kind) {
	case PLAN_READ:
		ret->kind = CHILD_MOUNT_READ;
		ret->optional = is_entry(plan, m) ? CHILD_MAY_BE_GONE : m->derived && m->screen ? CHILD_SHOWN_ABOVE : 0;
		ret->inside = lies_in_layer(plan, m) && !m->special;
		ret->screen.text = m->screen;
		break;
	case PLAN_WRITE:
		ret->kind = CHILD_MOUNT_WRITE;
		/* An agent's state is that of the home itself, although the directory around it has a layer. */
		ret->inside = lies_in_layer(plan, m) && m->because.kind != AIRLOCK_ORIGIN_AGENT_STATE;
		break;
	case PLAN_LAYER:
		return fill_layer(fds, ret);
	case PLAN_TMPFS:
		ret->kind = CHILD_MOUNT_TMPFS;
		ret->size = m->size;
		ret->mode = backend_tmpfs_mode(m->target);
		break;
	case PLAN_REBUILD:
	case PLAN_EMPTY_DIR:
		ret->kind = CHILD_MOUNT_TMPFS;
		break;
	case PLAN_EMPTY_FILE:
		ret->kind = CHILD_MOUNT_READ;
		ret->source.text = empty_file;
		break;
	case PLAN_DEV:
		ret->kind = CHILD_MOUNT_DEV;
		break;
	case PLAN_PROC:
		ret->kind = CHILD_MOUNT_PROC;
		break;
	case PLAN_SYMLINK:
		ret->kind = CHILD_MOUNT_SYMLINK;
		break;
	case PLAN_DIR:
		ret->kind = CHILD_MOUNT_DIR;
		break;
	case PLAN_SEAL:
		ret->kind = CHILD_MOUNT_SEAL;
		break;
	}
	return 0;
}

int native_translate(const struct plan *plan, const struct native_scene *scene, const struct backend_fds *fds,
		     struct child_mount *mounts, struct child_plan *ret)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		int rc = translate(plan, &plan->mounts[i], scene->empty, fds, &mounts[i]);
		if (rc < 0)
			return rc;
	}
	bool joins = scene->shared.holder_fd; /* then the holder has set up what concerns the namespaces */
	bool own_network = !joins || scene->shared.own_network;
	*ret = (struct child_plan){
		.flags = (child_is_privileged() ? CHILD_PLAN_USER_LAST : 0) |
			 (child_is_privileged() && joins ? CHILD_PLAN_JOINS_USER : 0) |
			 (plan->namespaces & PLAN_NS_NET && own_network ? CHILD_PLAN_LOOPBACK : 0) |
			 (plan->gate ? CHILD_PLAN_GATE : 0) | (plan->nested || joins ? 0 : CHILD_PLAN_NO_NESTED) |
			 (scene->own_proc ? 0 : CHILD_PLAN_OLD_PROC),
		.uid = geteuid(),
		.gid = getegid(),
		.first_id = plan->ids.others ? IDS_FIRST : 0,
		.n_ids = plan->ids.others ? IDS_COUNT : 0,
		.mounts = {mounts},
		.n_mounts = (uint32_t)plan->n_mounts,
	};
	long size = syscall(SYS_sched_getaffinity, 0, sizeof ret->cpus, ret->cpus);
	ret->cpus_size = size > 0 ? (uint32_t)size : 0;
	return 0;
}

int native_clone_flags(const struct plan *plan)
{
	static const struct {
		unsigned bit;
		int flag;
	} rows[] = {{PLAN_NS_MOUNT, CLONE_NEWNS}, {PLAN_NS_PID, CLONE_NEWPID}, {PLAN_NS_NET, CLONE_NEWNET},
		    {PLAN_NS_IPC, CLONE_NEWIPC},  {PLAN_NS_UTS, CLONE_NEWUTS}, {PLAN_NS_CGROUP, CLONE_NEWCGROUP}};
	int flags = child_is_privileged() ? 0 : CLONE_NEWUSER;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		flags |= plan->namespaces & rows[i].bit ? rows[i].flag : 0;
	return flags;
}

int native_launch_open(struct launch *ret, const char *role, int namespaces, bool new_session,
		       const int from[LAUNCH_FDS], int program_fd, int user_ns_fd)
{
	*ret = (struct launch){.namespaces = namespaces & (user_ns_fd ? ~CLONE_NEWUSER : -1),
			       .user_ns_fd = user_ns_fd ? fcntl(user_ns_fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD) : 0,
			       .argv = {"airlock", role, NULL},
			       .uid = geteuid(),
			       .gid = getegid(),
			       .new_session = new_session,
			       .program_fd = fcntl(program_fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD)};
	int rc = ret->program_fd < 0 || ret->user_ns_fd < 0 ? -errno : spawn_lift_fds(from, LAUNCH_FDS, ret->fds);
	if (rc < 0) {
		for (int i = 0; i < LAUNCH_FDS; i++)
			ret->fds[i] = -1;
		native_launch_close(ret);
	}
	return rc;
}

void native_launch_close(struct launch *l)
{
	spawn_drop_fds(l->fds, LAUNCH_FDS);
	base_closep(&l->program_fd);
	if (l->user_ns_fd > 0)
		base_closep(&l->user_ns_fd);
	if (l->join_fd > 0)
		base_closep(&l->join_fd);
	if (l->mounts_fd > 0)
		base_closep(&l->mounts_fd);
}

/* The plan may leave some out, as the network of a command that has the host's; nobody can make one in a holder's. */
int native_join(struct launch *l, const struct backend_shared *shared)
{
	int all = (NATIVE_SHARED_NAMESPACES & ~(shared->own_network ? CLONE_NEWNET : 0)) | CLONE_NEWUSER;
	l->join = l->namespaces & all;
	l->namespaces &= ~all;
	l->join_fd = fcntl(shared->holder_fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);
	if (shared->view_fd) {
		l->namespaces &= ~CLONE_NEWNS;
		l->mounts_fd = fcntl(shared->view_fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);
	}
	return l->join_fd < 0 || l->mounts_fd < 0 ? -errno : 0;
}

int native_launch(const struct plan *plan, const int from[LAUNCH_FDS], int program_fd,
		  const struct native_origin *origin, pid_t *ret_pid, const char **ret_failed_call)
{
	struct launch l;
	*ret_failed_call = "fcntl";
	int rc = native_launch_open(&l, "view", native_clone_flags(plan), plan->new_session, from, program_fd,
				    origin->user_ns_fd);
	if (rc < 0)
		return rc;
	if (origin->shared.holder_fd)
		rc = native_join(&l, &origin->shared);
	if (rc == 0)
		rc = launch(&l, ret_pid);
	if (rc < 0 && l.failed_call)
		*ret_failed_call = l.failed_call;
	native_launch_close(&l);
	return rc;
}

int native_start(const struct plan *plan, const struct native_scene *scene, const struct backend_fds *fds,
		 pid_t *ret_pid, const char **ret_failed_call)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	*ret_failed_call = "memfd_create";
	int rc = mounts ? native_translate(plan, scene, fds, mounts, &spec) : -ENOMEM;
	if (fds->shared.view_fd) {
		spec.flags |= CHILD_PLAN_IS_THERE;
		spec.n_mounts = 0;
	}
	_cleanup_close_ int job = rc < 0 ? rc : child_plan_fd(&spec);
	if (job < 0)
		return job;
	int holder = spec.flags & CHILD_PLAN_JOINS_USER ? fds->shared.holder_fd : -1;
	const int from[LAUNCH_FDS] = {
		fds->stdin_fd, fds->stdout_fd, fds->stderr_fd, fds->control_fd, fds->job_fd, -1, -1, job, holder};
	const struct native_origin origin = {fds->user_ns_fd, fds->shared};
	return native_launch(plan, from, fds->program_fd, &origin, ret_pid, ret_failed_call);
}
