/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The whole terminal for a while: raw mode, the alternate screen, key events and signals. Whatever ends it, the
 * terminal is restored before the signal takes effect. See screen.h. */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "keys.h"
#include "output.h"

#define BURST_MS 50 /* a person's next key takes longer; the rest of a paste, or of an arrow key, does not */
#define LEAST_HEIGHT 6
#define LEAST_WIDTH 24

#define SHOW "\033[?1049h\033[?25l" /* the alternate screen, without the cursor */
#define HIDE "\033[0m\033[?25h\033[?1049l"
#define FROM_TOP "\033[H"
#define TO_END_OF_LINE "\033[K"
#define TO_END_OF_SCREEN "\033[J"

/* ── the terminal ── */

static struct screen_size size_of(int tty)
{
	struct winsize size = {0};
	if (ioctl(tty, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return (struct screen_size){24, 80};
	return (struct screen_size){size.ws_row, size.ws_col};
}

struct screen_size screen_size(const struct screen *s)
{
	return size_of(s->tty);
}

static int open_tty(void)
{
	return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool screen_is_possible(void)
{
	const char *term = getenv("TERM");
	int tty = term && *term ? open_tty() : -1;
	if (tty < 0)
		return false;
	struct screen_size size = size_of(tty);
	bool can = output_has_colour(tty) && terminal_is_ours(tty) && size.height >= LEAST_HEIGHT &&
		   size.width >= LEAST_WIDTH;
	(void)close(tty);
	return can;
}

int screen_enter(struct screen *s, struct airlock_error *err)
{
	int rc = terminal_keys(&s->mode, s->tty, err);
	s->n_bytes = 0;
	if (rc < 0)
		return rc;
	(void)output_write(s->tty, SHOW, strlen(SHOW));
	s->is_on = true;
	return 0;
}

/* In the background the terminal belongs to another process. */
void screen_leave(struct screen *s)
{
	if (s->is_on && terminal_is_ours(s->tty)) {
		(void)output_write(s->tty, HIDE, strlen(HIDE));
		(void)tcflush(s->tty, TCIFLUSH); /* keys typed after the decision are not for the shell either */
	}
	s->is_on = false;
	terminal_restore(&s->mode);
}

static int listen_for(const int *signals, size_t n)
{
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		(void)sigaddset(&set, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int screen_open(struct screen *s, struct airlock_error *err)
{
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT}, others[] = {SIGTSTP, SIGCONT, SIGWINCH};
	*s = (struct screen){
		.tty = open_tty(), .signals = -1, .ends = -1, .mode = TERMINAL_INIT, .news_fd = -1, .tick_ms = -1};
	(void)sigprocmask(SIG_BLOCK, NULL, &s->before);
	if (s->tty < 0)
		return output_fail(err, AIRLOCK_ERR_UNAVAILABLE, "/dev/tty", "there is no terminal");
	s->ends = listen_for(deadly, sizeof deadly / sizeof *deadly);
	s->signals = listen_for(others, sizeof others / sizeof *others);
	if (s->signals < 0 || s->ends < 0)
		(void)output_fail(err, AIRLOCK_ERR_IO, NULL, "signalfd: %s", strerror(errno));
	else if (screen_enter(s, err) == 0)
		return 0;
	screen_close(s);
	return err->code;
}

void screen_close(struct screen *s)
{
	screen_leave(s);
	if (s->signals >= 0)
		(void)close(s->signals);
	if (s->ends >= 0)
		(void)close(s->ends);
	if (s->tty >= 0)
		(void)close(s->tty);
	(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* Each line erases the old one. More lines than the terminal has would scroll. */
static void put_lines(FILE *out, const char *frame, size_t room)
{
	for (size_t i = 0; i < room; i++) {
		size_t len = strcspn(frame, "\n");
		(void)fprintf(out, "%s%.*s" TO_END_OF_LINE, i > 0 ? "\r\n" : "", (int)len, frame);
		frame += len;
		if (!*frame++)
			break;
	}
}

/* In one write, to avoid flicker. */
void screen_draw(const struct screen *s, const char *frame)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return;
	(void)fputs(FROM_TOP, out);
	put_lines(out, frame, screen_size(s).height);
	(void)fputs(TO_END_OF_SCREEN, out);
	if (fclose(out) == 0)
		(void)output_write(s->tty, text, size);
	free(text);
}

/* ── being stopped ── */

/* Unblocks the signal for a moment: if it does not stop us (nobody could continue us), we go on. */
static int stop(struct screen *s, pid_t whom, struct airlock_error *err)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	screen_leave(s);
	(void)kill(whom, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	struct signalfd_siginfo known;
	while (read(s->signals, &known, sizeof known) == sizeof known) /* SIGCONT: that brought us here */
		continue;
	return screen_enter(s, err);
}

/* Stops the whole group, as the terminal's own Ctrl-Z would. */
int screen_suspend(struct screen *s, struct airlock_error *err)
{
	return stop(s, 0, err);
}

/* While we were stopped, a shell may have changed the terminal's mode. */
static enum screen_event take_signals(struct screen *s)
{
	struct airlock_error err = {0};
	struct signalfd_siginfo info;
	bool is_stopped = false, is_back = false;
	while (read(s->signals, &info, sizeof info) == sizeof info) {
		is_stopped |= info.ssi_signo == SIGTSTP;
		is_back |= info.ssi_signo == SIGCONT;
	}
	int rc = 0;
	if (is_stopped) {
		rc = stop(s, getpid(), &err);
	} else if (is_back) {
		screen_leave(s);
		rc = screen_enter(s, &err);
	}
	return rc < 0 ? SCREEN_OVER : SCREEN_RESIZED;
}

/* ── keys ── */

enum readiness { NOT_READY, KEYS_READY, SIGNALS_READY, NEWS_READY, ENDED };

/* news_fd: -1 while only keys are waited for. */
static enum readiness wait_for_any(const struct screen *s, int news_fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = s->tty, .events = POLLIN},
			       {.fd = s->signals, .events = POLLIN},
			       {.fd = s->ends, .events = POLLIN},
			       {.fd = news_fd, .events = POLLIN}};
	int n;
	do
		n = poll(fds, 4, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n < 0 || (n > 0 && fds[2].revents) ? ENDED
	       : n == 0				  ? NOT_READY
	       : fds[1].revents			  ? SIGNALS_READY
	       : fds[0].revents			  ? KEYS_READY
						  : NEWS_READY;
}

static enum readiness wait_for(const struct screen *s, int timeout_ms)
{
	return wait_for_any(s, -1, timeout_ms);
}

/* False: nothing will come any more. */
static bool read_bytes(struct screen *s)
{
	ssize_t n;
	do
		n = read(s->tty, s->bytes + s->n_bytes, sizeof s->bytes - s->n_bytes);
	while (n < 0 && errno == EINTR);
	s->n_bytes += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The first key of what was read. Waits a moment for the rest of an incomplete key. */
static struct screen_key take_key(struct screen *s)
{
	size_t used = 0;
	bool is_all = false;
	int key = KEY_NONE;
	while (used == 0) {
		key = key_decode(s->bytes, s->n_bytes, is_all, &used);
		if (used == 0)
			is_all = s->n_bytes == sizeof s->bytes || wait_for(s, BURST_MS) != KEYS_READY || !read_bytes(s);
	}
	bool is_first = !s->is_burst;
	s->n_bytes -= used;
	(void)memmove(s->bytes, s->bytes + used, s->n_bytes);
	s->is_burst = s->n_bytes > 0 || wait_for(s, 0) == KEYS_READY;
	return (struct screen_key){key, !is_first || s->is_burst};
}

enum screen_event screen_wait(struct screen *s, struct screen_key *ret)
{
	if (s->n_bytes == 0) {
		enum readiness ready = wait_for_any(s, s->news_fd, s->tick_ms);
		if (ready == SIGNALS_READY)
			return take_signals(s);
		if (ready == NEWS_READY || ready == NOT_READY)
			return SCREEN_NEWS;
		if (ready != KEYS_READY || !read_bytes(s))
			return SCREEN_OVER;
	}
	*ret = take_key(s);
	return SCREEN_KEY;
}

bool screen_is_alone(const struct screen *s, const struct screen_key *key)
{
	return !key->is_burst && wait_for(s, BURST_MS) != KEYS_READY;
}
