/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions that wait for a person: asked without blocking, decided once, gone with their asker. */
#include "tests.h"

#include "base/text.h"
#include "fs/fs.h"
#include "question/question.h"
#include "question/question_files.h"
#include "store/audit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char place[128], state_dir[192], questions[224];

static int make_place(void **state)
{
	(void)state;
	(void)snprintf(place, sizeof place, "/tmp/airlock-question-XXXXXX");
	if (!mkdtemp(place))
		return -1;
	(void)snprintf(state_dir, sizeof state_dir, "%s/state", place);
	(void)snprintf(questions, sizeof questions, "%s/questions", state_dir);
	return 0;
}

static int remove_place(void **state)
{
	(void)state;
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fs_remove_tree_at(tmp, place + strlen("/tmp/"), NULL, NULL);
	(void)close(tmp);
	return rc;
}

static const enum airlock_question_reason network[] = {AIRLOCK_ASK_NETWORK};
static const enum airlock_answer once[] = {AIRLOCK_ALLOW_ONCE, AIRLOCK_DENY};

#define ASK                                                                                                            \
	.text = "In /p\nRun command with network access: make?", .command = "make", .project = "/p",                   \
	.working_dir = "/p", .reasons = network, .n_reasons = 1, .choices = once, .n_choices = 2

static struct question *ask_for(int64_t wait_ms)
{
	struct question *q = NULL;
	struct airlock_error err = {0};
	const struct question_ask ask = {ASK, .wait_ms = wait_ms, .session = "work", .asked_by = "hook:some"};
	if (question_open(state_dir, &ask, &q, &err) < 0)
		fail_msg("%s", err.message);
	return q;
}

static size_t count(void)
{
	struct question_list l;
	struct airlock_error err = {0};
	assert_int_equal(question_list(state_dir, &l, &err), 0);
	size_t n = l.n;
	question_list_done(&l);
	return n;
}

static int answer(const char *id, enum airlock_answer a)
{
	struct airlock_error err = {0};
	return question_answer(state_dir, id, a, &err);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, timeout_ms) == 1;
}

/* As the loop of a program does it. */
static struct question_decision wait_for(struct question *q)
{
	struct question_decision d = {AIRLOCK_DENY, QUESTION_BY_NOBODY};
	while (question_poll(q, &d) == 1)
		assert_true(is_readable(question_fd(q), 10000));
	return d;
}

static void an_answer_arrives_once(void **state)
{
	struct question *q = ask_for(60000);
	struct question_decision d;
	char id[16];
	(void)snprintf(id, sizeof id, "%s", question_id(q));
	assert_int_equal(question_poll(q, &d), 1);
	assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), 0);
	assert_true(is_readable(question_fd(q), 5000));
	d = wait_for(q);
	assert_int_equal(d.answer, AIRLOCK_ALLOW_ONCE);
	assert_int_equal(d.by, QUESTION_BY_PERSON);
	assert_int_equal(count(), 0);
	/* Before and after its asker has gone. */
	assert_int_equal(answer(id, AIRLOCK_DENY), AIRLOCK_ERR_CONFLICT);
	question_close(q);
	assert_int_equal(answer(id, AIRLOCK_DENY), AIRLOCK_ERR_CONFLICT);
	assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_CONFLICT);
}

static void a_no_is_a_no(void **state)
{
	struct question *q = ask_for(60000);
	assert_int_equal(answer(question_id(q), AIRLOCK_DENY), 0);
	struct question_decision d = wait_for(q);
	assert_int_equal(d.answer, AIRLOCK_DENY);
	assert_int_equal(d.by, QUESTION_BY_PERSON);
	question_close(q);
}

static void the_first_of_two_answers_counts(void **state)
{
	struct question *q = ask_for(60000);
	assert_int_equal(answer(question_id(q), AIRLOCK_DENY), 0);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_CONFLICT);
	assert_int_equal(wait_for(q).answer, AIRLOCK_DENY);
	question_close(q);
}

static void what_nobody_answers_is_denied(void **state)
{
	struct question *q = ask_for(50);
	char id[16];
	(void)snprintf(id, sizeof id, "%s", question_id(q));
	struct question_decision d = wait_for(q);
	assert_int_equal(d.answer, AIRLOCK_DENY);
	assert_int_equal(d.by, QUESTION_BY_NOBODY);
	assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_CONFLICT);
	question_close(q);
	q = ask_for(0);
	assert_int_equal(question_poll(q, &d), 0);
	assert_int_equal(d.by, QUESTION_BY_NOBODY);
	question_close(q);
	assert_int_equal(count(), 0);
}

