/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox made in advance, and whether it is still what a new one would be.
 *
 * Theory of operation. The child is given the plan without the layers, which belong to a run, and stops before them. Whoever
 * wants to take it has made a plan of his own by then, from the configuration and the file system as they are now: every
 * rule, every secret that is there, every entry of a rebuilt directory is in it. Both plans are compared as the bytes the
 * child is given. That leaves what a plan does not say:
 *   - names mean other files: each source and each place that something is mounted over is told with its inode;
 *   - mounts of the host came or went, which a private copy of them does not show: its mount table is watched;
 *   - a mount of the sandbox went with the file it covered: its own mount table is watched;
 *   - what a child inherits: sys_inherited.
 * In doubt it is not taken.
 */
#include "backend/native.h"

#include "backend/prepared.h"
#include "base/path.h"
#include "child/ahead.h"
#include "sys/inherited.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define READY_MS 20 /* it is on its way; a new one takes longer */

/* ── What it is made of ── */

/* An inode number comes back after its file was removed, with another time of birth. File systems that do not know that time
 * have one of the last change. */
static struct child_identity identity_of(const char *path)
{
	struct statx st;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME | STATX_CTIME, &st) <
	    0)
		return (struct child_identity){0};
	const struct statx_timestamp *t = st.stx_mask & STATX_BTIME ? &st.stx_btime : &st.stx_ctime;
	return (struct child_identity){.inode = st.stx_ino,
				       .born = (uint64_t)t->tv_sec * 1000000000 + t->tv_nsec,
				       .major = st.stx_dev_major,
				       .minor = st.stx_dev_minor};
}

/* The file on the host that mount number i is put over. 0: it is one of the sandbox's own, which nobody outside can touch. */
static int place_of(const struct plan *plan, size_t i, struct child_identity *ret)
{
	const struct plan_mount *below = NULL;
	for (size_t j = 0; j < i; j++)
		if (plan->mounts[j].kind != PLAN_SEAL &&
		    path_is_beneath(plan->mounts[i].target, plan->mounts[j].target))
			below = &plan->mounts[j];
	*ret = (struct child_identity){0};
	if (!below || (below->kind != PLAN_READ && below->kind != PLAN_WRITE))
		return 0;
	if (below->screen) /* which stays as it is when the host replaces a file below it */
		return 0;
	const char *rest = path_rest(plan->mounts[i].target, below->target);
	_cleanup_free_ char *path = *rest ? path_join(below->source, rest) : strdup(below->source);
	if (!path)
		return -ENOMEM;
	*ret = identity_of(path);
	return 0;
}

static bool lies_in_layer(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_LAYER && path_is_beneath(path, plan->mounts[i].target))
			return true;
	return false;
}

static bool is_mount(const struct plan_mount *m)
{
	return m->kind != PLAN_SEAL && m->kind != PLAN_SYMLINK && m->kind != PLAN_DIR;
}

int native_mark_late(const struct plan *plan, size_t i, struct child_mount *m)
{
	const struct plan_mount *p = &plan->mounts[i];
	if (!lies_in_layer(plan, p->target))
		return m->inside ? -EINVAL : 0;
	m->late = CHILD_WITH_LAYERS;
	return p->kind == PLAN_LAYER && (strcmp(p->target, "/") == 0 || strcmp(p->source, p->target) != 0) ? -EINVAL
													   : 0;
}

static int mark(const struct plan *plan, size_t i, struct child_mount *m)
{
	const struct plan_mount *p = &plan->mounts[i];
	int rc = native_mark_late(plan, i, m);
	if (rc < 0 || m->late)
		return rc;
	if (m->kind == CHILD_MOUNT_READ || m->kind == CHILD_MOUNT_WRITE)
		m->source_is = identity_of(m->source.text);
	/* It may be left out. If one of these goes away, the table of mounts shows it. */
	if (m->optional == CHILD_SHOWN_ABOVE)
		return 0;
	return is_mount(p) ? place_of(plan, i, &m->place_is) : 0;
}

