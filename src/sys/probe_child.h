/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child process that tries something and says how far it got; only for src/sys/probe*.c and overlay_view.c.
 *
 *   static int try_it(const void *arg, struct probe_report *r)
 *   {
 *           long rc = raw_call1(__NR_unshare, CLONE_NEWUTS);
 *           return rc < 0 ? probe_stop(r, "unshare(CLONE_NEWUTS)", rc) : 0;
 *   }
 *   probe_try(CLONE_NEWUSER, try_it, NULL, &report);
 *
 * The calling program may have threads, handlers, SIGCHLD ignored and loops around wait(-1). Hence: the child is made by
 * clone with no exit signal (nobody is told of its end, nobody reaps it by accident), has every signal blocked so that no
 * handler of the program runs in it, makes raw system calls only, and reports through a pipe, not by its exit status.
 */
#pragma once

#include "sys/probe.h"
#include "sys/raw.h"

#include <stdbool.h>
#include <sys/types.h>

#define PROBE_TIMEOUT_MS 5000

struct probe_report {
	/* The step that failed, or NULL. A string literal: it has the same address in parent and child. */
	const char *step;
	int errnum;
	int value; /* the probe's own result, when it has one */
	int fd;	   /* in the child: where the report goes */
};

extern const char probe_clone[]; /* the step of clone itself */

typedef int (*probe_fn)(const void *arg, struct probe_report *r);

/* Ends a failing step in the child: rc is the result of raw_callN. Always returns -1. */
static inline int probe_stop(struct probe_report *r, const char *step, long rc)
{
	r->step = step;
	r->errnum = (int)-rc;
	return -1;
}

/* Runs fn in a child made with these CLONE_NEW* flags (0: none) and fills ret, also if clone itself is refused
 * ("clone"), the child dies ("child killed") or is too slow ("timeout"). */
void probe_try(unsigned long namespaces, probe_fn fn, const void *arg, struct probe_report *ret);

/* The same without namespaces and in two halves, for a caller that watches more than the report. */
struct probe_child {
	pid_t pid;
	int pidfd;     /* -EBADF on kernels without CLONE_PIDFD */
	int report_fd; /* readable when the report is there, or when the child died without one */
};
int probe_start(probe_fn fn, const void *arg, struct probe_child *ret); /* 0 or -errno */
/* Writes a report from inside the child; for a grandchild that cannot return from fn. */
void probe_send(const struct probe_report *r);
/* Waits at most timeout_ms for the report, ends the child if it has not ended itself, reaps it. */
void probe_finish(struct probe_child *c, int timeout_ms, struct probe_report *ret);

/* pipe2(O_CLOEXEC) whose ends are never 0, 1 or 2, even if the program has closed those. Returns 0 or -errno. */
int probe_pipe(int ret_fds[2]);

/* Milliseconds of CLOCK_MONOTONIC, and the time left until deadline (never below 0). */
long probe_now_ms(void);
int probe_left_ms(long deadline_ms);

/* The identity maps that a child writes after CLONE_NEWUSER; made in the parent, where snprintf is allowed. */
struct probe_id_maps {
	char uid[40], gid[40];
};
struct probe_id_maps probe_id_maps(void);
int probe_write_id_maps(const struct probe_id_maps *maps, struct probe_report *r);

/* Turns a report into words: `what` if it worked, else the step and the reason. */
void probe_conclude(struct sys_probe *ret, const struct probe_report *r, const char *what);

/* open, write all of text, close; for the child. 0 or -errno. */
long probe_put(const char *path, const char *text);
