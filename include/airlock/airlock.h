/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libairlock: run a command where it cannot hurt you, and be told exactly what happened.
 *
 *   struct airlock_error err = {0};
 *   struct airlock_settings *s = airlock_settings_new();
 *   struct airlock_job *job = NULL;
 *   struct airlock_run *run = NULL;
 *
 *   airlock_settings_set_environ(s, environ, &err);
 *   airlock_settings_set(s, "profile", "strict", "my program", &err);
 *   airlock_settings_set_command(s, "make test", &err);
 *   if (airlock_job_prepare(s, &job, &err) < 0 ||     // configuration, policy, plan; nothing has run
 *       airlock_run_start(job, NULL, &run, &err) < 0) // asks, then starts
 *           fprintf(stderr, "%s; %s\n", err.message, err.hint);
 *   while (run && airlock_run_dispatch(run, -1) > 0)  // or poll airlock_run_fd() in your own loop
 *           ;
 *   if (run)
 *           puts(airlock_run_result_json(run));
 *   airlock_run_free(run);
 *   airlock_job_free(job);
 *   airlock_settings_free(s);
 *
 * The library starts no threads, has no mutable globals, never prints, never exits and installs no signal handler.
 *
 * Threads: one object is used by one thread at a time; different objects by different threads at once. Settings that nobody
 *  changes any more may be used by several.
 * Ownership: what is given is copied, unless it says borrowed. A `const char *` handed out lives as long as the object it came
 *  from, and where a call makes it anew until the next such call; a `char *` is the caller's and freed with airlock_free.
 *  Objects are freed in any order, once; freeing NULL does nothing.
 * Errors: functions that fail return a negative enum airlock_code and fill `err` (see error.h); all others return 0 or more.
 *  ret_ parameters must not be NULL; they are set on success, and on failure NULL or as they were: begin with NULL.
 * Descriptors of the library are closed on exec. Its children are of no concern to the caller, who may ignore SIGCHLD.
 */
#ifndef AIRLOCK_H
#define AIRLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/error.h>
#include <airlock/note.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

const char *airlock_version(void); /* "0.1.0" */

/* True inside a sandbox of airlock in which no other can be made: a command is guarded by that one, and airlock_job_prepare
 * fails with AIRLOCK_ERR_UNAVAILABLE and the op "nested". */
int airlock_is_inside(void);

/* ── Settings: what the caller asks for ───────────────────────────────────────────────────────────── */

struct airlock_settings;

struct airlock_settings *airlock_settings_new(void); /* NULL: out of memory */
void airlock_settings_free(struct airlock_settings *s);

/* The environment to use: the AIRLOCK_* variables of the options, HOME, XDG_*, PATH, and what the command may
 * inherit. Copied. */
int airlock_settings_set_environ(struct airlock_settings *s, char *const *envp, struct airlock_error *err);

/* Names the session that "for this session" refers to in a remembered answer; must be unique, for instance a server's
 * own id. Default: the caller's terminal session (getsid) while its leader lives. Copied. */
int airlock_settings_set_session(struct airlock_settings *s, const char *name, struct airlock_error *err);

/* Makes the result explain what the command was refused (the option "explain-denials") and keeps 30 KB of each stream
 * (the option "max-output"), unless an option, a variable or a file says otherwise. For programs whose results a model
 * reads. */
void airlock_settings_explain_by_default(struct airlock_settings *s);

/* One option by its long name ("timeout", "ro", "network"); flags take "true" or "false". Options that repeat append.
 * origin is told wherever the value is shown ("--timeout"). Unknown names: AIRLOCK_ERR_USAGE. Values are checked in
 * airlock_job_prepare, together with everything else. */
int airlock_settings_set(struct airlock_settings *s, const char *name, const char *value, const char *origin,
			 struct airlock_error *err);

/* True if the option "agent" or the variable AIRLOCK_AGENT marks these settings as an agent's. Then no question may
 * be asked on a terminal: the agent may be able to type there. */
int airlock_settings_is_agent(const struct airlock_settings *s);

/* Call exactly one of these for a run: a program with its arguments, or a shell command line. Copied. */
int airlock_settings_set_argv(struct airlock_settings *s, const char *const *argv, struct airlock_error *err);
int airlock_settings_set_command(struct airlock_settings *s, const char *command, struct airlock_error *err);

