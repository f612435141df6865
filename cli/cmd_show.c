/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/history.h>
#include <airlock/session.h>

#include "output.h"
#include "words/change_lines.h"

/* Nothing for an empty value. */
static void print_line(const char *label, const char *value)
{
	if (!value || !*value)
		return;
	(void)printf("%-12s ", label);
	output_text(stdout, value);
	(void)putchar('\n');
}

static void print_run(const struct airlock_past_run *r)
{
	char result[128], started[96];
	const char *status = airlock_status_name(r->status);
	(void)snprintf(result, sizeof result, r->exit_code < 0 ? "%s" : "%s, exit status %d", status, r->exit_code);
	(void)snprintf(started, sizeof started, "%s, %s", output_time(r->started_ns).text,
		       output_age(r->started_ns).text);
	print_line("run", r->id);
	print_line("command", r->command);
	print_line("project", r->project);
	print_line("directory", r->working_dir);
	print_line("started", started);
	print_line("asked by", r->asked_by);
	print_line("result", result);
	if (r->session && r->step)
		(void)snprintf(result, sizeof result, "%s, step %" PRIu64, r->session, r->step);
	print_line("session", r->session && r->step ? result : r->session);
}

static void print_isolation(const struct airlock_isolation *i)
{
	(void)printf("%-12s backend %s, profile ", "isolation", i->backend);
	output_text(stdout, i->profile ? i->profile : "?");
	(void)printf(", filesystem %s, network %s, processes %s, syscalls %s, limits %s, capture %s",
		     airlock_grade_name(i->filesystem), airlock_network_name(i->network),
		     airlock_grade_name(i->processes), airlock_grade_name(i->syscalls), airlock_grade_name(i->limits),
		     airlock_capture_name(i->capture));
	if (i->capture_because) {
		(void)fputs(", capture_because ", stdout);
		output_text(stdout, i->capture_because);
	}
	(void)putchar('\n');
}

static void print_usage(const struct airlock_usage *u)
{
	const char *limit = airlock_limit_name(u->limit_hit);
	(void)printf("%-12s processor %s, memory %s%s%s\n", "used", output_duration((u->cpu_us + 500) / 1000).text,
		     output_size((uint64_t)u->max_rss_kb * 1024).text, limit ? ", limit that was hit: " : "",
		     limit ? limit : "");
}

static void print_hosts(const struct airlock_history *h)
{
	const struct airlock_host *host;
	for (size_t i = 0; (host = airlock_history_host(h, i)); i++) {
		bool is_v6 = strchr(host->host, ':') != NULL;
		(void)printf("%-12s %s%s%s:%u %s by ", "host", is_v6 ? "[" : "", host->host, is_v6 ? "]" : "",
			     host->port, host->is_allowed ? "allowed" : "denied");
		output_text(stdout, host->by_text);
		(void)printf(", connections %llu, sent %s, ", (unsigned long long)host->connections,
			     output_size(host->bytes_out).text);
		(void)printf("received %s\n", output_size(host->bytes_in).text);
	}
}

static void print_denials(const struct airlock_history *h)
{
	const struct airlock_past_denial *d;
	for (size_t i = 0; (d = airlock_history_denial(h, i)); i++) {
		(void)printf("%-12s ", "blocked");
		output_text(stdout, d->text);
		(void)fputs(d->hint ? "; to allow: " : "", stdout);
		output_text(stdout, d->hint ? d->hint : "");
		(void)putchar('\n');
	}
}

static void print_questions(const struct airlock_history *h)
{
	const struct airlock_past_question *q;
	for (size_t i = 0; (q = airlock_history_question(h, i)); i++) {
		const char *last = strrchr(q->text, '\n');
		(void)printf("%-12s ", "asked");
		output_text(stdout, last ? last + 1 : q->text);
		(void)printf(" %s\n", q->answer);
		print_line("to allow", q->grant);
	}
}

/* Prints only the values that somebody has set: the manual lists the profile's own. */
static void print_values(const struct airlock_history *h)
{
	const struct airlock_config_value *v;
	for (size_t i = 0; (v = airlock_history_value(h, i)); i++) {
		if (v->origin.kind == AIRLOCK_ORIGIN_BUILTIN)
			continue;
		(void)printf("%-12s %s = ", "", v->key);
		output_text(stdout, v->toml);
		(void)fputs("    # ", stdout);
		output_origin(stdout, &v->origin);
		(void)putchar('\n');
	}
}

static void print_history(const struct airlock_history *h)
{
	print_run(airlock_history_run(h));
	print_line("error", airlock_history_error(h)->message);
	if (airlock_history_isolation(h))
		print_isolation(airlock_history_isolation(h));
	if (airlock_history_usage(h))
		print_usage(airlock_history_usage(h));
	print_hosts(h);
	print_denials(h);
	print_questions(h);
	print_line("profile", airlock_history_profile(h));
	print_values(h);
	print_line("changes", airlock_changes_state_name(airlock_history_run(h)->changes_state));
	char *lines = airlock_history_changes(h) ? change_lines(airlock_history_changes(h), NULL) : NULL;
	(void)fputs(lines ? lines : "", stdout);
	free(lines);
}

int cmd_show(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_history *h = NULL;
	if (airlock_session_exists(inv->settings, inv->operand))
		return cmd_session_show(inv, err);
	int rc = airlock_history_open(inv->settings, inv->operand, &h, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_history_json(h), err);
	else if (rc >= 0)
		print_history(h);
	airlock_history_free(h);
	return rc;
}
