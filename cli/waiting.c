/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library works in one thread and does not return before it is done, so a timer's signal draws the line.
 * Everything that the handler uses, except the count, is written before the timer is set, and the handler calls only
 * write. */
#include "waiting.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "terminal.h"

static struct {
	const char *what;
	struct sigaction before;
	bool is_on;
	volatile sig_atomic_t seconds, is_shown, is_held;
	volatile size_t done;
} waiting;

static size_t add(char *line, size_t at, const char *text)
{
	size_t len = strlen(text);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the line is written by its length */
	(void)memcpy(line + at, text, len);
	return at + len;
}

static size_t add_number(char *line, size_t at, size_t n)
{
	char digits[24];
	size_t len = 0;
	do
		digits[len++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (len > 0)
		line[at++] = digits[--len];
	return at;
}

/* A background process would be stopped for writing. */
static void draw(int signal)
{
	char line[160];
	(void)signal;
	waiting.seconds++;
	if (waiting.is_held || !terminal_is_ours(STDERR_FILENO))
		return;
	size_t n = add(line, 0, "\r\033[Kairlock: ");
	n = add(line, n, waiting.what);
	if (waiting.done > 0) {
		n = add(line, n, ", ");
		n = add_number(line, n, waiting.done);
		n = add(line, n, " so far");
	}
	n = add(line, n, ", ");
	n = add_number(line, n, (size_t)waiting.seconds);
	n = add(line, n, " s");
	if (write(STDERR_FILENO, line, n) == (ssize_t)n)
		waiting.is_shown = true;
}

/* Checked once: a run begins and ends waiting for every piece of output. */
static bool has_person(void)
{
	static enum { UNKNOWN, NO, YES } answer;
	const char *term = getenv("TERM");
	if (answer == UNKNOWN)
		answer = term && *term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO) ? YES : NO;
	return answer == YES;
}

static void set_timer(time_t seconds)
{
	const struct itimerval timer = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

void waiting_begin(const char *what)
{
	const struct sigaction action = {.sa_handler = draw, .sa_flags = SA_RESTART};
	if (waiting.is_on || !has_person())
		return;
	waiting.what = strlen(what) < 64 ? what : "working";
	waiting.seconds = waiting.is_shown = false;
	waiting.done = 0;
	if (sigaction(SIGALRM, &action, &waiting.before) < 0)
		return;
	waiting.is_on = true;
	set_timer(1);
}

void waiting_hold(int is_held)
{
	waiting.is_held = is_held;
}

void waiting_count(size_t done)
{
	waiting.done = done;
}

void waiting_end(void)
{
	static const char erase[] = "\r\033[K";
	if (!waiting.is_on)
		return;
	set_timer(0);
	(void)sigaction(SIGALRM, &waiting.before, NULL);
	waiting.is_on = false;
	if (waiting.is_shown && terminal_is_ours(STDERR_FILENO))
		(void)!write(STDERR_FILENO, erase, sizeof erase - 1);
}