/* All options: the one table behind parsers, help, completions and manuals. */
enum airlock_option_kind { AIRLOCK_OPTION_FLAG, AIRLOCK_OPTION_VALUE, AIRLOCK_OPTION_LIST };
struct airlock_option {
	const char *name; /* "working-dir" */
	char letter;	  /* 'C', or 0 */
	enum airlock_option_kind kind;
	const char *value_name; /* "DIR"; NULL for flags */
	const char *help;	/* one line */
	const char *values;	/* the words it takes, separated by spaces ("strict moderate permissive"), or NULL */
	const char *completes;	/* "dir", "file", "path" or NULL: for shell completion */
	const char *implies;	/* "changes=hold" for shorthands, or NULL */
};
/* The table; ends with name == NULL. The environment twin of "working-dir" is AIRLOCK_WORKING_DIR; twins of list
 * options separate their items with ':' (AIRLOCK_ENV and AIRLOCK_BIND_RO: with newlines). */
const struct airlock_option *airlock_options(void);

/* ── Jobs: exactly what would be done ─────────────────────────────────────────────────────────────── */

struct airlock_job;

/* Reads the configuration, finds the project, makes the plan, checks everything. Runs nothing, asks nothing,
 * changes nothing but airlock's own directories. */
int airlock_job_prepare(const struct airlock_settings *s, struct airlock_job **ret, struct airlock_error *err);
void airlock_job_free(struct airlock_job *job);

/* airlock_job_plan (job.h) gives the plan of a job as values. */
/* What the person should know before the run (untrusted project settings left out, links that changed…). NULL beyond
 * the last. */
size_t airlock_job_warning_count(const struct airlock_job *job);
const struct airlock_note *airlock_job_warning(const struct airlock_job *job, size_t i);
/* How many symlinks of the project lead to directories outside that this run cannot write because no person has answered yet;
 * a remembered no is an answer. 0 in a run that is marked as an agent's. airlock/project.h lists the links and takes answers. */
size_t airlock_job_links_unanswered(const struct airlock_job *job);

/* ── Questions ────────────────────────────────────────────────────────────────────────────────────── */

/* An answer, and how long it holds: for this run, for this session (see airlock_settings_set_session), or for good. */
enum airlock_answer {
	AIRLOCK_DENY, /* once */
	AIRLOCK_ALLOW_ONCE,
	AIRLOCK_ALLOW_SESSION,
	AIRLOCK_ALLOW_ALWAYS,
	AIRLOCK_DENY_SESSION,
	AIRLOCK_DENY_ALWAYS,
};
const char *airlock_answer_name(enum airlock_answer answer); /* "allow_once", "deny_always", … */
/* The answer of that name. AIRLOCK_ERR_INVALID: there is none. */
int airlock_answer_parse(const char *name, enum airlock_answer *ret);

/* Why airlock asks: each reason names one thing that a yes would open. */
enum airlock_question_reason {
	AIRLOCK_ASK_UNSANDBOXED, /* the command has no sandbox */
	AIRLOCK_ASK_ALLOW_WRITE, /* it may write to more directories */
	AIRLOCK_ASK_LINK,	 /* a symlink of the project makes another directory writable */
	AIRLOCK_ASK_NETWORK,
	AIRLOCK_ASK_SENSITIVE_CHANGES, /* changes are applied that make other programs do things */
	AIRLOCK_ASK_HELD_CHANGES,      /* changes are applied that the mode held */
	AIRLOCK_ASK_HOST,	       /* a running command connects to this host */
	AIRLOCK_ASK_PUBLISH,	       /* programs on this machine can reach a port of the command */
};
const char *airlock_question_reason_name(enum airlock_question_reason reason); /* "allow-write", "network", … */

