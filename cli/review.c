/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "review.h"

#include "change_list.h"
#include "output.h"
#include "report.h"
#include "review_act.h"
#include "review_lines.h"
#include "review_list.h"
#include "screen.h"

/* How things stand now. */
static void tell(const struct review *r)
{
	struct change_list now = {0};
	struct airlock_error err = {0};
	if (change_list_load(r->settings, r->list.run, &now, &err) < 0)
		output_error(&err);
	else
		report_headline(now.run, &now, NULL, false);
	change_list_done(&now);
}

/* A list, or lines where it cannot be shown. */
static void decide(struct review *r, char *text)
{
	struct airlock_error err = {0};
	int rc = change_list_read_lines(&r->list, text, &err);
	change_list_keep_waiting(&r->list, text);
	bool is_list = rc >= 0 && screen_is_possible();
	if (is_list && review_list(r, &err) < 0) {
		output_error(&err);
		is_list = false;
	}
	if (!is_list)
		review_lines(r, text);
}

/* 1: nothing waits. */
static int decide_about(struct review *r, const char *run, struct airlock_error *err)
{
	struct change_list list = {0};
	char *text = NULL;
	int rc = change_list_load(r->settings, run, &list, err);
	change_list_done(&r->list); /* not earlier: run may lie in it */
	r->list = list;
	r->goes_on = false;
	if (rc >= 0 && change_list_count(&r->list, "held") + change_list_count(&r->list, "conflict") == 0)
		rc = 1;
	else if (rc >= 0)
		rc = airlock_changes_show(r->settings, r->list.run, false, &text, err);
	if (rc == 0)
		decide(r, text);
	airlock_free(text);
	return rc;
}

int review(const struct airlock_settings *s, const char *run, struct airlock_error *err)
{
	struct review r = {.settings = s};
	int rc = decide_about(&r, run, err);
	bool was_shown = rc == 0;
	while (rc == 0 && r.goes_on)
		rc = decide_about(&r, r.list.run, err);
	if (was_shown && rc >= 0) {
		tell(&r);
		*err = r.failure;
		rc = r.failure.code;
	}
	change_list_done(&r.list);
	return rc;
}