static void a_withdrawn_question_takes_no_answer(void **state)
{
	struct question *q = ask_for(TEXT_NONE);
	char id[16];
	(void)snprintf(id, sizeof id, "%s", question_id(q));
	assert_int_equal(count(), 1);
	question_close(q);
	assert_int_equal(count(), 0);
	assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_CONFLICT);
}

static void everything_asked_is_in_the_list(void **state)
{
	static const enum airlock_question_reason reasons[] = {AIRLOCK_ASK_HOST, AIRLOCK_ASK_LINK};
	static const char *const paths[] = {"/a b", "/c", NULL};
	const struct question_ask ask = {.text = "Connect?",
					 .command = "curl \"x\"\n\xff",
					 .project = "/p",
					 .session = "work",
					 .asked_by = "mcp: x",
					 .host = "example.org",
					 .port = 443,
					 .connections = 1,
					 .reasons = reasons,
					 .n_reasons = 2,
					 .paths = paths,
					 .choices = once,
					 .n_choices = 2,
					 .wait_ms = 60000};
	struct question *q = NULL, *other = ask_for(60000);
	struct question_list l;
	assert_int_equal(question_open(state_dir, &ask, &q, NULL), 0);
	question_set_connections(q, 12);
	assert_int_equal(question_list(state_dir, &l, NULL), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0]->id, question_id(other));
	const struct question_ask *found = &l.v[1]->ask;
	assert_string_equal(l.v[1]->id, question_id(q));
	assert_string_equal(found->text, "Connect?");
	assert_string_equal(found->command, "curl \"x\"\n\xef\xbf\xbd");
	assert_string_equal(found->session, "work");
	assert_string_equal(found->host, "example.org");
	assert_null(found->working_dir);
	assert_int_equal(found->port, 443);
	assert_int_equal(found->connections, 12);
	assert_int_equal(found->n_reasons, 2);
	assert_int_equal(found->reasons[0], AIRLOCK_ASK_HOST);
	assert_int_equal(found->reasons[1], AIRLOCK_ASK_LINK);
	assert_string_equal(found->paths[0], "/a b");
	assert_string_equal(found->paths[1], "/c");
	assert_null(found->paths[2]);
	assert_true(l.v[0]->asked_ns <= l.v[1]->asked_ns);
	question_list_done(&l);
	question_close(q);
	question_close(other);
}

static void an_unknown_name_is_not_found(void **state)
{
	static const char *const names[] = {"",	    "0",	"00000000",
					    "../x", "0000000g", "00000000000000000000000000000000"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		assert_int_equal(answer(names[i], AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_NOT_FOUND);
	struct question *q = ask_for(60000);
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		assert_int_equal(answer(names[i], AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_NOT_FOUND);
	/* An answer that was not offered decides nothing. */
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ALWAYS), AIRLOCK_ERR_INVALID);
	assert_int_equal(count(), 1);
	question_close(q);
}

static void write_file(const char *id, const char *ending, const char *text, mode_t mode)
{
	char path[300];
	(void)snprintf(path, sizeof path, "%s/%s%s", questions, id, ending);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static void nonce_of(const char *id, char nonce[QUESTION_NONCE_SIZE])
{
	int dir = question_dir_open(state_dir, false, NULL, NULL);
	struct question_entry *e = calloc(1, sizeof *e);
	int fd = question_read(dir, id, e, nonce);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)close(dir);
	question_entry_free(e);
}

static void still_waits(struct question *q)
{
	struct question_decision d;
	assert_int_equal(question_poll(q, &d), 1);
	assert_int_equal(count(), 1);
}

static void forged_answers_do_not_count(void **state)
{
	struct question *q = ask_for(60000);
	char nonce[QUESTION_NONCE_SIZE], text[128];
	const char *id = question_id(q);
	nonce_of(id, nonce);
	static const char *const wrong[] = {"", "allow", "00000000000000000000000000000000 allow_once person\n",
					    "00000000000000000000000000000000 allow_once time-over\n"};
	for (size_t i = 0; i < AL_ARRAY_LEN(wrong); i++) {
		write_file(id, ".answer", wrong[i], 0600);
		still_waits(q);
	}
	/* An answer that is not offered, words too many, a file that others may write. */
	(void)snprintf(text, sizeof text, "%s allow_always person\n", nonce);
	write_file(id, ".answer", text, 0600);
	still_waits(q);
	(void)snprintf(text, sizeof text, "%s allow_once withdrawn\n", nonce);
	write_file(id, ".answer", text, 0600);
	still_waits(q);
	(void)snprintf(text, sizeof text, "%s allow_once person\n", nonce);
	write_file(id, ".answer", text, 0666);
	still_waits(q);
	/* A symlink. */
	char path[300], target[300];
	write_file("elsewhere", ".text", text, 0600);
	(void)snprintf(target, sizeof target, "%s/elsewhere.text", questions);
	(void)snprintf(path, sizeof path, "%s/%s.answer", questions, id);
	assert_int_equal(symlink(target, path), 0);
	still_waits(q);
	/* The control: the same words in a file of ours. */
	write_file(id, ".answer", text, 0600);
	assert_int_equal(wait_for(q).answer, AIRLOCK_ALLOW_ONCE);
	question_close(q);
}

/* The answer to one question, under the name of the next. */
static void an_old_answer_means_nothing(void **state)
{
	char from[300], to[300];
	struct question *q = ask_for(60000);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), 0);
	(void)snprintf(from, sizeof from, "%s/%s.answer", questions, question_id(q));
	assert_int_equal(wait_for(q).answer, AIRLOCK_ALLOW_ONCE);
	question_close(q);
	q = ask_for(60000);
	(void)snprintf(to, sizeof to, "%s/%s.answer", questions, question_id(q));
	assert_int_equal(link(from, to), 0);
	still_waits(q);
	assert_int_equal(answer(question_id(q), AIRLOCK_DENY), 0);
	assert_int_equal(wait_for(q).answer, AIRLOCK_DENY);
	question_close(q);
}