static int translate(const struct plan *plan, bool own_proc, const char *empty, const struct backend_fds *fds,
		     struct child_mount *mounts, struct child_plan *ret)
{
	int rc = native_translate(plan, own_proc, empty, fds, mounts, ret);
	ret->flags |= CHILD_PLAN_HOLD;
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++)
		rc = mark(plan, i, &mounts[i]);
	return rc;
}

/* Two plans with the same key, and the same mount tables, make the same sandbox. The plan's own bytes come last. */
static int make_key(const struct plan *plan, const struct child_plan *spec, struct buf *ret, size_t *ret_plan_at)
{
	void *bytes = NULL;
	size_t len = 0;
	buf_printf(ret, "%x %d\n", (unsigned)native_clone_flags(plan), plan->new_session);
	int rc = sys_inherited(ret);
	*ret_plan_at = ret->len;
	if (rc == 0)
		rc = child_plan_bytes(spec, &bytes, &len);
	if (rc == 0)
		buf_add(ret, bytes, len);
	free(bytes);
	return rc < 0 ? rc : ret->failed ? -ENOMEM : 0;
}

/* ── Making one ── */

static int start(const struct plan *plan, const void *bytes, size_t len, struct backend_prepared *p,
		 const char **ret_call)
{
	int sockets[2], one = 1;
	*ret_call = "socketpair";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	p->control_fd = sockets[0];
	_cleanup_close_ int control = sockets[1];
	if (setsockopt(p->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) < 0)
		return -errno;
	*ret_call = "memfd_create";
	_cleanup_close_ int job = child_plan_memory(bytes, len), program = child_program_fd();
	if (job < 0 || program < 0)
		return job < 0 ? job : program;
	*ret_call = "open";
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC), mounts = ahead_open_mount_table();
	if (null < 0 || mounts < 0)
		return null < 0 ? -errno : mounts;
	/* The places of the job and the program are kept for what comes with CHILD_TAKE. */
	const int from[LAUNCH_FDS] = {null, null, null, control, null, null, mounts, job};
	int rc = native_launch(plan, from, program, 0, &p->pid, ret_call);
	if (rc == 0)
		p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return rc;
}

static int prepare(const struct backend_context *ctx, const struct plan *plan, bool own_proc, const char *empty,
		   struct backend_prepared *p, const char **ret_call)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	_cleanup_buf_ struct buf key = BUF_INIT;
	struct child_plan spec;
	size_t at = 0;
	*ret_call = "prepare";
	if (!mounts)
		return -ENOMEM;
	/* Before anything is looked at, so that nothing can change unnoticed. */
	p->host_mounts_fd = ahead_open_mount_table();
	int rc = p->host_mounts_fd < 0 ? p->host_mounts_fd : translate(plan, own_proc, empty, NULL, mounts, &spec);
	if (rc == 0)
		rc = make_key(plan, &spec, &key, &at);
	if (rc < 0)
		return rc;
	p->key_len = key.len;
	p->key = buf_take(&key);
	p->has_view = true;
	return p->key ? start(plan, (char *)p->key + at, p->key_len - at, p, ret_call) : -ENOMEM;
}

/* Where everything is, as spawning needs it too. */
static int look_around(const struct backend_context *ctx, const struct plan *plan, bool *ret_own_proc, char **ret_empty,
		       struct airlock_error *err)
{
	struct native_info info;
	int rc = native_find(ctx, &info, err);
	if (rc == 0)
		rc = backend_make_empty_file(ctx, plan, err);
	if (rc < 0)
		return rc;
	*ret_own_proc = info.own_proc;
	*ret_empty = path_join(ctx->data_dir, "empty");
	return *ret_empty ? 0 : base_oom(err);
}

int native_prepare(const struct backend_context *ctx, const struct plan *plan, struct backend_prepared **ret,
		   struct airlock_error *err)
{
	_cleanup_free_ char *empty = NULL;
	bool own_proc = false;
	const char *call = "";
	int rc = look_around(ctx, plan, &own_proc, &empty, err);
	if (rc < 0)
		return rc;
	struct backend_prepared *p = backend_prepared_new();
	if (!p)
		return base_oom(err);
	rc = prepare(ctx, plan, own_proc, empty, p, &call);
	if (rc == 0) {
		*ret = p;
		return 0;
	}
	backend_prepared_free(p);
	if (rc == -EINVAL)
		return base_error(err, AIRLOCK_ERR_UNAVAILABLE, "prepare", "native",
				  "a sandbox for this plan cannot be made in advance");
	return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, call, "native");
}

