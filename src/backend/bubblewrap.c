/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as bwrap's arguments.
 *
 * bwrap gets its arguments through a memory file (--args), so that thousands of mounts fit and nothing of them shows in
 * /proc; it gets an empty environment; it executes our first process as pid 1 (--as-pid-1), because its own would be
 * dumpable and could not tell its own failures from the command's. It inherits no terminal: it starts in a session of
 * its own. Not used: --die-with-parent, which is bound to the thread that started it; the first process ends with the
 * supervisor's socket instead.
 */
#include "backend/spawn.h"

#include "backend/bwrap_probe.h"
#include "backend/native.h"
#include "backend/stage_job.h"
#include "base/path.h"
#include "child/child_job.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

static int find_bwrap(const struct backend_context *ctx, struct bwrap_info *info, struct airlock_error *err)
{
	if (ctx->found && ctx->found->bwrap) {
		*info = *ctx->found->bwrap;
	} else {
		_cleanup_free_ char *cache = path_join(ctx->state_dir, BWRAP_CACHE_NAME);
		if (!cache)
			return base_oom(err);
		int rc = bwrap_probe(ctx->path_env, cache, ctx->untrusted_dirs, info, err);
		if (rc < 0)
			return rc;
		if (ctx->found && (ctx->found->bwrap = malloc(sizeof *info)))
			*ctx->found->bwrap = *info;
	}
	return info->works ? 0 : base_pass(err, &info->why);
}

static int probe(const struct backend_context *ctx, struct airlock_error *err)
{
	struct bwrap_info info = {0};
	return find_bwrap(ctx, &info, err);
}

static void add2(struct strs *a, const char *option, const char *x)
{
	strs_add(a, option);
	strs_add(a, x);
}

static void add3(struct strs *a, const char *option, const char *x, const char *y)
{
	add2(a, option, x);
	strs_add(a, y);
}

static void add_tmpfs(struct strs *a, const struct bwrap_info *info, unsigned mode, int64_t size, const char *target)
{
	strs_add(a, "--perms");
	strs_addf(a, "%04o", mode);
	if (info->has_size_perms) {
		strs_add(a, "--size");
		strs_addf(a, "%" PRId64, size);
	}
	add2(a, "--tmpfs", target);
}

static void add_mount(struct strs *a, const struct bwrap_info *info, const struct plan_mount *m, const char *empty)
{
	switch (m->kind) {
	case PLAN_READ:
		add3(a, "--ro-bind", m->source, m->target);
		break;
	case PLAN_WRITE:
	case PLAN_LAYER: /* the stage has mounted the overlay there, and the replacement of a cache */
		add3(a, "--bind", m->cache ? m->target : m->source, m->target);
		break;
	case PLAN_TMPFS:
		add_tmpfs(a, info, backend_tmpfs_mode(m->target), m->size, m->target);
		break;
	case PLAN_REBUILD:
	case PLAN_EMPTY_DIR:
		add_tmpfs(a, info, 0755, CHILD_SMALL_TMPFS, m->target);
		break;
	case PLAN_EMPTY_FILE:
		add3(a, "--ro-bind", empty, m->target);
		break;
	case PLAN_DEV:
		add2(a, "--dev", m->target);
		break;
	case PLAN_PROC:
		add2(a, "--proc", m->target);
		break;
	case PLAN_SYMLINK:
		add3(a, "--symlink", m->source, m->target);
		break;
	case PLAN_DIR:
		add2(a, "--dir", m->target);
		break;
	case PLAN_SEAL:
		add2(a, "--remount-ro", m->target);
		break;
	}
}

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* Those of a session. The stage has entered the others. The holder has seen to it that no user namespaces can be made inside. As long
 * as the process has a capability, hostile commands of the session cannot look into it; the first process drops it. */
static void add_shared_namespaces(struct strs *a)
{
	add2(a, "--userns", TEXT_OF(CHILD_FD_HOLDER_USER));
	add2(a, "--pidns", TEXT_OF(CHILD_FD_HOLDER_PIDS));
	strs_add(a, "--unshare-cgroup-try");
	add2(a, "--cap-drop", "ALL");
	add2(a, "--cap-add", "CAP_SETPCAP"); /* which dropping the rest takes */
}

static void add_namespaces(struct strs *a, const struct bwrap_info *info, const struct plan *plan, bool staged)
{
	strs_add(a, "--unshare-user");
	strs_add(a, "--unshare-ipc");
	strs_add(a, "--unshare-uts");
	strs_add(a, "--unshare-cgroup-try");
	if (plan->namespaces & PLAN_NS_PID) {
		strs_add(a, "--unshare-pid");
		strs_add(a, "--as-pid-1");
	}
	if (plan->namespaces & PLAN_NS_NET && !(staged && plan->gate)) /* the stage has made it */
		strs_add(a, "--unshare-net");
	if (!plan->nested && info->has_disable_userns)
		strs_add(a, "--disable-userns");
	add2(a, "--cap-drop", "ALL");
}

/* True if the directory is seen through a read-only bind of a directory above it. */
static bool is_covered(const struct plan *plan, const struct plan_mount *m)
{
	const struct plan_mount *cover = NULL;
	for (const struct plan_mount *c = plan->mounts; c < m; c++)
		if (path_is_beneath(m->target, c->target))
			cover = c;
	return cover && (cover->kind == PLAN_READ || cover->kind == PLAN_REBUILD);
}

