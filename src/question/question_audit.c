/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every question leaves at least two lines in the audit file: that it was asked, and what became of it. */
#include "question/question_files.h"

#include "base/json.h"
#include "store/audit.h"
#include "store/inbox.h"

static const char *const events[] = {[QUESTION_ASKED] = "asked",
				     [QUESTION_ANSWERED] = "answered",
				     [QUESTION_DENIED] = "denied",
				     [QUESTION_FORGED] = "forged-answer"};
static const char *const by[] = {[QUESTION_VERDICT_PERSON] = "person",
				 [QUESTION_VERDICT_TIME_OVER] = "nobody",
				 [QUESTION_VERDICT_WITHDRAWN] = "withdrawn"};

static void add_ask(struct json *j, const struct question_ask *ask)
{
	json_open_array(j, "reasons");
	for (size_t i = 0; i < ask->n_reasons; i++)
		json_string(j, NULL, airlock_question_reason_name(ask->reasons[i]));
	json_close(j);
	json_path(j, "command", ask->command);
	if (ask->project)
		json_path(j, "project", ask->project);
	json_string(j, "session", ask->session);
	json_string(j, "asked_by", ask->asked_by);
	json_string(j, "host", ask->host);
	if (ask->host)
		json_int(j, "port", ask->port);
	else
		json_null(j, "port");
}

/* A full disk must not keep a question from being answered, so a line that cannot be written is left out; `airlock log
 * --verify` finds no gap, because lines are numbered when they are written. */
void question_audit(const char *state_dir, enum question_event event, const char *id, const struct question_ask *ask,
		    const struct question_result *result)
{
	_cleanup_buf_ struct buf out = BUF_INIT, news = BUF_INIT;
	struct airlock_error ignored = {0};
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", events[event]);
	json_string(&j, "question", id);
	json_time(&j, "time", store_now());
	json_int(&j, "uid", (int64_t)getuid());
	if (ask)
		add_ask(&j, ask);
	if (result) {
		json_string(&j, "answer", airlock_answer_name(result->answer));
		json_string(&j, "by", by[result->verdict]);
	}
	json_close(&j);
	if (out.failed || out.len < 2)
		return;
	out.data[out.len - 1] = '\0'; /* audit_append adds the braces */
	if (audit_append(state_dir, out.data + 1, &news, &ignored) < 0)
		return;
	ignored = (struct airlock_error){0};
	if (inbox_put(state_dir, &news, STORE_WAIT_MS, &ignored) == AIRLOCK_ERR_LIMIT &&
	    inbox_take_over(state_dir, STORE_WAIT_MS, NULL) == 0)
		(void)inbox_put(state_dir, &news, STORE_WAIT_MS, NULL);
}
