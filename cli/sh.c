/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock-sh: looks like sh to whoever starts it, and runs everything in airlock.
 *
 *   airlock-sh -c COMMAND             airlock run --agent airlock-sh -C . -c COMMAND
 *   airlock-sh -lc COMMAND [NAME…]    airlock run --agent airlock-sh -C . -- SHELL -l -c COMMAND [NAME…]
 *   airlock-sh SCRIPT [ARG…]          airlock run --agent airlock-sh -C . -- SHELL SCRIPT [ARG…]
 *   airlock-sh                        an interactive shell on a terminal, else commands from standard input
 *
 * It only rearranges its words and becomes the airlock beside it. The project is AIRLOCK_PROJECT; without it airlock finds
 * one from the current directory, which a model may have chosen, and refuses what is nobody's project. SHELL, the one that works inside, is AIRLOCK_SHELL,
 * bash if it was started as airlock-bash, or /bin/sh; what else airlock is to do differently, its AIRLOCK_* variables and configuration say. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_RUN 127
#define USAGE 2

struct words {
	char **v;
	size_t n;
};

struct invoked {
	bool has_command, is_interactive, is_login, reads_stdin;
	char *command;
	struct words options; /* for the shell inside */
	char **operands;      /* ends with NULL */
};

static int usage(const char *what, const char *word)
{
	(void)fprintf(stderr, "airlock-sh: %s: %s\n", what, word);
	(void)fprintf(stderr, "airlock-sh: usage: airlock-sh [-il] [-c COMMAND [NAME [ARG...]] | SCRIPT [ARG...]]\n");
	return USAGE;
}

static void add(struct words *w, const char *word)
{
	w->v[w->n++] = (char *)word;
	w->v[w->n] = NULL;
}

/* ── Reading ── */

/* -lc, -e, +x, -o NAME. Options for the shell inside keep their sign. Returns 0 or an exit status. */
static int read_letters(struct invoked *in, char **word, char ***next)
{
	const char sign = **word;
	char *keep = *word + 1;
	bool takes_name = false;
	for (const char *c = *word + 1; *c; c++) {
		if (sign == '-' && *c == 'c')
			in->has_command = true;
		else if (sign == '-' && *c == 'i')
			in->is_interactive = true;
		else if (sign == '-' && *c == 'l')
			in->is_login = true;
		else if (sign == '-' && *c == 's')
			in->reads_stdin = true;
		else {
			takes_name |= *c == 'o';
			*keep++ = *c;
		}
	}
	bool any = keep > *word + 1;
	*keep = '\0';
	if (any)
		add(&in->options, *word);
	if (takes_name && !**next)
		return usage("this option needs a name", *word);
	if (takes_name)
		add(&in->options, *(*next)++);
	return 0;
}

static int read_options(struct invoked *in, char **argv)
{
	char **next = argv + 1;
	while (*next && (**next == '-' || **next == '+') && (*next)[1]) {
		char *word = *next++;
		if (strcmp(word, "--") == 0)
			break;
		if (strcmp(word, "--login") == 0) {
			in->is_login = true;
			continue;
		}
		if (strncmp(word, "--", 2) == 0)
			return usage("unknown option", word);
		int status = read_letters(in, &word, &next);
		if (status != 0)
			return status;
	}
	if (*next && strcmp(*next, "-") == 0)
		next++;
	if (in->has_command && !*next)
		return usage("this option needs a command line", "-c");
	in->command = in->has_command ? *next++ : NULL;
	in->operands = next;
	return 0;
}

/* ── Becoming airlock ── */

static bool is_plain_command(const struct invoked *in)
{
	return in->has_command && !in->is_interactive && !in->is_login && in->options.n == 0 && !*in->operands;
}

/* As sh does: without a command line and a script, on a terminal. */
static bool is_session(const struct invoked *in)
{
	bool has_work = in->has_command || *in->operands || in->reads_stdin;
	return in->is_interactive || (!has_work && isatty(STDIN_FILENO) && isatty(STDERR_FILENO));
}

static bool is_named_bash; /* by whoever started it */

static const char *inner_shell(void)
{
	const char *shell = getenv("AIRLOCK_SHELL");
	if (!shell || !*shell)
		return is_named_bash ? "/bin/bash" : "/bin/sh";
	return strcmp(shell, "sh") == 0 ? "/bin/sh" : shell;
}

/* ── The session ── */

static bool is_claude(void)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *id = getenv("CLAUDE_CODE_SESSION_ID");
	return id && *id && strlen(id) <= 48 && !id[strspn(id, safe)];
}

/* Agents that say who they are, but give their sessions no name. */
static const char *nameless_agent(void)
{
	static const char *const agents[][2] = {{"OPENCODE", "opencode"}, {"PI_CODING_AGENT", "pi"}};
	for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
		const char *value = getenv(agents[i][0]);
		if (value && *value)
			return agents[i][1];
	}
	return NULL;
}

/* When a process was started, in ticks since the machine was; 0: unknown. Its name may contain anything, ')' too. */
static unsigned long long start_time(pid_t pid)
{
	char path[32], text[1024];
	unsigned long long started = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strrchr(text, ')');
	/* It is the 22nd field; the third comes after the name. */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu", &started) == 1 ? started : 0;
}

