/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents.h"

static const struct airlock_option own_options[] = {
	{.name = "force",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "also where somebody else has changed the file since; their version is kept"},
	{.name = "limit",
	 .letter = 'n',
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "maximum number of lines"},
	{.name = "all", .kind = AIRLOCK_OPTION_FLAG, .help = "of all projects, not only of the one you are in"},
	{.name = "verbose",
	 .letter = 'v',
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "every path, also those of git's own bookkeeping"},
	{.name = "verify",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "instead, see whether the audit file is as it was written"},
	{.name = "deleted", .kind = AIRLOCK_OPTION_FLAG, .help = "only those that are gone and can be brought back"},
	{.name = "date", .kind = AIRLOCK_OPTION_VALUE, .value_name = "YY-MM-DD", .help = "the backup of that day"},
	{.name = "dry-run", .kind = AIRLOCK_OPTION_FLAG, .help = "only tell what would be removed"},
	{.name = "stderr", .kind = AIRLOCK_OPTION_FLAG, .help = "what it wrote to standard error"},
	{.name = "run",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "RUN",
	 .help = "look at the files as they would be with what this run holds"},
	{.name = "offset",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "begin with this line; 0 is the first"},
	{.name = "old", .kind = AIRLOCK_OPTION_VALUE, .value_name = "TEXT", .help = "the text to replace"},
	{.name = "new", .kind = AIRLOCK_OPTION_VALUE, .value_name = "TEXT", .help = "what comes in its place"},
	{.name = "all",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "all of them: everywhere the text is, or the caches of every project"},
	{.name = "glob",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "PATTERN",
	 .help = "only in files whose names match, such as '*.c'"},
	{.name = "max", .kind = AIRLOCK_OPTION_VALUE, .value_name = "N", .help = "at most so many results"},
	{.name = "print", .kind = AIRLOCK_OPTION_FLAG, .help = "print what the file would say, and change nothing"},
	{.name = "undo", .kind = AIRLOCK_OPTION_FLAG, .help = "take airlock out of it again"},
	{0},
};

#define FS_PLACE "workspace bind-ro project config json"
static const struct verb fs_verbs[] = {
	{"ls", "[PATH]", "what is in a directory", FS_PLACE " run", NULL, cmd_fs_ls},
	{"read", "PATH", "the content of a file, or some lines of it", FS_PLACE " run offset limit", NULL, cmd_fs_read},
	{"write", "PATH", "what is on standard input becomes the content", FS_PLACE " changes hold discard", NULL,
	 cmd_fs_write},
	{"edit", "PATH", "replace a text in a file", FS_PLACE " changes hold discard old new all", NULL, cmd_fs_edit},
	{"glob", "PATTERN [PATH]", "files by name", FS_PLACE " run max", NULL, cmd_fs_glob},
	{"grep", "TEXT [PATH]", "lines that have a text in them, literally", FS_PLACE " run glob max", NULL,
	 cmd_fs_grep},
	{"delete", "PATH", "a file, or a directory with all that is in it", FS_PLACE " changes hold discard", NULL,
	 cmd_fs_delete},
	{0},
};

static const struct verb config_verbs[] = {
	{"show", NULL, "every value in force, and the file and line, variable or option that set it", "*", NULL,
	 cmd_config_show},
	{"check", "FILE", "is this file right? If not, where is it wrong?", "json", "file", cmd_config_check},
	{"path", NULL, "the files that are read, the weakest first", "project config", NULL, cmd_config_path},
	{0},
};

static const struct verb playground_verbs[] = {
	{"path", NULL, "where it is on this machine", NULL, NULL, cmd_playground_path},
	{"size", NULL, "how much is in it", "json", NULL, cmd_playground_size},
	{"clear", NULL, "remove everything in it; asks", "yes json", NULL, cmd_playground_clear},
	{0},
};

static const struct verb cache_verbs[] = {
	{"list", NULL, "what the caches of each project take up", "json", NULL, cmd_cache_list},
	{"clear", "[DIR]", "remove what is in those of this project, or of the one at DIR", "all json", "dir",
	 cmd_cache_clear},
	{0},
};

