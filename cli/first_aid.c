/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "first_aid.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "agent_sandbox.h"

static bool is_failed(const struct airlock_check *c)
{
	return c->status == AIRLOCK_CHECK_FAILED;
}

/* One fix often helps against several problems. */
static bool was_said(const struct airlock_doctor *d, size_t before, const char *fix)
{
	for (size_t i = 0; i < before; i++) {
		const struct airlock_check *c = airlock_doctor_check(d, i);
		if (is_failed(c) && strcmp(c->fix, fix) == 0)
			return true;
	}
	return false;
}

static void tell(const struct airlock_doctor *d)
{
	output_say("airlock doctor tested this machine:");
	for (size_t i = 0; i < airlock_doctor_count(d); i++) {
		const struct airlock_check *c = airlock_doctor_check(d, i);
		if (!is_failed(c))
			continue;
		output_say("  %s: %s", c->name, c->detail);
		if (*c->fix && !was_said(d, i, c->fix))
			output_say("    fix: %s", c->fix);
	}
}

/* AIRLOCK_ERR_IO: a state directory that is not writable looks like that. */
static bool may_be_the_machine(int code)
{
	return code == AIRLOCK_ERR_UNAVAILABLE || code == AIRLOCK_ERR_INIT_FAILED || code == AIRLOCK_ERR_IO;
}

static bool is_ours_to_explain(const struct airlock_error *failure)
{
	bool is_nested = strcmp(failure->op, "nested") == 0; /* the machine is as it should be */
	return may_be_the_machine(failure->code) && !is_nested;
}

/* Processes of outside cannot be seen from another sandbox, the agent neither. */
bool first_aid_around(const struct airlock_error *failure)
{
	const char *outer = agent_sandbox_around();
	bool is_blind = failure->code == AIRLOCK_ERR_NOT_FOUND && strcmp(failure->op, "end-with") == 0;
	if (!outer || (!is_ours_to_explain(failure) && !is_blind))
		return false;
	output_say("nothing ran: %s has put this command into its own sandbox, in which airlock cannot make one; "
		   "a person must switch one of the two off",
		   outer);
	return true;
}

void first_aid(const struct airlock_settings *s, const struct airlock_error *failure)
{
	struct airlock_doctor *d = NULL;
	struct airlock_error unused = {0};
	if (!is_ours_to_explain(failure) || !s)
		return;
	if (airlock_settings_is_agent(s)) {
		/* A model gets no advice on changing the machine. The person finds it with airlock doctor. */
		output_say("nothing ran: airlock cannot make its sandbox here; a person must look at airlock doctor");
		return;
	}
	if (airlock_doctor_examine(s, &d, &unused) < 0)
		return;
	if (airlock_doctor_is_news(s, d))
		tell(d);
	airlock_doctor_free(d);
}
