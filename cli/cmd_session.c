/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/session.h>

#include "change_list.h"
#include "output.h"
#include "waiting.h"

/* The second word of `fork NAME NEW`, `rewind NAME STEP`; NULL: not given. */
static const char *second(const struct invocation *inv)
{
	return inv->more && inv->more[0] ? inv->more[0] : NULL;
}

int cmd_session_new(const struct invocation *inv, struct airlock_error *err)
{
	char *name = NULL;
	int rc = airlock_session_new(inv->settings, inv->operand, &name, err);
	if (rc >= 0 && inv->json)
		(void)printf("{\"session\": \"%s\"}\n", name);
	else if (rc >= 0)
		(void)puts(name);
	airlock_free(name);
	return rc;
}

/* ── Looking ── */

static void print_info(const struct airlock_session_info *i, bool with_project)
{
	(void)printf("%-20s  %-5s  %zu %s", i->name, airlock_session_state_name(i->state), i->steps,
		     i->steps == 1 ? "step" : "steps");
	if (i->held > 0)
		(void)printf(", %s held", change_count(i->held).text);
	if (i->processes > 0)
		(void)printf(", %zu running", i->processes);
	(void)printf("  %s", output_age(i->last_used_ns).text);
	if (with_project) {
		(void)fputs("  ", stdout);
		output_text(stdout, i->project);
	}
	(void)putchar('\n');
}

int cmd_session_list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_sessions *l = NULL;
	bool all = false;
	int rc = arguments_flag(&inv->args, "all", &all, err);
	if (rc >= 0)
		rc = airlock_sessions_open(inv->settings, all, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_sessions_json(l), err);
	else if (rc >= 0) {
		for (size_t i = 0; i < airlock_sessions_count(l); i++)
			print_info(airlock_sessions_at(l, i), all);
		if (airlock_sessions_count(l) + airlock_sessions_damaged_count(l) == 0)
			output_say(all ? "there are no sessions" : "this project has no sessions");
	}
	for (size_t i = 0; rc >= 0 && l && i < airlock_sessions_damaged_count(l); i++) {
		const struct airlock_error *why = &airlock_sessions_damaged_at(l, i)->error;
		if (!inv->json)
			output_error(why);
		rc = airlock_code_exit_status(why->code); /* the others are listed all the same */
	}
	airlock_sessions_free(l);
	return rc;
}

static void print_usage(const char *what, int64_t bytes, int64_t limit)
{
	if (bytes == 0)
		return;
	(void)printf("      %s: %s", what, output_size((uint64_t)bytes).text);
	if (limit >= 0)
		(void)printf(" of %s", output_size((uint64_t)limit).text);
	(void)putchar('\n');
}

static void print_session(const struct airlock_session *session)
{
	const struct airlock_session_usage *usage = airlock_session_usage(session);
	const struct airlock_changes *changes = airlock_session_changes(session);
	const struct airlock_session_info *i = airlock_session_info(session);
	print_info(i, false);
	for (size_t k = 0; k < airlock_session_step_count(session); k++) {
		const struct airlock_session_step *step = airlock_session_step_at(session, k);
		(void)printf("%4" PRIu64 "  %s%s  ", step->number, change_count(step->count).text,
			     step->is_decided ? ", decided" : "");
		output_text(stdout, step->command);
		if (step->exit_code != 0)
			(void)printf("  (exit %d)", step->exit_code);
		(void)putchar('\n');
	}
	for (size_t k = 0; k < airlock_session_process_count(session); k++) {
		const struct airlock_session_process *p = airlock_session_process_at(session, k);
		(void)printf("      running, pid %" PRId64 ", %s: ", p->pid, output_age(p->started_ns).text);
		output_text(stdout, p->command);
		(void)putchar('\n');
	}
	print_usage("written", usage->disk, usage->disk_limit);
	print_usage("/tmp", usage->tmp, usage->tmp_limit);
	if (airlock_changes_count(changes) > 0)
		output_say("%s", change_list_summary(changes).text);
}

