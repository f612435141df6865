/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every backend can do: say whether it works here, show its command line, start the first process.
 *
 * A backend makes the namespaces and mounts of a plan and executes the first process (src/child) in them. The
 * supervisor does everything else, the same for all of them: limits, output, timeouts, the command's status. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "child/child_job.h"
#include "plan/plan.h"

#include <airlock/result.h>

#include <sys/types.h>

/* The isolation that is really in force (I9). */
/* True if this kernel can keep a command that shares the host's network from its abstract sockets (Landlock's scopes,
 * Linux 6.12). */
bool backend_scopes_sockets(void);

struct backend_isolation {
	enum airlock_grade filesystem, processes, syscalls;
	bool network_blocked; /* meaningful only with filesystem isolation or a network namespace */
	bool network_isolated;
	bool shared_pid_namespace; /* that of a session: the first process sees others, and they see it */
	bool monitor_counts;	   /* of the backend, in the user namespace of a session: RLIMIT_NPROC counts it, too */
	bool own_pid_namespace;	   /* killing the first process kills everything */
	bool own_user_namespace;   /* RLIMIT_NPROC counts the sandbox alone */
	bool foreign_proc;	   /* /proc also shows processes outside its own pid namespace */
	bool ruleset;		   /* the first process finds a Landlock ruleset at CHILD_FD_ARGS and enforces it */
	bool foreign_signals;	   /* the kernel would let the command signal processes of the host */
	bool abstract_sockets;	   /* those of the host can be reached: they belong to its network */
	/* Calls that only the system call filter refuses. */
	bool no_unix_sockets, no_internet_sockets, no_ipc, no_truncate;
};

/* The results of probing, for the rest of a job. The backends fill it; backend_found_done frees it. */
struct bwrap_info;
struct native_info;
struct backend_found {
	struct bwrap_info *bwrap;
	struct native_info *native;
};
void backend_found_done(struct backend_found *f);

/* Paths of this machine; borrowed. */
struct backend_context {
	struct backend_found *found; /* NULL: nothing is kept */
	const char *path_env;
	const char *state_dir, *data_dir;
	const char *const *untrusted_dirs; /* NULL-terminated: no helper program is used from there */
};

/* Namespaces of a session that a sandbox shares with others. */
struct backend_shared {
	int holder_fd; /* pidfd of the process that holds them; 0: none, all are its own */
	pid_t holder_pid;
	bool own_network; /* all but the network */
	int view_fd;	  /* a mount namespace with all mounts of the plan (struct backend_view); 0: none */
};

/* The descriptors the first process gets (borrowed, CLOEXEC), and the layers. */
struct backend_fds {
	int stdin_fd, stdout_fd, stderr_fd, control_fd, job_fd, program_fd;
	const struct child_layer *layers;
	size_t n_layers;
	int user_ns_fd; /* a user namespace with more groups than our own, for the mounts (sys/id_maps.h); 0: none */
	struct backend_shared shared;
};

/* The process that keeps the namespaces of a session (child/hold.h). */
struct backend_holder {
	int lock_fd, busy_fd;
	int lifeline_fd; /* a pipe of a program, or its pidfd: the holder ends with it; negative: none */
	int64_t idle_ms;
};

/* The mounts of a plan, made once, for commands of a session that change none of them: all that have no layer. */
struct backend_view {
	int mounts_fd;			   /* their namespace */
	int host_mounts_fd, own_mounts_fd; /* mount tables: they tell when the view is not what a new one would be */
	void *key;
	size_t key_len;
};

struct backend_view_calls {
	/* In the namespaces of a session. AIRLOCK_ERR_UNAVAILABLE: not for this plan. */
	int (*make)(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		    struct backend_view **ret, struct airlock_error *err);
	/* Would one made now be the same? */
	bool (*fits)(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		     const struct backend_view *view);
};

void backend_view_free(struct backend_view *view);

