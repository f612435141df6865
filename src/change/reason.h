/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a change is not simply applied: values while they are kept and compared, a sentence only where somebody reads it.
 *
 *   change_reason_set(c, change_reason_of(AIRLOCK_REASON_EDITED))     somebody else changed it
 *   change_reason_drop(c, REASON_CONFLICT)                            they changed it back
 *
 * A change has at most one reason of each class; they do not know of each other.
 */
#pragma once

#include "change/change.h"

/* In the order in which they are told. */
enum reason_class {
	REASON_CONFLICT, /* somebody else changed it: checked again at every apply and undo */
	REASON_WAITING,	 /* the run or another change failed: dropped once it is applied */
	REASON_CONTENT,	 /* its content is sensitive (set by the gate), or it is no file (set by the scan) */
	REASON_ADJUSTED, /* what is left out when it is applied */
};

/* Copies r and takes the place of the one of its class. 0 or -ENOMEM. */
int change_reason_set(struct change *c, const struct airlock_reason *r);
void change_reason_drop(struct change *c, enum reason_class class);
/* Its code, or AIRLOCK_REASON_NONE. */
enum airlock_reason_code change_reason_code(const struct change *c, enum reason_class class);
/* Sets the reason why a change waits, unless it has a reason of its own to be held. 0 or -ENOMEM. */
int change_reason_wait(struct change *c, enum airlock_reason_code code);
/* The same for every change of the set that is held. */
int change_set_wait(struct change_set *set, enum airlock_reason_code code);

/* Sensitive only together with another change: AIRLOCK_REASON_APPLIED_WHOLE. */
bool change_is_follower(const struct change *c);

/* A reason without arguments. Lives for ever. */
const struct airlock_reason *change_reason_of(enum airlock_reason_code code);
/* Takes nothing; copies the strings. 0 or -ENOMEM. */
int change_reason_copy(const struct airlock_reason *from, struct airlock_reason *ret);
void change_reason_done(struct airlock_reason *r);

/* What airlock_reason_name gave; false: there is none of this name. */
bool change_reason_by_name(const char *name, size_t len, enum airlock_reason_code *ret);

/* ── Words ── */

void change_reason_add_text(struct buf *out, const struct airlock_reason *r);
void change_reasons_add_text(struct buf *out, const struct airlock_reason *v, size_t n); /* all as one sentence */
/* "reason", that sentence, and "reason_code", the name of the first; both null for none. */
struct json;
void change_reasons_add_json(struct json *j, const struct airlock_reason *v, size_t n);
/* "PATH: why" as AIRLOCK_ERR_CONFLICT of verb. */
int change_reason_refuse(struct airlock_error *err, const char *verb, const char *path, const struct airlock_reason *r);
/* Reads the sentence that records of version 1 had in place of reasons. 0 or -ENOMEM. */
int change_reason_read_sentence(struct change *c, const char *text);
