/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/history.h>

#include "change_list.h"
#include "output.h"

static int read_limit(const struct invocation *inv, int64_t *ret, struct airlock_error *err)
{
	const char *text = arguments_value(&inv->args, "limit", NULL);
	char *end = NULL;
	*ret = -1;
	if (!text)
		return 0;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0 || text[0] < '0' || text[0] > '9')
		return output_fail(err, AIRLOCK_ERR_USAGE, text, "-n takes a number, not '%s'", text);
	*ret = n;
	return 0;
}

static int verify(const struct invocation *inv, struct airlock_error *err)
{
	static const char *const words[] = {[AIRLOCK_AUDIT_NOT_WHOLE] = "is not whole",
					    [AIRLOCK_AUDIT_OUT_OF_PLACE] = "is missing or not in its place",
					    [AIRLOCK_AUDIT_CHANGED] = "was changed after it was written",
					    [AIRLOCK_AUDIT_BEGINNING] = "(before the first) was changed",
					    [AIRLOCK_AUDIT_MISSING] = "was written and is missing"};
	struct airlock_audit *a = NULL;
	int rc = airlock_audit_verify(inv->settings, &a, err);
	if (rc < 0)
		return rc;
	size_t n = airlock_audit_count(a);
	if (n > 0)
		output_say("the audit file was changed after airlock wrote it");
	else if (inv->json)
		rc = output_json(airlock_audit_json(a), err);
	else
		(void)printf("%" PRIu64 " lines, all as they were written\n", airlock_audit_lines(a));
	for (size_t i = 0; i < n; i++) {
		const struct airlock_audit_fault *f = airlock_audit_at(a, i);
		(void)fprintf(stderr, "%s: line %" PRId64 " %s\n", f->file, f->line, words[f->kind]);
	}
	airlock_audit_free(a);
	return n > 0 ? output_fail(err, AIRLOCK_ERR_CORRUPT, "audit", "%zu change%s found in the audit file", n,
				   n == 1 ? "" : "s")
		     : rc;
}

/* The words about a run, each in its column: when, how it ended, what became of its changes, its session. */
struct row {
	char cells[4][160];
};
#define N_CELLS (sizeof(struct row) / sizeof((struct row *)0)->cells[0])

/* "2 held, 1 discarded", as `airlock changes` sums it up. Only a run of which something waits can have several states that its
 * one word does not tell. */
static bool add_states(const struct airlock_settings *s, const struct airlock_past_run *r, char *out, size_t size)
{
	struct airlock_changes *c = NULL;
	bool waits = r->changes_state == AIRLOCK_CHANGES_HELD || r->changes_state == AIRLOCK_CHANGES_PARTIAL;
	if (!waits || airlock_changes_open(s, r->id, &c, NULL) < 0)
		return false;
	(void)snprintf(out, size, "%s", change_list_summary(c).text);
	airlock_changes_free(c);
	return *out;
}

static void fill_row(const struct airlock_settings *s, const struct airlock_past_run *r, struct row *ret)
{
	const size_t size = sizeof ret->cells[0];
	(void)snprintf(ret->cells[0], size, "%s", output_age(r->started_ns).text);
	int n = snprintf(ret->cells[1], size, "%s", airlock_status_name(r->status));
	if (r->exit_code > 0)
		(void)snprintf(ret->cells[1] + n, size - (size_t)n, " %d", r->exit_code);
	if (r->session && r->step)
		(void)snprintf(ret->cells[3], size, "%s, step %" PRIu64, r->session, r->step);
	else if (r->session)
		(void)snprintf(ret->cells[3], size, "%s", r->session);
	if (add_states(s, r, ret->cells[2], size))
		return;
	const char *state = airlock_changes_state_name(r->changes_state);
	if (r->change_count > 0)
		(void)snprintf(ret->cells[2], size, "%zu %s", r->change_count, state);
	else
		(void)snprintf(ret->cells[2], size, "%s", r->changes_state == AIRLOCK_CHANGES_DIRECT ? state : "-");
}

static void write_lines(const struct airlock_log *l, const struct row *rows, FILE *out)
{
	size_t widths[N_CELLS] = {0}, n = airlock_log_count(l);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < N_CELLS; k++)
			widths[k] = strlen(rows[i].cells[k]) > widths[k] ? strlen(rows[i].cells[k]) : widths[k];
	for (size_t i = 0; i < n; i++) {
		(void)fprintf(out, "%s  ", airlock_log_at(l, i)->id);
		for (size_t k = 0; k < N_CELLS; k++)
			if (widths[k] > 0) /* without sessions there is no column for them */
				(void)fprintf(out, "%-*s  ", (int)widths[k], rows[i].cells[k]);
		output_text(out, airlock_log_at(l, i)->command);
		(void)fputc('\n', out);
	}
}

/* is_here: nobody said whose runs. */
static int print_log(const struct invocation *inv, const struct airlock_log *l, bool is_here, struct airlock_error *err)
{
	char *text = NULL;
	size_t len = 0, n = airlock_log_count(l);
	struct row *rows = calloc(n + 1, sizeof *rows);
	FILE *out = rows ? open_memstream(&text, &len) : NULL;
	for (size_t i = 0; out && i < n; i++)
		fill_row(inv->settings, airlock_log_at(l, i), &rows[i]);
	if (out)
		write_lines(l, rows, out);
	bool ok = out && fclose(out) == 0;
	if (n == 0)
		output_say("no runs yet");
	else if (is_here && airlock_log_is_of_all(l))
		output_say("no runs of this project: these are the runs of all projects");
	if (ok)
		output_list(text);
	free(rows);
	free(text);
	return ok ? 0 : output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
}

int cmd_log(const struct invocation *inv, struct airlock_error *err)
{
	bool wants_verify = false, wants_all = false;
	int64_t limit;
	struct airlock_log *l = NULL;
	int rc = arguments_flag(&inv->args, "verify", &wants_verify, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "all", &wants_all, err);
	if (rc >= 0)
		rc = read_limit(inv, &limit, err);
	if (rc < 0)
		return rc;
	if (wants_verify)
		return verify(inv, err);
	bool is_here = !wants_all && !arguments_value(&inv->args, "project", NULL);
	rc = airlock_log_open(inv->settings, is_here ? AIRLOCK_LOG_HERE : AIRLOCK_LOG_NAMED, limit, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_log_json(l), err);
	else if (rc >= 0)
		rc = print_log(inv, l, is_here, err);
	airlock_log_free(l);
	return rc;
}
