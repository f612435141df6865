/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the tools: settings for a call, results, questions, and which runs a client may name. */
#pragma once

#include <airlock/airlock.h>
#include <airlock/changes.h>
#include <airlock/questions.h>

#include "serve.h"
#include "server.h"

#define TOOL_OWN_RUNS 64

struct tool_context {
	const struct mcp_options *options;
	char session[48];		   /* what "for this session" means in an answer: this server */
	char work[32];			   /* the session that its commands belong to, where the options name none */
	char own_runs[TOOL_OWN_RUNS][48];  /* the latest runs of this server, a ring */
	size_t n_own_runs;		   /* how many there were */
	int64_t timeout_ms;		   /* of a call that asks for nothing; -1: no limit, 0: not known yet */
	char *project;			   /* the directory that the server works in; NULL until needed */
	struct airlock_prestart *prestart; /* the sandbox of the next call; NULL: out of memory */
};

struct tool_context *tool_context_of(const struct mcp_request *r);
/* Settings for one call; the caller frees them. */
int tool_settings(const struct mcp_request *r, struct airlock_settings **ret, struct airlock_error *err);
/* How long a call may run that asks for nothing; -1: no limit. */
int tool_timeout(const struct mcp_request *r, int64_t *ret_ms, struct airlock_error *err);

/* Checks that this run belongs to the server's project. "last" is this server's own latest run if it has one. ret_id:
 * its full id. A client must not see what was done in other projects. */
int tool_find_run(const struct mcp_request *r, const struct airlock_settings *s, const char *run, char ret_id[48],
		  struct airlock_error *err);
/* The same for whoever decides about it: a step of a session is decided about with the session, whose name it is then. */
#define TOOL_NAME_SIZE 72
int tool_find_decided(const struct mcp_request *r, const struct airlock_settings *s, const char *run,
		      char ret_name[TOOL_NAME_SIZE], struct airlock_error *err);
/* The library's JSON, for an answer. NULL: out of memory. */
json_t *tool_changes(struct airlock_changes *changes);
bool tool_is_own_run(const struct tool_context *f, const char *id);
void tool_remember_run(struct tool_context *f, const char *id);
const char *tool_last_run(const struct tool_context *f); /* NULL: none yet */

/* While the server is idle, starts the sandbox of the next call (next_sandbox.c). */
extern const struct mcp_idle tool_idle;

/* ── Answers ── */

/* Text that starts with ERROR, and the error as data. */
void tool_fail(struct mcp_request *r, const struct airlock_error *err);
/* The same for a call that is a run: the data is a whole result object. */
void tool_fail_run(struct mcp_request *r, const struct airlock_error *err);
json_t *tool_failure(const struct airlock_error *err, bool is_run, bool with_hint);
/* json: an object's text of the library. */
void tool_reply(struct mcp_request *r, const char *text, const char *json);
/* Ways to put a text together; NULL in, NULL out. */
char *tool_join(char *text /* freed */, const char *more);

json_t *tool_base64(const char *bytes, size_t len);

/* ── Questions ── */

/* Asks the person at the client; passes the answers on to tool_answer. False: the client cannot ask, which counts as
 * a no. */
bool tool_ask(struct mcp_request *r, const struct airlock_question *q, mcp_answered *answered);
enum airlock_answer tool_answer(json_t *answers);
bool tool_is_yes(enum airlock_answer answer);
/* Without a client that asks: waits until there is news about a question that a person answers elsewhere, and tells the
 * client every other second that it does. */
void tool_wait_for_person(struct mcp_request *r, const struct airlock_asking *asking, int64_t since_ms,
			  void (*ready)(struct mcp_request *r));
/* The refusal of a question that was denied, or that nobody answered. It names no command that would grant it: the model
 * reads it. */
void tool_deny(struct mcp_request *r, const struct airlock_question *q, bool is_ignored);

/* ── Arguments ── */

/* "paths" as a NULL-terminated list of borrowed strings, to be freed; *ret is NULL if there are none. */
int tool_paths(json_t *arguments, const char ***ret, struct airlock_error *err);
int tool_error(struct airlock_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ── The tools, one file each ── */

typedef void tool_handler(struct mcp_request *r, json_t *arguments);
tool_handler tool_run_command, tool_list_changes, tool_diff, tool_apply_changes, tool_discard_changes, tool_undo;
tool_handler tool_read_file, tool_write_file, tool_edit_file, tool_list_files, tool_glob, tool_grep;

extern const struct mcp_tool tool_table[];
extern const struct mcp_method tool_resource_methods[];
