/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock/session.h: sessions as values, and what is done with them. */
#include "airlock/session.h"

#include "api/list.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "change/values.h"
#include "history/history.h"
#include "run/run.h"
#include "run/run_holder.h"
#include "session/holder.h"
#include "session/decided.h"
#include "session/session_diff.h"
#include "settings/config_context.h"
#include "supervise/cgroup.h"

#include <string.h>

const char *airlock_session_state_name(enum airlock_session_state state)
{
	return state == AIRLOCK_SESSION_ENDED ? "ended" : "open";
}

const char *airlock_run_session(const struct airlock_run *run)
{
	return run->job->work.name;
}

uint64_t airlock_run_step(const struct airlock_run *run)
{
	return run->job->work.step;
}

size_t airlock_run_background(const struct airlock_run *run)
{
	return run->job->work.background;
}

/* ── Where ── */

struct scene {
	struct past_run run; /* the host, and whatever was interrupted is finished */
	char *project;
};

static void scene_done(struct scene *c)
{
	past_run_done(&c->run);
	free(c->project);
}
#define _cleanup_scene_ _cleanup_(scene_done)

static int scene_open(struct scene *c, const struct airlock_settings *s, struct airlock_error *err)
{
	int rc = decided_init(&c->run, s, err);
	return rc < 0 ? rc : past_run_project(&c->run, &c->project, err);
}

static struct session_place place_of(const struct scene *c)
{
	return (struct session_place){&c->run.host, c->project};
}

/* Operations that are audited before they are done: begin, rewind, merge, end. */
static void audit(const struct scene *c, const char *event, const struct session *s)
{
	_cleanup_notes_ struct notes unheard = NOTES_INIT;
	history_session(&c->run.host, event, s->name, s->project, s->n_steps, &unheard);
}

/* ── One ── */

struct airlock_session {
	struct session session;
	struct airlock_session_info info;
	struct airlock_session_step *steps;
	struct session_processes found;
	struct airlock_session_process *processes; /* behind them */
	struct airlock_changes *changes;
	struct airlock_session_usage usage;
	char *json;
};

void airlock_session_free(struct airlock_session *session)
{
	if (!session)
		return;
	session_done(&session->session);
	airlock_changes_free(session->changes);
	free(session->steps);
	session_processes_done(&session->found);
	free(session->processes);
	free(session->json);
	free(session);
}

static size_t count_held(const struct change_set *set)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n; i++)
		n += set->v[i].state == CHANGE_HELD || set->v[i].state == CHANGE_CONFLICT;
	return n;
}

static struct airlock_session_info info_of(const struct session *s, size_t held, size_t processes)
{
	return (struct airlock_session_info){.name = s->name,
					     .project = s->project,
					     .state = s->ended ? AIRLOCK_SESSION_ENDED : AIRLOCK_SESSION_OPEN,
					     .holds = s->holds,
					     .steps = s->n_steps,
					     .held = held,
					     .processes = processes,
					     .created_ns = s->created_ns,
					     .last_used_ns = s->used_ns};
}

static int fill_steps(struct airlock_session *session, struct airlock_error *err)
{
	const struct session *s = &session->session;
	session->steps = calloc(s->n_steps + 1, sizeof *session->steps);
	if (!session->steps)
		return base_oom(err);
	for (size_t i = 0; i < s->n_steps; i++)
		session->steps[i] = (struct airlock_session_step){.number = s->steps[i].number,
								  .run = s->steps[i].run,
								  .command = s->steps[i].command,
								  .exit_code = s->steps[i].exit_code,
								  .count = s->steps[i].count,
								  .is_decided = s->steps[i].state != SESSION_STEP_HELD};
	return 0;
}

static int64_t shown_limit(int64_t limit)
{
	return limit == TEXT_NONE ? -1 : limit;
}

static int fill_usage(struct airlock_session *session, const struct host *host, const struct airlock_settings *s,
		      struct airlock_error *err)
{
	const struct session *from = &session->session;
	struct config *config = NULL;
	int rc = config_of_settings(s, &config, err);
	if (rc < 0)
		return rc;
	const struct session_limits limits = session_limits_of(config, from->free_bytes);
	config_free(config);
	session->usage = (struct airlock_session_usage){
		.disk = (int64_t)(session_layers_bytes(from) +
				  session_running_bytes(host, from->project, from->name, NULL)),
		.disk_limit = shown_limit(limits.disk),
		.tmp = (int64_t)session_tmp_bytes(from),
		.tmp_limit = shown_limit(limits.tmp)};
	return 0;
}

