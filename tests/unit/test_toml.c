/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The TOML reader: values, positions, errors, limits. That it takes and refuses the right documents is compared with
 * another reader in toml_differential.py. */
#include "tests.h"

#include "base/text.h"
#include "config/toml.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* Allocations are counted and can be made to fail; meson.build has the linker send them here. */
static long fail_at = -1; /* how many succeed before one fails; < 0: all do */
static bool allocation_fails(void)
{
	return fail_at >= 0 && fail_at-- == 0;
}

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return allocation_fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return allocation_fails() ? NULL : __real_reallocarray(p, n, size);
}

static struct toml_doc *parse_n(const char *text, size_t len)
{
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	if (toml_parse(text, len, "t", NULL, &doc, &err) < 0)
		fail_msg("%s", err.message);
	return doc;
}

static struct toml_doc *parse(const char *text)
{
	return parse_n(text, strlen(text));
}

/* The value of a path of bare keys: "a.b". */
static const struct toml_value *at(const struct toml_doc *doc, const char *path)
{
	const struct toml_value *v = toml_root(doc);
	char copy[128], *rest = copy;
	(void)snprintf(copy, sizeof copy, "%s", path);
	for (char *part; (part = strsep(&rest, "."));)
		v = toml_get(v, part);
	return v;
}

static struct airlock_error refusal(const char *text, size_t len, const struct toml_limits *limits, int code)
{
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	assert_int_equal(toml_parse(text, len, "t", limits, &doc, &err), code);
	assert_null(doc);
	assert_int_equal(err.code, code);
	assert_string_equal(err.op, "parse");
	return err;
}

struct message {
	const char *text, *message;
};

/* The message is "t:LINE:COLUMN: …"; the subject must be the same place. */
static void assert_messages(const struct message *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct airlock_error err = refusal(rows[i].text, strlen(rows[i].text), NULL, AIRLOCK_ERR_INVALID);
		assert_string_equal(err.message, rows[i].message);
		assert_memory_equal(err.message, err.subject, strlen(err.subject));
		assert_memory_equal(err.message + strlen(err.subject), ": ", 2);
	}
}

static void integers_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{"v=0", 0},
		{"v=-0", 0},
		{"v=+17", 17},
		{"v=1_000_000", 1000000},
		{"v=9223372036854775807", INT64_MAX},
		{"v=-9223372036854775808", INT64_MIN},
		{"v=0xDead_Beef", 0xdeadbeef},
		{"v=0x7fff_ffff_ffff_ffff", INT64_MAX},
		{"v=0o755", 0755},
		{"v=0b1101_0110", 0xd6},
		{"v=0x00", 0},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct toml_doc *doc = parse(rows[i].text);
		assert_int_equal(at(doc, "v")->type, TOML_INTEGER);
		assert_true(at(doc, "v")->u.integer == rows[i].value);
		toml_free(doc);
	}
}

static void floats_are_read(void **state)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
		{"v=0.0", 0},
		{"v=+1.5", 1.5},
		{"v=-0.01", -0.01},
		{"v=5e+22", 5e22},
		{"v=1e06", 1e6},
		{"v=-2E-2", -0.02},
		{"v=6.626e-34", 6.626e-34},
		{"v=1_0.2_5", 10.25},
		{"v=inf", INFINITY},
		{"v=+inf", INFINITY},
		{"v=-inf", -INFINITY},
		{"v=1e999", INFINITY},
		{"v=4.9e-324", 4.9e-324},
		{"v=1e-999", 0},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct toml_doc *doc = parse(rows[i].text);
		assert_int_equal(at(doc, "v")->type, TOML_FLOAT);
		assert_true(at(doc, "v")->u.real == rows[i].value);
		toml_free(doc);
	}
}

static void signs_of_zero_and_nan_are_kept(void **state)
{
	struct toml_doc *doc = parse("z=-0.0\nn=nan\nm=-nan\n");
	assert_true(signbit(at(doc, "z")->u.real));
	assert_true(isnan(at(doc, "n")->u.real) && !signbit(at(doc, "n")->u.real));
	assert_true(isnan(at(doc, "m")->u.real) && signbit(at(doc, "m")->u.real));
	toml_free(doc);
}

static void the_locale_does_not_matter(void **state)
{
	static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
	size_t i = 0;
	while (i < AL_ARRAY_LEN(comma) && !setlocale(LC_NUMERIC, comma[i]))
		i++;
	struct toml_doc *doc = parse("v=1.5"); /* where no such locale is installed, this is the ordinary case */
	assert_true(at(doc, "v")->u.real == 1.5);
	toml_free(doc);
	(void)setlocale(LC_NUMERIC, "C");
}

