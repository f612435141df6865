/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/decided.h"

#include "base/error.h"
#include "settings/config_context.h"

#include <string.h>

void decided_done(struct decided *d)
{
	past_run_done(&d->run);
	session_done(&d->session);
}

int decided_init(struct past_run *e, const struct airlock_settings *s, struct airlock_error *err)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	size_t count = 0;
	int rc = past_run_init(e, s, err);
	return rc < 0 ? rc : session_hold_cut(&(struct session_place){&e->host, NULL}, NULL, &count, &notes, err);
}

/* Empty, like a run that changed nothing. */
static int load_nothing(struct decided *d, struct airlock_error *err)
{
	change_set_free(d->run.set);
	d->run.set = change_set_new(d->session.name);
	return d->run.set ? 0 : base_oom(err);
}

static int load_whole(struct decided *d, const struct airlock_settings *s, bool for_good, struct airlock_error *err)
{
	struct config *config = NULL;
	_cleanup_free_ char *run = NULL;
	int rc = config_of_settings(s, &config, err);
	if (rc < 0)
		return rc;
	const struct gate_rules rules = {.hold = &config->gate_hold,
					 .allow = &config->gate_allow,
					 .home = d->run.host.home,
					 .environ = &d->run.host.git_env};
	rc = session_whole(&d->session, &d->run.host, &rules, for_good, &run, err);
	config_free(config);
	const struct strs *applies = &d->session.applies;
	if (rc == 0 && !run && applies->n > 0 && !(run = strdup(applies->v[applies->n - 1])))
		rc = base_oom(err);
	if (rc < 0)
		return rc;
	return run ? past_run_load(&d->run, run, err) : load_nothing(d, err);
}

static int load_last_apply(struct decided *d, struct airlock_error *err)
{
	const struct strs *applies = &d->session.applies;
	if (applies->n > 0)
		return past_run_load(&d->run, applies->v[applies->n - 1], err);
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "undo", d->session.name,
			  "nothing of session %s was applied that could be undone", d->session.name);
}

static int open_session(struct decided *d, const struct airlock_settings *s, enum decided_purpose purpose,
			struct airlock_error *err)
{
	int rc = session_finish_deciding(&d->session, &d->run.host, err);
	if (rc < 0)
		return rc;
	if (purpose == DECIDED_TO_UNDO)
		return load_last_apply(d, err);
	rc = session_checkpoint(&d->session, &d->run.host, purpose == DECIDED_TO_APPLY, err);
	return rc < 0 ? rc : load_whole(d, s, purpose == DECIDED_TO_APPLY, err);
}

/* 1: there is a session of that name. */
static int find_session(struct decided *d, const char *name, struct airlock_error *err)
{
	_cleanup_free_ char *project = NULL;
	struct airlock_error why = {0};
	if (!session_is_name(name) || past_run_project(&d->run, &project, NULL) < 0)
		return 0;
	const struct session_place at = {&d->run.host, project};
	int rc = session_open(&d->session, &at, name, SESSION_LOCK, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND) {
		session_done(&d->session);
		return 0;
	}
	return rc < 0 ? base_pass(err, &why) : 1;
}

/* A step lies on the layers before it: alone it is no state that anybody has seen. */
static int check_step(const struct decided *d, enum decided_purpose purpose, struct airlock_error *err)
{
	const struct change_set *set = d->run.set;
	if (purpose == DECIDED_TO_LOOK || !set->session || set->part != CHANGE_PART_STEP)
		return 0;
	base_error(err, AIRLOCK_ERR_INVALID, "session", set->session,
		   "run %s is a step of session %s: its changes are decided about with those of the session", set->run,
		   set->session);
	return base_hint(err, "airlock apply %s, airlock discard %s or airlock session rewind %s", set->session,
			 set->session, set->session);
}

/* The session that this run is the whole of, or was applied as. */
static bool has_run(const struct session *s, const char *run)
{
	return (s->whole && strcmp(s->whole, run) == 0) || strs_has(&s->applies, run);
}

int decided_join(struct decided *d, struct airlock_error *err)
{
	const struct change_set *set = d->run.set;
	_cleanup_strs_ struct strs all = STRS_INIT;
	if (!set->session || set->part != CHANGE_PART_WHOLE)
		return 0;
	int rc = session_list(&(struct session_place){&d->run.host, NULL}, &all, err);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		_cleanup_session_ struct session s = SESSION_INIT;
		if (session_open_entry(&s, &d->run.host, all.v[i], NULL) < 0 || !has_run(&s, set->run))
			continue;
		const struct session_place at = {&d->run.host, s.project};
		rc = session_open(&d->session, &at, s.name, SESSION_LOCK, err);
		return rc < 0 ? rc : session_finish_deciding(&d->session, &d->run.host, err);
	}
	return rc;
}

int decided_open(struct decided *d, const struct airlock_settings *s, const char *name, enum decided_purpose purpose,
		 struct airlock_error *err)
{
	int rc = decided_init(&d->run, s, err);
	if (rc == 0)
		rc = find_session(d, name, err);
	if (rc != 0)
		return rc < 0 ? rc : open_session(d, s, purpose, err);
	past_run_done(&d->run);
	rc = past_run_open(&d->run, s, name, err);
	if (rc == 0)
		rc = check_step(d, purpose, err);
	if (rc == 0)
		rc = decided_join(d, err);
	/* It was only made to be looked at: the same again, with files of its own. */
	if (rc == 0 && purpose == DECIDED_TO_APPLY && d->session.whole &&
	    strcmp(d->session.whole, d->run.set->run) == 0)
		rc = load_whole(d, s, true, err);
	return rc;
}

int decided_begin(struct decided *d, struct airlock_error *err)
{
	return d->session.name && d->run.set->n > 0 ? session_begin_deciding(&d->session, d->run.set->run, err) : 0;
}

int decided_settle(struct decided *d, struct airlock_error *err)
{
	if (!d->session.name || !d->run.set || d->run.set->n == 0)
		return 0;
	return session_settle(&d->session, &d->run.host, d->run.set->run, err);
}

static int open_at(struct decided *d, const struct airlock_settings *s, const struct session_place *at,
		   const char *name, struct airlock_error *err)
{
	int rc = session_open(&d->session, at, name, SESSION_LOCK, err);
	return rc < 0 ? rc : open_session(d, s, DECIDED_TO_LOOK, err);
}

int decided_open_session(struct decided *d, const struct airlock_settings *s, const char *name,
			 struct airlock_error *err)
{
	_cleanup_free_ char *project = NULL;
	int rc = session_check_name(name, err);
	if (rc == 0)
		rc = decided_init(&d->run, s, err);
	if (rc == 0)
		rc = past_run_project(&d->run, &project, err);
	return rc < 0 ? rc : open_at(d, s, &(struct session_place){&d->run.host, project}, name, err);
}

int decided_open_known(struct decided *d, const struct airlock_settings *s, const struct session *known,
		       struct airlock_error *err)
{
	int rc = past_run_init(&d->run, s, err);
	return rc < 0 ? rc : open_at(d, s, &(struct session_place){&d->run.host, known->project}, known->name, err);
}
