/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/environment.h"

#include "base/path.h"

#include <string.h>

#define WORKSPACE_PATH "/.venv/bin:/node_modules/.bin:/usr/bin:/bin"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *lookup(const char *const *env, const char *name, size_t len)
{
	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static void set(struct strs *envp, const char *name, size_t len, const char *value)
{
	for (size_t i = 0; i < envp->n; i++) {
		if (strncmp(envp->v[i], name, len) == 0 && envp->v[i][len] == '=') {
			strs_remove_at(envp, i);
			break;
		}
	}
	strs_addf(envp, "%.*s=%s", (int)len, name, value);
}

static bool has(const struct strs *envp, const char *name)
{
	return lookup((const char *const *)envp->v, name, strlen(name)) != NULL;
}

static void inherit(struct plan *p, const struct plan_inputs *in)
{
	_cleanup_(policy_env_done) struct policy_env filter;
	if (!policy_env_init(&filter, in->policy)) {
		p->envp.failed = true;
		return;
	}
	for (const char *const *e = in->environ; e && *e; e++) {
		size_t len = strcspn(*e, "=");
		if ((*e)[len] != '=' || len == 0)
			continue; /* Not a variable; no program would find it. */
		char *name = strndup(*e, len);
		enum policy_env_verdict verdict =
			name ? policy_env_judge(&filter, name, *e + len + 1) : POLICY_ENV_NAME;
		if (verdict == POLICY_ENV_KEPT)
			strs_add(&p->envp, *e);
		else
			strs_add(&p->env_removed_for[verdict], name ? name : "");
		free(name);
	}
}

static bool is_asked_for(const struct policy *policy, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < policy->env_set.n; i++)
		if (strncmp(policy->env_set.v[i], name, len) == 0 &&
		    (policy->env_set.v[i][len] == '=' || policy->env_set.v[i][len] == '\0'))
			return true;
	return false;
}

/* The workspace's own tools come first; the caller's paths mean nothing there. */
static void workspace_environment(struct strs *envp, const struct plan_inputs *in)
{
	_cleanup_free_ char *venv = path_join(in->workspace->dir, ".venv");
	set(envp, "HOME", 4, "/");
	if (!is_asked_for(in->policy, "PATH"))
		set(envp, "PATH", 4, WORKSPACE_PATH);
	enum plan_type type = venv ? in->world->type(venv, in->world->data) : PLAN_MISSING;
	if (type == PLAN_DIRECTORY || type == PLAN_LINK)
		set(envp, "VIRTUAL_ENV", 11, "/.venv");
	envp->failed |= !venv;
}

/* A variable that was removed and then set to another value does not count as removed. */
static void note_removed(struct plan *p, struct strs *names)
{
	for (size_t i = 0; i < names->n;) {
		if (strs_has(&p->env_kept, names->v[i]))
			strs_remove_at(names, i);
		else
			strs_add(&p->env_removed, names->v[i++]);
	}
	strs_sort(names);
	p->env_removed.failed |= names->failed;
}

void environment_build(struct plan *p, const struct plan_inputs *in)
{
	inherit(p, in);
	for (size_t i = 0; i < in->policy->env_set.n; i++) {
		const char *item = in->policy->env_set.v[i];
		size_t len = strcspn(item, "=");
		const char *value = item[len] == '=' ? item + len + 1 : lookup(in->environ, item, len);
		if (value)
			set(&p->envp, item, len, value);
	}
	set(&p->envp, "PWD", 3, p->cwd);
	if (in->workspace)
		workspace_environment(&p->envp, in);
	else
		set(&p->envp, "HOME", 4, in->home);
	if (!has(&p->envp, "PATH"))
		set(&p->envp, "PATH", 4, DEFAULT_PATH);
	for (size_t i = 0; i < p->envp.n; i++)
		strs_addn(&p->env_kept, p->envp.v[i], strcspn(p->envp.v[i], "="));
	strs_sort(&p->env_kept);
	for (size_t i = 0; i < POLICY_ENV_N_VERDICTS; i++)
		note_removed(p, &p->env_removed_for[i]);
	strs_sort(&p->env_removed);
}
