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
	 .help = "replace files that someone else changed since; undo brings their version back"},
	{.name = "limit",
	 .letter = 'n',
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "maximum number of lines"},
	{.name = "all", .kind = AIRLOCK_OPTION_FLAG, .help = "list all projects, not only this one"},
	{.name = "verbose",
	 .letter = 'v',
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "list every path, including git's own bookkeeping"},
	{.name = "verify", .kind = AIRLOCK_OPTION_FLAG, .help = "check instead that nobody changed the audit file"},
	{.name = "deleted", .kind = AIRLOCK_OPTION_FLAG, .help = "list only deleted files that can be restored"},
	{.name = "date", .kind = AIRLOCK_OPTION_VALUE, .value_name = "YY-MM-DD", .help = "use the backup of this day"},
	{.name = "dry-run", .kind = AIRLOCK_OPTION_FLAG, .help = "print what would be removed, and remove nothing"},
	{.name = "stderr", .kind = AIRLOCK_OPTION_FLAG, .help = "print standard error instead of standard output"},
	{.name = "run",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "RUN",
	 .help = "read the files as they would be after applying this run"},
	{.name = "offset",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "first line to print; 0 is the first line of the file"},
	{.name = "old", .kind = AIRLOCK_OPTION_VALUE, .value_name = "TEXT", .help = "the text to replace"},
	{.name = "new", .kind = AIRLOCK_OPTION_VALUE, .value_name = "TEXT", .help = "the text to put in its place"},
	{.name = "all",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "replace every occurrence, or clear the caches of every project"},
	{.name = "glob",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "PATTERN",
	 .help = "search only files whose names match, such as '*.c'"},
	{.name = "max", .kind = AIRLOCK_OPTION_VALUE, .value_name = "N", .help = "maximum number of results"},
	{.name = "into",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "OTHER",
	 .completes = "session",
	 .help = "the session that gets the changes"},
	{.name = "merge",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "merge files that someone else changed since with their version, where that is clean"},
	{.name = "print", .kind = AIRLOCK_OPTION_FLAG, .help = "print what would be written, and change nothing"},
	{.name = "check", .kind = AIRLOCK_OPTION_FLAG, .help = "say whether commands go through airlock now"},
	{.name = "mcp", .kind = AIRLOCK_OPTION_FLAG, .help = "airlock's tools instead of the agent's own shell"},
	{.name = "watch",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "show questions as they come; on a terminal, answer by key"},
	{.name = "yolo", .kind = AIRLOCK_OPTION_FLAG, .help = "start the agent with its own option that asks nothing"},
	{.name = "undo", .kind = AIRLOCK_OPTION_FLAG, .help = "remove airlock from the agent's configuration"},
	{.name = "listen",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "ADDRESS:PORT",
	 .help = "where to listen; port 0 takes any that is free"},
	{.name = "no-open", .kind = AIRLOCK_OPTION_FLAG, .help = "print the address, and open no browser"},
	{.name = "tls-cert",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "FILE",
	 .completes = "file",
	 .help = "serve https with this certificate (PEM)"},
	{.name = "tls-key",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "FILE",
	 .completes = "file",
	 .help = "the private key of the certificate (PEM)"},
	{.name = "behind-proxy",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "a proxy in front encrypts, and checks the Host header"},
	{.name = "token-file",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "FILE",
	 .completes = "file",
	 .help = "the tokens of clients and their quotas; read again on SIGHUP"},
	{.name = "new-token",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "NAME",
	 .help = "add a token to the token file, print it once, and end"},
	{.name = "workspaces",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "DIR",
	 .completes = "dir",
	 .help = "where the sandboxes are kept"},
	{.name = "max-sandboxes",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "maximum number of sandboxes of all tokens together"},
	{.name = "name",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "NAME",
	 .help = "the server's name, with which the ids of its sandboxes begin"},
	{.name = "single",
	 .kind = AIRLOCK_OPTION_FLAG,
	 .help = "also serve the routes of agent-sandbox, on one sandbox"},
	{.name = "pool",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "N",
	 .help = "how many sandboxes to prepare ahead (default 4)"},
	{.name = "idle",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "DUR",
	 .help = "end the processes of a sandbox unused for so long (default 10m)"},
	{.name = "max-age",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "DUR",
	 .help = "delete a sandbox unused for so long (default none)"},
	{.name = "drain",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "DUR",
	 .help = "how long commands may go on after SIGTERM (default 30s)"},
	{.name = "open-metrics", .kind = AIRLOCK_OPTION_FLAG, .help = "serve /metrics without a token"},
	{.name = "audit",
	 .kind = AIRLOCK_OPTION_VALUE,
	 .value_name = "FILE",
	 .completes = "file",
	 .help = "append a line of JSON for everything that a token does"},
	{0},
};

