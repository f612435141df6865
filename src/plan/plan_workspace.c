/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan_workspace.h"

#include "base/path.h"
#include "plan/nodes.h"
#include "plan/screens.h"

#include <string.h>

/* Programs and libraries. With a merged /usr the short names are links on the host; here each is a mount of the link's
 * target, so that a workspace needs no links of its own. */
static const char *const system_dirs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
/* The files of the machine that programs need, and no more. */
static const char *const system_files[] = {"/etc/resolv.conf",	"/etc/hosts",	    "/etc/ssl",
					   "/etc/alternatives", "/etc/ld.so.cache", "/etc/nsswitch.conf",
					   "/etc/localtime"};

struct builder {
	struct plan *plan;
	const struct plan_inputs *in;
	struct airlock_error *err;
	int rc;
};

static void add(struct builder *b, enum plan_mount_kind kind, const char *source, const char *target, int64_t size,
		struct airlock_origin because)
{
	struct node n = {.path = (char *)target, .source = (char *)source, .because = because, .size = size};
	if (b->rc == 0)
		b->rc = plan_add_mount(b->plan, kind, &n, b->err);
}

/* A path of the host with links resolved, at its own name. */
static void add_system(struct builder *b, const char *path, struct airlock_origin because)
{
	_cleanup_free_ char *real = b->in->world->real(path, b->in->world->data);
	if (real)
		add(b, PLAN_READ, real, path, 0, because);
}

/* The workspace has the same link as the host: its target exists already. */
static bool is_same_link(const struct builder *b, const char *path)
{
	const struct plan_world *w = b->in->world;
	_cleanup_free_ char *own = path_join(b->in->workspace->dir, path + 1);
	_cleanup_free_ char *theirs = own ? w->link(own, w->data) : NULL;
	_cleanup_free_ char *ours = theirs ? w->link(path, w->data) : NULL;
	return ours && strcmp(ours, theirs) == 0;
}

/* Covers the workspace's own entries there: binding them one by one would follow whatever a concurrent command puts in
 * their place. */
static void add_etc(struct builder *b)
{
	const struct plan_workspace *ws = b->in->workspace;
	add(b, PLAN_EMPTY_DIR, NULL, "/etc", 0, RULE_ORIGIN(MACHINE_ONLY));
	bool gate = b->in->gate;
	for (size_t i = 0; i < AL_ARRAY_LEN(system_files); i++)
		if (!gate ||
		    (strcmp(system_files[i], "/etc/resolv.conf") != 0 && strcmp(system_files[i], "/etc/hosts") != 0))
			add_system(b, system_files[i], RULE_ORIGIN(MACHINE));
	if (gate) {
		add(b, PLAN_READ, b->in->resolver, "/etc/resolv.conf", 0, RULE_ORIGIN(RESOLVER));
		add(b, PLAN_READ, b->in->hosts, "/etc/hosts", 0, RULE_ORIGIN(RESOLVER));
	}
	add(b, PLAN_READ, ws->passwd, "/etc/passwd", 0, RULE_ORIGIN(MADE));
	add(b, PLAN_READ, ws->group, "/etc/group", 0, RULE_ORIGIN(MADE));
}

static void add_kernel(struct builder *b)
{
	const struct policy *policy = b->in->policy;
	if (policy->share_pid) /* a new /proc needs a new pid namespace */
		add(b, PLAN_READ, "/proc", "/proc", 0, RULE_ORIGIN(SHARE_PID));
	else
		add(b, PLAN_PROC, NULL, "/proc", 0, RULE_ORIGIN(ALWAYS));
	if (!policy->share_pid && (b->in->is_root || !policy->nested))
		add(b, PLAN_READ, "/proc/sys", "/proc/sys", 0, RULE_ORIGIN(ALWAYS));
	add(b, PLAN_DEV, NULL, "/dev", 0, RULE_ORIGIN(ALWAYS));
	add(b, PLAN_TMPFS, NULL, "/dev/shm", policy_share_bytes(policy->shm_size, b->in->memory), RULE_ORIGIN(ALWAYS));
	if (b->in->tmp_source)
		add(b, PLAN_WRITE, b->in->tmp_source, "/tmp", 0, RULE_ORIGIN(SESSION_TMP));
	else
		add(b, PLAN_TMPFS, NULL, "/tmp", policy_share_bytes(policy->tmp_size, b->in->memory),
		    RULE_ORIGIN(ALWAYS));
}

/* The sockets of an added directory lead nowhere; a socket that was named itself works. */
static void screen(struct builder *b)
{
	struct node n = {.kind = PLAN_READ};
	_cleanup_(nodes_done) struct nodes none = {0};
	if (b->rc < 0)
		return;
	n.path = n.source = b->plan->mounts[b->plan->n_mounts - 1].source;
	if (!screens_settle(&none, &n, b->in, b->plan))
		b->rc = base_oom(b->err);
}

int workspace_mounts(struct plan *p, const struct plan_inputs *in, struct airlock_error *err)
{
	struct builder b = {.plan = p, .in = in, .err = err};
	add(&b, in->capture ? PLAN_LAYER : PLAN_WRITE, in->workspace->dir, "/", 0, RULE_ORIGIN(WORKSPACE));
	for (size_t i = 0; i < AL_ARRAY_LEN(system_dirs); i++)
		if (!is_same_link(&b, system_dirs[i]))
			add_system(&b, system_dirs[i], RULE_ORIGIN(SYSTEM));
	add_etc(&b);
	add_kernel(&b);
	for (size_t i = 0; i < in->workspace->n_binds; i++) {
		add(&b, PLAN_READ, in->workspace->binds[i].source, in->workspace->binds[i].target, 0,
		    RULE_ORIGIN(CALLER, "--bind-ro"));
		screen(&b);
	}
	add(&b, PLAN_SEAL, NULL, "/etc", 0, RULE_ORIGIN(ALWAYS));
	add(&b, PLAN_SEAL, NULL, "/dev", 0, RULE_ORIGIN(ALWAYS));
	if (in->is_root)
		add(&b, PLAN_SEAL, NULL, "/proc", 0, RULE_ORIGIN(ALWAYS));
	return b.rc;
}
