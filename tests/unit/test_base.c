/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests.h"

#include "base/array.h"
#include "base/json.h"
#include "base/json_value.h"
#include "base/path.h"
#include "base/text.h"
#include "base/columns.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/notes.h"

#include <fnmatch.h>
#include <stdio.h>

static void numbers_are_written_as_printf_does(void **state)
{
	static const int64_t rows[] = {0, 1, -1, 9, 10, -10, 1794812167775980146, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf ours = BUF_INIT, theirs = BUF_INIT;
		buf_add_signed(&ours, rows[i]);
		buf_add_unsigned(&ours, (uint64_t)rows[i], 10);
		buf_add_unsigned(&ours, (uint64_t)rows[i], 8);
		buf_printf(&theirs, "%lld%llu%llo", (long long)rows[i], (unsigned long long)rows[i],
			   (unsigned long long)rows[i]);
		assert_string_equal(buf_str(&ours), buf_str(&theirs));
	}
}

/* Also where it just does, and just does not, fit into what is there. */
static void printing_makes_room(void **state)
{
	for (int before = 0; before < 140; before++) {
		_cleanup_buf_ struct buf b = BUF_INIT;
		for (int i = 0; i < before; i++)
			buf_addc(&b, 'x');
		buf_printf(&b, "%s-%d", "some words", before);
		char end[32];
		(void)snprintf(end, sizeof end, "some words-%d", before);
		assert_int_equal(b.len, (size_t)before + strlen(end));
		assert_string_equal(b.data + before, end);
	}
}

/* Every pattern of a few characters against every text of a few: fnmatch(3) is what the patterns mean. */
static void globs_mean_what_fnmatch_says(void **state)
{
	static const char *const pieces[] = {"*",    "?",     "a",   "B", "/",		"[ab]",
					     "[!a]", "[B-C]", "\\*", "[", "[[:upper:]]"};
	static const char *const letters[] = {"a", "b", "B", "/", "*", "["};
	enum { P = AL_ARRAY_LEN(pieces), T = AL_ARRAY_LEN(letters) };
	for (size_t i = 0; i < (size_t)P * P * P; i++)
		for (size_t k = 0; k < (size_t)T * T * T; k++) {
			char pattern[64], text[16];
			(void)snprintf(pattern, sizeof pattern, "%s%s%s", pieces[i % P], pieces[i / P % P],
				       pieces[i / P / P]);
			(void)snprintf(text, sizeof text, "%s%s%s", letters[k % T], letters[k / T % T],
				       letters[k / T / T]);
			text[k % 4] = '\0';
			if (strstr(pattern, "[/"))
				continue; /* glibc lets a slash end such a class */
			for (int flags = 0; flags < 4; flags++) {
				int theirs = (flags & GLOB_ANY_CASE ? FNM_CASEFOLD : 0) |
					     (flags & GLOB_PATH ? FNM_PATHNAME : 0);
				if (glob_matches(pattern, text, flags) != (fnmatch(pattern, text, theirs) == 0))
					fail_msg("%s, %s, flags %d", pattern, text, flags);
			}
		}
}

static void two_stars_are_any_directories(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{"**", "a/b", true},
		{"**/b", "b", true},
		{"**/b", "a/a/b", true},
		{"a/**", "a/b/c", true},
		{"a/**", "a", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/b/**/c", "a/b/b/c", true},
		{"**/a*/b", "ax/ay/b", true},
		{"a**b", "axb", true},
		{"a**b", "a/b", false},
		{"**/a/**/b", "x/a/y/c", false},
		{"a/*", "a/b/c", false},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		if (glob_matches(rows[i].pattern, rows[i].text, GLOB_PATH | GLOB_DEEP) != rows[i].matches)
			fail_msg("%s, %s", rows[i].pattern, rows[i].text);
	assert_true(glob_matches_n("a*xx", 2, "abcd", 3, 0));
	assert_false(glob_matches_n("abxx", 2, "abcd", 3, 0));
}

/* Each star could be tried at every place; only the last one is. */
static void a_hostile_glob_ends(void **state)
{
	char text[2001], pattern[201];
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (size_t i = 0; i < sizeof pattern - 1; i += 2)
		memcpy(pattern + i, "a*", 2);
	pattern[sizeof pattern - 2] = 'b';
	pattern[sizeof pattern - 1] = '\0';
	assert_false(glob_matches(pattern, text, 0));
	assert_false(glob_matches(pattern, text, GLOB_PATH | GLOB_DEEP));
}

static void json_is_read_strictly(void **state)
{
	static const char *const good[] = {
		"{}",	  " [ ] ",    "[1, -0, 0.5, 1e9, 1E+2, -1.5e-3]",    "\"\"",
		"true",	  "null",     "{\"a\":{\"b\":[\"\\u00e4\",false]}}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
		"[[[]]]", "\"\xff\"",
	};
	static const char *const bad[] = {
		"",	      " ",	     "{",
		"}",	      "[1,]",	     "[1 2]",
		"{\"a\"}",    "{\"a\":}",    "{a:1}",
		"{\"a\":1,}", "01",	     "1.",
		".5",	      "1e",	     "+1",
		"-",	      "tru",	     "nulll",
		"'a'",	      "\"a",	     "\"\t\"",
		"\"\\x\"",    "\"\\u12g4\"", "\"\\u12",
		"{} x",	      "// a\n1",     "\xef\xbb\xbf{}",
	};
	struct json_value v;
	for (size_t i = 0; i < AL_ARRAY_LEN(good); i++)
		if (!json_value_parse(good[i], strlen(good[i]), &v))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < AL_ARRAY_LEN(bad); i++)
		if (json_value_parse(bad[i], strlen(bad[i]), &v))
			fail_msg("taken: %s", bad[i]);
	assert_false(json_value_parse("\0", 1, &v));
	char deep[512] = {0};
	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	assert_true(json_value_parse(deep, 400, &v));
	memset(deep, '[', 201);
	memset(deep + 201, ']', 201);
	assert_false(json_value_parse(deep, 402, &v));
}