/* After the stage, a rebuilt directory already exists: it only needs a read-only bind if no bind above it includes it.
 */
static bool add_staged(struct strs *a, const struct plan *plan, const struct plan_mount *m)
{
	if (m->kind == PLAN_REBUILD) {
		if (!is_covered(plan, m))
			add3(a, "--ro-bind", m->target, m->target);
		return true;
	}
	if (m->kind == PLAN_SEAL) {
		for (size_t i = 0; i < plan->n_mounts; i++)
			if (strcmp(plan->mounts[i].target, m->target) == 0 &&
			    (plan->mounts[i].kind == PLAN_REBUILD || stage_covers(plan, &plan->mounts[i])))
				return true;
		return false;
	}
	if (stage_covers(plan, m))
		return true;
	/* A screen is mounted in place, and a bind of a directory above includes it. */
	if (m->screen && strcmp(m->source, m->target) == 0 && is_covered(plan, m))
		return true;
	const char *aside = stage_aside(plan, m);
	if (aside) {
		add3(a, "--bind", aside, m->target);
		return true;
	}
	/* A file of ours in place of the host's is not an entry of the rebuilt directory. */
	bool is_other = m->kind == PLAN_READ && strcmp(m->source, m->target) != 0;
	return (m->kind == PLAN_READ || m->kind == PLAN_SYMLINK) && !is_other && stage_rebuilt_parent(plan, m);
}

/* Everything between "bwrap" and "--". Staged: without what the stage does. */
static int arguments(const struct backend_context *ctx, const struct bwrap_info *info, const struct plan *plan,
		     bool staged, bool shared, struct strs *a, struct airlock_error *err)
{
	_cleanup_free_ char *empty = path_join(ctx->data_dir, "empty");
	if (!empty)
		return base_oom(err);
	if (shared)
		add_shared_namespaces(a);
	else
		add_namespaces(a, info, plan, staged);
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (!staged || !add_staged(a, plan, &plan->mounts[i]))
			add_mount(a, info, &plan->mounts[i], empty);
	return a->failed ? base_oom(err) : 0;
}

static int describe(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
		    struct airlock_error *err)
{
	struct bwrap_info info = {0};
	int rc = find_bwrap(ctx, &info, err);
	if (rc < 0)
		return rc;
	strs_add(ret, info.path);
	rc = arguments(ctx, &info, plan, false, false, ret, err);
	add2(ret, "--chdir", plan->cwd);
	strs_add(ret, "--");
	strs_add_all(ret, &plan->argv);
	return rc < 0 ? rc : ret->failed ? base_oom(err) : 0;
}

static struct backend_isolation isolation(const struct backend_context *ctx, const struct plan *plan)
{
	bool own_pids = plan->namespaces & PLAN_NS_PID;
	return (struct backend_isolation){
		.filesystem = AIRLOCK_GRADE_ENFORCED,
		.processes = own_pids && plan->new_session ? AIRLOCK_GRADE_ENFORCED : AIRLOCK_GRADE_PARTIAL,
		.syscalls = AIRLOCK_GRADE_ENFORCED,
		.network_isolated = true,
		.network_blocked = plan->namespaces & PLAN_NS_NET,
		.abstract_sockets =
			!(plan->namespaces & PLAN_NS_NET) && plan->unix_sockets && !backend_scopes_sockets(),
		.own_pid_namespace = own_pids,
		.own_user_namespace = true,
		.monitor_counts = true,
	};
}

/* The arguments, NUL-separated, in a memory file that bwrap reads. */
static int arguments_fd(const struct strs *a, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	for (size_t i = 0; i < a->n; i++)
		buf_add(&text, a->v[i], strlen(a->v[i]) + 1);
	if (text.failed)
		return base_oom(err);
	_cleanup_close_ int fd = memfd_create("bwrap-args", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET) < 0)
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, errno, "memfd_create", "bwrap-args");
	return TAKE_FD(fd);
}

static int spawn(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 pid_t *ret_pid, struct airlock_error *err)
{
	struct bwrap_info info = {0};
	_cleanup_strs_ struct strs args = STRS_INIT;
	bool staged = stage_is_needed(plan, fds), shared = fds->shared.holder_fd;
	int rc = find_bwrap(ctx, &info, err);
	if (rc < 0 || (rc = backend_make_empty_file(ctx, plan, err)) < 0 ||
	    (rc = arguments(ctx, &info, plan, staged, shared, &args, err)) < 0)
		return rc;
	_cleanup_close_ int args_fd = arguments_fd(&args, err);
	if (args_fd < 0)
		return args_fd;
	_cleanup_free_ char *empty = path_join(ctx->data_dir, "empty");
	if (!empty)
		return base_oom(err);
	const char *const argv[] = {"bwrap", "--args", "6", "--", "/proc/self/fd/5", shared ? "drop" : NULL, NULL};
	/* The stage is the same for every version of bwrap, even those that could mount an overlay themselves: it is
	 * faster, accepts any path, and is tested everywhere. */
	if (staged)
		return stage_spawn(info.path, argv, plan, empty, fds, args_fd, ret_pid, err);
	struct spawn_more more = SPAWN_MORE_NONE;
	more.args = args_fd;
	return spawn_process(info.path, argv, fds, &more, plan->new_session, ret_pid, err);
}

const struct backend backend_bubblewrap = {"bubblewrap",	probe,		 describe, isolation, spawn,
					   .hold = native_hold, .has_gate = true};
