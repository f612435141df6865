/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/history.h"

#include "base/json.h"
#include "base/path.h"
#include "fs/fs.h"
#include "history/run_id.h"
#include "history/spare.h"
#include "store/audit.h"
#include "store/inbox.h"

#include <string.h>

#define AUDIT_MAX_FILES 1000

/* ── The audit line ── */

void history_add_audit_files(struct json *j, const struct change_set *set)
{
	size_t n = set ? AL_MIN(set->n, (size_t)AUDIT_MAX_FILES) : 0;
	json_open_array(j, "files");
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &set->v[i];
		json_open_object(j, NULL);
		json_path(j, "path", c->path);
		if (c->root > 0)
			json_path(j, "root", set->roots[c->root].path);
		json_string(j, "kind", change_kind_name(c->kind));
		json_string(j, "state", change_state_name(c->state));
		json_close(j);
	}
	json_close(j);
	if (set && n < set->n)
		json_int(j, "files_left_out", (int64_t)(set->n - n));
}

int history_write_audit(const char *state_dir, struct buf *object, struct buf *news, struct airlock_error *err)
{
	if (object->failed || object->len < 2)
		return base_oom(err);
	object->data[object->len - 1] = '\0';
	return audit_append(state_dir, object->data + 1, news, err);
}

void history_note(struct notes *notes, const struct airlock_error *why)
{
	if (why->code)
		NOTE(notes, HISTORY_GAP, .cause = why->message);
}

/* Moves a large inbox into the database. Wait only briefly for the lock: the next run tries again. */
static int take_over(const char *state_dir, struct notes *notes)
{
	struct airlock_error why = {0};
	int rc = inbox_take_over(state_dir, HISTORY_WAIT_AT_START_MS, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_BUSY)
		NOTE(notes, HISTORY_BEHIND, .cause = why.message);
	return rc;
}

void history_put(const char *state_dir, const struct buf *news, struct notes *notes, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = inbox_put(state_dir, news, STORE_WAIT_MS, &why);
	if (rc == AIRLOCK_ERR_LIMIT && take_over(state_dir, notes) == 0) {
		why = (struct airlock_error){0};
		rc = inbox_put(state_dir, news, STORE_WAIT_MS, &why);
	}
	if (rc > 0)
		(void)take_over(state_dir, notes);
	else if (rc < 0)
		(void)base_pass(err, &why);
}

void history_session(const struct host *host, const char *event, const char *session, const char *project, size_t steps,
		     struct notes *notes)
{
	_cleanup_buf_ struct buf out = BUF_INIT, news = BUF_INIT;
	struct airlock_error err = {0}, auditing = {0};
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", event);
	json_string(&j, "session", session);
	json_path(&j, "project", project);
	json_time(&j, "time", store_now());
	json_int(&j, "uid", (int64_t)getuid());
	json_int(&j, "steps", (int64_t)steps);
	json_close(&j);
	(void)history_write_audit(host->state_dir, &out, &news, &auditing);
	history_put(host->state_dir, &news, notes, &err);
	history_note(notes, &err);
	history_note(notes, &auditing);
}

void history_decided(const struct host *host, const struct change_set *set, const char *event, size_t count,
		     struct notes *notes)
{
	_cleanup_buf_ struct buf out = BUF_INIT, news = BUF_INIT;
	struct airlock_error err = {0}, auditing = {0};
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", event);
	json_string(&j, "run", set->run);
	if (set->session)
		json_string(&j, "session", set->session);
	json_time(&j, "time", store_now());
	json_int(&j, "uid", (int64_t)getuid());
	json_int(&j, "count", (int64_t)count);
	json_string(&j, "changes", change_set_state_name(set));
	history_add_audit_files(&j, set);
	json_close(&j);
	inbox_add_changes(&news, set->run, change_set_state_name(set), (int64_t)set->n);
	(void)history_write_audit(host->state_dir, &out, &news, &auditing);
	history_put(host->state_dir, &news, notes, &err);
	history_note(notes, &err);
	history_note(notes, &auditing);
}
