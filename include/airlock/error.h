/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors of libairlock.
 *
 *   struct airlock_error err = {0};
 *   if (airlock_job_prepare(s, &job, &err) < 0)
 *           fprintf(stderr, "%s (%s)\n", err.message, airlock_code_slug(err.code));
 *
 * Every function that can fail returns a negative `enum airlock_code` and fills the caller's struct; nothing is allocated,
 * so out of memory is an error like any other. `err` may be NULL. A struct that holds an error keeps it: after a chain of
 * calls it has the first one. Clear it (code 0 is enough) before it is used again.
 */
#ifndef AIRLOCK_ERROR_H
#define AIRLOCK_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* All below -4095, where the kernel's numbers end: a code cannot be taken for a negative errno. */
enum airlock_code {
	AIRLOCK_OK = 0,
	AIRLOCK_ERR_USAGE = -5001,	 /* the caller's words are wrong: an unknown option, a missing argument */
	AIRLOCK_ERR_INVALID = -5002,	 /* a value, file or path that cannot be used as it is */
	AIRLOCK_ERR_NOT_FOUND = -5003,	 /* a named thing does not exist */
	AIRLOCK_ERR_UNAVAILABLE = -5004, /* this machine cannot give the isolation that was asked for */
	AIRLOCK_ERR_INIT_FAILED = -5005, /* setting the sandbox up failed */
	AIRLOCK_ERR_BLOCKED = -5006,	 /* the policy forbids it: op is the action, subject the resource */
	AIRLOCK_ERR_DENIED = -5007,	 /* a person, or nobody there to ask, said no */
	AIRLOCK_ERR_TIMEOUT = -5008,	 /* the time limit ran out */
	AIRLOCK_ERR_CONFLICT = -5009,	 /* somebody else changed the same path */
	AIRLOCK_ERR_BUSY = -5010,	 /* another airlock holds the lock */
	AIRLOCK_ERR_LIMIT = -5011,	 /* too large, too many, or a limit that cannot be enforced */
	AIRLOCK_ERR_CORRUPT = -5012,	 /* a file of our own is damaged */
	AIRLOCK_ERR_IO = -5013,		 /* the system refused a call */
	AIRLOCK_ERR_INTERNAL = -5014,	 /* a bug, or out of memory */
};

struct airlock_error {
	int code;	    /* enum airlock_code */
	int errnum;	    /* errno of the call that failed, 0 when none did */
	char op[32];	    /* what was tried: "openat2", "parse", "exec" */
	char subject[1024]; /* what it was tried on: a path, a key, a file:line:column */
	char message[1536]; /* one sentence for a person; names the subject */
	char hint[512];	    /* the way out, or "" */
};

/* The word for a code in JSON ("not_found"), and the exit status `airlock run` gives it. Never NULL, lives for ever. */
const char *airlock_code_slug(int code);
int airlock_code_exit_status(int code);
/* JSON-RPC error code for servers. */
int airlock_code_jsonrpc(int code);
/* What such an error means in general, one sentence. Lives for ever. */
const char *airlock_code_meaning(int code);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
