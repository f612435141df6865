/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "denial/denial.h"

#include "base/path.h"
#include "denial/mount_rules.h"

#include <stdlib.h>
#include <string.h>

const char *const denial_devices[DENIAL_DEVICES] = {"/dev/null",   "/dev/zero",	   "/dev/full",
						    "/dev/random", "/dev/urandom", "/dev/tty"};

static const struct denial_verdict not_refused = {0};

/* The mount through which a path is seen: the deepest one above it. */
static const struct plan_mount *cover_of(const struct denial_scene *scene, const char *path)
{
	const struct plan_mount *found = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < scene->plan->n_mounts; i++) {
		const struct plan_mount *m = &scene->plan->mounts[i];
		const char *place = mount_place(scene, m);
		if (mount_decides(m) && path_is_beneath(path, place) && strlen(place) >= longest) {
			found = m;
			longest = strlen(place);
		}
	}
	return found;
}

/* Entries of rebuilt directories inherit the rule above them: the nearest mount that a rule set. */
static const struct plan_mount *rule_of(const struct denial_scene *scene, const char *path)
{
	const struct plan_mount *found = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < scene->plan->n_mounts; i++) {
		const struct plan_mount *m = &scene->plan->mounts[i];
		const char *place = mount_place(scene, m);
		if (mount_decides(m) && !m->derived && path_is_beneath(path, place) && strlen(place) >= longest) {
			found = m;
			longest = strlen(place);
		}
	}
	return found;
}

static struct denial_verdict by_rule(const struct denial_scene *scene, enum airlock_denial_rule rule, const char *path)
{
	const struct plan_mount *m = rule_of(scene, path);
	if (m)
		return (struct denial_verdict){rule, m->because, mount_place(scene, m)};
	return (struct denial_verdict){rule, RULE_ORIGIN(PROFILE, scene->plan->profile), NULL}; /* no rule shows it */
}

/* Hidden because it is not among the entries of a rebuilt directory. The deepest counts, unless a mount is deeper. */
static struct denial_verdict left_out(const struct denial_scene *scene, const char *path,
				      const struct plan_mount *cover)
{
	const struct plan *plan = scene->plan;
	size_t longest = cover ? strlen(mount_place(scene, cover)) : 0;
	struct denial_verdict v = not_refused;
	for (size_t i = 0; i < plan->n_left_out; i++) {
		const char *place = plan->left_out[i].path;
		if (path_is_beneath(path, place) && strlen(place) > longest) {
			longest = strlen(place);
			v = (struct denial_verdict){AIRLOCK_DENIAL_HIDDEN, plan->left_out[i].because, place};
		}
	}
	return v;
}

static bool is_metadata(enum child_seen_op op)
{
	return op == CHILD_SEEN_CHMOD || op == CHILD_SEEN_CHOWN || op == CHILD_SEEN_UTIME;
}

static bool is_granted_device(const char *path)
{
	for (size_t i = 0; i < DENIAL_DEVICES; i++)
		if (strcmp(denial_devices[i], path) == 0)
			return true;
	return false;
}

static bool is_hiding(const struct plan_mount *m)
{
	return m && (m->kind == PLAN_EMPTY_DIR || m->kind == PLAN_EMPTY_FILE);
}

/* Rules on the host's own view: what does not exist is missing, what is not granted is refused. */
static struct denial_verdict decide_in_place(const struct denial_scene *scene, const struct denial_try *t,
					     const struct plan_mount *cover)
{
	bool looks = t->flags & CHILD_SEEN_LOOKED;
	if ((looks && t->flags & CHILD_SEEN_MISSING) || is_metadata(t->op) || is_granted_device(t->path))
		return not_refused;
	if (cover && (cover->kind == PLAN_WRITE || cover->kind == PLAN_LAYER || cover->kind == PLAN_PROC))
		return not_refused;
	if (cover && cover->kind == PLAN_READ)
		return looks ? not_refused : by_rule(scene, AIRLOCK_DENIAL_READ_ONLY, t->path);
	enum airlock_denial_rule rule = is_hiding(cover) ? AIRLOCK_DENIAL_HIDDEN
					: looks		 ? AIRLOCK_DENIAL_NOT_VISIBLE
							 : AIRLOCK_DENIAL_READ_ONLY;
	return by_rule(scene, rule, t->path);
}

