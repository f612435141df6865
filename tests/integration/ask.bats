#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# `--changes ask` where only lines can be shown, and what a terminal shows of what takes long. The list is tested in
# review.bats.

load ../helpers
load ../changes

# ---- ask

MENU='\[a\]pply all  \[c\]hoose  \[d\]iscard  \[h\]old  d\[i\]ff: $'
EACH='\[y\]es  \[n\]o  \[d\]iff  \[q\]uit: $'

@test "ask without a terminal holds" {
	run_airlock run --changes ask -c 'echo x >new'
	assert_status 0
	assert_stderr_contains '1 change held: airlock diff'
	assert_absent new
}

@test "ask: the list, and a applies all; the command's status stays" {
	at_lines "$MENU" a -- run --changes ask -c 'echo x >new; rm other; exit 5'
	assert_status 5
	assert_stdout_contains '2 changes, not applied yet:'
	assert_stdout_contains 'D  other'
	assert_stdout_contains '2 changes applied'
	assert_file new x
	assert_absent other
}

@test "ask: h, Enter, Ctrl-C and the end of input hold" {
	for keys in h '\r' '\x03' '\x04'; do
		at_lines "$MENU" "$keys" -- run --changes ask -c 'echo x >new'
		assert_status 0
		assert_stdout_contains '1 change held: airlock review 20'
		assert_absent new
	done
}

@test "ask: keys that mean nothing, and pasted text, decide nothing" {
	at_lines "$MENU" x '' aaaa '' h -- run --changes ask -c 'echo x >new'
	assert_stdout_contains '1 change held'
	assert_absent new
}

@test "ask: d discards" {
	at_lines "$MENU" d -- run --changes ask -c 'echo x >new'
	assert_stdout_contains '1 change discarded'
	assert_absent new
	run_airlock apply last
	assert_status 1
}

@test "ask: i shows the diff and asks again" {
	at_lines "$MENU" i "$MENU" a -- run --changes ask -c 'echo x >>file'
	assert_status 0
	assert_stdout_contains '+x'
	assert_file file $'one\ntwo\nthree\nx'
}

@test "ask: a asks once more about sensitive changes" {
	mkdir .git/hooks
	at_lines "$MENU" a '\[A\]pply  \[N\]o: $' n "$MENU" a '\[A\]pply  \[N\]o: $' a -- \
		run --changes ask -c 'echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	assert_status 0
	assert_file .git/hooks/pre-push 'exit 0'
}

@test "ask: choose applies what was chosen, the rest is held" {
	at_lines "$MENU" c "$EACH" y "$EACH" d "$EACH" n "$EACH" y -- \
		run --changes ask -c 'echo x >>file; echo y >new; rm other'
	assert_status 0
	assert_stdout_contains '+y'
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent new
	assert_absent other
	assert_stdout_contains '2 changes applied, 1 held for you'
}

@test "ask: choose, in directories" {
	at_lines "$MENU" c "added d/x" y "added d/y" n "added e/x" y "added e/y" y "modified file" q -- \
		run --changes ask -c 'mkdir d e; touch d/x d/y e/x e/y; echo x >>file; rm other'
	assert_status 0
	[ -e d/x ]
	assert_absent d/y
	[ -e e/x ]
	[ -e e/y ]
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
}

@test "ask: a directory that was removed goes when all in it was chosen" {
	mkdir d
	touch d/x d/y
	at_lines "$MENU" c "deleted" y "deleted" y -- run --changes ask -c 'rm -r d'
	assert_status 0
	assert_absent d
}

@test "ask: Ctrl-C while choosing applies nothing" {
	at_lines "$MENU" c "$EACH" y "$EACH" '\x03' -- run --changes ask -c 'echo x >new; rm other'
	assert_status 0
	assert_absent new
	assert_file other kept
	assert_stdout_contains '2 changes held'
}

@test "ask: the mode may come from the configuration" {
	write_config '[profiles.moderate]' 'changes = "ask"'
	at_lines "$MENU" a -- run -c 'echo x >new'
	assert_status 0
	assert_file new x
	AIRLOCK_CHANGES=hold at_lines -- run -c 'echo y >new2'
	assert_absent new2
}

@test "ask: nothing is asked when nothing changed, when the command was killed, or with --json" {
	at_lines -- run --changes ask -c 'true'
	assert_status 0
	at_lines -- run --changes ask --timeout 1s -c 'echo x >new; sleep 20'
	assert_status 124
	at_lines -- run --changes ask --json -c 'echo x >new'
	assert_status 0
	assert_stdout_contains '"held"'
}

@test "ask: standard output has only the command's" {
	NO_COLOR=1 TERM=xterm run_program python3 "$BATS_TEST_DIRNAME/../at_terminal.py" "$MENU" i "$MENU" a -- \
		sh -c "'$AIRLOCK' run --changes ask -c 'echo out; echo x >new' >'$BATS_TEST_TMPDIR/out'"
	assert_status 0
	assert_file "$BATS_TEST_TMPDIR/out" out
	assert_file new x
}

# ---- progress

@test "progress: a line on the terminal where nothing else is seen, and only there" {
	at_terminal -- run --json -c 'sleep 2.5'
	assert_status 0
	assert_stdout_contains 'airlock: 1 s'
	assert_stdout_contains 'airlock: 2 s'
	at_terminal -- run -c 'sleep 2.5'
	refute_stdout_contains 'airlock: 1 s'
	run_airlock run --json -c 'sleep 1.5'
	assert_stderr ''
}

@test "progress: applying that takes long says so, on a terminal and only there" {
	hold 'echo x >new'
	"$AIRLOCK" apply last >/dev/null # makes the lock
	"$AIRLOCK" undo >/dev/null
	exec 7<>"$(find "$XDG_STATE_HOME/airlock/locks" -type f)"
	flock -x 7
	at_terminal 'airlock: applying, 1 s.*airlock: applying, 2 s' '' -- apply last
	assert_stdout_contains 'another airlock is applying'
	run_airlock apply last
	refute_stderr_contains 'applying, 1 s'
	exec 7>&-
	at_terminal -- apply last
	assert_status 0
	refute_stdout_contains ' s'
}
