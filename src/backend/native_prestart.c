/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes that are started before there is a command for them, and whether they are still what a new one would be.
 *
 * Theory of operation. There are two kinds.
 *
 * One is begun without a plan, by a program that runs one command, while it reads its configuration. The child mounts what nearly
 * every plan begins with (`common`), and waits. As soon as there is a plan it is told: it makes all mounts that do not
 * lie in a layer, while the caller makes the run's directory, its layers and pipes. A plan that begins otherwise, or asks
 * for other namespaces, gets a new sandbox. All of that is milliseconds, in which the caller's process keeps its identity and
 * limits, as the header of the library asks for.
 *
 * The other is made for a plan that is expected, by a server, seconds or minutes before its command. The child is given the
 * plan without its layers, which belong to a run, and says READY once it has made the mounts.
 *
 * Whoever takes either has made a plan by then, from the configuration and the file system as they are now: every rule, every
 * secret that is there, every entry of a rebuilt directory is in it. It is compared with what the child was told, as the
 * bytes the child was given. That leaves what a plan does not say:
 *   - mounts of the host came or went, which a private copy of them does not show: its mount table is watched;
 * and, where more time has passed,
 *   - names mean other files: each source and each place that something is mounted over is told with its inode;
 *   - a mount of the sandbox went with the file it covered: its own mount table is watched;
 *   - what a child inherits: sys_inherited.
 * In doubt it is not taken.
 */
#include "backend/native.h"

#include "backend/backend_prestart.h"
#include "backend/spawn.h"
#include "base/path.h"
#include "child/child_exec.h"
#include "child/pass.h"
#include "sys/inherited.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define READY_MS 20 /* how long to wait for READY; a new sandbox takes longer */

/* The mounts that nearly every plan begins with. */
static const struct child_mount common[] = {
	{.kind = CHILD_MOUNT_READ, .source = {"/"}, .target = {"/"}, .mode = 0755, .size = CHILD_SMALL_TMPFS},
	{.kind = CHILD_MOUNT_DEV, .target = {"/dev"}, .mode = 0755, .size = CHILD_SMALL_TMPFS},
	{.kind = CHILD_MOUNT_PROC, .target = {"/proc"}, .mode = 0755, .size = CHILD_SMALL_TMPFS},
};

static bool is_common(const struct child_mount *m)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(common); i++)
		if (m->kind == common[i].kind && strcmp(m->target.text, common[i].target.text) == 0)
			return !common[i].source.text || strcmp(m->source.text, common[i].source.text) == 0;
	return false;
}

/* ── A plan as the child is told it ── */

/* Which file a name means. An inode number comes back after its file was removed, with another time of birth. File systems that do
 * not know that time have one of the last change. */
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

/* Layers, and what is mounted in them, are made last. -EINVAL: something else would have to wait for them. */
static int mark_late(const struct plan *plan, size_t i, struct child_mount *m)
{
	const struct plan_mount *p = &plan->mounts[i];
	if (!lies_in_layer(plan, p->target))
		return m->inside ? -EINVAL : 0;
	m->late = CHILD_WITH_LAYERS;
	return p->kind == PLAN_LAYER && (strcmp(p->target, "/") == 0 || strcmp(p->source, p->target) != 0) ? -EINVAL
													   : 0;
}

int native_identify(const struct plan *plan, size_t i, struct child_mount *m)
{
	if (m->late)
		return 0;
	if (m->kind == CHILD_MOUNT_READ || m->kind == CHILD_MOUNT_WRITE)
		m->source_is = identity_of(m->source.text);
	/* It may be left out. If one of these goes away, the table of mounts shows it. */
	if (m->optional == CHILD_SHOWN_ABOVE)
		return 0;
	return is_mount(&plan->mounts[i]) ? place_of(plan, i, &m->place_is) : 0;
}

/* Says which mounts are there already; the others come with the plan. -EINVAL when the plan does not begin as usual. */
static int mark_common(const struct plan *plan, struct child_mount *mounts)
{
	size_t found = 0;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		bool is_there = is_common(&mounts[i]);
		mounts[i].late = is_there ? CHILD_FIRST : CHILD_WITH_PLAN;
		found += is_there;
	}
	return plan->n_mounts == 0 || mounts[0].late || found != AL_ARRAY_LEN(common) ? -EINVAL : 0;
}

