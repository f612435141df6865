/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/policy.h"

#include "base/array.h"
#include "base/path.h"

#include <inttypes.h>
#include <string.h>

void policy_done(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_paths; i++)
		base_freep(&p->paths[i].path);
	base_freep(&p->paths);
	strs_done(&p->origin_names);
	base_freep(&p->profile);
	base_freep(&p->env_deny_after);
	strs_done(&p->env_allow);
	strs_done(&p->env_deny);
	strs_done(&p->env_set);
	*p = (struct policy)POLICY_INIT;
}

bool policy_hides_secrets(const struct policy *p, const char *home)
{
	for (size_t i = 0; i < p->n_paths; i++)
		if (p->paths[i].access == POLICY_HIDE && p->paths[i].origin.kind == AIRLOCK_ORIGIN_BUILTIN &&
		    path_is_beneath(p->paths[i].path, home) && strcmp(p->paths[i].path, home) != 0)
			return true;
	return false;
}

int policy_take_path(struct policy *p, enum policy_access access, char *taken, struct airlock_origin origin,
		     struct airlock_error *err)
{
	_cleanup_free_ char *path = taken;
	if (!path)
		return base_oom(err);
	if (!path_is_normal(path))
		return base_error(err, AIRLOCK_ERR_INVALID, "policy", path, "%s: not an absolute, normal path", path);
	origin = rule_origin_keep(origin, &p->origin_names);
	if (p->origin_names.failed || !ARRAY_ROOM(p->paths, p->n_paths, p->cap_paths, 512))
		return base_oom(err);
	p->paths[p->n_paths++] = (struct policy_path){.path = TAKE_PTR(path), .access = access, .origin = origin};
	return 0;
}

int policy_add_path(struct policy *p, enum policy_access access, const char *path, struct airlock_origin origin,
		    struct airlock_error *err)
{
	return policy_take_path(p, access, strdup(path), origin, err);
}

const struct policy_path *policy_rule_for(const struct policy *p, const char *path)
{
	const struct policy_path *best = NULL;
	size_t best_len = 0, path_len = strlen(path);
	for (size_t i = 0; i < p->n_paths; i++) {
		size_t len = strlen(p->paths[i].path);
		if (len > path_len || (len > 1 && path[len] != '/' && path[len] != '\0'))
			continue; /* there are hundreds, and this tells it of most */
		if (len >= best_len && path_is_beneath(path, p->paths[i].path)) {
			best = &p->paths[i];
			best_len = len;
		}
	}
	return best;
}

int policy_expand_path(const char *text, const char *home, char **ret, struct airlock_error *err)
{
	bool in_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
	if (text[0] == '~' && !in_home)
		return base_error(err, AIRLOCK_ERR_INVALID, "path", text,
				  "%s: ~USER is not supported; write the path in full", text);
	if (in_home && !home)
		return base_error(err, AIRLOCK_ERR_INVALID, "path", text, "%s: there is no home directory", text);
	if (!in_home && text[0] != '/')
		return base_error(err, AIRLOCK_ERR_INVALID, "path", text,
				  "\"%s\" is not a path that starts with / or ~/", text);
	/* Strips all slashes: the rest is relative to home; "~//x" is not an absolute path. */
	const char *rest = in_home ? text + 1 + strspn(text + 1, "/") : text;
	char *path = path_normalize(home, rest);
	if (!path)
		return base_oom(err);
	*ret = path;
	return 0;
}

/* A sandbox has its own /proc and /dev: the host's could undo everything else. Hiding paths there does no harm. */
static int check_path(const struct policy_path *rule, struct airlock_error *err)
{
	static const char *const own[] = {"/proc", "/dev"};
	const char *taken = NULL;
	for (size_t i = 0; i < AL_ARRAY_LEN(own) && rule->access != POLICY_HIDE; i++)
		taken = path_is_beneath(rule->path, own[i]) ? own[i] : taken;
	bool is_valid = path_is_normal(rule->path) && (unsigned)rule->access <= POLICY_WRITE;
	if (is_valid && !taken)
		return 0;
	_cleanup_buf_ struct buf origin = BUF_INIT;
	rule_origin_add(&origin, &rule->origin);
	if (!is_valid)
		return base_error(err, AIRLOCK_ERR_INVALID, "policy", rule->path, "%s: invalid rule (from %s)",
				  rule->path, buf_str(&origin));
	return base_error(err, AIRLOCK_ERR_INVALID, "policy", rule->path,
			  "%s: every sandbox has its own %s, so the host's cannot be shown (from %s)", rule->path,
			  taken, buf_str(&origin));
}

struct limit_row {
	const char *name;
	const struct policy_limit *limit;
	int64_t min;
};

static int check_limits(const struct policy *p, struct airlock_error *err)
{
	const struct limit_row rows[] = {
		{"timeout", &p->timeout_ms, 1},
		{"memory", &p->memory, INT64_C(1) << 20},
		{"pids", &p->pids, 1},
		{"file_size", &p->file_size, 0},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		if (rows[i].limit->value < rows[i].min)
			return base_error(err, AIRLOCK_ERR_INVALID, "policy", rows[i].name,
					  "%s: %" PRId64 " is too little for any command; at least %" PRId64,
					  rows[i].name, rows[i].limit->value, rows[i].min);
	return 0;
}

static int check_env(const struct policy *p, struct airlock_error *err)
{
	for (size_t i = 0; i < p->env_set.n; i++)
		if (p->env_set.v[i][0] == '\0' || p->env_set.v[i][0] == '=')
			return base_error(err, AIRLOCK_ERR_INVALID, "policy", "env",
					  "a variable without a name: \"%s\"", p->env_set.v[i]);
	if (strs_has(&p->env_allow, "") || strs_has(&p->env_deny, ""))
		return base_error(err, AIRLOCK_ERR_INVALID, "policy", "env", "an empty pattern matches no variable");
	return 0;
}

int policy_validate(const struct policy *p, struct airlock_error *err)
{
	if (!p->profile || !*p->profile)
		return base_error(err, AIRLOCK_ERR_INVALID, "policy", "profile",
				  "a policy needs the name of its profile");
	if ((unsigned)p->network > POLICY_NETWORK_REFUSE || (unsigned)p->changes > POLICY_CHANGES_DISCARD)
		return base_error(err, AIRLOCK_ERR_INVALID, "policy", p->profile, "%s: a value out of range",
				  p->profile);
	int rc = check_limits(p, err);
	for (size_t i = 0; rc >= 0 && i < p->n_paths; i++)
		rc = check_path(&p->paths[i], err);
	return rc < 0 ? rc : check_env(p, err);
}

static const char *const access_names[] = {"hide", "tmpfs", "read", "write"};
static const char *const changes_names[] = {"direct", "apply", "ask", "hold", "discard"};

const char *policy_access_name(enum policy_access a)
{
	return access_names[a];
}

const char *policy_changes_name(enum policy_changes c)
{
	return changes_names[c];
}

#define MIB (INT64_C(1) << 20)

int64_t policy_share_bytes(int64_t share, int64_t memory)
{
	if (share >= 0)
		return share;
	int64_t bytes = memory * -share / 100 & ~(MIB - 1);
	return bytes < MIB ? MIB : bytes;
}
