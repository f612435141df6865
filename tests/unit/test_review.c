/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of changes a person goes through: keys, the model, and what is drawn. */
#include "golden.h"

#include "../../cli/keys.h"
#include "../../cli/review_draw.h"
#include "../../cli/review_model.h"

#include <airlock/airlock.h>

#include <string.h>

/* ── keys ── */

static void assert_key(const char *bytes, bool is_all, int key, size_t used)
{
	size_t got_used = 99;
	int got = key_decode((const unsigned char *)bytes, strlen(bytes), is_all, &got_used);
	if (got_used != used || (used > 0 && got != key))
		fail_msg("key %d of %zu bytes, not %d of %zu", got, got_used, key, used);
}

static void letters_and_controls_are_themselves(void **state)
{
	(void)state;
	assert_key("a", false, 'a', 1);
	assert_key("ab", false, 'a', 1);
	assert_key("\r", false, '\n', 1);
	assert_key("\n", false, '\n', 1);
	assert_key("\x03", false, KEY_CTRL('c'), 1);
	assert_key("\xc3\xa9", false, KEY_NONE, 1);
}

static void sequences(void **state)
{
	static const struct {
		const char *bytes;
		int key;
	} all[] = {{"\033[A", KEY_UP},	     {"\033OA", KEY_UP},
		   {"\033[B", KEY_DOWN},     {"\033[C", KEY_RIGHT},
		   {"\033[D", KEY_LEFT},     {"\033[1;5A", KEY_UP},
		   {"\033[5~", KEY_PAGE_UP}, {"\033[6~", KEY_PAGE_DOWN},
		   {"\033[H", KEY_HOME},     {"\033[F", KEY_END},
		   {"\033[1~", KEY_HOME},    {"\033[4~", KEY_END},
		   {"\033OH", KEY_HOME},     {"\033[7~", KEY_HOME},
		   {"\033[8~", KEY_END},     {"\033[15~", KEY_NONE},
		   {"\033[200~", KEY_NONE},  {"\033[6;2~", KEY_PAGE_DOWN},
		   {"\033a", KEY_NONE},	     {"\033[99999999999~", KEY_NONE}};
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_key(all[i].bytes, false, all[i].key, strlen(all[i].bytes));
	assert_key("\033[Aa", false, KEY_UP, 3);
	assert_key("\033[5\n", false, KEY_NONE, 3); /* broken off: the new line is a key of its own */
}

static void half_a_sequence_waits_and_then_goes_as_a_whole(void **state)
{
	(void)state;
	assert_key("\033", false, 0, 0);
	assert_key("\033[", false, 0, 0);
	assert_key("\033[1;", false, 0, 0);
	assert_key("\033O", false, 0, 0);
	assert_key("\033", true, KEY_ESCAPE, 1);
	assert_key("\033[1;", true, KEY_NONE, 4);
	assert_key("\033\033", false, KEY_ESCAPE, 1);
}

/* ── the model ── */

static const struct review_row rows[] = {
	{'A', ".git/hooks/pre-commit", "runs outside the sandbox: git hook", false, 0},
	{'A', "src", NULL, false, 3},
	{'A', "src/deep", NULL, false, 1},
	{'A', "src/deep/a.c", NULL, false, 0},
	{'A', "src/b.c", NULL, false, 0},
	{'M', "notes/\\x1b[31m", "conflict: changed since the run began", true, 0},
	{'R', "old name -> 日本語の名前.txt", NULL, false, 0},
	{'D', "z", NULL, false, 0},
};
#define N (sizeof rows / sizeof *rows)

static bool chosen[N];

static struct review_model model(void)
{
	memset(chosen, 0, sizeof chosen);
	return (struct review_model){.run = "20261115-193012.482731-7f3a",
				     .rows = rows,
				     .n = N,
				     .chosen = chosen,
				     .height = 14,
				     .width = 80};
}

static enum review_action press(struct review_model *m, const char *keys)
{
	enum review_action action = REVIEW_NOTHING;
	for (; *keys; keys++)
		action = review_model_press(m, *keys);
	return action;
}

