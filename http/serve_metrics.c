/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "serve_metrics.h"

#include <airlock/airlock.h>

static const double bounds[SERVE_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 300};

void serve_histogram_add(struct serve_histogram *h, double seconds)
{
	size_t i = 0;
	while (i < SERVE_BUCKETS && seconds > bounds[i])
		i++;
	h->counts[i]++;
	h->sum_s += seconds;
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	(void)fprintf(out, "# HELP airlock_%s %s\n# TYPE airlock_%s %s\n", name, help, name, type);
}

static void one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	head(out, name, type, help);
	(void)fprintf(out, "airlock_%s %llu\n", name, (unsigned long long)value);
}

static void histogram(FILE *out, const char *name, const char *help, const struct serve_histogram *h)
{
	uint64_t total = 0;
	head(out, name, "histogram", help);
	for (size_t i = 0; i < SERVE_BUCKETS; i++) {
		total += h->counts[i];
		(void)fprintf(out, "airlock_%s_bucket{le=\"%g\"} %llu\n", name, bounds[i], (unsigned long long)total);
	}
	total += h->counts[SERVE_BUCKETS];
	(void)fprintf(out, "airlock_%s_bucket{le=\"+Inf\"} %llu\nairlock_%s_sum %.6f\nairlock_%s_count %llu\n", name,
		      (unsigned long long)total, name, h->sum_s, name, (unsigned long long)total);
}

static void print_runs(FILE *out, const struct serve_metrics *m)
{
	head(out, "runs_total", "counter", "Commands that ended, by how.");
	for (int i = 0; i < AIRLOCK_RUNNING; i++)
		(void)fprintf(out, "airlock_runs_total{status=\"%s\"} %llu\n", airlock_status_name(i),
			      (unsigned long long)m->runs[i]);
	one(out, "runs_refused_total", "counter", "Commands that could not be started.", m->runs_refused);
	histogram(out, "run_seconds", "How long commands took, from the request to the result.", &m->run_s);
}

static void print_requests(FILE *out, const struct serve_metrics *m)
{
	static const char *const quotas[SERVE_N_QUOTAS] = {"requests", "sandboxes", "disk", "commands"};
	head(out, "requests_total", "counter", "Requests, by the status of the reply; 0: the client hung up.");
	for (unsigned i = 0; i < 600; i++)
		if (m->by_status[i])
			(void)fprintf(out, "airlock_requests_total{status=\"%u\"} %llu\n", i,
				      (unsigned long long)m->by_status[i]);
	histogram(out, "request_seconds", "How long requests took.", &m->request_s);
	head(out, "quota_hits_total", "counter", "Requests refused because a quota was used up.");
	for (int i = 0; i < SERVE_N_QUOTAS; i++)
		(void)fprintf(out, "airlock_quota_hits_total{quota=\"%s\"} %llu\n", quotas[i],
			      (unsigned long long)m->quota_hits[i]);
	one(out, "mcp_messages_total", "counter", "Messages of MCP clients.", m->mcp_messages);
}

void serve_metrics_print(FILE *out, const struct serve_metrics *m, const struct serve_gauges *g)
{
	print_requests(out, m);
	print_runs(out, m);
	one(out, "sandboxes_created_total", "counter", "Sandboxes made.", m->created);
	one(out, "sandboxes_deleted_total", "counter", "Sandboxes deleted, by request or by age.", m->deleted);
	one(out, "sandboxes_rested_total", "counter", "Idle sandboxes whose processes were ended.", m->rested);
	one(out, "pool_hits_total", "counter", "New sandboxes that came from the pool.", m->pool_hits);
	one(out, "pool_misses_total", "counter", "New sandboxes that found the pool empty.", m->pool_misses);
	one(out, "file_bytes_in_total", "counter", "Bytes of files that clients sent.", m->bytes_in);
	one(out, "file_bytes_out_total", "counter", "Bytes of files that clients were sent.", m->bytes_out);
	one(out, "audit_lost_total", "counter", "Lines of the audit file that could not be written.", m->audit_lost);
	one(out, "sandboxes_awake", "gauge", "Sandboxes used lately.", g->sandboxes_awake);
	one(out, "commands_running", "gauge", "Commands that run now.", g->commands_running);
	one(out, "requests_in_flight", "gauge", "Requests without a complete reply.", g->requests_in_flight);
	one(out, "connections", "gauge", "Open connections.", g->connections);
	one(out, "pool", "gauge", "Prepared sandboxes.", g->pool);
	one(out, "tokens", "gauge", "Tokens in the token file.", g->tokens);
	one(out, "draining", "gauge", "1: the server takes no new work.", (uint64_t)g->is_draining);
}
