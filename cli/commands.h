/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of commands: main looks them up here, help and completions are made from it.
 *
 *   const struct command *c = command_find("run");
 *   status = invoke(c, argc - 2, argv + 2);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

#include "parse.h"

/* One parsed command line, ready to be executed. */
struct invocation {
	const struct command *command;
	const struct verb *verb; /* NULL for commands without verbs */
	struct arguments args;
	const char *operand;		   /* the word after the verb, or after the command; NULL when not given */
	const char *const *more;	   /* the words after it; ends with NULL */
	struct airlock_settings *settings; /* the environment and the options, for the library */
	bool json;
};

/* Returns an exit status, or a negative enum airlock_code with err filled. */
typedef int command_function(const struct invocation *inv, struct airlock_error *err);

/* The second word of `config show`, `playground clear`… */
struct verb {
	const char *name;
	const char *operand; /* "FILE", "[DIR]" if it is optional, "RUN [PATH...]"; NULL if there is none */
	const char *summary;
	const char *options;   /* as in struct command */
	const char *completes; /* what the operand is: "file", "dir", "session", "session-or-path" or NULL */
	command_function *run;
};

struct command {
	const char *name;
	const char *group; /* its heading in help */
	const char *summary;
	const char *
		options; /* names of options separated by spaces, "*" for all of the library's, "-pty *" for all except that one, NULL for none */
	const char *operand; /* as in struct verb */
	const char *completes;
	const char *words;	  /* the possible words of the operand, separated by spaces, or NULL */
	const char *then;	  /* the same for the operand after it */
	const struct verb *verbs; /* ends with name == NULL; NULL for commands without */
	const char *about;	  /* paragraphs for its help, separated by '\n' */
	const char *examples;	  /* lines "command line\twhat it does" */
	command_function *run;	  /* NULL when it has verbs */
	bool takes_program; /* PROGRAM [ARG…] or -c STRING: the first word that is not an option ends the options */
	bool needs_program;
	bool is_run; /* exits and fails as a run does: the command's status, the result object */
};

extern const struct command commands[]; /* ends with name == NULL */

const struct command *command_find(const char *name); /* NULL: unknown */
/* The command most similar to an unknown word, or NULL. */
const char *command_nearest(const char *word);

/* True if there is a program of this name in PATH, or at this path. */
bool command_is_program(const char *word);

/* The library's options, followed by ours, which only make sense on a command line: they have no variable, and the
 * library does not know them. Ends with name == NULL. */
const struct airlock_option *command_options(void);
bool command_option_is_ours(const char *name);

/* True if an operand like "RUN [PATH...]" takes any number of words. */
bool command_takes_many(const char *operand);

/* True if this list of option names contains it. A command with verbs takes what any of its verbs takes. */
bool command_list_has(const char *list, const char *name);
bool command_takes(const struct command *c, const struct airlock_option *o);

/* Parses the arguments (after the command's name), executes the command, reports a failure. Returns the exit status. */
int invoke(const struct command *c, int argc, char **argv);
/* True if --json is among these words. */
bool invoke_wants_json(int argc, char *const *argv);
/* New settings with the environment and the given options; the caller frees them, also on failure. */
int invocation_settings(const struct invocation *inv, struct airlock_settings **ret, struct airlock_error *err);
/* cmd_explain.c: prints the plan of the settings. */
int explain_job(const struct invocation *inv, struct airlock_error *err);
/* Reports a failure in the command's format, and returns its exit status. */
int invoke_report(const struct command *c, bool json, const struct airlock_error *err);

command_function cmd_agent, cmd_run, cmd_shell, cmd_explain, cmd_doctor, cmd_trust, cmd_completion, cmd_help, cmd_mcp,
	cmd_http;
command_function cmd_permissions_list, cmd_permissions_revoke, cmd_permissions_clear;
command_function cmd_questions, cmd_answer;
command_function cmd_hook, cmd_setup;
command_function cmd_config_show, cmd_config_check, cmd_config_path;
command_function cmd_cache_list, cmd_cache_clear;
command_function cmd_session_new, cmd_session_list, cmd_session_show, cmd_session_rewind, cmd_session_fork,
	cmd_session_merge, cmd_session_end;
command_function cmd_playground_path, cmd_playground_size, cmd_playground_clear;
command_function cmd_fs_ls, cmd_fs_read, cmd_fs_write, cmd_fs_edit, cmd_fs_glob, cmd_fs_grep, cmd_fs_delete;
command_function cmd_project_list, cmd_project_show, cmd_project_scan, cmd_project_remove, cmd_project_links,
	cmd_project_link, cmd_project_unlink;
command_function cmd_changes, cmd_diff, cmd_apply, cmd_discard, cmd_undo, cmd_recover, cmd_review;
command_function cmd_log, cmd_show, cmd_output, cmd_files, cmd_backups, cmd_restore, cmd_gc;
