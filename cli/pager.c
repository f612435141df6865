/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pager.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

/* ── which program ── */

static bool is_beneath(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	return len > 1 && strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_untrusted(const char *path, const char *const *roots)
{
	char cwd[PATH_MAX];
	if (getcwd(cwd, sizeof cwd) && is_beneath(path, cwd))
		return true;
	for (; *roots; roots++)
		if (is_beneath(path, *roots))
			return true;
	return false;
}

/* Neither the name nor its target may be where commands write. */
static bool is_usable(const char *path, const char *const *roots)
{
	char real[PATH_MAX];
	struct stat st;
	return path[0] == '/' && realpath(path, real) && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(real, X_OK) == 0 && !is_untrusted(path, roots) && !is_untrusted(real, roots);
}

/* The program of this name in PATH. */
static bool find_program(const char *name, const char *const *roots, char ret[PATH_MAX])
{
	const char *dir = getenv("PATH");
	if (strchr(name, '/')) {
		(void)snprintf(ret, PATH_MAX, "%s", name);
		return strlen(name) < PATH_MAX && is_usable(ret, roots);
	}
	while (dir && *dir) {
		size_t len = strcspn(dir, ":");
		int n = snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, dir, name);
		if (n > 0 && n < PATH_MAX && len > 0 && is_usable(ret, roots))
			return true;
		dir += len + (dir[len] == ':');
	}
	return false;
}

/* Splits $PAGER into words. Cuts up line. */
static void split(char *line, char *argv[ARGUMENTS_MAX + 1])
{
	size_t n = 0;
	char *rest = NULL;
	for (char *word = strtok_r(line, " \t", &rest); word && n < ARGUMENTS_MAX; word = strtok_r(NULL, " \t", &rest))
		argv[n++] = word;
	argv[n] = NULL;
}

/* ── is it needed ── */

static bool can_page(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static bool fits_screen(const char *text, int fd)
{
	struct winsize size = {0};
	size_t lines = 0, rows = 24;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
		rows = size.ws_row;
	for (const char *p = strchr(text, '\n'); p; p = strchr(p + 1, '\n'))
		lines++;
	return lines < rows; /* one row is for the prompt */
}

/* ── running it ── */

/* We ignore SIGPIPE and SIGXFSZ and, after a run, block terminal signals; the pager must inherit neither. */
static int spawn(const char *path, char *const *argv, int in, int out, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	(void)sigemptyset(&none);
	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGXFSZ);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGQUIT);
	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int rc = posix_spawn(ret, path, &files, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Ctrl-C belongs to the pager: we wait until it has restored the terminal, and drop the signals that stayed pending
 * because a caller has them blocked. */
static void wait_for(pid_t pid)
{
	static const struct timespec at_once = {0};
	sigset_t keys;
	(void)sigemptyset(&keys);
	(void)sigaddset(&keys, SIGINT);
	(void)sigaddset(&keys, SIGQUIT);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	while (sigtimedwait(&keys, NULL, &at_once) > 0)
		continue;
}

static bool run_pager(const char *path, char *const *argv, const char *text, int out)
{
	int ends[2];
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	void (*on_interrupt)(int) = signal(SIGINT, SIG_IGN);
	void (*on_quit)(int) = signal(SIGQUIT, SIG_IGN);
	bool started = spawn(path, argv, ends[0], out, &pid) == 0;
	(void)close(ends[0]);
	if (started)
		(void)output_write(ends[1], text, strlen(text)); /* a reader who quits early has seen enough */
	(void)close(ends[1]);
	if (started)
		wait_for(pid);
	(void)signal(SIGINT, on_interrupt);
	(void)signal(SIGQUIT, on_quit);
	return started;
}

static bool page(const char *text, int fd, const char *const *roots)
{
	const char *wanted = getenv("PAGER");
	char line[512], path[PATH_MAX], *argv[ARGUMENTS_MAX + 1];
	(void)snprintf(line, sizeof line, "%s", wanted ? wanted : "less -R");
	split(line, argv);
	if (!argv[0] || strcmp(argv[0], "cat") == 0 || !find_program(argv[0], roots, path))
		return false;
	(void)setenv("LESS", "R", false); /* colours, for a $PAGER that is less under another name */
	return run_pager(path, argv, text, fd);
}

void pager_show(const char *text, int fd, const char *const *roots)
{
	(void)fflush(stdout);
	if (can_page(fd) && !fits_screen(text, fd) && page(text, fd, roots))
		return;
	(void)output_write(fd, text, strlen(text));
}
