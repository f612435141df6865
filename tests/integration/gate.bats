#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# Which changes wait for a person, as the configuration says.

load ../helpers
load ../capture/capture

LINE='mkdir -p db deploy/eu .github/workflows; echo x | tee db/new.sql deploy/eu/run AGENTS.md .github/workflows/ci.yml >other; rm -f file'

@test "[gate] hold adds paths, allow makes exceptions" {
	write_config '[gate]' 'hold = ["*.SQL", "deploy", "/file"]' 'allow = ["AGENTS.md", ".github/**", "other"]'
	run_captured -c "$LINE"
	assert_status 0
	assert_json partial changes state
	assert_change db/new.sql state=held 'reason=*rule of the configuration*'
	assert_change deploy/eu/run state=held 'reason=*rule of the configuration*'
	assert_change file state=held kind=deleted
	assert_change AGENTS.md state=applied reason=null
	assert_change .github/workflows/ci.yml state=applied
	assert_change other state=applied
	assert_file file original
	assert_absent deploy/eu/run
	run_airlock apply "$RUN"
	assert_status 0
	assert_absent file
	assert_file deploy/eu/run x
}

@test "allow overrides hold, except for special files" {
	write_config '[gate]' 'hold = ["*"]' 'allow = ["*"]'
	run_captured -c 'mkfifo pipe; echo x >.envrc'
	assert_status 0
	assert_change .envrc state=applied
	assert_change pipe state=held 'reason=*named pipe*'
	assert_absent pipe
}

@test "a project that is not trusted may hold more, never less" {
	printf '%s\n' '[gate]' 'hold = ["*.sql"]' 'allow = ["AGENTS.md"]' >.airlock.toml
	run_captured -c "$LINE"
	assert_status 0
	assert_change db/new.sql state=held
	assert_change AGENTS.md state=held
	assert_stderr_contains 'gate.allow'
	run_airlock config show --json
	assert_stdout_contains 'gate.hold'
	assert_stdout_contains "$PROJECT/.airlock.toml:2"
	run_airlock trust
	assert_status 0
	run_airlock undo "$RUN"
	run_captured -c "$LINE"
	assert_change AGENTS.md state=applied
	assert_change db/new.sql state=held
}

@test "a pattern that cannot match, a wrong type and a misspelt key are told with their place" {
	local line
	for line in 'hold = ["../x"]' 'allow = ["~/x"]' 'hold = "x"' 'hold = [1]' 'hold = [""]' 'holds = ["x"]'; do
		write_config '[gate]' "$line"
		run_airlock run -c true
		assert_status 125
		assert_stderr_contains "config.toml:2"
	done
	assert_stderr_contains 'did you mean "hold"'
}