static int fill(struct airlock_session *session, struct decided *d, const struct airlock_settings *s,
		struct airlock_error *err)
{
	size_t held = count_held(d->run.set);
	int rc = change_values_take(TAKE_PTR(d->run.set), &(struct change_outcome){0}, &session->changes, err);
	if (rc < 0)
		return rc;
	session->session = d->session;
	d->session = (struct session)SESSION_INIT;
	base_closep(&session->session.lock_fd);
	(void)session_processes(session->session.dir, &session->found);
	session->info = info_of(&session->session, held, session->found.n);
	session->processes = calloc(session->found.n + 1, sizeof *session->processes);
	if (!session->processes)
		return base_oom(err);
	for (size_t i = 0; i < session->found.n; i++)
		session->processes[i] = (struct airlock_session_process){.pid = session->found.v[i].pid,
									 .command = session->found.v[i].command,
									 .started_ns = session->found.v[i].started_ns};
	rc = fill_usage(session, &d->run.host, s, err);
	return rc < 0 ? rc : fill_steps(session, err);
}

int airlock_session_open(const struct airlock_settings *s, const char *name, struct airlock_session **ret,
			 struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	int rc = decided_open_session(&d, s, name, err);
	if (rc < 0)
		return rc;
	struct airlock_session *session = calloc(1, sizeof *session);
	rc = session ? fill(session, &d, s, err) : base_oom(err);
	if (rc < 0) {
		airlock_session_free(session);
		return rc;
	}
	*ret = session;
	return 0;
}

const struct airlock_session_info *airlock_session_info(const struct airlock_session *session)
{
	return &session->info;
}

size_t airlock_session_step_count(const struct airlock_session *session)
{
	return session->session.n_steps;
}

const struct airlock_session_step *airlock_session_step_at(const struct airlock_session *session, size_t i)
{
	return i < session->session.n_steps ? &session->steps[i] : NULL;
}

size_t airlock_session_process_count(const struct airlock_session *session)
{
	return session->found.n;
}

const struct airlock_session_process *airlock_session_process_at(const struct airlock_session *session, size_t i)
{
	return i < session->found.n ? &session->processes[i] : NULL;
}

const struct airlock_session_usage *airlock_session_usage(const struct airlock_session *session)
{
	return &session->usage;
}

const struct airlock_changes *airlock_session_changes(const struct airlock_session *session)
{
	return session->changes;
}

static void add_steps(struct json *j, const struct airlock_session *session)
{
	json_open_array(j, "steps");
	for (size_t i = 0; i < session->session.n_steps; i++) {
		const struct airlock_session_step *step = &session->steps[i];
		json_open_object(j, NULL);
		json_int(j, "step", (int64_t)step->number);
		json_string(j, "run", step->run);
		json_path(j, "command", step->command);
		json_int(j, "exit_code", step->exit_code);
		json_int(j, "count", (int64_t)step->count);
		json_bool(j, "decided", step->is_decided);
		json_close(j);
	}
	json_close(j);
}

static void add_processes(struct json *j, const struct airlock_session *session)
{
	json_open_array(j, "processes");
	for (size_t i = 0; i < session->found.n; i++) {
		json_open_object(j, NULL);
		json_int(j, "pid", session->processes[i].pid);
		json_path(j, "command", session->processes[i].command);
		json_time(j, "started", session->processes[i].started_ns);
		json_close(j);
	}
	json_close(j);
}

static void add_usage(struct json *j, const char *key, int64_t bytes, const char *limit_key, int64_t limit)
{
	json_int(j, key, bytes);
	if (limit < 0)
		json_null(j, limit_key);
	else
		json_int(j, limit_key, limit);
}

const char *airlock_session_json(struct airlock_session *session)
{
	const struct airlock_session_info *i = &session->info;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_string(&j, "session", i->name);
	json_path(&j, "project", i->project);
	json_string(&j, "state", airlock_session_state_name(i->state));
	json_string(&j, "changes_mode", i->holds ? "hold" : "apply");
	json_time(&j, "created", i->created_ns);
	json_time(&j, "last_used", i->last_used_ns);
	add_steps(&j, session);
	json_open_object(&j, "changes");
	change_values_list_json(session->changes, &j);
	json_close(&j);
	add_processes(&j, session);
	add_usage(&j, "disk_bytes", session->usage.disk, "disk_limit", session->usage.disk_limit);
	add_usage(&j, "tmp_bytes", session->usage.tmp, "tmp_limit", session->usage.tmp_limit);
	json_close(&j);
	return api_json(&out, &session->json);
}

int airlock_session_is_name(const char *name)
{
	return session_is_name(name);
}

