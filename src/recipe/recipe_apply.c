/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns a recipe into rules of a policy. Pure: it does not look at the machine. */
#include "recipe/recipe.h"

#include "base/path.h"

#include <stdio.h>
#include <string.h>

/* The files of the home that belong to an agent. */
static const struct strs *own_list(const struct recipe *r, size_t i)
{
	const struct strs *const lists[] = {&r->private_dirs, &r->private_files, &r->state, &r->credentials, &r->files};
	return i < AL_ARRAY_LEN(lists) ? lists[i] : NULL;
}

/* True if one of the recipe's own paths is this one, lies in it, or contains it. */
static bool touches_own(const struct recipe *r, const char *path)
{
	const struct strs *l;
	for (size_t k = 0; r && (l = own_list(r, k)); k++)
		for (size_t i = 0; i < l->n; i++)
			if (path_is_beneath(l->v[i], path) || path_is_beneath(path, l->v[i]))
				return true;
	return false;
}

/* ── Paths ── */

static bool is_own(const struct recipe *r, const char *path)
{
	const struct strs *l;
	for (size_t k = 0; (l = own_list(r, k)); k++)
		for (size_t i = 0; i < l->n; i++)
			if (path_is_beneath(path, l->v[i]))
				return true;
	return false;
}

/* The profiles hide the credentials and transcripts of every agent they know; this one may see its own. What a person hides
 * stays hidden. */
static void show_own(const struct recipe *r, struct policy *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_paths; i++) {
		struct policy_path *rule = &p->paths[i];
		bool drops = rule->access == POLICY_HIDE && rule->origin.kind == AIRLOCK_ORIGIN_BUILTIN &&
			     is_own(r, rule->path);
		if (drops)
			base_freep(&rule->path);
		else
			p->paths[n++] = *rule;
	}
	p->n_paths = n;
}

static bool is_hidden_by_person(const struct policy *p, const char *path)
{
	const struct policy_path *rule = policy_rule_for(p, path);
	return rule && rule->access == POLICY_HIDE && rule->origin.kind != AIRLOCK_ORIGIN_BUILTIN;
}

static int add_own(struct policy *p, const struct strs *paths, enum policy_access access, struct airlock_origin origin,
		   struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < paths->n; i++)
		if (!is_hidden_by_person(p, paths->v[i]))
			rc = policy_add_path(p, access, paths->v[i], origin, err);
	return rc;
}

static bool lies_in_private(const struct recipe *r, const char *path)
{
	for (size_t i = 0; i < r->private_dirs.n; i++)
		if (path_is_beneath(path, r->private_dirs.v[i]))
			return true;
	return false;
}

static int add_credentials(const struct recipe *r, struct policy *p, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < r->credentials.n; i++) /* in a private directory they are visible with it */
		if (!lies_in_private(r, r->credentials.v[i]) && !is_hidden_by_person(p, r->credentials.v[i]))
			rc = policy_add_path(p, POLICY_READ, r->credentials.v[i],
					     RULE_ORIGIN(AGENT_CREDENTIALS, r->name), err);
	return rc;
}

static int add_program(const struct recipe *r, const struct recipe_program *program, struct policy *p,
		       struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < program->shown.n; i++) {
		const char *dir = program->shown.v[i];
		const struct policy_path *rule = policy_rule_for(p, dir);
		bool is_visible = rule && (rule->access == POLICY_READ || rule->access == POLICY_WRITE);
		bool is_private = lies_in_private(r, dir); /* it could replace its own program for the session */
		if ((!is_visible || is_private) && !is_hidden_by_person(p, dir))
			rc = policy_add_path(p, POLICY_READ, dir, RULE_ORIGIN(AGENT_PROGRAM, r->name), err);
	}
	return rc;
}

/* True if a rule of a person is about this path or one of the agent's own above it. */
static bool is_shown_by_person(const struct recipe *of, const struct policy *p, const char *path)
{
	const struct policy_path *rule = policy_rule_for(p, path);
	bool is_persons =
		rule && (rule->origin.kind == AIRLOCK_ORIGIN_CALLER || rule->origin.kind == AIRLOCK_ORIGIN_FILE);
	return is_persons && rule->access != POLICY_HIDE && is_own(of, rule->path);
}

static int hide_paths(const struct recipe *of, const struct strs *paths, const struct recipe *own,
		      const struct recipe_scene *scene, struct policy *p, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < paths->n; i++) {
		const char *path = paths->v[i];
		bool holds_project = scene->project && path_is_beneath(scene->project, path);
		if (recipe_is_pattern(path)) /* in a private directory, which is hidden */
			continue;
		if (!holds_project && !touches_own(own, path) && !is_shown_by_person(of, p, path))
			rc = policy_add_path(p, POLICY_HIDE, path, RULE_ORIGIN(AGENT_OTHER, of->name), err);
	}
	return rc;
}

static int hide_others(const struct recipe *r, const struct recipe_list *all, const struct recipe_scene *scene,
		       struct policy *p, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct strs *l;
		for (size_t k = 0; rc >= 0 && strcmp(all->v[i]->name, r->name) != 0 && (l = own_list(all->v[i], k));
		     k++)
			rc = hide_paths(all->v[i], l, r, scene, p, err);
	}
	return rc;
}

/* ── Network ── */

