#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr; changes.bash sets RUN
# The command line of `airlock apply`: what is applied, what is asked, conflicts.

load ../helpers
load ../changes

# ---- apply

@test "apply applies all held changes, and says so" {
	hold 'echo x >>file; mkdir d; echo y >d/e; rm other'
	run_airlock apply "$RUN"
	assert_status 0
	assert_stderr ''
	assert_stdout_contains 'M  file'
	[ "${stdout##*$'\n'}" = "applied 4 changes of run $RUN" ] || fail "wrong last line"
	assert_file file $'one\ntwo\nthree\nx'
	assert_file d/e y
	assert_absent other
	run_airlock apply "$RUN"
	assert_status 1
	assert_stdout 'nothing to apply'
}

@test "apply --json prints the changes afterwards, also when there was nothing to do" {
	hold 'echo x >>file; echo y >new'
	run_airlock apply "$RUN" new --json
	assert_status 0
	assert_stderr ''
	assert_json "$RUN" run
	assert_json partial state
	assert_states 'file=held new=applied'
	run_airlock apply last --json
	assert_status 0
	assert_json applied state
	run_airlock apply last --json
	assert_status 1
	assert_json applied state
	assert_states 'file=applied new=applied'
}

@test "apply of some paths takes what they need and nothing else" {
	hold 'echo x >>file; mkdir -p d/e; echo y >d/e/f; echo z >d/g; rm other'
	run_airlock apply "$RUN" d/e/f
	assert_status 0
	assert_file d/e/f y
	assert_absent d/g
	[ -e other ]
	run_airlock apply "$RUN" "$PROJECT/other" -- file
	assert_status 0
	assert_absent other
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent d/g
	run_airlock changes "$RUN"
	assert_stdout_contains '1 held'
}

@test "apply of a path that did not change is not found, and nothing is applied" {
	hold 'echo x >>file'
	run_airlock apply "$RUN" file nowhere
	assert_status 1
	assert_stderr_contains "airlock changes $RUN lists what it changed"
	assert_file file $'one\ntwo\nthree'
	run_airlock apply "$RUN" nowhere --json
	assert_status 1
	assert_json not_found error code
}

@test "apply without a terminal lists sensitive changes and goes on" {
	mkdir .git/hooks
	hold 'echo x >new; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	run_airlock apply "$RUN"
	assert_status 0
	assert_stderr_contains 'airlock: sensitive'
	assert_stderr_contains 'airlock:   .git/hooks/pre-push'
	refute_stderr_contains '  new'
	assert_file .git/hooks/pre-push 'exit 0'
	assert_file new x
}

hold_a_hook() {
	mkdir -p .git/hooks
	hold 'echo x >new; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
}

@test "apply on a terminal asks about sensitive changes: a applies" {
	hold_a_hook
	at_terminal '\[A\]pply  \[N\]o: $' a -- apply "$RUN"
	assert_status 0
	assert_stdout_contains '.git/hooks/pre-push'
	assert_file .git/hooks/pre-push 'exit 0'
	assert_file new x
}

@test "apply on a terminal asks about sensitive changes: everything else applies nothing" {
	hold_a_hook
	for keys in '\r' n '\x03' '\x04' q; do
		at_terminal '\[A\]pply  \[N\]o: $' "$keys" -- apply "$RUN"
		assert_status 125
		assert_absent .git/hooks/pre-push
		assert_absent new
	done
}

@test "apply on a terminal does not ask when nothing is sensitive, or with --yes" {
	hold 'echo x >new'
	at_terminal -- apply "$RUN"
	assert_status 0
	assert_file new x
	hold_a_hook
	at_terminal -- apply "$RUN" -y
	assert_status 0
	assert_file .git/hooks/pre-push 'exit 0'
}

# ---- conflicts

@test "apply of a path that somebody changed is a conflict, and nothing is applied" {
	hold 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock apply "$RUN"
	assert_status 3
	assert_stdout ''
	assert_stderr_contains file
	assert_file file $'one\ntwo\nthree\ntheirs'
	assert_absent new
	run_airlock apply "$RUN" file new --json
	assert_status 3
	assert_json conflict error code
	assert_stderr ''
	assert_absent new
	run_airlock changes "$RUN" --json
	assert_states 'file=conflict new=held'
	run_airlock changes "$RUN"
	assert_stdout_contains 'file  (conflict: '
	assert_stdout_contains '1 held, 1 in conflict'
}

@test "after a conflict the other paths can be applied" {
	hold 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock apply "$RUN"
	assert_status 3
	run_airlock apply "$RUN" new
	assert_status 0
	assert_file new x
	assert_file file $'one\ntwo\nthree\ntheirs'
	run_airlock apply "$RUN" file
	assert_status 3
}

@test "apply --force takes ours, and undo brings theirs back" {
	hold 'echo ours >>file'
	echo theirs >>file
	run_airlock apply "$RUN" --force
	assert_status 0
	assert_file file $'one\ntwo\nthree\nours'
	run_airlock undo
	assert_status 0
	assert_file file $'one\ntwo\nthree\ntheirs'
}
