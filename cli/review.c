/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "review.h"

#include <stdlib.h>

#include "output.h"
#include "run_report.h"
#include "review_act.h"
#include "review_lines.h"
#include "review_list.h"
#include "screen.h"

/* The present state. */
static void tell(const struct review *r)
{
	struct airlock_changes *now = NULL;
	struct airlock_error err = {0};
	if (airlock_changes_open(r->settings, airlock_changes_run(r->changes), &now, &err) < 0)
		output_error(&err);
	else
		report_headline(now, false);
	airlock_changes_free(now);
}

/* A list, or lines if it cannot be shown. */
static void decide(struct review *r)
{
	struct airlock_error err = {0};
	bool is_list = screen_is_possible();
	if (is_list && review_list(r, &err) < 0) {
		output_error(&err);
		is_list = false;
	}
	if (!is_list)
		review_lines(r);
}

static int find_waiting(struct review *r, struct airlock_error *err)
{
	size_t n = airlock_changes_count(r->changes);
	r->waiting = calloc(n + 1, sizeof *r->waiting);
	r->n = 0;
	if (!r->waiting)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (review_waits(airlock_changes_at(r->changes, i)))
			r->waiting[r->n++] = airlock_changes_at(r->changes, i);
	return 0;
}

static void forget(struct review *r)
{
	free(r->waiting);
	airlock_changes_free(r->changes);
	r->waiting = NULL;
	r->changes = NULL;
}

/* 1: no change is held. */
static int decide_about(struct review *r, const char *run, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_open(r->settings, run, &changes, err);
	if (rc < 0)
		return rc;
	forget(r); /* not earlier: run may point into it */
	r->changes = changes;
	r->goes_on = false;
	rc = find_waiting(r, err);
	if (rc == 0 && r->n == 0)
		rc = 1;
	else if (rc == 0)
		decide(r);
	return rc;
}

int review(const struct airlock_settings *s, const char *run, struct airlock_error *err)
{
	struct review r = {.settings = s};
	int rc = decide_about(&r, run, err);
	bool was_shown = rc == 0;
	while (rc == 0 && r.goes_on)
		rc = decide_about(&r, airlock_changes_run(r.changes), err);
	if (was_shown && rc >= 0) {
		tell(&r);
		*err = r.failure;
		rc = r.failure.code;
	}
	forget(&r);
	return rc;
}