static void booleans_are_read(void **state)
{
	struct toml_doc *doc = parse("t=true\nf=false\n");
	assert_int_equal(at(doc, "t")->type, TOML_BOOLEAN);
	assert_true(at(doc, "t")->u.boolean);
	assert_false(at(doc, "f")->u.boolean);
	toml_free(doc);
}

static void dates_keep_their_text(void **state)
{
	static const char *const rows[] = {
		"1979-05-27",
		"07:32:00",
		"00:32:00.999999999999",
		"1979-05-27T07:32:00",
		"1979-05-27 07:32:00",
		"1979-05-27t07:32:00z",
		"2000-02-29",
		"1979-05-27T00:32:00-07:00",
		"1979-05-27 00:32:00.5+23:59",
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char text[80];
		(void)snprintf(text, sizeof text, "v = %s # c", rows[i]);
		struct toml_doc *doc = parse(text);
		assert_int_equal(at(doc, "v")->type, TOML_DATETIME);
		assert_string_equal(at(doc, "v")->u.string.s, rows[i]);
		assert_int_equal(at(doc, "v")->u.string.len, strlen(rows[i]));
		toml_free(doc);
	}
}

static void strings_are_read(void **state)
{
	static const struct {
		const char *text, *value;
	} rows[] = {
		{"v=\"\"", ""},
		{"v=''", ""},
		{"v=\"a\\tb\\n\\\"\\\\\\b\\f\\r\"", "a\tb\n\"\\\b\f\r"},
		{"v=\"\\u00e9\\U0001F600\\uD7FF\"", "\xc3\xa9\xf0\x9f\x98\x80\xed\x9f\xbf"},
		{"v='a\\tb'", "a\\tb"},
		{"v=\"\"\"\nx\r\ny\"\"\"", "x\ny"},
		{"v='''\r\nx\ny'''", "x\ny"},
		{"v='''\n\nx'''", "\nx"},
		{"v=\"\"\"a \\\n  \r\n\t b\"\"\"", "a b"},
		{"v=\"\"\"a\\  \n\"\"\"", "a"},
		{"v=\"\"\"\"\"two\"\"\"\"\"", "\"\"two\"\""},
		{"v='''''two'''''", "''two''"},
		{"v=\"\"\"a\"b\"\"c\"\"\"", "a\"b\"\"c"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct toml_doc *doc = parse(rows[i].text);
		assert_int_equal(at(doc, "v")->type, TOML_STRING);
		assert_string_equal(at(doc, "v")->u.string.s, rows[i].value);
		assert_int_equal(at(doc, "v")->u.string.len, strlen(rows[i].value));
		toml_free(doc);
	}
}

static void nul_may_be_in_strings_and_keys(void **state)
{
	struct toml_doc *doc = parse("\"k\\u0000x\"=\"a\\u0000b\"\nk=1\n");
	const struct toml_entry *e = &toml_root(doc)->u.table.entries[0];
	assert_int_equal(e->key_len, 3);
	assert_memory_equal(e->key, "k\0x", 4);
	assert_int_equal(e->value->u.string.len, 3);
	assert_memory_equal(e->value->u.string.s, "a\0b", 4);
	assert_int_equal(toml_get(toml_root(doc), "k")->type, TOML_INTEGER);
	toml_free(doc);
}

static void arrays_are_read(void **state)
{
	struct toml_doc *doc = parse("v=[1, 'x', # c\n [2,],\n {a=3} ,\n]\ne=[]\n");
	const struct toml_value *v = at(doc, "v");
	assert_int_equal(v->type, TOML_ARRAY);
	assert_int_equal(v->u.array.n, 4);
	assert_int_equal(v->u.array.items[0]->u.integer, 1);
	assert_string_equal(v->u.array.items[1]->u.string.s, "x");
	assert_int_equal(v->u.array.items[2]->u.array.items[0]->u.integer, 2);
	assert_int_equal(toml_get(v->u.array.items[3], "a")->u.integer, 3);
	assert_int_equal(at(doc, "e")->u.array.n, 0);
	toml_free(doc);
}

static void tables_are_read_in_order(void **state)
{
	struct toml_doc *doc = parse("z=1\na.y=2\n[t.u]\nb=3\n[t]\na=4\n[m]\n");
	static const char *const keys[] = {"z", "a", "t", "m"};
	const struct toml_value *root = toml_root(doc);
	assert_int_equal(root->type, TOML_TABLE);
	assert_int_equal(root->u.table.n, AL_ARRAY_LEN(keys));
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++)
		assert_string_equal(root->u.table.entries[i].key, keys[i]);
	assert_int_equal(at(doc, "a.y")->u.integer, 2);
	assert_int_equal(at(doc, "t.u.b")->u.integer, 3);
	assert_int_equal(at(doc, "t.a")->u.integer, 4);
	assert_int_equal(at(doc, "m")->u.table.n, 0);
	toml_free(doc);
}

