/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock ui`: the page on this machine, for the person who started it. */
#include "http_programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http_options.h"
#include "http_secret.h"
#include "ui_state.h"

#define OPENER "/usr/bin/xdg-open"

/* Nothing inline, nothing from elsewhere, nobody's frame; and with Trusted Types a script of the page cannot even make markup of a
 * text. */
static const char *const headers[] = {
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Content-Type-Options: nosniff",
	"X-Frame-Options: DENY",
	"Referrer-Policy: no-referrer",
	"Cross-Origin-Opener-Policy: same-origin",
	"Cross-Origin-Resource-Policy: same-origin",
	"Cache-Control: no-store",
	NULL,
};

static const struct http_route *const tables[] = {
	ui_login_routes, ui_look_routes, ui_diff_routes, ui_act_routes, ui_event_routes, ui_page_routes, NULL};

static void stop(void *data, short revents)
{
	struct ui *ui = data;
	(void)revents;
	http_loop_stop(ui->loop);
}

/* ── The browser ── */

static bool has_desktop(void)
{
	return isatty(STDOUT_FILENO) && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) && access(OPENER, X_OK) == 0;
}

/* A grandchild, which nobody has to wait for. Its words go nowhere: the address stands on the terminal anyway. */
static void open_browser(char *address)
{
	char *argv[] = {(char *)OPENER, address, NULL};
	pid_t child = fork();
	if (child == 0) {
		sigset_t none;
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fork() == 0 && setsid() >= 0 && null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 &&
		    dup2(null, 2) >= 0)
			(void)execv(argv[0], argv);
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

/* ── The server ── */

static int run(struct ui *ui, const struct http_options *options, const char *host, bool wants_browser,
	       struct airlock_error *err)
{
	const struct http_app app = {.routes = tables, .authenticate = ui_authenticate, .headers = headers, .data = ui};
	struct http_server *server = NULL;
	char address[192];
	sigset_t ends;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	struct http_watch signals = {
		.fd = signalfd(-1, &ends, SFD_CLOEXEC), .events = POLLIN, .ready = stop, .data = ui};
	int rc = http_server_start(ui->loop, &app, options, &server, err);
	if (rc >= 0) {
		http_loop_add(ui->loop, &signals);
		(void)snprintf(address, sizeof address, "http://%s:%u/#token=%s", host, options->port, ui->token);
		(void)puts(address);
		(void)fflush(stdout);
		if (wants_browser && has_desktop())
			open_browser(address);
		rc = http_loop_run(ui->loop) < 0 ? http_fail(err, AIRLOCK_ERR_IO, "poll", "the server cannot go on")
						 : 0;
	}
	http_server_stop(server);
	http_loop_remove(ui->loop, &signals);
	(void)close(signals.fd);
	return rc;
}

/* The port of the last time first: then pages that are still open find their server again. */
static int listen_again(int *ret_fd, unsigned *ret_port, bool *ret_is_loopback, struct airlock_error *err)
{
	char address[32];
	struct airlock_error is_taken = {0};
	unsigned port = ui_port_last();
	(void)snprintf(address, sizeof address, "127.0.0.1:%u", port);
	if (port && http_listen(address, ret_fd, ret_port, ret_is_loopback, &is_taken) >= 0)
		return 0;
	return http_listen("127.0.0.1:0", ret_fd, ret_port, ret_is_loopback, err);
}

static int listen_where(const char *address, struct http_options *options, struct airlock_error *err)
{
	bool is_loopback = false;
	int rc = address ? http_listen(address, &options->listen_fd, &options->port, &is_loopback, err)
			 : listen_again(&options->listen_fd, &options->port, &is_loopback, err);
	if (rc < 0 || is_loopback)
		return rc;
	(void)close(options->listen_fd);
	return http_fail(err, AIRLOCK_ERR_USAGE, "listen",
			 "the page is for this machine only: --listen takes a loopback address");
}

int ui_main(char *const *words, struct airlock_error *err)
{
	struct ui ui = {.loop = http_loop_new(), .logins = ui_logins_new(), .diffs = ui_diffs_new()};
	struct http_options options = {.listen_fd = -1, .max_connections = 256, .idle_seconds = 60};
	const char *address = http_option(words, "listen");
	/* The page is about all projects and sessions, wherever it was started. */
	(void)unsetenv("AIRLOCK_PROJECT");
	(void)unsetenv("AIRLOCK_SESSION");
	int rc = ui.loop && ui.logins && ui.diffs ? http_secret_new(ui.token, err)
						  : http_fail(err, AIRLOCK_ERR_INTERNAL, "ui", "out of memory");
	if (rc >= 0)
		rc = listen_where(address, &options, err);
	if (rc >= 0 && !(ui.listeners = ui_listeners_new(ui.loop, err))) {
		(void)close(options.listen_fd);
		rc = err->code;
	}
	if (rc >= 0) {
		if (!address)
			ui_port_remember(options.port);
		rc = run(&ui, &options, address && address[0] == '[' ? "[::1]" : "127.0.0.1",
			 !http_option_is_set(words, "no-open"), err);
	}
	ui_listeners_free(ui.listeners);
	ui_logins_free(ui.logins);
	ui_diffs_free(ui.diffs);
	http_loop_free(ui.loop);
	return rc;
}
