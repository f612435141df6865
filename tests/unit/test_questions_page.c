/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions as a page of the terminal: what a key decides about, and what is drawn. */
#include "tests.h"

#include "../../cli/keys.h"
#include "../../cli/questions_page.h"
#include "base/text.h"
#include "fs/fs.h"
#include "question/question.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static char place[64], state_dir[128];
static struct airlock_settings *settings;

static int make_place(void **state)
{
	char variables[3][160];
	char *environment[] = {variables[0], variables[1], variables[2], NULL};
	(void)state;
	(void)snprintf(place, sizeof place, "/tmp/airlock-page-XXXXXX");
	if (!mkdtemp(place))
		return -1;
	(void)snprintf(state_dir, sizeof state_dir, "%s/airlock", place);
	(void)snprintf(variables[0], sizeof variables[0], "HOME=%s", place);
	(void)snprintf(variables[1], sizeof variables[1], "XDG_STATE_HOME=%s", place);
	(void)snprintf(variables[2], sizeof variables[2], "PATH=/usr/bin");
	settings = airlock_settings_new();
	return airlock_settings_set_environ(settings, environment, NULL);
}

static int remove_place(void **state)
{
	(void)state;
	airlock_settings_free(settings);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fs_remove_tree_at(tmp, place + strlen("/tmp/"), NULL, NULL);
	(void)close(tmp);
	return rc;
}

static struct question *ask(const char *command)
{
	static const enum airlock_question_reason reasons[] = {AIRLOCK_ASK_NETWORK};
	static const enum airlock_answer choices[] = {AIRLOCK_ALLOW_ONCE, AIRLOCK_DENY};
	char text[8192];
	struct question *q = NULL;
	char *inert = airlock_text_inert(command, strlen(command));
	(void)snprintf(text, sizeof text, "In /p\nRun it: %s?", inert);
	airlock_free(inert);
	const struct question_ask in = {.text = text,
					.command = command,
					.project = "/p",
					.asked_by = "hook:some",
					.reasons = reasons,
					.n_reasons = 1,
					.choices = choices,
					.n_choices = 2,
					.wait_ms = 60000};
	assert_int_equal(question_open(state_dir, &in, &q, NULL), 0);
	(void)usleep(2000); /* the next one is asked later */
	return q;
}

static struct airlock_questions *look(void)
{
	struct airlock_questions *l = NULL;
	assert_int_equal(airlock_questions_open(settings, &l, NULL), 0);
	return l;
}

static enum questions_action press(struct questions_page *p, int key, int64_t at)
{
	enum airlock_answer ignored;
	return questions_page_press(p, key, at, &ignored);
}

static bool shows(const struct questions_page *p, const char *text)
{
	char *frame = questions_page_draw(p);
	assert_non_null(frame);
	bool is_there = strstr(frame, text) != NULL;
	size_t lines = 1;
	for (const char *c = frame; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, p->height);
	free(frame);
	return is_there;
}

static void an_empty_page_decides_nothing(void **state)
{
	struct questions_page p = {.height = 12, .width = 60};
	struct airlock_questions *l = look();
	questions_page_take(&p, l, SECOND);
	assert_true(shows(&p, "No question waits"));
	assert_false(questions_page_is_decision(&p, 'a'));
	assert_int_equal(press(&p, 'a', 9 * SECOND), QUESTIONS_NOTHING);
	assert_int_equal(press(&p, '\n', 9 * SECOND), QUESTIONS_NOTHING);
	assert_false(p.is_detail);
	assert_int_equal(press(&p, 'q', 9 * SECOND), QUESTIONS_QUIT);
	airlock_questions_free(l);
}

static void the_cursor_stays_on_its_question(void **state)
{
	struct questions_page p = {.height = 20, .width = 60};
	struct question *one = ask("one"), *two = ask("two"), *three = ask("three");
	struct airlock_questions *l = look(), *next;
	questions_page_take(&p, l, SECOND);
	assert_true(shows(&p, "3 questions wait"));
	assert_int_equal(press(&p, 'j', SECOND), QUESTIONS_NOTHING);
	assert_string_equal(p.chosen, question_id(two));
	assert_true(shows(&p, "Run it: two?"));
	question_close(one);
	next = look();
	questions_page_take(&p, next, 5 * SECOND);
	assert_string_equal(p.chosen, question_id(two));
	assert_string_equal(questions_page_chosen(&p)->command, "two");
	assert_int_equal(press(&p, 'a', 5 * SECOND), QUESTIONS_ANSWER); /* it was there all the time */
	airlock_questions_free(l);
	airlock_questions_free(next);
	question_close(two);
	question_close(three);
}

static void what_has_just_moved_there_is_not_decided(void **state)
{
	struct questions_page p = {.height = 20, .width = 60};
	struct question *one = ask("one"), *two = ask("two");
	struct airlock_questions *l = look(), *next;
	questions_page_take(&p, l, SECOND);
	assert_int_equal(press(&p, 'a', SECOND + SECOND / 10), QUESTIONS_NOTHING);
	assert_true(shows(&p, "the list has just changed"));
	assert_int_equal(press(&p, 'a', 2 * SECOND), QUESTIONS_ANSWER);
	question_close(one);
	next = look();
	questions_page_take(&p, next, 3 * SECOND);
	assert_string_equal(p.chosen, question_id(two));
	assert_int_equal(press(&p, 'a', 3 * SECOND), QUESTIONS_NOTHING);
	assert_int_equal(press(&p, 'd', 3 * SECOND), QUESTIONS_NOTHING);
	assert_int_equal(press(&p, 'd', 4 * SECOND), QUESTIONS_ANSWER);
	airlock_questions_free(l);
	airlock_questions_free(next);
	question_close(two);
}

