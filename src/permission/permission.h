/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions as values: everything that needs a person's yes for one run, in one question, none hidden.
 *
 *   permission_collect(&in, &q, err);  pure
 *   if (q.n_reasons > 0) ask somebody with q.text, offering q.choices
 *   if (permission_is_choice(&q, answer) && permission_allows(answer)) go on
 *
 * Only a question whose one reason is a missing sandbox, about a simple command, may be remembered: its key is made of
 * the very bytes that run, the directory, the project and the profile. A question that is only about links is about the
 * project, not the command: its key is made of the links and their targets. Every other question is asked each time and has
 * a key that no other question ever has.
 */
#pragma once

#include "airlock/airlock.h"
#include "base/buf.h"
#include "base/error.h"
#include "permission/command_shape.h"

#define PERMISSION_MAX_REASONS 6
#define PERMISSION_MAX_CHOICES 6
#define PERMISSION_MAX_LINKS 16 /* in one question: all of them are shown */

/* A symlink of the project that leads out. */
struct permission_link {
	const char *path;   /* relative to the project, or absolute */
	const char *target; /* the directory it leads to */
	const char *before; /* what it led to when it was allowed; NULL: it never was */
};

/* A port of the command, and where programs on this machine find it. */
struct permission_port {
	unsigned host_port, port;
};

struct permission_inputs {
	bool network;			     /* requested, and the policy lets a run ask for it */
	bool shares_network;		     /* … the machine's own; otherwise every public host, through the gate */
	const char *const *hosts;	     /* NULL-terminated rules for hosts; NULL: none */
	const struct permission_port *ports; /* to be published */
	size_t n_ports;
	bool abstract_sockets;		     /* granting it opens the host's too */
	const char *const *extra_writable;   /* NULL-terminated real paths, may be empty */
	const struct permission_link *links; /* at most PERMISSION_MAX_LINKS */
	size_t n_links;
	bool unsandboxed;
	const char *unsandboxed_because; /* "--no-sandbox", or why nothing else is available */
	const char *command;		 /* as one shell line; exactly the bytes that will run */
	const char *const *argv;	 /* what is executed; NULL-terminated */
	const char *working_dir;
	const char *project;
	const char *profile;
	const char *nonce; /* unique for every question; for keys that must not repeat */
};

struct permission_question {
	enum airlock_question_reason reasons[PERMISSION_MAX_REASONS];
	size_t n_reasons;
	char *text; /* escaped; the last line is the question */
	char *command, *working_dir, *project, *profile;
	char *session; /* of changes: the session they belong to; NULL: none */
	struct strs paths;
	char *key;
	char *grant_command; /* the command line with which a person grants it */
	enum command_shape shape;
	bool one_time_only;
	bool is_optional; /* only about links: a no does not stop the run, and answers are stored with the project */
	enum airlock_answer choices[PERMISSION_MAX_CHOICES];
	size_t n_choices;
};

int permission_collect(const struct permission_inputs *in, struct permission_question *ret, struct airlock_error *err);

/* "Apply these too?": the question about changes that a person must decide about. Lists are escaped, one change a
 * line. */
struct permission_apply {
	const char *run;	  /* its id */
	const char *session;	  /* whose changes they are; NULL: the run's */
	const char *project;	  /* the directory; NULL: not known */
	const char *sensitive;	  /* files that other programs run or obey; "" if there are none */
	const char *held;	  /* the mode held them, and an agent wants to apply them; "" if there are none */
	const char *const *paths; /* as the caller named them; NULL: all of the run */
	const char *nonce;
};
int permission_about_apply(const struct permission_apply *in, struct permission_question *ret,
			   struct airlock_error *err);
/* A running command connects to a host that no rule decides about. */
struct permission_host {
	const char *host; /* normalized name, or address */
	unsigned port;
	unsigned connections; /* how many wait for the answer */
	const char *command, *working_dir, *project, *profile, *nonce;
};
int permission_about_host(const struct permission_host *in, struct permission_question *ret, struct airlock_error *err);
void permission_done(struct permission_question *q);

/* The question for the public API; borrows from q. */
struct airlock_question permission_show(const struct permission_question *q);

/* The reason of that name (airlock_question_reason_name). False: there is none. */
bool permission_parse_reason(const char *name, enum airlock_question_reason *ret);

bool permission_is_choice(const struct permission_question *q, enum airlock_answer answer);
bool permission_allows(enum airlock_answer answer);
/* "once", "session" or "always". */
const char *permission_scope(enum airlock_answer answer);

/* Why nobody said yes. */
enum permission_refusal {
	PERMISSION_SAID_NO,
	PERMISSION_NOBODY_TO_ASK,
	PERMISSION_AGENT,   /* an agent wants it, and nobody was asked whom the agent could not impersonate */
	PERMISSION_IGNORED, /* an agent wants it, a person was asked, and nobody answered */
};
/* AIRLOCK_ERR_DENIED; if a person reads it, with the way to grant it. */
int permission_denied(const struct permission_question *q, enum permission_refusal why, struct airlock_error *err);
