/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything between spawning and the result: one epoll loop for output, input, limits, signals and the end.
 *
 *   supervise_start(&spec, &s, err);
 *   while (supervise_dispatch(s, -1) > 0) ;
 *   supervise_result(s) …
 *   supervise_free(s);                      kills what still runs, and waits for it
 *
 * The run is over only when the first process is dead and waited for (its pidfd is readable only once everything in its
 * pid namespace is gone) and both streams are read to their end: nothing writes any more after that.
 */
#pragma once

#include "backend/backend.h"
#include "denial/denial.h"
#include "net/net_gate.h"
#include "supervise/output_capture.h"

/* The verdict of spec.look about a running command. */
struct supervise_verdict {
	enum airlock_limit exceeded; /* the command is killed for it; AIRLOCK_LIMIT_NONE: it may go on */
	bool ends_session;	     /* and so are all processes of its session */
	int64_t wait_us;	     /* until the next look */
};

struct supervise_spec {
	const struct backend *backend;
	const struct backend_context *ctx; /* borrowed until the run is over */
	const struct plan *plan;
	const char *run_id, *run_dir; /* run_dir is made when the first output comes */
	const char
		*session_group; /* the same for all commands of its session, and for no other; borrowed; NULL: none */
	int64_t max_output;
	const struct child_layer *layers; /* borrowed until the run is over */
	size_t n_layers;
	int record_fd;	/* the first process keeps it open until nothing is left that writes; borrowed, -1: none */
	int user_ns_fd; /* as backend_fds has it; borrowed until the run is over */
	struct backend_shared shared; /* its descriptor is borrowed until the run is over */
	int end_with_fd;	      /* the pidfd of a process with which the command ends; borrowed; negative: none */
	const char *runtime_dir;      /* goes with the user's last login; borrowed; NULL: none */
	int keepers_fd;		      /* CHILD_KEPT_KEEPERS; borrowed; -1: none */
	int keep_locks[2];	      /* held as long as its background processes go on; borrowed; -1: none */
	bool pty;
	struct net_gate *gate; /* borrowed until the run is over; NULL: there is none */
	bool publishes;	       /* the gate wants sockets that were made inside */
	const uint16_t *ports; /* that rules name; at most CHILD_MAX_PORTS */
	size_t n_ports;
	const struct denial_scene *observe; /* record what it refuses; borrowed until the run is over; NULL: do not */
	int stdin_fd, stdout_fd, stderr_fd, terminal_fd; /* borrowed, -1: none */
	struct supervise_verdict (*look)(void *data);	 /* from time to time while the command runs; NULL: never */
	void *look_data;
	struct backend_prestart *prestart; /* borrowed: a prepared sandbox to use if it fits, or NULL */
};

struct supervise_result {
	enum airlock_status status;
	int exit_code; /* as `airlock run` exits */
	int signal;    /* 0: none */
	struct airlock_error error;
	int64_t duration_us, cpu_us, max_rss_kb;
	enum airlock_limit limit_hit;
	enum airlock_grade limits;
	/* A path of the plan that someone replaced, and that was hidden again; or NULL. */
	const char *covered_again;
	const char
		*exposed; /* a directory without a screen, through which the host's sockets can be reached; or NULL */
	/* The command failed, and these file systems of the plan were full; borrowed from it. */
	const struct plan_mount *full[CHILD_MAX_TMPFS];
	size_t n_full;
	enum backend_prestart_kind prestart; /* which kind of prestarted sandbox it ran in */
	int exposed_errnum;		     /* why exposed has no screen; 0: unknown */
	const struct capture *out, *err;
	struct supervise_lost {
		int kept;    /* on disk, of either stream */
		int relayed; /* to the caller's standard output; a reader that went away does not count */
	} lost;		     /* errno if a part of the output was not stored, or 0 */
	bool pids_alone;     /* the limit of processes counts this command, and not its session */
	bool goes_on;	     /* processes that the command has left go on in the background */
	bool has_company;    /* other commands of its session have processes, which may have open files of its layers */
	bool observed;	     /* seen records what the command tried */
	int observe_errnum;  /* why not, if it was requested */
	struct buf seen;     /* as child/seen.h has it */
};

struct supervise;

int supervise_start(const struct supervise_spec *spec, struct supervise **ret, struct airlock_error *err);
int supervise_fd(const struct supervise *s);
pid_t supervise_pid(const struct supervise *s); /* bwrap, or the first process itself: killing it ends the sandbox */
int supervise_dispatch(struct supervise *s, int timeout_ms); /* 1: running, 0: over */
/* When it is over, the kernel may still be taking the sandbox down: waits until none of its mounts is left. free does
 * this too. */
void supervise_await_end(struct supervise *s);
void supervise_signal(struct supervise *s, int sig);
/* Asks the first process for more sockets for the gate's published ports. */
void supervise_want_sockets(struct supervise *s);
void supervise_resize(struct supervise *s);
bool supervise_take_stop(struct supervise *s); /* true once after each stop by the command's terminal */
const struct supervise_result *supervise_result(const struct supervise *s);
/* The limit for which spec.look had it killed; AIRLOCK_LIMIT_NONE: none. */
enum airlock_limit supervise_exceeded(const struct supervise *s);
void supervise_abandon(struct supervise *s); /* kills it and waits until it is over; free does, too */
void supervise_free(struct supervise *s);
