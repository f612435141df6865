/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The descriptions of the tools, as a model reads them. */
#include "tool_context.h"

/* Not "type": [..., "null"]: some clients support only one type. */
#define OR_NULL(schema) "{\"anyOf\":[" schema ",{\"type\":\"null\"}]}"
#define STRING "{\"type\":\"string\"}"
#define STRINGS "{\"type\":\"array\",\"items\":" STRING "}"
#define INTEGER "{\"type\":\"integer\"}"
#define OBJECT "{\"type\":\"object\"}"

#define ERROR_SCHEMA                                                                                                   \
	OR_NULL("{\"type\":\"object\",\"properties\":{\"code\":" STRING ",\"message\":" STRING                         \
		",\"op\":" OR_NULL(STRING) ",\"subject\":" OR_NULL(STRING) ",\"hint\":" OR_NULL(STRING) "}}")

#define FILES_SCHEMA                                                                                                   \
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"           \
	"\"path_base64\":{\"type\":\"string\"},\"root\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\",\"enum\":" \
	"[\"added\",\"modified\",\"deleted\",\"renamed\",\"metadata\",\"type\"]},\"type\":{\"type\":\"string\"},"      \
	"\"state\":{\"type\":\"string\",\"enum\":[\"applied\",\"held\",\"conflict\",\"skipped\",\"discarded\"]},"      \
	"\"reason\":" OR_NULL(STRING) ",\"reason_code\":" OR_NULL(STRING) ",\"from\":" OR_NULL(                        \
		"{\"type\":\"string\"}") ",\"size\":{\"type\":"                                                        \
					 "\"integer\"},\"mode\":{\"type\":\"string\"},\"owner\":" STRING               \
					 ",\"owner_before\":" OR_NULL(STRING) "},\"required\":[\"path\","              \
									      "\"kind\",\"state\"]}}"

/* What a tool returns, or its error. */
#define OUTPUT(required, properties)                                                                                   \
	"{\"type\":\"object\",\"properties\":{" properties ",\"error\":" ERROR_SCHEMA                                  \
	"},\"anyOf\":[{\"required\":[" required "]},{\"required\":[\"error\"]}]}"

#define CHANGES_OUTPUT                                                                                                 \
	OUTPUT("\"run\",\"state\",\"files\"",                                                                          \
	       "\"run\":" STRING ",\"session\":" OR_NULL(STRING) ",\"state\":" STRING ",\"count\":" INTEGER            \
								 ",\"files\":" FILES_SCHEMA)

#define RUN_OUTPUT_FIRST                                                                                               \
	"\"run\":" OR_NULL(STRING) ",\"status\":{\"type\":\"string\",\"enum\":[\"exited\",\"signaled\",\"timeout\","   \
				   "\"error\"]},\"exit_code\":" INTEGER ",\"signal\":" OR_NULL(INTEGER)
#define RUN_OUTPUT_STREAMS                                                                                             \
	"\"stdout\":" STRING ",\"stderr\":" STRING ",\"stdout_bytes\":" INTEGER ",\"stderr_bytes\":" INTEGER           \
	",\"truncated\":{\"type\":\"boolean\"}"
#define RUN_OUTPUT_CHANGES                                                                                             \
	"\"changes\":{\"type\":\"object\",\"properties\":{\"state\":" STRING ",\"count\":" INTEGER                     \
	",\"files\":" FILES_SCHEMA "},\"required\":[\"state\",\"count\",\"files\"]}"
#define RUN_OUTPUT                                                                                                     \
	"{\"type\":\"object\",\"properties\":{" RUN_OUTPUT_FIRST "," RUN_OUTPUT_STREAMS "," RUN_OUTPUT_CHANGES         \
	",\"notices\":" STRINGS ",\"error\":" ERROR_SCHEMA                                                             \
	"},\"required\":[\"run\",\"status\",\"exit_code\",\"stdout\",\"stderr\",\"changes\",\"notices\",\"error\"]}"

#define INPUT(required, properties)                                                                                    \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],"                            \
	"\"additionalProperties\":false}"

#define RUN_ARGUMENT                                                                                                   \
	"\"run\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The run: its id, a unique beginning of the "   \
	"id, or "                                                                                                      \
	"\\\"last\\\".\"}"

#define PATHS_ARGUMENT                                                                                                 \
	"\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},\"maxItems\":10000,"            \
	"\"description\":\"Only these paths, relative to the project or absolute; a directory means everything below " \
	"it. Default: all.\"}"

#define PATH_ARGUMENT(words)                                                                                           \
	"\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" words                                       \
	" Relative to the project, or absolute inside it.\"}"

#define PATTERN_ARGUMENT(words) "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" words "\"}"

#define NUMBER_ARGUMENT(name, least, words)                                                                            \
	"\"" name "\":{\"type\":\"integer\",\"minimum\":" #least ",\"maximum\":1000000000,\"description\":\"" words    \
	"\"}"

