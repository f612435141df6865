/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of options. The command line's parser, its help and completions, the names airlock_settings_set takes
 * and the AIRLOCK_* variables are all read from here; a test holds the manual against it. */
#include <airlock/airlock.h>

#define FLAG AIRLOCK_OPTION_FLAG, NULL
#define VALUE AIRLOCK_OPTION_VALUE
#define LIST AIRLOCK_OPTION_LIST
#define WORDS(w) .values = (w)
#define COMPLETES(what) .completes = (what)
#define IMPLIES(setting) .implies = (setting)

/* In the order help shows them: where, what kind of sandbox, what it may touch, what becomes of changes, limits,
 * environment, and how airlock itself behaves. */
static const struct airlock_option options[] = {
	{"project", 'p', VALUE, "DIR", "the project; default: found upward from here, by .git or .airlock.toml",
	 COMPLETES("dir")},
	{"working-dir", 'C', VALUE, "DIR", "where it runs; default: the project; 'playground' is ~/playground",
	 COMPLETES("dir")},
	{"profile", 0, VALUE, "NAME", "strict, moderate (the default), permissive, or one from your configuration",
	 WORDS("strict moderate permissive")},
	{"backend", 0, VALUE, "NAME", "what makes the sandbox; default: auto; passthrough is no sandbox",
	 WORDS("auto native bubblewrap landlock seatbelt passthrough")},
	{"sandbox", 0, FLAG, "use a sandbox, whatever the environment or a file says"},
	{"no-sandbox", 0, FLAG, "run without a sandbox, as with --backend passthrough; asks"},
	{"network", 0, FLAG, "give it the network; asks every time"},
	{"allow-write", 0, LIST, "PATH", "one more place it may write to; asks", COMPLETES("path")},
	{"ro", 0, LIST, "PATH", "make this visible, read-only", COMPLETES("path")},
	{"hide", 0, LIST, "PATH", "hide this", COMPLETES("path")},
	{"workspace", 0, VALUE, "DIR", "this directory is / inside, writable; no project", COMPLETES("dir")},
	{"bind-ro", 0, LIST, "SRC[:DST]", "with --workspace: one more path, read-only, at DST inside",
	 COMPLETES("path")},
	{"changes", 0, VALUE, "MODE", "what becomes of its changes: apply, ask, hold, discard or direct",
	 WORDS("apply ask hold discard direct")},
	{"hold", 0, FLAG, "short for --changes hold", IMPLIES("changes=hold")},
	{"discard", 0, FLAG, "short for --changes discard", IMPLIES("changes=discard")},
	{"explain-denials", 0, FLAG, "say what was refused, by which rule, and what would allow it"},
	{"no-explain-denials", 0, FLAG, "do not; with airlock mcp it is the default", IMPLIES("explain-denials=false")},
	{"yes", 'y', FLAG, "answer yes to this run's questions"},
	{"agent", 0, VALUE, "NAME", "an agent runs this: no question is asked on a terminal"},
	{"timeout", 0, VALUE, "DUR", "end it after this long: 90s, 5m, 1h or none"},
	{"memory", 0, VALUE, "SIZE", "how much memory it may use: 512M, 2G or none"},
	{"pids", 0, VALUE, "N", "how many processes it may have at once, or none"},
	{"fsize", 0, VALUE, "SIZE", "how large a file it may write: 512M, 2G or none"},
	{"max-output", 0, VALUE, "SIZE", "how much of each stream the JSON result keeps; default: 100K"},
	{"env", 0, LIST, "NAME[=VALUE]", "set a variable, or keep the caller's"},
	{"clear-env", 0, FLAG, "start from an empty environment"},
	{"shell", 0, VALUE, "SHELL", "the shell of a command line: sh (the default), bash, zsh or a path",
	 WORDS("sh bash zsh"), COMPLETES("file")},
	{"pty", 't', FLAG, "give it a terminal of its own; the default where stdin, stdout and stderr are terminals"},
	{"no-pty", 0, FLAG, "give it no terminal", IMPLIES("pty=false")},
	{"json", 0, FLAG, "print one JSON object at the end, nothing else"},
	{"config", 0, VALUE, "FILE", "read this file instead of the user's configuration", COMPLETES("file")},
	{0},
};

const struct airlock_option *airlock_options(void)
{
	return options;
}
