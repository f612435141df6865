/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate of a run: who is asked while it runs, which answers last longer, and what is told afterwards. */
#include "run/network.h"

#include "base/json.h"
#include "question/question.h"
#include "run/run.h"
#include "store/permissions.h"

#include <string.h>

#define LAST_BYTES_MS 2000
#define REMEMBER_KIND "host"

/* ── Asking while it runs ── */

/* One question that waits for a person elsewhere. */
struct waiting {
	struct permission_question question;
	struct question *broker;
};

static int make_question(struct airlock_run *run, const struct net_question *q, struct permission_question *ret)
{
	struct airlock_job *job = run->job;
	char nonce[33];
	if (job_nonce(nonce, NULL) < 0)
		return -EIO;
	struct permission_host in = {.host = q->host,
				     .port = q->port,
				     .connections = q->connections,
				     .command = job->command_line,
				     .working_dir = job->plan->cwd,
				     .project = job->project->dir,
				     .profile = job->plan->profile,
				     .nonce = nonce};
	return permission_about_host(&in, ret, NULL) < 0 ? -ENOMEM : 0;
}

/* Where the agent cannot answer: `airlock questions` (question/question.h). */
static enum net_reply ask_elsewhere(struct airlock_run *run, const struct net_question *q, struct waiting *w,
				    void **ret_handle, int *ret_fd)
{
	struct airlock_job *job = run->job;
	const struct question_ask ask = {.text = w->question.text,
					 .command = w->question.command,
					 .working_dir = w->question.working_dir,
					 .project = w->question.project,
					 .session = job->work.name ? job->work.name : job->session,
					 .asked_by = job->origin.who,
					 .host = q->host,
					 .port = (int)q->port,
					 .connections = q->connections,
					 .reasons = w->question.reasons,
					 .n_reasons = w->question.n_reasons,
					 .choices = w->question.choices,
					 .n_choices = w->question.n_choices,
					 .is_optional = true,
					 .wait_ms = job->config->permission_wait_ms};
	if (question_open(job->host.state_dir, &ask, &w->broker, NULL) < 0)
		return NET_REPLY_NOBODY;
	*ret_handle = w;
	*ret_fd = question_fd(w->broker);
	return NET_REPLY_LATER;
}

static void close_waiting(void *data, void *handle)
{
	struct waiting *w = handle;
	question_close(w->broker);
	permission_done(&w->question);
	free(w);
}

static enum net_reply ask(void *data, const struct net_question *q, void **ret_handle, int *ret_fd)
{
	struct airlock_run *run = data;
	if (run->job->yes)
		return NET_REPLY_ALLOW;
	struct waiting *w = calloc(1, sizeof *w);
	if (!w || make_question(run, q, &w->question) < 0) {
		free(w);
		return NET_REPLY_NOBODY;
	}
	enum net_reply reply = NET_REPLY_NOBODY;
	if (run->job->origin.kind == ORIGIN_AGENT) {
		reply = ask_elsewhere(run, q, w, ret_handle, ret_fd);
	} else if (run->ask) {
		struct airlock_question shown = permission_show(&w->question);
		reply = permission_allows(run->ask(&shown, run->ask_data)) ? NET_REPLY_ALLOW : NET_REPLY_DENY;
	}
	if (reply != NET_REPLY_LATER)
		close_waiting(NULL, w);
	return reply;
}

static enum net_reply poll_waiting(void *data, void *handle)
{
	const struct waiting *w = handle;
	struct question_decision d;
	if (question_poll(w->broker, &d) == 1)
		return NET_REPLY_LATER;
	if (d.by == QUESTION_BY_NOBODY)
		return NET_REPLY_NOBODY;
	return permission_allows(d.answer) ? NET_REPLY_ALLOW : NET_REPLY_DENY;
}

static void count_waiting(void *data, void *handle, unsigned connections)
{
	const struct waiting *w = handle;
	question_set_connections(w->broker, connections);
}

/* ── Answers for a session ── */

/* The session as the store tells it, behind a word as remember.c has it: a named session of the project, else what the caller
 * or the terminal says. NULL: none. */
static char *session_of(const struct airlock_job *job)
{
	_cleanup_free_ char *terminal = job->work.name || job->session ? NULL : job_terminal_session();
	struct buf b = BUF_INIT;
	if (job->work.name)
		buf_printf(&b, "host session %s", job->work.name);
	else if (job->session || terminal)
		buf_printf(&b, "host %s", job->session ? job->session : terminal);
	return b.len ? buf_take(&b) : NULL;
}

static bool remembers(const struct airlock_job *job)
{
	return job->config->network_remember == CONFIG_REMEMBER_SESSION && job->net.mode == NET_HOSTS;
}