#define FILE_CHANGE_OUTPUT OUTPUT("\"path\"", "\"path\":" STRING)

#define ENTRIES_OUTPUT                                                                                                 \
	OUTPUT("\"entries\"",                                                                                          \
	       "\"entries\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":" STRING       \
	       ",\"is_dir\":{\"type\":\"boolean\"},\"size\":" INTEGER "},\"required\":[\"path\",\"is_dir\"]}}")

static const char run_command_words[] =
	"Run a shell command line and get its output. You have a whole shell: pipes, redirections, && and several "
	"lines work, and so does every program of this machine.\n\nFiles: the command can write to the project "
	"directory and to $HOME/playground, a place for experiments that is kept between commands. Everything else is "
	"read-only, and some of it, like keys and passwords, is hidden. /tmp is empty at the start and thrown away at "
	"the end.\n\nNetwork: there is none, unless you name the hosts it needs, or set network to true for every "
	"public host; then a person is asked, every time. Name hosts where you know them. To "
	"fetch a web page, prefer a tool made for that if you have one.\n\nChanges: the result lists every file that "
	"was added, modified or deleted. Most changes are in the project when the result comes. Some are held until "
	"someone applies them, for example git hooks; that is no error, and repeating the command does not help. "
	"Applied changes can be undone with undo.\n\nBlocked: after the output, the result lists what the sandbox "
	"refused, the rule, and what would allow it. Do not work around it; ask.\n\nEach command starts in "
	"working_dir: cd and variables do not last. There is no input to type, so use options that ask nothing. A "
	"command that fails gives its exit code; read its output, and tell the user plainly what went wrong if you "
	"cannot fix it.";

#define RUN_INPUT                                                                                                      \
	INPUT("\"command\"",                                                                                           \
	      "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The command line, for /bin/sh.\"},"  \
	      "\"working_dir\":{\"type\":\"string\",\"description\":\"Where to run it: an absolute path of a "         \
	      "directory that exists, or \\\"playground\\\" for $HOME/playground. Default: the project "               \
	      "directory.\"},"                                                                                         \
	      "\"network\":{\"type\":\"boolean\",\"description\":\"Whether it needs the network. A person is asked "   \
	      "each "                                                                                                  \
	      "time. Default: false.\"},"                                                                              \
	      "\"hosts\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},\"maxItems\":64,"         \
	      "\"description\":\"The hosts it must be able to connect to, as HOST or HOST:PORT; *.example.org "        \
	      "stands for the subdomains. A person is asked, unless they are allowed already.\"},"                     \
	      "\"timeout\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"description\":\"Seconds after which it is "   \
	      "killed with all its processes; its changes are held then. Cannot be more than the configured "          \
	      "limit.\"},"                                                                                             \
	      "\"allow_write\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},\"maxItems\":32,"   \
	      "\"description\":\"More directories it must be able to write to, as absolute paths. A person is "        \
	      "asked.\"}")