static void assert_json_string(struct json_value v, const char *expected)
{
	_cleanup_free_ char *text = json_value_string(v);
	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
}

static void values_of_json_are_found(void **state)
{
	static const char text[] =
		"{ \"a\" : \"x\\u0041\\ud83d\\ude00\\n\\\"\", \"n\":-12.9e3, \"big\":9223372036854775808,"
		"\"\\u0062\":[1,[2],{\"c\":3}] , \"nul\":\"a\\u0000b\\ud800\", \"e\":{}, \"a\":2}";
	struct json_value top;
	assert_true(json_value_parse(text, strlen(text), &top));
	assert_json_string(json_value_member(top, "a"), "xA\xf0\x9f\x98\x80\n\"");
	assert_json_string(json_value_member(top, "nul"), "a\xef\xbf\xbd"
							  "b\xef\xbf\xbd");
	assert_json_string(json_value_member(top, "n"), NULL);
	assert_json_string(json_value_member(top, "none"), NULL);
	assert_int_equal(json_value_int(json_value_member(top, "n"), 7), -12);
	assert_int_equal(json_value_int(json_value_member(top, "big"), 7), 7);
	assert_int_equal(json_value_int(json_value_member(top, "a"), 7), 7);
	assert_int_equal(json_value_kind(json_value_member(top, "none")), 0);
	int64_t sum = 0;
	size_t n = 0;
	for (struct json_item i = {0}; json_value_next(json_value_member(top, "b"), &i); n++)
		sum += json_value_int(i.value, 10);
	assert_int_equal(n, 3);
	assert_int_equal(sum, 21);
	n = 0;
	for (struct json_item i = {0}; json_value_next(top, &i);)
		n++;
	assert_int_equal(n, 7);
	struct json_item i = {0};
	assert_false(json_value_next(json_value_member(top, "e"), &i));
	assert_false(json_value_next(JSON_NO_VALUE, &i));
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t ms;
	} rows[] = {
		{"90s", 0, 90000},
		{"5m", 0, 300000},
		{"1h", 0, 3600000},
		{"none", 0, TEXT_NONE},
		{"30", 0, 30000},
		{"500ms", 0, 500},
		{"1.5s", 0, 1500},
		{"0", -ERANGE, 0},
		{"0.0001s", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"1.s", -EINVAL, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"9223372036854775807", -ERANGE, 0},
		{" 1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1000d", -ERANGE, 0},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		int64_t ms = 0;
		assert_int_equal(text_parse_duration_ms(rows[i].text, &ms), rows[i].rc);
		assert_int_equal(ms, rows[i].ms);
	}
}

