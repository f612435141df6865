/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command of a session is over: its layer becomes a step.
 *
 * Commands of one session may run at the same time. Each saw the layers that were there when it began. Where the steps that came
 * since changed other paths, its layer goes on top of them as if it had waited; where not, it stands apart, a run of its own that
 * a person decides about.
 */
#include "session/session_parts.h"

#include "base/path.h"
#include "change/fold/fold.h"
#include "change/reason.h"
#include "fs/beneath.h"
#include "layer/xattrs.h"

#include <fcntl.h>
#include <string.h>

/* ── At the same time ── */

/* Both made this directory: what each put into it goes together. */
static bool is_made_by_both(const struct change *a, const struct change *b)
{
	return a->kind == CHANGE_ADDED && b->kind == CHANGE_ADDED && a->type == CHANGE_DIRECTORY &&
	       b->type == CHANGE_DIRECTORY;
}

/* A change that says something about everything below its path. */
static bool covers(const struct change *c, const char *path)
{
	size_t len = strlen(c->path);
	bool is_above = strncmp(c->path, path, len) == 0 && path[len] == '/';
	bool stays_directory = c->after.type == CHANGE_DIRECTORY && c->before.type != CHANGE_NOTHING && !c->opaque;
	bool is_new_directory = c->kind == CHANGE_ADDED && c->after.type == CHANGE_DIRECTORY;
	return is_above && !stays_directory && !is_new_directory;
}

static bool is_about(const struct change *c, const char *path)
{
	return strcmp(c->path, path) == 0 || (c->from && strcmp(c->from, path) == 0);
}

bool session_changes_collide(const struct change *a, const struct change *b)
{
	if (is_made_by_both(a, b))
		return false;
	return is_about(a, b->path) || (b->from && is_about(a, b->from)) || covers(a, b->path) || covers(b, a->path) ||
	       (a->from && covers(b, a->from)) || (b->from && covers(a, b->from));
}

/* Marks what another step changed as well. Returns how many there are, or a code. Both sets are sorted, and nearly all of their
 * changes are about different paths; what can collide has a common beginning, so looking a path and those above it up is enough. */
static int mark_collisions(struct change_set *set, const struct change_set *other, struct airlock_error *err)
{
	int count = 0;
	for (size_t i = 0; i < set->n; i++) {
		struct change *c = &set->v[i];
		bool hit = false;
		for (size_t k = 0; !hit && k < other->n; k++) {
			const struct change *o = &other->v[k];
			hit = strcmp(set->roots[c->root].path, other->roots[o->root].path) == 0 &&
			      session_changes_collide(c, o);
		}
		if (!hit)
			continue;
		count++;
		if (c->state != CHANGE_CONFLICT && conflict_mark(c, AIRLOCK_REASON_OTHER_COMMAND) < 0)
			return base_oom(err);
	}
	return count;
}

/* A new directory is opaque; over another layer's new directory of that name it must not be. */
static int open_up_dirs(struct change_set *set, const struct change_set *other, struct airlock_error *err)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		const struct change *o = NULL;
		for (size_t k = 0; k < other->n && !o; k++)
			if (strcmp(other->roots[other->v[k].root].path, set->roots[c->root].path) == 0 &&
			    strcmp(other->v[k].path, c->path) == 0)
				o = &other->v[k];
		if (!o || !is_made_by_both(c, o))
			continue;
		_cleanup_close_ int upper = open(set->roots[c->root].upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
		_cleanup_close_ int dir = upper < 0 ? -errno : fs_open_beneath(upper, c->path, O_RDONLY | O_DIRECTORY);
		int rc = dir < 0 ? dir : xattrs_remove(dir, NULL, "user.overlay.opaque");
		if (rc < 0 && rc != -ENODATA)
			return base_errno(err, AIRLOCK_ERR_IO, rc, "removexattr", c->path);
	}
	return 0;
}

