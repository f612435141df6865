#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr; changes.bash sets RUN
# The command line of `airlock undo`.

load ../helpers
load ../changes

@test "undo without a run takes back the last one that was applied here" {
	apply_now 'echo 1 >first'
	one=$RUN
	apply_now 'echo 2 >second'
	hold 'echo 3 >third'
	make_project "$HOME/elsewhere"
	apply_now 'echo 4 >fourth'
	cd "$HOME/project"
	run_airlock undo
	assert_status 0
	assert_absent second
	assert_file first 1
	assert_file "$HOME/elsewhere/fourth" 4
	run_airlock undo
	assert_status 0
	[ "${stdout##*$'\n'}" = "undid 1 change of run $one" ] || fail "wrong last line"
	assert_absent first
	run_airlock undo
	assert_status 1
	run_airlock undo --project "$HOME/elsewhere"
	assert_status 0
	assert_absent "$HOME/elsewhere/fourth"
}

@test "undo of a run, and again" {
	apply_now 'echo x >>file; rm other'
	run_airlock undo "$RUN"
	assert_status 0
	[ "${stdout##*$'\n'}" = "undid 2 changes of run $RUN" ] || fail "wrong last line"
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
	run_airlock undo "$RUN" --json
	assert_status 0
	assert_json applied state
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent other
	run_airlock undo last
	assert_status 0
	run_airlock undo last
	[ "${stdout##*$'\n'}" = "applied again 2 changes of run $RUN" ] || fail "wrong last line"
}

@test "undo of an undone run brings back what was undone, not what was only held" {
	mkdir .git/hooks
	apply_now 'echo x >>file; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	run_airlock undo
	assert_status 0
	run_airlock undo "$RUN"
	assert_status 0
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent .git/hooks/pre-push
}

@test "undo of some paths, with and without a run" {
	apply_now 'echo x >>file; rm other; echo y >new'
	run_airlock undo other
	assert_status 0
	assert_file other kept
	assert_file new y
	run_airlock undo last new
	assert_status 0
	assert_absent new
	assert_file file $'one\ntwo\nthree\nx'
	run_airlock undo "$RUN" "$PROJECT/file"
	assert_status 0
	assert_file file $'one\ntwo\nthree'
}

@test "undo: what looks like a run is one, unless it comes after --" {
	apply_now 'echo x >2026; echo y >2026-notes.txt; echo z >20x'
	run_airlock undo -- 2026
	assert_status 0
	assert_absent 2026
	run_airlock undo 2026-notes.txt
	assert_status 0
	assert_absent 2026-notes.txt
	run_airlock undo 20x
	assert_status 0
	assert_absent 20x
	run_airlock undo 1999
	assert_status 1
	assert_stderr_contains 'airlock undo -- PATH'
}

@test "undo of a run that is only held has nothing to do" {
	hold 'echo x >new'
	run_airlock undo "$RUN"
	assert_status 1
	assert_stdout 'nothing to undo'
	run_airlock undo "$RUN" --json
	assert_status 1
	assert_json held state
}

@test "undo where somebody changed the file since is a conflict, unless forced" {
	apply_now 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock undo
	assert_status 3
	assert_file file $'one\ntwo\nthree\nours\ntheirs'
	assert_file new x
	run_airlock undo --json
	assert_status 3
	assert_json conflict error code
	run_airlock undo --force
	assert_status 0
	assert_file file $'one\ntwo\nthree'
	assert_absent new
}
