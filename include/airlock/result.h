/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a run ended, as values; only once airlock_run_dispatch has returned 0.
 *
 *   const struct airlock_isolation *isolation = airlock_run_isolation(run);
 *
 *   if (isolation->filesystem != AIRLOCK_GRADE_ENFORCED)
 *           fprintf(stderr, "%s protects files only in part\n", isolation->backend);
 *   for (size_t i = 0; i < airlock_run_denial_count(run); i++)
 *           puts(airlock_denial_rule_name(airlock_run_denial(run, i)->rule));
 *
 * What it changed is in changes.h. Everything handed out lives as long as the run.
 */
#ifndef AIRLOCK_RESULT_H
#define AIRLOCK_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>
#include <airlock/origin.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── What was really in force ── */

enum airlock_grade { AIRLOCK_GRADE_NONE, AIRLOCK_GRADE_PARTIAL, AIRLOCK_GRADE_ENFORCED };
enum airlock_network {
	AIRLOCK_NETWORK_NONE, /* nothing keeps the command from it */
	AIRLOCK_NETWORK_BLOCKED,
	AIRLOCK_NETWORK_ALLOWED,  /* every public host, through the gate */
	AIRLOCK_NETWORK_FILTERED, /* the hosts that rules and answers allow */
	AIRLOCK_NETWORK_HOST,	  /* it shares the machine's network */
};
/* How changes are captured. */
enum airlock_capture {
	AIRLOCK_CAPTURE_NONE, /* not at all: the command writes to the project directly */
	AIRLOCK_CAPTURE_OVERLAY,
	AIRLOCK_CAPTURE_COPY,
};

struct airlock_isolation {
	const char *backend, *profile;
	enum airlock_grade filesystem, processes, syscalls, limits;
	enum airlock_network network;
	enum airlock_capture capture;
	const char *capture_because; /* why there is no overlay where there could be one, a sentence; or NULL */
	int is_sandboxed;	     /* 0: it could read and change everything that the caller can */
};
const struct airlock_isolation *airlock_run_isolation(const struct airlock_run *run);
const char *airlock_grade_name(enum airlock_grade grade);	/* "enforced" */
const char *airlock_network_name(enum airlock_network network); /* "blocked" */
const char *airlock_capture_name(enum airlock_capture capture); /* "overlay" */

/* ── What it used ── */

enum airlock_limit {
	AIRLOCK_LIMIT_NONE,
	AIRLOCK_LIMIT_TIMEOUT,
	AIRLOCK_LIMIT_MEMORY,
	AIRLOCK_LIMIT_PIDS,
	AIRLOCK_LIMIT_FILE_SIZE,
	AIRLOCK_LIMIT_DISK, /* what the session has written: [session] disk */
	AIRLOCK_LIMIT_TMP,  /* /tmp of the session: [session] tmp_size */
};

struct airlock_usage {
	int64_t duration_us, cpu_us, max_rss_kb;
	enum airlock_limit limit_hit;
	const char *const *full; /* file systems in memory that were full when the command failed; NULL-terminated */
	int warm_start;		 /* its sandbox was started for it (airlock_prestart_begin_for) */
	int head_start;		 /* its sandbox was begun without a plan (airlock_prestart_begin) */
};
const struct airlock_usage *airlock_run_usage(const struct airlock_run *run);
const char *airlock_limit_name(enum airlock_limit limit); /* "memory"; NULL for AIRLOCK_LIMIT_NONE */

/* ── Which hosts it tried to reach ── */

/* Who decided about a connection. */
enum airlock_host_by {
	AIRLOCK_HOST_BY_RULE,	/* a line of a configuration file */
	AIRLOCK_HOST_BY_OPTION, /* --allow-host, --network and the like */
	AIRLOCK_HOST_BY_PERSON, /* an answer */
	AIRLOCK_HOST_BY_NOBODY, /* no rule, and nobody to ask */
	AIRLOCK_HOST_BY_GUARD,	/* it leads to an address that is not public */
};
const char *airlock_host_by_name(enum airlock_host_by by); /* "rule" */

struct airlock_host {
	const char *host; /* name or address; ASCII */
	unsigned port;
	int is_allowed;
	enum airlock_host_by by;
	const char *by_text; /* "rule /etc/airlock/config.toml:4", "person"; bytes */
	uint64_t connections, bytes_out, bytes_in;
};
/* Of a run whose connections go through the gate. NULL beyond the last. */
const struct airlock_host *airlock_run_host(const struct airlock_run *run, size_t i);

/* ── What it wrote ── */

