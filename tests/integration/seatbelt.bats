#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The backend of another system: its profile can be looked at here, and nothing runs in it.

load ../helpers

@test "running is refused with the reason and the way out, before anybody is asked" {
	run_airlock run --json --backend seatbelt --network -- touch made
	assert_refused unavailable
	assert_json 'backend "seatbelt" needs macOS: it cannot run anything here' error message
	assert_absent made
	run_airlock run --backend seatbelt -- touch made
	assert_status 125
	assert_stderr_contains '`airlock explain --backend seatbelt` shows its profile anywhere'
	assert_absent made
}

@test "explain shows the profile, in every built-in profile" {
	each_profile profile
}
profile() {
	run_airlock explain --backend seatbelt -- make
	assert_status 0
	assert_stdout_contains '(deny default)'
	assert_stdout_contains '(deny network*)'
	assert_stdout_contains "(allow file-read* file-write* (subpath \"$PROJECT\"))"
	assert_stdout_contains 'sandbox-exec -f airlock.sb make'
	run_airlock explain --json --backend seatbelt -- make
	assert_status 0
	assert_json seatbelt backend
	[[ $(json_get sandbox_profile) == '(version 1)'* ]] || fail "expected the profile"
	assert_json '["/usr/bin/sandbox-exec", "-f", "airlock.sb", "make"]' argv
}

@test "secrets are denied after what allows the home" {
	mkdir "$HOME/.ssh"
	run_airlock explain --backend seatbelt --hide "$HOME/project/hidden" -- make
	assert_status 0
	assert_stdout_contains "(deny file-read* file-write* (subpath \"$HOME/.ssh\"))"
}
