#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What the commands of a session share beside files: processes, loopback, ipc; and processes that go on after their command.

load ../helpers
load ../changes
load ../session_shared

setup() {
	make_home "$BATS_TEST_TMPDIR/home"
	make_project "$BATS_TEST_TMPDIR/project"
	export AIRLOCK_BACKEND=native
	write_server
}

@test "a server that a command left is reached by the next one, and ended by another" {
	leaves_a_server
}

@test "commands of a session share ipc and signals, and no other session does" {
	new_session
	step 'ipcmk -Q'
	step 'ipcs -q | grep -c 0x'
	assert_json 1 stdout
	run_airlock run --session other --hold -c 'ipcs -q | grep -c 0x'
	assert_stdout 0
	step 'sleep 300 & :'
	run_airlock run --session other -c 'pkill sleep; ps ax'
	[[ $stdout != *'sleep 300'* ]] || fail "another session sees it"
	await has_processes 1
}

@test "a command of a live session begins in its namespaces before it is planned, and has the caller's processors" {
	local cpus i
	cpus=$(grep '^Cpus_allowed_list' /proc/self/status)
	new_session
	step 'readlink /proc/self/ns/pid /proc/self/ns/net >spaces; echo 1 >kept'
	step "readlink /proc/self/ns/pid /proc/self/ns/net | diff - spaces; cat kept; grep ^Cpus_allowed_list /proc/self/status"
	assert_json $'1\n'"$cpus" stdout
	# It is not used if anything has changed while it was planned, a mount of the machine for example.
	for ((i = 0; i < 10; i++)); do
		[[ $stdout != *'"head_start": true'* ]] || break
		step true
	done
	[[ $stdout == *'"head_start": true'* ]] || fail "it was begun with its plan"
	step 'echo same >>kept' --network-mode off
	run_airlock run --session s --json --profile strict -c 'cat kept'
	assert_status 0
	assert_json $'1\nsame' stdout
}

@test "session end ends the processes and keeps what is held" {
	new_session
	step 'echo x >held; sleep 300 & :'
	local pid
	pid=$(background_pid)
	kill -0 "$pid"
	run_airlock session end s
	assert_status 0
	await is_gone "$pid"
	run_airlock session show s --json
	assert_json ended state
	run_airlock apply s
	assert_status 0
	assert_file held x
}

@test "the control groups of a session go with its processes" {
	[ "$EUID" -eq 0 ] || skip "needs: root, an ordinary user has no groups for sessions"
	local dir sum
	new_session
	step 'sleep 300 & :'
	dir=$(find "$XDG_STATE_HOME/airlock/sessions" -mindepth 2 -maxdepth 2 -name s)
	sum=$(printf %s "$dir" | sha256sum | cut -c1-16)
	[ -n "$(find /sys/fs/cgroup -name "airlock-in*.0-s$sum")" ] || skip "needs: control groups that can be made"
	run_airlock session end s
	assert_status 0
	[ -z "$(find /sys/fs/cgroup -name "airlock-in*.0-s$sum")" ] || fail "they are still there"
}

@test "the output of a process that goes on is kept" {
	new_session
	step '(sleep 0.5; echo later; echo wrong >&2) & echo now'
	local run
	run=$(json_get run)
	await has_processes 0
	run_airlock output "$run"
	assert_stdout $'now\nlater'
	run_airlock output --stderr "$run"
	assert_stdout wrong
}

@test "what such a process changes is a step when it has ended, and hides nothing" {
	changes_later
}

@test "in a session that applies its changes both are applied, each at its time" {
	new_session apply
	step '(sleep 1; echo late >late) & echo now >now'
	assert_file now now
	[ ! -e late ] || fail "it is early"
	await has_processes 0
	step 'cat late'
	assert_json late stdout
	assert_file late late
}

@test "a timeout ends what belongs to the command, and not the session" {
	new_session
	step 'sleep 300 & :'
	run_airlock run --session s --json --timeout 500ms -c 'sleep 400 & sleep 500'
	assert_status 124
	run_airlock session show s --json
	assert_stdout_contains 'sleep 300'
	[[ $stdout != *'sleep 400'* ]] || fail "the timeout left its process"
}

@test "when airlock is killed its command ends, and the session goes on" {
	outlives_airlock
}

