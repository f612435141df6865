/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only table of options. The parser of the command line, its help and completions, the names that
 * airlock_settings_set accepts and the AIRLOCK_* variables all come from it; a test compares the manual with it. */
#include <airlock/airlock.h>

#define FLAG AIRLOCK_OPTION_FLAG, NULL
#define VALUE AIRLOCK_OPTION_VALUE
#define LIST AIRLOCK_OPTION_LIST
#define WORDS(w) .values = (w)
#define COMPLETES(what) .completes = (what)
#define IMPLIES(setting) .implies = (setting)

/* Help shows them in this order: where the command runs, which sandbox, what it may touch, what happens to its
 * changes, limits, environment, and how airlock itself behaves. */
static const struct airlock_option options[] = {
	{"project", 'p', VALUE, "DIR", "the project; default: the nearest directory upward with .git or .airlock.toml",
	 COMPLETES("dir")},
	{"working-dir", 'C', VALUE, "DIR",
	 "the directory to run in; default: the project; 'playground' means ~/playground", COMPLETES("dir")},
	{"profile", 0, VALUE, "NAME", "strict, moderate (default), permissive, or a profile from your configuration",
	 WORDS("strict moderate permissive")},
	{"backend", 0, VALUE, "NAME", "the kind of sandbox; default: auto; passthrough means no sandbox",
	 WORDS("auto native bubblewrap landlock seatbelt passthrough")},
	{"sandbox", 0, FLAG, "use a sandbox even if the environment or a file says otherwise"},
	{"no-sandbox", 0, FLAG, "run without a sandbox (same as --backend passthrough); asks first"},
	{"network", 0, FLAG, "allow connections to every public host; asks every time"},
	{"network-mode", 0, VALUE, "MODE",
	 "off, hosts (what rules and answers allow), open (same as --network), or host (share this machine's network)",
	 WORDS("off hosts open host")},
	{"allow-host", 0, LIST, "HOST[:PORT]",
	 "allow connections to this host; *.NAME means its subdomains; asks first"},
	{"publish", 0, LIST, "[HOSTPORT:]PORT", "make the command's PORT reachable at 127.0.0.1:HOSTPORT; asks first"},
	{"allow-write", 0, LIST, "PATH", "also allow writing to this path; asks first", COMPLETES("path")},
	{"ro", 0, LIST, "PATH", "show this path, read-only", COMPLETES("path")},
	{"hide", 0, LIST, "PATH", "hide this path", COMPLETES("path")},
	{"workspace", 0, VALUE, "DIR", "use this directory as the writable / of the command, instead of a project",
	 COMPLETES("dir")},
	{"bind-ro", 0, LIST, "SRC[:DST]", "with --workspace: also show SRC, read-only, at DST", COMPLETES("path")},
	{"session", 0, VALUE, "NAME",
	 "a command of this session: it sees what the commands before it did; made if there is none",
	 COMPLETES("session")},
	{"end-with", 0, VALUE, "PID",
	 "end the command, and what its session has in the background, when this process ends"},
	{"changes", 0, VALUE, "MODE", "what to do with changes: apply, ask, hold, discard or direct",
	 WORDS("apply ask hold discard direct")},
	{"hold", 0, FLAG, "short for --changes hold", IMPLIES("changes=hold")},
	{"discard", 0, FLAG, "short for --changes discard", IMPLIES("changes=discard")},
	{"explain-denials", 0, FLAG, "report what the sandbox refused, the rule, and the option that would allow it"},
	{"no-explain-denials", 0, FLAG, "do not report refusals (airlock mcp and agents' runs do by default)",
	 IMPLIES("explain-denials=false")},
	{"yes", 'y', FLAG, "answer yes to the questions of this run"},
	{"agent", 0, VALUE, "NAME", "mark this run as an agent's: ask nothing on the terminal"},
	{"permission-wait", 0, VALUE, "DUR", "how long a question of an agent's run waits for a person; default: 120s"},
	{"timeout", 0, VALUE, "DUR", "time limit: 90s, 5m, 1h or none"},
	{"memory", 0, VALUE, "SIZE", "memory limit: 512M, 2G or none"},
	{"pids", 0, VALUE, "N", "maximum number of processes, or none"},
	{"fsize", 0, VALUE, "SIZE", "maximum size of a file it writes: 512M, 2G or none"},
	{"max-output", 0, VALUE, "SIZE", "maximum output per stream in the JSON result; default: 100K"},
	{"env", 0, LIST, "NAME[=VALUE]", "set a variable, or pass on yours"},
	{"clear-env", 0, FLAG, "start from an empty environment"},
	{"shell", 0, VALUE, "SHELL", "the shell for -c: sh (default), bash, zsh or a path", WORDS("sh bash zsh"),
	 COMPLETES("file")},
	{"pty", 't', FLAG, "give the command its own terminal; default if stdin, stdout and stderr are terminals"},
	{"no-pty", 0, FLAG, "give the command no terminal", IMPLIES("pty=false")},
	{"json", 0, FLAG, "print only one JSON object, at the end"},
	{"config", 0, VALUE, "FILE", "read this file instead of your configuration file", COMPLETES("file")},
	{0},
};

const struct airlock_option *airlock_options(void)
{
	return options;
}
