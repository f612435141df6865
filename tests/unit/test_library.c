/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that links libairlock.so and knows nothing but its public headers. */
#include "library_place.h"

#include <airlock/changes.h>
#include <airlock/history.h>
#include <airlock/session.h>

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

static struct airlock_settings *settings(void)
{
	struct airlock_settings *s = airlock_settings_new();
	assert_non_null(s);
	assert_int_equal(airlock_settings_set_environ(s, environ, NULL), 0);
	assert_int_equal(airlock_settings_set(s, "profile", "permissive", "this test", NULL), 0);
	return s;
}

static struct airlock_run *start(struct airlock_settings *s, const char *command, struct airlock_job **ret_job)
{
	struct airlock_error err = {0};
	struct airlock_run *run = NULL;
	assert_int_equal(airlock_settings_set_command(s, command, &err), 0);
	if (airlock_job_prepare(s, ret_job, &err) < 0 || airlock_run_start(*ret_job, NULL, &run, &err) < 0)
		print_error("%s\n", err.message);
	assert_int_equal(err.code, 0);
	return run;
}

static void a_command_is_run_and_reported(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "echo hello; echo oops >&2; exit 3", &job);
	airlock_settings_free(s); /* the job has what it needs */
	while (airlock_run_dispatch(run, -1) > 0)
		;
	assert_int_equal(airlock_run_status(run), AIRLOCK_EXITED);
	assert_int_equal(airlock_run_exit_code(run), 3);
	assert_non_null(strstr(airlock_run_result_json(run), "\"stdout\": \"hello\\n\""));
	assert_string_equal(airlock_run_result_text(run), "hello\noops\nExit code: 3\n");
	airlock_run_free(run);
	airlock_job_free(job);
}

static void the_callers_own_loop_can_drive_it(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "sleep 0.2; echo done", &job);
	struct pollfd p = {.fd = airlock_run_fd(run), .events = POLLIN};
	int running = 1;
	while (running) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		running = airlock_run_dispatch(run, 0);
	}
	assert_int_equal(airlock_run_exit_code(run), 0);
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void the_result_can_be_had_before_the_last_process_is_gone(void **state)
{
	for (int free_at_once = 0; free_at_once < 2; free_at_once++) {
		struct airlock_settings *s = settings();
		struct airlock_job *job = NULL;
		struct airlock_run *run = start(s, "echo hello", &job);
		while (airlock_run_await_result(run, -1) > 0)
			;
		assert_int_equal(airlock_run_exit_code(run), 0);
		assert_string_equal(airlock_run_result_text(run), "hello\n");
		assert_int_equal(airlock_run_await_result(run, -1), 0);
		if (!free_at_once)
			assert_int_equal(airlock_run_dispatch(run, 0), 0);
		else
			airlock_run_free(run);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left, not even one to be waited for */
		assert_int_equal(errno, ECHILD);
		if (!free_at_once)
			airlock_run_free(run);
		airlock_job_free(job);
		airlock_settings_free(s);
	}
}

static void freeing_a_running_one_kills_it(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "sleep 1000", &job);
	assert_int_equal(airlock_run_dispatch(run, 0), 1);
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void what_a_run_had_changed_when_it_was_freed_is_held(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "echo 1 >begun; sleep 1000", &job);
	const char *latest = "";
	char id[48];
	struct airlock_changes *changes = NULL;
	(void)snprintf(id, sizeof id, "%s", airlock_run_id(run));
	while (airlock_run_dispatch(run, 10) > 0 && airlock_run_progress(run, &latest) < 1)
		;
	airlock_run_free(run);
	assert_int_not_equal(access("begun", F_OK), 0);
	assert_int_equal(airlock_changes_open(s, id, &changes, NULL), 0);
	assert_string_equal(airlock_changes_run(changes), id);
	assert_int_equal(airlock_changes_count(changes), 1);
	assert_string_equal(airlock_changes_at(changes, 0)->path, "begun");
	assert_int_equal(airlock_changes_at(changes, 0)->kind, AIRLOCK_KIND_ADDED);
	assert_int_equal(airlock_changes_at(changes, 0)->state, AIRLOCK_CHANGE_HELD);
	assert_null(airlock_changes_at(changes, 1));
	assert_int_equal(airlock_changes_state(changes), AIRLOCK_CHANGES_HELD);
	airlock_changes_free(changes);
	airlock_job_free(job);
	airlock_settings_free(s);
}