static void arrays_of_tables_are_read(void **state)
{
	struct toml_doc *doc = parse("[[a]]\nn=1\n[a.s]\nx=2\n[[a]]\nn=3\n[[a.b]]\n[[a.b]]\n");
	const struct toml_value *a = at(doc, "a");
	assert_int_equal(a->u.array.n, 2);
	assert_int_equal(toml_get(toml_get(a->u.array.items[0], "s"), "x")->u.integer, 2);
	assert_int_equal(toml_get(a->u.array.items[1], "n")->u.integer, 3);
	assert_null(toml_get(a->u.array.items[1], "s"));
	assert_int_equal(toml_get(a->u.array.items[1], "b")->u.array.n, 2);
	toml_free(doc);
}

static void missing_keys_are_null(void **state)
{
	struct toml_doc *doc = parse("a=1\n[t]\n");
	assert_null(at(doc, "x"));
	assert_null(at(doc, "t.x"));
	assert_null(toml_get(at(doc, "a"), "x")); /* not a table */
	assert_null(toml_get(NULL, "x"));
	toml_free(doc);
	toml_free(NULL);
}

static void empty_documents_are_tables(void **state)
{
	struct toml_doc *doc = parse_n(NULL, 0);
	assert_int_equal(toml_root(doc)->type, TOML_TABLE);
	assert_int_equal(toml_root(doc)->u.table.n, 0);
	toml_free(doc);
}

static void assert_place(const struct toml_value *v, int line, int column)
{
	assert_int_equal(v->line, line);
	assert_int_equal(v->column, column);
}

static void values_know_their_place(void **state)
{
	struct toml_doc *doc = parse("# c\r\n"
				     "a = 1\r\n"
				     "\t'\xc3\xa9' . b = [ 'x',\n"
				     "  {q = 2} ]\n"
				     "m = '''\n"
				     "\n"
				     "''' # c\n"
				     "z = 07:32:00\n"
				     " [ t.u ]\n"
				     "[t]\n"
				     "[[s]]\n"
				     "[[s]]\n");
	assert_place(toml_root(doc), 1, 1);
	assert_place(at(doc, "a"), 2, 5);
	const struct toml_value *e = at(doc, "\xc3\xa9");
	assert_place(e, 3, 2); /* the key that made it; columns count bytes */
	const struct toml_value *list = toml_get(e, "b");
	assert_place(list, 3, 13);
	assert_place(list->u.array.items[0], 3, 15);
	assert_place(list->u.array.items[1], 4, 3);
	assert_place(toml_get(list->u.array.items[1], "q"), 4, 8);
	assert_place(at(doc, "m"), 5, 5);
	assert_place(at(doc, "z"), 8, 5);
	assert_place(at(doc, "t.u"), 9, 2);
	assert_place(at(doc, "t"), 10, 1); /* its own header, though it was named before */
	assert_place(at(doc, "s"), 11, 1);
	assert_place(at(doc, "s")->u.array.items[1], 12, 1);
	toml_free(doc);
}

static void keys_know_their_place(void **state)
{
	struct toml_doc *doc = parse("a.bc = 1\n[ x . y ]\n");
	const struct toml_entry *a = &toml_root(doc)->u.table.entries[0], *b = &a->value->u.table.entries[0];
	const struct toml_entry *x = &toml_root(doc)->u.table.entries[1], *y = &x->value->u.table.entries[0];
	assert_true(a->line == 1 && a->column == 1);
	assert_true(b->line == 1 && b->column == 3);
	assert_true(x->line == 2 && x->column == 3);
	assert_true(y->line == 2 && y->column == 7);
	toml_free(doc);
}

