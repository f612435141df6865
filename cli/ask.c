/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a question is asked.
 *
 * Only keys typed after the question was shown count: the input queue is flushed when the mode is set. One key
 * decides, but keys that arrive in one burst are a line (a paste that happens to begin with 'a' must not allow
 * anything), and a word is read up to Enter. Whatever is not clearly a yes is a no. Signals that would end airlock
 * count as a no, so that the terminal's mode is restored first. */
#include "ask.h"
#include "waiting.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "output.h"
#include "terminal.h"

#define BURST_MS 50 /* a person's next key takes longer, the rest of a paste does not */
#define LINE_MAX_BYTES 32

struct typed_answer {
	char line[LINE_MAX_BYTES];
	size_t len;
};

static void put(int fd, const char *s)
{
	(void)output_write(fd, s, strlen(s));
}

/* Waits for a key. False on a signal, on timeout, and if the terminal is gone. */
static bool wait_for_key(int tty, int signals, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = tty, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	int n;
	do
		n = poll(fds, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n > 0 && fds[1].revents == 0 && fds[0].revents & POLLIN;
}

static bool read_key(int tty, struct typed_answer *a)
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

/* True if more keys could still make it a yes. */
static bool is_start_of_yes(const struct ask *ask, const struct typed_answer *a)
{
	return strncasecmp(a->line, ask->word, a->len) == 0 || strncasecmp(a->line, "yes", a->len) == 0;
}

static const struct ask_more *find_more(const struct ask *ask, const struct typed_answer *a)
{
	int letter = a->len == 1 ? tolower((unsigned char)a->line[0]) : 0;
	for (const struct ask_more *m = ask->more; m && m->letter; m++)
		if (m->letter == letter)
			return m;
	return NULL;
}

static int decide_line(const struct ask *ask, const struct typed_answer *a)
{
	const struct ask_more *more = find_more(ask, a);
	return more ? more->letter : is_whole_yes(ask, a->line);
}

static int read_answer(const struct ask *ask, int tty, int signals)
{
	struct typed_answer a = {.len = 0};
	while (wait_for_key(tty, signals, -1)) {
		if (!read_key(tty, &a))
			return 0;
		if (a.line[a.len - 1] == '\n') {
			a.line[--a.len] = '\0';
			return decide_line(ask, &a);
		}
		const struct ask_more *more = find_more(ask, &a);
		if (!more && !is_start_of_yes(ask, &a))
			return 0;
		bool is_the_key = a.len == 1 && strncasecmp(a.line, ask->word, 1) == 0;
		if ((is_the_key || more) && !wait_for_key(tty, signals, BURST_MS))
			return more ? more->letter : 1;
		put(tty, a.line + a.len - 1);
	}
	return 0;
}

static const char *said(const struct ask *ask, int answer)
{
	for (const struct ask_more *m = ask->more; m && m->letter; m++)
		if (m->letter == answer)
			return m->said;
	return answer ? ask->said_yes : ask->said_no;
}

/* Opens the terminal, if there is one and we are in its foreground. */
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

bool ask_is_possible(const struct airlock_settings *s)
{
	struct airlock_error err = {0};
	if (airlock_settings_is_agent(s))
		return false;
	int fd = open_terminal(&err);
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

/* Sets the terminal up for keys, and blocks the signals that would end us. */
struct listening {
	int tty, signals;
	struct terminal mode;
	sigset_t before;
};

static void stop_listening(struct listening *l)
{
	waiting_hold(0);
	(void)tcflush(l->tty, TCIFLUSH); /* the rest of a paste is not for the command either */
	terminal_restore(&l->mode);
	if (l->signals >= 0)
		(void)close(l->signals);
	(void)sigprocmask(SIG_SETMASK, &l->before, NULL);
	(void)close(l->tty);
}

/* Shows the question; keys count from now on. */
static int listen_for_keys(struct listening *l, const char *before, const char *text, const char *keys,
			   struct airlock_error *err)
{
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		(void)sigaddset(&set, deadly[i]);

	*l = (struct listening){.tty = open_terminal(err), .mode = TERMINAL_INIT};
	if (l->tty < 0)
		return l->tty;
	(void)sigprocmask(SIG_BLOCK, &set, &l->before);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC);
	int rc = terminal_keys(&l->mode, l->tty, err);
	if (rc < 0) {
		stop_listening(l);
		return rc;
	}
	waiting_hold(1);
	put(l->tty, before);
	put(l->tty, text ? text : "");
	put(l->tty, text ? "\n" : "");
	put(l->tty, keys);
	put(l->tty, ": ");
	(void)tcflush(l->tty, TCIFLUSH);
	return 0;
}

/* The command may have left the cursor in the middle of a line that it wrote to be read with our question, and letters that
 * cannot be seen or are drawn as others: a line of our own, plain letters, the usual character set, the cursor. */
static const char *clear_of_command(void)
{
	const char *term = getenv("TERM");
	return term && *term && strcmp(term, "dumb") != 0 ? "\033[m\033(B\017\033[?25h\n" : "\n";
}

int ask_terminal(const struct ask *ask, struct airlock_error *err)
{
	struct listening l;
	int rc = listen_for_keys(&l, ask->is_during_run ? clear_of_command() : "", ask->text, ask->keys, err);
	if (rc < 0)
		return rc;
	int answer = read_answer(ask, l.tty, l.signals);
	put(l.tty, "\r");
	put(l.tty, ask->keys);
	put(l.tty, ": ");
	put(l.tty, said(ask, answer));
	put(l.tty, "\n");
	stop_listening(&l);
	return answer;
}

#define CTRL_C 3
#define CTRL_D 4

/* A key followed by nothing but Enter. More than that is a paste, of which nothing counts. */
static bool is_single_key(const struct listening *l, const struct typed_answer *key)
{
	struct typed_answer next = {.len = 0};
	if (key->line[0] == '\n' || !wait_for_key(l->tty, l->signals, BURST_MS))
		return true;
	bool is_enter = read_key(l->tty, &next) && next.line[0] == '\n';
	if (is_enter && !wait_for_key(l->tty, l->signals, BURST_MS))
		return true;
	(void)tcflush(l->tty, TCIFLUSH);
	return false;
}

static int read_choice(const struct ask_keys *ask, const struct listening *l)
{
	while (wait_for_key(l->tty, l->signals, -1)) {
		struct typed_answer key = {.len = 0};
		if (!read_key(l->tty, &key) || key.line[0] == CTRL_C || key.line[0] == CTRL_D)
			return 0;
		int letter = tolower((unsigned char)key.line[0]);
		if (is_single_key(l, &key) && (letter == '\n' || (letter && strchr(ask->letters, letter))))
			return letter;
	}
	return 0;
}

int ask_key(const struct ask_keys *ask, struct airlock_error *err)
{
	struct listening l;
	int rc = listen_for_keys(&l, "", ask->text, ask->keys, err);
	if (rc < 0)
		return rc;
	int letter = read_choice(ask, &l);
	const char shown[] = {(char)(letter > ' ' ? letter : '\0'), '\0'};
	put(l.tty, shown);
	put(l.tty, "\n");
	stop_listening(&l);
	return letter;
}

/* The keys besides [A]llow once, and the questions that have them. */
struct key {
	struct ask_more key;
	enum airlock_answer answer;
};
static const struct key about_command[] = {{{'s', "allow for this session"}, AIRLOCK_ALLOW_SESSION},
					   {{'w', "allow always"}, AIRLOCK_ALLOW_ALWAYS},
					   {{'e', "deny for this session"}, AIRLOCK_DENY_SESSION},
					   {{'v', "deny always"}, AIRLOCK_DENY_ALWAYS},
					   {{0, NULL}, AIRLOCK_DENY}};
/* [D] is a decision and is remembered: airlock does not ask about these links again. Enter and Ctrl-C are not
 * remembered. */
static const struct key about_links[] = {{{'w', "allow always"}, AIRLOCK_ALLOW_ALWAYS},
					 {{'d', "deny (airlock project link allows it later)"}, AIRLOCK_DENY_ALWAYS},
					 {{0, NULL}, AIRLOCK_DENY}};
#define MAX_KEYS 4

enum airlock_answer ask_permission(const struct airlock_question *q, void *data)
{
	(void)data;
	const struct key *keys = q->is_optional ? about_links : about_command;
	struct ask_more more[MAX_KEYS + 1] = {{0}};
	for (size_t i = 0; i < MAX_KEYS && keys[i].key.letter; i++)
		more[i] = keys[i].key;
	const struct ask ask = {
		.text = q->text,
		.keys = q->is_optional ? "[A]llow once  [D]eny  allow al[W]ays"
			: q->one_time_only
				? "[A]llow once  [D]eny"
				: "[A]llow once  [D]eny  allow: [S]ession, al[W]ays  deny: s[E]ssion, ne[V]er",
		.word = "allow",
		.said_yes = "allow once",
		.said_no = q->is_optional ? "not this time" : "deny",
		.more = q->one_time_only ? NULL : more,
		.is_during_run = q->n_reasons > 0 && q->reasons[0] == AIRLOCK_ASK_HOST};
	struct airlock_error err = {0};
	int rc = ask_terminal(&ask, &err);
	if (rc < 0)
		output_say("%s; %s would allow it", err.message, q->grant_hint);
	for (const struct key *k = keys; k->key.letter && !q->one_time_only; k++)
		if (rc == k->key.letter)
			return k->answer;
	return rc == 1 ? AIRLOCK_ALLOW_ONCE : AIRLOCK_DENY;
}