/* "HOST PORT" */
static void recall_one(struct airlock_job *job, const struct store_permission *p)
{
	const char *space = strrchr(p->command, ' ');
	_cleanup_free_ char *host = space ? strndup(p->command, (size_t)(space - p->command)) : NULL;
	struct net_target t = {.name = host, .port = space ? (unsigned)strtoul(space + 1, NULL, 10) : 0};
	if (host && net_address_parse(host, &t.address))
		t.name = NULL;
	if (host)
		(void)net_rules_answer(&job->net.rules, &t, strcmp(p->decision, "allow") == 0, NET_BY_PERSON);
}

static void recall(struct airlock_job *job)
{
	_cleanup_store_ struct store *store = NULL;
	_cleanup_permissions_ struct store_permissions all = {0};
	_cleanup_free_ char *session = remembers(job) ? session_of(job) : NULL;
	if (!session || store_open_existing(job->host.state_dir, STORE_WAIT_MS, &store, NULL) < 0 ||
	    store_permission_list(store, job->project->dir, &all, NULL) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.v[i].kind, REMEMBER_KIND) == 0 && strcmp(all.v[i].profile, session) == 0)
			recall_one(job, &all.v[i]);
}

static void remember(struct airlock_job *job)
{
	_cleanup_store_ struct store *store = NULL;
	_cleanup_free_ char *session = remembers(job) ? session_of(job) : NULL;
	if (!session || job->net.rules.n_answers == 0 ||
	    store_open(job->host.state_dir, STORE_WAIT_MS, &store, NULL) < 0)
		return;
	for (size_t i = 0; i < job->net.rules.n_answers; i++) {
		const struct net_answer *a = &job->net.rules.answers[i];
		_cleanup_buf_ struct buf what = BUF_INIT;
		buf_printf(&what, "%s %u", a->host, a->port);
		struct store_permission p = {.kind = REMEMBER_KIND,
					     .command = buf_str(&what),
					     .working_dir = "",
					     .project = job->project->dir,
					     .profile = session,
					     .decision = a->allowed ? "allow" : "deny",
					     .scope = "session"};
		if (a->by == NET_BY_PERSON && !job->yes)
			(void)store_permission_add(store, &p, NULL, NULL);
	}
}

/* ── The gate ── */

static void want_sockets(void *data)
{
	struct airlock_run *run = data;
	if (run->supervise)
		supervise_want_sockets(run->supervise);
}

static bool has_somebody(const struct airlock_run *run)
{
	return run->job->yes || run->job->origin.kind == ORIGIN_AGENT || run->ask;
}

int network_open(struct airlock_run *run, const struct airlock_io *io, struct net_gate **ret, struct airlock_error *err)
{
	struct airlock_job *job = run->job;
	struct net_publish publish[CONFIG_MAX_PUBLISH];
	*ret = NULL;
	if (!network_has_gate(job) && job->net.n_publish == 0)
		return 0;
	run->ask = io ? io->ask : NULL;
	run->ask_data = io ? io->data : NULL;
	run->asker = (struct net_asker){run, ask, poll_waiting, count_waiting, close_waiting};
	for (size_t i = 0; i < job->config->n_publish; i++)
		publish[i] = (struct net_publish){job->config->publish[i].host_port, job->config->publish[i].port};
	struct net_gate_spec spec = {.rules = &job->net.rules,
				     .asker = has_somebody(run) ? &run->asker : NULL,
				     .publish = publish,
				     .n_publish = job->config->n_publish,
				     .want_sockets = want_sockets,
				     .data = run};
	recall(job);
	int rc = net_gate_new(&spec, &run->gate, err);
	*ret = run->gate;
	return rc;
}

/* Why it was refused, in words. */
static void add_cause(const struct airlock_run *run, const struct net_seen *s, struct buf *out)
{
	switch (s->by) {
	case NET_BY_GUARD:
		buf_printf(out, "it leads to %s", guard_verdict_name(s->guard));
		break;
	case NET_BY_NOBODY:
		buf_adds(out, run->job->net.rules.ask ? "no rule allows it, and nobody did" : "no rule allows it");
		break;
	case NET_BY_PERSON:
		buf_adds(out, "a person denied it");
		break;
	case NET_BY_RULE:
	case NET_BY_OPTION:
		buf_adds(out, "denied by ");
		net_by_add(out, s->by, &s->origin);
		break;
	}
}

/* Hosts that the agent's own recipe refuses (statistics, updates) are listed, but no note tells about them. */
static bool is_refused_by_recipe(const struct airlock_run *run, const struct net_seen *s)
{
	const struct recipe *r = run->job->agent.recipe;
	return r && s->by == NET_BY_RULE && s->origin.name && strcmp(s->origin.name, r->file) == 0;
}

