/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which command lines are simple: one row each. Whatever is not plainly one command is not. */
#include "tests.h"

#include "permission/command_shape.h"

#include <string.h>

struct row {
	const char *line;
	enum command_shape shape;
};

static const struct row rows[] = {
	/* one program with its words */
	{"ls", COMMAND_SIMPLE},
	{"ls -l", COMMAND_SIMPLE},
	{"  ls\t-l  ", COMMAND_SIMPLE},
	{"make test", COMMAND_SIMPLE},
	{"./configure --prefix=/usr", COMMAND_SIMPLE},
	{"/usr/bin/env python3 script.py", COMMAND_SIMPLE},
	{"python3 -c 'print(1)'", COMMAND_SIMPLE},
	{"git commit -m 'fix: a & b; c | d'", COMMAND_SIMPLE},
	{"git commit -m \"fix: a & b; c | d > e\"", COMMAND_SIMPLE},
	{"echo 'a | b'", COMMAND_SIMPLE},
	{"echo 'a > b'", COMMAND_SIMPLE},
	{"echo '$(rm -rf /)'", COMMAND_SIMPLE},
	{"echo '`id`'", COMMAND_SIMPLE},
	{"echo '#'", COMMAND_SIMPLE},
	{"echo a#b", COMMAND_SIMPLE},
	{"echo \"it's\"", COMMAND_SIMPLE},
	{"echo 'say \"hi\"'", COMMAND_SIMPLE},
	{"echo a'b'\"c\"d", COMMAND_SIMPLE},
	{"echo a\\ b", COMMAND_SIMPLE},
	{"echo a\\;b", COMMAND_SIMPLE},
	{"echo a\\|b", COMMAND_SIMPLE},
	{"echo \\$HOME", COMMAND_SIMPLE},
	{"echo \"\\$HOME\"", COMMAND_SIMPLE},
	{"echo \"a\\`b\"", COMMAND_SIMPLE},
	{"echo \"a\\\"b\"", COMMAND_SIMPLE},
	{"echo \"a\\\\\"", COMMAND_SIMPLE},
	{"grep 'x$' file", COMMAND_SIMPLE},
	{"grep \"x$\" file", COMMAND_SIMPLE},
	{"grep x$ file", COMMAND_SIMPLE},
	{"echo 5$", COMMAND_SIMPLE},
	{"echo \"a $ b\"", COMMAND_SIMPLE},
	{"ls *.c", COMMAND_SIMPLE},
	{"ls ~/src", COMMAND_SIMPLE},
	{"ls a?b [a-z]", COMMAND_SIMPLE},
	{"find . -name '*.o'", COMMAND_SIMPLE},
	{"CC=clang make", COMMAND_SIMPLE},
	{"CC=clang CFLAGS='-O2 -g' make -j2", COMMAND_SIMPLE},
	{"echo if then", COMMAND_SIMPLE},
	{"'if' x", COMMAND_SIMPLE},
	{"echo {a,b}", COMMAND_SIMPLE},
	{"echo }", COMMAND_SIMPLE},
	{"echo !", COMMAND_SIMPLE},
	{"printf '%s\\n' x", COMMAND_SIMPLE},
	{"echo \xc3\xa9", COMMAND_SIMPLE},
	{"echo ''", COMMAND_SIMPLE},
	{"cd", COMMAND_SIMPLE},
	{"cd src", COMMAND_SIMPLE},
	{"sh script.sh", COMMAND_SIMPLE},
	{"bash ./build.sh --fast", COMMAND_SIMPLE},
	{"shellcheck -c x", COMMAND_SIMPLE},
	{"gcc -c x.c", COMMAND_SIMPLE},

	/* a leading change of directory, and only that */
	{"cd src && make", COMMAND_SIMPLE},
	{"cd src&&make", COMMAND_SIMPLE},
	{"cd 'a b' && make test", COMMAND_SIMPLE},
	{"cd \"a && b\" && make", COMMAND_SIMPLE},
	{"  cd  src  &&  make  -j2", COMMAND_SIMPLE},
	{"cd src && CC=clang make", COMMAND_SIMPLE},
	{"cd src && make && make install", COMMAND_SEQUENCE},
	{"cd a && cd b && make", COMMAND_SEQUENCE},
	{"cd a && cd b", COMMAND_SEQUENCE},
	{"cd a b && make", COMMAND_SEQUENCE},
	{"cd && make", COMMAND_SEQUENCE},
	{"cd src || make", COMMAND_SEQUENCE},
	{"cd src; make", COMMAND_SEQUENCE},
	{"cd src & make", COMMAND_BACKGROUND},
	{"cd src &&", COMMAND_UNFINISHED},
	{"cd src && && make", COMMAND_SEQUENCE},
	{"X=1 cd src && make", COMMAND_SEQUENCE},
	{"make && cd src", COMMAND_SEQUENCE},
	{"pushd src && make", COMMAND_SEQUENCE},
	{"cd $x && make", COMMAND_SUBSTITUTION},
	{"cd src && make | tail", COMMAND_PIPE},
	{"cd src && make >log", COMMAND_REDIRECT},
	{"cd src && make &", COMMAND_BACKGROUND},
	{"cd src && sh -c ls", COMMAND_NESTED},
	{"cd src && eval ls", COMMAND_NESTED},

	/* more than one command */
	{"a | b", COMMAND_PIPE},
	{"a|b", COMMAND_PIPE},
	{"a |& b", COMMAND_PIPE},
	{"a || b", COMMAND_SEQUENCE},
	{"a && b", COMMAND_SEQUENCE},
	{"a;b", COMMAND_SEQUENCE},
	{"a;", COMMAND_SEQUENCE},
	{";", COMMAND_SEQUENCE},
	{"a &", COMMAND_BACKGROUND},
	{"a&b", COMMAND_BACKGROUND},
	{"&", COMMAND_BACKGROUND},
	{"a\nb", COMMAND_NEWLINE},
	{"a\n", COMMAND_NEWLINE},
	{"\n", COMMAND_NEWLINE},
	{"a \\\nb", COMMAND_NEWLINE},
	{"echo 'a\nb'", COMMAND_NEWLINE},
	{"echo \"a\nb\"", COMMAND_NEWLINE},
	{"echo \"a\\\nb\"", COMMAND_NEWLINE},

	/* redirections */
	{"a > b", COMMAND_REDIRECT},
	{"a >b", COMMAND_REDIRECT},
	{"a>b", COMMAND_REDIRECT},
	{"a >> b", COMMAND_REDIRECT},
	{"a < b", COMMAND_REDIRECT},
	{"a << x", COMMAND_REDIRECT},
	{"a <<< x", COMMAND_REDIRECT},
	{"a 2>&1", COMMAND_REDIRECT},
	{"a &> b", COMMAND_BACKGROUND},
	{"> b", COMMAND_REDIRECT},
	{"diff <(a) <(b)", COMMAND_REDIRECT},

	/* text made when it runs */
	{"echo $(id)", COMMAND_SUBSTITUTION},
	{"echo \"$(id)\"", COMMAND_SUBSTITUTION},
	{"echo `id`", COMMAND_SUBSTITUTION},
	{"echo \"`id`\"", COMMAND_SUBSTITUTION},
	{"echo $HOME", COMMAND_SUBSTITUTION},
	{"echo \"$HOME\"", COMMAND_SUBSTITUTION},
	{"echo ${HOME}", COMMAND_SUBSTITUTION},
	{"echo \"${x:-$(id)}\"", COMMAND_SUBSTITUTION},
	{"echo $((1+1))", COMMAND_SUBSTITUTION},
	{"echo $1", COMMAND_SUBSTITUTION},
	{"echo $@", COMMAND_SUBSTITUTION},
	{"echo $?", COMMAND_SUBSTITUTION},
	{"echo $$", COMMAND_SUBSTITUTION},
	{"echo $!", COMMAND_SUBSTITUTION},
	{"echo $'a\\nb'", COMMAND_SUBSTITUTION},
	{"echo $\"a\"", COMMAND_SUBSTITUTION},
	{"echo a\\\\$(id)", COMMAND_SUBSTITUTION},
	{"echo 'a'$(id)'b'", COMMAND_SUBSTITUTION},
	{"echo '\\'$(id)", COMMAND_SUBSTITUTION},
	{"$(id)", COMMAND_SUBSTITUTION},
	{"X=$(id) make", COMMAND_SUBSTITUTION},
	{"$EDITOR file", COMMAND_SUBSTITUTION},

	/* the shell's own language */
	{"(a)", COMMAND_GROUP},
	{"( a )", COMMAND_GROUP},
	{"{ a", COMMAND_GROUP},
	{"f() { a", COMMAND_GROUP},
	{"f ( )", COMMAND_GROUP},
	{"a )", COMMAND_GROUP},
	{"! a", COMMAND_KEYWORD},
	{"if a", COMMAND_KEYWORD},
	{"while a", COMMAND_KEYWORD},
	{"for x in a", COMMAND_KEYWORD},
	{"case x in", COMMAND_KEYWORD},
	{"[[ -f x ]]", COMMAND_KEYWORD},
	{"time make", COMMAND_KEYWORD},
	{"coproc a", COMMAND_KEYWORD},
	{"X=1 if a", COMMAND_KEYWORD},

	/* what a glance misses */
	{"ls # && rm -rf /", COMMAND_COMMENT},
	{"# ls", COMMAND_COMMENT},
	{"ls\r", COMMAND_CONTROL},
	{"ls \x1b[2K", COMMAND_CONTROL},
	{"ls '\x1b[2K'", COMMAND_CONTROL},
	{"ls \"\x07\"", COMMAND_CONTROL},
	{"ls \\\x1b", COMMAND_CONTROL},
	{"ls \x7f", COMMAND_CONTROL},
	{"echo 'a", COMMAND_UNFINISHED},
	{"echo \"a", COMMAND_UNFINISHED},
	{"echo a\\", COMMAND_UNFINISHED},
	{"echo \"a\\", COMMAND_UNFINISHED},
	{"echo 'a\\'b'", COMMAND_UNFINISHED},
	{"", COMMAND_EMPTY},
	{"   \t ", COMMAND_EMPTY},
	{"X=1", COMMAND_EMPTY},

	/* command lines in arguments */
	{"sh -c 'a | b'", COMMAND_NESTED},
	{"/bin/bash -lc ls", COMMAND_NESTED},
	{"bash -e -c ls", COMMAND_NESTED},
	{"'sh' '-c' ls", COMMAND_NESTED},
	{"s\\h -c ls", COMMAND_NESTED},
	{"X=1 zsh -c ls", COMMAND_NESTED},
	{"eval 'a | b'", COMMAND_NESTED},
	{"\"eval\" ls", COMMAND_NESTED},
	{". ./env", COMMAND_NESTED},
	{"source env", COMMAND_NESTED},
	{"exec ls", COMMAND_NESTED},
};

