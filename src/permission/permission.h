/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions as values: everything that needs a person's yes for one run, in one question, none hidden.
 *
 *   permission_collect(&in, &q, err);  pure
 *   if (q.n_reasons > 0) ask somebody with permission_text(&q)
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define PERMISSION_MAX_REASONS 4

struct permission_inputs {
	bool network;			   /* wanted, and the policy lets it be asked for */
	const char *const *extra_writable; /* NULL-terminated real paths, may be empty */
	bool unsandboxed;
	const char *unsandboxed_because; /* "--no-sandbox", or why nothing else is available */
	const char *command;		 /* as one shell line; the very bytes that will run */
	const char *working_dir;
};

struct permission_question {
	const char *reasons[PERMISSION_MAX_REASONS + 1]; /* "network", "allow-write", "unsandboxed"; NULL-terminated */
	size_t n_reasons;
	char *text; /* inert; the last line is the question */
	char *command;
	bool one_time_only;
};

int permission_collect(const struct permission_inputs *in, struct permission_question *ret, struct airlock_error *err);
void permission_done(struct permission_question *q);

/* AIRLOCK_ERR_DENIED with the way to grant it. */
int permission_denied(const struct permission_question *q, bool nobody_asked, struct airlock_error *err);
