# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# For tests of what is done with a run's changes: a project with two files, runs whose changes are held or applied, and
# airlock at a terminal. Load helpers first.

setup() {
	default_setup
	printf 'one\ntwo\nthree\n' >file
	printf 'kept\n' >other
}

# Without a terminal, also when the person who runs the tests has one.
run_airlock() {
	run_program setsid -w "$AIRLOCK" "$@" </dev/null
}

# hold COMMAND-LINE: runs it, keeps its changes aside; $RUN is the run
hold() {
	run_airlock run --hold -c "$1"
	assert_status 0
	find_last
}

# apply_now COMMAND-LINE: runs it and applies its changes
apply_now() {
	run_airlock run --changes apply -c "$1"
	assert_status 0
	find_last
}

find_last() {
	# shellcheck disable=SC2034 # for the tests
	RUN=$("$JSON_GET" <("$AIRLOCK" changes last --json) get run)
}

# at_terminal [PATTERN KEYS]... -- ARG...: airlock at a terminal; what it shows is $stdout
at_terminal() {
	local steps=()
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	TERM=xterm run_program python3 "$BATS_TEST_DIRNAME/../at_terminal.py" "${steps[@]}" -- "$AIRLOCK" "$@"
	[ "$status" -ne 99 ] || fail "the terminal is stuck"
}

# The same where only lines can be shown; the list is tested in review.bats.
at_lines() {
	NO_COLOR=1 at_terminal "$@"
}

# states: "path=state" of every file in the JSON on stdout, in one line
states() {
	"$JSON_GET" "$RAW_STDOUT" changes path state | sed 's/ \([a-z]*\)$/=\1/' | paste -sd ' '
}

assert_states() {
	local found
	found=$(states)
	[ "$found" = "$1" ] || fail "expected: $1" "found: $found"
}
