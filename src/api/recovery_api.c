/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock recover`. */
#include "airlock/history.h"
#include "api/list.h"
#include "base/error.h"
#include "base/json.h"
#include "history/cut_run.h"
#include "history/recovery.h"
#include "session/session.h"

struct airlock_recovery {
	size_t count;
	struct notes notes;
	char *json;
};

int airlock_recover(const struct airlock_settings *s, struct airlock_recovery **ret, struct airlock_error *err)
{
	struct host host;
	struct airlock_recovery *r = calloc(1, sizeof *r);
	if (!r)
		return base_oom(err);
	int rc = host_init(s, &host, err);
	if (rc == 0) {
		rc = recovery_run(&host, &r->count, &r->notes, err);
		if (rc == 0)
			rc = cut_runs_hold(&host, &r->count, &r->notes, err);
		if (rc == 0)
			rc = session_hold_cut(&(struct session_place){&host, NULL}, NULL, &r->count, &r->notes, err);
		host_done(&host);
	}
	if (rc == 0)
		*ret = r;
	else
		airlock_recovery_free(r);
	return rc;
}

void airlock_recovery_free(struct airlock_recovery *r)
{
	if (!r)
		return;
	notes_done(&r->notes);
	free(r->json);
	free(r);
}

size_t airlock_recovery_count(const struct airlock_recovery *r)
{
	return r->count;
}

const struct airlock_note *airlock_recovery_note(const struct airlock_recovery *r, size_t i)
{
	return notes_at(&r->notes, i);
}

const char *airlock_recovery_json(struct airlock_recovery *r)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_int(&j, "recovered", (int64_t)r->count);
	notes_add_json(&j, "notes", &r->notes);
	json_close(&j);
	return api_json(&out, &r->json);
}
