/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock ui`: what its files share. Every handler makes settings of its own, because each may be about another project. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/changes.h>

#include "http.h"

struct ui_logins;
struct ui_listeners;
struct ui_diffs;

struct ui {
	struct http_loop *loop;
	char token[65];
	struct ui_logins *logins;
	struct ui_listeners *listeners;
	struct ui_diffs *diffs;
};

/* Each ends with a route without method. */
extern const struct http_route ui_page_routes[], ui_login_routes[], ui_look_routes[], ui_diff_routes[], ui_act_routes[],
	ui_event_routes[];

/* ── Who may: ui_login.c ── */

struct ui_logins *ui_logins_new(void); /* those that an earlier airlock ui has let in; NULL: out of memory */
void ui_logins_free(struct ui_logins *l);
bool ui_authenticate(struct http_request *r);
/* False: the connection comes from a program of another user, and the reply 403 was sent. */
bool ui_check_peer(struct http_request *r);

/* ── Where the files of the page's own are: ui_place.c ── */

/* <state>/ui/NAME; the directory is made. The caller's to free; NULL: there is no place. */
char *ui_place(const char *name);
/* The port of the last time, so that pages that are still open find their server again; 0: none. */
unsigned ui_port_last(void);
void ui_port_remember(unsigned port);

/* ── Which: ui_subject.c ── */

/* The run, or the session of a project, that a request names. */
struct ui_subject {
	struct airlock_settings *settings;
	char *name;	 /* the run's id or the session's name */
	bool is_session; /* then the settings name its project */
};
void ui_subject_done(struct ui_subject *s);
/* From the query, or from the body. False: the reply was sent. */
bool ui_subject_of_query(struct http_request *r, struct ui_subject *ret);
bool ui_subject_of_body(struct http_request *r, const json_t *body, struct ui_subject *ret);
/* Settings for everything of this user; project may be NULL. NULL: the reply was sent. */
struct airlock_settings *ui_settings(struct http_request *r, const char *project);

/* root/bytes, decoded; NULL: malformed or out of memory. The caller's to free. */
char *ui_path_of_base64(const char *root, const char *base64);
/* Any bytes as a JSON string, as airlock_text_json shows them. */
json_t *ui_json_text(const char *bytes);

/* ── Diffs that were made a moment ago: ui_diff.c ── */

struct ui_diffs *ui_diffs_new(void);
void ui_diffs_free(struct ui_diffs *d);

/* ── Events: ui_events.c ── */

struct ui_listeners *ui_listeners_new(struct http_loop *loop, struct airlock_error *err);
void ui_listeners_free(struct ui_listeners *l);
