/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run, seen from the terminal.
 *
 * The command is in its own session and never sees our terminal, so Ctrl-C reaches only airlock: the signals that
 * would end us are blocked, read from a descriptor beside the run's own, and passed on. While the run lives, only its
 * end (or SIGKILL) ends airlock, which is why the terminal is always restored. Ctrl-Z stops the command and then
 * airlock itself, so that the shell takes over; when airlock continues, so does the command. If the command has its
 * own terminal, that terminal stops it and reports; otherwise we stop it. A signal that the caller ignores stays
 * ignored (nohup, background jobs of a script): a blocked signal would still be queued, so such signals are left out
 * of the set. */
#include "run_loop.h"

#include <airlock/session.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <airlock/session.h>

#include "answer_wait.h"
#include "ask.h"
#include "attention.h"
#include "first_aid.h"
#include "output.h"
#include "progress.h"
#include "run_report.h"
#include "terminal.h"
#include "waiting.h"

/* Two interrupts this close together come from a person who insists… */
#define INSIST_MS 2000
/* …but closer than this they are one, sent twice: timeout(1) signals the child and then its group. */
#define SAME_MS 100

#define PATIENCE_MS 700 /* most commands have ended by then */

#define WARNINGS_MAX 5

#define FOREGROUND_MS 250 /* how often a background run checks whether it is in the foreground */

struct loop {
	struct airlock_run *run;
	bool has_pty;
	bool relays_keys; /* our terminal is raw while we are in its foreground: every key goes to the command's terminal */
	struct terminal terminal;
	struct progress progress;
	struct attention attention;
	int signal_fd;
	int64_t interrupted_ms; /* 0: not yet */
	int64_t remind_ms;	/* when to print the hint about it; 0: never */
};

