/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "first_aid.h"

#include <stdbool.h>
#include <string.h>

#include "output.h"

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

void first_aid(const struct airlock_settings *s, const struct airlock_error *failure)
{
	struct airlock_doctor *d = NULL;
	struct airlock_error unused = {0};
	if (!may_be_the_machine(failure->code) || !s)
		return;
	if (airlock_doctor_examine(s, &d, &unused) < 0)
		return;
	if (airlock_doctor_is_news(s, d))
		tell(d);
	airlock_doctor_free(d);
}