static void only_what_is_offered_is_an_answer(void **state)
{
	struct questions_page p = {.height = 20, .width = 60};
	struct question *one = ask("one");
	struct airlock_questions *l = look();
	enum airlock_answer answer = AIRLOCK_DENY_ALWAYS;
	questions_page_take(&p, l, SECOND);
	assert_int_equal(questions_page_press(&p, 'a', 9 * SECOND, &answer), QUESTIONS_ANSWER);
	assert_int_equal(answer, AIRLOCK_ALLOW_ONCE);
	assert_int_equal(questions_page_press(&p, 'd', 9 * SECOND, &answer), QUESTIONS_ANSWER);
	assert_int_equal(answer, AIRLOCK_DENY);
	for (const char *key = "swevAyY"; *key; key++) {
		assert_false(questions_page_is_decision(&p, *key));
		assert_int_equal(press(&p, *key, 9 * SECOND), QUESTIONS_NOTHING);
	}
	airlock_questions_free(l);
	question_close(one);
}

/* A yes needs the whole question on the screen; a no does not. */
static void a_long_question_is_read_first(void **state)
{
	char command[4000];
	struct questions_page p = {.height = 14, .width = 50};
	memset(command, 'x', sizeof command - 1);
	command[sizeof command - 1] = '\0';
	struct question *one = ask(command);
	struct airlock_questions *l = look();
	questions_page_take(&p, l, SECOND);
	assert_int_equal(press(&p, 'a', 9 * SECOND), QUESTIONS_NOTHING);
	assert_true(shows(&p, "Enter shows all of it"));
	assert_int_equal(press(&p, 'd', 9 * SECOND), QUESTIONS_ANSWER);
	assert_int_equal(press(&p, '\n', 9 * SECOND), QUESTIONS_NOTHING);
	assert_true(p.is_detail);
	assert_true(shows(&p, "this is 1 of 1"));
	for (int i = 0; i < 30; i++)
		(void)press(&p, ' ', 9 * SECOND);
	assert_true(shows(&p, "Project /p"));
	assert_int_equal(press(&p, 'a', 9 * SECOND), QUESTIONS_ANSWER);
	assert_int_equal(press(&p, 'q', 9 * SECOND), QUESTIONS_NOTHING);
	assert_false(p.is_detail);
	airlock_questions_free(l);
	question_close(one);
}

static void the_detail_closes_with_its_question(void **state)
{
	struct questions_page p = {.height = 20, .width = 60};
	struct question *one = ask("one"), *two = ask("two");
	struct airlock_questions *l = look(), *next;
	questions_page_take(&p, l, SECOND);
	(void)press(&p, '\n', 2 * SECOND);
	question_close(one);
	next = look();
	questions_page_take(&p, next, 3 * SECOND);
	assert_false(p.is_detail);
	assert_true(shows(&p, "that question is decided"));
	airlock_questions_free(l);
	airlock_questions_free(next);
	question_close(two);
}

/* Commands are the model's text. */
static void hostile_text_stays_in_its_line(void **state)
{
	struct questions_page p = {.height = 10, .width = 30};
	struct question *one = ask("x\033[2J\n\r\x9b[A \xe2\x80\xae y");
	struct airlock_questions *l = look();
	questions_page_take(&p, l, SECOND);
	assert_false(shows(&p, "\033[2J"));
	assert_false(shows(&p, "\xe2\x80\xae"));
	assert_false(shows(&p, "\x9b"));
	for (size_t width = 1; width < 70; width += 7) {
		p.width = width;
		assert_false(shows(&p, "\033[2J"));
	}
	airlock_questions_free(l);
	question_close(one);
}

static void many_questions_scroll(void **state)
{
	enum { MANY = 12 };
	struct questions_page p = {.height = 12, .width = 60};
	struct question *all[MANY];
	char name[16];
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof name, "number-%d", i);
		all[i] = ask(name);
	}
	struct airlock_questions *l = look();
	questions_page_take(&p, l, SECOND);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof name, "> %s", question_id(all[i]));
		assert_true(shows(&p, name));
		(void)press(&p, KEY_DOWN, 9 * SECOND);
	}
	assert_string_equal(p.chosen, question_id(all[MANY - 1]));
	for (int i = 0; i < MANY; i++)
		(void)press(&p, KEY_UP, 9 * SECOND);
	assert_string_equal(p.chosen, question_id(all[0]));
	airlock_questions_free(l);
	for (int i = 0; i < MANY; i++)
		question_close(all[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_page_decides_nothing),
		TEST(the_cursor_stays_on_its_question),
		TEST(what_has_just_moved_there_is_not_decided),
		TEST(only_what_is_offered_is_an_answer),
		TEST(a_long_question_is_read_first),
		TEST(the_detail_closes_with_its_question),
		TEST(hostile_text_stays_in_its_line),
		TEST(many_questions_scroll),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
