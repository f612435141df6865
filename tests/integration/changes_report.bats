#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What `airlock run` says about changes.

load ../helpers
load ../changes

@test "run says what was applied, on stderr only" {
	run_airlock run --changes apply -c 'echo out; echo x >>file; echo y >new; rm other'
	assert_status 0
	assert_stdout out
	assert_stderr 'airlock: 3 changes applied
airlock:   M  file
airlock:   A  new
airlock:   D  other'
}

@test "the report uses the singular for one change" {
	run_airlock run --changes apply -c 'echo x >new'
	[ "${stderr%%$'\n'*}" = 'airlock: 1 change applied' ] || fail "wrong first line"
}

@test "run says nothing when nothing changed, and nothing with --json" {
	run_airlock run --changes apply -c 'cat file >/dev/null'
	assert_stderr ''
	run_airlock run --changes apply --json -c 'echo x >new'
	assert_stderr ''
	assert_json applied changes state
}

@test "run exits as the command did, whatever it changed" {
	run_airlock run --changes apply -c 'echo x >new; exit 7'
	assert_status 7
	assert_stderr_contains '1 change applied'
}

@test "run names the one sensitive change that waits, and how to apply it" {
	mkdir .git/hooks
	run_airlock run --changes apply -c 'echo x >new; echo "exit 0" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit'
	assert_status 0
	find_last
	[[ $stderr == "airlock: 1 change applied, 1 held for you: airlock apply $RUN .git/hooks/pre-commit"$'\n'* ]] ||
		fail "wrong first line"
	assert_stderr_contains 'git hook'
	assert_file new x
	assert_absent .git/hooks/pre-commit
	run_airlock apply "$RUN" .git/hooks/pre-commit
	assert_status 0
	assert_file .git/hooks/pre-commit 'exit 0'
}

@test "a path that a shell would read differently is quoted, or left out" {
	run_airlock run --changes apply -c 'echo x >new; mkdir "a b"; echo "export X=1" >"a b/.envrc"'
	find_last
	assert_stderr_contains "airlock apply $RUN 'a b/.envrc'"
	run_airlock run --changes apply -c 'echo x >new2; mkdir "it'\''s"; echo "export X=1" >"it'\''s/.envrc"'
	find_last
	assert_stderr_contains "held for you: airlock apply $RUN"$'\n'
}

@test "run says what is held, and what to do next" {
	hold 'echo x >>file; echo y >new'
	[[ $stderr == "airlock: 2 changes held: airlock diff $RUN, airlock apply $RUN, airlock discard $RUN"$'\n'* ]] ||
		fail "wrong first line"
	assert_absent new
}

@test "run says what was discarded" {
	run_airlock run --discard -c 'echo y >new'
	[ "${stderr%%$'\n'*}" = 'airlock: 1 change discarded' ] || fail "wrong first line"
	assert_absent new
}

@test "the report has ten paths, and says how many more there are" {
	run_airlock run --hold -c 'touch a1 a2 a3 a4 a5 a6 a7 a8 a9 b1'
	refute_stderr_contains 'more:'
	run_airlock run --hold -c 'touch a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2 b3'
	find_last
	[ "$(grep -c '^airlock:   A' "$RAW_STDERR")" -eq 10 ] || fail "expected ten paths"
	assert_stderr_contains "airlock: … and 2 more: airlock changes $RUN"
}

@test "names that could fool a terminal are escaped in every report" {
	hold 'touch "$(printf "a\033[31mred\nB  fake")"'
	refute_stderr_contains $'\033'
	assert_stderr_contains 'a\x1b[31mred\nB  fake'
	run_airlock changes last
	refute_stdout_contains $'\033'
	assert_stdout_contains 'a\x1b[31mred\nB  fake'
	[ "$(wc -l <"$RAW_STDOUT")" -eq 2 ] || fail "expected two lines"
}

@test "run prints notes on separate lines" {
	echo x >"$(printf 'two\nlines')"
	ln "$(printf 'two\nlines')" twin
	run_airlock run --changes apply -c 'for f in two*; do echo y >>"$f"; done'
	assert_status 0
	assert_stderr_contains $'\nairlock: hard link split: the other names of two\\nlines keep'
}

@test "a timed-out command's changes are held, and the report says so" {
	run_until_timeout written --changes apply -c 'echo x >new; echo written; sleep 60'
	assert_status 124
	assert_stderr_contains '1 change held: airlock diff'
	assert_stderr_contains 'timed out'
	assert_absent new
}

@test "a conflict during the run: nothing is applied, and the paths are named" {
	: >"$BATS_TEST_TMPDIR/err"
	# shellcheck disable=SC2094 # the first part waits for what the second writes
	{
		eventually grep -q ready "$BATS_TEST_TMPDIR/err"
		echo theirs >>file
		echo go
	} | "$AIRLOCK" run --changes apply -c 'echo ours >>file; echo x >new; touch started; echo ready >&2; read go' \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
	grep -q '^airlock: conflict: file (' "$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	grep -q 'nothing is applied' "$BATS_TEST_TMPDIR/err"
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
	assert_file file $'one\ntwo\nthree\ntheirs'
	assert_absent new
	run_airlock changes last --json
	assert_json held state
	assert_states 'file=conflict new=held started=held'
}

@test "git's own bookkeeping is one line, and all of it with -v and in JSON" {
	git init -q .
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
	run_airlock run -c 'git add file && git -c user.name=a -c user.email=a@b commit -qm second'
	assert_status 0
	assert_stderr_contains "git: index, 1 ref, 3 objects"
	run_airlock changes last
	assert_stdout_contains "git: index, 1 ref, 3 objects"
	refute_stdout_contains ".git/objects"
	run_airlock changes -v last
	assert_stdout_contains ".git/refs/heads/"
	assert_stdout_contains ".git/objects/"
	run_airlock changes last --json
	assert_stdout_contains ".git/index"
}

@test "a command that leaves everything as it was changes nothing: git status" {
	git init -q .
	run_airlock run --json -- git status
	assert_status 0
	assert_json none changes state
}

@test "undo lists ten paths at most, and what it does to each" {
	"$AIRLOCK" run -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >new$i; done; rm file'
	run_airlock undo
	assert_status 0
	assert_stdout_contains "A  file"
	assert_stdout_contains "D  new1"
	assert_stdout_contains "… and 3 more: airlock changes "
	assert_stdout_contains "undid 13 changes"
}