/* The agent's commands see each other's files in /tmp and background processes. Claude Code names its session; another agent is the
 * process that has started us, which nothing in a command line can change. Whoever named another for airlock decides. */
struct agent_session {
	char name[64];	   /* "": none */
	char end_with[16]; /* the process that it ends with; "": none */
};

static struct agent_session find_session(void)
{
	struct agent_session s = {"", ""};
	const char *named = getenv("AIRLOCK_SESSION"), *agent = nameless_agent();
	pid_t parent = getppid();
	unsigned long long started = agent ? start_time(parent) : 0;
	if (named && *named)
		return s;
	if (is_claude())
		(void)snprintf(s.name, sizeof s.name, "claude-%.48s", getenv("CLAUDE_CODE_SESSION_ID"));
	else if (started > 0)
		(void)snprintf(s.name, sizeof s.name, "%s-%d-%llu", agent, (int)parent, started);
	if (*s.name)
		(void)snprintf(s.end_with, sizeof s.end_with, "%d", (int)parent);
	return s;
}

static void add_shell(const struct invoked *in, struct words *out)
{
	bool session = is_session(in);
	if (session && isatty(STDIN_FILENO))
		add(out, "-t");
	add(out, "--");
	add(out, inner_shell());
	if (in->is_login)
		add(out, "-l");
	if (session)
		add(out, "-i");
	for (size_t i = 0; i < in->options.n; i++)
		add(out, in->options.v[i]);
	if (in->has_command) {
		add(out, "-c");
		add(out, in->command);
	} else if (in->reads_stdin || (!session && !*in->operands)) {
		add(out, "-s");
	}
	/* A word that begins with a dash is an operand here. */
	if (!in->has_command && *in->operands)
		add(out, "--");
	for (char **o = in->operands; *o; o++)
		add(out, *o);
}

static void add_run(const struct invoked *in, struct words *out)
{
	add(out, "airlock");
	add(out, "run");
	add(out, "--agent");
	add(out, "airlock-sh");
	static struct agent_session session; /* borrowed by the words */
	session = find_session();
	if (*session.name) {
		add(out, "--session");
		add(out, session.name);
	}
	if (*session.end_with) {
		add(out, "--end-with");
		add(out, session.end_with);
	}
	add(out, "-C");
	add(out, ".");
	if (is_plain_command(in) && !is_named_bash) {
		add(out, "-c");
		add(out, in->command);
	} else {
		add_shell(in, out);
	}
}

/* The airlock in the same directory: the caller's PATH must not choose another. */
static bool find_airlock(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size);
	if (n <= 0 || (size_t)n >= size)
		return false;
	path[n] = '\0';
	char *slash = strrchr(path, '/');
	return slash &&
	       snprintf(slash, size - (size_t)(slash - path), "/airlock") < (int)(size - (size_t)(slash - path));
}

/* Programs inside must find a shell there, not airlock-sh again. */
static void replace_variable(void)
{
	const char *shell = getenv("SHELL"), *slash = shell ? strrchr(shell, '/') : NULL;
	const char *name = shell ? slash ? slash + 1 : shell : "";
	if (strcmp(name, "airlock-sh") == 0 || strcmp(name, "airlock-bash") == 0)
		(void)setenv("SHELL", inner_shell()[0] == '/' ? inner_shell() : "/bin/sh", 1);
}

static int become_airlock(struct words *run)
{
	char path[PATH_MAX];
	if (!find_airlock(path, sizeof path)) {
		(void)fprintf(stderr, "airlock-sh: cannot find out where airlock is\n");
		return CANNOT_RUN;
	}
	replace_variable();
	(void)execv(path, run->v);
	(void)fprintf(stderr, "airlock-sh: cannot run %s: %s\n", path, strerror(errno));
	return CANNOT_RUN;
}

/* ── The directory in which a command ended ── */

/* Claude Code wants its cd to last: every command line of it ends with this and the name of a file in its own /tmp, which it
 * reads afterwards. The sandbox has another /tmp. So the command says the directory on its standard error instead, behind a
 * mark, and we take the mark out and write the file. */
#define ASKS_FOR_DIRECTORY "pwd -P >| "
#define MARK "\036airlock-directory:"
#define SAYS_DIRECTORY "printf '\\036airlock-directory:%s\\n' \"$(pwd -P)\" >&2"

/* The file at the end of the command line, or NULL. Nothing else than such a file is ever written. */
static const char *directory_file(const char *command)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";
	const char *file = NULL;
	for (const char *at = command; (at = strstr(at, ASKS_FOR_DIRECTORY)); at++)
		file = at + strlen(ASKS_FOR_DIRECTORY);
	const char *name = file ? strrchr(file, '/') : NULL;
	size_t len = name ? strlen(name) : 0;
	bool is_such = len > 4 && file[0] == '/' && !file[strspn(file, safe)] && !strstr(file, "..") &&
		       strncmp(name, "/claude-", 8) == 0 && strcmp(name + len - 4, "-cwd") == 0;
	return is_such ? file : NULL;
}

