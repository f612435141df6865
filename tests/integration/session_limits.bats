#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What the commands of a session may use, all of them together.

load ../helpers
load ../changes

setup() {
	make_home "$BATS_TEST_TMPDIR/home"
	make_project "$BATS_TEST_TMPDIR/project"
}

# new_session NAME [MODE]
new_session() {
	run_airlock session new "$1" --changes "${2:-hold}"
	assert_status 0
}

# number KEY...: of the JSON that was printed
number() {
	"$JSON_GET" "$RAW_STDOUT" get "$@"
}

# ---- layers

limits_layers() {
	local name=disk-$AIRLOCK_BACKEND
	new_session "$name"
	run_airlock run --session "$name" -c 'head -c 3M /dev/zero >a; sleep 0.3; echo fine'
	assert_status 0
	assert_stdout fine
	run_airlock run --session "$name" --json -c 'head -c 3M /dev/zero >b; sleep 20'
	assert_status 137
	assert_json disk usage limit_hit
	assert_json signaled status
	assert_stdout_contains "session $name has written more than 5 MiB"
	run_airlock session show "$name" --json
	assert_json 5242880 disk_limit
	[ "$(number disk_bytes)" -gt 6000000 ] || fail "not all was counted"
	# What is held is not lost, and somebody has to decide about it first.
	run_airlock run --session "$name" -- true
	assert_status 125
	assert_stderr_contains "session $name has written 6."
	assert_stderr_contains 'its limit is 5 MiB: the command was not started'
	assert_stderr_contains 'apply or discard its changes, or raise disk in [session]'
	run_airlock discard "$name" b
	assert_status 0
	run_airlock run --session "$name" -c 'ls'
	assert_status 0
	assert_stdout $'a\nfile'
}

@test "a session that has written too much gets no further, until somebody decides" {
	write_config '[session]' 'disk = "5M"'
	TEST_BACKENDS="native bubblewrap" each_backend limits_layers
}

@test "in a session that applies its changes what a command writes counts as long as it runs" {
	write_config '[session]' 'disk = "2M"'
	new_session s apply
	run_airlock run --session s --json -c 'head -c 3M /dev/zero >c; sleep 20'
	assert_status 137
	assert_json disk usage limit_hit
	# It is a run of its own that waits, and the next command starts.
	run_airlock run --session s -c 'head -c 1M /dev/zero >d; sleep 0.3; ls'
	assert_status 0
	assert_stdout $'d\nfile'
}

@test "commands that run at the same time count together" {
	write_config '[session]' 'disk = "5M"'
	new_session s
	"$AIRLOCK" run --session s -c 'head -c 3M /dev/zero >a; sleep 20' >/dev/null 2>&1 &
	local first=$!
	run_airlock run --session s --json -c 'head -c 3M /dev/zero >b; sleep 20'
	assert_status 137
	assert_json disk usage limit_hit
	wait "$first" || [ $? = 137 ]
}

@test "a session has a tenth of the free space, and looking at a running command does not count twice" {
	new_session s
	run_airlock session show s --json
	local limit free
	limit=$(number disk_limit)
	free=$(df --output=avail -B1 "$HOME" | tail -1)
	[ "$limit" -gt $((free / 12)) ] && [ "$limit" -lt $((free / 8)) ] || fail "$limit of $free"
	[ "$(number tmp_limit)" = "$limit" ] || fail "/tmp has another limit"
	run_airlock explain --session s --json -- true
	[ "$(number session_limits disk)" = "$limit" ] || fail "explain says another limit"
	write_config '[session]' 'disk = "5M"' 'tmp_size = "none"'
	run_airlock explain --session s -- true
	assert_stdout_contains 'session s: may write 5.0 MiB, /tmp without limit'
	"$AIRLOCK" run --session s -c 'head -c 3M /dev/zero >a; sleep 1.2; echo fine' >out 2>&1 &
	local command=$! i
	for ((i = 0; i < 50; i++)); do
		run_airlock session show s --json
		[[ $stdout != *'"path": "a"'* ]] || break
	done
	[[ $stdout == *'"path": "a"'* ]] || fail "the change is not told"
	[ "$(number disk_bytes)" -gt 3000000 ] && [ "$(number disk_bytes)" -lt 5000000 ] || fail "$(number disk_bytes)"
	wait "$command" || fail "it was killed"
	[[ $(cat out) == *fine* ]] || fail "it was killed"
}

@test "disk and tmp_size must be sizes, and a project cannot raise them" {
	write_config '[session]' 'disk = "lots"'
	run_airlock run -- true
	assert_status 125
	assert_stderr_contains '"disk" must be a size of at least "1M"'
	write_config '[session]' 'disk = "5M"'
	printf '[session]\ndisk = "none"\n' >.airlock.toml
	run_airlock explain --session s -- true
	assert_stdout_contains 'may write 5.0 MiB'
}

# ---- /tmp