/* Against every step that came since the command began. 1: it stands apart. */
static int check_others(const struct session *s, const struct host *host, const struct session_begun *begun,
			const char *run, struct change_set *set, struct airlock_error *err)
{
	int collisions = 0;
	for (size_t i = 0; i < s->n_steps; i++) {
		if (s->steps[i].number <= begun->last_step || session_is_checkpoint(host, s->steps[i].run, run))
			continue;
		_cleanup_changes_ struct change_set *other = NULL;
		_cleanup_free_ char *file = NULL;
		struct buf path = BUF_INIT;
		buf_printf(&path, "%s/runs/%s/changes", host->state_dir, s->steps[i].run);
		file = buf_take(&path);
		int rc = file ? change_set_load(file, &other, err) : base_oom(err);
		if (rc == 0)
			rc = mark_collisions(set, other, err);
		if (rc == 0)
			rc = open_up_dirs(set, other, err);
		if (rc < 0)
			return rc;
		collisions += rc;
	}
	return collisions > 0;
}

/* ── The step ── */

static int save_apart(struct change_set *set, const char *record, enum airlock_reason_code why,
		      struct airlock_error *err)
{
	set->part = CHANGE_PART_APART;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_HELD && change_reason_set(&set->v[i], change_reason_of(why)) < 0)
			return base_oom(err);
	return change_set_save(set, record, err);
}

static int push(struct session *s, const struct session_command *c, size_t count, enum session_step_state state,
		struct airlock_error *err)
{
	uint64_t number = session_last_step(s) + 1;
	struct session_step *step = session_push_step(s);
	if (!step)
		return base_oom(err);
	*step = (struct session_step){.number = number,
				      .state = state,
				      .exit_code = c->exit_code,
				      .count = count,
				      .run = strdup(c->run),
				      .command = strndup(c->command, SESSION_COMMAND_MAX)};
	return step->run && step->command ? 0 : base_oom(err);
}

int session_append_step(struct session *s, const struct session_command *command, const struct change_set *set,
			struct airlock_error *err)
{
	int rc = push(s, command, set->n, SESSION_STEP_HELD, err);
	if (rc < 0)
		return rc;
	session_forget_whole(s);
	uint64_t number = session_last_step(s);
	rc = session_put_layer(s, command->run_dir, set, number, number, NULL, err);
	return rc < 0 ? rc : session_save(s, err);
}

int session_add_step(const struct session_place *at, const char *name, const struct session_begun *begun,
		     const struct session_command *command, struct change_set *set, uint64_t *ret_step,
		     struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	_cleanup_free_ char *record = path_join(command->run_dir, "changes");
	*ret_step = 0;
	set->part = CHANGE_PART_STEP;
	if (!record || (!set->session && !(set->session = strdup(name))))
		return base_oom(err);
	int rc = session_open(&s, at, name, SESSION_LOCK, err);
	if (rc < 0)
		return rc;
	if (s.turns != begun->turns) /* what it was made on is not there any more */
		return save_apart(set, record, AIRLOCK_REASON_TAKEN_BACK, err);
	(void)session_drop_checkpoints(&s, at->host, begun, command->run);
	session_mark_applied(&s, at->host, set);
	rc = check_others(&s, at->host, begun, command->run, set, err);
	if (rc > 0)
		return save_apart(set, record, AIRLOCK_REASON_OTHER_CONFLICT, err);
	if (rc == 0)
		rc = fold_bases_write(set, command->run_dir, err);
	if (rc == 0)
		rc = change_set_save(set, record, err);
	if (rc == 0)
		rc = session_append_step(&s, command, set, err);
	if (rc == 0)
		*ret_step = session_last_step(&s);
	return rc;
}

int session_note_step(const struct session_place *at, const char *name, const struct session_command *command,
		      size_t count, uint64_t *ret_step, struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	int rc = session_open(&s, at, name, SESSION_LOCK, err);
	if (rc == 0)
		rc = push(&s, command, count, SESSION_STEP_DECIDED, err);
	if (rc == 0)
		rc = session_save(&s, err);
	*ret_step = rc < 0 ? 0 : session_last_step(&s);
	return rc;
}
