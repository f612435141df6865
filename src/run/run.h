/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run/agent_home.h"
#include "run/agent_state.h"
#include "run/caches.h"
#include "run/layers.h"
#include "session/tail.h"
#include "run/job.h"
#include "run/mount_points.h"
#include "run/run_usage.h"
#include "denial/denial.h"
#include "supervise/supervise.h"

struct airlock_run {
	struct airlock_job *job;     /* kept until the run is freed */
	struct supervise *supervise; /* NULL before it starts, and of a change by the file API */
	bool files_only;	     /* such a change: nothing is run */
	struct run_layers layers;
	struct net_gate *gate; /* NULL: there is none */
	struct net_asker asker;
	struct airlock_host *hosts; /* what the gate has seen, when the run is over */
	size_t n_hosts;
	struct strs host_texts;
	/* The caller's way to ask, for questions while it runs. */
	enum airlock_answer (*ask)(const struct airlock_question *q, void *data);
	void *ask_data;
	struct run_caches caches;
	struct agent_files agent_files;
	struct agent_mark agent_mark;
	struct run_usage written;	  /* by its session */
	struct mount_points mount_points; /* of a workspace */
	struct monitor *monitor;	  /* NULL until somebody asks for progress */
	bool finished;			  /* the changes have been looked at */
	bool left;			  /* its processes have been waited for, and its layers put away */
	int passed_on;			  /* the last signal of the caller */
	char id[48];
	char *dir;
	int changes_fd, detail_fd; /* for its two files, made while there is nothing to do (fs_prepare_file) */
	struct session_tail tail;  /* of processes that go on after the command */
	int begun_fd;		   /* the record of its beginning, locked (history/begun.h); negative: none */
	int lock_fd;		   /* of dir, locked while the run is alive: what gc must leave alone */
	int64_t started_ns;	   /* by the clock of the calendar */
	bool recorded;
	struct denial_scene scene; /* for the supervisor, and for what it saw */
	struct denials denials;
	char *denials_note; /* why there are none, where they were wanted */
	/* Filled in by result_settle. */
	struct airlock_isolation isolation;
	struct airlock_usage usage;
	const char *full[CHILD_MAX_TMPFS + 1];
	struct airlock_output output;
	char *json, *text;
	struct airlock_changes *changes; /* NULL until somebody asks for them */
};

/* result.c: a directory in which the command could reach sockets of the host; NULL: there is none. */
const char *run_exposed(const struct airlock_job *job, const struct supervise_result *r);
/* The run is over, and its changes are known. */
void result_settle(struct airlock_run *run);

/* NULL: out of memory. Freed with airlock_run_free, whatever became of it. */
struct airlock_run *run_new(struct airlock_job *job);
/* Its id, its directory and its layers; nothing has started. */
int run_begin(struct airlock_run *run, struct airlock_error *err);
