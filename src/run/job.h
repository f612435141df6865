/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A prepared run: every decision taken, nothing done. */
#pragma once

#include "backend/backend.h"
#include "permission/permission.h"
#include "plan/plan.h"
#include "project/project.h"
#include "session/holder.h"
#include "session/session.h"
#include "settings/host.h"
#include "settings/origin.h"
#include "run/network.h"
#include "recipe/recipe.h"
#include "run/workspace.h"

/* How job_open is to open the project, when otherwise than for a run. */
struct job_opening {
	const char *dir; /* borrowed; NULL: the option "project" */
	bool rescan;
	bool grant_all; /* links that nobody has answered are roots this once */
	void (*progress)(size_t seen, void *data);
	void *progress_data;
};

/* The session that a run is a command of. */
struct job_session {
	char *name; /* NULL: none */
	bool holds; /* its changes */
	struct session_begun begun;
	struct strs *lowers; /* for each root of the plan */
	size_t n_lowers;
	uint64_t step; /* that the run has become; 0: none */
	struct session_limits limits;
	char *tmp; /* the directory that is /tmp for its commands; NULL: none */
	char *dir; /* of the session; NULL: none yet */
	char group
		[SESSION_GROUP_SIZE]; /* a name for what its commands share, which no other session has; empty: none yet */
	struct session_holder holder;	    /* in whose namespaces it runs; pid_fd negative: in its own */
	int busy_fd, gate_fd, keepers_fd;   /* locks while it runs (run_holder.h); negative: none */
	int own_fd;			    /* the same for one in namespaces of its own */
	char own_run[48];		    /* its name there */
	bool own_network;		    /* not that of the holder */
	struct session_processes processes; /* of the session, when this command had ended */
	size_t background;		    /* those of them whose command has ended */
};

/* The agent that a run is, as a whole. */
struct job_agent {
	struct recipe *recipe; /* NULL: the run is no agent */
	struct recipe_program program;
	char *home; /* for what it keeps to itself: session_home; NULL: no session, or a backend without mounts */
};

struct airlock_job {
	struct job_opening opening;
	struct host host;
	struct config *config;
	struct workspace workspace;	     /* its dir is NULL for a project */
	struct airlock_workspace_hold *hold; /* borrowed; NULL: none */
	struct project *project;	     /* a workspace is one with a single root */
	struct plan *plan;
	const struct backend *backend;
	struct backend_context ctx;
	struct backend_found found; /* behind ctx.found */
	struct strs untrusted_dirs; /* behind ctx.untrusted_dirs */
	struct strs environ;	    /* behind ctx.path_env */
	struct notes warnings;
	struct permission_question question;
	struct airlock_question shown; /* the same for the caller; made when it is asked for */
	enum airlock_answer answer;
	bool answered;		      /* by airlock_job_answer */
	bool is_ignored;	      /* a person could have answered and nobody did */
	bool looked_up, was_answered; /* by an earlier answer that was remembered */
	enum airlock_answer earlier_answer;
	int64_t earlier_id;
	struct airlock_error not_remembered; /* why an answer that was to be remembered was not */
	struct airlock_error cannot_run;     /* the backend can be explained but not run here; code 0: it can */
	bool mirrors;			     /* the backend could have overlays, but not over these roots */
	char *capture_because;		     /* why changes are captured by copy, as a sentence; NULL: they are not */
	bool capture_told;		     /* among the warnings */
	int user_ns_fd;			     /* in which groups of the roots are known (ids.h); 0: none */
	int end_with_fd;		     /* a process with which it ends, and what it leaves; -EBADF: none */
	int caches_fd;			     /* shared lock on the project's caches; -EBADF: it has none (caches.h) */
	bool yes, pty;
	bool explain;	    /* what it is refused */
	int64_t max_output; /* bytes of each stream in the result */
	struct job_session work;
	struct job_agent agent;
	char *session;	  /* what "for this session" is; NULL: nothing that could be recognized again */
	struct strs argv; /* with cwd and network what the plan is made of, should it be made again */
	char *cwd;
	bool network; /* it shares the machine's */
	struct job_network net;
	char *command_line;		   /* what runs, as one shell line */
	struct origin origin;		   /* who wants it: a person or an agent */
	struct airlock_prestart *prestart; /* borrowed; NULL: a new sandbox for this run */
	bool started;
	int runs;		     /* that keep it, whether the caller frees it before them or not; atomic */
	struct explained *explained; /* NULL until somebody asks (explain.h) */
};

/* An empty job, for airlock_job_free. NULL: out of memory. */
struct airlock_job *job_new(void);

/* Settings, configuration and project, which everything else depends on; also where nothing is run. */
int job_open(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
	     struct airlock_error *err);
/* workspace_job.c: the same for a workspace. */
int job_open_workspace(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err);
/* The working directory, as a path inside: links mean what they mean there. */
int job_check_workspace_dir(const struct airlock_job *job, struct airlock_error *err);
int job_plan_workspace(struct airlock_job *job, const struct plan_inputs *common, struct airlock_error *err);
/* job.c, in the order they are taken. */
int job_choose_backend(struct airlock_job *job, char **ret_unsandboxed_because, struct airlock_error *err);
/* False only where the program certainly cannot be started: neither its path nor PATH leads to a file. */
bool job_may_have_program(const struct airlock_job *job);
int job_find_working_dir(const struct airlock_job *job, const char *wanted, char **ret, struct airlock_error *err);
int job_check_working_dir(const struct airlock_job *job, const char *shown, struct airlock_error *err);
int job_no_working_dir(const char *path, bool exists, struct airlock_error *err);
int job_check_paths(const struct airlock_job *job, struct strs *ret_extra_writable, struct airlock_error *err);

/* Makes the plan anew with these links as roots for this run. */
int job_grant_links(struct airlock_job *job, const struct project_link *links, size_t n, struct airlock_error *err);
/* The question of how the project is opened; everything in it is borrowed from the job and ret_home. */
int job_project_query(const struct airlock_job *job, const char *dir, char **ret_home, struct project_query *ret,
		      struct airlock_error *err);

/* asking.c: nothing starts before this returned 0. */
int job_ask(struct airlock_job *job, const struct airlock_io *io, struct airlock_error *err);
/* The name of the caller's terminal session: its leader, told apart from any other process that had that number. NULL
 * when there is none, or no memory. */
char *job_terminal_session(void);
bool job_is_terminal_session(const char *name);
bool job_terminal_session_lives(const char *name);
/* 32 hexadecimal digits that nobody can guess. */
int job_nonce(char ret[33], struct airlock_error *err);
