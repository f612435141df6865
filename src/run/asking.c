/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The question of a job, and what its answer means. */
#include "run/job.h"

#include "base/error.h"
#include "session/decided.h"
#include "run/links.h"
#include "run/remember.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int job_nonce(char ret[33], struct airlock_error *err)
{
	unsigned char bytes[16];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "getrandom", "nonce");
	for (size_t i = 0; i < sizeof bytes; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* ── The session ── */

#define TERMINAL_SESSION "terminal "

static ssize_t read_line(const char *path, char *out, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (n >= 0)
		out[n] = '\0';
	return n;
}

/* The start time of the process in ticks since boot: field 22 of /proc/PID/stat, counted after the name, which may
 * contain blanks and brackets. */
static bool read_start_time(pid_t pid, unsigned long long *ret)
{
	char path[32], text[1024];
	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	const char *at = read_line(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", ret) == 1; /* NOLINT(cert-err34-c): the kernel's number fits */
}

/* "terminal 4711 123456 <boot>". Process ids are reused; together with the start time and the boot id they are
 * unique. */
static char *name_session(pid_t leader)
{
	unsigned long long start = 0;
	char boot[64], *name = NULL;
	if (leader <= 0 || !read_start_time(leader, &start) ||
	    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot) <= 0)
		return NULL;
	boot[strcspn(boot, "\n")] = '\0';
	return asprintf(&name, TERMINAL_SESSION "%d %llu %s", leader, start, boot) < 0 ? NULL : name;
}

char *job_terminal_session(void)
{
	return name_session(getsid(0));
}

bool job_is_terminal_session(const char *name)
{
	return strncmp(name, TERMINAL_SESSION, sizeof TERMINAL_SESSION - 1) == 0;
}

bool job_terminal_session_lives(const char *name)
{
	/* NOLINTNEXTLINE(cert-err34-c): a wrong number makes another name */
	_cleanup_free_ char *now = name_session(atoi(name + sizeof TERMINAL_SESSION - 1));
	return now && strcmp(now, name) == 0;
}

/* ── The question ── */

/* Looked up once, when somebody first wants to know. */
static bool was_answered(struct airlock_job *job)
{
	if (!job->looked_up)
		job->was_answered = remember_find(job, &job->earlier_answer, &job->earlier_id) == 1;
	job->looked_up = true;
	return job->was_answered;
}

/* Do not ask a person about a program that cannot be started. */
static int no_program(const struct airlock_job *job, struct airlock_error *err)
{
	const char *program = job->plan->argv.v[0];
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "exec", program, "%s: command not found", program);
}

const struct airlock_question *airlock_job_question(struct airlock_job *job)
{
	if (job->question.n_reasons == 0 || job->yes || was_answered(job) || !job_may_have_program(job))
		return NULL;
	job->shown = permission_show(&job->question);
	return &job->shown;
}

void airlock_job_answer(struct airlock_job *job, enum airlock_answer answer)
{
	job->answer = answer;
	job->answered = true;
}

static int check_earlier_answer(const struct airlock_job *job, struct airlock_error *err)
{
	if (permission_allows(job->earlier_answer))
		return 0;
	(void)permission_denied(&job->question, PERMISSION_SAID_NO, err);
	return base_hint(err, "that answer was remembered; `airlock permissions revoke %lld` forgets it",
			 (long long)job->earlier_id);
}

int job_ask(struct airlock_job *job, const struct airlock_io *io, struct airlock_error *err)
{
	const struct airlock_question *shown = airlock_job_question(job);
	if (!shown && job->was_answered)
		return check_earlier_answer(job, err);
	/* Refuse again although the program may exist by now: nobody has granted this. */
	if (!shown)
		return job->question.n_reasons == 0 || job->yes ? 0 : no_program(job, err);
	/* A callback would ask on the terminal, where the agent could type the answer itself. */
	bool is_agent = job->origin.kind == ORIGIN_AGENT;
	const bool optional = job->question.is_optional;
	if (!job->answered && (is_agent || !io || !io->ask))
		return optional ? 0
				: permission_denied(&job->question,
						    is_agent ? PERMISSION_AGENT : PERMISSION_NOBODY_TO_ASK, err);
	enum airlock_answer answer = job->answered ? job->answer : io->ask(shown, io->data);
	if (!permission_is_choice(&job->question, answer))
		answer = AIRLOCK_DENY;
	job->answer = answer;
	if (!optional)
		(void)remember_keep(job, answer, &job->not_remembered);
	if (!optional && !permission_allows(answer))
		return permission_denied(&job->question, job->is_ignored ? PERMISSION_IGNORED : PERMISSION_SAID_NO,
					 err);
	return links_take_answer(job, answer, err);
}

/* ── Names ── */

static const char *const answer_names[] = {
	[AIRLOCK_DENY] = "deny",
	[AIRLOCK_ALLOW_ONCE] = "allow_once",
	[AIRLOCK_ALLOW_SESSION] = "allow_session",
	[AIRLOCK_ALLOW_ALWAYS] = "allow_always",
	[AIRLOCK_DENY_SESSION] = "deny_session",
	[AIRLOCK_DENY_ALWAYS] = "deny_always",
};

const char *airlock_answer_name(enum airlock_answer answer)
{
	return (unsigned)answer < AL_ARRAY_LEN(answer_names) ? answer_names[answer] : "deny";
}

int airlock_answer_parse(const char *name, enum airlock_answer *ret)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(answer_names); i++)
		if (strcmp(answer_names[i], name) == 0) {
			*ret = (enum airlock_answer)i;
			return 0;
		}
	return AIRLOCK_ERR_INVALID;
}

/* ── Changes of an earlier run ── */

struct airlock_asked {
	struct permission_question question;
	struct airlock_question shown;
};

/* in: without its nonce. */
static int make_apply_question(struct permission_apply in, struct airlock_asked **ret, struct airlock_error *err)
{
	char nonce[33];
	int rc = job_nonce(nonce, err);
	struct airlock_asked *asked = rc < 0 ? NULL : calloc(1, sizeof *asked);
	if (!asked)
		return rc < 0 ? rc : base_oom(err);
	in.nonce = nonce;
	rc = permission_about_apply(&in, &asked->question, err);
	if (rc < 0) {
		free(asked);
		return rc;
	}
	asked->shown = permission_show(&asked->question);
	*ret = asked;
	return 0;
}

int airlock_changes_question(const struct airlock_settings *s, const char *run, const char *const *paths,
			     struct airlock_asked **ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	_cleanup_free_ char *sensitive = NULL, *held = NULL;
	*ret = NULL;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc == 0)
		rc = past_run_sensitive(&d.run, paths, &sensitive, err);
	if (rc == 0 && airlock_settings_is_agent(s))
		rc = past_run_held_by_mode(&d.run, paths, &held, err);
	if (rc == 0 && (*sensitive || (held && *held)))
		rc = make_apply_question(
			(struct permission_apply){.run = d.run.set->run,
						  .session = d.run.set->session,
						  .project = d.run.set->n_roots ? d.run.set->roots[0].path : NULL,
						  .sensitive = sensitive,
						  .held = held ? held : "",
						  .paths = paths},
			ret, err);
	return rc;
}

const struct airlock_question *airlock_asked_question(const struct airlock_asked *asked)
{
	return &asked->shown;
}

void airlock_asked_free(struct airlock_asked *asked)
{
	if (!asked)
		return;
	permission_done(&asked->question);
	free(asked);
}
