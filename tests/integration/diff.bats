#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr; changes.bash sets RUN
# The command line of `airlock diff`.

load ../helpers
load ../changes

# A project with every kind of change that a patch can express.
change_a_lot() {
	printf 'old\n' >gone
	printf 'moved\nlines\nof\ntext\n' >from
	printf '#!/bin/sh\n' >tool
	mkdir sub
	printf 'a\nb\n' >'sub/with space'
	cp -a . "$BATS_TEST_TMPDIR/twin"
	hold 'sed -i s/two/2/ file; printf "new\n" >added; rm gone; printf "no newline" >>other; printf "c\n" >>"sub/with space"
		mkdir d; printf "deep\n" >d/e; mv from to; '"$1"
}

assert_twin_equal() {
	rm -rf "$BATS_TEST_TMPDIR/twin/.git"
	run_airlock apply "$RUN"
	assert_status 0
	diff -r --no-dereference --exclude=.git . "$BATS_TEST_TMPDIR/twin"
}

@test "diff in a pipe is valid for git apply" {
	change_a_lot 'chmod +x tool; ln -s file link'
	run_airlock diff "$RUN"
	assert_status 0
	refute_stdout_contains $'\033'
	rm -rf "$BATS_TEST_TMPDIR/twin/.git"
	git -C "$BATS_TEST_TMPDIR/twin" apply --verbose "$RAW_STDOUT"
	[ -x "$BATS_TEST_TMPDIR/twin/tool" ]
	[ -L "$BATS_TEST_TMPDIR/twin/link" ]
	assert_twin_equal
}

@test "diff in a pipe is valid for patch -p1" {
	change_a_lot ''
	run_airlock diff "$RUN"
	assert_status 0
	(cd "$BATS_TEST_TMPDIR/twin" && patch -s -p1 <"$RAW_STDOUT")
	assert_twin_equal
}

@test "diff of some paths, relative or absolute" {
	hold 'echo x >>file; echo y >>other; mkdir d; echo z >d/e'
	run_airlock diff "$RUN" other d
	assert_status 0
	assert_stdout_contains '+y'
	assert_stdout_contains '+z'
	refute_stdout_contains '+x'
	run_airlock diff "$RUN" "$PROJECT/file"
	assert_stdout_contains '+x'
	refute_stdout_contains '+y'
	run_airlock diff "$RUN" nowhere
	assert_status 1
	assert_stderr_contains nowhere
}

@test "diff --json has the text in an object" {
	hold 'echo x >>file; printf "\377bytes\t\"\\\n" >new'
	run_airlock diff "$RUN" --json
	assert_status 0
	assert_json "$RUN" run
	json_get diff >"$BATS_TEST_TMPDIR/diff"
	grep -qxF -- '+x' "$BATS_TEST_TMPDIR/diff"
	run_airlock diff "$RUN" nowhere --json
	assert_status 1
	assert_json not_found error code
}

# A pager that leaves a mark.
make_pager() {
	mkdir -p "$1"
	printf '#!/bin/sh\necho "$0 $*" >%q\ncat\n' "$BATS_TEST_TMPDIR/paged" >"$1/mypager"
	chmod +x "$1/mypager"
}

long_change() {
	hold 'seq 1 100 >long'
}

@test "diff uses no pager in a pipe, and no colours" {
	make_pager "$HOME/bin"
	long_change
	PAGER=$HOME/bin/mypager run_airlock diff "$RUN"
	assert_status 0
	assert_absent "$BATS_TEST_TMPDIR/paged"
	refute_stdout_contains $'\033'
}

@test "diff on a terminal: the pager for what is long, and only for that" {
	make_pager "$HOME/bin"
	long_change
	PATH=$HOME/bin:$PATH PAGER='mypager -x  y' at_terminal -- diff "$RUN"
	assert_status 0
	assert_file "$BATS_TEST_TMPDIR/paged" "$HOME/bin/mypager -x y"
	assert_stdout_contains +100
	rm "$BATS_TEST_TMPDIR/paged"
	LINES=200 PATH=$HOME/bin:$PATH PAGER=mypager at_terminal -- diff "$RUN"
	assert_status 0
	assert_absent "$BATS_TEST_TMPDIR/paged"
	assert_stdout_contains +100
}

@test "diff on a terminal: less is the default, and q leaves it" {
	command -v less >/dev/null || skip "needs: less"
	long_change
	unset PAGER LESS
	at_terminal ':' q -- diff "$RUN"
	assert_status 0
	refute_stdout_contains +100
}

@test "diff never takes the pager from the project or the current directory" {
	make_pager "$PROJECT/bin"
	make_pager "$HOME/elsewhere"
	long_change
	for path in "$PROJECT/bin" bin . '' ; do
		PATH=$path:/usr/bin:/bin PAGER=mypager at_terminal -- diff "$RUN"
		assert_status 0
		assert_stdout_contains +100
		assert_absent "$BATS_TEST_TMPDIR/paged"
	done
	for pager in "$PROJECT/bin/mypager" bin/mypager ./bin/mypager; do
		PAGER=$pager at_terminal -- diff "$RUN"
		assert_absent "$BATS_TEST_TMPDIR/paged"
	done
	ln -s "$PROJECT/bin" "$HOME/link"
	PATH=$HOME/link:/usr/bin:/bin PAGER=mypager at_terminal -- diff "$RUN"
	assert_absent "$BATS_TEST_TMPDIR/paged"
	cd "$HOME/elsewhere"
	PAGER=$HOME/elsewhere/mypager at_terminal -- diff "$RUN"
	assert_absent "$BATS_TEST_TMPDIR/paged"
	cd /
	PAGER=$HOME/elsewhere/mypager at_terminal -- diff "$RUN"
	[ -s "$BATS_TEST_TMPDIR/paged" ]
}

@test "diff on a terminal is coloured unless NO_COLOR, and inert in any case" {
	hold 'printf "evil\033]0;title\007\n" >new'
	at_terminal -- diff "$RUN"
	assert_stdout_contains $'\033['
	refute_stdout_contains $'\033]0'
	NO_COLOR=1 at_terminal -- diff "$RUN"
	refute_stdout_contains $'\033'
	assert_stdout_contains '+evil\x1b]0;title'
}
