/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A symlink of the project may lead to a directory outside. Whoever wrote the repository made the link, so it opens nothing
 * until a person has said yes to this link and this target. The plan is made without them. Only after a yes it is made again,
 * with the links looked at once more. Without a yes the run goes on: what is behind the link is what the profile makes of any
 * other directory, read-only or hidden, and a sentence says so. */
#include "run/links.h"

#include "base/json.h"
#include "base/path.h"
#include "base/text.h"

#include <string.h>

#define NOTE_LINKS 5 /* how many a sentence names */

/* ── Which ── */

/* A target inside another root is writable already, with or without the link. */
static bool is_covered(const struct airlock_job *job, const char *target)
{
	for (size_t i = 0; i < job->plan->roots.n; i++)
		if (path_is_beneath(target, job->plan->roots.v[i]))
			return true;
	return false;
}

/* Without a sandbox an answer changes nothing. */
static bool is_left_out(const struct airlock_job *job, const struct project_link *l)
{
	bool open = l->state == AIRLOCK_LINK_UNANSWERED || l->state == AIRLOCK_LINK_DENIED;
	return open && !l->granted && !job->backend->unsandboxed && job->plan && !is_covered(job, l->target);
}

static bool is_open_question(const struct airlock_job *job, const struct project_link *l)
{
	return l->state == AIRLOCK_LINK_UNANSWERED && is_left_out(job, l);
}

size_t links_to_ask(const struct airlock_job *job, struct permission_link *ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < job->project->n_links && n < max; i++) {
		const struct project_link *l = &job->project->links[i];
		if (is_open_question(job, l))
			ret[n++] = (struct permission_link){l->path, l->target, l->before};
	}
	return n;
}

size_t airlock_job_links_unanswered(const struct airlock_job *job)
{
	size_t n = 0;
	bool is_agent = job->origin.kind == ORIGIN_AGENT; /* then a model reads what is said about it */
	for (size_t i = 0; i < job->project->n_links && !is_agent; i++)
		n += is_open_question(job, &job->project->links[i]);
	return n;
}

/* ── The answer ── */

static int remember(const struct airlock_job *job, const struct project_link *asked, size_t n,
		    enum airlock_link_state state, struct airlock_error *err)
{
	_cleanup_free_ char *home = NULL;
	struct project_query q;
	int rc = job_project_query(job, job->project->dir, &home, &q, err);
	return rc < 0 ? rc : project_answer(&q, asked, n, state, err);
}

int links_take_answer(struct airlock_job *job, enum airlock_answer answer, struct airlock_error *err)
{
	struct permission_link shown[PERMISSION_MAX_LINKS];
	struct project_link asked[PERMISSION_MAX_LINKS];
	size_t n = links_to_ask(job, shown, PERMISSION_MAX_LINKS);
	for (size_t i = 0; i < n; i++) /* borrowed; the casts take away a const that nobody writes through */
		asked[i] = (struct project_link){.path = (char *)shown[i].path, .target = (char *)shown[i].target};
	bool yes = permission_allows(answer);
	if (answer == AIRLOCK_ALLOW_ALWAYS || answer == AIRLOCK_DENY_ALWAYS)
		(void)remember(job, asked, n, yes ? AIRLOCK_LINK_ALLOWED : AIRLOCK_LINK_DENIED, &job->not_remembered);
	return yes && n > 0 ? job_grant_links(job, asked, n, err) : 0;
}

/* ── What is said ── */

static bool is_readable(const struct airlock_job *job, const char *target)
{
	_cleanup_free_ char *host = NULL;
	return plan_locate(job->plan, target, &host) == PLAN_AT_HOST;
}

void links_note(const struct airlock_job *job, struct notes *notes)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	size_t n = 0;
	for (size_t i = 0; i < job->project->n_links; i++) {
		const struct project_link *l = &job->project->links[i];
		if (!is_left_out(job, l) || n++ >= NOTE_LINKS)
			continue;
		buf_printf(&b, "%s%s leads to %s (%s)", n > 1 ? ", " : "", l->path, l->target,
			   is_readable(job, l->target) ? "read-only" : "hidden");
	}
	if (n > NOTE_LINKS)
		buf_printf(&b, " and %zu more", n - NOTE_LINKS);
	if (n == 1)
		NOTE(notes, LINK_UNANSWERED, .subject = buf_str(&b));
	else if (n > 1)
		NOTE(notes, LINKS_UNANSWERED, .subject = buf_str(&b));
}

void links_add_because(const struct project_link *l, struct buf *out)
{
	static const char *const words[] = {
		[AIRLOCK_LINK_NO_REASON] = "",
		[AIRLOCK_LINK_HOME] = "it is the home directory or contains it",
		[AIRLOCK_LINK_ABOVE_PROJECT] = "the project lies inside it",
		[AIRLOCK_LINK_SECRET] = "its content is hidden: ",
		[AIRLOCK_LINK_ABOVE_SECRET] = "it contains a hidden path: ",
		[AIRLOCK_LINK_OUTSIDE_HOME] = "it is outside the home directory",
		[AIRLOCK_LINK_WITHOUT_HOME] = "it is outside the project and there is no home directory",
	};
	buf_adds(out, words[l->reason]);
	if (l->secret)
		text_add_escaped(out, l->secret, strlen(l->secret));
}

struct airlock_job_link links_show(const struct airlock_job *job, const struct project_link *l)
{
	enum airlock_link_access outside = is_readable(job, l->target) ? AIRLOCK_LINK_READ_ONLY : AIRLOCK_LINK_HIDDEN;
	bool writable = l->state != AIRLOCK_LINK_REFUSED && !is_left_out(job, l);
	return (struct airlock_job_link){.path = l->path,
					 .target = l->target,
					 .state = l->state,
					 .access = writable ? AIRLOCK_LINK_WRITABLE : outside,
					 .is_granted = l->granted};
}

void links_json(const struct project *project, struct json *j)
{
	json_open_array(j, "links");
	for (size_t i = 0; i < project->n_links; i++) {
		const struct project_link *l = &project->links[i];
		_cleanup_buf_ struct buf because = BUF_INIT;
		links_add_because(l, &because);
		json_open_object(j, NULL);
		json_path(j, "path", l->path);
		json_path(j, "target", l->target);
		json_string(j, "state", airlock_link_state_name(l->state));
		json_string(j, "reason", l->state == AIRLOCK_LINK_REFUSED ? buf_str(&because) : NULL);
		if (l->before)
			json_path(j, "before", l->before);
		else
			json_null(j, "before");
		json_close(j);
	}
	json_close(j);
}