static const struct verb permissions_verbs[] = {
	{"list", NULL, "the answers that are remembered, the newest first", "json", NULL, cmd_permissions_list},
	{"revoke", "ID", "forget one of them", "json", NULL, cmd_permissions_revoke},
	{"clear", NULL, "forget all of them", "json", NULL, cmd_permissions_clear},
	{0},
};

static const struct verb project_verbs[] = {
	{"add", "[DIR]", "record the project's files, so that they are backed up when a run changes them",
	 "project json", "dir", cmd_project_add},
	{"list", NULL, "the projects with records", "json", NULL, cmd_project_list},
	{"show", "[DIR]", "one of them: its roots, and how many files", "project json", "dir", cmd_project_show},
	{"scan", "[DIR]", "search its symbolic links and its files anew", "project json", "dir", cmd_project_scan},
	{"links", "[DIR]", "its symbolic links that lead out, and which a person has allowed", "project json", "dir",
	 cmd_project_links},
	{"link", "PATH... [DIR]", "allow commands to write to the directories that these links lead to", "project json",
	 "path", cmd_project_link},
	{"unlink", "PATH... [DIR]", "deny it, for good", "project json", "path", cmd_project_unlink},
	{"remove", "[DIR]", "remove its records; files and backups stay", "project json", "dir", cmd_project_remove},
	{0},
};

