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

/* Everything a decision depends on; borrowed. */
struct denial_scene {
	const struct plan *plan;
	const struct plan_world *world; /* whether something that is not visible is there at all; not for regions */
	/* May the user of this run write to this file, or make and delete names in this directory, outside the sandbox? It
	 * is asked about things that exist. NULL: yes. Not for regions. */
	bool (*may_write)(const char *path);
	/* Could the user of this run do this outside, as far as the machine's settings say? NULL: yes. Not for regions. */
	bool (*may_call)(enum child_seen_op op);
	bool is_root;
	const char *home;	    /* never offered as a whole; NULL: there is none */
	bool in_place;		    /* rules on the host's own view instead of mounts: what no rule grants is refused */
	bool workspace;		    /* a directory is the root inside */
	bool network_refused;	    /* the profile does not even let a run ask for the network */
	const char *network_source; /* who said that the network is off */
	const char *profile_source; /* who is behind what no rule shows: "profile strict" */
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

enum denial_rule { DENIAL_NONE, DENIAL_HIDDEN, DENIAL_NOT_VISIBLE, DENIAL_READ_ONLY, DENIAL_NETWORK_OFF, DENIAL_CALL };

struct denial_verdict {
	enum denial_rule rule; /* DENIAL_NONE: the plan does not refuse it */
	const char *source; /* who set the rule: "file:line", "--hide", "built-in: moderate"; borrowed from the scene */
	const char *region; /* the path it was set for, or NULL; borrowed likewise */
};

struct denial_verdict denial_decide(const struct denial_scene *scene, const struct denial_try *t);

/* Where to look, for the job. The array is the caller's, its strings are the plan's. */
int denial_regions(const struct denial_scene *scene, struct child_region_spec **ret, size_t *ret_n);

struct denial {
	enum child_seen_op op;
	enum denial_rule rule;
	char *path;    /* or NULL */
	char *address; /* "192.0.2.1:443", "[2001:db8::1]:53", "@name", or NULL */
	char *program; /* who made a call that the filter refuses, "gdb"; "" when that is not known; or NULL */
	char *source, *region;
	char *option; /* "allow-write", "ro", "network" …, "nested" for a profile; or NULL: nothing would allow it */
	char *value;  /* what the option takes, or NULL */
	bool is_to_make; /* the directory in value does not exist: somebody has to make it first */
	uint64_t count;
};

struct denials {
	struct denial *v;
	size_t n, cap;
	uint64_t lost; /* more calls than there was room to note */
};

/* The memory file of child/seen.h. Damaged records end the list; they are no error. */
int denials_read(const struct denial_scene *scene, const void *bytes, size_t len, struct denials *ret,
		 struct airlock_error *err);
void denials_done(struct denials *d);

const char *denial_op_name(enum child_seen_op op);   /* "open", "write", "connect" … */
const char *denial_rule_name(enum denial_rule rule); /* "hidden", "read-only" … */

/* "write to /etc/hosts (read-only: built-in: moderate)". Has the bytes of the path as they are: not for a terminal. */
void denial_add_what(const struct denial *d, struct buf *out);
/* "--allow-write /etc"; nothing when nothing would allow it. */
void denial_add_hint(const struct denial *d, struct buf *out);
/* The same for a model: an argument of the tool run_command, about which a person is asked. It never names an option of
 * airlock. */
void denial_add_tool_hint(const struct denial *d, struct buf *out);

enum denial_reader { DENIAL_FOR_PERSON, DENIAL_FOR_AGENT /* without hints: they say how to open the sandbox */ };

struct json;
void denials_print_json(const struct denials *d, enum denial_reader reader, struct json *j, const char *key);

/* A struct sockaddr as text. False when it is none of the families that are noted. */
bool denial_add_address(const void *address, size_t len, struct buf *out);
/* Does it stay in a network namespace of one's own, where somebody inside may serve it? */
bool denial_is_own_address(const void *address, size_t len);
