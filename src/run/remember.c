/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembered answers: which question they belong to, how long they hold, and the list of them for people.
 *
 * The store tells answers apart by kind, command, directory, project and a fifth text. In that goes whatever else makes
 * another question of the same words: the key of the question, which the profile and the very bytes of the arguments are
 * part of, and for an answer that holds for a session the name of that session. */
#include "run/remember.h"

#include "base/columns.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "store/permissions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define KIND "unsandboxed"
#define COMMAND_WIDEST 60 /* columns; a longer one pushes what is behind it aside */
#define NANOSECONDS INT64_C(1000000000)
/* A session that only its owner knows cannot be asked whether it still lives. */
#define NAMED_SESSION_NS (30 * 24 * 3600 * NANOSECONDS)

/* ── Sessions ── */

static char *session_of(const struct airlock_job *job)
{
	return job->session ? strdup(job->session) : job_terminal_session();
}

/* The part after the key, or NULL. */
static const char *session_in(const char *circumstances)
{
	const char *space = strchr(circumstances, ' ');
	return space ? space + 1 : NULL;
}

static bool is_over(const struct store_permission *p)
{
	const char *name = session_in(p->profile);
	if (strcmp(p->scope, "session") != 0 || !name)
		return false;
	if (job_is_terminal_session(name))
		return !job_terminal_session_lives(name);
	return store_now() - p->created > NAMED_SESSION_NS;
}

/* ── One answer ── */

static char *circumstances(const struct permission_question *q, const char *session)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "%s%s%s", q->key, session ? " " : "", session ? session : "");
	return buf_take(&b);
}

static struct store_permission row_of(const struct permission_question *q, const char *where)
{
	return (struct store_permission){.kind = KIND,
					 .command = q->command,
					 .working_dir = q->working_dir,
					 .project = q->project,
					 .profile = where,
					 .decision = "",
					 .scope = ""};
}

static enum airlock_answer answer_of(const struct store_permission *p)
{
	bool session = strcmp(p->scope, "session") == 0;
	if (strcmp(p->decision, "allow") == 0)
		return session ? AIRLOCK_ALLOW_SESSION : AIRLOCK_ALLOW_ALWAYS;
	return session ? AIRLOCK_DENY_SESSION : AIRLOCK_DENY_ALWAYS;
}

static int find_one(struct store *store, const struct permission_question *q, const char *session,
		    enum airlock_answer *ret_answer, int64_t *ret_id)
{
	_cleanup_free_ char *where = circumstances(q, session);
	struct store_permission found = {0};
	const struct store_permission key = row_of(q, where ? where : "");
	if (!where || store_permission_find(store, &key, &found, NULL) != 1)
		return 0;
	*ret_answer = answer_of(&found);
	*ret_id = found.id;
	store_permission_done(&found);
	return 1;
}

int remember_find(const struct airlock_job *job, enum airlock_answer *ret_answer, int64_t *ret_id)
{
	_cleanup_store_ struct store *store = NULL;
	_cleanup_free_ char *session = NULL;
	if (job->question.n_reasons == 0 || job->question.one_time_only || job->question.is_optional ||
	    store_open_existing(job->host.state_dir, STORE_WAIT_MS, &store, NULL) < 0)
		return 0;
	/* What was said in this session is the later word. */
	session = session_of(job);
	if (session && find_one(store, &job->question, session, ret_answer, ret_id))
		return 1;
	return find_one(store, &job->question, NULL, ret_answer, ret_id);
}

static void sweep(struct store *store)
{
	_cleanup_permissions_ struct store_permissions all = {0};
	if (store_permission_list(store, NULL, &all, NULL) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		if (is_over(&all.v[i]))
			(void)store_permission_remove(store, all.v[i].id, NULL);
}

int remember_keep(const struct airlock_job *job, enum airlock_answer answer, struct airlock_error *err)
{
	const char *scope = permission_scope(answer);
	bool for_session = strcmp(scope, "session") == 0;
	if (job->question.one_time_only || strcmp(scope, "once") == 0)
		return 0;
	_cleanup_store_ struct store *store = NULL;
	_cleanup_free_ char *session = for_session ? session_of(job) : NULL;
	if (for_session && !session)
		return base_error(err, AIRLOCK_ERR_UNAVAILABLE, "session", "",
				  "there is no session to remember it for");
	_cleanup_free_ char *where = circumstances(&job->question, session);
	if (!where)
		return base_oom(err);
	int rc = store_open(job->host.state_dir, STORE_WAIT_MS, &store, err);
	if (rc < 0)
		return rc;
	sweep(store);
	struct store_permission p = row_of(&job->question, where);
	p.decision = permission_allows(answer) ? "allow" : "deny";
	p.scope = scope;
	return store_permission_add(store, &p, NULL, err);
}

/* ── The list ── */

/* No store is an empty one. */
static int open_existing(const struct airlock_settings *s, struct store **ret, struct airlock_error *err)
{
	struct host host;
	struct airlock_error why = {0};
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = store_open_existing(host.state_dir, STORE_WAIT_MS, ret, &why);
	host_done(&host);
	if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND && err && err->code == 0)
		*err = why;
	return rc == AIRLOCK_ERR_NOT_FOUND ? 0 : rc;
}