/* Does not exist inside: does it exist at all? */
static struct denial_verdict decide_missing(const struct denial_scene *scene, const char *path,
					    const struct plan_mount *cover)
{
	bool is_view = !cover || cover->kind == PLAN_TMPFS || cover->kind == PLAN_REBUILD || cover->kind == PLAN_DEV;
	if (!is_view || scene->workspace)
		return not_refused;
	enum plan_type type = scene->world->type(path, scene->world->data);
	if (type == PLAN_MISSING || type == PLAN_UNKNOWN)
		return not_refused;
	return by_rule(scene, AIRLOCK_DENIAL_NOT_VISIBLE, path);
}

static struct denial_verdict decide_mounted(const struct denial_scene *scene, const struct denial_try *t,
					    const struct plan_mount *cover)
{
	if (is_hiding(cover))
		return by_rule(scene, AIRLOCK_DENIAL_HIDDEN, t->path);
	if (t->flags & CHILD_SEEN_LOOKED)
		return t->flags & CHILD_SEEN_MISSING ? decide_missing(scene, t->path, cover) : not_refused;
	if (!cover || cover->kind == PLAN_READ || cover->kind == PLAN_REBUILD || cover->kind == PLAN_DEV)
		return by_rule(scene, AIRLOCK_DENIAL_READ_ONLY, t->path);
	return not_refused;
}

static struct denial_verdict decide_address(const struct denial_scene *scene, const struct denial_try *t)
{
	if (scene->plan->network || denial_is_own_address(t->address, t->address_bytes))
		return not_refused;
	return (struct denial_verdict){AIRLOCK_DENIAL_NETWORK_OFF, scene->network_origin, NULL};
}

/* The directory decides whether names in it can be made and deleted; the file decides about its content. */
static bool is_of_name(const struct denial_try *t)
{
	return t->flags & CHILD_SEEN_MISSING || t->op == CHILD_SEEN_DELETE || t->op == CHILD_SEEN_RENAME;
}

/* Whether it would have failed outside too. The first process says so if it can see it (CHILD_SEEN_FOREIGN); read-only
 * overlays answer before they check permissions, so we ask the host as well. Only the owner may change modes, owners
 * and times; write permission says nothing about that. */
static bool fails_outside(const struct denial_scene *scene, const struct denial_try *t)
{
	if (t->flags & CHILD_SEEN_FOREIGN)
		return true;
	if (!scene->may_write || is_metadata(t->op))
		return false;
	char *path = is_of_name(t) ? path_dirname(t->path) : strdup(t->path);
	while (path && path[1] && scene->world->type(path, scene->world->data) == PLAN_MISSING) {
		char *up = path_dirname(path);
		free(path);
		path = up;
	}
	bool fails = path && !scene->may_write(path);
	free(path);
	return fails;
}

/* Most of these are only for root outside as well, so an ordinary user would have been refused there too. */
static struct denial_verdict decide_call(const struct denial_scene *scene, const struct denial_try *t)
{
	bool fails =
		!scene->is_root && (t->flags & CHILD_SEEN_FOR_ROOT || (scene->may_call && !scene->may_call(t->op)));
	return fails ? not_refused
		     : (struct denial_verdict){AIRLOCK_DENIAL_CALL, RULE_ORIGIN(PROFILE, scene->plan->profile), NULL};
}

struct denial_verdict denial_decide(const struct denial_scene *scene, const struct denial_try *t)
{
	if (t->flags & CHILD_SEEN_CALL)
		return decide_call(scene, t);
	if (t->flags & CHILD_SEEN_ADDRESS)
		return decide_address(scene, t);
	const struct plan_mount *cover = cover_of(scene, t->path);
	struct denial_verdict v = left_out(scene, t->path, cover);
	if (v.rule == AIRLOCK_DENIAL_NONE || (scene->in_place && t->flags & CHILD_SEEN_MISSING))
		v = scene->in_place ? decide_in_place(scene, t, cover) : decide_mounted(scene, t, cover);
	return v.rule == AIRLOCK_DENIAL_READ_ONLY && fails_outside(scene, t) ? not_refused : v;
}
