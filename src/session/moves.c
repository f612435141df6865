/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Back to an earlier step, and on in two directions. Layers are only named by a session, so both change one small file. */
#include "session/session_parts.h"

#include "base/path.h"

#include <inttypes.h>
#include <string.h>

static int decided(const struct session *s, uint64_t step, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_CONFLICT, "rewind", s->name,
		   "step %" PRIu64 " of session %s was applied or thrown away and cannot be taken back with rewind",
		   step, s->name);
	return base_hint(err, "`airlock undo %s` takes back what was applied last", s->name);
}

/* The layer of one step, from the record of its run. */
static int put_step_layer(struct session *s, const char *runs, const struct session_step *step,
			  struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *dir = path_join(runs, step->run), *record = dir ? path_join(dir, "changes") : NULL;
	int rc = record ? change_set_load(record, &set, err) : base_oom(err);
	return rc < 0 ? rc : session_put_layer(s, dir, set, step->number, step->number, NULL, err);
}

/* Layers of several steps give way to those of the single steps that stay. */
static int keep_until(struct session *s, uint64_t step, struct airlock_error *err)
{
	size_t kept = 0;
	while (kept < s->n_layers && s->layers[kept].last <= step)
		kept++;
	uint64_t from = kept < s->n_layers ? s->layers[kept].first : step + 1;
	session_keep_layers(s, kept);
	_cleanup_free_ char *runs = session_runs_dir(s);
	int rc = runs ? 0 : base_oom(err);
	for (size_t i = 0; rc == 0 && i < s->n_steps; i++)
		if (s->steps[i].number >= from && s->steps[i].number <= step)
			rc = put_step_layer(s, runs, &s->steps[i], err);
	return rc;
}

int session_rewind(struct session *s, uint64_t step, struct airlock_error *err)
{
	size_t stay = 0;
	uint64_t last = session_last_step(s);
	if (step > last) {
		base_error(err, AIRLOCK_ERR_NOT_FOUND, "rewind", s->name,
			   "session %s has no step %" PRIu64 ": the last is %" PRIu64, s->name, step, last);
		return base_hint(err, "`airlock session show %s` lists its steps", s->name);
	}
	while (stay < s->n_steps && s->steps[stay].number <= step)
		stay++;
	if (step > 0 && (stay == 0 || s->steps[stay - 1].number != step))
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "rewind", s->name, "session %s has no step %" PRIu64,
				  s->name, step);
	for (size_t i = stay; i < s->n_steps; i++)
		if (s->steps[i].state != SESSION_STEP_HELD)
			return decided(s, s->steps[i].number, err);
	if (s->n_layers > 0 && s->layers[0].of && s->layers[0].last > step)
		return decided(s, step + 1, err);
	if (stay == s->n_steps)
		return 0;
	int rc = keep_until(s, step, err);
	if (rc < 0)
		return rc;
	session_keep_steps(s, stay);
	session_forget_whole(s);
	s->turns++;
	return session_save(s, err);
}

static int copy_layers(const struct session *s, struct session *to)
{
	for (size_t i = 0; i < s->n_layers; i++) {
		const struct session_layer *from = &s->layers[i];
		struct session_layer *l = session_push_layer(to);
		if (!l)
			return -ENOMEM;
		*l = (struct session_layer){.first = from->first,
					    .last = from->last,
					    .bytes = from->bytes,
					    .dir = strdup(from->dir),
					    .of = from->of ? strdup(from->of) : NULL};
		strs_add_all(&l->roots, &from->roots);
		strs_add_all(&l->uppers, &from->uppers);
		if (!l->dir || (from->of && !l->of) || l->roots.failed || l->uppers.failed)
			return -ENOMEM;
	}
	return 0;
}

static int copy_steps(const struct session *s, struct session *to)
{
	for (size_t i = 0; i < s->n_steps; i++) {
		struct session_step *step = session_push_step(to);
		if (!step)
			return -ENOMEM;
		*step = s->steps[i];
		step->run = strdup(s->steps[i].run);
		step->command = strdup(s->steps[i].command);
		if (!step->run || !step->command)
			return -ENOMEM;
	}
	return 0;
}

/* A fork does not inherit applies: only the original session can undo them. */
int session_fork(const struct session *s, const struct session_place *at, const char *name, struct airlock_error *err)
{
	_cleanup_session_ struct session to = SESSION_INIT;
	int rc = session_begin_new(&to, at, name, s->holds, err);
	if (rc < 0)
		return rc;
	if (copy_layers(s, &to) < 0 || copy_steps(s, &to) < 0)
		return base_oom(err);
	return session_save(&to, err);
}
