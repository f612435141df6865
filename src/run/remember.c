/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembered answers: which question they belong to, and how long they hold.
 *
 * The store tells answers apart by kind, command, directory, project and a fifth text. In that goes whatever else makes
 * another question of the same words: the key of the question, which the profile and the very bytes of the arguments are
 * part of, and for an answer that holds for a session the name of that session. */
#include "run/remember.h"

#include "base/error.h"

#include <string.h>

#define KIND "unsandboxed"
#define NANOSECONDS INT64_C(1000000000)
/* Only the owner knows if such a session is still alive. */
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

bool remember_is_over(const struct store_permission *p)
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

enum airlock_answer remember_answer(const struct store_permission *p)
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
	*ret_answer = remember_answer(&found);
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
	/* An answer given in this session counts before an older one. */
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
		if (remember_is_over(&all.v[i]))
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