static void sizes_are_read(void **state)
{
	int64_t n = 0;
	assert_int_equal(text_parse_size("512M", &n), 0);
	assert_int_equal(n, INT64_C(512) << 20);
	assert_int_equal(text_parse_size("2GiB", &n), 0);
	assert_int_equal(n, INT64_C(2) << 30);
	assert_int_equal(text_parse_size("0", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(text_parse_size("1.5K", &n), 0);
	assert_int_equal(n, 1536);
	assert_int_equal(text_parse_size("8388608T", &n), -ERANGE);
	assert_int_equal(text_parse_size("12Q", &n), -EINVAL);
	assert_int_equal(text_parse_size("M", &n), -EINVAL);
}

static void paths_are_normalised(void **state)
{
	static const char *const rows[][3] = {
		{"/a/b", "c", "/a/b/c"},	  {"/a/b", "../c", "/a/c"}, {"/", "..", "/"},
		{NULL, "//x///y/./z/", "/x/y/z"}, {"/a", "/q", "/q"},	    {"/a", "", "/a"},
		{"/a", "../../..", "/"},	  {"/a", "...", "/a/..."},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *p = path_normalize(rows[i][0], rows[i][1]);
		assert_string_equal(p, rows[i][2]);
		assert_true(path_is_normal(p));
	}
	assert_false(path_is_normal("a"));
	assert_false(path_is_normal("/a/"));
	assert_false(path_is_normal("/a//b"));
	assert_false(path_is_normal("/a/../b"));
	assert_true(path_is_beneath("/a/b", "/a"));
	assert_true(path_is_beneath("/a", "/a"));
	assert_true(path_is_beneath("/a", "/"));
	assert_false(path_is_beneath("/ab", "/a"));
	assert_string_equal(path_rest("/a/b/c", "/a"), "b/c");
	assert_string_equal(path_rest("/a", "/"), "a");
}

static void parents_sort_before_children(void **state)
{
	assert_true(path_compare("/a", "/a/b") < 0);
	assert_true(path_compare("/a/b", "/a!") <
		    0); /* '!' is below '/' in bytes, yet the child goes with its parent */
	assert_true(path_compare("/a/b", "/ab") < 0);
	assert_true(path_compare("/", "/a") < 0);
	assert_int_equal(path_compare("/a", "/a"), 0);
}

static void hostile_text_is_inert(void **state)
{
	struct buf b = BUF_INIT;
	static const char text[] = "a\033[31m\n\\\xff\xe2\x80\xae z\x7f";
	text_add_escaped(&b, text, sizeof text - 1);
	assert_string_equal(buf_str(&b), "a\\x1b[31m\\n\\\\\\xff\\u{202e} z\\x7f");
	buf_done(&b);
}

static void utf8_is_checked_strictly(void **state)
{
	assert_true(text_is_utf8("h\xc3\xa9\xf0\x9f\x98\x80", 7));
	assert_false(text_is_utf8("\xc0\x80", 2));	   /* overlong */
	assert_false(text_is_utf8("\xed\xa0\x80", 3));	   /* surrogate */
	assert_false(text_is_utf8("\xf4\x90\x80\x80", 4)); /* beyond U+10FFFF */
	assert_false(text_is_utf8("\xe2\x82", 2));	   /* cut short */
	struct buf b = BUF_INIT;
	text_add_utf8(&b, "a\xe2\x82z", 4);
	assert_string_equal(buf_str(&b), "a\xef\xbf\xbd\xef\xbf\xbdz");
	buf_done(&b);
}

static void json_is_written(void **state)
{
	struct buf b = BUF_INIT;
	struct json j = json_begin(&b, false);
	json_open_object(&j, NULL);
	json_string(&j, "a\"b", "x\n\x01\\");
	json_open_array(&j, "l");
	json_int(&j, NULL, -3);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_open_object(&j, NULL);
	json_close(&j);
	json_close(&j);
	json_ms(&j, "t", 12345);
	json_path(&j, "path", "\xff");
	json_close(&j);
	assert_string_equal(buf_str(&b), "{\"a\\\"b\":\"x\\n\\u0001\\\\\",\"l\":[-3,true,null,{}],\"t\":12.345,"
					 "\"path\":\"\xef\xbf\xbd\",\"path_base64\":\"/w==\"}");
	buf_done(&b);
}

static void slips_find_their_word(void **state)
{
	static const char *const words[] = {"strict", "moderate", "permissive", NULL};
	assert_string_equal(text_nearest("moderat", words), "moderate");
	assert_string_equal(text_nearest("strikt", words), "strict");
	assert_string_equal(text_nearest("tsrict", words), "strict");
	assert_string_equal(text_nearest("perm", words), "permissive");
	assert_null(text_nearest("xyz", words));
}

static void wide_and_narrow_characters_take_their_columns(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
	} all[] = {{"", 0},   {"abc", 3},	   {"日本", 4},	    {"é", 1}, {"e\u0301", 1}, {"🎉", 2},
		   {"가", 2}, {"\u1100\u1161", 2}, {"\xff\xfe", 2}, {"…", 1}, {"\u200d", 0},  {"𠀀x", 3}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_int_equal(columns_of(all[i].text, strlen(all[i].text)), all[i].columns);
	assert_int_equal(columns_fit("日本", 6, 3), 3);
	assert_int_equal(columns_fit("日本", 6, 1), 0);
	assert_int_equal(columns_fit("日本", 6, 9), 6);
	assert_int_equal(columns_fit("ae\u0301b", 5, 2), 4); /* the accent stays with its letter */
}

static void notes_are_values_with_words(void **state)
{
	static const struct {
		struct airlock_note note;
		const char *name, *words;
	} all[] = {
		{{AIRLOCK_NOTE_LINK_SPLIT, "a\033b"},
		 "link-split",
		 "hard link split: the other names of a\\x1bb keep the old content"},
		{{AIRLOCK_NOTE_KILLED, "TERM", .number = 15},
		 "killed",
		 "the command was killed by signal 15 (SIGTERM)"},
		{{AIRLOCK_NOTE_KILLED, .number = 99}, "killed", "the command was killed by signal 99 (unknown)"},
		{{AIRLOCK_NOTE_LEFT_OUT, "d"}, "left-out", "d is a mount point: it is left out"},
		{{AIRLOCK_NOTE_LEFT_OUT, "d", .cause = "why"}, "left-out", "d could not be read (why): it is left out"},
		{{AIRLOCK_NOTE_LINK_NOT_MADE, "a", "b", .number = 2},
		 "link-not-made",
		 "hard link split: a was made as another name of b, and is a file of its own; so are 2 more"},
		{{AIRLOCK_NOTE_LINK_NOT_MADE, "a", "b"},
		 "link-not-made",
		 "hard link split: a was made as another name of b, and is a file of its own"},
		{{AIRLOCK_NOTE_UNTRUSTED_ABOVE, "/a/.airlock.toml", "x, y", "/a/b/.airlock.toml"},
		 "untrusted-above",
		 "/a/.airlock.toml, above /a/b/.airlock.toml, is not trusted: ignored settings that would loosen the sandbox: "
		 "x, y (read that file, then run `airlock trust /a` to accept it)"},
		{{AIRLOCK_NOTE_FULL, "/tmp", "tmp_size", "strict", 1024},
		 "full",
		 "/tmp, which is in memory, was full when the command failed (1 KiB); "
		 "tmp_size of [profiles.strict] sets its size: see airlock.toml(5)"},
	};
	_cleanup_notes_ struct notes list = NOTES_INIT, copy = NOTES_INIT;
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		notes_add(&list, &all[i].note);
	notes_add_all(&copy, &list);
	assert_int_equal(copy.n, AL_ARRAY_LEN(all));
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++) {
		char *line = airlock_note_text(notes_at(&copy, i));
		assert_string_equal(line, all[i].words);
		assert_string_equal(airlock_note_name(copy.v[i].code), all[i].name);
		free(line);
	}
	assert_true(notes_has(&copy, AIRLOCK_NOTE_LEFT_OUT, "d") && !notes_has(&copy, AIRLOCK_NOTE_LEFT_OUT, "e"));
	assert_null(notes_at(&copy, copy.n));
}

/* No code without words, and no two with one name. */
static void every_note_has_a_name(void **state)
{
	unsigned n = AIRLOCK_NOTE_NONE + 1;
	assert_null(airlock_note_name(AIRLOCK_NOTE_NONE));
	for (; airlock_note_name((enum airlock_note_code)n); n++) {
		char *line = airlock_note_text(&(struct airlock_note){(enum airlock_note_code)n, "s", "o", "c", 3});
		assert_true(line && line[0] && !strpbrk(line, "{}%"));
		free(line);
		for (unsigned k = 1; k < n; k++)
			assert_string_not_equal(airlock_note_name((enum airlock_note_code)k),
						airlock_note_name((enum airlock_note_code)n));
	}
	assert_true(n > AIRLOCK_NOTE_HISTORY_BEHIND);
	for (; n < 1000; n++) /* a gap would end the loop early */
		assert_null(airlock_note_name((enum airlock_note_code)n));
}

static void shell_words_are_quoted(void **state)
{
	struct buf b = BUF_INIT;
	text_add_shell_word(&b, "a b'c");
	text_add_shell_word(&b, "");
	text_add_shell_word(&b, "/x-1");
	assert_string_equal(buf_str(&b), "'a b'\\''c'''/x-1");
	buf_done(&b);
}

static void the_first_error_wins(void **state)
{
	struct airlock_error err = {0};
	assert_int_equal(base_error(&err, AIRLOCK_ERR_DENIED, "ask", "x", "no %d", 1), AIRLOCK_ERR_DENIED);
	assert_int_equal(base_errno(&err, AIRLOCK_ERR_IO, ENOENT, "open", "/y"), AIRLOCK_ERR_IO);
	assert_int_equal(err.code, AIRLOCK_ERR_DENIED);
	assert_string_equal(err.message, "no 1");
	assert_int_equal(err.errnum, 0);
	base_hint(&err, "first");
	base_hint(&err, "second");
	assert_string_equal(err.hint, "first");
}

static void every_code_has_its_row(void **state)
{
	static const struct {
		int code;
		const char *slug;
		int status;
	} rows[] = {
		{AIRLOCK_ERR_USAGE, "usage", 2},
		{AIRLOCK_ERR_INVALID, "invalid", 125},
		{AIRLOCK_ERR_NOT_FOUND, "not_found", 125},
		{AIRLOCK_ERR_UNAVAILABLE, "unavailable", 125},
		{AIRLOCK_ERR_INIT_FAILED, "init_failed", 125},
		{AIRLOCK_ERR_BLOCKED, "blocked", 125},
		{AIRLOCK_ERR_DENIED, "denied", 125},
		{AIRLOCK_ERR_TIMEOUT, "timeout", 124},
		{AIRLOCK_ERR_CONFLICT, "conflict", 3},
		{AIRLOCK_ERR_BUSY, "busy", 125},
		{AIRLOCK_ERR_LIMIT, "limit", 125},
		{AIRLOCK_ERR_CORRUPT, "corrupt", 125},
		{AIRLOCK_ERR_IO, "io", 125},
		{AIRLOCK_ERR_INTERNAL, "internal", 125},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		assert_string_equal(airlock_code_slug(rows[i].code), rows[i].slug);
		assert_int_equal(airlock_code_exit_status(rows[i].code), rows[i].status);
		assert_true(airlock_code_jsonrpc(rows[i].code) <= -32000);
		assert_true(strlen(airlock_code_meaning(rows[i].code)) > 10);
	}
}

static void long_subjects_keep_both_ends(void **state)
{
	struct airlock_error err = {0};
	char path[3000];
	memset(path, 'x', sizeof path);
	memcpy(path, "/head", 5);
	memcpy(path + sizeof path - 6, "/tail", 6);
	base_errno(&err, AIRLOCK_ERR_IO, ENAMETOOLONG, "open", path);
	assert_memory_equal(err.subject, "/head", 5);
	assert_string_equal(err.subject + strlen(err.subject) - 5, "/tail");
	assert_non_null(strstr(err.subject, "..."));
}

static void an_array_grows_or_stays_as_it_was(void **state)
{
	(void)state;
	int *v = NULL;
	size_t n = 0, cap = 0;
	for (int i = 0; i < 100; i++) {
		assert_true(ARRAY_ROOM(v, n, cap, 3));
		v[n++] = i;
	}
	assert_int_equal(cap, 192);
	for (int i = 0; i < 100; i++)
		assert_int_equal(v[i], i);

	const int *before = v;
	size_t enormous = SIZE_MAX / 2 + 1;
	assert_false(ARRAY_ROOM(v, enormous, enormous, 3)); /* doubled it would be 0 */
	assert_ptr_equal(v, before);
	assert_int_equal(enormous, SIZE_MAX / 2 + 1);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_written_as_printf_does),
		cmocka_unit_test(printing_makes_room),
		cmocka_unit_test(globs_mean_what_fnmatch_says),
		cmocka_unit_test(two_stars_are_any_directories),
		cmocka_unit_test(a_hostile_glob_ends),
		cmocka_unit_test(json_is_read_strictly),
		cmocka_unit_test(values_of_json_are_found),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(paths_are_normalised),
		cmocka_unit_test(parents_sort_before_children),
		cmocka_unit_test(hostile_text_is_inert),
		cmocka_unit_test(utf8_is_checked_strictly),
		cmocka_unit_test(wide_and_narrow_characters_take_their_columns),
		cmocka_unit_test(json_is_written),
		cmocka_unit_test(slips_find_their_word),
		cmocka_unit_test(notes_are_values_with_words),
		cmocka_unit_test(every_note_has_a_name),
		cmocka_unit_test(shell_words_are_quoted),
		cmocka_unit_test(the_first_error_wins),
		cmocka_unit_test(every_code_has_its_row),
		cmocka_unit_test(long_subjects_keep_both_ends),
		cmocka_unit_test(an_array_grows_or_stays_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
