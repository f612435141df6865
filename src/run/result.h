/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a run ended, as one value, and the one function that makes the JSON of the contract from it.
 *
 * A new member of the result is a field here or in include/airlock/result.h, one line in result_add_json, one in the schema of
 * mcp/catalog.c, one in bindings/python/airlock/results.py and one in airlock-run(1); tests/integration/result_fields.bats
 * names what was forgotten. */
#pragma once

#include "denial/denial.h"
#include "run/run.h"

struct json;

struct result {
	const char *run;	      /* NULL: it could not start */
	const struct airlock_run *of; /* for its network; NULL: there was no process */
	enum airlock_status status;
	int exit_code, signal;
	int64_t duration_us;
	const struct capture *out, *err; /* NULL: there was no process */
	const char *working_dir;	 /* or NULL */
	const char *session;		 /* NULL: none */
	uint64_t step;			 /* 0: it changed nothing, or stands apart */
	uint64_t background;		 /* processes of the session that go on */
	/* NULL: there was no process. */
	const struct airlock_isolation *isolation;
	const struct airlock_usage *usage;
	const struct denials *denials; /* NULL: not looked at */
	enum denial_reader reader;
	const char *denials_note;  /* why not, where they were wanted; or NULL */
	const struct notes *notes; /* or NULL: none */
	const struct airlock_error *error;
};

/* The result of a run that has ended. Lives as long as the run. */
struct result result_of_run(const struct airlock_run *run);
/* Its members, without output and changes: for the record, which has those elsewhere. */
void result_add_json(const struct result *r, struct json *j);