static int64_t now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int open_signals(struct airlock_error *err)
{
	static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
		struct sigaction action;
		if (sigaction(forwarded[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&set, forwarded[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return output_fail(err, AIRLOCK_ERR_IO, NULL, "signalfd: %s", strerror(errno));
	return fd;
}

/* The command handles the first interrupt as it likes, the second one ends it. */
static void interrupt(struct loop *l, int signal)
{
	int64_t now = now_ms(), since = now - l->interrupted_ms;
	if (l->interrupted_ms != 0 && since < SAME_MS)
		return;
	if (l->interrupted_ms != 0 && since < INSIST_MS)
		signal = SIGKILL;
	l->interrupted_ms = now;
	l->remind_ms = signal == SIGINT && isatty(STDERR_FILENO) ? now + PATIENCE_MS : 0;
	(void)airlock_run_signal(l->run, signal);
}

/* After Ctrl-C without effect, the person should know that the command was told, and what else to do. */
static void remind(struct loop *l)
{
	if (l->remind_ms == 0 || now_ms() < l->remind_ms || !terminal_is_ours(STDERR_FILENO))
		return;
	l->remind_ms = 0;
	progress_erase(&l->progress);
	output_say("the command was interrupted and goes on; Ctrl-C twice within two seconds kills it");
}

static int wait_ms(const struct loop *l)
{
	int64_t left = l->remind_ms - now_ms();
	int attention = attention_wait_ms(&l->attention);
	int progress = l->relays_keys && l->terminal.fd < 0 ? FOREGROUND_MS : progress_wait_ms(&l->progress);
	if (attention >= 0 && (progress < 0 || attention < progress))
		progress = attention;
	if (l->remind_ms == 0 || (progress >= 0 && left > progress))
		return progress;
	return left > 0 ? (int)left : 0;
}

/* In the background the terminal belongs to another process. A shell that brings us to the foreground sends SIGCONT
 * only if we were stopped, so we also check from time to time. */
static void take_terminal(struct loop *l)
{
	struct airlock_error ignored = {0};
	if (l->relays_keys && l->terminal.fd < 0 && terminal_is_ours(STDIN_FILENO))
		(void)terminal_raw(&l->terminal, STDIN_FILENO, &ignored);
}

/* If nobody could continue us (no shell with job control above), the kernel does not stop us, and we go on at once. */
static void stop_ourselves(struct loop *l, pid_t whom)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	progress_erase(&l->progress);
	terminal_restore(&l->terminal);
	(void)kill(whom, SIGTSTP); /* stays blocked until the next line */
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	take_terminal(l);
	airlock_run_resize(l->run);
	(void)airlock_run_signal(l->run, SIGCONT);
}

static void pass_stop_on(struct loop *l)
{
	if (l->has_pty) {
		(void)airlock_run_signal(l->run, SIGTSTP); /* we stop if it stopped */
		return;
	}
	(void)airlock_run_signal(l->run, SIGSTOP);
	stop_ourselves(l, getpid());
}

static void handle_signals(struct loop *l)
{
	struct signalfd_siginfo info;
	while (read(l->signal_fd, &info, sizeof info) == sizeof info) {
		int signal = (int)info.ssi_signo;
		if (signal == SIGWINCH)
			airlock_run_resize(l->run);
		else if (signal == SIGTSTP)
			pass_stop_on(l);
		else if (signal == SIGCONT)
			take_terminal(l);
		else if (signal == SIGINT || signal == SIGTERM)
			interrupt(l, signal);
		else
			(void)airlock_run_signal(l->run, signal);
	}
}

/* The slow part comes after the command: finding its changes and applying them. */
static int dispatch(struct loop *l)
{
	waiting_begin("looking through the changes");
	int rc = airlock_run_dispatch(l->run, 0);
	waiting_end();
	return rc;
}

static void loop_until_over(struct loop *l)
{
	struct pollfd fds[] = {{.fd = airlock_run_fd(l->run), .events = POLLIN},
			       {.fd = l->signal_fd, .events = POLLIN},
			       {.fd = l->attention.watch_fd, .events = POLLIN}}; /* poll leaves out what is negative */
	while (dispatch(l) > 0) {
		if (airlock_run_take_stop(l->run))
			stop_ourselves(l, 0); /* the whole job, as the terminal would */
		int n = poll(fds, 3, wait_ms(l));
		attention_update(&l->attention, n == 0, now_ms());
		take_terminal(l);
		remind(l);
		progress_update(&l->progress, l->run, n == 0);
		if (n > 0 && fds[1].revents)
			handle_signals(l);
	}
	progress_erase(&l->progress);
}

static int tell_result(const struct loop *l, const struct airlock_job *job, const struct invocation *inv,
		       const struct run_manner *how)
{
	const struct airlock_error *failure = airlock_run_error(l->run);
	if (inv->json)
		(void)fputs(airlock_run_result_json(l->run), stdout);
	else if (failure->code != 0 && !first_aid_around(failure)) {
		output_error(failure);
		first_aid(inv->settings, failure);
	}
	if (!inv->json)
		report_run(inv, l->run, how->is_for_agent);
	if (!inv->json && airlock_job_links_unanswered(job) > 0)
		output_say("airlock project link PATH allows it for good, airlock project unlink PATH denies it");
	return airlock_run_exit_code(l->run);
}

static int run_job(struct airlock_job *job, const struct invocation *inv, const struct run_manner *how,
		   struct airlock_error *err)
{
	bool json = inv->json, has_pty = how->has_pty;
	bool is_terminal = isatty(STDIN_FILENO); /* the command has one even if the caller has none */
	const struct airlock_io io = {.stdin_fd = STDIN_FILENO,
				      .stdout_fd = json ? -1 : STDOUT_FILENO,
				      .stderr_fd = json ? -1 : STDERR_FILENO,
				      .terminal_fd = has_pty && is_terminal ? STDIN_FILENO : -1,
				      .ask = ask_is_possible(inv->settings) ? ask_permission : NULL};
	struct loop l = {.has_pty = has_pty,
			 .relays_keys = has_pty && is_terminal && !json,
			 .terminal = TERMINAL_INIT,
			 .attention = ATTENTION_INIT,
			 .signal_fd = open_signals(err),
			 .progress = progress_begin(json, has_pty)};
	int rc = l.signal_fd;
	if (rc >= 0)
		answer_wait_job(job, l.signal_fd, json);
	if (rc >= 0)
		rc = airlock_run_start(job, &io, &l.run, err);
	if (rc >= 0) {
		take_terminal(&l);
		if (how->is_agent && l.relays_keys)
			attention_begin(&l.attention, inv->settings, airlock_settings_session(inv->settings));
		loop_until_over(&l);
		attention_end(&l.attention);
		terminal_restore(&l.terminal);
		rc = tell_result(&l, job, inv, how);
	}
	airlock_run_free(l.run);
	if (l.signal_fd >= 0)
		(void)close(l.signal_fd);
	return rc;
}

const char *run_loop_shell(const struct invocation *inv)
{
	const char *asked = arguments_value(&inv->args, "shell", NULL);
	if (asked)
		return asked;
	const char *own = getenv("SHELL");
	return own && own[0] == '/' && access(own, X_OK) == 0 ? own : "/bin/sh";
}

/* Many unsearchable directories are worth a few lines, not a screenful. */
static void tell_warnings(const struct airlock_job *job)
{
	size_t n = airlock_job_warning_count(job), shown = n > WARNINGS_MAX + 1 ? WARNINGS_MAX : n;
	for (size_t i = 0; i < shown; i++)
		output_note(airlock_job_warning(job, i));
	if (n > shown)
		output_say("… and %zu more like these", n - shown);
}

/* True if the run may use a prestart: it is native only. */
static bool may_be_native(const struct invocation *inv)
{
	const char *backend = arguments_value(&inv->args, "backend", NULL);
	const char *mode = arguments_value(&inv->args, "network-mode", NULL);
	return (!backend || strcmp(backend, "auto") == 0 || strcmp(backend, "native") == 0) &&
	       (!mode || strcmp(mode, "host") != 0);
}

/* The default if neither --pty nor --no-pty is given. A person at a terminal sees colours and progress bars as without
 * airlock. A program that reads the output from a pipe or as JSON gets two clean streams. */
static bool is_at_terminal(const struct invocation *inv)
{
	return !inv->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

int run_loop_pty(const struct invocation *inv, bool *ret, struct airlock_error *err)
{
	if (arguments_value(&inv->args, "pty", NULL))
		return arguments_flag(&inv->args, "pty", ret, err);
	*ret = is_at_terminal(inv);
	return *ret ? airlock_settings_set(inv->settings, "pty", "true", "the terminal", err) : 0;
}

int run_loop(const struct invocation *inv, const struct run_manner *how, struct airlock_error *err)
{
	struct airlock_job *job = NULL;
	struct airlock_prestart *prestart = airlock_prestart_new();
	struct airlock_error ignored = {0};
	bool in_session = airlock_settings_session(inv->settings) != NULL;
	if (prestart && may_be_native(inv) && in_session)
		airlock_settings_use_prestart(inv->settings, prestart);
	else if (prestart && may_be_native(inv))
		(void)airlock_prestart_begin(prestart, &ignored);
	int rc = airlock_job_prepare(inv->settings, &job, err);
	if (rc >= 0) {
		airlock_job_use_prestart(job, prestart);
		tell_warnings(job);
		rc = run_job(job, inv, how, err);
	}
	airlock_job_free(job);
	airlock_prestart_free(prestart);
	return rc;
}