static void errors_say_what_was_expected(void **state)
{
	static const struct message rows[] = {
		{"a=1\n\nb = \n", "t:3:5: expected a value after '=', found end of line"},
		{"a =", "t:1:4: expected a value after '=', found end of file"},
		{"a = # c", "t:1:5: expected a value after '=', found a comment"},
		{"a = yes", "t:1:5: expected a value after '=', found 'yes'"},
		{"a = \x01", "t:1:5: expected a value after '=', found control character U+0001"},
		{"a = \xe2\x80\x9cx", "t:1:5: expected a value after '=', found '\xe2\x80\x9c'"},
		{"a = \xe2\x80\xae", "t:1:5: expected a value after '=', found '\\u{202e}'"},
		{"a 1", "t:1:3: expected '=' after the key, found '1'"},
		{"a\n", "t:1:2: expected '=' after the key, found end of line"},
		{"= 1", "t:1:1: expected a key or a [table], found '='"},
		{"a. = 1", "t:1:4: expected a key after '.', found '='"},
		{"a = 1 b = 2", "t:1:7: expected end of line after the value, found 'b'"},
		{"a = 1\r", "t:1:6: expected end of line after the value, found control character U+000D"},
		{"[a] x", "t:1:5: expected end of line after the table header, found 'x'"},
		{"[]", "t:1:2: expected a key after '[', found ']'"},
		{"[[ ]]", "t:1:4: expected a key after '[[', found ']'"},
		{"[a", "t:1:3: expected ']' after the key, found end of file"},
		{"[[a]\n", "t:1:4: expected ']]' after the key, found ']'"},
		{"a = [1 2]", "t:1:8: expected ',' or ']' in the array that begins at 1:5, found '2'"},
		{"a = [1,\n", "t:2:1: expected a value or ']' in the array, found end of file"},
		{"a = {", "t:1:6: expected a key or '}' after '{', found end of file"},
		{"a = {b=1,}", "t:1:10: expected a key after ',', found '}'"},
		{"a = {b=1\n}", "t:1:9: expected ',' or '}' in the inline table that begins at 1:5, found end of line"},
		{"a = 'x\n'", "t:1:7: expected ' to end the string that begins at 1:5, found end of line"},
		{"a = '''x\n", "t:2:1: expected ''' to end the string that begins at 1:5, found end of file"},
		{"a = \"x", "t:1:7: expected \" to end the string that begins at 1:5, found end of file"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
}

static void errors_in_strings_name_the_character(void **state)
{
	static const struct message rows[] = {
		{"a = \"\\q\"", "t:1:7: expected one of b t n f r \" \\ u U after '\\', found 'q'"},
		{"a = \"\\u12\"", "t:1:10: expected 4 hexadecimal digits after '\\u', found '\"'"},
		{"a = \"\\U0011000\"", "t:1:15: expected 8 hexadecimal digits after '\\U', found '\"'"},
		{"a = \"x\\ud800\"", "t:1:7: escape U+D800 is not a Unicode character"},
		{"a = \"\"\"\\ x\"\"\"", "t:1:10: expected end of line after '\\', found 'x'"},
		{"a = '\x7f'", "t:1:6: control character U+007F is not allowed in a string"},
		{"a = 1 # \x02", "t:1:9: control character U+0002 is not allowed in a comment"},
		{"'''a''' = 1", "t:1:1: a multi-line string cannot be a key"},
		{"a='\n", "t:1:4: expected ' to end the string that begins at 1:3, found end of line"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
}

static void errors_in_numbers_name_the_digit(void **state)
{
	static const struct message rows[] = {
		{"a = 012", "t:1:5: '012' is not a valid number: it has a leading zero"},
		{"a = -0_1", "t:1:5: '-0_1' is not a valid number: it has a leading zero"},
		{"a = 1__0", "t:1:7: '1__0' is not a valid number: expected a digit, found '_'"},
		{"a = 1_", "t:1:7: '1_' is not a valid number: expected a digit, found its end"},
		{"a = .5", "t:1:5: '.5' is not a valid number: expected a digit, found '.'"},
		{"a = 5.", "t:1:7: '5.' is not a valid number: expected a digit, found its end"},
		{"a = 12ab", "t:1:7: '12ab' is not a valid number: expected its end, found 'a'"},
		{"a = 0xg", "t:1:7: '0xg' is not a valid number: expected a digit, found 'g'"},
		{"a = 9223372036854775808", "t:1:5: integer '9223372036854775808' does not fit in 64 bits"},
		{"a = -9223372036854775809", "t:1:5: integer '-9223372036854775809' does not fit in 64 bits"},
		{"a = 0x8000000000000000", "t:1:5: integer '0x8000000000000000' does not fit in 64 bits"},
		{"a = 11111111112222222222333333333344444444445",
		 "t:1:5: integer '1111111111222222222233333333334444444444...' does not fit in 64 bits"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
}

static void errors_in_dates_name_the_field(void **state)
{
	static const struct message rows[] = {
		{"a = 2023-02-29", "t:1:13: '2023-02-29' is not a valid date or time: the day must be 01 to 28"},
		{"a = 1900-02-29", "t:1:13: '1900-02-29' is not a valid date or time: the day must be 01 to 28"},
		{"a = 2023-13-01", "t:1:10: '2023-13-01' is not a valid date or time: the month must be 01 to 12"},
		{"a = 0000-01-01", "t:1:5: '0000-01-01' is not a valid date or time: the year must be 0001 to 9999"},
		{"a = 24:00:00", "t:1:5: '24:00:00' is not a valid date or time: the hour must be 00 to 23"},
		{"a = 23:59:60", "t:1:11: '23:59:60' is not a valid date or time: the second must be 00 to 59"},
		{"a = 07:32", "t:1:10: '07:32' is not a valid date or time: expected ':', found its end"},
		{"a = 2023-1-01",
		 "t:1:11: '2023-1-01' is not a valid date or time: expected two digits for the month, found '-'"},
		{"a = 07:32:00.",
		 "t:1:14: '07:32:00.' is not a valid date or time: expected a digit after '.', found its end"},
		{"a = 07:32:00Z", "t:1:13: '07:32:00Z' is not a valid date or time: expected its end, found 'Z'"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
}

static void redefinitions_say_where_the_first_was(void **state)
{
	static const struct message rows[] = {
		{"a=1\n\n a=2", "t:3:2: 'a' is already an integer, first at 1:1; a key can be defined only once"},
		{"[t]\na='x'\n'a'=2", "t:3:1: 'a' is already a string, first at 2:1; a key can be defined only once"},
		{"a.b=1\na.b=2", "t:2:3: 'a.b' is already an integer, first at 1:3; a key can be defined only once"},
		{"a=1.5\na.b=2", "t:2:1: 'a' is already a float, first at 1:1; a dotted key cannot add to it"},
		{"a=[]\na.b=2", "t:2:1: 'a' is already an array value, first at 1:1; a dotted key cannot add to it"},
		{"a={}\na.b=2", "t:2:1: 'a' is already an inline table, first at 1:1; a dotted key cannot add to it"},
		{"[a.b]\n[a]\nb.c=1",
		 "t:3:1: 'b' is already a table with a header, first at 1:1; a dotted key cannot add to it"},
		{"[[a.b]]\n[a]\nb.c=1",
		 "t:3:1: 'b' is already an array of tables, first at 1:1; a dotted key cannot add to it"},
		{"[a]\n[b]\n[a]",
		 "t:3:2: 'a' is already a table with a header, first at 1:1; a header cannot define it again"},
		{"[a.b]\n[a]\n[a]",
		 "t:3:2: 'a' is already a table with a header, first at 2:1; a header cannot define it again"},
		{"[a]\nb.c=1\n[a.b]",
		 "t:3:4: 'a.b' is already a table made by dotted keys, first at 2:1; a header cannot define it again"},
		{"[[a]]\n[a]",
		 "t:2:2: 'a' is already an array of tables, first at 1:1; a header cannot define it again"},
		{"a=true\n[a]", "t:2:2: 'a' is already a boolean, first at 1:1; a header cannot define it again"},
		{"a=07:32:00\n[a.b]", "t:2:2: 'a' is already a datetime, first at 1:1; a header cannot add to it"},
		{"a={}\n[a.b]", "t:2:2: 'a' is already an inline table, first at 1:1; a header cannot add to it"},
		{"a=[{}]\n[a.b]", "t:2:2: 'a' is already an array value, first at 1:1; a header cannot add to it"},
		{"a=[]\n[[a]]", "t:2:3: 'a' is already an array value, first at 1:1; [[ ]] cannot append to it"},
		{"[a.b]\n[[a]]", "t:2:3: 'a' is already a table, first at 1:2; [[ ]] cannot append to it"},
		{"v={a.b=1, a.b=2}",
		 "t:1:13: 'a.b' is already an integer, first at 1:6; a key can be defined only once"},
		{"v={a={}, a.b=2}",
		 "t:1:10: 'a' is already an inline table, first at 1:4; a dotted key cannot add to it"},
		{"\"a\\u202e\"=1\n\"a\\u202e\"=1",
		 "t:2:1: 'a\\u{202e}' is already an integer, first at 1:1; a key can be defined only once"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
}

/* Each may be written; the table in toml_define.c says why. */
static void definitions_in_pieces_are_taken(void **state)
{
	static const char *const rows[] = {
		"[a.b]\n[a]\n",
		"[a]\n[a.b]\n",
		"[a.b.c]\n[a.b]\n[a]\n",
		"a.b=1\na.c=2\n",
		"a.b=1\n[a.c]\n",
		"a.b=1\n[[a.c]]\n[[a.c]]\n",
		"[a]\nb.c=1\n[a.b.d]\n",
		"[a.b.c]\n[a]\nb.d=1\n",
		"[[a.b]]\n[a]\nx=1\n",
		"[[a]]\n[a.b]\n[[a]]\n[a.b]\n",
		"[[a]]\nb={}\n[[a]]\n[a.b]\n",
		"[[a]]\nb.c=1\n[[a]]\nb.c=1\n",
		"v={a.b=1, a.c=2}\n",
		"a.b=1\n[a.c.d]\n[a.c]\n",
		"[[a]]\n[[a.b]]\n[a.b.c]\n[[a.b]]\n[a.b.c]\n",
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		toml_free(parse(rows[i]));
}

static void bad_bytes_are_placed(void **state)
{
	static const struct message rows[] = {
		{"a=1\nb='\xff'", "t:2:4: byte 0xFF is not valid UTF-8"},
		{"# \xc3", "t:1:3: byte 0xC3 is not valid UTF-8"},
		{"a='\xed\xa0\x80'", "t:1:4: byte 0xED is not valid UTF-8"},
		{"a='\xc0\x80'", "t:1:4: byte 0xC0 is not valid UTF-8"},
		{"a=1\r\n\xf4\x90\x80\x80", "t:2:1: byte 0xF4 is not valid UTF-8"},
		{"\xef\xbb\xbf"
		 "a=1",
		 "t:1:1: expected a key or a [table], found a byte order mark"},
	};
	assert_messages(rows, AL_ARRAY_LEN(rows));
	struct airlock_error err = refusal("a=1\0", 4, NULL, AIRLOCK_ERR_INVALID);
	assert_string_equal(err.message, "t:1:4: expected end of line after the value, found control character U+0000");
}

static void some_errors_have_a_hint(void **state)
{
	assert_string_equal(refusal("a = yes", 7, NULL, AIRLOCK_ERR_INVALID).hint,
			    "put text in quotes; write booleans as true or false");
	assert_string_equal(refusal("\xef\xbb\xbf", 3, NULL, AIRLOCK_ERR_INVALID).hint,
			    "save the file as UTF-8 without a byte order mark");
	assert_string_equal(refusal("a={\n}", 5, NULL, AIRLOCK_ERR_INVALID).hint, "");
	assert_string_equal(refusal("a={b=1\n}", 8, NULL, AIRLOCK_ERR_INVALID).hint,
			    "an inline table must be on one line; use a [table] instead");
}

static void long_names_keep_the_place(void **state)
{
	char name[4000];
	memset(name, 'd', sizeof name);
	memcpy(name + sizeof name - 12, "/config.toml", 12);
	name[sizeof name - 1] = '\0'; /* cuts the l */
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	assert_int_equal(toml_parse("a", 1, name, NULL, &doc, &err), AIRLOCK_ERR_INVALID);
	assert_memory_equal(err.subject, "...ddd", 6);
	assert_non_null(strstr(err.subject, "/config.tom:1:2"));
	assert_non_null(strstr(err.message, "/config.tom:1:2: expected '=' after the key, found end of file"));
}

static void add_faces(struct buf *b, int pad, int n)
{
	buf_printf(b, "%.*s", pad, "xxxx");
	for (int i = 0; i < n; i++)
		buf_adds(b, "\xf0\x9f\x98\x80");
}

/* Long keys and names are cut, but never inside a character. */
static void messages_stay_utf8(void **state)
{
	for (int pad = 0; pad < 4; pad++) {
		struct buf text = BUF_INIT, name = BUF_INIT, part = BUF_INIT;
		add_faces(&name, pad, 500);
		add_faces(&part, pad, 30);
		for (int line = 0; line < 2; line++)
			buf_printf(&text, "'%s'.'%s\xe2\x80\xae'.'%s'=1\n", part.data, part.data, part.data);
		struct airlock_error err = {0};
		struct toml_doc *doc = NULL;
		assert_int_equal(toml_parse(text.data, text.len, name.data, NULL, &doc, &err), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(err.message, "first at 1:"));
		assert_true(text_is_utf8(err.message, strlen(err.message)));
		assert_true(text_is_utf8(err.subject, strlen(err.subject)));
		buf_done(&part);
		buf_done(&name);
		buf_done(&text);
	}
}

static void errors_need_no_struct(void **state)
{
	struct toml_doc *doc = NULL;
	assert_int_equal(toml_parse("a={\n", 4, "t", NULL, &doc, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(toml_parse("a=yes", 5, "t", NULL, &doc, NULL), AIRLOCK_ERR_INVALID);
	assert_null(doc);
}

/* Taken at the limit, refused one beyond. */
static void assert_limit(struct toml_limits limits, const char *within, const char *beyond, const char *message)
{
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	assert_int_equal(toml_parse(within, strlen(within), "t", &limits, &doc, &err), 0);
	toml_free(doc);
	err = refusal(beyond, strlen(beyond), &limits, AIRLOCK_ERR_LIMIT);
	assert_string_equal(err.message, message);
}

static void sizes_are_limited(void **state)
{
	assert_limit((struct toml_limits){.max_bytes = 5}, "a=1#c", "a=1#cc",
		     "t:1:1: the file has 6 bytes, more than the limit of 5");
	char *large = malloc((1 << 20) + 2);
	memset(large, '\n', (1 << 20) + 2);
	toml_free(parse_n(large, 1 << 20));
	refusal(large, (1 << 20) + 1, NULL, AIRLOCK_ERR_LIMIT);
	free(large);
}

static void depth_is_limited(void **state)
{
	const struct toml_limits three = {.max_depth = 3};
	assert_limit(three, "a=[[1]]", "a=[[[1]]]", "t:1:6: nested deeper than 3 levels");
	assert_limit(three, "a={b={c=1}}", "a={b={c={d=1}}}", "t:1:12: nested deeper than 3 levels");
}

static void dotted_depth_is_limited(void **state)
{
	const struct toml_limits three = {.max_depth = 3};
	assert_limit(three, "a.b.c=1", "a.b.c.d=1", "t:1:7: key has more than 3 parts");
	assert_limit(three, "[a.b.c]", "[a.b.c.d]", "t:1:8: key has more than 3 parts");
	assert_limit(three, "[a.b]\nc=1", "[a.b]\nc.d=1", "t:2:5: nested deeper than 3 levels");
	assert_limit(three, "[[a]]\nb=1", "[[a]]\nb=[1]", "t:2:4: nested deeper than 3 levels");
	assert_limit(three, "[[a.b]]", "[[a.b]]\nc=1", "t:2:3: nested deeper than 3 levels");
}

static void values_are_limited(void **state)
{
	const struct toml_limits three = {.max_values = 3};
	assert_limit(three, "a=1\nb=2\nc=3", "a=1\nb=2\nc=3\nd=4", "t:4:3: more than 3 values");
	assert_limit(three, "a=[1,2]", "a=[1,2,3]", "t:1:8: more than 3 values");
	assert_limit(three, "[a.b.c]", "[a.b.c]\n[d]", "t:2:1: more than 3 values");
	assert_limit(three, "[[a]]\n[[a]]", "[[a]]\n[[a]]\n[[a]]", "t:3:1: more than 3 values");
}

static void deep_nesting_does_not_use_the_stack(void **state)
{
	static const char *const openings[] = {"[", "{a=", "[{a="};
	const struct toml_limits all = {.max_depth = SIZE_MAX, .max_bytes = SIZE_MAX, .max_values = SIZE_MAX};
	for (size_t i = 0; i < AL_ARRAY_LEN(openings); i++) {
		struct buf b = BUF_INIT;
		buf_adds(&b, "a=");
		for (int n = 0; n < 300000; n++)
			buf_adds(&b, openings[i]);
		refusal(buf_str(&b), b.len, &all, AIRLOCK_ERR_LIMIT);
		buf_done(&b);
	}
}

/* Keys that come sorted, reversed or shuffled, all found again; a quadratic reader would take minutes. */
static void assert_many_keys(const char *before, const char *line, const char *after, unsigned step)
{
	const struct toml_limits large = {.max_bytes = (size_t)1 << 26};
	const unsigned n = 99991; /* prime: any step visits all */
	struct buf b = BUF_INIT;
	buf_adds(&b, before);
	for (unsigned i = 0, k = 0; i < n; i++, k = (k + step) % n) {
		char key[32];
		(void)snprintf(key, sizeof key, "key%06u", k);
		buf_adds(&b, i > 0 ? after : "");
		buf_adds(&b, key);
		buf_adds(&b, line);
	}
	buf_adds(&b, *before ? "}" : "");
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	assert_int_equal(toml_parse(b.data, b.len, "t", &large, &doc, &err), 0);
	const struct toml_value *t = *before ? toml_get(toml_root(doc), "t") : toml_root(doc);
	assert_int_equal(t->u.table.n, n);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(toml_get(t, t->u.table.entries[i].key), t->u.table.entries[i].value);
	assert_null(toml_get(t, "key"));
	toml_free(doc);
	buf_done(&b);
}

static void many_keys_are_no_problem(void **state)
{
	clock_t start = clock();
	assert_many_keys("", "=1\n", "", 1);
	assert_many_keys("", "=1\n", "", 99990);
	assert_many_keys("", "=1\n", "", 31337);
	assert_many_keys("t={", "=1", ",", 7919);
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
}

static void exactly_the_default_number_of_values(void **state)
{
	struct buf b = BUF_INIT;
	for (int i = 0; i < 100000; i++)
		buf_printf(&b, "%d=1\n", i);
	toml_free(parse_n(b.data, b.len));
	buf_adds(&b, "x=1\n");
	refusal(b.data, b.len, NULL, AIRLOCK_ERR_LIMIT);
	buf_done(&b);
}

/* Every allocation fails once; each time that is what is reported, and nothing is lost (the sanitizer build sees to it).
 * With enough memory the outcome is rc. */
static void assert_each_allocation_can_fail(const char *text, int rc)
{
	int found = AIRLOCK_ERR_INTERNAL;
	for (long n = 0; found == AIRLOCK_ERR_INTERNAL; n++) {
		struct airlock_error err = {0};
		struct toml_doc *doc = NULL;
		fail_at = n;
		found = toml_parse(text, strlen(text), "t", NULL, &doc, &err);
		fail_at = -1;
		assert_int_equal(err.code, found);
		assert_true((found < 0) == (doc == NULL));
		if (found == AIRLOCK_ERR_INTERNAL)
			assert_string_equal(err.message, "out of memory");
		toml_free(doc);
	}
	assert_int_equal(found, rc);
}

static void out_of_memory_is_an_error(void **state)
{
	assert_each_allocation_can_fail("a=1\n'b' . c=[1,2,3,4,5,{d=\"\\u00e9\"}]\n[[t.u.v.w.x.y.z.q.r]]\ne=1.5\n"
					"[t]\nf=07:32:00\ng=0\nh=0\ni=0\nj=0\nk=0\n",
					0);
	assert_each_allocation_can_fail("[a.b]\n[a]\nb=1", AIRLOCK_ERR_INVALID);
	assert_each_allocation_can_fail("a = x", AIRLOCK_ERR_INVALID);
}

static void types_have_names(void **state)
{
	assert_string_equal(toml_type_name(TOML_STRING), "string");
	assert_string_equal(toml_type_name(TOML_INTEGER), "integer");
	assert_string_equal(toml_type_name(TOML_FLOAT), "float");
	assert_string_equal(toml_type_name(TOML_BOOLEAN), "boolean");
	assert_string_equal(toml_type_name(TOML_DATETIME), "datetime");
	assert_string_equal(toml_type_name(TOML_ARRAY), "array");
	assert_string_equal(toml_type_name(TOML_TABLE), "table");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_read),
		cmocka_unit_test(floats_are_read),
		cmocka_unit_test(signs_of_zero_and_nan_are_kept),
		cmocka_unit_test(the_locale_does_not_matter),
		cmocka_unit_test(booleans_are_read),
		cmocka_unit_test(dates_keep_their_text),
		cmocka_unit_test(strings_are_read),
		cmocka_unit_test(nul_may_be_in_strings_and_keys),
		cmocka_unit_test(arrays_are_read),
		cmocka_unit_test(tables_are_read_in_order),
		cmocka_unit_test(arrays_of_tables_are_read),
		cmocka_unit_test(missing_keys_are_null),
		cmocka_unit_test(empty_documents_are_tables),
		cmocka_unit_test(values_know_their_place),
		cmocka_unit_test(keys_know_their_place),
		cmocka_unit_test(errors_say_what_was_expected),
		cmocka_unit_test(errors_in_strings_name_the_character),
		cmocka_unit_test(errors_in_numbers_name_the_digit),
		cmocka_unit_test(errors_in_dates_name_the_field),
		cmocka_unit_test(redefinitions_say_where_the_first_was),
		cmocka_unit_test(definitions_in_pieces_are_taken),
		cmocka_unit_test(bad_bytes_are_placed),
		cmocka_unit_test(some_errors_have_a_hint),
		cmocka_unit_test(long_names_keep_the_place),
		cmocka_unit_test(messages_stay_utf8),
		cmocka_unit_test(errors_need_no_struct),
		cmocka_unit_test(sizes_are_limited),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(dotted_depth_is_limited),
		cmocka_unit_test(values_are_limited),
		cmocka_unit_test(exactly_the_default_number_of_values),
		cmocka_unit_test(deep_nesting_does_not_use_the_stack),
		cmocka_unit_test(many_keys_are_no_problem),
		cmocka_unit_test(out_of_memory_is_an_error),
		cmocka_unit_test(types_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