static char *say_directory_instead(const char *command, const char *file)
{
	char *changed = NULL;
	size_t before = (size_t)(file - command) - strlen(ASKS_FOR_DIRECTORY);
	return asprintf(&changed, "%.*s%s", (int)before, command, SAYS_DIRECTORY) < 0 ? NULL : changed;
}

static void write_directory(const char *file, const char *dir)
{
	struct stat st;
	if (dir[0] != '/' || stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)!write(fd, dir, strlen(dir));
	(void)!write(fd, "\n", 1);
	(void)close(fd);
}

static void pass_on(const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, data, len);
		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

/* The end of standard error that was read and not passed on yet: it may be the beginning of a line with a mark. */
struct errors {
	char data[2 * PATH_MAX];
	size_t len;
	char directory[PATH_MAX]; /* where the command ended; "": it did not say */
};

/* How much of it can be passed on: all that is before a mark, or before what may become one. */
static size_t before_mark(const struct errors *e, bool *ret_is_mark)
{
	const char *at = memchr(e->data, MARK[0], e->len);
	size_t left = at ? e->len - (size_t)(at - e->data) : 0, n = sizeof MARK - 1;
	*ret_is_mark = at && memcmp(at, MARK, left < n ? left : n) == 0;
	if (!at)
		return e->len;
	return (size_t)(at - e->data) + (*ret_is_mark ? 0 : 1);
}

static void take_errors(struct errors *e, bool is_end)
{
	bool is_mark = true;
	while (e->len > 0) {
		size_t n = before_mark(e, &is_mark);
		pass_on(e->data, n);
		e->len -= n;
		memmove(e->data, e->data + n, e->len);
		if (!is_mark)
			continue;
		char *end = memchr(e->data, '\n', e->len);
		if (!end && !is_end && e->len < sizeof e->data)
			return; /* until the rest of the line comes */
		if (end && e->len > sizeof MARK) {
			*end = '\0';
			(void)snprintf(e->directory, sizeof e->directory, "%.*s", PATH_MAX - 1,
				       e->data + sizeof MARK - 1);
		} else {
			pass_on(e->data, e->len);
		}
		n = end ? (size_t)(end + 1 - e->data) : e->len;
		e->len -= n;
		memmove(e->data, e->data + n, e->len);
	}
}

static pid_t started; /* the airlock whose end we wait for */

static void pass_signal_on(int number)
{
	if (started > 0)
		(void)kill(started, number);
}

/* Copies what airlock says until it has ended; somebody else may keep the other end of the pipe open. */
static int follow(int fd, const char *file)
{
	static struct errors e;
	int status = 0;
	bool has_ended = false, is_open = true;
	while (is_open || !has_ended) {
		struct pollfd p = {.fd = is_open ? fd : -1, .events = POLLIN};
		int ready = poll(&p, 1, has_ended ? 0 : 20);
		ssize_t n = ready > 0 ? read(fd, e.data + e.len, sizeof e.data - e.len) : -1;
		if (n > 0) {
			e.len += (size_t)n;
			take_errors(&e, false);
		}
		is_open = is_open && !(ready > 0 && n == 0) && !(has_ended && ready == 0);
		if (!has_ended)
			has_ended = waitpid(started, &status, is_open ? WNOHANG : 0) == started;
	}
	take_errors(&e, true);
	write_directory(file, e.directory); /* only now: it may be one that the command made */
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_and_follow(struct words *run, const char *file)
{
	static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = pass_signal_on, .sa_flags = SA_RESTART};
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return become_airlock(run);
	pid_t parent = getpid();
	started = fork();
	if (started == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would wait for it, and nobody could end it */
		if (getppid() != parent)
			_exit(CANNOT_RUN);
		(void)dup2(ends[1], STDERR_FILENO);
		_exit(become_airlock(run));
	}
	(void)close(ends[1]);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		(void)sigaction(passed_on[i], &action, NULL);
	return started > 0 ? follow(ends[0], file) : CANNOT_RUN;
}

int main(int argc, char **argv)
{
	const size_t room = (size_t)argc * 2 + 24;
	struct words run = {.v = calloc(room, sizeof *run.v)};
	struct invoked in = {.options = {.v = calloc(room, sizeof *run.v)}};
	int status = CANNOT_RUN;
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	is_named_bash = argc > 0 && strcmp(slash ? slash + 1 : argv[0], "airlock-bash") == 0;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("airlock-sh %s\n", AIRLOCK_VERSION);
		status = 0;
	} else if (argc > 0 && run.v && in.options.v) {
		status = read_options(&in, argv);
		if (status == 0) {
			const char *file = in.has_command && is_claude() ? directory_file(in.command) : NULL;
			char *changed = file ? say_directory_instead(in.command, file) : NULL;
			if (changed)
				in.command = changed;
			add_run(&in, &run);
			status = changed ? run_and_follow(&run, file) : become_airlock(&run);
			free(changed);
		}
	}
	free(run.v);
	free(in.options.v);
	return status;
}
