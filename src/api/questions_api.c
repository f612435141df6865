/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock questions` and `airlock answer`. */
#include "airlock/questions.h"

#include "api/list.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "question/question.h"
#include "settings/host.h"

struct airlock_questions {
	struct airlock_pending_question *v;
	size_t n;
	struct question_list list; /* behind v */
	char *json;
};

API_LIST(questions, airlock_pending_question)

void airlock_questions_free(struct airlock_questions *l)
{
	if (!l)
		return;
	question_list_done(&l->list);
	free(l->v);
	free(l->json);
	free(l);
}

static struct airlock_pending_question show(const struct question_entry *e)
{
	static const char *const none[] = {NULL};
	const struct question_ask *ask = &e->ask;
	return (struct airlock_pending_question){.id = e->id,
						 .text = ask->text,
						 .command = ask->command,
						 .project = ask->project ? ask->project : "",
						 .working_dir = ask->working_dir ? ask->working_dir : "",
						 .session = ask->session,
						 .asked_by = ask->asked_by ? ask->asked_by : "",
						 .host = ask->host,
						 .port = ask->port,
						 .connections = ask->connections,
						 .paths = ask->paths ? ask->paths : none,
						 .reasons = ask->reasons,
						 .n_reasons = ask->n_reasons,
						 .choices = ask->choices,
						 .n_choices = ask->n_choices,
						 .is_optional = ask->is_optional,
						 .asked_ns = e->asked_ns,
						 .wait_ms = ask->wait_ms == TEXT_NONE ? -1 : ask->wait_ms};
}

int airlock_questions_open(const struct airlock_settings *s, struct airlock_questions **ret, struct airlock_error *err)
{
	struct host host;
	struct airlock_questions *l = calloc(1, sizeof *l);
	if (!l)
		return base_oom(err);
	int rc = host_init(s, &host, err);
	if (rc == 0) {
		rc = question_list(host.state_dir, &l->list, err);
		host_done(&host);
	}
	l->v = rc < 0 ? NULL : calloc(l->list.n + 1, sizeof *l->v);
	if (!l->v) {
		airlock_questions_free(l);
		return rc < 0 ? rc : base_oom(err);
	}
	for (size_t i = 0; i < l->list.n; i++)
		l->v[l->n++] = show(l->list.v[i]);
	*ret = l;
	return 0;
}

static void add_question(struct json *j, const struct airlock_pending_question *q)
{
	json_open_object(j, NULL);
	json_string(j, "id", q->id);
	json_string(j, "session", q->session);
	json_string(j, "command", q->command);
	json_string(j, "project", *q->project ? q->project : NULL);
	json_open_array(j, "reasons");
	for (size_t i = 0; i < q->n_reasons; i++)
		json_string(j, NULL, airlock_question_reason_name(q->reasons[i]));
	json_close(j);
	json_string(j, "host", q->host);
	if (q->port)
		json_int(j, "port", q->port);
	else
		json_null(j, "port");
	json_time(j, "asked", q->asked_ns);
	json_string(j, "question", q->text);
	json_string(j, "asked_by", q->asked_by);
	json_string(j, "working_dir", *q->working_dir ? q->working_dir : NULL);
	json_open_array(j, "paths");
	for (const char *const *p = q->paths; *p; p++)
		json_string(j, NULL, *p);
	json_close(j);
	json_open_array(j, "choices");
	for (size_t i = 0; i < q->n_choices; i++)
		json_string(j, NULL, airlock_answer_name(q->choices[i]));
	json_close(j);
	json_int(j, "connections", q->connections);
	if (q->wait_ms < 0)
		json_null(j, "wait_ms");
	else
		json_int(j, "wait_ms", q->wait_ms);
	json_close(j);
}

const char *airlock_questions_json(struct airlock_questions *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "questions");
	for (size_t i = 0; i < l->n; i++)
		add_question(&j, &l->v[i]);
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

char *airlock_pending_question_json(const struct airlock_pending_question *q)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	add_question(&j, q);
	buf_addc(&out, '\n');
	return buf_take(&out);
}

int airlock_questions_watch(const struct airlock_settings *s, int *ret_fd, struct airlock_error *err)
{
	struct host host;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = question_watch(host.state_dir, ret_fd, err);
	host_done(&host);
	return rc;
}

/* A model reads this refusal, so it names no way around it. */
int airlock_questions_answer(const struct airlock_settings *s, const char *id, enum airlock_answer answer,
			     struct airlock_error *err)
{
	struct host host;
	if (airlock_settings_is_agent(s))
		return base_error(err, AIRLOCK_ERR_DENIED, "answer", "agent",
				  "this was started by an agent, and only a person may answer a question");
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = question_answer(host.state_dir, id, answer, err);
	host_done(&host);
	return rc;
}