limits_tmp() {
	local name=tmp-$AIRLOCK_BACKEND
	new_session "$name"
	run_airlock run --session "$name" -c 'head -c 1M /dev/zero >/tmp/a; sleep 0.3; echo fine'
	assert_stdout fine
	run_airlock run --session "$name" --json -c 'sleep 0.3; head -c 2M /dev/zero >/tmp/b; sleep 20'
	assert_status 137
	assert_json tmp usage limit_hit
	assert_stdout_contains "/tmp of session $name has more than 2 MiB"
	# It can still be cleaned up.
	run_airlock run --session "$name" -c 'sleep 0.3; rm /tmp/b; sleep 0.3; echo fine'
	assert_status 0
	assert_stdout fine
	run_airlock session show "$name" --json
	assert_json 2097152 tmp_limit
	[ "$(number tmp_bytes)" -lt 2000000 ] || fail "still too much"
}

@test "a command that writes too much to /tmp is killed, and another may clean up" {
	write_config '[session]' 'tmp_size = "2M"'
	TEST_BACKENDS="native bubblewrap" each_backend limits_tmp
}

@test "a process in the background that writes too much ends with the next command" {
	export AIRLOCK_BACKEND=native
	write_config '[session]' 'disk = "5M"'
	new_session s
	run_airlock run --session s -c '(sleep 0.6; head -c 7M /dev/zero >a; sleep 60) >/dev/null 2>&1 & echo started'
	assert_status 0
	assert_stdout started
	run_airlock run --session s --json -- sleep 20
	assert_status 137
	assert_json disk usage limit_hit
	assert_stdout_contains 'with all processes of the session'
	local i
	for ((i = 0; i < 20; i++)); do # the kernel takes a moment to end them
		run_airlock session show s --json
		[[ $stdout != *'"processes": []'* ]] || return 0
	done
	fail "it goes on"
}

# ---- deciding while a command runs

@test "a session is decided about as a whole only when no command runs, and the message names it and the way out" {
	export AIRLOCK_BACKEND=native
	new_session s
	"$AIRLOCK" run --session s -c 'echo x >x; sleep 60' >/dev/null 2>"$BATS_TEST_TMPDIR/err" &
	local command=$! i verb
	for ((i = 0; i < 50; i++)); do
		run_airlock changes s
		[[ $stdout != *x* ]] || break
	done
	for verb in apply discard; do
		run_airlock "$verb" s
		assert_status 125
		assert_stderr_contains 'session s is still running a command, so only named paths can be decided about: echo x >x; sleep 60'
		assert_stderr_contains "airlock $verb s PATH... for what is finished, or airlock session end s, which ends the command"
	done
	run_airlock session end s
	assert_status 0
	wait "$command" || true
	grep -q 'the session was ended while the command ran' "$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	run_airlock apply s
	assert_status 0
	assert_file x x
}

# ---- the list

@test "one damaged record is named, and the other sessions are listed" {
	export AIRLOCK_BACKEND=native
	new_session first
	new_session second
	run_airlock run --session first -c 'echo x >x'
	sed -i 's/^free /free 1/' "$XDG_STATE_HOME"/airlock/sessions/*/second/session
	run_airlock session list
	assert_status 125
	assert_stdout_contains first
	assert_stderr_contains 'the record of the session is damaged'
	assert_stderr_contains '/second/session'
	run_airlock session list --all --json
	assert_status 125
	assert_json first sessions 0 session
	assert_json 1 sessions 0 held
	assert_json second damaged 0 session
	assert_json corrupt damaged 0 error code
}

@test "the list does not put layers together again, and the count is right after each decision" {
	export AIRLOCK_BACKEND=native
	new_session s
	run_airlock run --session s -c 'echo x >x; echo y >y'
	run_airlock run --session s -c 'rm x; echo z >z'
	run_airlock session list --json
	assert_json 2 sessions 0 held
	local used
	used=$(number sessions 0 last_used)
	# Without the layers nobody could count.
	mv "$XDG_STATE_HOME/airlock/runs" "$XDG_STATE_HOME/airlock/elsewhere"
	mkdir -p "$XDG_STATE_HOME/airlock/runs"
	local whole
	whole=$(sed -n 's/^whole \([^ ]*\) .*/\1/p' "$XDG_STATE_HOME"/airlock/sessions/*/s/session)
	mv "$XDG_STATE_HOME/airlock/elsewhere/$whole" "$XDG_STATE_HOME/airlock/runs/"
	run_airlock session list --json
	assert_json 2 sessions 0 held
	assert_json "$used" sessions 0 last_used
	rm -r "$XDG_STATE_HOME/airlock/runs/${whole:?}/upper"
	run_airlock session list --json
	assert_json 2 sessions 0 held
	mv "$XDG_STATE_HOME/airlock/runs/$whole" "$XDG_STATE_HOME/airlock/elsewhere/"
	rmdir "$XDG_STATE_HOME/airlock/runs"
	mv "$XDG_STATE_HOME/airlock/elsewhere" "$XDG_STATE_HOME/airlock/runs"
	run_airlock session rewind s 1
	run_airlock session list --json
	assert_json 2 sessions 0 held
	run_airlock discard s x
	assert_status 0
	run_airlock session list --json
	assert_json 1 sessions 0 held
	run_airlock apply s
	assert_status 0
	run_airlock session list --json
	assert_json 0 sessions 0 held
	run_airlock undo s
	assert_status 0
	run_airlock session list --json
	assert_json 1 sessions 0 held
}