/* A question. Everything else was checked before, so a yes is enough. It combines all reasons. */
struct airlock_question {
	const char *text;    /* inert: safe to print; may have several lines, the last is the question itself */
	const char *command; /* the exact bytes that will run, as one shell line */
	const char *working_dir, *project;
	const char *session; /* of changes: the session they belong to; NULL: none */
	const enum airlock_question_reason *reasons;
	size_t n_reasons;
	const char *const *
		paths; /* of AIRLOCK_ASK_ALLOW_WRITE, and where the links of AIRLOCK_ASK_LINK lead; real paths, NULL-terminated */
	int one_time_only; /* only Allow and Deny may be offered */
	/* The run goes on after a no, or when there is nobody to ask. Only AIRLOCK_ASK_LINK alone is such a reason: what is not allowed
	 * stays read-only. AIRLOCK_ALLOW_ALWAYS and AIRLOCK_DENY_ALWAYS are remembered with the project. */
	int is_optional;
	const enum airlock_answer *choices; /* what may be answered; anything else counts as AIRLOCK_DENY */
	size_t n_choices;
	const char *key;	   /* equal for equal questions; unique for a question that may be answered only once */
	const char *grant_hint;	   /* the option that would answer it without asking */
	const char *grant_command; /* the exact command line with which a person grants it; not inert */
};

/* The question that must be answered before the job may start, NULL when there is none. Lives as long as the job.
 * For programs that cannot wait inside a callback: show it, come back with the answer later, then start. Without an
 * answer airlock_run_start asks with its callback. The last answer before the start counts. */
const struct airlock_question *airlock_job_question(struct airlock_job *job);
void airlock_job_answer(struct airlock_job *job, enum airlock_answer answer);

/* ── Runs ─────────────────────────────────────────────────────────────────────────────────────────── */

struct airlock_run;

struct airlock_io {
	/* The caller's descriptors for relayed output and input, or -1. The command never gets them: it has airlock's
	 * own pipes or pty. Borrowed; never closed, never made non-blocking. */
	int stdin_fd, stdout_fd, stderr_fd;
	/* With the "pty" option: a terminal of the caller whose window size is copied, or -1. */
	int terminal_fd;
	/* Called once when the run needs permission; NULL denies. Not called with the "yes" option, nor for a run of an
	 * agent's (the option "agent"): it asks where the agent could answer. Such a run is denied, unless
	 * airlock_job_answer, or airlock_job_ask of questions.h, brought an answer that a person gave elsewhere. */
	enum airlock_answer (*ask)(const struct airlock_question *q, void *data);
	void *data;
};

/* Starts the job's command. io may be NULL: no input, output only in the result; it is not needed any more afterwards, its
 * descriptors are until the run is over. A job is started once; the run keeps what it needs of it.
 * AIRLOCK_ERR_DENIED: it needed permission and did not get it. */
int airlock_run_start(struct airlock_job *job, const struct airlock_io *io, struct airlock_run **ret,
		      struct airlock_error *err);

/* Becomes readable when dispatch has something to do, until it has returned 0. Owned by the run. */
int airlock_run_fd(const struct airlock_run *run);

/* Handles what is ready, waiting at most timeout_ms (-1: for ever, 0: not at all); a signal of the caller's ends the waiting.
 * 1: still running; 0: over, the result is complete and every process of it is dead and waited for. Never fails: what went
 * wrong is in the result. The call that returns 0 also reads and applies the changes, which takes as long as there are many. */
int airlock_run_dispatch(struct airlock_run *run, int timeout_ms);
/* The same, but returns 0 as soon as the result is complete, so that a server can answer. The last processes may still be ending then;
 * airlock_run_dispatch or airlock_run_free waits for them. */
int airlock_run_await_result(struct airlock_run *run, int timeout_ms);

/* Sends a signal to the command (SIGINT, SIGTERM, …), as a terminal would. SIGKILL ends the whole run at once. Returns 0,
 * also when the command is gone already. */
int airlock_run_signal(struct airlock_run *run, int signal);

/* The caller's terminal changed its size (pty). */
void airlock_run_resize(struct airlock_run *run);

/* With a terminal ("pty"): 1 once after each time the command was stopped, as Ctrl-Z does; else 0. It goes on when it gets
 * SIGCONT (airlock_run_signal): a program that stops itself meanwhile, as a shell expects, sends that when it goes on. */
int airlock_run_take_stop(struct airlock_run *run);

/* Kills whatever still runs, waits for it and frees everything. Changes of a run that was not over are held. */
void airlock_run_free(struct airlock_run *run);

