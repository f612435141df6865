/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts of a plan, made once for many commands of a session.
 *
 * Theory of operation. A plan without a layer has the same mounts for every command. A child makes them as it would for a command, in the
 * namespaces of the session, hands the descriptor of its mount namespace over and ends; the namespace stays. A command enters it and
 * makes nothing. It has no capability there, so it cannot change what the next one sees; what lies in a mount (files, /tmp, /dev/shm)
 * the commands of a session share anyway.
 *
 * As with a prestart (native_prestart.c), whoever wants to use it has made a plan by then, from the configuration and the files as they
 * are now. The two are compared as the bytes that the child was given, with the inodes of all sources and places; and the tables of
 * mounts, the host's and the view's own, tell when one came or went. In doubt it is made anew.
 */
#include "backend/native.h"

#include "child/child_exec.h"
#include "child/pass.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

void backend_view_free(struct backend_view *view)
{
	if (!view)
		return;
	base_closep(&view->mounts_fd);
	base_closep(&view->host_mounts_fd);
	base_closep(&view->own_mounts_fd);
	free(view->key);
	free(view);
}

/* A layer is a command's own, and a gate has sockets in the view. */
static bool is_possible(const struct plan *plan, const struct backend_shared *shared)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_LAYER)
			return false;
	return shared->holder_fd && !shared->own_network && !plan->gate && plan->namespaces & PLAN_NS_MOUNT;
}

/* The plan's own bytes, from *ret_plan_at on, are what the child is told. */
static int make_key(const struct plan *plan, const struct native_scene *scene, struct buf *ret, size_t *ret_plan_at)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	void *bytes = NULL;
	size_t len = 0;
	int rc = mounts ? native_translate(plan, scene, NULL, mounts, &spec) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++)
		rc = native_identify(plan, i, &mounts[i]);
	if (rc < 0)
		return rc;
	spec.flags |= CHILD_PLAN_FOR_OTHERS;
	buf_printf(ret, "%x %d\n", (unsigned)native_clone_flags(plan), (int)scene->shared.holder_pid);
	*ret_plan_at = ret->len;
	rc = child_plan_bytes(&spec, &bytes, &len);
	if (rc == 0)
		buf_add(ret, bytes, len);
	free(bytes);
	return rc < 0 ? rc : ret->failed ? -ENOMEM : 0;
}

static int open_mount_table(void)
{
	int fd = open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Anything but READY with both descriptors means that there is no view: a command of its own will tell why. */
static int wait_for_view(int control, struct backend_view *v)
{
	struct pass_received in;
	long rc;
	do
		rc = pass_receive(control, PASS_WAIT, &in);
	while (rc == -EINTR);
	if (rc <= 0)
		return rc < 0 ? (int)rc : -ECONNRESET;
	bool is_ready = in.m.type == CHILD_READY && in.n_fds == 2;
	if (is_ready) {
		v->own_mounts_fd = pass_take_fd(&in, 0);
		v->mounts_fd = pass_take_fd(&in, 1);
	}
	pass_close(&in);
	return is_ready ? 0 : -EPROTO;
}

static int launch_maker(const struct plan *plan, const struct native_scene *scene, struct backend_view *v, size_t at,
			const char **ret_call)
{
	int sockets[2];
	pid_t pid = 0;
	*ret_call = "socketpair";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	_cleanup_close_ int ours = sockets[0], theirs = sockets[1];
	*ret_call = "memfd_create";
	_cleanup_close_ int job = child_plan_memory((const char *)v->key + at, v->key_len - at);
	_cleanup_close_ int program = job < 0 ? -EBADF : child_program_fd();
	if (job < 0 || program < 0)
		return job < 0 ? job : program;
	const int from[LAUNCH_FDS] = {theirs, theirs, theirs, theirs, theirs, theirs, theirs, job, -1};
	const struct native_origin origin = {.shared = scene->shared};
	int rc = native_launch(plan, from, program, &origin, &pid, ret_call);
	if (rc < 0)
		return rc;
	base_closep(&theirs);
	*ret_call = "make mounts";
	rc = wait_for_view(ours, v);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}

static int make(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		struct backend_view **ret, struct airlock_error *err)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	_cleanup_buf_ struct buf key = BUF_INIT;
	const char *call = "open";
	size_t at = 0;
	if (!is_possible(plan, shared))
		return base_error(err, AIRLOCK_ERR_UNAVAILABLE, "view", "native",
				  "the mounts of this plan cannot be shared");
	int rc = native_look_around(ctx, plan, shared, &scene, err);
	if (rc < 0)
		return rc;
	struct backend_view *v = calloc(1, sizeof *v);
	if (!v)
		return base_oom(err);
	v->mounts_fd = v->own_mounts_fd = -EBADF;
	v->host_mounts_fd = open_mount_table(); /* before anything is looked at, so that nothing can change unnoticed */
	rc = v->host_mounts_fd < 0 ? v->host_mounts_fd : make_key(plan, &scene, &key, &at);
	if (rc == 0) {
		v->key_len = key.len;
		v->key = buf_take(&key);
		rc = v->key ? launch_maker(plan, &scene, v, at, &call) : -ENOMEM;
	}
	if (rc == 0) {
		*ret = v;
		return 0;
	}
	backend_view_free(v);
	return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, call, "native");
}

/* The mount tables are looked at last: what happened before they are asked is in their answer. */
static bool fits(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		 const struct backend_view *v)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	_cleanup_buf_ struct buf key = BUF_INIT;
	size_t at = 0;
	struct pollfd fds[] = {{v->host_mounts_fd, POLLPRI, 0}, {v->own_mounts_fd, POLLPRI, 0}};
	return is_possible(plan, shared) && native_look_around(ctx, plan, shared, &scene, NULL) == 0 &&
	       make_key(plan, &scene, &key, &at) == 0 && key.len == v->key_len &&
	       memcmp(buf_str(&key), v->key, key.len) == 0 && poll(fds, AL_ARRAY_LEN(fds), 0) == 0;
}

const struct backend_view_calls native_view = {make, fits};
