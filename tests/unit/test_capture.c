/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests.h"

#include "base/text.h"
#include "supervise/output_capture.h"

#include <stdio.h>
#include <stdlib.h>

static char *kept(int64_t cap, const char *data, size_t len, size_t step, bool *ret_cut)
{
	struct capture c;
	struct buf out = BUF_INIT;
	assert_int_equal(capture_init(&c, cap), 0);
	for (size_t at = 0; at < len; at += step)
		capture_add(&c, data + at, AL_MIN(step, len - at));
	assert_int_equal(c.total, len);
	capture_text(&c, &out);
	*ret_cut = capture_is_cut(&c);
	capture_done(&c);
	return buf_take(&out);
}

static void everything_up_to_the_cap_is_kept_whatever_the_pieces(void **state)
{
	char data[64];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)('A' + i % 26);
	for (size_t len = 0; len <= sizeof data; len++) {
		for (size_t step = 1; step <= 70; step += 3) {
			bool cut;
			char *text = kept(sizeof data, data, len, step, &cut);
			assert_false(cut);
			assert_int_equal(strlen(text), len);
			assert_memory_equal(text, data, len);
			free(text);
		}
	}
}

static void beyond_it_head_and_tail_stay_and_the_middle_is_counted(void **state)
{
	char data[1000];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)('a' + i / 40);
	for (size_t step = 1; step <= sizeof data; step = step * 3 + 1) {
		bool cut;
		char expected[200];
		char *text = kept(100, data, sizeof data, step, &cut);
		assert_true(cut);
		(void)snprintf(expected, sizeof expected, "%.50s\n[... 900 bytes left out ...]\n%.50s", data,
			       data + sizeof data - 50);
		assert_string_equal(text, expected);
		free(text);
	}
}

static void the_text_is_never_longer_than_the_cap(void **state)
{
	static char data[4000];
	static const char *const pieces[] = {"x", "\xff", "\xe2\x82\xac", "a\xc3"};
	for (size_t k = 0; k < AL_ARRAY_LEN(pieces); k++) {
		for (size_t i = 0; i < sizeof data; i++)
			data[i] = pieces[k][i % strlen(pieces[k])];
		for (size_t len = 100; len <= sizeof data; len += 300) {
			bool cut;
			_cleanup_free_ char *text = kept(512, data, len, 77, &cut);
			_cleanup_buf_ struct buf shown = BUF_INIT;
			text_add_utf8(&shown, text, strlen(text));
			assert_true(shown.len <= 512);
			assert_int_equal(cut, strstr(text, " bytes left out ...]") != NULL);
			assert_true(cut || strlen(text) == len);
			const char *line = strstr(text, "\n[... ");
			const char *end = cut ? strstr(line, "...]\n") + 5 : "";
			if (cut)
				assert_int_equal((size_t)(line - text) + strlen(end) + strtoul(line + 6, NULL, 10),
						 len);
		}
	}
}

static void a_cut_never_splits_a_character(void **state)
{
	char data[900];
	for (size_t i = 0; i < sizeof data; i += 3)
		memcpy(data + i, "\xe2\x82\xac", 3);
	for (int64_t cap = 40; cap < 60; cap++) {
		bool cut;
		char *text = kept(cap, data, sizeof data, 7, &cut);
		unsigned long left_out = 0;
		assert_true(cut);
		assert_true(text_is_utf8(text, strlen(text)));
		const char *line = strstr(text, "\n[... ");
		assert_non_null(line);
		left_out = strtoul(line + 6, NULL, 10);
		const char *end = strstr(line, "...]\n") + 5;
		assert_int_equal((size_t)(line - text) + strlen(end) + left_out, sizeof data);
		free(text);
	}
}

static void a_tiny_cap_still_works(void **state)
{
	bool cut;
	char *text = kept(0, "0123456789012345678901234567890123456789", 40, 40, &cut);
	assert_true(cut);
	assert_non_null(strstr(text, "8 bytes left out"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_up_to_the_cap_is_kept_whatever_the_pieces),
		cmocka_unit_test(beyond_it_head_and_tail_stay_and_the_middle_is_counted),
		cmocka_unit_test(the_text_is_never_longer_than_the_cap),
		cmocka_unit_test(a_cut_never_splits_a_character),
		cmocka_unit_test(a_tiny_cap_still_works),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