int cmd_session_show(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_session *session = NULL;
	waiting_begin("reading");
	int rc = airlock_session_open(inv->settings, inv->operand, &session, err);
	waiting_end();
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_session_json(session), err);
	else if (rc >= 0)
		print_session(session);
	airlock_session_free(session);
	return rc;
}

/* ── Doing ── */

static int read_step(const char *word, uint64_t *ret, struct airlock_error *err)
{
	char *end = NULL;
	errno = 0;
	unsigned long long n = strtoull(word, &end, 10);
	if (errno || end == word || *end || word[0] == '-' || word[0] == '+')
		return output_fail(err, AIRLOCK_ERR_USAGE, "rewind", "STEP must be the number of a step, or 0");
	*ret = n;
	return 0;
}

/* Without STEP the last step goes. */
static int last_but_one(const struct invocation *inv, uint64_t *ret, struct airlock_error *err)
{
	struct airlock_session *session = NULL;
	int rc = airlock_session_open(inv->settings, inv->operand, &session, err);
	if (rc < 0)
		return rc;
	size_t n = airlock_session_step_count(session);
	*ret = n > 1 ? airlock_session_step_at(session, n - 2)->number : 0;
	airlock_session_free(session);
	return n > 0 ? 0
		     : output_fail(err, AIRLOCK_ERR_CONFLICT, "rewind",
				   "the session has no step that could be dropped");
}

int cmd_session_rewind(const struct invocation *inv, struct airlock_error *err)
{
	uint64_t step = 0;
	int rc = second(inv) ? read_step(second(inv), &step, err) : last_but_one(inv, &step, err);
	if (rc >= 0)
		rc = airlock_session_rewind(inv->settings, inv->operand, step, err);
	if (rc >= 0 && inv->json)
		(void)printf("{\"session\": \"%s\", \"step\": %" PRIu64 "}\n", inv->operand, step);
	else if (rc >= 0)
		(void)printf("session %s is back at step %" PRIu64 "\n", inv->operand, step);
	return rc;
}

int cmd_session_fork(const struct invocation *inv, struct airlock_error *err)
{
	if (!second(inv))
		return output_fail(err, AIRLOCK_ERR_USAGE, "fork",
				   "fork needs two names: airlock session fork NAME NEW");
	int rc = airlock_session_fork(inv->settings, inv->operand, second(inv), err);
	if (rc >= 0 && inv->json)
		(void)printf("{\"session\": \"%s\"}\n", second(inv));
	else if (rc >= 0)
		(void)printf("session %s goes on from session %s\n", second(inv), inv->operand);
	return rc;
}

int cmd_session_end(const struct invocation *inv, struct airlock_error *err)
{
	int rc = airlock_session_end(inv->settings, inv->operand, err);
	if (rc >= 0 && inv->json)
		(void)printf("{\"session\": \"%s\", \"state\": \"ended\"}\n", inv->operand);
	else if (rc >= 0)
		(void)printf("session %s is ended; what it holds stays\n", inv->operand);
	return rc;
}

int cmd_session_merge(const struct invocation *inv, struct airlock_error *err)
{
	const char *into = arguments_value(&inv->args, "into", NULL);
	char *conflicts = NULL;
	uint64_t step = 0;
	if (!into)
		return output_fail(err, AIRLOCK_ERR_USAGE, "--into",
				   "name the session that gets the changes: airlock session merge NAME --into OTHER");
	waiting_begin("merging");
	int rc = airlock_session_merge(inv->settings, inv->operand, into, &step, &conflicts, err);
	waiting_end();
	for (const char *line = conflicts; line && *line && !inv->json;) {
		const char *end = strchr(line, '\n');
		output_say("conflict: %.*s", (int)(end - line), line);
		line = end + 1;
	}
	airlock_free(conflicts);
	if (rc >= 0 && inv->json)
		(void)printf("{\"session\": \"%s\", \"step\": %" PRIu64 "}\n", into, step);
	else if (rc >= 0 && step)
		(void)printf("what session %s changed is step %" PRIu64 " of session %s\n", inv->operand, step, into);
	else if (rc >= 0)
		(void)printf("session %s has everything that session %s changed\n", into, inv->operand);
	return rc;
}