const struct command commands[] = {
	{.name = "run",
	 .group = "Run commands",
	 .summary = "run a program or a command line in a sandbox",
	 .options = "*",
	 .takes_program = true,
	 .needs_program = true,
	 .is_run = true,
	 .run = cmd_run,
	 .about = "Runs PROGRAM, or the command line STRING with a shell, where it can change nothing but the project "
		  "and "
		  "the playground, and has no network unless you allow it. Input and output are passed on.",
	 .examples = "airlock run -- make test\tbuild and test, with no network\n"
		     "airlock run -c 'grep -rn TODO src | wc -l'\ta whole command line\n"
		     "airlock run --profile strict --timeout 30s -- ./script.py\ttrust it less\n"
		     "airlock run --network --yes -- npm install\twith the network, without a question\n"
		     "airlock run --json -- make\tthe result as one JSON object"},
	{.name = "shell",
	 .group = "Run commands",
	 .summary = "an interactive shell in a sandbox",
	 .options = "*",
	 .is_run = true,
	 .run = cmd_shell,
	 .about = "Starts your shell ($SHELL, or the one of --shell) in a terminal of its own, with the same "
		  "restrictions "
		  "as airlock run.",
	 .examples = "airlock shell\tlook around inside\n"
		     "airlock shell --profile strict\tsee what the strict profile leaves"},
	{.name = "explain",
	 .group = "Run commands",
	 .summary = "what a run would see and touch, and why; runs nothing",
	 .options = "*",
	 .takes_program = true,
	 .run = cmd_explain,
	 .about = "Prints the plan of a run with the same options: mounts, environment, limits and namespaces, each "
		  "with "
		  "the rule that asked for it. Nothing is run and nothing is asked. Without PROGRAM it is the plan of "
		  "airlock shell.",
	 .examples = "airlock explain\tthe plan for this directory\n"
		     "airlock explain --profile strict -- make\tthe plan for one command\n"
		     "airlock explain --json -- make\tthe same for a program"},
	{.name = "mcp",
	 .group = "Run commands",
	 .summary = "give an agent these commands as tools (MCP server)",
	 .options = "-pty -json *",
	 .run = cmd_mcp,
	 .about = "Speaks the Model Context Protocol on standard input and output, for a program that is set up to "
		  "start it. "
		  "Its tools run commands, look at files, and review, apply and undo changes, in the project the "
		  "server is "
		  "started in or that --project names. The options hold for every command; what an agent asks for "
		  "beyond "
		  "them, the client asks you.",
	 .examples = "airlock mcp --project ~/src/thing\twhat to put into the agent's configuration\n"
		     "airlock mcp --profile strict\ttrust it less"},
	{.name = "changes",
	 .group = "Decide about changes",
	 .summary = "what a run changed, and what became of it",
	 .options = "json verbose",
	 .operand = "RUN",
	 .words = "last",
	 .run = cmd_changes,
	 .about = "Lists what the run changed, one line a path: A added, M modified, D deleted, R renamed, m its mode "
		  "or "
		  "times only, T its type. What git keeps for itself (index, refs, objects) is one line; -v lists it. "
		  "RUN "
		  "is the id of a run, the beginning of one, or 'last'.",
	 .examples = "airlock changes last\twhat the last run changed\n"
		     "airlock changes 20261115-1930 --json\tfor a program"},
	{.name = "diff",
	 .group = "Decide about changes",
	 .summary = "the content of a run's changes, before and after",
	 .options = "json",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .run = cmd_diff,
	 .about =
		 "Prints a unified diff of what the run changed, or of these paths only (relative to the project, or "
		 "absolute). On a terminal it is coloured, and goes through $PAGER, or less, when it is long; anywhere "
		 "else it is fit for git apply and patch -p1.",
	 .examples = "airlock diff last\tread it before you apply it\n"
		     "airlock diff last src >my.patch\tkeep a part of it"},
	{.name = "review",
	 .group = "Decide about changes",
	 .summary = "go through the changes that wait, and decide",
	 .options = "project",
	 .operand = "[RUN]",
	 .words = "last",
	 .run = cmd_review,
	 .about =
		 "Shows the changes that a run holds as a list on the terminal. The keys are at the bottom: look at "
		 "what "
		 "each "
		 "one changes, select some, apply them or all, discard them, or hold them as they are. The same list "
		 "is "
		 "shown after airlock run --changes ask. Without RUN it is the newest run of this project with changes "
		 "that wait. A dumb terminal, a very small one, or one where NO_COLOR is set gets questions in lines "
		 "instead.",
	 .examples = "airlock review\twhat waits in this project\n"
		     "airlock review 20261115-1930\tone run"},
	{.name = "apply",
	 .group = "Decide about changes",
	 .summary = "make the changes that were held",
	 .options = "yes json force",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .run = cmd_apply,
	 .about =
		 "Makes the held changes of the run in the project, or those of these paths only, with the directories "
		 "they need. Sensitive ones (those that make other programs do things: git hooks, shell start "
		 "files...) "
		 "are listed first, and on a terminal you are asked. Where somebody else has changed a file since the "
		 "run "
		 "began nothing is done, unless --force says so.",
	 .examples = "airlock apply last\teverything\n"
		     "airlock apply last src/a.c\tthis file only\n"
		     "airlock apply last --force\tthe run's version, whoever changed the files since"},
	{.name = "discard",
	 .group = "Decide about changes",
	 .summary = "throw away the changes that were held",
	 .options = "json",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .run = cmd_discard,
	 .about = "Throws away the held changes of the run, or those of these paths only. The project stays as it is.",
	 .examples = "airlock discard last\tall that is held\n"
		     "airlock discard last build\tthe rest stays held"},
	{.name = "undo",
	 .group = "Decide about changes",
	 .summary = "put back what applying a run replaced",
	 .options = "project json force",
	 .operand = "[RUN] [PATH...]",
	 .words = "last",
	 .completes = "path",
	 .run = cmd_undo,
	 .about =
		 "Makes the project as it was before the changes of the run were applied, or these paths only. Without "
		 "RUN it is the last run that was applied here. Undoing a run that was undone applies it again. A "
		 "first "
		 "word that could be the beginning of a run's id is RUN; a path that looks like one comes after --.",
	 .examples = "airlock undo\tthe last thing that was applied here\n"
		     "airlock undo last src/a.c\tonly this file\n"
		     "airlock undo -- 2026\ta path that looks like a run"},
	{.name = "recover",
	 .group = "Decide about changes",
	 .summary = "finish or revert what was interrupted",
	 .options = "json",
	 .run = cmd_recover,
	 .about = "Applying that was interrupted, by a crash or a power cut, is finished or reverted, so that no file "
		  "is "
		  "half old and half new. Every run does this too before it begins.",
	 .examples = "airlock recover\tafter a crash"},
	{.name = "log",
	 .group = "Look back",
	 .summary = "the runs there were, newest first",
	 .options = "project all json limit verify",
	 .run = cmd_log,
	 .about = "One line a run of this project: its id, how it ended, how many changes it made and what became of "
		  "them, and the command. Runs that were refused are listed too. Everything is also written to an "
		  "audit file, in "
		  "which "
		  "each line carries the hash of the one before; --verify tells whether it is as it was written.",
	 .examples = "airlock log -n 10\tthe last ten\n"
		     "airlock log --all\tthose of all projects\n"
		     "airlock log --project . --json\tthose of this project, for a program\n"
		     "airlock log --verify\thas anybody changed the audit file?"},
	{.name = "show",
	 .group = "Look back",
	 .summary = "one run in full",
	 .options = "json",
	 .operand = "RUN",
	 .words = "last",
	 .run = cmd_show,
	 .about = "The command, who asked for it, what was asked and answered, the policy and who set what of it, the "
		  "isolation that was in force, how it ended, and what it changed.",
	 .examples = "airlock show last\tthe last run\n"
		     "airlock show last --json\twith its output, as one object"},
	{.name = "output",
	 .group = "Look back",
	 .summary = "everything a run wrote to its output",
	 .options = "stderr json",
	 .operand = "RUN",
	 .words = "last",
	 .run = cmd_output,
	 .about = "Prints the whole output of the run byte for byte, however much of it was cut from the result.",
	 .examples = "airlock output last\tstandard output\n"
		     "airlock output last --stderr\tstandard error"},
	{.name = "fs",
	 .group = "Run commands",
	 .summary = "files of a workspace or a project, as its commands see them",
	 .verbs = fs_verbs,
	 .about = "Lists, reads, searches and changes files without running anything. With --workspace DIR, /x, x and "
		  "./x are "
		  "the "
		  "file that a command of airlock run --workspace DIR calls /x, and changes are made at once. In a "
		  "project "
		  "paths are relative to it, and a change is a run of its own: held or applied like a command's, and "
		  "undone "
		  "by airlock undo. Nothing leads out of the workspace or the project.",
	 .examples = "airlock fs --workspace ~/thread ls /\twhat is there\n"
		     "airlock fs --workspace ~/thread write /a.py <a.py\tput a file there\n"
		     "airlock fs read src/main.c --offset 100 --limit 20\tlines 101 to 120\n"
		     "airlock fs edit README.md --old teh --new the\tand airlock undo takes it back\n"
		     "airlock fs glob '**/*.{c,h}' src\tfiles by name\n"
		     "airlock fs grep TODO --glob '*.py' --max 20\tlines by what is in them\n"
		     "airlock fs --run last read file\tas it would be with what the last run holds"},
	{.name = "files",
	 .group = "Look back",
	 .summary = "the recorded files of a project",
	 .options = "project json deleted",
	 .operand = "[DIR]",
	 .completes = "dir",
	 .run = cmd_files,
	 .about = "Lists the records of the project's files: size, path, and whether git ignores it. A file that a run "
		  "has deleted keeps its record while there is a backup of it.",
	 .examples = "airlock files --deleted\twhat can be brought back\n"
		     "airlock files --json ~/src/thing\tfor a program"},
	{.name = "backups",
	 .group = "Look back",
	 .summary = "the daily backups of recorded files",
	 .options = "project json",
	 .operand = "[PATH]",
	 .completes = "path",
	 .run = cmd_backups,
	 .about =
		 "A backup is a file as it was before the first change that was made to it on a day. They are kept for "
		 "seven days, unless the configuration says otherwise.",
	 .examples = "airlock backups\tall of them\n"
		     "airlock backups src/a.c\tof one file"},
	{.name = "restore",
	 .group = "Look back",
	 .summary = "put a file back from its backup",
	 .options = "project json date",
	 .operand = "PATH",
	 .completes = "path",
	 .run = cmd_restore,
	 .about = "Puts the newest backup of the file, or that of a day, in its place. It is applied like the changes "
		  "of "
		  "a run: what is there now is kept, and undo takes it back.",
	 .examples = "airlock restore src/a.c\tas it was before the last day it was changed\n"
		     "airlock restore src/a.c --date 26-11-15\tas it was before that day"},
	{.name = "config",
	 .group = "Set it up",
	 .summary = "show or check the configuration",
	 .verbs = config_verbs,
	 .about = "The configuration is merged from a system file, your own file, the project's .airlock.toml, the "
		  "AIRLOCK_* variables and the options; each overrules those before it. airlock.toml(5) tells what the "
		  "files may say.",
	 .examples = "airlock config show\twhat is in force here\n"
		     "airlock config show --profile strict\twhat would be with this option\n"
		     "airlock config check .airlock.toml\tbefore you commit it"},
	{.name = "setup",
	 .group = "For agents",
	 .summary = "make an agent run its commands in airlock",
	 .options = "print undo",
	 .operand = "AGENT",
	 .words = AGENT_NAMES,
	 .run = cmd_setup,
	 .about = "Writes a hook into your configuration of the agent, so that every command line it wants to run is "
		  "run by airlock. Everything else in the file stays; what it was before is kept beside it. Doing it "
		  "twice does nothing.",
	 .examples = "airlock setup claude\tClaude Code runs commands in airlock\n"
		     "airlock setup gemini --print\tlook at it first\n"
		     "airlock setup claude --undo\tno longer"},
	{.name = "hook",
	 .group = "For agents",
	 .summary = "answer an agent's hook: its commands run in a sandbox",
	 .operand = "AGENT",
	 .words = AGENT_NAMES,
	 .run = cmd_hook,
	 .about = "Reads the tool call that the agent is about to make, as JSON, from standard input, and answers in "
		  "the agent's own way: a command line is to be run by airlock, every other call is left alone. A call "
		  "that is not understood is blocked (exit status 2). 'airlock setup' tells the agent to call it.",
	 .examples = "airlock hook claude <call.json\twhat Claude Code would be told"},
	{.name = "trust",
	 .group = "Set it up",
	 .summary = "trust a project's .airlock.toml as it is now",
	 .operand = "[DIR]",
	 .completes = "dir",
	 .run = cmd_trust,
	 .about = "A project's own .airlock.toml may only tighten what your configuration allows, until you trust it. "
		  "Read it first. Trust holds for its present content: after an edit it must be given again.",
	 .examples = "airlock trust\tthe project you are in\n"
		     "airlock trust ~/src/thing\tanother one"},
	{.name = "project",
	 .group = "Set it up",
	 .summary = "the projects, their links and the records of their files",
	 .verbs = project_verbs,
	 .about =
		 "A project is its directory and the directories its symbolic links lead to, once you have allowed it: "
		 "links lists the links that lead out, link allows what they lead to, unlink denies it. The links are "
		 "searched when the project is first seen, remembered, and only verified after that; a link that leads "
		 "elsewhere later is a new one.\n"
		 "The files of a project that was added have records: before a run's changes to such a file are "
		 "applied, the file as it was is kept as the backup of that day.",
	 .examples = "airlock project add\tthe one you are in\n"
		     "airlock project links\twhich links lead out, and whether you have allowed it\n"
		     "airlock project link vendor\tcommands may write to where vendor leads\n"
		     "airlock project scan\tafter you have made new links\n"
		     "airlock project list --json\tfor a program"},
	{.name = "permissions",
	 .group = "Look after it",
	 .summary = "the answers you gave for longer than one run",
	 .verbs = permissions_verbs,
	 .about = "A command that would run without a sandbox may be allowed or denied for this session or always, if "
		  "it is a simple one. The answer holds for exactly that command in that directory of that project. "
		  "Network access and extra writable paths are asked about every time and are never remembered.",
	 .examples = "airlock permissions list\twhat is allowed, and what denied\n"
		     "airlock permissions revoke 3\tbe asked again\n"
		     "airlock permissions clear\tbe asked about everything again"},
	{.name = "gc",
	 .group = "Look after it",
	 .summary = "remove what nobody needs any more",
	 .options = "dry-run json config",
	 .run = cmd_gc,
	 .about =
		 "Removes what runs that crashed have left, backups older than seven days, and runs older than thirty, "
		 "unless the configuration says otherwise. A run with changes that wait for you stays, whatever its "
		 "age.",
	 .examples = "airlock gc --dry-run\twhat would go\n"
		     "airlock gc\tremove it"},
	{.name = "doctor",
	 .group = "Look after it",
	 .summary = "try what this machine can do, and what to do about the rest",
	 .options = "profile backend json config",
	 .run = cmd_doctor,
	 .about = "Each line is something that was really tried. Exits with 1 when the default profile cannot be had.",
	 .examples = "airlock doctor\tfor you\n"
		     "airlock doctor --json\tfor a program"},
	{.name = "playground",
	 .group = "Look after it",
	 .summary = "the directory every command may write to",
	 .verbs = playground_verbs,
	 .about =
		 "The playground is ~/playground inside the sandbox and is kept between runs; on this machine it lives "
		 "where 'airlock playground path' says.",
	 .examples = "airlock playground size\thow much is in it\n"
		     "ls \"$(airlock playground path)\"\twhat is in it\n"
		     "airlock playground clear --yes\tempty it without a question"},
	{.name = "cache",
	 .group = "Look after it",
	 .summary = "what commands have put into the caches of your home",
	 .verbs = cache_verbs,
	 .about = "A command may write to the caches of your home, such as ~/.npm and ~/.cache. What it writes goes to "
		  "a "
		  "layer that is kept for its project: your home stays as it is, and no other project sees it, unless "
		  "[cache] in the configuration says otherwise.",
	 .examples = "airlock cache list\thow much there is, and whose\n"
		     "airlock cache clear\tbegin anew in this project\n"
		     "airlock cache clear --all\tin every project"},
	{.name = "completion",
	 .group = "Learn about it",
	 .summary = "completion for a shell",
	 .operand = "SHELL",
	 .words = "bash zsh fish",
	 .run = cmd_completion,
	 .about = "Prints a script that completes commands, options and their values.",
	 .examples = "source <(airlock completion bash)\tin ~/.bashrc\n"
		     "airlock completion zsh >\"${fpath[1]}/_airlock\"\tonce, for zsh\n"
		     "airlock completion fish >~/.config/fish/completions/airlock.fish\tonce, for fish"},
	{.name = "help",
	 .group = "Learn about it",
	 .summary = "all commands, or all about one",
	 .operand = "[COMMAND]",
	 .completes = "command",
	 .run = cmd_help,
	 .about = "Lists the commands, or tells everything about one of them.",
	 .examples = "airlock help run\tthe same as airlock run --help"},
	{0},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const char *command_nearest(const char *word)
{
	const char *names[sizeof commands / sizeof *commands];
	size_t n = 0;
	for (const struct command *c = commands; c->name; c++)
		names[n++] = c->name;
	names[n] = NULL;
	return airlock_text_nearest(word, names);
}

bool command_is_program(const char *word)
{
	const char *dir = getenv("PATH");
	char path[4096];
	if (strchr(word, '/'))
		return access(word, X_OK) == 0;
	while (dir && *dir) {
		size_t len = strcspn(dir, ":");
		int n = snprintf(path, sizeof path, "%.*s/%s", (int)len, dir, word);
		if (len > 0 && n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0)
			return true;
		dir += len + (dir[len] == ':');
	}
	return false;
}

/* Both tables in one, so that whoever needs options needs one loop. */
const struct airlock_option *command_options(void)
{
	static struct airlock_option all[96];
	size_t n = 0;
	if (all[0].name)
		return all;
	for (const struct airlock_option *o = airlock_options(); o->name && n < 64; o++)
		all[n++] = *o;
	for (const struct airlock_option *o = own_options; o->name; o++)
		all[n++] = *o;
	return all;
}

bool command_option_is_ours(const char *name)
{
	for (const struct airlock_option *o = own_options; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

bool command_takes_many(const char *operand)
{
	return operand && strstr(operand, "...");
}

bool command_list_has(const char *list, const char *name)
{
	size_t len = strlen(name);
	while (list && *list) {
		size_t n = strcspn(list, " ");
		if (*list == '-' && n == len + 1 && strncmp(list + 1, name, len) == 0)
			return false;
		if ((n == 1 && *list == '*' && !command_option_is_ours(name)) ||
		    (n == len && strncmp(list, name, n) == 0))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

bool command_takes(const struct command *c, const struct airlock_option *o)
{
	for (const struct verb *v = c->verbs; v && v->name; v++)
		if (command_list_has(v->options, o->name))
			return true;
	return command_list_has(c->options, o->name);
}
