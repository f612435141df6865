/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of a job, as values and as JSON. */
#include "run/explain.h"

#include "base/json.h"
#include "run/layers.h"
#include "run/links.h"

#include <stdlib.h>

_Static_assert((int)PLAN_READ == AIRLOCK_MOUNT_READ && (int)PLAN_TMPFS == AIRLOCK_MOUNT_TMPFS &&
		       (int)PLAN_SYMLINK == AIRLOCK_MOUNT_SYMLINK && (int)PLAN_SEAL == AIRLOCK_MOUNT_SEAL,
	       "the same values under other names");
_Static_assert((int)PLAN_NS_USER == AIRLOCK_NAMESPACE_USER && (int)PLAN_NS_CGROUP == AIRLOCK_NAMESPACE_CGROUP,
	       "the same values under other names");

struct explained {
	struct airlock_plan plan;
	struct airlock_mount *mounts;
	struct airlock_job_link *links;
	struct airlock_host_rule *host_rules;
	struct strs argv, because, host_texts; /* because: one for each link */
	struct buf profile;
	struct airlock_question question;
	char *json;
};

void explained_free(struct explained *e)
{
	if (!e)
		return;
	free(e->mounts);
	free(e->links);
	free(e->host_rules);
	strs_done(&e->host_texts);
	strs_done(&e->argv);
	strs_done(&e->because);
	buf_done(&e->profile);
	free(e->json);
	free(e);
}

static const char *const *list_of(const struct strs *l)
{
	static const char *const none[] = {NULL};
	return l->n ? (const char *const *)l->v : none;
}

static int64_t bytes_of(int64_t limit)
{
	return limit == TEXT_NONE ? -1 : limit;
}

static int64_t limit_of(struct policy_limit limit)
{
	return bytes_of(limit.value);
}

/* A session that does not exist yet begins now. */
static void fill_session(struct airlock_plan *out, const struct airlock_job *job)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {&job->host, job->project->dir};
	out->session = job->work.name;
	if (!job->work.name)
		return;
	bool is_there = session_open(&s, &at, job->work.name, SESSION_LOOK, NULL) == 0;
	const struct session_limits limits =
		session_limits_of(job->config, is_there ? s.free_bytes : session_disk_free(job->host.state_dir));
	out->session_disk = bytes_of(limits.disk);
	out->session_tmp = bytes_of(limits.tmp);
}

static bool fill_mounts(struct explained *e, const struct plan *p)
{
	size_t n = 0;
	e->mounts = calloc(p->n_mounts + p->n_left_out + 1, sizeof *e->mounts);
	for (size_t i = 0; e->mounts && i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];
		e->mounts[n++] = (struct airlock_mount){.kind = (enum airlock_mount_kind)m->kind,
							.source = m->source,
							.target = m->target,
							.because = m->because,
							.size = m->size,
							.files_only = m->screen != NULL};
	}
	for (size_t i = 0; e->mounts && i < p->n_left_out; i++)
		e->mounts[n++] = (struct airlock_mount){.kind = AIRLOCK_MOUNT_LEFT_OUT,
							.target = p->left_out[i].path,
							.because = p->left_out[i].because};
	e->plan.mounts = e->mounts;
	e->plan.n_mounts = n;
	return e->mounts;
}

static bool fill_links(struct explained *e, const struct airlock_job *job)
{
	const struct project *p = job->project;
	e->links = calloc(p->n_links + 1, sizeof *e->links);
	for (size_t i = 0; e->links && i < p->n_links; i++) {
		_cleanup_buf_ struct buf because = BUF_INIT;
		links_add_because(&p->links[i], &because);
		strs_add(&e->because, buf_str(&because));
		e->links[i] = links_show(job, &p->links[i]);
	}
	for (size_t i = 0; e->links && !e->because.failed && i < p->n_links; i++)
		e->links[i].because = e->because.v[i];
	e->plan.links = e->links;
	e->plan.n_links = p->n_links;
	return e->links && !e->because.failed;
}

static bool fill_hosts(struct explained *e, const struct airlock_job *job)
{
	e->host_rules = calloc(job->net.rules.n + 1, sizeof *e->host_rules);
	if (e->host_rules)
		e->plan.n_host_rules = network_explain(job, e->host_rules, &e->host_texts);
	e->plan.host_rules = e->host_rules;
	return e->host_rules && !e->host_texts.failed;
}