/* A sandbox that is started before there is a command for it; good for one command (backend_prestart.h). */
struct backend_prestart;

/* How much of it was there when a run took it. */
enum backend_prestart_kind {
	BACKEND_PRESTART_NONE,
	BACKEND_PRESTART_BARE,	/* begun without a plan */
	BACKEND_PRESTART_WHOLE, /* made for a plan: everything but the layers */
};

struct backend_prestart_calls {
	/* Starts one with the namespaces and mounts that most plans ask for, without waiting until they are there. shared: whose
	 * namespaces it enters instead of new ones. */
	int (*begin)(const struct backend_shared *shared, struct backend_prestart **ret, struct airlock_error *err);
	/* Starts one for this plan, without waiting until its mounts are there. AIRLOCK_ERR_UNAVAILABLE: not for this plan. */
	int (*begin_for)(const struct backend_context *ctx, const struct plan *plan,
			 const struct backend_shared *shared, struct backend_prestart **ret, struct airlock_error *err);
	/* Tells one that was begun without a plan what is going to be taken, as far as the plan alone says it. */
	void (*tell)(const struct backend_context *ctx, const struct plan *plan, struct backend_prestart *p);
	/* Spawns in it. False: it is not what a new sandbox would be; whoever called drops it. */
	bool (*take)(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		     struct backend_prestart *p);
};

struct backend {
	const char *name;
	/* 0: it works; 1: it works but lacks something, which isolation() describes; or AIRLOCK_ERR_UNAVAILABLE with
	 * the reason and a hint. */
	int (*probe)(const struct backend_context *ctx, struct airlock_error *err);
	/* The whole command line that a person could type for this plan, including the command. */
	int (*describe)(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
			struct airlock_error *err);
	struct backend_isolation (*isolation)(const struct backend_context *ctx, const struct plan *plan);
	int (*spawn)(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		     pid_t *ret_pid, struct airlock_error *err);
	/* Starts the holder of a session for plans with these ids and this word about user namespaces. 0 and its pid once it holds
	 * the namespaces. NULL: this backend's sandboxes cannot share namespaces. */
	int (*hold)(const struct backend_context *ctx, const struct plan *plan, const struct backend_holder *holder,
		    pid_t *ret_pid, struct airlock_error *err);
	const struct backend_prestart_calls
		*prestart;		       /* NULL: this backend cannot start a sandbox before its command */
	const struct backend_view_calls *view; /* NULL: each of its commands makes its own mounts */
	bool spawns_first_process;	       /* the spawned process becomes it, in its own pid namespace */
	bool in_place;		/* nothing is mounted: the command sees the host's paths, and no layer can cover them */
	bool unsandboxed;	/* isolates nothing: only if someone chose it or allowed it */
	bool copies;		/* changes are found by comparing the roots with a copy of them */
	bool tmp_in_playground; /* the command's TMPDIR is a directory in the playground */
	bool has_gate;		/* it can give the sandbox a network of its own that leads to the supervisor */
	bool maps_ids;		/* it can give the sandbox more ids than the caller's own (struct plan_ids) */
	/* For backends that take a text: the text, which can be made and read even if the backend cannot run. */
	void (*profile)(const struct plan *plan, struct buf *out);
};

extern const struct backend backend_native, backend_bubblewrap, backend_landlock, backend_seatbelt, backend_passthrough;

/* NULL if this build has no such backend. */
const struct backend *backend_by_name(const char *name);
/* Sandboxing backends in the order of preference; NULL-terminated. */
const struct backend *const *backend_preference(void);

/* ── Shared by backends that mount ── */

/* 1777 for /tmp and the like. */
unsigned backend_tmpfs_mode(const char *target);
/* The file that covers hidden files: data_dir/empty, if the plan hides any. */
int backend_make_empty_file(const struct backend_context *ctx, const struct plan *plan, struct airlock_error *err);
