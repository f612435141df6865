/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How every sandbox begins, made while the plan is: namespaces, the host's root, /dev and /proc. A kernel takes as long for
 * them as we do to read the configuration and to decide, and most machines have two processors. Nothing of it is a decision:
 * a plan that begins otherwise, or asks for other namespaces, gets a new sandbox. */
#include "backend/native.h"

#include "backend/prepared.h"
#include "child/ahead.h"

#include <poll.h>
#include <string.h>

static int begin(struct backend_prepared *p)
{
	struct ahead *a = ahead_take_early();
	int rc = 0;
	if (!a) {
		a = calloc(1, sizeof *a);
		rc = a ? ahead_begin(a) : -ENOMEM;
	}
	if (rc < 0) {
		free(a);
		return rc;
	}
	p->control_fd = a->control_fd;
	p->host_mounts_fd = a->mounts_fd;
	p->ahead = a;
	return 0;
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

/* A plan in the child's words, or -EINVAL when it does not begin as usual. */
static int translate(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		     struct child_mount *mounts, struct child_plan *ret)
{
	size_t found = 0;
	int rc = native_translate(plan, own_proc, empty_file, fds, mounts, ret);
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++) {
		bool is_there = ahead_makes(mounts[i].kind, mounts[i].source.text, mounts[i].target.text);
		mounts[i].late = is_there ? CHILD_FIRST : CHILD_WITH_PLAN;
		found += is_there;
	}
	return rc < 0 ? rc : mounts[0].late || found != AHEAD_MOUNTS ? -EINVAL : 0;
}

/* The same without its layers. -EINVAL also when something else would have to wait for them. */
static int translate_early(const struct plan *plan, bool own_proc, const char *empty_file, void **ret, size_t *ret_len)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	int rc = mounts ? translate(plan, own_proc, empty_file, NULL, mounts, &spec) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++)
		rc = native_mark_late(plan, i, &mounts[i]);
	return rc < 0 ? rc : child_plan_bytes(&spec, ret, ret_len);
}

static bool fits(const struct plan *plan, bool own_proc, const struct backend_prepared *p)
{
	const struct launch *was = &p->ahead->l;
	return own_proc && was->namespaces == native_clone_flags(plan) &&
	       (was->new_session != 0) == plan->new_session && was->uid == geteuid() && was->gid == getegid();
}

void native_advance_ahead(const struct plan *plan, bool own_proc, const char *empty_file, struct backend_prepared *p)
{
	if (!fits(plan, own_proc, p) || translate_early(plan, own_proc, empty_file, &p->key, &p->key_len) < 0)
		return;
	_cleanup_close_ int fd = child_plan_memory(p->key, p->key_len);
	if (fd < 0 || native_send(p, CHILD_ADVANCE, &fd, 1) < 0) {
		free(p->key); /* and TAKE is all it hears */
		p->key = NULL;
	}
}

/* What it was told to do in advance is what it is to do now; or it was told nothing. */
static bool is_still_right(const struct plan *plan, bool own_proc, const char *empty_file,
			   const struct backend_prepared *p)
{
	void *bytes = NULL;
	size_t len = 0;
	if (!p->key)
		return true;
	bool same = translate_early(plan, own_proc, empty_file, &bytes, &len) == 0 && len == p->key_len &&
		    memcmp(bytes, p->key, len) == 0;
	free(bytes);
	return same;
}

static int rest_fd(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		   bool has_advanced)
{
	_cleanup_free_ struct child_mount *mounts = calloc(plan->n_mounts + 1, sizeof *mounts);
	struct child_plan spec;
	int rc = mounts ? translate(plan, own_proc, empty_file, fds, mounts, &spec) : -ENOMEM;
	for (size_t i = 0; has_advanced && rc == 0 && i < plan->n_mounts; i++)
		rc = native_mark_late(plan, i, &mounts[i]);
	return rc < 0 ? rc : child_plan_fd(&spec);
}

bool native_take_ahead(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		       struct backend_prepared *p)
{
	if (!fits(plan, own_proc, p) || !is_still_right(plan, own_proc, empty_file, p) || !is_as_then(p))
		return false;
	_cleanup_close_ int rest = rest_fd(plan, own_proc, empty_file, fds, p->key != NULL);
	/* Sent before it is known whether there is anybody: who is there need not wait until we are woken to hear of it. */
	return rest >= 0 && native_send_command(p, fds, rest) == 0 && backend_prepared_settle(p) == 0;
}