/* fds: with the layers of a run, or NULL. has_late: layers come later than the rest; without, all come at once. */
static int translate(const struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene,
		     const struct backend_fds *fds, bool has_late, struct child_mount *mounts, struct child_plan *ret)
{
	int rc = native_translate(plan, scene, fds, mounts, ret);
	if (rc == 0 && p->kind == BACKEND_PRESTART_BARE)
		rc = mark_common(plan, mounts);
	for (size_t i = 0; has_late && rc == 0 && i < plan->n_mounts; i++)
		rc = mark_late(plan, i, &mounts[i]);
	return rc;
}

/* Two plans with the same key, and the same mount tables, make the same sandbox. The plan's own bytes, from *ret_plan_at on, are
 * what the child is told. */
static int make_key(const struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene,
		    struct buf *ret, size_t *ret_plan_at)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	void *bytes = NULL;
	size_t len = 0;
	int rc = mounts ? translate(p, plan, scene, NULL, true, mounts, &spec) : -ENOMEM;
	if (rc == 0 && p->kind == BACKEND_PRESTART_WHOLE) {
		spec.flags |= CHILD_PLAN_WAITS_FOR_COMMAND;
		for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++)
			rc = native_identify(plan, i, &mounts[i]);
		buf_printf(ret, "%x %d %d\n", (unsigned)native_clone_flags(plan), plan->new_session,
			   (int)scene->shared.holder_pid);
		if (rc == 0)
			rc = sys_inherited(ret);
	}
	*ret_plan_at = ret->len;
	if (rc == 0)
		rc = child_plan_bytes(&spec, &bytes, &len);
	if (rc == 0)
		buf_add(ret, bytes, len);
	free(bytes);
	return rc < 0 ? rc : ret->failed ? -ENOMEM : 0;
}

/* Keeps the key, and returns the plan as a memory file for the child. */
static int keep_key(struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene)
{
	_cleanup_buf_ struct buf key = BUF_INIT;
	size_t at = 0;
	int rc = make_key(p, plan, scene, &key, &at);
	int fd = rc < 0 ? rc : child_plan_memory(key.data + at, key.len - at);
	if (fd < 0)
		return fd;
	p->key_len = key.len;
	p->key = buf_take(&key);
	return fd;
}

/* ── Starting one ── */