static void every_row_holds(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum command_shape shape = command_shape(rows[i].line, strlen(rows[i].line));
		if (shape != rows[i].shape)
			fail_msg("\"%s\" is %s, expected %s", rows[i].line, command_shape_name(shape),
				 command_shape_name(rows[i].shape));
	}
}

static void a_nul_is_a_control_character(void **state)
{
	assert_int_equal(command_shape("ls\0-l", 5), COMMAND_CONTROL);
	assert_int_equal(command_shape("'ls\0'", 5), COMMAND_CONTROL);
	assert_int_equal(command_shape("ls $\0", 5), COMMAND_CONTROL);
}

/* A long word is cut where it is kept, not where it is read. */
static void long_words_are_words(void **state)
{
	char line[4096];
	memset(line, 'x', sizeof line);
	assert_int_equal(command_shape(line, sizeof line), COMMAND_SIMPLE);
	line[sizeof line - 1] = '|';
	assert_int_equal(command_shape(line, sizeof line), COMMAND_PIPE);
}

static void every_shape_has_a_name(void **state)
{
	for (int i = 0; i < N_COMMAND_SHAPES; i++)
		assert_non_null(command_shape_name((enum command_shape)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_holds),
		cmocka_unit_test(a_nul_is_a_control_character),
		cmocka_unit_test(long_words_are_words),
		cmocka_unit_test(every_shape_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
