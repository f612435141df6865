/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/network.h"

#include "base/path.h"
#include "fs/fs.h"
#include "run/job.h"

#include <airlock/job.h>

#include <string.h>

void network_done(struct job_network *n)
{
	net_rules_done(&n->rules);
	strs_done(&n->asked_hosts);
	free(n->resolver);
	free(n->hosts);
}

/* ── What was asked for ── */

static bool is_option(const struct host_rule *rule)
{
	return rule->verdict == HOST_RULE_ALLOW && rule->origin.kind != AIRLOCK_ORIGIN_FILE;
}

static bool names_hosts(const struct net_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		if (is_option(&rules->v[i]))
			return true;
	return false;
}

static int refuse_by_profile(const struct airlock_job *job, struct airlock_error *err)
{
	const char *profile = job->config->policy.profile;
	base_error(err, AIRLOCK_ERR_BLOCKED, "network", profile, "profile %s refuses network access", profile);
	return base_hint(err, "choose a profile that may ask for it: --profile moderate");
}

/* What options ask for comes first, then the profile, then [network] mode. */
static enum net_mode find_mode(const struct config *c, struct airlock_origin *ret_origin)
{
	const struct policy *p = &c->policy;
	*ret_origin = c->network_asked_origin;
	if (c->network_mode_asked)
		return c->network_asked;
	if (p->network_wanted)
		return NET_OPEN;
	*ret_origin = c->network_mode_origin;
	if (names_hosts(&c->network_rules) && c->network_mode != NET_OPEN)
		return NET_HOSTS;
	if (p->network == POLICY_NETWORK_ASK) {
		*ret_origin = RULE_ORIGIN(PROFILE, p->profile);
		return NET_OPEN;
	}
	return c->network_mode;
}

static int check_options(const struct airlock_job *job, struct airlock_error *err)
{
	const struct config *c = job->config;
	bool off = c->network_mode_asked && c->network_asked == NET_OFF;
	bool wants = c->policy.network_wanted || names_hosts(&c->network_rules);
	if (off && wants)
		return base_error(err, AIRLOCK_ERR_USAGE, "network", "off",
				  "--network-mode off contradicts --network and --allow-host");
	bool asks = (c->network_mode_asked && !off) || wants || c->n_publish > 0;
	return asks && c->policy.network == POLICY_NETWORK_REFUSE ? refuse_by_profile(job, err) : 0;
}

/* True if a rule of a file allows the same already. */
static bool is_configured(const struct net_rules *rules, const struct host_rule *rule)
{
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].verdict == HOST_RULE_ALLOW && rules->v[i].origin.kind == AIRLOCK_ORIGIN_FILE &&
		    host_rule_covers(&rules->v[i], rule))
			return true;
	return false;
}

static void collect_questions(struct job_network *n, const struct config *c)
{
	bool is_asked = c->network_mode_asked || c->policy.network_wanted || c->policy.network == POLICY_NETWORK_ASK;
	n->asks_host = n->mode == NET_HOST;
	n->asks_open = n->mode == NET_OPEN && is_asked && c->network_mode != NET_OPEN;
	for (size_t i = 0; n->mode == NET_HOSTS && i < n->rules.n; i++) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		if (!is_option(&n->rules.v[i]) || is_configured(&n->rules, &n->rules.v[i]))
			continue;
		host_rule_add(&text, &n->rules.v[i]);
		strs_add(&n->asked_hosts, buf_str(&text));
	}
	for (size_t i = 0; i < c->n_publish; i++)
		n->publish[i] = (struct permission_port){c->publish[i].host_port, c->publish[i].port};
	n->n_publish = c->n_publish;
}

static void collect_ports(struct job_network *n)
{
	for (size_t i = 0; i < n->rules.n; i++) {
		unsigned port = n->rules.v[i].port;
		bool is_known = port == 0 || n->rules.v[i].verdict != HOST_RULE_ALLOW;
		for (size_t k = 0; k < n->n_ports; k++)
			is_known |= n->ports[k] == port;
		if (!is_known && n->n_ports < AL_ARRAY_LEN(n->ports))
			n->ports[n->n_ports++] = (uint16_t)port;
	}
}

int network_decide(struct airlock_job *job, struct airlock_error *err)
{
	const struct config *c = job->config;
	struct job_network *n = &job->net;
	int rc = check_options(job, err);
	if (rc < 0)
		return rc;
	n->mode = c->policy.network == POLICY_NETWORK_REFUSE ? NET_OFF : find_mode(c, &n->rules.mode_origin);
	n->rules.mode = n->mode;
	n->rules.ask = c->network_ask;
	for (size_t i = 0; i < c->network_rules.n; i++)
		if (net_rules_add(&n->rules, &c->network_rules.v[i]) < 0)
			return base_oom(err);
	collect_questions(n, c);
	collect_ports(n);
	job->network = n->mode == NET_HOST;
	return n->asked_hosts.failed ? base_oom(err) : 0;
}

bool network_has_gate(const struct airlock_job *job)
{
	return job->net.resolver != NULL;
}

