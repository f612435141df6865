/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/limits.h"

#include "supervise/cgroup.h"
#include "sys/scope.h"

#include <string.h>

#define DATA_HEADROOM (INT64_C(512) << 20)

static int refuse(const char *what, const char *option, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_LIMIT, "limit", what, "the requested %s limit cannot be enforced here", what);
	return base_hint(err, "leave %s out, or give this user a delegated cgroup (`airlock doctor` says more)",
			 option);
}

static bool is_shared(const struct limits *l)
{
	return l->memory_group && l->pids_group && strcmp(l->memory_group, l->pids_group) == 0;
}

static void lower(enum airlock_grade *grade, enum airlock_grade to)
{
	*grade = AL_MIN(*grade, to);
}

/* Not for root, who can use every group. */
static char *make_in_scope(const char *name, struct limits *l)
{
	struct sys_scope *scope = geteuid() != 0 ? malloc(sizeof *scope) : NULL;
	if (!scope || sys_scope_open(name, scope) < 0) {
		free(scope);
		return NULL;
	}
	l->scope = scope;
	l->version2 = true;
	return strdup(scope->box);
}

/* The kernel never counts processes of the initial user namespace's root. */
static bool can_count_by_rlimit(const struct backend_isolation *iso)
{
	return iso->own_user_namespace && geteuid() != 0;
}

#define SESSION_TRIES 10

/* Sets session_group and, in it, pids_group. Whoever runs the last command of a session removes its group. */
static void make_in_session(const char *name, const char *session, bool with_memory, struct limits *l)
{
	for (int i = 0; i < SESSION_TRIES && !l->pids_group; i++) {
		bool version2 = false;
		_cleanup_free_ char *group = cgroup_make_shared("pids", session, &version2);
		if (!group)
			return;
		l->pids_group = cgroup_make_below(group, name);
		if (!l->pids_group)
			continue;
		l->session_group = TAKE_PTR(group);
		/* In version 2 a process is in one group only: both limits go there. */
		if (version2 && with_memory &&
		    cgroup_write(l->session_group, "cgroup.subtree_control", "+memory") == 0) {
			l->memory_group = strdup(l->pids_group);
			l->version2 = l->memory_group != NULL;
		}
	}
}

static int decide_memory(const struct plan *plan, const struct backend_isolation *iso, const char *name,
			 struct limits *l, struct airlock_error *err)
{
	if (l->memory == TEXT_NONE || l->memory_group)
		return 0;
	l->memory_group = cgroup_make("memory", name, &l->version2);
	if (!l->memory_group)
		l->memory_group = make_in_scope(name, l);
	if (l->memory_group)
		return 0;
	if (!(iso->own_pid_namespace || iso->shared_pid_namespace) ||
	    iso->foreign_proc) { /* cannot be observed either */
		l->memory = TEXT_NONE;
		lower(&l->grade, AIRLOCK_GRADE_NONE);
		return plan->memory.asked ? refuse("memory", "--memory", err) : 0;
	}
	l->memory_watched = true;
	lower(&l->grade, AIRLOCK_GRADE_PARTIAL);
	return 0;
}

static int decide_pids(const struct plan *plan, const struct backend_isolation *iso, const char *name, struct limits *l,
		       struct airlock_error *err)
{
	if (l->pids == TEXT_NONE)
		return 0;
	l->pids_by_rlimit = can_count_by_rlimit(iso);
	l->pids_watched = !iso->foreign_proc;
	if (l->pids_by_rlimit || l->pids_group)
		return 0;
	bool version2 = false;
	/* In version 2 a process is in one group only: both limits go there. */
	if (l->memory_group && l->version2)
		l->pids_group = strdup(l->memory_group);
	else
		l->pids_group = cgroup_make("pids", name, &version2);
	if (l->pids_group)
		return 0;
	l->pids = TEXT_NONE;
	lower(&l->grade, AIRLOCK_GRADE_PARTIAL);
	return plan->pids.asked ? refuse("pids", "--pids", err) : 0;
}

