/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a question is asked.
 *
 * Only what is typed after the question was shown counts: the input queue is flushed when the mode is set. One key
 * decides, but keys that arrive in one burst are a line (a paste that happens to begin with 'a' must not allow
 * anything), and a word is read to its Enter. Whatever is not clearly a yes is a no.
 * Signals that would end airlock are taken as a no, so that the terminal's mode is put back first. */
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "output.h"
#include "terminal.h"

#define BURST_MS 50 /* a person's next key takes longer, the rest of a paste does not */
#define LINE_MAX_BYTES 32

struct answer {
	char line[LINE_MAX_BYTES];
	size_t len;
};

static void put(int fd, const char *s)
{
	size_t len = strlen(s);
	while (len > 0) {
		ssize_t n = write(fd, s, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

/* Can a key be read? False on a signal, on timeout, and when the terminal is gone. */
static bool wait_for_key(int tty, int signals, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = tty, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	int n;
	do
		n = poll(fds, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n > 0 && fds[1].revents == 0 && fds[0].revents & POLLIN;
}

static bool read_key(int tty, struct answer *a)
{
	if (a->len + 1 >= sizeof a->line || read(tty, a->line + a->len, 1) != 1)
		return false;
	a->line[++a->len] = '\0';
	return true;
}

static bool is_whole_yes(const struct ask *ask, const char *line)
{
	const char letter[] = {ask->word[0], '\0'};
	return strcasecmp(line, letter) == 0 || strcasecmp(line, ask->word) == 0 || strcasecmp(line, "y") == 0 ||
	       strcasecmp(line, "yes") == 0;
}

/* Could more keys still make it a yes? */
static bool is_start_of_yes(const struct ask *ask, const struct answer *a)
{
	return strncasecmp(a->line, ask->word, a->len) == 0 || strncasecmp(a->line, "yes", a->len) == 0;
}

static bool read_answer(const struct ask *ask, int tty, int signals)
{
	struct answer a = {.len = 0};
	while (wait_for_key(tty, signals, -1)) {
		if (!read_key(tty, &a))
			return false;
		if (a.line[a.len - 1] == '\n') {
			a.line[--a.len] = '\0';
			return is_whole_yes(ask, a.line);
		}
		if (!is_start_of_yes(ask, &a))
			return false;
		bool is_the_key = a.len == 1 && strncasecmp(a.line, ask->word, 1) == 0;
		if (is_the_key && !wait_for_key(tty, signals, BURST_MS))
			return true;
		put(tty, a.line + a.len - 1);
	}
	return false;
}

/* Opens the terminal, when there is one and it listens to us. */
static int open_terminal(struct airlock_error *err)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return output_fail(err, AIRLOCK_ERR_UNAVAILABLE, "/dev/tty", "there is no terminal to ask on");
	if (terminal_is_ours(fd))
		return fd;
	(void)close(fd);
	return output_fail(err, AIRLOCK_ERR_UNAVAILABLE, "/dev/tty", "cannot ask from the background");
}

bool ask_is_possible(void)
{
	struct airlock_error err = {0};
	int fd = open_terminal(&err);
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

static bool ask_with_signals(const struct ask *ask, int tty, int signals, struct airlock_error *err)
{
	struct terminal mode = TERMINAL_INIT;
	if (terminal_keys(&mode, tty, err) < 0)
		return false;
	put(tty, ask->text);
	put(tty, "\n");
	put(tty, ask->keys);
	put(tty, ": ");
	(void)tcflush(tty, TCIFLUSH);
	bool yes = read_answer(ask, tty, signals);
	put(tty, "\r");
	put(tty, ask->keys);
	put(tty, ": ");
	put(tty, yes ? ask->said_yes : ask->said_no);
	put(tty, "\n");
	(void)tcflush(tty, TCIFLUSH); /* the rest of a paste is not for the command either */
	terminal_restore(&mode);
	return yes;
}

int ask_terminal(const struct ask *ask, struct airlock_error *err)
{
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set, before;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		(void)sigaddset(&set, deadly[i]);

	int tty = open_terminal(err);
	if (tty < 0)
		return tty;
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	int signals = signalfd(-1, &set, SFD_CLOEXEC);
	bool yes = ask_with_signals(ask, tty, signals, err);
	if (signals >= 0)
		(void)close(signals);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(tty);
	return err->code ? err->code : yes;
}

enum airlock_answer ask_permission(const struct airlock_question *q, void *data)
{
	(void)data;
	const struct ask ask = {.text = q->text,
				.keys = "[A]llow once  [D]eny",
				.word = "allow",
				.said_yes = "allow once",
				.said_no = "deny"};
	struct airlock_error err = {0};
	int rc = ask_terminal(&ask, &err);
	if (rc < 0)
		output_say("%s; %s would allow it", err.message, q->grant_hint);
	return rc > 0 ? AIRLOCK_ALLOW_ONCE : AIRLOCK_DENY;
}
