/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child/child_job.h"
#include "supervise/input.h"
#include "supervise/limits.h"
#include "supervise/stream.h"
#include "supervise/supervise.h"

enum phase {
	PHASE_SETUP,   /* the backend is starting; the first process has not sent HELLO */
	PHASE_RUNNING, /* the command may run */
	PHASE_ENDING,  /* it ended or was killed; not all of its processes are waited for */
	PHASE_OVER,
};

#define SUPERVISE_RETRY_INPUT_US 500000

enum source { /* what an epoll event is about */
	      ON_CONTROL,
	      ON_STDOUT,
	      ON_STDERR,
	      ON_RELAY_OUT,
	      ON_RELAY_ERR,
	      ON_INPUT_SOURCE,
	      ON_INPUT_SINK,
	      ON_FIRST,
	      ON_COVERS,
	      ON_SPAWNED,
	      ON_TIMER,
	      ON_GATE,
	      ON_END_WITH,
	      N_SOURCES,
};

struct supervise {
	const struct plan_mount *tmpfs[CHILD_MAX_TMPFS]; /* as in the job */
	size_t n_tmpfs;
	struct supervise_spec spec;
	struct backend_isolation iso;
	enum phase phase;
	int epoll_fd, timer_fd, control_fd;
	int watched_fd[N_SOURCES]; /* what epoll knows about, -EBADF: nothing */
	unsigned watched_events[N_SOURCES];
	struct stream out, err;
	struct input in;
	int master_fd; /* pty: for its window size */
	int covers_fd; /* the sandbox's table of mounts, or -EBADF */
	int seen_fd;   /* what the first process records, or -EBADF */
	struct limits limits;
	pid_t spawned_pid;	  /* bwrap, or the first process itself */
	pid_t first_pid;	  /* 0: not known yet */
	int spawned_fd, first_fd; /* pidfds */
	bool spawned_dead, first_dead;
	bool setup_killed;     /* by us */
	bool setup_failed;     /* it ended before the command started */
	bool told_to_go;       /* before it said hello */
	bool releasing;	       /* its background processes go on: once the output so far is read, it is over */
	bool session_ended;    /* by somebody else, while the command ran */
	bool nobody_left;      /* the first process is exiting, and alone: the command can do nothing any more */
	struct buf setup_text; /* what the backend printed on stderr before HELLO */
	int64_t started_us;
	int64_t timeout_at_us, kill_at_us, retry_input_at_us, look_at_us, usage_at_us; /* 0: not set */
	enum airlock_limit exceeded;						       /* for which it was killed */
	int64_t armed_us; /* the nearest of them; the timer is set to it */
	bool timed_out, hard_killed, have_status;
	bool stopped; /* by its terminal, and nobody has been told yet */
	int wait_status;
	int setup_signal; /* the caller's signal that ended it before the command ran */
	struct supervise_result result;
};

int64_t supervise_now_us(void);
/* True: it is being set up again. */
bool supervise_start_again(struct supervise *s);

/* events.c: keeps epoll's interest in line with the state. */
int events_open(struct supervise *s);
void events_update(struct supervise *s);

/* control.c: the first process's messages. */
void control_read(struct supervise *s);
/* Lets the first process start its command as soon as it can, once we know its pid. */
void control_go_ahead(struct supervise *s);
void control_want_sockets(struct supervise *s);
/* Background processes go on: the first process gets the pipes. */
int control_keep(struct supervise *s);
void control_send_signal(struct supervise *s, int sig, enum child_scope scope);

/* covers.c: whether the mounts that hide host files are still there; CONFLICT if one is not. */
int covers_open(struct supervise *s, pid_t pid, struct airlock_error *err);
int covers_check(struct supervise *s, struct airlock_error *err);

/* stopped.c: a process of the same session can stop the first process, or what is to become it. */
bool stopped_first(const struct supervise *s);

/* ending.c: killing, and the final result. */
void ending_kill(struct supervise *s);
void ending_request(struct supervise *s, int sig); /* sig to everything, SIGKILL after the grace period */
void ending_fail(struct supervise *s, const struct airlock_error *err, int exit_code);
void ending_break(struct supervise *s, const struct airlock_error *err);    /* while the command runs */
void ending_exceed(struct supervise *s, const struct supervise_verdict *v); /* kills it for a limit */
/* Ends all processes of the session that it runs in: what the first process did not end is among them. */
void ending_end_session(struct supervise *s);
void ending_setup_failed(struct supervise *s);
void ending_finish(struct supervise *s);
