#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2016,SC2154 # variables for the shell inside; status and the like are set by run_airlock
# A directory as the root: airlock run --workspace.

load ../helpers

setup() {
	default_setup
	WS=$BATS_TEST_TMPDIR/ws
	mkdir "$WS"
}

run_in() {
	run_airlock run --workspace "$WS" "$@"
}

put() {
	printf '%s' "$2" | "$AIRLOCK" fs --workspace "$WS" write "$1"
}

# Nothing of the system's stays in the workspace.
assert_clean() {
	[ "$(ls -A "$WS")" = "$1" ] || fail "expected in the workspace: $1" "found: $(ls -A "$WS")"
}

script_written_and_run() {
	put /test.py 'print("Hello from /")'
	run_in -- python3 /test.py
	assert_status 0
	assert_stdout "Hello from /"
	run_in -c 'pwd; echo "$HOME"; echo "$PATH"'
	assert_stdout $'/\n/\n/.venv/bin:/node_modules/.bin:/usr/bin:/bin'
	run_airlock fs --workspace "$WS" ls / --json
	assert_json /test.py entries 0 path
	assert_clean test.py
}

@test "a script written by the file API is run by its path, in /" {
	each_backend script_written_and_run
}

venv_is_active() {
	mkdir -p "$WS/.venv/bin" "$WS/node_modules/.bin"
	printf '#!/bin/sh\necho "mine $VIRTUAL_ENV"\n' >"$WS/.venv/bin/python"
	printf '#!/bin/sh\necho node-tool\n' >"$WS/node_modules/.bin/tool"
	chmod +x "$WS/.venv/bin/python" "$WS/node_modules/.bin/tool"
	run_in -c 'command -v python; python; tool'
	assert_stdout $'/.venv/bin/python\nmine /.venv\nnode-tool'
}

@test "a virtual environment and node modules are found first" {
	each_backend venv_is_active
}

writes_stay() {
	rm -rf "$WS/data"
	run_in -c 'mkdir /data; echo out >/data/f; echo t >/tmp/t; echo gone >/dev/shm/x' --json
	assert_status 0
	assert_json direct changes state
	assert_file "$WS/data/f" out
	assert_clean data
	run_airlock fs --workspace "$WS" read /data/f
	assert_stdout out
}

@test "what a command writes is in the workspace at once, and nothing else is" {
	each_backend writes_stay
}

system_is_read_only() {
	run_in -c 'for f in /usr/x /bin/x /lib/x /etc/x /proc/x; do if touch $f 2>/dev/null; then echo "made $f"; fi; done; cat /etc/passwd'
	refute_stdout_contains made
	assert_stdout_contains "root:x:0:0"
	run_in -c "cat $PROJECT/file; ls /home /root /var /run /mnt /work 2>/dev/null; ls $HOME"
	[ "$status" -ne 0 ]
	assert_stdout ""
}

@test "the system is read-only, and the rest of the machine is not there" {
	each_backend system_is_read_only
}

layer_holds() {
	echo old >"$WS/f"
	run_in --hold -c 'echo new >/f; echo added >/g' --json
	assert_json held changes state
	assert_file "$WS/f" old
	assert_absent "$WS/g"
	assert_clean f
	run_airlock apply last
	assert_file "$WS/f" new
	assert_file "$WS/g" added
	run_airlock undo last
	assert_file "$WS/f" old
	assert_clean f
}

@test "--changes hold: captured, applied and undone like a project's" {
	each_backend layer_holds
}

binds_are_read_only() {
	rm -rf "$WS"
	mkdir -p "$WS" "$BATS_TEST_TMPDIR/bucket/skills"
	echo skill >"$BATS_TEST_TMPDIR/bucket/skills/s"
	echo single >"$BATS_TEST_TMPDIR/single"
	ln -s "$BATS_TEST_TMPDIR/bucket/skills" "$WS/.skills"
	run_in --bind-ro "$BATS_TEST_TMPDIR/bucket" --bind-ro "$BATS_TEST_TMPDIR/single:/deep/er/one" \
		-c 'cat /.skills/s /deep/er/one; echo x >/.skills/t'
	assert_stdout $'skill\nsingle'
	assert_stderr_contains "Read-only file system"
	assert_clean .skills
}

