/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The audit file: <state>/audit/audit.jsonl, one JSON object a line, only ever appended to.
 *
 *   {"number":12,"previous":"<SHA-256 of line 11>","time":"…","event":"run",…}
 *
 * A line that is changed, removed or put in breaks the chain from there on. Lines cut off the end are missed because the
 * database remembers the last one. A file that has grown large is renamed to audit-<number of its last line>.jsonl, and
 * the chain goes on in a new one.
 */
#pragma once

#include "store/store.h"

#include <airlock/history.h>

/* members: JSON members as in an object, starting with "event". Adds the new end to the news (inbox.h) for the
 * database. */
int audit_append(const char *state_dir, const char *members, struct buf *news, struct airlock_error *err);

struct audit_report {
	struct airlock_audit_fault *v; /* empty: everything is as it was written */
	size_t n, cap;
	struct strs files; /* behind v */
	uint64_t lines;
};
/* The store (may be NULL) is one that was opened for the history. */
int audit_verify(const char *state_dir, struct store *store, struct audit_report *ret, struct airlock_error *err);
void audit_report_done(struct audit_report *r);
#define _cleanup_report_ _cleanup_(audit_report_done)

/* For tests: another size for rotation. */
int audit_append_rotating(const char *state_dir, const char *members, struct buf *news, int64_t rotate_at,
			  struct airlock_error *err);
