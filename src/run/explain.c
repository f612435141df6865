/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of a job, for people and as JSON. */
#include "run/job.h"

#include "base/json.h"
#include "base/text.h"
#include "run/copies.h"
#include "run/links.h"

#include <string.h>

static void add_escaped(struct buf *out, const char *s)
{
	text_add_escaped(out, s, strlen(s));
}

static void add_argv(const struct strs *argv, struct buf *out)
{
	for (size_t i = 0; i < argv->n; i++) {
		_cleanup_buf_ struct buf word = BUF_INIT;
		text_add_shell_word(&word, argv->v[i]);
		/* One option a line, its values beside it. */
		bool starts_line = i == 0 || strncmp(argv->v[i], "--", 2) == 0;
		buf_adds(out, i == 0 ? "  " : starts_line ? " \\\n    " : " ");
		add_escaped(out, buf_str(&word));
	}
	buf_addc(out, '\n');
}

static void add_question(struct airlock_job *job, struct buf *out)
{
	if (job->question.n_reasons == 0)
		return;
	if (!airlock_job_question(job) && job->was_answered) {
		buf_printf(
			out,
			"would not ask: %s without a sandbox, as you said before (airlock permissions revoke %lld)\n",
			permission_allows(job->earlier_answer) ? "allowed" : "denied", (long long)job->earlier_id);
		return;
	}
	buf_adds(out, "would ask first: ");
	for (const char *p = job->question.text; *p; p++) {
		if (*p == '\n')
			buf_adds(out, "\n  ");
		else
			buf_addc(out, *p);
	}
	buf_addc(out, '\n');
}

const char *airlock_job_explain(struct airlock_job *job)
{
	_cleanup_strs_ struct strs argv = STRS_INIT;
	struct buf out = BUF_INIT;
	free(job->explain_text);
	buf_adds(&out, "command: ");
	add_escaped(&out, job->command_line);
	_cleanup_free_ char *who = airlock_origin_text(&job->config->backend_origin);
	buf_printf(&out, "\nbackend: %s (%s)\n", job->backend->name, who ? who : "");
	add_question(job, &out);
	links_explain(job, &out);
	if (job->backend->unsandboxed)
		buf_adds(&out, "NOT IN SANDBOX: nothing below is enforced but the environment and the timeout\n");
	else if (job->backend->in_place)
		buf_adds(&out, "nothing is mounted: what is listed below as mounts is granted, or not, where it is\n");
	if (job->mirrors)
		buf_printf(&out, "%s\nthe copy is mounted over the project\n", job->capture_because);
	if (copies_wanted(job))
		buf_adds(&out,
			 "changes are found by comparing with a copy: the command writes to the project itself\n");
	plan_print_text(job->plan, &out);
	if (job->explain)
		buf_adds(&out, "what is refused is explained in the result\n");
	if (job->backend->profile) {
		buf_adds(&out, "sandbox profile, airlock.sb:\n");
		job->backend->profile(job->plan, &out);
	}
	if (job->backend->describe(&job->ctx, job->plan, &argv, NULL) == 0) {
		buf_adds(&out, "command line:\n");
		add_argv(&argv, &out);
	}
	job->explain_text = buf_take(&out);
	return job->explain_text ? job->explain_text : "";
}

const char *airlock_job_explain_json(struct airlock_job *job)
{
	_cleanup_strs_ struct strs argv = STRS_INIT;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	free(job->explain_json);
	(void)job->backend->describe(&job->ctx, job->plan, &argv, NULL);
	json_open_object(&j, NULL);
	json_string(&j, "backend", job->backend->name);
	json_string(&j, "capture", airlock_capture_name(layers_capture(job)));
	if (job->capture_because)
		json_string(&j, "capture_because", job->capture_because);
	plan_print_json(job->plan, &j);
	links_json(job->project, &j);
	json_open_array(&j, "argv");
	for (size_t i = 0; i < argv.n; i++)
		json_string(&j, NULL, argv.v[i]);
	json_close(&j);
	if (job->backend->profile) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		job->backend->profile(job->plan, &text);
		json_string(&j, "sandbox_profile", buf_str(&text));
	}
	json_string(&j, "command", job->command_line);
	json_bool(&j, "explain_denials", job->explain);
	json_open_array(&j, "asks");
	for (size_t i = 0; i < job->question.n_reasons; i++)
		json_string(&j, NULL, job->question.reasons[i]);
	json_close(&j);
	json_close(&j);
	buf_addc(&out, '\n');
	job->explain_json = buf_take(&out);
	return job->explain_json ? job->explain_json : "";
}