static void add_time(int64_t created, char *out, size_t size)
{
	time_t seconds = (time_t)(created / NANOSECONDS);
	struct tm tm;
	if (!gmtime_r(&seconds, &tm) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(out, size, "?");
}

static void add_json(struct json *j, const struct store_permission *p)
{
	char created[32];
	add_time(p->created, created, sizeof created);
	json_open_object(j, NULL);
	json_int(j, "id", p->id);
	json_string(j, "kind", p->kind);
	json_string(j, "command", p->command);
	json_path(j, "working_dir", p->working_dir);
	json_path(j, "project", p->project);
	json_string(j, "decision", p->decision);
	json_string(j, "scope", p->scope);
	json_string(j, "created", created);
	json_close(j);
}

static void add_line(struct buf *out, const struct store_permission *p, size_t width)
{
	_cleanup_buf_ struct buf command = BUF_INIT;
	char created[32], answer[64];
	add_time(p->created, created, sizeof created);
	(void)snprintf(answer, sizeof answer, "%s %s", p->decision, p->scope);
	buf_printf(out, "%3" PRId64 "  %s  %-13s  %-11s  ", p->id, created, answer, p->kind);
	text_add_escaped(&command, p->command, strlen(p->command));
	columns_add_padded(out, buf_str(&command), width);
	buf_adds(out, "  in ");
	text_add_escaped(out, p->working_dir, strlen(p->working_dir));
	buf_addc(out, '\n');
}

/* Of the widest command that leaves room for a directory beside it. */
static size_t command_width(const struct store_permissions *all)
{
	size_t widest = 0;
	for (size_t i = 0; i < all->n; i++) {
		_cleanup_buf_ struct buf command = BUF_INIT;
		text_add_escaped(&command, all->v[i].command, strlen(all->v[i].command));
		size_t width = columns_of(buf_str(&command), command.len);
		if (!is_over(&all->v[i]) && width <= COMMAND_WIDEST && width > widest)
			widest = width;
	}
	return widest;
}

static void print_all(const struct store_permissions *all, bool json, struct buf *out)
{
	struct json j = json_begin(out, true);
	if (json) {
		json_open_object(&j, NULL);
		json_open_array(&j, "permissions");
	}
	size_t width = json ? 0 : command_width(all);
	for (size_t i = 0; i < all->n; i++) {
		if (is_over(&all->v[i]))
			continue;
		if (json)
			add_json(&j, &all->v[i]);
		else
			add_line(out, &all->v[i], width);
	}
	if (json) {
		json_close(&j);
		json_close(&j);
		buf_addc(out, '\n');
	}
}

int airlock_permissions_list(const struct airlock_settings *s, int json, char **ret_text, struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	_cleanup_permissions_ struct store_permissions all = {0};
	struct buf out = BUF_INIT;
	int rc = open_existing(s, &store, err);
	if (rc == 0 && store)
		rc = store_permission_list(store, NULL, &all, err);
	if (rc < 0)
		return rc;
	print_all(&all, json, &out);
	*ret_text = buf_take(&out);
	return *ret_text ? 0 : base_oom(err);
}

int airlock_permissions_revoke(const struct airlock_settings *s, const char *id, struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int64_t number = 0;
	if (text_parse_count(id, &number) < 0 || number == TEXT_NONE) {
		base_error(err, AIRLOCK_ERR_USAGE, "revoke", id, "\"%s\" is not the number of a remembered answer", id);
		return base_hint(err, "`airlock permissions list` shows them");
	}
	int rc = open_existing(s, &store, err);
	if (rc == 0 && !store)
		rc = base_error(err, AIRLOCK_ERR_NOT_FOUND, "revoke", id, "there is no remembered answer %s", id);
	return rc < 0 ? rc : store_permission_remove(store, number, err);
}

int airlock_permissions_clear(const struct airlock_settings *s, uint64_t *ret_count, struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	*ret_count = 0;
	int rc = open_existing(s, &store, err);
	return rc < 0 || !store ? rc : store_permission_clear(store, ret_count, err);
}