/* A file of ours that the command reads; replaced only when it is another one. */
static int provide(const struct airlock_job *job, const char *name, const struct buf *content, char **ret,
		   struct airlock_error *err)
{
	_cleanup_buf_ struct buf old = BUF_INIT;
	*ret = path_join(job->host.data_dir, name);
	if (!*ret || content->failed)
		return base_oom(err);
	if (fs_read_file(*ret, 65536, &old, NULL) == 0 && old.len == content->len &&
	    memcmp(old.data, content->data, old.len) == 0)
		return 0;
	return fs_write_private_file(*ret, buf_str(content), content->len, err);
}

/* Names of the host's own /etc/hosts would lead to addresses, and then no rule for a name would match. They are resolved
 * outside. */
static int provide_files(struct airlock_job *job, struct airlock_error *err)
{
	_cleanup_buf_ struct buf resolver = BUF_INIT, hosts = BUF_INIT;
	char name[256] = "";
	(void)gethostname(name, sizeof name - 1);
	buf_adds(&resolver,
		 "# airlock answers, and decides by name which hosts can be reached.\nnameserver 127.0.0.1\n");
	buf_printf(&hosts, "127.0.0.1\tlocalhost%s%s\n::1\tlocalhost ip6-localhost ip6-loopback\n", *name ? " " : "",
		   name);
	int rc = fs_make_private_dir(job->host.data_dir, err);
	if (rc == 0)
		rc = provide(job, "resolv.conf", &resolver, &job->net.resolver, err);
	return rc < 0 ? rc : provide(job, "hosts", &hosts, &job->net.hosts, err);
}

int network_settle(struct airlock_job *job, struct airlock_error *err)
{
	struct job_network *n = &job->net;
	const char *backend = job->backend->name;
	bool wants_gate = n->mode == NET_HOSTS || n->mode == NET_OPEN;
	if (job->cannot_run.code) { /* it is only explained */
		job->network = n->mode != NET_OFF;
		return 0;
	}
	if (job->backend->unsandboxed && (n->mode != NET_HOSTS || !names_hosts(&n->rules)) && !n->n_publish) {
		job->network = n->mode != NET_OFF; /* nothing keeps the command from the network */
		return 0;
	}
	if ((!wants_gate && n->n_publish == 0) || job->backend->has_gate)
		return wants_gate ? provide_files(job, err) : 0;
	/* A file's mode is for backends that can do it; what an option asks for must be had. */
	const struct config *c = job->config;
	if (!c->network_mode_asked && !c->policy.network_wanted && !names_hosts(&n->rules) && n->n_publish == 0 &&
	    c->policy.network != POLICY_NETWORK_ASK) {
		NOTE(&job->warnings, NO_GATE, .subject = backend);
		n->mode = n->rules.mode = NET_OFF;
		return job->warnings.failed ? base_oom(err) : 0;
	}
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "network", backend,
		   "with backend %s connections cannot be filtered by host", backend);
	return base_hint(
		err,
		"use the backend native or bubblewrap, or --network-mode host, which shares this machine's network");
}

void network_fill_question(const struct airlock_job *job, struct permission_inputs *in)
{
	const struct job_network *n = &job->net;
	in->network = n->asks_open || n->asks_host;
	in->shares_network = n->asks_host || (in->network && !network_has_gate(job));
	in->hosts = (const char *const *)n->asked_hosts.v;
	in->ports = n->publish;
	in->n_ports = n->n_publish;
}

/* ── What is told ── */

const char *airlock_network_mode_name(enum airlock_network_mode mode)
{
	return net_mode_name((enum net_mode)mode);
}
_Static_assert((int)AIRLOCK_NETWORK_MODE_OFF == (int)NET_OFF && (int)AIRLOCK_NETWORK_MODE_HOST == (int)NET_HOST,
	       "the modes have the same numbers");

const char *airlock_host_rule_name(enum airlock_host_rule_kind kind)
{
	static const char *const names[] = {[AIRLOCK_HOST_ALLOW] = "allow",
					    [AIRLOCK_HOST_DENY] = "deny",
					    [AIRLOCK_HOST_ALLOW_PRIVATE] = "allow_private"};
	return names[kind];
}

size_t network_explain(const struct airlock_job *job, struct airlock_host_rule *ret, struct strs *texts)
{
	static const struct {
		enum host_rule_verdict verdict;
		enum airlock_host_rule_kind kind;
	} order[] = {{HOST_RULE_DENY, AIRLOCK_HOST_DENY},
		     {HOST_RULE_ALLOW, AIRLOCK_HOST_ALLOW},
		     {HOST_RULE_PRIVATE, AIRLOCK_HOST_ALLOW_PRIVATE}};
	const struct net_rules *rules = &job->net.rules;
	size_t n = 0;
	for (size_t k = 0; k < AL_ARRAY_LEN(order); k++)
		for (size_t i = 0; i < rules->n; i++) {
			struct buf text = BUF_INIT;
			if (rules->v[i].verdict != order[k].verdict)
				continue;
			host_rule_add(&text, &rules->v[i]);
			strs_take(texts, buf_take(&text));
			ret[n++] = (struct airlock_host_rule){.kind = order[k].kind, .because = rules->v[i].origin};
		}
	for (size_t i = 0; !texts->failed && i < n; i++)
		ret[i].host = texts->v[i];
	return n;
}
