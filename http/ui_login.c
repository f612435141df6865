/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides who may use the page. The address that `airlock ui` prints has a token in its fragment, which no request carries by itself; the page exchanges it
 * once for two things that every request needs:
 *
 *   a cookie, HttpOnly and SameSite=Strict      no script can read it, no other site can have it sent
 *   a key, which the page keeps for its origin  cookies do not know ports: each server on 127.0.0.1 that the person visits gets the
 *                                               cookie too, and must not be able to use it
 *
 * Both outlive the server, so that a page that is still open goes on after a restart. The kernel's word on who is connected is asked
 * for besides (ui_peer.c). */
#include "ui_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "http_request.h"
#include "http_secret.h"
#include "ui_peer.h"

#define COOKIE "airlock-ui"
#define LOGINS_MAX 32
#define LOGIN_SECONDS (7 * 24 * 3600)

struct login {
	char cookie[65], key[65];
	int64_t until; /* seconds since 1970 */
};

struct ui_logins {
	struct login v[LOGINS_MAX];
	size_t n;
};

/* ── Remembering ── */

static bool is_secret(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static void load(struct ui_logins *l)
{
	char *path = ui_place("logins");
	int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct login at;
	char line[256];
	while (file && l->n < LOGINS_MAX && fgets(line, sizeof line, file))
		if (sscanf(line, "%64s %64s %" SCNd64, at.cookie, at.key, &at.until) == 3 && is_secret(at.cookie) &&
		    is_secret(at.key) && at.until > time(NULL))
			l->v[l->n++] = at;
	if (file)
		(void)fclose(file);
	free(path);
}

/* Without a file they end with this server. */
static void save(const struct ui_logins *l)
{
	char *path = ui_place("logins"), *made = ui_place("logins.new");
	int fd = path && made ? open(made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	for (size_t i = 0; file && i < l->n; i++)
		(void)fprintf(file, "%s %s %" PRId64 "\n", l->v[i].cookie, l->v[i].key, l->v[i].until);
	if (file && fclose(file) == 0)
		(void)rename(made, path);
	free(path);
	free(made);
}

struct ui_logins *ui_logins_new(void)
{
	struct ui_logins *l = calloc(1, sizeof *l);
	if (l)
		load(l);
	return l;
}

void ui_logins_free(struct ui_logins *l)
{
	free(l);
}

/* ── Letting in ── */

bool ui_check_peer(struct http_request *r)
{
	const union MHD_ConnectionInfo *client =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage own;
	socklen_t len = sizeof own;
	uid_t uid = 0;
	if (!client || !fd || getsockname(fd->connect_fd, (struct sockaddr *)&own, &len) < 0 ||
	    !ui_peer_uid(client->client_addr, (const struct sockaddr *)&own, &uid) || uid == geteuid() || uid == 0)
		return true; /* the token decides */
	http_reply_error(r, 403, "denied",
			 "this page is for the user who started it, and this program is another user's");
	return false;
}

/* Browsers say who makes a request, also where they send no Origin: pictures, scripts, navigation. */
static bool is_own_page(const struct http_request *r)
{
	const char *site = http_header(r, "Sec-Fetch-Site");
	return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

static bool has_login(const struct ui_logins *l, const char *cookie, const char *key)
{
	bool found = false;
	int64_t now = time(NULL);
	for (size_t i = 0; i < l->n; i++)
		if (http_secret_equal(cookie, l->v[i].cookie) && http_secret_equal(key, l->v[i].key) &&
		    l->v[i].until > now)
			found = true;
	return found;
}

bool ui_authenticate(struct http_request *r)
{
	const struct ui *ui = http_data(r);
	if (!ui_check_peer(r))
		return false;
	if (!is_own_page(r)) {
		http_reply_error(r, 403, "denied", "another page asks for this");
		return false;
	}
	const char *key = http_header(r, "Airlock-Key");
	char *cookie = http_cookie(r, COOKIE);
	bool is_in = cookie && key && has_login(ui->logins, cookie, key);
	free(cookie);
	if (!is_in)
		http_reply_error(r, 401, "denied", "open the address that airlock ui printed");
	return is_in;
}

/* A browser has one cookie for all its pages: whoever comes with a valid one gets the key that belongs to it. */
static const struct login *find_login(const struct http_request *r, const struct ui_logins *l)
{
	const struct login *found = NULL;
	char *cookie = http_cookie(r, COOKIE);
	for (size_t i = 0; cookie && i < l->n; i++)
		if (http_secret_equal(cookie, l->v[i].cookie) && l->v[i].until > time(NULL))
			found = &l->v[i];
	free(cookie);
	return found;
}

static const struct login *add_login(struct ui_logins *l, struct airlock_error *err)
{
	struct login at = {.until = time(NULL) + LOGIN_SECONDS};
	if (http_secret_new(at.cookie, err) < 0 || http_secret_new(at.key, err) < 0)
		return NULL;
	if (l->n == LOGINS_MAX) /* the oldest goes */
		memmove(l->v, l->v + 1, --l->n * sizeof l->v[0]);
	l->v[l->n++] = at;
	save(l);
	return &l->v[l->n - 1];
}

static void login(struct http_request *r)
{
	struct ui *ui = http_data(r);
	struct airlock_error err = {0};
	if (!ui_check_peer(r))
		return;
	json_t *body = is_own_page(r) ? http_body_json(r) : NULL;
	const char *token = json_string_value(json_object_get(body, "token"));
	const struct login *made = NULL;
	if (token && http_secret_equal(token, ui->token))
		made = find_login(r, ui->logins) ? find_login(r, ui->logins) : add_login(ui->logins, &err);
	if (made) {
		char cookie[256];
		(void)snprintf(cookie, sizeof cookie, COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%d",
			       made->cookie, LOGIN_SECONDS);
		http_add_header(r, "Set-Cookie", cookie);
		http_reply_json(r, 200, json_pack("{s:s}", "key", made->key));
	} else if (!http_has_reply(r) && err.code) {
		http_reply_failure(r, &err);
	} else if (!http_has_reply(r)) {
		http_reply_error(r, 401, "denied", "that is not the token of this server");
	}
	json_decref(body);
}

const struct http_route ui_login_routes[] = {
	{"POST", "/ui/login", login, HTTP_NO_TOKEN, 4096},
	{0},
};