static void another_users_answer_does_not_count(void **state)
{
	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	struct question *q = ask_for(60000);
	char nonce[QUESTION_NONCE_SIZE], text[128], path[300];
	nonce_of(question_id(q), nonce);
	(void)snprintf(text, sizeof text, "%s allow_once person\n", nonce);
	write_file(question_id(q), ".answer", text, 0600);
	(void)snprintf(path, sizeof path, "%s/%s.answer", questions, question_id(q));
	assert_int_equal(chown(path, 12345, 12345), 0);
	still_waits(q);
	assert_int_equal(chown(questions, 12345, 12345), 0);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_INVALID);
	assert_int_equal(chown(questions, 0, 0), 0);
	question_close(q);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
	struct question *q = ask_for(60000), *second = NULL;
	struct question_list l;
	const struct question_ask ask = {ASK, .wait_ms = 1000};
	assert_int_equal(chmod(questions, 0777), 0);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_INVALID);
	assert_int_equal(question_list(state_dir, &l, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(question_open(state_dir, &ask, &second, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(chmod(questions, 0700), 0);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), 0);
	question_close(q);
}

/* Its process number may be another's by then: the lock alone tells. */
static void a_question_goes_with_its_asker(void **state)
{
	int ends[2];
	char id[16] = "";
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct question *q = ask_for(60000);
		(void)!write(ends[1], question_id(q), strlen(question_id(q)) + 1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0); /* -1 would be everybody */
	assert_true(read(ends[0], id, sizeof id) > 0);
	assert_int_equal(count(), 1);
	int watch = -1;
	assert_int_equal(question_watch(state_dir, &watch, NULL), 0);
	assert_false(is_readable(watch, 0));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(is_readable(watch, 5000));
	assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(count(), 0);
	char path[300];
	(void)snprintf(path, sizeof path, "%s/%s.question", questions, id);
	assert_int_equal(access(path, F_OK), -1);
	(void)close(watch);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void a_watch_tells_of_questions_and_answers(void **state)
{
	int watch = -1;
	char bytes[4096];
	assert_int_equal(question_watch(state_dir, &watch, NULL), 0);
	struct question *q = ask_for(60000);
	assert_true(is_readable(watch, 5000));
	while (read(watch, bytes, sizeof bytes) > 0)
		continue;
	assert_int_equal(count(), 1); /* looking is no news */
	assert_false(is_readable(watch, 0));
	assert_int_equal(answer(question_id(q), AIRLOCK_DENY), 0);
	assert_true(is_readable(watch, 5000));
	question_close(q);
	(void)close(watch);
}

/* Many processes answer at once: one of them decides. */
static void one_of_many_answers_decides(void **state)
{
	enum { PEOPLE = 12 };
	struct question *q = ask_for(60000);
	int won = 0, lost = 0, status = 0;
	for (int i = 0; i < PEOPLE; i++)
		if (fork() == 0) {
			int rc = answer(question_id(q), i % 2 ? AIRLOCK_ALLOW_ONCE : AIRLOCK_DENY);
			_exit(rc == 0 ? 10 + i % 2 : rc == AIRLOCK_ERR_CONFLICT ? 20 : 30);
		}
	int winner = -1;
	while (wait(&status) > 0) {
		int code = WEXITSTATUS(status);
		assert_true(code < 30);
		won += code < 20;
		lost += code == 20;
		winner = code < 20 ? code - 10 : winner;
	}
	assert_int_equal(won, 1);
	assert_int_equal(lost, PEOPLE - 1);
	assert_int_equal(wait_for(q).answer, winner ? AIRLOCK_ALLOW_ONCE : AIRLOCK_DENY);
	question_close(q);
}

static void damaged_files_are_left_alone(void **state)
{
	struct question *q = ask_for(60000);
	static const char *const texts[] = {
		"", "x", "airlock question 1 0000000001\n", "airlock question 1 0000000001\n{}\n",
		"airlock question 1 0000000001\n{\"nonce\":\"0\",\"reasons\":[\"other\"]}\n"};
	for (size_t i = 0; i < AL_ARRAY_LEN(texts); i++) {
		char id[9];
		(void)snprintf(id, sizeof id, "0000000%zu", i);
		write_file(id, ".question", texts[i], 0600);
		assert_int_equal(answer(id, AIRLOCK_ALLOW_ONCE), AIRLOCK_ERR_NOT_FOUND);
	}
	assert_int_equal(count(), 1);
	question_close(q);
}

static void there_is_an_end_to_the_number_of_questions(void **state)
{
	struct question *all[QUESTION_MAX_PENDING], *more = NULL;
	const struct question_ask ask = {ASK, .wait_ms = 60000};
	enum { SOME = 30 }; /* inotify gives a user about a hundred */
	for (size_t i = 0; i < SOME; i++)
		all[i] = ask_for(60000);
	assert_int_equal(count(), SOME);
	for (size_t i = SOME; i < QUESTION_MAX_PENDING; i++) {
		all[i] = NULL;
		if (question_open(state_dir, &ask, &all[i], NULL) < 0)
			break;
	}
	assert_int_equal(question_open(state_dir, &ask, &more, NULL), AIRLOCK_ERR_LIMIT);
	assert_null(more);
	for (size_t i = 0; i < QUESTION_MAX_PENDING; i++)
		question_close(all[i]);
	more = ask_for(1000);
	question_close(more);
}

static void the_audit_file_tells_what_became_of_each(void **state)
{
	struct question *q = ask_for(60000);
	assert_int_equal(answer(question_id(q), AIRLOCK_ALLOW_ONCE), 0);
	(void)wait_for(q);
	question_close(q);
	q = ask_for(0);
	(void)wait_for(q);
	question_close(q);
	char path[300];
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_report_ struct audit_report report = {0};
	(void)snprintf(path, sizeof path, "%s/audit/audit.jsonl", state_dir);
	assert_int_equal(fs_read_file(path, 1 << 20, &text, NULL), 0);
	assert_non_null(strstr(text.data, "\"event\":\"asked\""));
	assert_non_null(strstr(text.data, "\"session\":\"work\",\"asked_by\":\"hook:some\""));
	assert_non_null(strstr(text.data, "\"event\":\"answered\""));
	assert_non_null(strstr(text.data, "\"answer\":\"allow_once\",\"by\":\"person\""));
	assert_non_null(strstr(text.data, "\"event\":\"denied\""));
	assert_non_null(strstr(text.data, "\"answer\":\"deny\",\"by\":\"nobody\""));
	assert_int_equal(audit_verify(state_dir, NULL, &report, NULL), 0);
	assert_int_equal(report.n, 0);
	assert_int_equal(report.lines, 4);
}

static void an_optional_question_that_nobody_answered_is_known(void **state)
{
	assert_false(question_was_ignored(state_dir, "0123456789abcdef0123"));
	question_set_ignored(state_dir, "0123456789abcdef0123");
	assert_true(question_was_ignored(state_dir, "0123456789abcdef0123"));
	assert_false(question_was_ignored(state_dir, "1123456789abcdef0123"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_arrives_once),
		TEST(a_no_is_a_no),
		TEST(the_first_of_two_answers_counts),
		TEST(what_nobody_answers_is_denied),
		TEST(a_withdrawn_question_takes_no_answer),
		TEST(everything_asked_is_in_the_list),
		TEST(an_unknown_name_is_not_found),
		TEST(forged_answers_do_not_count),
		TEST(an_old_answer_means_nothing),
		TEST(another_users_answer_does_not_count),
		TEST(a_directory_that_others_may_write_is_refused),
		TEST(a_question_goes_with_its_asker),
		TEST(a_watch_tells_of_questions_and_answers),
		TEST(one_of_many_answers_decides),
		TEST(damaged_files_are_left_alone),
		TEST(there_is_an_end_to_the_number_of_questions),
		TEST(the_audit_file_tells_what_became_of_each),
		TEST(an_optional_question_that_nobody_answered_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