/* What there is to read on one side of the change, or the code of the error. */
static int read_side(const struct airlock_settings *s, const char *run, const char *path, enum airlock_side side,
		     char *ret, size_t size)
{
	int fd = -1, rc = airlock_changes_content(s, run, path, side, &fd, NULL);
	memset(ret, 0, size);
	if (rc < 0)
		return rc;
	assert_true(read(fd, ret, size - 1) >= 0);
	(void)close(fd);
	return 0;
}

static void each_side_of_a_change_can_be_read_and_news_are_told(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_changes *done = NULL;
	char text[64];
	int news = -1;
	assert_int_equal(airlock_log_watch(s, &news, NULL), 0);
	struct pollfd p = {.fd = news, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(airlock_settings_set(s, "changes", "hold", "this test", NULL), 0);
	struct airlock_run *run = start(s, "echo new >side; ln -s target link; mkdir side.d", &job);
	while (airlock_run_dispatch(run, -1) > 0)
		;
	assert_int_equal(poll(&p, 1, 10000), 1);
	const char *id = airlock_run_id(run);
	assert_int_equal(read_side(s, id, "side", AIRLOCK_SIDE_AFTER, text, sizeof text), 0);
	assert_string_equal(text, "new\n");
	assert_int_equal(read_side(s, id, "link", AIRLOCK_SIDE_AFTER, text, sizeof text), 0);
	assert_string_equal(text, "target");
	assert_int_equal(read_side(s, id, "side", AIRLOCK_SIDE_BEFORE, text, sizeof text), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(read_side(s, id, "side", AIRLOCK_SIDE_PROJECT, text, sizeof text), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(read_side(s, id, "side.d", AIRLOCK_SIDE_AFTER, text, sizeof text), AIRLOCK_ERR_INVALID);
	assert_int_equal(read_side(s, id, "/etc/passwd", AIRLOCK_SIDE_PROJECT, text, sizeof text),
			 AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(airlock_changes_apply(s, id, NULL, 0, &done, NULL), 0);
	airlock_changes_free(done);
	assert_int_equal(read_side(s, id, "side", AIRLOCK_SIDE_PROJECT, text, sizeof text), 0);
	assert_string_equal(text, "new\n");
	(void)close(news);
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void objects_are_freed_in_any_order(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "echo kept", &job);
	airlock_settings_free(s);
	airlock_job_free(job);
	while (airlock_run_dispatch(run, -1) > 0)
		;
	assert_non_null(strstr(airlock_run_result_json(run), "\"stdout\": \"kept\\n\""));
	airlock_run_free(run);
}

static void the_history_has_errors_that_nobody_wanted_to_know(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;
	struct airlock_log *log = NULL;
	struct airlock_history *h = NULL;
	assert_int_equal(airlock_settings_set(s, "network", "true", "x", NULL), 0);
	assert_int_equal(airlock_settings_set_command(s, "echo unheard", NULL), 0);
	assert_int_equal(airlock_job_prepare(s, &job, NULL), 0);
	assert_int_equal(airlock_run_start(job, NULL, &run, NULL), AIRLOCK_ERR_DENIED);
	assert_int_equal(airlock_log_open(s, AIRLOCK_LOG_NAMED, 1, &log, NULL), 0);
	assert_int_equal(airlock_log_count(log), 1);
	assert_null(airlock_log_at(log, 1));
	const struct airlock_past_run *past = airlock_log_at(log, 0);
	assert_string_equal(past->command, "echo unheard");
	assert_int_equal(past->status, AIRLOCK_FAILED);
	assert_int_equal(airlock_history_open(s, past->id, &h, NULL), 0);
	assert_string_equal(airlock_history_run(h)->command, "echo unheard");
	assert_int_equal(airlock_history_error(h)->code, AIRLOCK_ERR_DENIED);
	assert_string_equal(airlock_history_question(h, 0)->answer, "deny");
	assert_null(airlock_history_question(h, 1));
	assert_null(airlock_history_isolation(h));
	assert_string_equal(airlock_history_profile(h), "permissive");
	assert_non_null(strstr(airlock_history_json(h), "\"code\":\"denied\""));
	airlock_history_free(h);
	airlock_log_free(log);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void errors_are_told_in_the_callers_struct(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_error err = {0};
	assert_int_equal(airlock_settings_set(s, "timeoot", "1s", "x", &err), AIRLOCK_ERR_USAGE);
	assert_non_null(strstr(err.hint, "timeout"));
	memset(&err, 0, sizeof err);
	assert_int_equal(airlock_settings_set(s, "timeout", "soon", "my program", &err), 0);
	assert_int_equal(airlock_settings_set_command(s, "true", &err), 0);
	assert_int_equal(airlock_job_prepare(s, &job, &err), AIRLOCK_ERR_USAGE);
	assert_non_null(strstr(err.message, "soon"));
	airlock_settings_free(s);
}

static enum airlock_answer refuse(const struct airlock_question *q, void *data)
{
	*(int *)data += 1;
	assert_int_equal(q->reasons[0], AIRLOCK_ASK_NETWORK);
	assert_non_null(strstr(q->text, "Run command with network access: true?"));
	return AIRLOCK_DENY;
}

static void questions_come_through_the_callback(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;
	struct airlock_error err = {0};
	int asked = 0;
	struct airlock_io io = {-1, -1, -1, -1, refuse, &asked};
	assert_int_equal(airlock_settings_set(s, "network", "true", "x", &err), 0);
	assert_int_equal(airlock_settings_set_command(s, "true", &err), 0);
	assert_int_equal(airlock_job_prepare(s, &job, &err), 0);
	assert_int_equal(airlock_run_start(job, &io, &run, &err), AIRLOCK_ERR_DENIED);
	assert_int_equal(asked, 1);
	assert_null(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void questions_can_be_answered_before_the_start(void **state)
{
	static const enum airlock_answer answers[] = {AIRLOCK_DENY, AIRLOCK_ALLOW_ONCE};
	static const int outcomes[] = {AIRLOCK_ERR_DENIED, 0};
	for (size_t i = 0; i < 2; i++) {
		struct airlock_settings *s = settings();
		struct airlock_job *job = NULL;
		struct airlock_run *run = NULL;
		struct airlock_error err = {0};
		assert_int_equal(airlock_settings_set(s, "network", "true", "x", &err), 0);
		assert_int_equal(airlock_settings_set_command(s, "true", &err), 0);
		assert_int_equal(airlock_job_prepare(s, &job, &err), 0);
		const struct airlock_question *q = airlock_job_question(job);
		assert_non_null(q);
		assert_non_null(strstr(q->text, "Run command with network access: true?"));
		assert_true(q->one_time_only);
		airlock_job_answer(job, answers[i]);
		assert_int_equal(airlock_run_start(job, NULL, &run, &err), outcomes[i]);
		assert_int_equal(run != NULL, outcomes[i] == 0);
		airlock_run_free(run);
		airlock_job_free(job);
		airlock_settings_free(s);
	}
}

/* A run without a sandbox in that session, answered so when it is asked about; says whether it was, and what came of it. */
static int run_unsandboxed(const char *session, enum airlock_answer answer, bool *ret_asked)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;
	struct airlock_error err = {0};
	assert_int_equal(airlock_settings_set_session(s, session, &err), 0);
	assert_int_equal(airlock_settings_set(s, "no-sandbox", "true", "this test", &err), 0);
	assert_int_equal(airlock_settings_set_command(s, "true", &err), 0);
	assert_int_equal(airlock_job_prepare(s, &job, &err), 0);
	const struct airlock_question *q = airlock_job_question(job);
	*ret_asked = q != NULL;
	if (q) {
		assert_false(q->one_time_only);
		assert_int_equal(q->n_choices, 6);
		airlock_job_answer(job, answer);
	}
	int rc = airlock_run_start(job, NULL, &run, &err);
	while (run && airlock_run_dispatch(run, -1) > 0)
		;
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
	return rc;
}

static void answers_hold_for_the_session_that_was_named(void **state)
{
	struct airlock_settings *s = settings();
	uint64_t count = 0;
	bool asked = false;
	assert_int_equal(run_unsandboxed("one", AIRLOCK_ALLOW_SESSION, &asked), 0);
	assert_true(asked);
	assert_int_equal(run_unsandboxed("one", AIRLOCK_DENY, &asked), 0);
	assert_false(asked);
	assert_int_equal(run_unsandboxed("two", AIRLOCK_DENY_ALWAYS, &asked), AIRLOCK_ERR_DENIED);
	assert_true(asked);
	assert_int_equal(run_unsandboxed("three", AIRLOCK_ALLOW_ONCE, &asked), AIRLOCK_ERR_DENIED);
	assert_false(asked);
	assert_int_equal(run_unsandboxed("one", AIRLOCK_DENY, &asked), 0); /* the narrower word */
	assert_false(asked);
	assert_int_equal(airlock_permissions_clear(s, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(run_unsandboxed("one", (enum airlock_answer)99, &asked), AIRLOCK_ERR_DENIED);
	assert_true(asked);
	airlock_settings_free(s);
}

static void jobs_that_need_no_permission_have_no_question(void **state)
{
	struct airlock_settings *s = settings();
	struct airlock_job *job = NULL;
	assert_int_equal(airlock_settings_set_command(s, "true", NULL), 0);
	assert_int_equal(airlock_job_prepare(s, &job, NULL), 0);
	assert_null(airlock_job_question(job));
	airlock_job_free(job);
	airlock_settings_free(s);
}

#define THREADS 4
#define RUNS 5

static void *run_some(void *data)
{
	int *failures = data;
	for (int i = 0; i < RUNS; i++) {
		struct airlock_settings *s = airlock_settings_new();
		struct airlock_job *job = NULL;
		struct airlock_run *run = NULL;
		struct airlock_error err = {0};
		if (airlock_settings_set_environ(s, environ, &err) < 0 ||
		    airlock_settings_set_command(s, "echo from a thread; exit 5", &err) < 0 ||
		    airlock_job_prepare(s, &job, &err) < 0 || airlock_run_start(job, NULL, &run, &err) < 0)
			*failures += 1;
		while (run && airlock_run_dispatch(run, -1) > 0)
			;
		*failures += !run || airlock_run_exit_code(run) != 5;
		airlock_run_free(run);
		airlock_job_free(job);
		airlock_settings_free(s);
	}
	return NULL;
}

static void threads_do_not_meet(void **state)
{
	pthread_t threads[THREADS];
	int failures[THREADS] = {0};
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_some, &failures[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(failures[i], 0);
	}
}

static void a_caller_that_ignores_sigchld_changes_nothing(void **state)
{
	void (*before)(int) = signal(SIGCHLD, SIG_IGN);
	int failures = 0;
	run_some(&failures);
	(void)signal(SIGCHLD, before);
	assert_int_equal(failures, 0);
}

static struct airlock_settings *of_session(const char *key, const char *value)
{
	struct airlock_settings *s = settings();
	assert_int_equal(airlock_settings_set(s, key, value, "this test", NULL), 0);
	assert_int_equal(airlock_settings_set(s, "session", "work", "this test", NULL), 0);
	return s;
}

/* *ret_hold NULL: there is none yet. */
static void run_in_workspace(const char *dir, struct airlock_workspace_hold **ret_hold, char *ret, size_t size)
{
	struct airlock_settings *s = of_session("workspace", dir);
	struct airlock_error err = {0};
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;
	assert_int_equal(airlock_settings_set_command(s, "readlink /proc/self/ns/mnt", &err), 0);
	assert_int_equal(airlock_job_prepare(s, &job, &err), 0);
	if (!*ret_hold)
		assert_int_equal(airlock_job_hold_workspace(job, ret_hold, &err), 0);
	airlock_job_use_hold(job, *ret_hold);
	assert_int_equal(airlock_run_start(job, NULL, &run, &err), 0);
	while (airlock_run_dispatch(run, -1) > 0)
		;
	assert_int_equal(airlock_run_exit_code(run), 0);
	(void)snprintf(ret, size, "%s", airlock_run_result_text(run));
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static void a_held_workspace_keeps_its_mounts_until_it_is_released(void **state)
{
	char dir[128], usr[160], told[3][64];
	struct airlock_workspace_hold *hold = NULL;
	(void)snprintf(dir, sizeof dir, "%s/workspace", place);
	(void)snprintf(usr, sizeof usr, "%s/usr", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	for (int i = 0; i < 3; i++)
		run_in_workspace(dir, &hold, told[i], sizeof told[i]);
	assert_string_equal(told[1], told[2]); /* the first has mounts of its own */
	assert_int_equal(access(usr, F_OK), 0);
	struct airlock_settings *s = settings();
	assert_int_equal(airlock_settings_set(s, "project", dir, "this test", NULL), 0);
	assert_int_equal(airlock_session_end(s, "work", NULL), 0);
	airlock_workspace_release(hold);
	assert_int_equal(access(usr, F_OK), -1);
	assert_int_equal(airlock_session_remove(s, "work", NULL), 0);
	assert_int_equal(airlock_session_remove(s, "work", NULL), AIRLOCK_ERR_NOT_FOUND);
	airlock_settings_free(s);
}

static void a_session_that_holds_changes_is_not_removed(void **state)
{
	struct airlock_settings *s = of_session("changes", "hold");
	struct airlock_job *job = NULL;
	struct airlock_run *run = start(s, "echo x >held", &job);
	while (airlock_run_dispatch(run, -1) > 0)
		;
	assert_int_equal(airlock_run_step(run), 1);
	assert_int_equal(airlock_session_remove(s, "work", NULL), AIRLOCK_ERR_CONFLICT);
	assert_int_equal(airlock_session_rewind(s, "work", 0, NULL), 0);
	assert_int_equal(airlock_session_remove(s, "work", NULL), 0);
	assert_false(airlock_session_exists(s, "work"));
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_run_and_reported),
		cmocka_unit_test(the_callers_own_loop_can_drive_it),
		cmocka_unit_test(the_result_can_be_had_before_the_last_process_is_gone),
		cmocka_unit_test(freeing_a_running_one_kills_it),
		cmocka_unit_test(what_a_run_had_changed_when_it_was_freed_is_held),
		cmocka_unit_test(each_side_of_a_change_can_be_read_and_news_are_told),
		cmocka_unit_test(objects_are_freed_in_any_order),
		cmocka_unit_test(the_history_has_errors_that_nobody_wanted_to_know),
		cmocka_unit_test(errors_are_told_in_the_callers_struct),
		cmocka_unit_test(questions_come_through_the_callback),
		cmocka_unit_test(questions_can_be_answered_before_the_start),
		cmocka_unit_test(answers_hold_for_the_session_that_was_named),
		cmocka_unit_test(jobs_that_need_no_permission_have_no_question),
		cmocka_unit_test(threads_do_not_meet),
		cmocka_unit_test(a_caller_that_ignores_sigchld_changes_nothing),
		cmocka_unit_test(a_held_workspace_keeps_its_mounts_until_it_is_released),
		cmocka_unit_test(a_session_that_holds_changes_is_not_removed),
	};
	return cmocka_run_group_tests(tests, make_place, remove_place);
}