int airlock_session_exists(const struct airlock_settings *s, const char *name)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session session = SESSION_INIT;
	if (!session_is_name(name) || scene_open(&c, s, NULL) < 0)
		return 0;
	const struct session_place at = place_of(&c);
	return session_open(&session, &at, name, SESSION_LOOK, NULL) == 0;
}

/* ── All ── */

struct airlock_sessions {
	struct airlock_session_info *v;
	size_t n, cap;
	struct session *sessions; /* behind v */
	struct airlock_session_damage *damaged;
	size_t n_damaged, cap_damaged;
	struct strs names; /* of these */
	char *json;
};

API_LIST(sessions, airlock_session_info)

void airlock_sessions_free(struct airlock_sessions *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		session_done(&l->sessions[i]);
	free(l->sessions);
	free(l->damaged);
	strs_done(&l->names);
	free(l->v);
	free(l->json);
	free(l);
}

size_t airlock_sessions_damaged_count(const struct airlock_sessions *l)
{
	return l->n_damaged;
}

const struct airlock_session_damage *airlock_sessions_damaged_at(const struct airlock_sessions *l, size_t i)
{
	return i < l->n_damaged ? &l->damaged[i] : NULL;
}

/* How many changes wait can be told only of all steps together. Most sessions are as they were when somebody counted last. */
static size_t held_of(const struct airlock_settings *s, const struct host *host, const struct session *session)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	uint64_t known = 0;
	if (session_known_held(session, host, &known) && !session_is_running(session, host, NULL))
		return known;
	if (decided_open_known(&d, s, session, NULL) < 0)
		return 0;
	size_t held = count_held(d.run.set);
	(void)session_remember_held(&d.session, host, held, NULL); /* else it is counted again */
	return held;
}