static int open_mount_table(void)
{
	int fd = open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns the child's end. */
static int open_control(struct backend_prestart *p)
{
	int sockets[2], one = 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	p->control_fd = sockets[0];
	if (setsockopt(p->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0)
		return sockets[1];
	int rc = -errno;
	(void)close(sockets[1]);
	return rc;
}

/* The holder of a session has set up what concerns the namespaces. */
static uint32_t own_flags(bool is_privileged, bool joins)
{
	return (is_privileged ? CHILD_PLAN_USER_LAST : 0) | (is_privileged && joins ? CHILD_PLAN_JOINS_USER : 0) |
	       (joins ? 0 : CHILD_PLAN_LOOPBACK | CHILD_PLAN_NO_NESTED) | CHILD_PLAN_WAITS_FOR_PLAN;
}

/* Where nothing of the command can be yet, the child has its socket: what comes with CHILD_TAKE finds its place free of others. */
static int begin(struct backend_prestart *p, const char **ret_call)
{
	bool is_privileged = child_is_privileged() != 0, joins = p->shared.holder_fd != 0;
	const struct child_plan spec = {.flags = own_flags(is_privileged, joins),
					.uid = geteuid(),
					.gid = getegid(),
					.mounts = {common},
					.n_mounts = AL_ARRAY_LEN(common)};
	*ret_call = "open";
	p->host_mounts_fd = open_mount_table(); /* before the namespaces, so that nothing can change unnoticed */
	if (p->host_mounts_fd < 0)
		return p->host_mounts_fd;
	*ret_call = "socketpair";
	_cleanup_close_ int control = open_control(p);
	if (control < 0)
		return control;
	*ret_call = "memfd_create";
	_cleanup_close_ int plan = child_plan_fd(&spec), program = child_program_fd();
	if (plan < 0 || program < 0)
		return plan < 0 ? plan : program;
	const int from[LAUNCH_FDS] = {control, control, control,
				      control, control, control,
				      control, plan,	is_privileged && joins ? p->shared.holder_fd : -1};
	p->starter = calloc(1, sizeof *p->starter);
	if (!p->starter)
		return -ENOMEM;
	int namespaces = (is_privileged ? 0 : CLONE_NEWUSER) | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	int rc = native_launch_open(&p->starter->l, "view", namespaces, true, from, program, 0);
	if (rc == 0) {
		if (joins)
			rc = native_join(&p->starter->l, &p->shared);
		struct launch copy = p->starter->l; /* the starter reads the other one from now on */
		if (rc == 0)
			rc = launch_begin(p->starter);
		*ret_call = "clone";
		native_launch_close(&copy);
	}
	if (rc < 0) {
		free(p->starter);
		p->starter = NULL;
	}
	return rc;
}

/* Places of descriptors that come with CHILD_TAKE are kept by /dev/null. */
static int begin_for(const struct plan *plan, const struct native_scene *scene, struct backend_prestart *p,
		     const char **ret_call)
{
	*ret_call = "open";
	p->host_mounts_fd = open_mount_table(); /* before anything is looked at, so that nothing can change unnoticed */
	if (p->host_mounts_fd < 0)
		return p->host_mounts_fd;
	*ret_call = "memfd_create";
	_cleanup_close_ int job = keep_key(p, plan, scene), program = child_program_fd();
	if (job < 0 || program < 0)
		return job < 0 ? job : program;
	*ret_call = "socketpair";
	_cleanup_close_ int control = open_control(p);
	if (control < 0)
		return control;
	int holder = child_is_privileged() && scene->shared.holder_fd ? scene->shared.holder_fd : -1;
	*ret_call = "open";
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC), mounts = open_mount_table();
	if (null < 0 || mounts < 0)
		return null < 0 ? -errno : mounts;
	const int from[LAUNCH_FDS] = {null, null, null, control, null, null, mounts, job, holder};
	int rc =
		native_launch(plan, from, program, &(struct native_origin){.shared = scene->shared}, &p->pid, ret_call);
	if (rc == 0)
		p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return rc;
}

static int start(struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene,
		 struct backend_prestart **ret, struct airlock_error *err)
{
	const char *call = "";
	if (!p)
		return base_oom(err);
	int rc = plan ? begin_for(plan, scene, p, &call) : begin(p, &call);
	if (rc == 0) {
		*ret = p;
		return 0;
	}
	backend_prestart_free(p);
	if (rc == -EINVAL && plan)
		return base_error(err, AIRLOCK_ERR_UNAVAILABLE, "prestart", "native",
				  "a sandbox for this plan cannot be started before its command");
	return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, call, "native");
}

static int native_begin(const struct backend_shared *shared, struct backend_prestart **ret, struct airlock_error *err)
{
	struct backend_prestart *p = backend_prestart_new(BACKEND_PRESTART_BARE);
	if (p && shared->holder_fd) {
		p->shared = *shared;
		p->shared.holder_fd = fcntl(shared->holder_fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);
		if (p->shared.holder_fd < 0) {
			backend_prestart_free(p);
			return base_errno(err, AIRLOCK_ERR_INIT_FAILED, errno, "fcntl", "native");
		}
	}
	return start(p, NULL, NULL, ret, err);
}

static int native_begin_for(const struct backend_context *ctx, const struct plan *plan,
			    const struct backend_shared *shared, struct backend_prestart **ret,
			    struct airlock_error *err)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	int rc = native_look_around(ctx, plan, shared, &scene, err);
	return rc < 0 ? rc : start(backend_prestart_new(BACKEND_PRESTART_WHOLE), plan, &scene, ret, err);
}

/* ── Telling it the plan, and taking it ── */

/* False also when a child that cannot go on has ended. */
static bool has_no_news(const struct backend_prestart *p)
{
	struct pollfd fds[] = {{p->host_mounts_fd, POLLPRI, 0}, {p->control_fd, POLLIN, 0}};
	return poll(fds, AL_ARRAY_LEN(fds), 0) == 0;
}