@test "processes end when nobody has run a command for the idle timeout" {
	write_config '[session]' 'idle_timeout = "1s"'
	new_session
	step 'sleep 300 & :'
	local pid
	pid=$(background_pid)
	await is_gone "$pid"
	step 'echo again'
	assert_json again stdout
}

@test "they do not end while a command runs" {
	write_config '[session]' 'idle_timeout = "1s"'
	new_session
	step 'sleep 300 & :'
	step 'sleep 2.5; ps ax'
	assert_stdout_contains 'sleep 300'
}

@test "processes end when the user logs out" {
	new_session
	step 'sleep 300 & :'
	local pid
	pid=$(background_pid)
	rmdir "$XDG_RUNTIME_DIR"
	await is_gone "$pid"
}

@test "the processes limit counts the whole session" {
	limits_the_session
}

@test "a command that cannot share says so" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root"
	run_program setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$AIRLOCK" run --session s --json -- echo ran
	assert_status 0
	assert_json ran stdout
	assert_json session-own-sandbox note_codes 0
	assert_stdout_contains 'enter namespaces'
}

# ---- hostile

@test "a command cannot look into the processes that guard it and the session" {
	cannot_look_into_guards
}

@test "who stops or kills the guard of another command ends the session and nothing else" {
	ends_the_session STOP airlock-init
	ends_the_session KILL airlock-init
}

@test "killing it at any stage of its start ends the session, too, and nothing else" {
	ends_the_session_at_any_stage
}

@test "a file that another process keeps open is not changed any more once it is held" {
	holds_what_was_judged
}

@test "nor once it is applied" {
	keeps_a_file_open apply
	assert_file victim good
}

@test "a server's sessions end with the server, however that ends" {
	cat >talk.py <<-'EOF'
		import json, os, signal, subprocess, sys, time
		server = subprocess.Popen([os.environ["AIRLOCK"], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def call(n, method, params):
		    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}) + "\n")
		    server.stdin.flush()
		    while True:
		        answer = json.loads(server.stdout.readline())
		        if answer.get("id") == n:
		            return answer["result"]
		def run(n, line):
		    return call(n, "tools/call", {"name": "run_command", "arguments": {"command": line}})
		call(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
		first = run(2, "sleep 12345 & echo started")
		assert "background" in json.dumps(first), first
		second = run(3, "pgrep -c -x sleep")
		assert "1" in second["content"][0]["text"], second
		def running():
		    return subprocess.run(["pgrep", "-f", "^sleep 12345", "-U", str(os.getuid())], stdout=subprocess.DEVNULL).returncode == 0
		assert running()
		server.send_signal(signal.SIGKILL)
		server.wait()
		for _ in range(100):
		    if not running():
		        sys.exit(0)
		    time.sleep(0.1)
		sys.exit("it outlived the server")
	EOF
	run_program python3 talk.py
	assert_status 0
}

# shellcheck disable=SC2016 # for the agent, and for the shell inside
@test "commands of opencode and pi share a session, which ends with the agent" {
	local sh agent
	sh=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-sh
	mkfifo go
	for agent in OPENCODE=1 PI_CODING_AGENT=true; do
		env "$agent" bash -c '"$0" -c "echo x >/tmp/mine; sleep 300 & :"; "$0" -c "cat /tmp/mine; pgrep -c sleep" >"$1"; read -r _ <go' \
			"$sh" "$BATS_TEST_TMPDIR/out" 3>&- &
		echo >go
		await grep -q 1 "$BATS_TEST_TMPDIR/out"
		assert_file "$BATS_TEST_TMPDIR/out" $'x\n1'
		wait $!
		await no_processes
	done
	run_airlock session list --json
	assert_stdout_contains '"session": "opencode-'
	assert_stdout_contains '"session": "pi-'
	# Another agent process has another session; one that a person named is taken.
	OPENCODE=1 run_program "$sh" -c 'cat /tmp/mine'
	assert_status 1
	OPENCODE=1 AIRLOCK_SESSION=s run_program "$sh" -c 'echo mine >/tmp/mine'
	step 'cat /tmp/mine'
	assert_json mine stdout
}

no_processes() {
	run_airlock session list --json
	! grep -q '"processes": [1-9]' <<<"$stdout"
}