static int add_session(struct airlock_sessions *l, const struct airlock_settings *s, const struct host *host,
		       struct session *taken, struct airlock_error *err)
{
	size_t held = held_of(s, host, taken);
	if (!ARRAY_ROOM(l->v, l->n, l->cap, 16))
		return base_oom(err);
	struct session *v = reallocarray(l->sessions, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(err);
	l->sessions = v;
	v[l->n] = *taken;
	*taken = (struct session)SESSION_INIT;
	_cleanup_processes_ struct session_processes found = {0};
	(void)session_processes(v[l->n].dir, &found);
	l->v[l->n] = info_of(&v[l->n], held, found.n); /* its strings do not move */
	l->n++;
	return 0;
}

static int add_damaged(struct airlock_sessions *l, const char *entry, const struct airlock_error *why,
		       struct airlock_error *err)
{
	const char *slash = strrchr(entry, '/');
	strs_add(&l->names, slash ? slash + 1 : entry);
	if (l->names.failed || !ARRAY_ROOM(l->damaged, l->n_damaged, l->cap_damaged, 4))
		return base_oom(err);
	l->damaged[l->n_damaged++] = (struct airlock_session_damage){.name = l->names.v[l->names.n - 1], .error = *why};
	return 0;
}

static int list(struct airlock_sessions *l, const struct airlock_settings *s, const struct scene *c, bool all,
		struct airlock_error *err)
{
	_cleanup_strs_ struct strs entries = STRS_INIT;
	const struct session_place place = {&c->run.host, all ? NULL : c->project};
	int rc = session_list(&place, &entries, err);
	for (size_t i = 0; rc == 0 && i < entries.n; i++) {
		_cleanup_session_ struct session one = SESSION_INIT;
		struct airlock_error why = {0};
		rc = all ? session_open_entry(&one, &c->run.host, entries.v[i], &why)
			 : session_open(&one, &place, entries.v[i], SESSION_LOOK, &why);
		if (rc == 0)
			rc = add_session(l, s, &c->run.host, &one, err);
		else if (rc == AIRLOCK_ERR_NOT_FOUND) /* removed since */
			rc = 0;
		else if (rc != AIRLOCK_ERR_INTERNAL)
			rc = add_damaged(l, entries.v[i], &why, err);
		else
			(void)base_pass(err, &why);
	}
	return rc;
}

int airlock_sessions_open(const struct airlock_settings *s, int all, struct airlock_sessions **ret,
			  struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	int rc = decided_init(&c.run, s, err);
	if (rc == 0 && !all)
		rc = past_run_project(&c.run, &c.project, err);
	if (rc < 0)
		return rc;
	struct airlock_sessions *l = calloc(1, sizeof *l);
	rc = l ? list(l, s, &c, all, err) : base_oom(err);
	if (rc < 0) {
		airlock_sessions_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

const char *airlock_sessions_json(struct airlock_sessions *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "sessions");
	for (size_t i = 0; i < l->n; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "session", l->v[i].name);
		json_path(&j, "project", l->v[i].project);
		json_string(&j, "state", airlock_session_state_name(l->v[i].state));
		json_int(&j, "steps", (int64_t)l->v[i].steps);
		json_int(&j, "held", (int64_t)l->v[i].held);
		json_int(&j, "processes", (int64_t)l->v[i].processes);
		json_time(&j, "last_used", l->v[i].last_used_ns);
		json_close(&j);
	}
	json_close(&j);
	json_open_array(&j, "damaged");
	for (size_t i = 0; i < l->n_damaged; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "session", l->damaged[i].name);
		json_error(&j, "error", &l->damaged[i].error);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

/* ── Doing ── */

int airlock_session_new(const struct airlock_settings *s, const char *name, char **ret_name, struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session session = SESSION_INIT;
	struct config *config = NULL;
	int rc = name ? session_check_name(name, err) : 0;
	if (rc >= 0)
		rc = scene_open(&c, s, err);
	if (rc >= 0)
		rc = config_of_settings(s, &config, err);
	if (rc < 0)
		return rc;
	enum policy_changes mode = config->policy.changes;
	config_free(config);
	if (mode == POLICY_CHANGES_DIRECT || mode == POLICY_CHANGES_DISCARD) {
		base_error(err, AIRLOCK_ERR_USAGE, "changes", policy_changes_name(mode),
			   "a session holds its changes or applies them; it cannot have \"%s\"",
			   policy_changes_name(mode));
		return base_hint(err, "use --changes hold or --changes apply");
	}
	const struct session_place at = place_of(&c);
	_cleanup_free_ char *made = name ? strdup(name) : session_new_name(&at);
	if (!made)
		return base_oom(err);
	rc = session_create(&session, &at, made, mode != POLICY_CHANGES_APPLY, err);
	if (rc < 0)
		return rc;
	audit(&c, "session-begin", &session);
	*ret_name = TAKE_PTR(made);
	return 0;
}

int airlock_session_rewind(const struct airlock_settings *s, const char *name, uint64_t step, struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session session = SESSION_INIT;
	int rc = session_check_name(name, err);
	if (rc == 0)
		rc = scene_open(&c, s, err);
	if (rc < 0)
		return rc;
	const struct session_place at = place_of(&c);
	rc = session_open(&session, &at, name, SESSION_LOCK, err);
	if (rc == 0) /* a decision that nobody told it of yet */
		rc = session_finish_deciding(&session, &c.run.host, err);
	if (rc == 0)
		rc = session_rewind(&session, step, err);
	if (rc == 0)
		audit(&c, "session-rewind", &session);
	return rc;
}

int airlock_session_fork(const struct airlock_settings *s, const char *name, const char *new_name,
			 struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session from = SESSION_INIT;
	int rc = session_check_name(name, err);
	if (rc == 0)
		rc = session_check_name(new_name, err);
	if (rc == 0)
		rc = scene_open(&c, s, err);
	if (rc < 0)
		return rc;
	const struct session_place at = place_of(&c);
	rc = session_open(&from, &at, name, SESSION_LOCK, err);
	if (rc == 0)
		rc = session_fork(&from, &at, new_name, err);
	if (rc == 0)
		audit(&c, "session-fork", &from);
	return rc;
}

/* Its processes first: what they changed after their commands is part of what the session holds. */
static int end_processes(const struct scene *c, const char *name, struct airlock_error *err)
{
	_cleanup_session_ struct session session = SESSION_INIT;
	_cleanup_notes_ struct notes unheard = NOTES_INIT;
	const struct session_place at = place_of(c);
	size_t count = 0;
	int rc = session_open(&session, &at, name, SESSION_LOOK, err);
	if (rc < 0)
		return rc;
	rc = session_holder_end(session.dir);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "end the processes of", name);
	char group[SESSION_GROUP_SIZE];
	session_group_name(session.dir, group);
	cgroup_remove_shared(group);
	return session_hold_cut(&at, name, &count, &unheard, err);
}

/* Ends the session's processes, and locks it. */
static int open_without_processes(struct scene *c, const struct airlock_settings *s, const char *name,
				  struct session *ret, struct airlock_error *err)
{
	int rc = session_check_name(name, err);
	if (rc == 0)
		rc = scene_open(c, s, err);
	if (rc == 0)
		rc = end_processes(c, name, err);
	if (rc < 0)
		return rc;
	const struct session_place at = place_of(c);
	return session_open(ret, &at, name, SESSION_LOCK, err);
}

int airlock_session_end(const struct airlock_settings *s, const char *name, struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session session = SESSION_INIT;
	int rc = open_without_processes(&c, s, name, &session, err);
	if (rc < 0)
		return rc;
	session.ended = true;
	session_clear_tmp(&session);
	rc = session_save(&session, err);
	if (rc == 0)
		audit(&c, "session-end", &session);
	return rc;
}

int airlock_session_remove(const struct airlock_settings *s, const char *name, struct airlock_error *err)
{
	_cleanup_scene_ struct scene c = {0};
	_cleanup_session_ struct session session = SESSION_INIT;
	int rc = open_without_processes(&c, s, name, &session, err);
	if (rc < 0)
		return rc;
	if (session.n_layers > 0)
		return base_error(err, AIRLOCK_ERR_CONFLICT, "session", name,
				  "session %s holds changes: apply or discard them first", name);
	rc = session_remove(&session, err);
	if (rc == 0)
		audit(&c, "session-remove", &session);
	return rc;
}

int airlock_sessions_end_with_program(struct airlock_error *err)
{
	int rc = run_holder_end_with_program();
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "pipe", "") : 0;
}

