/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock serve`: its options, its socket and signals; then the loop. */
#include "http_programs.h"

#include <airlock/session.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http_options.h"
#include "http_secret.h"
#include "serve_state.h"

#define PEM_MAX (1 << 20)
#define MAX_CONNECTIONS 10000
#define IDLE_SECONDS 60
#define LAST_WORDS_MS 2000 /* for replies that are on their way when the time to drain is over */

extern char **environ;

static void say(const char *message)
{
	char *text = airlock_text_inert(message, strlen(message));
	(void)fprintf(stderr, "airlock: %s\n", text ? text : "out of memory");
	airlock_free(text);
}

/* ── Who asks ── */

static void refuse_token(struct http_request *r)
{
	http_add_header(r, "WWW-Authenticate", "Bearer");
	http_reply_error(r, 401, "denied", "this needs a token: Authorization: Bearer TOKEN");
}

static bool authenticate(struct http_request *r)
{
	struct serve *s = http_data(r);
	char seconds[24];
	int64_t retry_s = 0;
	const char *secret = http_bearer(http_header(r, "Authorization"));
	struct serve_token *token = secret ? serve_tokens_find(&s->tokens, secret) : NULL;
	if (!token) {
		refuse_token(r);
		return false;
	}
	if (!serve_token_allow(token, http_now_ms(), &retry_s)) {
		s->metrics.quota_hits[SERVE_QUOTA_REQUESTS]++;
		(void)snprintf(seconds, sizeof seconds, "%lld", (long long)retry_s);
		http_add_header(r, "Retry-After", seconds);
		http_reply_error(r, 429, "limit", "this token may make %lld requests a minute",
				 (long long)token->requests_per_minute);
		return false;
	}
	http_set_identity(r, token);
	return true;
}

static void finished(struct http_request *r, const struct http_route *route, unsigned status, int64_t duration_us)
{
	struct serve *s = http_data(r);
	(void)route;
	s->metrics.by_status[status < 600 ? status : 0]++;
	serve_histogram_add(&s->metrics.request_s, (double)duration_us / 1e6);
}

/* A line of JSON for each thing that a token did. Paths and ids are hostile: they are strings of JSON. */
void serve_audit(struct serve *s, const struct serve_token *token, const char *what, const char *sandbox,
		 const char *detail, unsigned status)
{
	char *id = sandbox ? airlock_text_json(sandbox, strlen(sandbox)) : NULL;
	char *more = detail ? airlock_text_json(detail, strnlen(detail, 1024)) : NULL, *line = NULL;
	if (s->audit_fd >= 0) {
		int len = asprintf(
			&line,
			"{\"time\":%lld,\"token\":\"%s\",\"action\":\"%s\",\"sandbox\":%s,\"detail\":%s,\"status\":%u}\n",
			(long long)time(NULL), token->name, what, id ? id : "null", more ? more : "null", status);
		if (len > 0 && write(s->audit_fd, line, (size_t)len) < 0)
			s->metrics.audit_lost++;
	}
	free(line);
	airlock_free(id);
	airlock_free(more);
}

/* ── Signals ── */

/* Connections are still accepted, so that whoever asks hears 503 and not silence, until the last command is over. */
static void look_drained(void *data, short revents)
{
	struct serve *s = data;
	int64_t now = http_now_ms();
	(void)revents;
	if (now >= s->drain_by_ms)
		serve_end_runs(s);
	bool is_late = now >= s->drain_by_ms + LAST_WORDS_MS;
	if ((s->n_running == 0 && http_server_in_flight(s->server) == 0) || is_late)
		http_loop_stop(s->loop);
	s->draining.wake_ms = now + 20;
}

static void begin_draining(struct serve *s)
{
	if (s->is_draining) { /* a second time: now */
		serve_end_runs(s);
		return;
	}
	s->is_draining = true;
	s->drain_by_ms = http_now_ms() + s->drain_ms;
	s->draining = (struct http_watch){.fd = -1, .wake_ms = http_now_ms() + 1, .ready = look_drained, .data = s};
	http_loop_add(s->loop, &s->draining);
}

static void reread_tokens(struct serve *s)
{
	struct airlock_error err = {0};
	if (serve_tokens_read(&s->tokens, s->token_file, &err) < 0)
		say(err.message); /* the old ones stay in force */
}

static void take_signal(void *data, short revents)
{
	struct serve *s = data;
	struct signalfd_siginfo info;
	(void)revents;
	if (read(s->signals.fd, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (info.ssi_signo == SIGHUP)
		reread_tokens(s);
	else
		begin_draining(s);
}

static int watch_signals(struct serve *s, struct airlock_error *err)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return http_fail(err, AIRLOCK_ERR_IO, "signalfd", "cannot listen to signals");
	s->signals = (struct http_watch){.fd = fd, .events = POLLIN, .ready = take_signal, .data = s};
	http_loop_add(s->loop, &s->signals);
	return 0;
}

/* ── The socket ── */

static int read_pem(const char *path, char **ret, struct airlock_error *err)
{
	char *text = calloc(1, PEM_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = text && fd >= 0 ? read(fd, text, PEM_MAX) : -1;
	if (fd >= 0)
		(void)close(fd);
	if (n > 0) {
		*ret = text;
		return 0;
	}
	free(text);
	return http_fail(err, AIRLOCK_ERR_INVALID, path, "cannot read %s", path);
}

static int read_tls(char *const *words, char **ret_cert, char **ret_key, struct airlock_error *err)
{
	const char *cert = http_option(words, "tls-cert"), *key = http_option(words, "tls-key");
	if (!cert != !key)
		return http_fail(err, AIRLOCK_ERR_USAGE, "tls-cert", "--tls-cert and --tls-key go together");
	int rc = cert ? read_pem(cert, ret_cert, err) : 0;
	return rc >= 0 && key ? read_pem(key, ret_key, err) : rc;
}

/* Each connection is a descriptor. */
static unsigned raise_descriptors(void)
{
	struct rlimit limit = {0};
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	rlim_t some = limit.rlim_cur / 4 * 3; /* the rest is for commands and files */
	return some < MAX_CONNECTIONS ? (unsigned)some : MAX_CONNECTIONS;
}

static int listen_for(struct serve *s, const struct http_app *app, struct airlock_error *err)
{
	char *cert = NULL, *key = NULL;
	const char *address = http_option(s->words, "listen");
	bool is_loopback = false, is_behind = http_option_is_set(s->words, "behind-proxy");
	struct http_options options = {
		.listen_fd = -1, .idle_seconds = IDLE_SECONDS, .max_connections = raise_descriptors()};
	if (!address)
		return http_fail(err, AIRLOCK_ERR_USAGE, "listen", "--listen ADDRESS:PORT is missing");
	int rc = read_tls(s->words, &cert, &key, err);
	if (rc >= 0)
		rc = http_listen(address, &options.listen_fd, &options.port, &is_loopback, err);
	if (rc >= 0 && !is_loopback && !cert && !is_behind) {
		(void)close(options.listen_fd);
		rc = http_fail(err, AIRLOCK_ERR_USAGE, address,
			       "other machines could read the tokens on their way to %s", address);
		(void)snprintf(err->hint, sizeof err->hint,
			       "give --tls-cert and --tls-key, or --behind-proxy if something else does that");
	}
	options.tls_cert = cert;
	options.tls_key = key;
	options.is_any_host = is_behind || !is_loopback;
	if (rc >= 0)
		rc = http_server_start(s->loop, app, &options, &s->server, err);
	if (rc >= 0) {
		(void)printf("http%s://%.*s:%u\n", cert ? "s" : "", (int)(strrchr(address, ':') - address), address,
			     options.port);
		(void)fflush(stdout);
	}
	free(cert);
	free(key);
	return rc;
}

/* ── Options ── */

/* Absolute, and ours alone: ids and files of all tokens are below it. */
static int open_workspaces(struct serve *s, struct airlock_error *err)
{
	const char *given = http_option(s->words, "workspaces"), *state = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");
	char *path = NULL;
	int n = given		  ? asprintf(&path, "%s", given)
		: state && *state ? asprintf(&path, "%s/airlock-serve", state)
				  : asprintf(&path, "%s/.local/state/airlock-serve", home ? home : "");
	if (n < 0)
		return http_fail(err, AIRLOCK_ERR_INTERNAL, "serve", "out of memory");
	for (char *slash = path; !given && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	struct stat st;
	int rc = 0;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		rc = http_fail(err, AIRLOCK_ERR_IO, path, "cannot make %s: %s", path, strerror(errno));
	else if (!(s->workspaces = realpath(path, NULL)) || stat(s->workspaces, &st) < 0 || !S_ISDIR(st.st_mode))
		rc = http_fail(err, AIRLOCK_ERR_INVALID, path, "%s is not a directory", path);
	else if ((st.st_mode & 002) && !(st.st_mode & S_ISVTX))
		rc = http_fail(err, AIRLOCK_ERR_INVALID, path, "everybody may write to %s", path);
	free(path);
	return rc;
}

/* The beginning of the ids that it makes up. */
static int take_name(struct serve *s, struct airlock_error *err)
{
	const char *name = http_option(s->words, "name");
	size_t n = 0;
	/* A '-' ends the name in an id. */
	if (name && (strlen(name) >= sizeof s->name || !serve_is_id(name) || strchr(name, '-')))
		return http_fail(err, AIRLOCK_ERR_USAGE, "name",
				 "--name takes letters, digits, '.' and '_', at most %zu", sizeof s->name - 1);
	char host[65] = "";
	(void)gethostname(host, sizeof host - 1);
	for (const char *c = name ? name : host; *c && n < sizeof s->name - 1; c++)
		if (name || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))
			s->name[n++] = *c;
	if (n == 0)
		(void)snprintf(s->name, sizeof s->name, "airlock");
	return 0;
}

static int open_audit(struct serve *s, struct airlock_error *err)
{
	const char *path = http_option(s->words, "audit");
	if (!path)
		return 0;
	s->audit_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	return s->audit_fd >= 0 ? 0
				: http_fail(err, AIRLOCK_ERR_IO, path, "cannot write %s: %s", path, strerror(errno));
}

static int read_options(struct serve *s, struct airlock_error *err)
{
	int64_t drain_s = 30;
	s->is_single = http_option_is_set(s->words, "single");
	s->are_metrics_open = http_option_is_set(s->words, "open-metrics");
	int rc = http_option_seconds(s->words, "drain", 30, &drain_s, err);
	s->drain_ms = drain_s < 0 ? INT32_MAX : drain_s * 1000;
	if (rc >= 0)
		rc = http_option_seconds(s->words, "idle", 600, &s->idle_s, err);
	if (rc >= 0)
		rc = http_option_seconds(s->words, "max-age", -1, &s->max_age_s, err);
	if (rc >= 0)
		rc = http_option_number(s->words, "max-sandboxes", INT32_MAX, -1, &s->max_sandboxes, err);
	if (rc >= 0)
		rc = http_option_number(s->words, "pool", 10000, 4, &s->pool_wanted, err);
	if (rc >= 0)
		rc = take_name(s, err);
	if (rc >= 0)
		rc = open_workspaces(s, err);
	if (rc >= 0)
		rc = open_audit(s, err);
	if (rc >= 0)
		rc = serve_tokens_read(&s->tokens, s->token_file, err);
	return rc;
}

static int add_token(const char *file, const char *name, struct airlock_error *err)
{
	char secret[65];
	int rc = serve_tokens_add(file, name, secret, err);
	if (rc >= 0)
		(void)printf("%s\n", secret);
	return rc;
}

/* The job is prepared once, so that a wrong option of runs is refused now and not by each request. */
static int check_run_options(struct serve *s, struct airlock_error *err)
{
	struct airlock_settings *settings = airlock_settings_new();
	struct airlock_job *job = NULL;
	int rc = settings ? airlock_settings_set_environ(settings, environ, err) : AIRLOCK_ERR_INTERNAL;
	if (rc >= 0)
		rc = http_option_settings(s->words, settings, err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "workspace", s->workspaces, "--workspaces", err);
	if (rc >= 0)
		rc = airlock_settings_set_command(settings, "true", err);
	if (rc >= 0)
		rc = airlock_job_prepare(settings, &job, err);
	airlock_job_free(job);
	airlock_settings_free(settings);
	return rc;
}

static void choose_routes(const struct serve *s, const struct http_route **tables)
{
	size_t n = 0;
	if (s->are_metrics_open)
		tables[n++] = serve_open_metrics_routes;
	tables[n++] = serve_health_routes;
	tables[n++] = serve_execute_routes;
	tables[n++] = serve_file_routes;
	tables[n++] = serve_sandbox_routes;
	tables[n++] = serve_mcp_routes;
	if (s->is_single)
		tables[n++] = serve_single_routes;
	tables[n] = NULL;
}

static int run(struct serve *s, struct airlock_error *err)
{
	const struct http_route *tables[9];
	const struct http_app app = {.routes = tables, .authenticate = authenticate, .finished = finished, .data = s};
	int rc = check_run_options(s, err);
	choose_routes(s, tables);
	if (rc >= 0)
		rc = watch_signals(s, err);
	if (rc >= 0)
		rc = serve_mcp_start(s, err);
	if (rc >= 0)
		rc = listen_for(s, &app, err);
	if (rc >= 0) {
		serve_chores_start(s);
		(void)http_loop_run(s->loop);
	}
	serve_tasks_end(s);
	serve_mcp_end(s); /* its requests are told before their connections end */
	http_server_stop(s->server);
	return rc;
}

int serve_main(char *const *words, struct airlock_error *err)
{
	struct serve s = {.words = words, .loop = http_loop_new(), .signals.fd = -1, .audit_fd = -1};
	const char *file = http_option(words, "token-file"), *name = http_option(words, "new-token");
	int rc = 0;
	if (!s.loop)
		rc = http_fail(err, AIRLOCK_ERR_INTERNAL, "serve", "out of memory");
	else if (!file)
		rc = http_fail(err, AIRLOCK_ERR_USAGE, "token-file", "--token-file FILE is missing");
	else if (name)
		rc = add_token(file, name, err);
	else if ((s.token_file = strdup(file)) && (rc = read_options(&s, err)) >= 0 &&
		 (rc = airlock_sessions_end_with_program(err)) >= 0) /* what commands leave in the background */
		rc = run(&s, err);
	serve_sandboxes_free(&s);
	serve_tokens_done(&s.tokens);
	http_loop_free(s.loop);
	free(s.token_file);
	free(s.workspaces);
	if (s.signals.fd >= 0)
		(void)close(s.signals.fd);
	if (s.audit_fd >= 0)
		(void)close(s.audit_fd);
	return rc;
}