static void fill(struct explained *e, struct airlock_job *job)
{
	const struct plan *p = job->plan;
	struct airlock_plan *out = &e->plan;
	*out = (struct airlock_plan){
		.command = job->command_line,
		.backend = job->backend->name,
		.profile = p->profile,
		.backend_origin = job->config->backend_origin,
		.is_sandboxed = !job->backend->unsandboxed,
		.is_in_place = job->backend->in_place,
		.capture = layers_capture(job),
		.capture_because = job->capture_because,
		.working_dir = p->cwd,
		.roots = list_of(&p->roots),
		.network = p->network,
		.network_mode = (enum airlock_network_mode)job->net.mode,
		.asks_hosts = job->net.rules.ask,
		.nested = p->nested,
		.unix_sockets = p->unix_sockets,
		.namespaces = p->namespaces,
		.env_kept = list_of(&p->env_kept),
		.env_removed = list_of(&p->env_removed),
		.env_removed_for = {[AIRLOCK_REMOVED_INSIDE] = list_of(&p->env_removed_for[POLICY_ENV_INSIDE]),
				    [AIRLOCK_REMOVED_NAME] = list_of(&p->env_removed_for[POLICY_ENV_NAME]),
				    [AIRLOCK_REMOVED_VALUE] = list_of(&p->env_removed_for[POLICY_ENV_VALUE]),
				    [AIRLOCK_REMOVED_NOT_LISTED] = list_of(&p->env_removed_for[POLICY_ENV_NOT_LISTED])},
		.timeout_ms = limit_of(p->timeout_ms),
		.memory = limit_of(p->memory),
		.pids = limit_of(p->pids),
		.file_size = limit_of(p->file_size),
		.explains_denials = job->explain,
		.notes = p->notes.v,
		.n_notes = p->notes.n,
		.argv = list_of(&e->argv),
		.sandbox_profile = job->backend->profile ? buf_str(&e->profile) : NULL,
	};
	fill_session(out, job);
	if (job->question.n_reasons == 0)
		return;
	if (!airlock_job_question(job) && job->was_answered) {
		out->remembered_id = job->earlier_id;
		out->remembered = job->earlier_answer;
	}
	e->question = permission_show(&job->question);
	out->question = &e->question;
}

const struct airlock_plan *airlock_job_plan(struct airlock_job *job)
{
	if (job->explained)
		return &job->explained->plan;
	struct explained *e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	if (job->backend->describe(&job->ctx, job->plan, &e->argv, NULL) < 0)
		strs_done(&e->argv);
	if (job->backend->profile)
		job->backend->profile(job->plan, &e->profile);
	fill(e, job);
	if (!fill_mounts(e, job->plan) || !fill_links(e, job) || !fill_hosts(e, job) || e->argv.failed ||
	    e->profile.failed) {
		explained_free(e);
		return NULL;
	}
	job->explained = e;
	return &e->plan;
}

static void add_bytes(struct json *j, const char *key, int64_t limit)
{
	if (limit < 0)
		json_null(j, key);
	else
		json_int(j, key, limit);
}

static void add_session(struct json *j, const struct airlock_plan *plan)
{
	json_string(j, "session", plan->session); /* NULL is null */
	if (!plan->session)
		return;
	json_open_object(j, "session_limits");
	add_bytes(j, "disk", plan->session_disk);
	add_bytes(j, "tmp", plan->session_tmp);
	json_close(j);
}

const char *airlock_job_json(struct airlock_job *job)
{
	const struct airlock_plan *plan = airlock_job_plan(job);
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	if (!plan)
		return "";
	json_open_object(&j, NULL);
	json_string(&j, "backend", plan->backend);
	json_string(&j, "capture", airlock_capture_name(plan->capture));
	if (plan->capture_because)
		json_string(&j, "capture_because", plan->capture_because);
	plan_print_json(job->plan, &j);
	add_session(&j, plan);
	json_open_object(&j, "network_rules");
	json_string(&j, "mode", airlock_network_mode_name(plan->network_mode));
	json_bool(&j, "ask", plan->asks_hosts);
	json_open_array(&j, "rules");
	for (size_t i = 0; i < plan->n_host_rules; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "rule", airlock_host_rule_name(plan->host_rules[i].kind));
		json_string(&j, "host", plan->host_rules[i].host);
		rule_origin_add_json(&j, "because", &plan->host_rules[i].because);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	links_json(job->project, &j);
	json_open_array(&j, "argv");
	for (const char *const *word = plan->argv; *word; word++)
		json_string(&j, NULL, *word);
	json_close(&j);
	if (plan->sandbox_profile)
		json_string(&j, "sandbox_profile", plan->sandbox_profile);
	json_string(&j, "command", plan->command);
	json_bool(&j, "explain_denials", plan->explains_denials);
	json_open_array(&j, "asks");
	for (size_t i = 0; plan->question && i < plan->question->n_reasons; i++)
		json_string(&j, NULL, airlock_question_reason_name(plan->question->reasons[i]));
	json_close(&j);
	json_close(&j);
	buf_addc(&out, '\n');
	free(job->explained->json);
	job->explained->json = buf_take(&out);
	return job->explained->json ? job->explained->json : "";
}