struct airlock_output {
	uint64_t stdout_bytes, stderr_bytes; /* the whole size, even if the result has only a part */
	int is_stdout_cut, is_stderr_cut;    /* the middle is left out of the result; airlock_output_open has all */
};
const struct airlock_output *airlock_run_output(const struct airlock_run *run);

/* ── What it was refused; with the option "explain-denials" ── */

enum airlock_attempt {
	AIRLOCK_ATTEMPT_OPEN = 1, /* for reading */
	AIRLOCK_ATTEMPT_CHDIR,
	AIRLOCK_ATTEMPT_WRITE, /* opened for writing, made when it was not there */
	AIRLOCK_ATTEMPT_TRUNCATE,
	AIRLOCK_ATTEMPT_MKDIR,
	AIRLOCK_ATTEMPT_DELETE,
	AIRLOCK_ATTEMPT_RENAME, /* from there, or to there */
	AIRLOCK_ATTEMPT_LINK,
	AIRLOCK_ATTEMPT_SYMLINK,
	AIRLOCK_ATTEMPT_MKNOD,
	AIRLOCK_ATTEMPT_CHMOD,
	AIRLOCK_ATTEMPT_CHOWN,
	AIRLOCK_ATTEMPT_UTIME,
	AIRLOCK_ATTEMPT_CONNECT,
	AIRLOCK_ATTEMPT_BIND,
	AIRLOCK_ATTEMPT_SEND,
	AIRLOCK_ATTEMPT_TRACE,
	AIRLOCK_ATTEMPT_NAMESPACE,
	AIRLOCK_ATTEMPT_MOUNT,
	AIRLOCK_ATTEMPT_PERF,
	AIRLOCK_ATTEMPT_BPF,
	AIRLOCK_ATTEMPT_KEYS,
	AIRLOCK_ATTEMPT_USERFAULT,
	AIRLOCK_ATTEMPT_FANOTIFY,
	AIRLOCK_ATTEMPT_ADMIN, /* swap, modules, clock, reboot */
};
enum airlock_denial_rule {
	AIRLOCK_DENIAL_NONE,
	AIRLOCK_DENIAL_HIDDEN,
	AIRLOCK_DENIAL_NOT_VISIBLE,
	AIRLOCK_DENIAL_READ_ONLY,
	AIRLOCK_DENIAL_NETWORK_OFF,
	AIRLOCK_DENIAL_CALL, /* the filter of system calls */
};
/* What would allow it. */
enum airlock_remedy {
	AIRLOCK_REMEDY_NONE,	    /* nothing */
	AIRLOCK_REMEDY_ALLOW_WRITE, /* --allow-write value */
	AIRLOCK_REMEDY_READ,	    /* --ro value */
	AIRLOCK_REMEDY_BIND,	    /* --bind-ro value, of a workspace */
	AIRLOCK_REMEDY_UNHIDE,	    /* to leave out --hide value */
	AIRLOCK_REMEDY_NETWORK,	    /* --network */
	AIRLOCK_REMEDY_PROFILE,	    /* --profile value, with --network */
	AIRLOCK_REMEDY_NESTED,	    /* nested = true in the profile */
};

struct airlock_denial {
	enum airlock_attempt attempt;
	/* One of these, the others are NULL. */
	const char *path;    /* bytes */
	const char *address; /* "192.0.2.1:443", "[2001:db8::1]:53", "@name" */
	const char *program; /* who made a call that the filter refuses; "" when that is not known */
	enum airlock_denial_rule rule;
	struct airlock_origin origin; /* who set the rule */
	const char *region;	      /* the path that it was set for, or NULL */
	enum airlock_remedy remedy;
	const char *value; /* what the option of the remedy takes, or NULL */
	int is_to_make;	   /* the directory in value does not exist: somebody has to make it first */
	uint64_t count;	   /* how often it was tried */
};

/* Diagnostic only: incomplete, since airlock sees neither what was never tried nor every way to try. */
size_t airlock_run_denial_count(const struct airlock_run *run);
const struct airlock_denial *airlock_run_denial(const struct airlock_run *run, size_t i); /* NULL: no such */
const char *airlock_attempt_name(enum airlock_attempt attempt);	     /* "open", "write", "connect" */
const char *airlock_denial_rule_name(enum airlock_denial_rule rule); /* "hidden", "read-only" */
/* In words, safe to print; the caller's: airlock_free. NULL: out of memory.
 * "write to /etc/hosts (read-only: built-in: moderate)", and the option that would allow it ("" when nothing would). */
char *airlock_denial_text(const struct airlock_denial *d);
char *airlock_denial_hint(const struct airlock_denial *d);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
