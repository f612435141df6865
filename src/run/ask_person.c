/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's question goes to the state directory (src/question), where a person answers it. The terminal is no place for it:
 * the agent may be able to type there. */
#include "airlock/questions.h"

#include "base/error.h"
#include "base/text.h"
#include "question/question.h"
#include "run/job.h"
#include "settings/config_context.h"

/* A question that does not stop the run must not hold it up for long either. */
#define OPTIONAL_WAIT_MS 20000

struct airlock_asking {
	struct question *question;
	struct airlock_job *job; /* borrowed; NULL: about changes */
	bool is_decided, is_ignored;
	enum airlock_answer answer;
};

static int ask(const char *state_dir, const struct question_ask *in, struct airlock_job *job,
	       struct airlock_asking **ret, struct airlock_error *err)
{
	struct airlock_asking *a = calloc(1, sizeof *a);
	if (!a)
		return base_oom(err);
	int rc = question_open(state_dir, in, &a->question, err);
	if (rc < 0) {
		free(a);
		return rc;
	}
	a->job = job;
	*ret = a;
	return 0;
}

/* Texts that are "" where there is none. */
static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static struct question_ask describe(const struct airlock_question *q)
{
	return (struct question_ask){.text = q->text,
				     .command = q->command,
				     .working_dir = or_null(q->working_dir),
				     .project = or_null(q->project),
				     .session = q->session,
				     .reasons = q->reasons,
				     .n_reasons = q->n_reasons,
				     .paths = q->paths,
				     .choices = q->choices,
				     .n_choices = q->n_choices,
				     .is_optional = q->is_optional};
}

int airlock_job_ask(struct airlock_job *job, struct airlock_asking **ret, struct airlock_error *err)
{
	*ret = NULL;
	const struct airlock_question *q = job->origin.kind == ORIGIN_AGENT ? airlock_job_question(job) : NULL;
	if (!q || job->answered || job->cannot_run.code)
		return 0;
	struct question_ask in = describe(q);
	in.asked_by = job->origin.who;
	in.session = job->work.name;
	in.wait_ms = job->config->permission_wait_ms;
	if (q->is_optional && (in.wait_ms == 0 || question_was_ignored(job->host.state_dir, q->key)))
		return 0;
	if (q->is_optional)
		in.wait_ms = AL_MIN(in.wait_ms, (int64_t)OPTIONAL_WAIT_MS);
	int rc = ask(job->host.state_dir, &in, job, ret, err);
	return rc < 0 ? rc : 1;
}

int airlock_question_ask(const struct airlock_settings *s, const struct airlock_question *q,
			 struct airlock_asking **ret, struct airlock_error *err)
{
	struct config *config = NULL;
	struct host host = {0};
	struct settings_view v = {0};
	struct origin origin = {0};
	struct question_ask in = describe(q);
	*ret = NULL;
	int rc = config_of_settings(s, &config, err);
	if (rc == 0)
		rc = settings_view(s, &v, err);
	if (rc == 0)
		rc = origin_decide(s, &v, &origin, err);
	if (rc == 0)
		rc = host_init(s, &host, err);
	if (rc == 0) {
		in.asked_by = origin.who;
		in.wait_ms = config->permission_wait_ms;
		rc = ask(host.state_dir, &in, NULL, ret, err);
		host_done(&host);
	}
	origin_done(&origin);
	settings_view_done(&v);
	config_free(config);
	return rc;
}

int airlock_asking_fd(const struct airlock_asking *a)
{
	return question_fd(a->question);
}

const char *airlock_asking_id(const struct airlock_asking *a)
{
	return question_id(a->question);
}

/* A person's no to links is a decision about the project, as it is in the terminal: the next run does not ask again. */
static enum airlock_answer answer_for_job(const struct airlock_asking *a, const struct question_decision *d)
{
	bool is_no = d->answer == AIRLOCK_DENY && d->by == QUESTION_BY_PERSON;
	return is_no && a->job->question.is_optional ? AIRLOCK_DENY_ALWAYS : d->answer;
}

static void settle(struct airlock_asking *a, const struct question_decision *d)
{
	a->is_decided = true;
	a->is_ignored = d->by == QUESTION_BY_NOBODY;
	a->answer = d->answer;
	if (!a->job)
		return;
	a->answer = answer_for_job(a, d);
	a->job->is_ignored = a->is_ignored;
	airlock_job_answer(a->job, a->answer);
	if (a->is_ignored && a->job->question.is_optional)
		question_set_ignored(a->job->host.state_dir, a->job->question.key);
}

int airlock_asking_poll(struct airlock_asking *a, enum airlock_answer *ret_answer)
{
	struct question_decision d;
	if (!a->is_decided && question_poll(a->question, &d) == 1)
		return 1;
	if (!a->is_decided)
		settle(a, &d);
	*ret_answer = a->answer;
	return 0;
}

int airlock_asking_is_ignored(const struct airlock_asking *a)
{
	return a->is_ignored;
}

void airlock_asking_free(struct airlock_asking *a)
{
	if (!a)
		return;
	question_close(a->question);
	free(a);
}
