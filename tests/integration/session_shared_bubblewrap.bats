#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What the commands of a session share when bwrap makes their sandboxes: the part of session_shared.bats that depends on it.

load ../helpers
load ../changes
load ../session_shared

setup() {
	make_home "$BATS_TEST_TMPDIR/home"
	make_project "$BATS_TEST_TMPDIR/project"
	export AIRLOCK_BACKEND=bubblewrap
	write_server
}

@test "a server that a command left is reached by the next one, and ended by another" {
	leaves_a_server
}

@test "what such a process changes is a step when it has ended, and hides nothing" {
	changes_later
}

@test "when airlock is killed its command ends, and the session goes on" {
	outlives_airlock
}

@test "the processes limit counts the whole session" {
	limits_the_session
}

@test "commands of both backends share one session" {
	new_session
	step 'sleep 300 & ipcmk -Q'
	step 'pkill -x sleep && ipcs -q | grep -c 0x; sleep 400 & :' --backend native
	if [ "$(id -u)" -eq 0 ]; then # root's commands have the ids of other users with native, and not with bubblewrap
		assert_stdout_contains session-own-sandbox
		return
	fi
	assert_json 1 stdout
	step 'sleep 0.1; ps ax'
	assert_stdout_contains 'sleep 400'
	[[ $stdout != *'sleep 300'* ]] || fail "it was not ended"
}

# ---- hostile

@test "a command has no capability, and can make no user namespace" {
	new_session
	step 'grep -c "^Cap[A-Za-z]*:.0000000000000000$" /proc/self/status; unshare -U true 2>/dev/null || echo refused'
	assert_json $'5\nrefused' stdout
}

@test "a command cannot look into the processes that guard it and the session" {
	cannot_look_into_guards
}

# Before bwrap executes the first process it sees the host's files, and has no filter.
@test "nor into bwrap while it makes another command's sandbox" {
	new_session
	step 'python3 -c "
import os
while True:
    for p in filter(str.isdigit, os.listdir(\"/proc\")):
        try:
            if open(f\"/proc/{p}/comm\").read() != \"bwrap\\n\":
                continue
            open(\"/tmp/seen\", \"w\").close()
            os.stat(f\"/proc/{p}/root/\")
            open(\"/tmp/inside\", \"w\").close()
        except OSError:
            pass
" & :'
	local i
	for ((i = 0; i < 10; i++)); do
		step 'ls /tmp'
	done
	assert_json seen stdout
}

# bwrap makes missing directories where it mounts something, and follows symlinks there.
@test "a symlink in the session's /tmp leads bwrap nowhere" {
	local top=$BATS_TEST_TMPDIR/outside in_tmp
	in_tmp=$(mktemp -d /tmp/airlock-test.XXXXXX)
	mkdir -p "$top" "$in_tmp/a/project" "$in_tmp.later/a/granted"
	cd "$in_tmp/a/project"
	new_session
	step "mv $in_tmp /tmp/away; mv $in_tmp/a $in_tmp/b; ln -s /oldroot$top $in_tmp.later; ls $in_tmp; pwd"
	assert_json $'a\n'"$PWD" stdout
	step pwd
	assert_json "$PWD" stdout
	run_airlock run --session s --ro "$in_tmp.later/a/granted" -c true
	assert_status 125
	assert_stderr_contains 'Too many levels of symbolic links'
	rm -r "$in_tmp" "$in_tmp.later"
	[ -z "$(ls -A "$top")" ] || fail "bwrap wrote to the host: $(ls "$top")"
}

@test "who stops or kills the guard of another command ends the session and nothing else" {
	ends_the_session KILL airlock-init
	ends_the_session STOP airlock-init
}

@test "nor who does so while it is made" {
	ends_the_session KILL bwrap
	ends_the_session STOP bwrap
}

@test "a file that another process keeps open is not changed any more once it is held" {
	holds_what_was_judged
}