@test "--bind-ro: the workspace's links lead somewhere, and nothing is left of the mount points" {
	each_backend binds_are_read_only
}

own_names_survive() {
	rm -rf "$WS"
	mkdir -p "$WS/bin" "$WS/etc/own" "$WS/tmp"
	echo mine >"$WS/bin/tool"
	echo cfg >"$WS/etc/own/c"
	run_in -c 'ls /bin/sh; test -e /bin/tool || test -e /etc/own || echo covered; touch /tmp/x'
	assert_stdout $'/bin/sh\ncovered'
	assert_file "$WS/bin/tool" mine
	assert_file "$WS/etc/own/c" cfg
	assert_clean $'bin\netc\ntmp'
	[ -z "$(ls -A "$WS/tmp")" ]
}

@test "directories of the workspace with the system's names are covered, kept and left" {
	each_backend own_names_survive
}

working_dir_is_inside() {
	mkdir -p "$WS/sub"
	run_in -C /sub -c pwd
	assert_stdout /sub
	run_in -C sub -c pwd
	assert_stdout /sub
	ln -sfn /sub "$WS/link"
	run_in -C /link -c 'pwd -P'
	assert_stdout /sub
	rm "$WS/link"
	run_in -C /usr/bin -c pwd
	assert_stdout /usr/bin
	touch "$WS/sub/file"
	run_in -C /sub/file -c pwd
	assert_status 125
	assert_stderr_contains "Working directory is not a directory: /sub/file"
	run_in -C /none -c pwd
	assert_status 125
	assert_stderr_contains "Working directory does not exist: /none"
	assert_clean sub
}

@test "-C is a path inside" {
	each_backend working_dir_is_inside
}

runs_at_once() {
	rm -f "$WS/go"
	mkfifo "$WS/go"
	"$AIRLOCK" run --workspace "$WS" -c 'cat /go; ls /usr/bin/env' >"$BATS_TEST_TMPDIR/first" 2>&1 3>&- &
	local first=$!
	eventually test -d "$WS/usr"
	run_in -c 'ls /usr/bin/env'
	assert_stdout /usr/bin/env
	echo now >"$WS/go"
	wait "$first"
	assert_file "$BATS_TEST_TMPDIR/first" $'now\n/usr/bin/env'
	assert_clean go
}

@test "two runs in one workspace: the first to end takes nothing from the other" {
	each_backend runs_at_once
}

@test "what a killed run left is removed by the next, what a person made is not" {
	mkdir "$WS/usr" "$WS/proc"
	touch -d @1 "$WS/usr"
	run_in -c true
	assert_status 0
	assert_clean proc
}

network_is_asked_for() {
	run_in --network -c true --json
	assert_refused denied
	run_in --network --yes -c 'cat /etc/resolv.conf >/dev/null' --json
	assert_status 0
	assert_json allowed isolation network
	run_in -c true --json
	assert_json blocked isolation network
}

@test "the network is off, and on by permission" {
	each_backend network_is_asked_for
}

@test "options that contradict --workspace are refused" {
	run_airlock run --workspace "$WS/none" -c true --json
	assert_refused not_found
	run_airlock run --workspace "$PROJECT/file" -c true --json
	assert_refused invalid
	run_airlock run --workspace / -c true --json
	assert_refused invalid
	run_airlock run --workspace "$HOME" -c true --json
	assert_refused invalid
	run_in --ro /usr -c true
	assert_status 2
	run_airlock run --bind-ro /usr -c true
	assert_status 2
	mkdir "$WS/sub"
	run_in --bind-ro "$WS/sub:/else" -c true --json
	assert_refused invalid
	rmdir "$WS/sub"
	run_in --no-sandbox --yes -c true --json
	assert_refused unavailable
	ln -s /etc "$WS/usr"
	run_in -c true --json
	assert_refused invalid
	assert_clean usr
}