/* ── Prestarts ────────────────────────────────────────────────────────────────────────────────────── */

/* A prestart: a sandbox that is started before its run. Three ways to use it.
 *
 * A program that runs one command has the namespaces made while it decides what is to be in them:
 *
 *   airlock_prestart_begin(p, &err);                 does not wait until the namespaces are there
 *   airlock_job_prepare(s, &job, &err);
 *   airlock_job_use_prestart(job, p);                then airlock_run_start as ever
 *
 * The command of a session shares the namespaces of that; they are entered as soon as it is known which they are:
 *
 *   airlock_settings_use_prestart(s, p);
 *   airlock_job_prepare(s, &job, &err);              begins it, if the session is alive; then airlock_run_start as ever
 *
 * A program that runs one command after another has the sandbox of the next one made while there is nothing else to do:
 *
 *   airlock_job_prepare(s, &job, &err);              the run that is expected; its command does not matter
 *   airlock_prestart_begin_for(p, job, &err);        does not wait until the sandbox is there
 *   …
 *   airlock_job_use_prestart(next_job, p);           then airlock_run_start as ever
 *
 * It is used for one command at most, and only when everything that decides what a sandbox looks like is what it was then:
 * configuration, files that are hidden, mounts, what the caller's process would pass on. Otherwise the run gets a new one and
 * is merely slower. It ends with the caller's process. A program that restricts itself further (Landlock, a label) drops it. */
struct airlock_prestart;

struct airlock_prestart *airlock_prestart_new(void); /* NULL: out of memory */
void airlock_prestart_free(struct airlock_prestart *p);

/* Each of these replaces what was there before.
 *
 * begin: from here until airlock_run_start the process keeps its identity, limits, umask and namespaces. 0: on its way; without
 * it the run is merely slower, so an error can be ignored.
 * begin_for: 1: on its way; 0: for such a run there is nothing to start (another backend than native, network, a workspace,
 * warm_start = false). The job may be started or freed afterwards. */
int airlock_prestart_begin(struct airlock_prestart *p, struct airlock_error *err);
int airlock_prestart_begin_for(struct airlock_prestart *p, const struct airlock_job *job, struct airlock_error *err);
/* Ends a sandbox that was started and not used. */
void airlock_prestart_drop(struct airlock_prestart *p);

/* Readable when there is something to look at, -1 when nothing is started. Owned by p; ask anew after every call above.
 * dispatch: 1 when something is started still, 0 when it is not (a mount of the machine changed). Nobody has to call it. */
int airlock_prestart_fd(const struct airlock_prestart *p);
int airlock_prestart_dispatch(struct airlock_prestart *p);

/* Lets the jobs of these settings begin this prestart and use it. p: borrowed until they were started; NULL: none. */
void airlock_settings_use_prestart(struct airlock_settings *s, struct airlock_prestart *p);

/* Lets the job use this prestart when it starts. p: borrowed until then; NULL: none. */
void airlock_job_use_prestart(struct airlock_job *job, struct airlock_prestart *p);

/* ── Results; only once dispatch has returned 0 ───────────────────────────────────────────────────── */

enum airlock_status {
	AIRLOCK_EXITED,
	AIRLOCK_SIGNALED,
	AIRLOCK_TIMED_OUT,
	AIRLOCK_FAILED,
	AIRLOCK_RUNNING, /* not over: only in the history */
};

const char *airlock_run_id(const struct airlock_run *run);
enum airlock_status airlock_run_status(const struct airlock_run *run);
const char *airlock_status_name(enum airlock_status status); /* "exited", "timeout" */
int airlock_run_exit_code(const struct airlock_run *run); /* as `airlock run` exits: own, 128+N, 124, 125, 126, 127 */
const struct airlock_error *airlock_run_error(const struct airlock_run *run); /* code 0 when none */
/* What `airlock run --json` prints, and the text for a model: stdout, stderr, `Exit code: N`, the changes. Both end with a
 * newline; "" when memory is short. */
const char *airlock_run_result_json(struct airlock_run *run);
const char *airlock_run_result_text(struct airlock_run *run);

