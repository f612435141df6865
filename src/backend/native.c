/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/native.h"

#include "backend/spawn.h"
#include "base/path.h"

int native_find(const struct backend_context *ctx, struct native_info *ret, struct airlock_error *err)
{
	if (ctx->found && ctx->found->native) {
		*ret = *ctx->found->native;
	} else {
		_cleanup_free_ char *cache = path_join(ctx->state_dir, NATIVE_CACHE_NAME);
		if (!cache)
			return base_oom(err);
		native_probe(cache, ret);
		if (ctx->found && (ctx->found->native = malloc(sizeof *ret)))
			*ctx->found->native = *ret;
	}
	return ret->works ? 0 : base_pass(err, &ret->why);
}

static int probe(const struct backend_context *ctx, struct airlock_error *err)
{
	struct native_info info = {0};
	int rc = native_find(ctx, &info, err);
	return rc < 0 ? rc : info.own_proc ? 0 : 1;
}

/* There is no other program: a person could only type the command itself. */
static int describe(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
		    struct airlock_error *err)
{
	strs_add_all(ret, &plan->argv);
	return ret->failed ? base_oom(err) : 0;
}

static struct backend_isolation isolation(const struct backend_context *ctx, const struct plan *plan)
{
	struct native_info info = {0};
	bool own_pids = plan->namespaces & PLAN_NS_PID;
	bool own_proc = native_find(ctx, &info, NULL) == 0 && info.own_proc;
	return (struct backend_isolation){
		.filesystem = AIRLOCK_GRADE_ENFORCED,
		.processes = own_pids && own_proc && plan->new_session ? AIRLOCK_GRADE_ENFORCED : AIRLOCK_GRADE_PARTIAL,
		.syscalls = AIRLOCK_GRADE_ENFORCED,
		.network_isolated = true,
		.network_blocked = plan->namespaces & PLAN_NS_NET,
		.abstract_sockets =
			!(plan->namespaces & PLAN_NS_NET) && plan->unix_sockets && !backend_scopes_sockets(),
		.own_pid_namespace = own_pids,
		.own_user_namespace = true,
		.foreign_proc = own_pids && !own_proc,
	};
}

int native_look_around(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		       struct native_scene *ret, struct airlock_error *err)
{
	struct native_info info = {0};
	int rc = native_find(ctx, &info, err);
	if (rc == 0)
		rc = backend_make_empty_file(ctx, plan, err);
	if (rc < 0)
		return rc;
	ret->own_proc = info.own_proc;
	ret->shared = *shared;
	ret->empty = path_join(ctx->data_dir, "empty");
	return ret->empty ? 0 : base_oom(err);
}

void native_scene_done(struct native_scene *scene)
{
	free(scene->empty);
}

static int spawn(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 pid_t *ret_pid, struct airlock_error *err)
{
	_cleanup_(native_scene_done) struct native_scene scene = {0};
	const char *failed_call = NULL;
	int rc = native_look_around(ctx, plan, &fds->shared, &scene, err);
	if (rc < 0)
		return rc;
	rc = native_start(plan, &scene, fds, ret_pid, &failed_call);
	if (rc == 0)
		return 0;
	rc = base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, failed_call, "native");
	(void)base_hint(err, "run `airlock doctor` to find the cause, or try --backend bubblewrap");
	return rc;
}

const struct backend backend_native = {"native",
				       probe,
				       describe,
				       isolation,
				       spawn,
				       .hold = native_hold,
				       .prestart = &native_prestart,
				       .view = &native_view,
				       .spawns_first_process = true,
				       .has_gate = true,
				       .maps_ids = true};