#define FS_PLACE "workspace bind-ro project config json"
static const struct verb fs_verbs[] = {
	{"ls", "[PATH]", "list a directory", FS_PLACE " run", NULL, cmd_fs_ls},
	{"read", "PATH", "print a file, or some of its lines", FS_PLACE " run offset limit", NULL, cmd_fs_read},
	{"write", "PATH", "write standard input to a file", FS_PLACE " changes hold discard", NULL, cmd_fs_write},
	{"edit", "PATH", "replace text in a file", FS_PLACE " changes hold discard old new all", NULL, cmd_fs_edit},
	{"glob", "PATTERN [PATH]", "find files by name", FS_PLACE " run max", NULL, cmd_fs_glob},
	{"grep", "TEXT [PATH]", "find lines that contain a text (not a pattern)", FS_PLACE " run glob max", NULL,
	 cmd_fs_grep},
	{"delete", "PATH", "delete a file, or a directory and everything in it", FS_PLACE " changes hold discard", NULL,
	 cmd_fs_delete},
	{0},
};

static const struct verb config_verbs[] = {
	{"show", NULL, "print every value, and the file and line, variable or option that set it", "*", NULL,
	 cmd_config_show},
	{"check", "FILE", "check a configuration file and report every mistake with its line", "json", "file",
	 cmd_config_check},
	{"path", NULL, "list the files that airlock reads; later ones override earlier ones", "project config", NULL,
	 cmd_config_path},
	{0},
};

static const struct verb playground_verbs[] = {
	{"path", NULL, "print its path on this machine", NULL, NULL, cmd_playground_path},
	{"size", NULL, "print its size", "json", NULL, cmd_playground_size},
	{"clear", NULL, "delete everything in it; asks first", "yes json", NULL, cmd_playground_clear},
	{0},
};

static const struct verb cache_verbs[] = {
	{"list", NULL, "list the caches of each project and their size", "json", NULL, cmd_cache_list},
	{"clear", "[DIR]", "delete the caches of this project, or of the project at DIR", "all json", "dir",
	 cmd_cache_clear},
	{0},
};

static const struct verb session_verbs[] = {
	{"new", "[NAME]", "start a session, and print its name", "project changes hold json", NULL, cmd_session_new},
	{"list", NULL, "list the sessions of this project", "project all json", NULL, cmd_session_list},
	{"show", "NAME", "show a session: its steps and what they changed", "project json", "session",
	 cmd_session_show},
	{"rewind", "NAME [STEP]", "drop the held steps after STEP; without STEP, the last one", "project json",
	 "session", cmd_session_rewind},
	{"fork", "NAME NEW", "start a second session that goes on from where this one is", "project json", "session",
	 cmd_session_fork},
	{"merge", "NAME", "make what a session changed a step of another", "project into json", "session",
	 cmd_session_merge},
	{"end", "NAME", "close a session and empty its /tmp; what it holds stays", "project json", "session",
	 cmd_session_end},
	{0},
};