/* ── Taking it ── */

static bool is_ready(struct backend_prepared *p)
{
	struct pollfd fd = {p->control_fd, POLLIN, 0};
	if (!backend_prepared_look(p))
		return false;
	if (p->own_mounts_fd < 0 && poll(&fd, 1, READY_MS) == 1)
		(void)backend_prepared_look(p);
	return !p->spoilt && p->own_mounts_fd >= 0;
}

int native_send(const struct backend_prepared *p, enum child_message_type type, const int *fds, size_t n)
{
	struct child_message m = {.type = type};
	union {
		char bytes[CMSG_SPACE(CHILD_TAKEN_FDS * sizeof(int))];
		struct cmsghdr align;
	} ancillary = {{0}};
	struct iovec iov = {&m, sizeof m};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &ancillary,
			     .msg_controllen = CMSG_SPACE(n * sizeof *fds)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof *fds);
	memcpy(CMSG_DATA(c), fds, n * sizeof *fds);
	return sendmsg(p->control_fd, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof m ? 0 : -1;
}

int native_send_command(const struct backend_prepared *p, const struct backend_fds *fds, int plan_fd)
{
	const int all[CHILD_TAKEN_FDS] = {[CHILD_TAKEN_STDIN] = fds->stdin_fd,
					  [CHILD_TAKEN_STDOUT] = fds->stdout_fd,
					  [CHILD_TAKEN_STDERR] = fds->stderr_fd,
					  [CHILD_TAKEN_JOB] = fds->job_fd,
					  [CHILD_TAKEN_PLAN] = plan_fd};
	return native_send(p, CHILD_TAKE, all, CHILD_TAKEN_FDS);
}

static bool is_same(const struct plan *plan, const struct child_plan *spec, const struct backend_prepared *p)
{
	_cleanup_buf_ struct buf key = BUF_INIT;
	size_t at;
	return make_key(plan, spec, &key, &at) == 0 && key.len == p->key_len && memcmp(key.data, p->key, key.len) == 0;
}

static bool take(const struct plan *plan, bool own_proc, const char *empty, const struct backend_fds *fds,
		 struct backend_prepared *p)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	if (!mounts || translate(plan, own_proc, empty, NULL, mounts, &spec) < 0 || !is_same(plan, &spec, p))
		return false;
	/* The tables last: what happened before they are asked is in their answer. */
	if (!is_ready(p) || native_translate(plan, own_proc, empty, fds, mounts, &spec) < 0)
		return false;
	for (size_t i = 0; i < plan->n_mounts; i++)
		(void)native_mark_late(plan, i, &mounts[i]);
	_cleanup_close_ int plan_fd = child_plan_fd(&spec);
	return plan_fd >= 0 && native_send_command(p, fds, plan_fd) == 0;
}

void native_advance(const struct backend_context *ctx, const struct plan *plan, struct backend_prepared *p)
{
	_cleanup_free_ char *empty = NULL;
	bool own_proc = false;
	if (p->ahead && !p->key && look_around(ctx, plan, &own_proc, &empty, NULL) == 0)
		native_advance_ahead(plan, own_proc, empty, p);
}

bool native_take(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 struct backend_prepared *p)
{
	_cleanup_free_ char *empty = NULL;
	bool own_proc = false;
	if (fds->user_ns_fd || look_around(ctx, plan, &own_proc, &empty, NULL) < 0)
		return false; /* what was made in advance has our own group only */
	if (p->ahead)
		return native_take_ahead(plan, own_proc, empty, fds, p);
	bool taken = take(plan, own_proc, empty, fds, p);
	base_closep(&p->own_mounts_fd); /* it would keep the mounts of the run alive */
	return taken;
}