static void the_cursor_stays_on_the_list(void **state)
{
	(void)state;
	struct review_model m = model();
	(void)review_model_press(&m, KEY_UP);
	assert_int_equal(m.cursor, 0);
	(void)press(&m, "jj");
	assert_int_equal(m.cursor, 2);
	(void)press(&m, "k");
	assert_int_equal(m.cursor, 1);
	(void)press(&m, "G");
	assert_int_equal(m.cursor, N - 1);
	(void)review_model_press(&m, KEY_DOWN);
	(void)review_model_press(&m, KEY_PAGE_DOWN);
	assert_int_equal(m.cursor, N - 1);
	(void)press(&m, "g");
	assert_int_equal(m.cursor, 0);
}

static void a_long_list_follows_the_cursor(void **state)
{
	(void)state;
	struct review_model m = model();
	review_model_resize(&m, 6, 80);
	assert_int_equal(review_model_room(&m), 3);
	(void)press(&m, "jjj");
	assert_int_equal(m.top, 1);
	(void)press(&m, "kkk");
	assert_int_equal(m.top, 0);
	(void)review_model_press(&m, KEY_END);
	assert_int_equal(m.top, N - 3);
	(void)review_model_press(&m, KEY_PAGE_UP);
	assert_int_equal(m.cursor, N - 4);
	review_model_resize(&m, 40, 80); /* everything fits again */
	assert_int_equal(m.top, 0);
	review_model_resize(&m, 1, 1);
	assert_int_equal(m.top, m.cursor);
}

static void space_selects_a_directory_with_all_in_it(void **state)
{
	(void)state;
	struct review_model m = model();
	(void)press(&m, "j ");
	assert_int_equal(review_model_mark(&m, 1), REVIEW_CHOSEN);
	assert_int_equal(review_model_mark(&m, 3), REVIEW_CHOSEN);
	assert_int_equal(review_model_count(&m), 4);
	(void)press(&m, "jj ");
	assert_int_equal(review_model_mark(&m, 1), REVIEW_PARTLY_CHOSEN);
	assert_int_equal(review_model_mark(&m, 2), REVIEW_NOT_CHOSEN);
	assert_int_equal(review_model_count(&m), 1);
	(void)press(&m, "kk "); /* partly: the rest too */
	assert_int_equal(review_model_mark(&m, 1), REVIEW_CHOSEN);
	(void)press(&m, " ");
	assert_int_equal(review_model_count(&m), 0);
	(void)press(&m, "*");
	assert_int_equal(review_model_count(&m), N);
	(void)press(&m, "*");
	assert_int_equal(review_model_count(&m), 0);
}

static void keys_that_decide(void **state)
{
	(void)state;
	struct review_model m = model();
	assert_int_equal(press(&m, "a"), REVIEW_APPLY_ALL);
	assert_int_equal(press(&m, "s"), REVIEW_NOTHING);
	assert_non_null(m.message);
	assert_int_equal(press(&m, " s"), REVIEW_APPLY_CHOSEN);
	assert_null(m.message);
	assert_int_equal(press(&m, "d"), REVIEW_SHOW_DIFF);
	assert_int_equal(press(&m, "\n"), REVIEW_SHOW_DIFF);
	assert_int_equal(press(&m, "h"), REVIEW_HOLD);
	assert_int_equal(press(&m, "q"), REVIEW_HOLD);
	assert_int_equal(press(&m, "\x1a"), REVIEW_SUSPEND);
}

static void ctrl_c_and_the_end_of_input_hold_everywhere(void **state)
{
	static const enum review_page pages[] = {REVIEW_LIST, REVIEW_DIFF, REVIEW_HELP, REVIEW_CONFIRM,
						 REVIEW_CONFIRM_ANYWAY};
	(void)state;
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
		struct review_model m = model();
		m.page = pages[i];
		assert_int_equal(press(&m, "\x03"), REVIEW_HOLD);
		assert_int_equal(press(&m, "\x04"), REVIEW_HOLD);
	}
}