/* An agent is told what was refused, not what would allow it: it cannot do that, a person can. */
static void note_refused(struct airlock_run *run)
{
	size_t n;
	const struct net_seen *seen = net_gate_seen(run->gate, &n);
	bool with_hint = run->job->origin.kind == ORIGIN_PERSON;
	for (size_t i = 0; i < n; i++) {
		_cleanup_buf_ struct buf target = BUF_INIT, exact = BUF_INIT, cause = BUF_INIT;
		const struct net_seen *s = &seen[i];
		bool is_v6 = strchr(s->host, ':') != NULL;
		if (s->allowed || is_refused_by_recipe(run, s))
			continue;
		buf_adds(&target, is_v6 ? "[" : "");
		host_name_add_shown(&target, s->host);
		buf_printf(&target, "%s:%u", is_v6 ? "]" : "", s->port);
		buf_printf(&exact, "--allow-host %s%s%s:%u", is_v6 ? "[" : "", s->host, is_v6 ? "]" : "", s->port);
		add_cause(run, s, &cause);
		const char *hint = s->by == NET_BY_GUARD ? "its address in allow_private of [network]"
				   : s->by == NET_BY_NOBODY || s->by == NET_BY_PERSON ? buf_str(&exact)
										      : NULL;
		NOTE(&run->layers.notes, HOST_REFUSED, .subject = buf_str(&target), .cause = buf_str(&cause),
		     .other = with_hint ? hint : NULL);
	}
}

/* ── What is told ── */

/* The connections that the gate has seen, as values that outlive it. */
static void settle_hosts(struct airlock_run *run)
{
	size_t n;
	const struct net_seen *seen = net_gate_seen(run->gate, &n);
	run->hosts = calloc(n + 1, sizeof *run->hosts);
	for (size_t i = 0; run->hosts && i < n; i++) {
		struct buf by = BUF_INIT;
		net_by_add(&by, seen[i].by, &seen[i].origin);
		strs_take(&run->host_texts, buf_take(&by));
		if (run->host_texts.failed)
			return;
		run->hosts[run->n_hosts++] = (struct airlock_host){.host = seen[i].host,
								   .port = seen[i].port,
								   .is_allowed = seen[i].allowed,
								   .by = (enum airlock_host_by)seen[i].by,
								   .connections = seen[i].connections,
								   .bytes_out = seen[i].bytes_out,
								   .bytes_in = seen[i].bytes_in};
	}
	for (size_t i = 0; i < run->n_hosts; i++)
		run->hosts[i].by_text = run->host_texts.v[i];
}

void network_close(struct airlock_run *run)
{
	if (!run->gate)
		return;
	net_gate_finish(run->gate, LAST_BYTES_MS);
	note_refused(run);
	settle_hosts(run);
	remember(run->job);
}

void network_free(struct airlock_run *run)
{
	net_gate_free(run->gate);
	run->gate = NULL;
	free(run->hosts);
	strs_done(&run->host_texts);
}

void network_print_json(const struct airlock_run *run, struct json *j)
{
	if (!run->gate || !network_has_gate(run->job)) {
		json_null(j, "network");
		return;
	}
	json_open_object(j, "network");
	json_open_array(j, "hosts");
	for (size_t i = 0; i < run->n_hosts; i++) {
		const struct airlock_host *h = &run->hosts[i];
		json_open_object(j, NULL);
		json_string(j, "host", h->host);
		json_int(j, "port", (int64_t)h->port);
		json_string(j, "decision", h->is_allowed ? "allowed" : "denied");
		json_string(j, "by", h->by_text);
		json_int(j, "connections", (int64_t)h->connections);
		json_int(j, "bytes_out", (int64_t)h->bytes_out);
		json_int(j, "bytes_in", (int64_t)h->bytes_in);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

const char *airlock_host_by_name(enum airlock_host_by by)
{
	static const char *const names[] = {[AIRLOCK_HOST_BY_RULE] = "rule",
					    [AIRLOCK_HOST_BY_OPTION] = "option",
					    [AIRLOCK_HOST_BY_PERSON] = "person",
					    [AIRLOCK_HOST_BY_NOBODY] = "nobody",
					    [AIRLOCK_HOST_BY_GUARD] = "guard"};
	return names[by];
}

const struct airlock_host *airlock_run_host(const struct airlock_run *run, size_t i)
{
	return i < run->n_hosts ? &run->hosts[i] : NULL;
}

_Static_assert((int)AIRLOCK_HOST_BY_RULE == (int)NET_BY_RULE && (int)AIRLOCK_HOST_BY_GUARD == (int)NET_BY_GUARD,
	       "who decided has the same numbers");
