/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The links of a job's project that no person has allowed: what is asked about them, what an answer does, what is said. */
#pragma once

#include "run/job.h"

#include <airlock/job.h>

struct json;

/* Fills ret with the links to ask about, at most max; borrowed from the job. The others wait for the next run. */
size_t links_to_ask(const struct airlock_job *job, struct permission_link *ret, size_t max);

/* The answer to a question that was, among other things, about links: remembered with the project when it is for good, and
 * with a yes the plan is made anew. */
int links_take_answer(struct airlock_job *job, enum airlock_answer answer, struct airlock_error *err);

/* One sentence about all that were not allowed, onto notes; nothing when there are none. Names no command line: a model may
 * read it. */
void links_note(const struct airlock_job *job, struct notes *notes);

/* What is behind a link for this run, all but `because`; and the member "links" of explain's JSON. */
struct airlock_job_link links_show(const struct airlock_job *job, const struct project_link *l);
void links_json(const struct project *project, struct json *j);

/* The reason of a refused link in words: "it is outside the home directory". */
void links_add_because(const struct project_link *l, struct buf *out);