static const struct verb permissions_verbs[] = {
	{"list", NULL, "list the remembered answers, newest first", "json", NULL, cmd_permissions_list},
	{"revoke", "ID", "forget one answer", "json", NULL, cmd_permissions_revoke},
	{"clear", NULL, "forget all answers", "json", NULL, cmd_permissions_clear},
	{0},
};

static const struct verb project_verbs[] = {
	{"add", "[DIR]", "record the project's files, so that airlock backs them up when a run changes them",
	 "project json", "dir", cmd_project_scan},
	{"list", NULL, "list the recorded projects", "json", NULL, cmd_project_list},
	{"show", "[DIR]", "show one project: its roots and its number of files", "project json", "dir",
	 cmd_project_show},
	{"scan", "[DIR]", "search the project for symbolic links and files again", "project json", "dir",
	 cmd_project_scan},
	{"links", "[DIR]", "list the symbolic links that lead out of the project, and which of them you allowed",
	 "project json", "dir", cmd_project_links},
	{"link", "PATH... [DIR]", "let commands write to the directories behind these links", "project json", "path",
	 cmd_project_link},
	{"unlink", "PATH... [DIR]", "never let commands write there", "project json", "path", cmd_project_unlink},
	{"remove", "[DIR]", "remove the records; files and backups stay", "project json", "dir", cmd_project_remove},
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
	 .about = "Runs PROGRAM, or passes STRING to a shell, in a sandbox. The command can change only the "
		  "project and the playground, and has no network unless you allow it. Its input and output are "
		  "passed on.",
	 .examples = "airlock run -- make test\tbuild and test, with no network\n"
		     "airlock run -c 'grep -rn TODO src | wc -l'\ta whole command line\n"
		     "airlock run --profile strict --timeout 30s -- ./script.py\twith tighter rules and a time limit\n"
		     "airlock run --network --yes -- npm install\twith the network, and without a question\n"
		     "airlock run --json -- make\tprint the result as one JSON object"},
	{.name = "shell",
	 .group = "Run commands",
	 .summary = "start an interactive shell in a sandbox",
	 .options = "*",
	 .is_run = true,
	 .run = cmd_shell,
	 .about = "Starts your shell ($SHELL, or the one named with --shell) in its own terminal, with the same "
		  "restrictions as airlock run.",
	 .examples = "airlock shell\tlook around inside\n"
		     "airlock shell --profile strict\tsee what the strict profile allows"},
	{.name = "session",
	 .group = "Run commands",
	 .summary = "let several commands work on one piece of work",
	 .verbs = session_verbs,
	 .about = "A command of a session (airlock run --session NAME) sees what the commands before it did. If the "
		  "session holds its changes, the project stays as it is until you decide about all of them: "
		  "changes, diff, review, apply, discard and undo take the name of a session instead of a run.",
	 .examples = "airlock run --session fix --hold -- make\tthe first command; the session is made for it\n"
		     "airlock run --session fix -- make test\tsees what make has built\n"
		     "airlock session rewind fix\tas if the last command had not been\n"
		     "airlock apply fix\teverything that its commands changed"},
	{.name = "explain",
	 .group = "Run commands",
	 .summary = "show what a run would see and may change, and why; runs nothing",
	 .options = "*",
	 .takes_program = true,
	 .run = cmd_explain,
	 .about = "Prints the plan of a run with these options: mounts, environment, limits and namespaces, each "
		  "with the rule behind it. Runs nothing and asks nothing. Without PROGRAM, prints the plan of "
		  "airlock shell.",
	 .examples = "airlock explain\tthe plan for this directory\n"
		     "airlock explain --profile strict -- make\tthe plan for one command\n"
		     "airlock explain --json -- make\tthe same as JSON"},
	{.name = "mcp",
	 .group = "Run commands",
	 .summary = "serve these commands to an agent as tools (MCP server)",
	 .options = "-pty -json *",
	 .run = cmd_mcp,
	 .about = "Speaks the Model Context Protocol on standard input and output, for a program that is "
		  "configured to start it. Its tools run commands, read and write files, and review, apply and "
		  "undo changes, in the project where it was started or that --project names. The options apply to "
		  "every command. If an agent wants more than they allow, its client asks you.",
	 .examples = "airlock mcp --project ~/src/thing\tthe command for the agent's configuration\n"
		     "airlock mcp --profile strict\twith tighter rules"},
	{.name = "serve",
	 .group = "Run commands",
	 .summary = "serve sandboxes to programs over HTTP (REST and MCP)",
	 .options = "listen token-file new-token workspaces max-sandboxes name single pool idle max-age drain audit "
		    "open-metrics tls-cert tls-key behind-proxy profile backend timeout memory pids fsize bind-ro env "
		    "max-output config",
	 .run = cmd_http,
	 .about =
		 "Gives each client sandboxes of its own: a directory that is / inside, commands that run there, and its "
		 "files. It listens on a loopback address, unless it has a certificate or a proxy in front.",
	 .examples = "airlock serve --new-token ci --token-file tokens.toml\tmake a token, and print it\n"
		     "airlock serve --listen 127.0.0.1:8080 --token-file tokens.toml\tfor programs on this machine"},
	{.name = "ui",
	 .group = "Decide about changes",
	 .summary = "open a page in the browser to look at runs and decide about them",
	 .options = "listen no-open",
	 .run = cmd_http,
	 .about =
		 "Prints the address of the page, which only works with the token that is part of it, and serves it on this "
		 "machine until it is stopped (Ctrl-C).",
	 .examples = "airlock ui\topen the page\n"
		     "airlock ui --no-open\tonly print its address"},
	{.name = "changes",
	 .group = "Decide about changes",
	 .summary = "list what a run changed, and whether it was applied",
	 .options = "json verbose",
	 .operand = "RUN",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_changes,
	 .about = "Lists the changes of a run, one path a line: A added, M modified, D deleted, R renamed, m only "
		  "the mode or times changed, T the type changed. Git's own files (index, refs, objects) share one "
		  "line; -v lists them. RUN is the id of a run, the beginning of an id, or 'last'.",
	 .examples = "airlock changes last\tthe changes of the last run\n"
		     "airlock changes 20261115-1930 --json\tthe same as JSON"},
	{.name = "diff",
	 .group = "Decide about changes",
	 .summary = "show the content of a run's changes, before and after",
	 .options = "json",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_diff,
	 .about = "Prints a unified diff of the run's changes, or of these paths only (relative to the project, or "
		  "absolute). On a terminal the diff is coloured, and a long one goes through $PAGER, or less. "
		  "Elsewhere it is suitable for git apply and patch -p1.",
	 .examples = "airlock diff last\tread it before you apply it\n"
		     "airlock diff last src >my.patch\tsave a part of it"},
	{.name = "review",
	 .group = "Decide about changes",
	 .summary = "go through held changes and decide about each",
	 .options = "project",
	 .operand = "[RUN]",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_review,
	 .about = "Shows the held changes of a run as a list on the terminal. The keys are at the bottom: view a "
		  "change, select some, apply or discard the selected ones or all, or leave them held. airlock run "
		  "--changes ask shows the same list after the run. Without RUN, shows the newest run of this "
		  "project that holds changes. A dumb terminal, a very small one, or one where NO_COLOR is set "
		  "gets questions line by line instead.",
	 .examples = "airlock review\twhat waits in this project\n"
		     "airlock review 20261115-1930\tone run"},
	{.name = "apply",
	 .group = "Decide about changes",
	 .summary = "apply held changes to the project",
	 .options = "project yes json force merge",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_apply,
	 .about = "Makes the held changes of the run in the project, or those of these paths and the directories "
		  "they need. Lists sensitive changes first (files that other programs run: git hooks, shell start "
		  "files...) and asks on a terminal. If someone else changed one of the files since the run began, "
		  "applies nothing, unless --force is given.",
	 .examples = "airlock apply last\teverything\n"
		     "airlock apply last src/a.c\tonly this file\n"
		     "airlock apply last --force\treplace files that someone else changed since"},
	{.name = "discard",
	 .group = "Decide about changes",
	 .summary = "throw held changes away",
	 .options = "json",
	 .operand = "RUN [PATH...]",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_discard,
	 .about = "Throws away the held changes of the run, or those of these paths only. The project stays as it "
		  "is.",
	 .examples = "airlock discard last\teverything that is held\n"
		     "airlock discard last build\tonly this; the rest stays held"},
	{.name = "undo",
	 .group = "Decide about changes",
	 .summary = "put back what applying a run replaced",
	 .options = "project json force",
	 .operand = "[RUN] [PATH...]",
	 .words = "last",
	 .completes = "session-or-path",
	 .run = cmd_undo,
	 .about = "Restores the project, or these paths only, to the state before the run's changes were applied. "
		  "Without RUN, undoes the last run that was applied here. Undoing an undone run applies it again. "
		  "A first word that could be the beginning of a run id is taken as RUN; put a path that looks "
		  "like one after --.",
	 .examples = "airlock undo\tthe last applied run\n"
		     "airlock undo last src/a.c\tonly this file\n"
		     "airlock undo -- 2026\ta path that looks like a run id"},
	{.name = "recover",
	 .group = "Decide about changes",
	 .summary = "finish or revert interrupted applies, and hold the changes of interrupted runs",
	 .options = "json",
	 .run = cmd_recover,
	 .about = "If a crash or a power cut interrupted an apply, finishes or reverts it, so that no file is half "
		  "old and half new. If airlock was killed while a command ran, holds what the command had changed. "
		  "Every command that looks at runs does this too.",
	 .examples = "airlock recover\tafter a crash"},
	{.name = "log",
	 .group = "Look back",
	 .summary = "list runs, newest first",
	 .options = "project all json limit verify",
	 .run = cmd_log,
	 .about = "Lists the runs of this project, one a line: id, how it ended, the number of changes and whether "
		  "they were applied, and the command. Refused runs are listed too. Every run is also written to "
		  "an audit file, in which each line has the hash of the line before; --verify checks that file.",
	 .examples = "airlock log -n 10\tthe last ten\n"
		     "airlock log --all\tthe runs of all projects\n"
		     "airlock log --project . --json\tthe runs of this project, as JSON\n"
		     "airlock log --verify\tdid anybody change the audit file?"},
	{.name = "show",
	 .group = "Look back",
	 .summary = "show one run in full",
	 .options = "json",
	 .operand = "RUN",
	 .words = "last",
	 .completes = "session",
	 .run = cmd_show,
	 .about = "Shows the command, who asked for it, the questions and answers, the policy and what set each "
		  "value, the isolation that was in force, how the command ended, and what it changed.",
	 .examples = "airlock show last\tthe last run\n"
		     "airlock show last --json\twith its output, as one JSON object"},
	{.name = "output",
	 .group = "Look back",
	 .summary = "print the whole output of a run",
	 .options = "stderr json",
	 .operand = "RUN",
	 .words = "last",
	 .run = cmd_output,
	 .about = "Prints the whole output of the run byte for byte, including what was cut from the result.",
	 .examples = "airlock output last\tstandard output\n"
		     "airlock output last --stderr\tstandard error"},
	{.name = "fs",
	 .group = "Run commands",
	 .summary = "read and change files of a workspace or project as commands see them",
	 .verbs = fs_verbs,
	 .about = "Lists, reads, searches and changes files without running a command. With --workspace DIR, the "
		  "paths /x, x and ./x all name the file that a command of airlock run --workspace DIR sees as /x, "
		  "and changes are made at once. In a project, paths are relative to it, and each change is a run "
		  "of its own: it is held or applied like a command's changes, and airlock undo takes it back. No "
		  "path can leave the workspace or the project.",
	 .examples = "airlock fs --workspace ~/thread ls /\tlist the workspace\n"
		     "airlock fs --workspace ~/thread write /a.py <a.py\twrite a file\n"
		     "airlock fs read src/main.c --offset 100 --limit 20\tlines 101 to 120\n"
		     "airlock fs edit README.md --old teh --new the\tairlock undo takes it back\n"
		     "airlock fs glob '**/*.{c,h}' src\tfind files by name\n"
		     "airlock fs grep TODO --glob '*.py' --max 20\tfind lines by content\n"
		     "airlock fs --run last read file\tas it would be after applying the last run"},
	{.name = "files",
	 .group = "Look back",
	 .summary = "list the recorded files of a project",
	 .options = "project json deleted",
	 .operand = "[DIR]",
	 .completes = "dir",
	 .run = cmd_files,
	 .about = "Lists the records of the project's files: size, path, and whether git ignores the file. A file "
		  "that a run deleted keeps its record as long as it has a backup.",
	 .examples = "airlock files --deleted\tdeleted files that can be restored\n"
		     "airlock files --json ~/src/thing\tas JSON"},
	{.name = "backups",
	 .group = "Look back",
	 .summary = "list the daily backups of recorded files",
	 .options = "project json",
	 .operand = "[PATH]",
	 .completes = "path",
	 .run = cmd_backups,
	 .about = "A backup is the content of a file before its first change on a day. Backups are kept for seven "
		  "days, unless the configuration says otherwise.",
	 .examples = "airlock backups\tall of them\n"
		     "airlock backups src/a.c\tthe backups of one file"},
	{.name = "restore",
	 .group = "Look back",
	 .summary = "restore a file from its backup",
	 .options = "project json date",
	 .operand = "PATH",
	 .completes = "path",
	 .run = cmd_restore,
	 .about = "Restores the newest backup of the file, or the backup of one day. The present content is kept "
		  "as with every apply, and airlock undo takes the restore back.",
	 .examples = "airlock restore src/a.c\tas it was before the last day on which it changed\n"
		     "airlock restore src/a.c --date 26-11-15\tas it was before that day"},
	{.name = "config",
	 .group = "Set it up",
	 .summary = "show or check the configuration",
	 .verbs = config_verbs,
	 .about = "airlock merges the configuration from a system file, your own file, the project's "
		  ".airlock.toml, the AIRLOCK_* variables and the options; each one overrides those before it. "
		  "airlock.toml(5) describes the files.",
	 .examples = "airlock config show\tthe values that apply here\n"
		     "airlock config show --profile strict\tthe values with this option\n"
		     "airlock config check .airlock.toml\tbefore you commit it"},
	{.name = "agent",
	 .group = "For agents",
	 .summary = "run a whole agent in a sandbox, with its own state, credentials and hosts",
	 .options = "yolo *",
	 .operand = "NAME [ARG...]",
	 .words = "list show explain claude codex continue copilot gemini opencode pi qwen",
	 .is_run = true,
	 .run = cmd_agent,
	 .about =
		 "Starts the agent in a session of its own, or in the one that --session names. It sees the project, may reach "
		 "its own hosts, and keeps its own state; other hosts are asked about, in airlock questions. What it changes in "
		 "the project is held until you decide. The agent's own arguments come after --.\n"
		 "'airlock agent list' names the agents, 'airlock agent show NAME' prints the recipe of one and where it is from, "
		 "'airlock agent explain NAME' what it would see. A recipe of your own is a file "
		 "~/.config/airlock/agents/NAME.toml; airlock-agent(1) describes it.",
	 .examples =
		 "airlock agent claude\tClaude Code, as without airlock, but in a sandbox\n"
		 "airlock agent codex --yolo\tCodex without its own questions: here nothing needs asking\n"
		 "airlock agent gemini --session fix -- -p 'fix the tests'\twith arguments of its own, in the session fix\n"
		 "airlock agent list\twhich agents there are"},
	{.name = "setup",
	 .group = "For agents",
	 .summary = "make an agent run its commands in airlock",
	 .options = "print undo check mcp",
	 .operand = "AGENT",
	 .words = AGENT_NAMES,
	 .run = cmd_setup,
	 .about =
		 "Adds a hook or a shell to your configuration of the agent, so that airlock runs every command line of "
		 "the agent. With --mcp the agent gets airlock's tools, and its own shell is switched off. Everything "
		 "else in the file stays. --undo gives back the file as it was if nobody has edited it since. Running "
		 "it twice changes nothing.",
	 .examples = "airlock setup claude\tClaude Code runs its commands in airlock\n"
		     "airlock setup gemini --print\tsee what would be written\n"
		     "airlock setup codex --mcp\tairlock's tools instead of its own shell\n"
		     "airlock setup claude --check\twhether it is in effect\n"
		     "airlock setup claude --undo\tas if it had never been there"},
	{.name = "questions",
	 .group = "For agents",
	 .summary = "list the questions of agents' runs that wait for your answer",
	 .options = "watch json",
	 .run = cmd_questions,
	 .about = "airlock never asks about an agent's run on a terminal, because the agent may be able to type there. "
		  "Such a question waits here, for two minutes unless [permission] wait in the configuration says "
		  "otherwise, and is then denied. With --watch on a terminal, a and d allow and deny.",
	 .examples = "airlock questions\twhat waits now\n"
		     "airlock questions --watch\tin another terminal, beside the agent\n"
		     "airlock questions --watch --json\tone object a line, for a program"},
	{.name = "answer",
	 .group = "For agents",
	 .summary = "answer a question of an agent's run",
	 .options = "json",
	 .operand = "ID allow|deny",
	 .completes = "question",
	 .then = "allow deny",
	 .run = cmd_answer,
	 .about = "The answer counts for that run only. Exits with 3 if the question is decided already, with 1 if "
		  "there is no such question: what asked it has ended.",
	 .examples = "airlock answer 3f9a1c20 allow\tit goes on\n"
		     "airlock answer 3f9a1c20 deny\tit is refused"},
	{.name = "hook",
	 .group = "For agents",
	 .summary = "answer an agent's hook, so that its commands run in a sandbox",
	 .options = "session mcp",
	 .operand = "AGENT",
	 .words = AGENT_HOOK_NAMES,
	 .run = cmd_hook,
	 .about = "Reads the agent's next tool call as JSON from standard input, and answers in the agent's own "
		  "format: it replaces a command line by one that airlock runs, and leaves every other call alone. "
		  "It blocks a call that it does not understand (exit status 2). 'airlock setup' makes the agent "
		  "call it.",
	 .examples = "airlock hook claude <call.json\tprint the answer to Claude Code"},
	{.name = "trust",
	 .group = "Set it up",
	 .summary = "trust a project's .airlock.toml as it is now",
	 .operand = "[DIR]",
	 .completes = "dir",
	 .run = cmd_trust,
	 .about = "Until you trust it, a project's .airlock.toml can only tighten what your configuration allows. "
		  "Read the file first. You trust its present content: after an edit you must trust it again.",
	 .examples = "airlock trust\tthis project\n"
		     "airlock trust ~/src/thing\tanother project"},
	{.name = "project",
	 .group = "Set it up",
	 .summary = "manage projects, their links and the records of their files",
	 .verbs = project_verbs,
	 .about = "A project is a directory, and the directories behind its symbolic links once you allowed them: "
		  "'links' lists the links that lead out, 'link' allows writing to the directories behind them, "
		  "'unlink' denies it. airlock searches for links when it first sees the project and on 'scan', "
		  "remembers them, and checks them on each run; a link that later leads elsewhere counts as new.\n"
		  "'add' records the files of a project: before airlock applies a run's changes to such a file, it "
		  "keeps the old content as the backup of that day.",
	 .examples = "airlock project add\tthis project\n"
		     "airlock project links\twhich links lead out, and which you allowed\n"
		     "airlock project link vendor\tcommands may write to the directory behind vendor\n"
		     "airlock project scan\tafter you made new links\n"
		     "airlock project list --json\tas JSON"},
	{.name = "permissions",
	 .group = "Look after it",
	 .summary = "list or forget the answers airlock remembers",
	 .verbs = permissions_verbs,
	 .about = "You can allow or deny a simple command without a sandbox for this session or always. The answer "
		  "applies to exactly that command in that directory of that project. airlock asks about the "
		  "network and extra writable paths every time and never remembers those answers.",
	 .examples = "airlock permissions list\twhat is allowed and denied\n"
		     "airlock permissions revoke 3\tbe asked about this again\n"
		     "airlock permissions clear\tbe asked about everything again"},
	{.name = "gc",
	 .group = "Look after it",
	 .summary = "remove old runs, old backups and the remains of crashes",
	 .options = "dry-run json config",
	 .run = cmd_gc,
	 .about = "Removes what crashed runs left behind, backups older than seven days, and runs older than "
		  "thirty days, unless the configuration says otherwise. A run or session that holds changes stays, "
		  "whatever its age.",
	 .examples = "airlock gc --dry-run\tprint what would be removed\n"
		     "airlock gc\tremove it"},
	{.name = "doctor",
	 .group = "Look after it",
	 .summary = "test what this machine supports, and say how to fix the rest",
	 .options = "profile backend json config",
	 .run = cmd_doctor,
	 .about = "Each line is the result of a real test. Exits with 1 if the default profile does not work here.",
	 .examples = "airlock doctor\tfor you\n"
		     "airlock doctor --json\tfor a program"},
	{.name = "playground",
	 .group = "Look after it",
	 .summary = "the directory that every command may write to",
	 .verbs = playground_verbs,
	 .about = "Commands see the playground as ~/playground. It is kept between runs; 'airlock playground path' "
		  "prints where it is on this machine.",
	 .examples = "airlock playground size\tits size\n"
		     "ls \"$(airlock playground path)\"\tits files\n"
		     "airlock playground clear --yes\tempty it without a question"},
	{.name = "cache",
	 .group = "Look after it",
	 .summary = "list or clear what commands wrote to the caches in your home",
	 .verbs = cache_verbs,
	 .about = "A command may write to the caches in your home, such as ~/.npm and ~/.cache. What it writes "
		  "goes into a layer of its project: your home does not change, and other projects do not see it, "
		  "unless [cache] in the configuration says otherwise.",
	 .examples = "airlock cache list\tsize, by project\n"
		     "airlock cache clear\tstart with empty caches in this project\n"
		     "airlock cache clear --all\tin every project"},
	{.name = "completion",
	 .group = "Learn about it",
	 .summary = "print the completion script for a shell",
	 .operand = "SHELL",
	 .words = "bash zsh fish",
	 .run = cmd_completion,
	 .about = "Prints a script that completes commands, options and values.",
	 .examples = "source <(airlock completion bash)\tin ~/.bashrc\n"
		     "airlock completion zsh >\"${fpath[1]}/_airlock\"\tonce, for zsh\n"
		     "airlock completion fish >~/.config/fish/completions/airlock.fish\tonce, for fish"},
	{.name = "help",
	 .group = "Learn about it",
	 .summary = "list all commands, or describe one",
	 .operand = "[COMMAND]",
	 .completes = "command",
	 .run = cmd_help,
	 .about = "Lists the commands, or describes one of them.",
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
