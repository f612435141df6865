/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock-sh: looks like sh to whoever starts it, and runs everything in airlock.
 *
 *   airlock-sh -c COMMAND             airlock run --agent airlock-sh -C . -c COMMAND
 *   airlock-sh -lc COMMAND [NAME…]    airlock run --agent airlock-sh -C . -- SHELL -l -c COMMAND [NAME…]
 *   airlock-sh SCRIPT [ARG…]          airlock run --agent airlock-sh -C . -- SHELL SCRIPT [ARG…]
 *   airlock-sh                        an interactive shell on a terminal, else commands from standard input
 *
 * It only rearranges its words and becomes the airlock beside it. The project is AIRLOCK_PROJECT; without it airlock finds
 * one from the current directory, which a model may have chosen, and refuses what is nobody's project. SHELL, the one that works inside, is AIRLOCK_SHELL or
 * /bin/sh; what else airlock is to do differently, its AIRLOCK_* variables and configuration say. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const char *inner_shell(void)
{
	const char *shell = getenv("AIRLOCK_SHELL");
	if (!shell || !*shell || strcmp(shell, "sh") == 0)
		return "/bin/sh";
	return shell;
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
	add(out, "-C");
	add(out, ".");
	if (is_plain_command(in)) {
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
	if (shell && strcmp(slash ? slash + 1 : shell, "airlock-sh") == 0)
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

int main(int argc, char **argv)
{
	const size_t room = (size_t)argc * 2 + 16;
	struct words run = {.v = calloc(room, sizeof *run.v)};
	struct invoked in = {.options = {.v = calloc(room, sizeof *run.v)}};
	int status = CANNOT_RUN;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("airlock-sh %s\n", AIRLOCK_VERSION);
		status = 0;
	} else if (argc > 0 && run.v && in.options.v) {
		status = read_options(&in, argv);
		if (status == 0) {
			add_run(&in, &run);
			status = become_airlock(&run);
		}
	}
	free(run.v);
	free(in.options.v);
	return status;
}