static void discarding_asks_once_more(void **state)
{
	(void)state;
	struct review_model m = model();
	static const char no[] = "n jka\nhqs?";
	for (const char *key = no; *key; key++) {
		assert_int_equal(press(&m, "x"), REVIEW_NOTHING);
		assert_int_equal(m.page, REVIEW_CONFIRM);
		assert_int_equal(review_model_press(&m, *key), REVIEW_NOTHING);
		assert_int_equal(m.page, REVIEW_LIST);
	}
	assert_int_equal(review_model_count(&m), 0);
	assert_int_equal(press(&m, "xy"), REVIEW_DISCARD_ALL);
	assert_int_equal(press(&m, "xx"), REVIEW_DISCARD_ALL);
	assert_int_equal(press(&m, " xy"), REVIEW_DISCARD_CHOSEN);
}

static void applying_anyway_asks_once_more(void **state)
{
	(void)state;
	struct review_model m = model();
	static const char no[] = "n jka\nhqsx!?";
	for (const char *key = no; *key; key++) {
		assert_int_equal(press(&m, "!"), REVIEW_NOTHING);
		assert_int_equal(m.page, REVIEW_CONFIRM_ANYWAY);
		assert_int_equal(review_model_press(&m, *key), REVIEW_NOTHING);
		assert_int_equal(m.page, REVIEW_LIST);
	}
	assert_int_equal(press(&m, "!y"), REVIEW_APPLY_ANYWAY);
	assert_int_equal(press(&m, " !Y"), REVIEW_APPLY_ANYWAY); /* whatever is selected */
}

static void only_decisions_must_be_pressed_alone(void **state)
{
	(void)state;
	struct review_model m = model();
	assert_true(review_model_is_decision(&m, 'a') && review_model_is_decision(&m, 'S') &&
		    review_model_is_decision(&m, 'x') && review_model_is_decision(&m, '!'));
	assert_false(review_model_is_decision(&m, 'j') || review_model_is_decision(&m, KEY_DOWN) ||
		     review_model_is_decision(&m, 'q') || review_model_is_decision(&m, ' '));
	m.page = REVIEW_CONFIRM;
	assert_true(review_model_is_decision(&m, 'y') && review_model_is_decision(&m, 'x'));
	m.page = REVIEW_CONFIRM_ANYWAY;
	assert_true(review_model_is_decision(&m, 'y'));
	assert_false(review_model_is_decision(&m, 'x'));
	m.page = REVIEW_DIFF;
	assert_false(review_model_is_decision(&m, 'a') || review_model_is_decision(&m, 'x') ||
		     review_model_is_decision(&m, '!'));
}

static void a_diff_scrolls_and_goes_back(void **state)
{
	const char *lines[100];
	(void)state;
	for (size_t i = 0; i < 100; i++)
		lines[i] = "x";
	struct review_model m = model();
	review_model_show(&m, lines, 100);
	assert_int_equal(press(&m, " "), REVIEW_NOTHING);
	assert_int_equal(m.line, 11);
	(void)press(&m, "j\nk");
	assert_int_equal(m.line, 12);
	(void)press(&m, "G");
	assert_int_equal(m.line, 89);
	(void)press(&m, "b");
	assert_int_equal(m.line, 78);
	(void)press(&m, "g");
	assert_int_equal(m.line, 0);
	(void)review_model_press(&m, KEY_RIGHT);
	assert_int_equal(m.column, 40);
	(void)review_model_press(&m, KEY_LEFT);
	assert_int_equal(m.column, 0);
	assert_int_equal(press(&m, "asx"), REVIEW_NOTHING); /* nothing is decided from here */
	assert_int_equal(press(&m, "p"), REVIEW_NOTHING);
	assert_non_null(m.message);
	assert_int_equal(press(&m, "n"), REVIEW_SHOW_DIFF);
	assert_int_equal(m.cursor, 1);
	assert_int_equal(m.page, REVIEW_DIFF);
	assert_int_equal(press(&m, "q"), REVIEW_NOTHING);
	assert_int_equal(m.page, REVIEW_LIST);
}

/* ── what is drawn ── */