int limits_decide(const struct plan *plan, const struct backend_isolation *iso, const char *name, const char *session,
		  struct limits *ret, struct airlock_error *err)
{
	*ret = (struct limits){.memory = plan->memory.value,
			       .pids = plan->pids.value,
			       .file_size = plan->file_size.value,
			       .is_shared = iso->shared_pid_namespace,
			       .monitor_counts = iso->shared_pid_namespace && iso->monitor_counts,
			       .grade = AIRLOCK_GRADE_ENFORCED};
	if (session && ret->pids != TEXT_NONE && !can_count_by_rlimit(iso))
		make_in_session(name, session, ret->memory != TEXT_NONE, ret);
	int rc = decide_memory(plan, iso, name, ret, err);
	if (rc == 0)
		rc = decide_pids(plan, iso, name, ret, err);
	ret->pids_alone = session && plan->pids.asked && ret->pids != TEXT_NONE &&
			  !(ret->pids_by_rlimit ? ret->is_shared : ret->session_group != NULL);
	if (rc < 0)
		limits_done(ret);
	return rc;
}

void limits_fill_job(const struct limits *l, struct child_job *job)
{
	job->max_data = job->watch_memory = job->max_processes = job->watch_processes = job->max_file_size = CHILD_NONE;
	if (l->memory_watched) {
		job->watch_memory = l->memory;
		/* A limit for one process between two checks; far above the real limit, because reserved but untouched
		 * memory does not count, and because the watch should act first. */
		job->max_data = l->memory > INT64_MAX / 8 ? CHILD_NONE : l->memory * 4 + DATA_HEADROOM;
	}
	if (l->is_shared && l->memory != TEXT_NONE)
		job->watch_memory = l->memory;
	if (l->pids_by_rlimit) {
		int64_t own = l->is_shared ? 2 : 1; /* the first process counts too, and so does a session's holder */
		job->max_processes = l->pids + own + l->monitor_counts;
		job->watch_processes = l->pids_watched ? l->pids + own - 1 : CHILD_NONE;
	}
	if (l->file_size != TEXT_NONE)
		job->max_file_size = l->file_size;
}

static int set_memory(const struct limits *l)
{
	if (l->version2) {
		int rc = cgroup_write_number(l->memory_group, "memory.max", l->memory);
		(void)cgroup_write(l->memory_group, "memory.swap.max", "0");
		(void)cgroup_write(l->memory_group, "memory.oom.group", "1");
		return rc;
	}
	int rc = cgroup_write_number(l->memory_group, "memory.limit_in_bytes", l->memory);
	(void)cgroup_write_number(l->memory_group, "memory.memsw.limit_in_bytes", l->memory);
	return rc;
}

static const char *group_with_pids_limit(const struct limits *l)
{
	return l->session_group ? l->session_group : l->pids_group;
}

int limits_attach(struct limits *l, pid_t pid, struct airlock_error *err)
{
	int rc = 0;
	if (l->session_group)
		l->session_events = cgroup_event(l->session_group, "pids.events", "max");
	if (l->memory_group) {
		rc = set_memory(l);
		if (rc == 0)
			rc = l->scope ? sys_scope_attach(l->scope, pid)
				      : cgroup_write_number(l->memory_group, "cgroup.procs", pid);
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "memory limit", l->memory_group);
	}
	if (l->pids_group) {
		rc = cgroup_write_number(group_with_pids_limit(l), "pids.max", l->pids + 1);
		if (rc == 0 && !is_shared(l))
			rc = cgroup_write_number(l->pids_group, "cgroup.procs", pid);
	}
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "process limit", l->pids_group) : 0;
}

enum airlock_limit limits_hit(const struct limits *l)
{
	if (l->memory_group &&
	    cgroup_event(l->memory_group, l->version2 ? "memory.events" : "memory.oom_control", "oom_kill") > 0)
		return AIRLOCK_LIMIT_MEMORY;
	/* Which of the two groups counts it depends on the kernel. */
	if ((l->pids_group && cgroup_event(l->pids_group, "pids.events", "max") > 0) ||
	    (l->session_group && cgroup_event(l->session_group, "pids.events", "max") > l->session_events))
		return AIRLOCK_LIMIT_PIDS;
	return AIRLOCK_LIMIT_NONE;
}

void limits_leave(struct limits *l)
{
	base_freep(&l->memory_group);
	base_freep(&l->pids_group);
	base_freep(&l->session_group);
	limits_done(l);
}

void limits_done(struct limits *l)
{
	if (l->memory_group)
		cgroup_remove(l->memory_group);
	if (l->pids_group && !is_shared(l))
		cgroup_remove(l->pids_group);
	if (l->session_group)
		cgroup_remove_if_unused(l->session_group);
	base_freep(&l->memory_group);
	base_freep(&l->pids_group);
	base_freep(&l->session_group);
	if (l->scope)
		sys_scope_close(l->scope);
	free(l->scope);
	l->scope = NULL;
}