/* What it changed is in airlock_run_changes (changes.h); what was in force, used and refused in result.h. */
/* What a person should know after the run: what could not be looked at, links that were split. NULL beyond the last. */
const struct airlock_note *airlock_run_note(const struct airlock_run *run, size_t i);
/* During the run: how many paths have changed so far, and the latest of them ("" if unknown; valid until the next
 * call). -1: not known. */
int64_t airlock_run_progress(struct airlock_run *run, const char **ret_latest);

/* The result object for a run that could not start: the same shape with status "error". The caller's: airlock_free. NULL: out
 * of memory. */
char *airlock_failure_json(const struct airlock_error *err);

/* ── After a run ──────────────────────────────────────────────────────────────────────────────────── */

/* run: an id, a unique prefix of one, or "last". Everything it wrote to its standard output, or its error output: a descriptor for reading, the caller's to close.
 * A run that wrote nothing there gives an empty one. */
int airlock_output_open(const struct airlock_settings *s, const char *run, int is_stderr, int *ret_fd,
			struct airlock_error *err);

/* ── The rest of the command line's needs ─────────────────────────────────────────────────────────── */

/* The directory that commands see as $HOME/playground: its path on the host, its size, and emptying it. */
int airlock_playground_path(const struct airlock_settings *s, char **ret_path, struct airlock_error *err);
int airlock_playground_size(const struct airlock_settings *s, uint64_t *ret_bytes, uint64_t *ret_entries,
			    struct airlock_error *err);
int airlock_playground_clear(const struct airlock_settings *s, uint64_t *ret_entries, struct airlock_error *err);

/* Probes this machine by trying. ok: the default profile works. */
struct airlock_doctor;
enum airlock_check_status { AIRLOCK_CHECK_OK, AIRLOCK_CHECK_DEGRADED, AIRLOCK_CHECK_FAILED };
const char *airlock_check_status_name(enum airlock_check_status status); /* "ok", "degraded", "failed" */
struct airlock_check {
	const char *name; /* "user namespaces" */
	enum airlock_check_status status;
	const char *detail;	 /* what was tried and what came of it */
	const char *consequence; /* what does not work because of it, or "" */
	const char *fix;	 /* what to do about it, or "" */
};
int airlock_doctor_examine(const struct airlock_settings *s, struct airlock_doctor **ret, struct airlock_error *err);
int airlock_doctor_ok(const struct airlock_doctor *d);
size_t airlock_doctor_count(const struct airlock_doctor *d);
const struct airlock_check *airlock_doctor_check(const struct airlock_doctor *d, size_t i);
/* True if something fails here that the user was not told within the last day. Remembers that it is told now. */
int airlock_doctor_is_news(const struct airlock_settings *s, const struct airlock_doctor *d);
const char *airlock_doctor_json(struct airlock_doctor *d);
void airlock_doctor_free(struct airlock_doctor *d);

/* {"error": {…}} and a newline. The caller's; NULL: out of memory. */
char *airlock_error_json(const struct airlock_error *err);
void airlock_free(void *p); /* for every text above that is the caller's */

/* Helpers a front-end needs to show things safely. The text is the caller's; NULL: out of memory. */
char *airlock_text_inert(const char *bytes, size_t len); /* control and deceptive characters escaped */
char *airlock_text_json(const char *bytes, size_t len); /* a string of JSON, quoted; what is not UTF-8 becomes U+FFFD */
char *airlock_text_base64(const void *bytes, size_t len);
/* SHA-256 as 64 hexadecimal digits and a NUL. */
void airlock_text_sha256(const void *bytes, size_t len, char ret[65]);
/* A TOML document as a JSON object, the caller's; dates become strings. name is for messages: AIRLOCK_ERR_INVALID tells the line. */
int airlock_text_toml(const char *text, size_t len, const char *name, char **ret_json, struct airlock_error *err);
/* 1 for "true", "yes", "on" and "1", 0 for their opposites, in any case; AIRLOCK_ERR_INVALID for every other word. */
int airlock_text_bool(const char *word);
/* How many columns of a terminal an inert text takes, and how many of its bytes fit into so many columns. */
size_t airlock_text_columns(const char *text, size_t len);
size_t airlock_text_fit(const char *text, size_t len, size_t columns);
const char *airlock_text_nearest(const char *word,
				 const char *const *candidates); /* did you mean; NULL: nothing near */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