const struct mcp_tool tool_table[] = {
	{.name = "run_command",
	 .title = "Run a command in a sandbox",
	 .description = run_command_words,
	 .input_schema = RUN_INPUT,
	 .output_schema = RUN_OUTPUT,
	 .is_destructive = true,
	 .is_open_world = true,
	 .call = tool_run_command},
	{.name = "list_changes",
	 .title = "List what a run changed",
	 .description = "List the files a run added, modified, deleted or renamed, and the state of each: applied to "
			"the project, held, in conflict, or discarded.",
	 .input_schema = INPUT("\"run\"", RUN_ARGUMENT),
	 .output_schema = CHANGES_OUTPUT,
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_list_changes},
	{.name = "diff",
	 .title = "Show what a run changed",
	 .description =
		 "Show the content of a run's changes as a unified diff, before and after. Works for changes that are "
		 "held as well as for those already applied.",
	 .input_schema = INPUT("\"run\"", RUN_ARGUMENT "," PATHS_ARGUMENT),
	 .output_schema = OUTPUT("\"run\",\"diff\"", "\"run\":" STRING ",\"diff\":" STRING ",\"bytes\":" INTEGER
						     ",\"truncated\":{\"type\":\"boolean\"}"),
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_diff},
	{.name = "apply_changes",
	 .title = "Apply held changes",
	 .description = "Apply held changes of a run to the project. A person is asked first if they want to decide "
			"about all changes, or if other programs would run some of the files later (git hooks, shell "
			"start files, editor tasks). If someone else has edited one of the files in the meantime, "
			"nothing is applied. Applied changes can be undone.",
	 .input_schema = INPUT("\"run\"", RUN_ARGUMENT "," PATHS_ARGUMENT),
	 .output_schema = CHANGES_OUTPUT,
	 .is_destructive = true,
	 .is_idempotent = true,
	 .call = tool_apply_changes},
	{.name = "discard_changes",
	 .title = "Discard held changes",
	 .description = "Throw away held changes of a run. The project stays as it is. This cannot be undone.",
	 .input_schema = INPUT("\"run\"", RUN_ARGUMENT "," PATHS_ARGUMENT),
	 .output_schema = CHANGES_OUTPUT,
	 .is_destructive = true,
	 .is_idempotent = true,
	 .call = tool_discard_changes},
	{.name = "undo",
	 .title = "Undo a run",
	 .description = "Put back what applying a run replaced or deleted, and remove what it added. Default: the last "
			"run that was applied in this project. Undoing the same run again applies it again. If someone "
			"else has edited one of the files since, nothing is undone.",
	 .input_schema = INPUT("", RUN_ARGUMENT "," PATHS_ARGUMENT),
	 .output_schema = CHANGES_OUTPUT,
	 .is_destructive = true,
	 .call = tool_undo},
	{.name = "read_file",
	 .title = "Read a file",
	 .description = "Read a text file of the project, or some of its lines. Default: 2000 lines; next_offset in "
			"the result says where to continue.",
	 .input_schema = INPUT("\"path\"", PATH_ARGUMENT("The file.") "," NUMBER_ARGUMENT(
						   "offset", 0,
						   "The first line to read; 0 is the first line of "
						   "the file.") "," NUMBER_ARGUMENT("limit", 1,
										    "Maximum number "
										    "of lines.")),
	 .output_schema =
		 OUTPUT("\"content\",\"encoding\"",
			"\"content\":" STRING ",\"encoding\":" STRING ",\"start_line\":" INTEGER
			",\"end_line\":" INTEGER ",\"total_lines\":" INTEGER ",\"next_offset\":" OR_NULL(INTEGER)),
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_read_file},
	{.name = "write_file",
	 .title = "Write a file",
	 .description =
		 "Create a file in the project, or replace a whole file; creates missing directories. To change a part "
		 "of a file use edit_file. Like a command's change, this may be held, and it can be undone.",
	 .input_schema = INPUT(
		 "\"path\",\"content\"",
		 PATH_ARGUMENT(
			 "The file.") ",\"content\":{\"type\":\"string\",\"description\":\"The whole content.\"}"),
	 .output_schema = FILE_CHANGE_OUTPUT,
	 .is_destructive = true,
	 .is_idempotent = true,
	 .call = tool_write_file},
	{.name = "edit_file",
	 .title = "Edit a file",
	 .description = "Replace a text in a file of the project by another. The old text must occur exactly once, "
			"including its spaces and line breaks, unless all is true. Can be undone.",
	 .input_schema = INPUT(
		 "\"path\",\"old\",\"new\"",
		 PATH_ARGUMENT(
			 "The file.") ",\"old\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The text to "
				      "replace.\"},\"new\":{\"type\":\"string\",\"description\":\"The text to put in "
				      "its place.\"},\"all\":{\"type\":\"boolean\",\"description\":\"Replace every "
				      "occurrence. Default: false.\"}"),
	 .output_schema = FILE_CHANGE_OUTPUT,
	 .is_destructive = true,
	 .call = tool_edit_file},
	{.name = "list_files",
	 .title = "List a directory",
	 .description = "List a directory of the project, with sizes and times. Default: the project itself.",
	 .input_schema = INPUT("", PATH_ARGUMENT("The directory.")),
	 .output_schema = ENTRIES_OUTPUT,
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_list_files},
	{.name = "glob",
	 .title = "Find files by name",
	 .description = "Find files of the project by a pattern: *, ?, [a-z], {a,b}, and ** for any directories. A "
			"pattern without a slash matches names at any depth.",
	 .input_schema = INPUT(
		 "\"pattern\"",
		 PATTERN_ARGUMENT("Such as *.c or src/**/test_*.py.") "," PATH_ARGUMENT(
			 "Only below this directory.") "," NUMBER_ARGUMENT("max", 1,
									   "Maximum number of files. Default: 1000.")),
	 .output_schema = ENTRIES_OUTPUT,
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_glob},
	{.name = "grep",
	 .title = "Find text in files",
	 .description = "Find the lines of the project's files that contain a text. The text is literal; for regular "
			"expressions run grep with run_command. Skips binary files.",
	 .input_schema = INPUT(
		 "\"pattern\"",
		 PATTERN_ARGUMENT("The text.") "," PATH_ARGUMENT(
			 "Only this file, or below this directory.") ",\"glob\":{\"type\":\"string\",\"minLength\":1,"
								     "\"description\":\"Only files whose names match "
								     "this "
								     "pattern.\"}," NUMBER_ARGUMENT(
									     "max", 1,
									     "Maximum number of lines. Default: 200.")),
	 .output_schema = OUTPUT("\"matches\"",
				 "\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
				 "\"path\":" STRING ",\"line\":" INTEGER ",\"text\":" STRING
				 "},\"required\":[\"path\",\"line\",\"text\"]}},\"truncated\":{\"type\":\"boolean\"}"),
	 .is_read_only = true,
	 .is_idempotent = true,
	 .call = tool_grep},
	{0},
};
