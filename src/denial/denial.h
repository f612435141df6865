/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocked, explained: what a command was refused by its plan, by which rule, and what would allow it.
 *
 *   struct denial_scene scene = {.plan = plan, .world = &world};
 *   denial_regions(&scene, &regions, &n);                 into the job: where the first process looks
 *   …the command runs; the first process notes what it tries there…
 *   denials_read(&scene, bytes, len, &denials, err);      decides about each, and keeps what was refused
 *   denials_print_json(&denials, &json); denials_done(&denials);
 *
 * Observing and deciding are apart: the first says what was tried, the second what the plan, a value, says about it.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "child/program.h"
#include "child/seen.h"
#include "plan/plan.h"

#include <airlock/result.h>

/* Everything a decision depends on; borrowed. */
struct denial_scene {
	const struct plan *plan;
	const struct plan_world *world; /* whether something invisible exists at all; not for regions */
	/* Whether this run's user may write to this file, or make and delete names in this directory, outside the
	 * sandbox. Called for existing paths only. NULL: yes. Not for regions. */
	bool (*may_write)(const char *path);
	/* Whether this run's user could do this outside, as far as the machine's settings say. NULL: yes. Not for
	 * regions. */
	bool (*may_call)(enum child_seen_op op);
	bool is_root;
	const char *home;     /* never offered as a whole; NULL: there is none */
	bool in_place;	      /* rules on the host's own view instead of mounts: what no rule grants is refused */
	bool workspace;	      /* a directory is the root inside */
	bool network_refused; /* the profile does not let a run ask for the network */
	struct airlock_origin network_origin; /* what set the network off */
};

/* One observed call. */
struct denial_try {
	enum child_seen_op op;
	unsigned flags;	      /* CHILD_SEEN_… */
	const char *path;     /* absolute, normal, without symlinks; NULL for an address or a call */
	const char *program;  /* of a call that the filter refuses */
	const void *address;  /* a struct sockaddr */
	size_t address_bytes; /* of it */
};

struct denial_verdict {
	enum airlock_denial_rule rule; /* AIRLOCK_DENIAL_NONE: the plan does not refuse it */
	struct airlock_origin origin;  /* who set the rule; borrowed from the scene */
	const char *region;	       /* the path it was set for, or NULL; borrowed from the scene */
};

struct denial_verdict denial_decide(const struct denial_scene *scene, const struct denial_try *t);

/* The paths to observe, for the job. The caller owns the array, the plan owns its strings. */
bool denial_regions(const struct denial_scene *scene, struct child_region **ret, size_t *ret_n);

struct denials {
	struct airlock_denial *v; /* the list owns all strings in them but names of origins, which are the plan's */
	size_t n, cap;
	uint64_t lost; /* more calls than could be recorded */
};

/* The memory file of child/seen.h. A damaged record ends the list without an error. */
int denials_read(const struct denial_scene *scene, const void *bytes, size_t len, struct denials *ret,
		 struct airlock_error *err);
void denials_done(struct denials *d);

/* "write to /etc/hosts (read-only: built-in: moderate)". Contains the raw bytes of the path: not for a terminal. */
void denial_add_what(const struct airlock_denial *d, struct buf *out);
/* "--allow-write /etc"; empty if nothing would allow it. */
void denial_add_hint(const struct airlock_denial *d, struct buf *out);

enum denial_reader { DENIAL_FOR_PERSON, DENIAL_FOR_AGENT /* without hints: they say how to open the sandbox */ };

struct json;
void denials_print_json(const struct denials *d, enum denial_reader reader, struct json *j, const char *key);

/* A struct sockaddr as text. False if its family is not recorded. */
bool denial_add_address(const void *address, size_t len, struct buf *out);
/* True if it stays in the sandbox's own network namespace, where a process inside may serve it. */
bool denial_is_own_address(const void *address, size_t len);