/* Always in the same order, so that two merges never wait for each other. */
static int open_both(struct decided *from, struct decided *into, const struct airlock_settings *s, const char *name,
		     const char *into_name, struct airlock_error *err)
{
	bool first = strcmp(name, into_name) < 0;
	int rc = decided_open_session(first ? from : into, s, first ? name : into_name, err);
	if (rc < 0)
		return rc;
	struct session other = {.name = strdup(first ? into_name : name),
				.project = strdup((first ? from : into)->session.project),
				.lock_fd = -EBADF};
	rc = other.name && other.project ? decided_open_known(first ? into : from, s, &other, err) : base_oom(err);
	session_done(&other);
	return rc;
}

static char *join_lines(const struct strs *lines)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < lines->n; i++) {
		buf_adds(&b, lines->v[i]);
		buf_addc(&b, '\n');
	}
	return buf_take(&b);
}

int airlock_session_merge(const struct airlock_settings *s, const char *name, const char *into, uint64_t *ret_step,
			  char **ret_conflicts, struct airlock_error *err)
{
	_cleanup_decided_ struct decided a = DECIDED_INIT, b = DECIDED_INIT;
	_cleanup_free_ char *command = NULL;
	struct buf line = BUF_INIT;
	*ret_conflicts = NULL;
	*ret_step = 0;
	if (strcmp(name, into) == 0)
		return base_error(err, AIRLOCK_ERR_USAGE, "merge", name, "a session cannot be merged into itself");
	int rc = open_both(&a, &b, s, name, into, err);
	if (rc == 0 && !(a.session.holds && b.session.holds)) {
		base_error(err, AIRLOCK_ERR_INVALID, "merge", name,
			   "session %s applies its changes, so it has none that could be merged",
			   a.session.holds ? into : name);
		return AIRLOCK_ERR_INVALID;
	}
	buf_printf(&line, "airlock session merge %s --into %s", name, into);
	command = buf_take(&line);
	if (rc == 0 && !command)
		rc = base_oom(err);
	if (rc < 0)
		return rc;
	struct session_merge m = {.from = &a.session,
				  .into = &b.session,
				  .changes = a.run.set,
				  .others = b.run.set,
				  .command = command,
				  .user_ns = -EBADF};
	rc = session_merge(&m, &a.run.host, err);
	*ret_step = m.step;
	if (rc == AIRLOCK_ERR_CONFLICT)
		*ret_conflicts = join_lines(&m.conflicts);
	strs_done(&m.conflicts);
	_cleanup_notes_ struct notes unheard = NOTES_INIT;
	if (rc == 0 && m.step)
		history_session(&b.run.host, "session-merge", into, b.session.project, b.session.n_steps, &unheard);
	return rc;
}

int airlock_session_diff(const struct airlock_settings *s, const char *name, const char *other, int colour,
			 char **ret_text, struct airlock_error *err)
{
	_cleanup_decided_ struct decided a = DECIDED_INIT, b = DECIDED_INIT;
	struct buf out = BUF_INIT;
	int rc = 0;
	if (strcmp(name, other) == 0)
		return (*ret_text = strdup("")) ? 0 : base_oom(err);
	rc = open_both(&a, &b, s, name, other, err);
	if (rc == 0)
		rc = session_diff(&a, &b, colour != 0, &out, err);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}