static int add_host(struct config *c, const char *text, enum host_rule_verdict verdict, struct airlock_origin origin,
		    struct airlock_error *err)
{
	struct host_rule rule;
	if (host_rule_parse(text, verdict, &rule) != HOST_RULE_FINE) /* it was checked */
		return base_error(err, AIRLOCK_ERR_INTERNAL, "network", text, "%s is no host", text);
	rule.verdict = verdict;
	rule.origin = rule_origin_keep(origin, &c->origin_names);
	return c->origin_names.failed || net_rules_add(&c->network_rules, &rule) < 0 ? base_oom(err) : 0;
}

static int add_set(struct config *c, const char *name, enum host_rule_verdict verdict, struct airlock_origin origin,
		   struct airlock_error *err)
{
	const struct strs *set = config_host_set(c, name);
	if (!set)
		return base_error(err, AIRLOCK_ERR_INVALID, "network", origin.name,
				  "%s:%d: there is no set \"%s\" in [network.sets] of your configuration", origin.name,
				  origin.line, name);
	int rc = 0;
	for (size_t k = 0; rc >= 0 && k < set->n; k++)
		rc = add_host(c, set->v[k], verdict, origin, err);
	return rc;
}

static int add_hosts(const struct recipe *r, const struct recipe_hosts *hosts, enum host_rule_verdict verdict,
		     struct config *c, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < hosts->rules.n; i++) {
		const char *text = hosts->rules.v[i];
		struct airlock_origin origin = RULE_ORIGIN(FILE, r->file, hosts->lines[i]);
		rc = text[0] == '@' ? add_set(c, text + 1, verdict, origin, err)
				    : add_host(c, text, verdict, origin, err);
	}
	return rc;
}

/* Its hosts are allowed, and everything else is asked about. */
static int open_network(const struct recipe *r, struct config *c, struct airlock_error *err)
{
	bool is_off = c->network_mode_asked && c->network_asked == NET_OFF;
	if (c->policy.network == POLICY_NETWORK_REFUSE && !is_off) {
		base_error(err, AIRLOCK_ERR_BLOCKED, "network", c->policy.profile,
			   "profile %s refuses network access, so %s could not reach its model", c->policy.profile,
			   r->title);
		return base_hint(err, "choose a profile that allows it, or --network-mode off if it needs none");
	}
	int rc = add_hosts(r, &r->hosts, HOST_RULE_ALLOW, c, err);
	if (rc >= 0)
		rc = add_hosts(r, &r->deny, HOST_RULE_DENY, c, err);
	if (rc < 0 || c->network_mode != NET_OFF)
		return rc;
	c->network_mode = NET_HOSTS;
	c->network_mode_origin = rule_origin_keep(RULE_ORIGIN(FILE, r->file, 1), &c->origin_names);
	return c->origin_names.failed ? base_oom(err) : 0;
}

/* ── The rest ── */

static bool has_variable(const struct strs *set, const char *entry)
{
	size_t len = strcspn(entry, "=");
	for (size_t i = 0; i < set->n; i++)
		if (strncmp(set->v[i], entry, len) == 0 && (set->v[i][len] == '=' || set->v[i][len] == '\0'))
			return true;
	return false;
}

static int add_variables(const struct recipe *r, struct policy *p, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < r->env_keep.n; i++)
		rc = policy_allow_env(p, r->env_keep.v[i], err);
	for (size_t i = 0; i < r->env_set.n; i++)
		if (!has_variable(&p->env_set, r->env_set.v[i]))
			strs_add(&p->env_set, r->env_set.v[i]);
	return rc >= 0 && p->env_set.failed ? base_oom(err) : rc;
}

static bool is_set(const struct config *c, const char *name)
{
	char key[128];
	(void)snprintf(key, sizeof key, "profiles.%s.%s", c->policy.profile, name);
	return config_is_set(c, key);
}

/* An agent is one command that works for hours, and a person looks at what it did at the end. */
static void choose_defaults(struct config *c)
{
	if (!c->policy.changes_asked && !is_set(c, "changes"))
		c->policy.changes = POLICY_CHANGES_HOLD;
	if (!c->policy.timeout_ms.asked && !is_set(c, "timeout"))
		c->policy.timeout_ms.value = TEXT_NONE;
}

int recipe_apply(const struct recipe *r, const struct recipe_list *all, const struct recipe_scene *scene,
		 struct config *c, struct airlock_error *err)
{
	struct policy *p = &c->policy;
	int rc = hide_others(r, all, scene, p, err);
	show_own(r, p);
	if (rc >= 0)
		rc = add_credentials(r, p, err);
	if (rc >= 0)
		rc = add_own(p, &r->state, POLICY_WRITE, RULE_ORIGIN(AGENT_STATE, r->name), err);
	if (rc >= 0)
		rc = add_program(r, scene->program, p, err);
	if (rc >= 0)
		rc = open_network(r, c, err);
	if (rc >= 0)
		rc = add_variables(r, p, err);
	choose_defaults(c);
	return rc;
}

int recipe_hide(const struct recipe_list *all, const struct recipe_scene *scene, struct config *c,
		struct airlock_error *err)
{
	struct policy *p = &c->policy;
	int rc = 0;
	if (!policy_hides_secrets(p, scene->home))
		return 0;
	for (size_t i = 0; rc >= 0 && i < all->n; i++) {
		const struct recipe *r = all->v[i];
		const struct strs *const secret[] = {&r->credentials, &r->state, &r->private_files};
		for (size_t k = 0; rc >= 0 && k < AL_ARRAY_LEN(secret); k++)
			rc = hide_paths(r, secret[k], NULL, scene, p, err);
	}
	return rc;
}