/* Escapes made visible; every line within the width, and as many as the screen has. */
static void assert_drawn(const char *golden, const struct review_model *m)
{
	char shown[16384], line[4096];
	size_t n = 0, in_line = 0, lines = 1;
	char *text = review_draw(m);
	assert_non_null(text);
	for (const char *p = text; *p; p++) {
		if (*p == '\033') {
			n += (size_t)snprintf(shown + n, sizeof shown - n, "<%.*s>", (int)strcspn(p, "m") - 2, p + 2);
			p += strcspn(p, "m");
			continue;
		}
		shown[n++] = *p;
		if (*p != '\n')
			line[in_line++] = *p;
		if (*p == '\n' || !p[1]) {
			assert_true(airlock_text_columns(line, in_line) <= m->width);
			lines += *p == '\n';
			in_line = 0;
		}
	}
	shown[n++] = '\n';
	shown[n] = '\0';
	assert_int_equal(lines, m->height);
	compare_with_golden(golden, shown);
	free(text);
}

static void the_list(void **state)
{
	(void)state;
	struct review_model m = model();
	(void)press(&m, "jjj k");
	assert_drawn("review-list", &m);
}

static void the_list_on_a_narrow_terminal(void **state)
{
	(void)state;
	struct review_model m = model();
	review_model_resize(&m, 8, 26);
	assert_drawn("review-narrow", &m);
	(void)press(&m, "G ");
	assert_drawn("review-narrow-end", &m);
	for (size_t width = 1; width < 90; width++) { /* never wider, whatever the width */
		review_model_resize(&m, 12, width);
		char *text = review_draw(&m);
		assert_non_null(text);
		free(text);
	}
}

static void the_question_before_discarding(void **state)
{
	(void)state;
	struct review_model m = model();
	(void)press(&m, "x");
	assert_drawn("review-discard", &m);
	(void)press(&m, "n x");
	assert_drawn("review-discard-one", &m);
}

static void the_question_before_applying_anyway(void **state)
{
	(void)state;
	struct review_model m = model();
	(void)press(&m, "!");
	assert_drawn("review-anyway", &m);
	(void)press(&m, "nj!");
	assert_drawn("review-anyway-directory", &m);
	(void)press(&m, "njjjj!");
	assert_drawn("review-anyway-conflict", &m);
}

static void the_help(void **state)
{
	(void)state;
	struct review_model m = model();
	review_model_resize(&m, 19, 80);
	(void)press(&m, "?");
	assert_drawn("review-help", &m);
	assert_int_equal(press(&m, "a"), REVIEW_NOTHING);
	assert_int_equal(m.page, REVIEW_LIST);
}

static void the_diff(void **state)
{
	static const char *const lines[] = {"\033[1mdiff --git a/z b/z\033[0m", "\033[31m-\told\033[0m",
					    "\033[32m+\t日本 new and quite a bit longer than one line of it\033[0m",
					    "a\tb", ""};
	(void)state;
	struct review_model m = model();
	review_model_resize(&m, 9, 40);
	review_model_show(&m, lines, 5);
	assert_drawn("review-diff", &m);
	m.column = 9; /* in the middle of a wide character */
	assert_drawn("review-diff-right", &m);
	review_model_show(&m, NULL, 0);
	assert_drawn("review-diff-empty", &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_and_controls_are_themselves),
		cmocka_unit_test(sequences),
		cmocka_unit_test(half_a_sequence_waits_and_then_goes_as_a_whole),
		cmocka_unit_test(the_cursor_stays_on_the_list),
		cmocka_unit_test(a_long_list_follows_the_cursor),
		cmocka_unit_test(space_selects_a_directory_with_all_in_it),
		cmocka_unit_test(keys_that_decide),
		cmocka_unit_test(ctrl_c_and_the_end_of_input_hold_everywhere),
		cmocka_unit_test(discarding_asks_once_more),
		cmocka_unit_test(applying_anyway_asks_once_more),
		cmocka_unit_test(only_decisions_must_be_pressed_alone),
		cmocka_unit_test(a_diff_scrolls_and_goes_back),
		cmocka_unit_test(the_list),
		cmocka_unit_test(the_list_on_a_narrow_terminal),
		cmocka_unit_test(the_question_before_discarding),
		cmocka_unit_test(the_question_before_applying_anyway),
		cmocka_unit_test(the_help),
		cmocka_unit_test(the_diff),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