/* A plan for one that shares the namespaces of a session is compared with those that it made and those that it entered. */
static bool has_same_namespaces(const struct plan *plan, const struct native_scene *scene,
				const struct backend_prestart *p)
{
	const struct launch *l = &p->starter->l;
	return scene->own_proc && (l->namespaces | l->join) == native_clone_flags(plan) &&
	       scene->shared.holder_pid == p->shared.holder_pid && !scene->shared.own_network &&
	       (l->new_session != 0) == plan->new_session && l->uid == geteuid() && l->gid == getegid();
}

static void native_tell(const struct backend_context *ctx, const struct plan *plan, struct backend_prestart *p)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	if (p->stage != BACKEND_PRESTART_BEGUN || native_look_around(ctx, plan, &p->shared, &scene, NULL) < 0 ||
	    !has_same_namespaces(plan, &scene, p))
		return;
	_cleanup_close_ int fd = keep_key(p, plan, &scene);
	if (fd >= 0 && pass_send_fd(p->control_fd, CHILD_TELL, fd) >= 0) {
		backend_prestart_enter(p, BACKEND_PRESTART_TOLD);
		return;
	}
	free(p->key); /* TAKE tells it everything */
	p->key = NULL;
}

static bool is_ready(struct backend_prestart *p)
{
	struct pollfd fd = {p->control_fd, POLLIN, 0};
	if (!backend_prestart_look(p))
		return false;
	if (p->stage == BACKEND_PRESTART_NAMESPACES && poll(&fd, 1, READY_MS) == 1)
		(void)backend_prestart_look(p);
	return p->stage == BACKEND_PRESTART_MOUNTED;
}

static bool is_what_it_was_told(const struct backend_prestart *p, const struct plan *plan,
				const struct native_scene *scene)
{
	_cleanup_buf_ struct buf key = BUF_INIT;
	size_t at;
	return !p->key || (make_key(p, plan, scene, &key, &at) == 0 && key.len == p->key_len &&
			   memcmp(buf_str(&key), p->key, key.len) == 0);
}

/* The mount tables are looked at last: what happened before they are asked is in their answer. */
static bool would_be_the_same(struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene)
{
	if (p->kind == BACKEND_PRESTART_BARE)
		return has_same_namespaces(plan, scene, p) && is_what_it_was_told(p, plan, scene) && has_no_news(p);
	return is_what_it_was_told(p, plan, scene) && is_ready(p);
}

static int send_command(const struct backend_prestart *p, const struct plan *plan, const struct native_scene *scene,
			const struct backend_fds *fds)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	int rc = mounts ? translate(p, plan, scene, fds, p->key != NULL, mounts, &spec) : -ENOMEM;
	_cleanup_close_ int plan_fd = rc < 0 ? rc : child_plan_fd(&spec);
	if (plan_fd < 0)
		return plan_fd;
	const struct child_message m = {.type = CHILD_TAKE};
	const int all[CHILD_TAKEN_FDS] = {[CHILD_TAKEN_STDIN] = fds->stdin_fd,
					  [CHILD_TAKEN_STDOUT] = fds->stdout_fd,
					  [CHILD_TAKEN_STDERR] = fds->stderr_fd,
					  [CHILD_TAKEN_JOB] = fds->job_fd,
					  [CHILD_TAKEN_PLAN] = plan_fd};
	if (p->pid > 0)
		launch_keep_away(p->pid);
	long n = pass_send(p->control_fd, &m, all, CHILD_TAKEN_FDS);
	return n < 0 ? (int)n : 0;
}

static bool native_take(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
			struct backend_prestart *p)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	if (fds->user_ns_fd) /* a prestarted sandbox has our own group only */
		return false;
	if (native_look_around(ctx, plan, &fds->shared, &scene, NULL) < 0 || !would_be_the_same(p, plan, &scene))
		return false;
	/* Sent before it is known whether there are namespaces: the child need not wait until we are woken to hear of them. */
	return send_command(p, plan, &scene, fds) == 0 && backend_prestart_settle(p) == 0;
}

const struct backend_prestart_calls native_prestart = {native_begin, native_begin_for, native_tell, native_take};
