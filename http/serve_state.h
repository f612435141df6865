/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock serve`: what its parts share.
 *
 * A sandbox of the REST interface is a session on a workspace. On disk, and nowhere else, so that it is found again after a restart and by
 * another server on the same storage:
 *
 *   WORKSPACES/<name of the token>/<id>/sandbox.json    profile, limits, hosts, times
 *   WORKSPACES/<name of the token>/<id>/files/          the workspace: / inside
 *
 * A sandbox is made and removed by renaming its directory, so that it is there as a whole or not at all. What belongs to a token lies
 * below a directory of its own: one token cannot come across a name of another's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>
#include <airlock/files.h>
#include <airlock/session.h>

#include "http.h"
#include "serve_metrics.h"
#include "serve_tokens.h"

#define SERVE_ID_MAX 128
#define SERVE_COMMANDS_MAX 256	/* that run at the same time */
#define SERVE_SESSION "sandbox" /* the name of the session on each workspace */

struct serve_task;
struct serve_run;
struct serve_mcp;

struct serve_limits {
	int64_t timeout_ms, memory, pids, disk; /* 0: not given */
};

struct serve_sandbox {
	struct serve_sandbox *next;
	char *owner; /* the token's name */
	char *id;
	char *dir;   /* of the sandbox */
	char *files; /* its workspace */
	char *profile;
	char **hosts; /* ends with NULL; NULL: none */
	struct serve_limits limits;
	struct airlock_workspace_hold *hold; /* of its mount points, while it is awake; NULL: none */
	int64_t created_s, used_s;	     /* since 1970 */
	uint64_t measure_at,
		measure_wait; /* turns of the chores: when its disk is measured next, and how long after that */
	int64_t disk_used;    /* as last measured; -1: not yet */
	size_t busy;	      /* commands, transfers and measurements at work */
	size_t commands;      /* that run */
	bool is_measured;     /* its disk use is counted: it, or its token, has a limit */
	bool is_awake;	      /* its session may have processes or a /tmp */
	bool is_deleted;      /* its directory is gone; freed when nothing uses it */
};

struct serve {
	char *const *words; /* its options */
	struct http_loop *loop;
	struct http_server *server;
	struct http_watch signals, chores, draining;
	struct serve_tokens tokens;
	char *token_file;
	char *workspaces; /* absolute */
	char name[33];	  /* ids that the server makes up begin with it */
	bool is_single, are_metrics_open, is_draining;
	int64_t drain_ms, idle_s, max_age_s, max_sandboxes, pool_wanted;
	int64_t drain_by_ms;
	struct serve_sandbox *sandboxes; /* those that were used since the start */
	struct serve_run *runs;
	size_t n_running;
	size_t pool_size;
	uint64_t n_turns; /* of the chores */
	uint64_t gc_began, gc_at;
	struct serve_task *tasks;
	struct serve_mcp *mcp;
	struct serve_metrics metrics;
	int audit_fd; /* -1: none */
};

/* ── Sandboxes (serve_sandboxes.c) ── */

/* A client's request for a new sandbox. */
struct serve_wish {
	const char *id; /* NULL: one is made up */
	const char *profile;
	struct serve_limits limits;
	char **hosts; /* taken */
};

bool serve_is_id(const char *id);
/* AIRLOCK_ERR_NOT_FOUND: this token has none of that id. The sandbox lives until the loop's next turn, or serve_leave. */
int serve_find(struct serve *s, const struct serve_token *token, const char *id, struct serve_sandbox **ret,
	       struct airlock_error *err);
/* AIRLOCK_ERR_CONFLICT: the token has one of that id; AIRLOCK_ERR_BUSY: too many, *ret_is_quota: of the token's. */
int serve_create(struct serve *s, const struct serve_token *token, struct serve_wish *wish, struct serve_sandbox **ret,
		 bool *ret_is_quota, struct airlock_error *err);
/* The one that is used when nobody names one; made on first use. */
int serve_find_default(struct serve *s, const struct serve_token *token, struct serve_sandbox **ret,
		       struct airlock_error *err);
int serve_delete(struct serve *s, struct serve_sandbox *b, struct airlock_error *err);
/* Before a command. What commands of an awake sandbox share is made by the first. */
void serve_wake(struct serve *s, const struct serve_token *token, struct serve_sandbox *b);
/* Ends its processes and empties its /tmp; its files stay. */
void serve_rest(struct serve_sandbox *b);
/* Removes the mount points that a server left which was killed. */
void serve_tidy(struct serve *s, const struct serve_token *token, const char *id);
/* The ids of a token's sandboxes, sorted; the caller's to free, each and all; NULL-terminated. */
char **serve_list(struct serve *s, const struct serve_token *token);
json_t *serve_sandbox_json(const struct serve_sandbox *b);
/* While a command or a transfer is at work, the sandbox stays. */
void serve_enter(struct serve *s, struct serve_sandbox *b);
void serve_leave(struct serve *s, struct serve_sandbox *b);
/* Settings of a command or a file call; the caller frees them. */
int serve_settings(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		   struct airlock_settings **ret, struct airlock_error *err);
int serve_place(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		struct airlock_place **ret, struct airlock_error *err);
/* How many bytes may still be written; -1: no limit. Below 1: the quota is full. */
int64_t serve_disk_left(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b);
void serve_sandboxes_free(struct serve *s);

/* ── Chores (serve_chores.c): idle sandboxes, old ones, the pool, garbage ── */

void serve_chores_start(struct serve *s);
/* A prepared directory of a sandbox; NULL: none is there. The caller's. */
char *serve_pool_take(struct serve *s);
char *serve_prepare_dir(struct serve *s, struct airlock_error *err);
void serve_measure_disk(struct serve *s, struct serve_sandbox *b);

/* ── Work in another process (serve_task.c): what may take long and must not stop the loop ── */

/* work runs in a child; what it returns, and err if that is negative, comes back to done. data is done's alone. */
typedef int64_t serve_work(void *data, struct airlock_error *err);
typedef void serve_done(void *data, int64_t result, const struct airlock_error *err);
int serve_task_start(struct serve *s, serve_work *work, serve_done *done, void *data, struct airlock_error *err);
void serve_tasks_end(struct serve *s);

/* ── Requests ── */

/* The sandbox that a path's parameter names; NULL: it has replied. */
struct serve_sandbox *serve_requested(struct http_request *r, const char *id);
const struct serve_token *serve_token_of(const struct http_request *r);
/* True: it has replied 503, because the server is about to end. */
bool serve_refuses_work(struct http_request *r);
/* Runs a command in the sandbox and replies: the run object; with `simple` only stdout, stderr and exit_code. arguments: borrowed. */
void serve_execute(struct http_request *r, struct serve_sandbox *b, json_t *arguments, bool simple);
void serve_send_file(struct http_request *r, struct serve_sandbox *b, const char *path);
/* One line in the audit file: who asked for what, and what came of it. */
void serve_audit(struct serve *s, const struct serve_token *token, const char *what, const char *sandbox,
		 const char *detail, unsigned status);
void serve_end_runs(struct serve *s); /* kills what still runs; the replies go out */
void serve_end_runs_of(struct serve *s, struct serve_sandbox *b);
/* Ends what runs in a sandbox that uses more disk than it may, in the background, too. */
void serve_check_disk(struct serve *s, struct serve_sandbox *b);

int serve_mcp_start(struct serve *s, struct airlock_error *err);
void serve_mcp_end(struct serve *s);

/* The tables of routes: one file each. */
extern const struct http_route serve_health_routes[], serve_open_metrics_routes[]; /* serve_health.c */
extern const struct http_route serve_sandbox_routes[];				   /* serve_sandbox_routes.c */
extern const struct http_route serve_execute_routes[];				   /* serve_execute.c */
extern const struct http_route serve_file_routes[];				   /* serve_files.c */
extern const struct http_route serve_single_routes[];				   /* serve_single.c: with --single */
extern const struct http_route serve_mcp_routes[];				   /* serve_mcp.c */
