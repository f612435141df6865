#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2034 # status, stdout and stderr are set or read in the helpers
# Signals, and that nothing a command started outlives its run.

load ../helpers

setup() {
	default_setup
	new_marker
}

teardown() {
	pkill -KILL -f -- "$MARKER" || true
}

# A line for the shell inside: starts N processes that would stay for 100 s, in as many ways as there are to get away,
# and goes on when they all run.
stay() {
	cat <<-EOF_SHELL
		stay() { bash -c 'trap "" HUP INT TERM; exec -a $MARKER sleep 100'; }
		stay &
		setsid bash -c 'trap "" HUP INT TERM; exec -a $MARKER sleep 100' &
		(setsid setsid nohup bash -c 'exec -a $MARKER sleep 100' >/dev/null 2>&1 &)
		until [ "\$(pgrep -c -f '^$MARKER 100')" -eq 3 ]; do sleep 0.02; done
	EOF_SHELL
}

# start OPTION...: airlock in the background, with the signals of a foreground process; its pid becomes $PID
start() {
	RAN=("$AIRLOCK" "$@")
	RAW_STDOUT=$BATS_TEST_TMPDIR/stdout RAW_STDERR=$BATS_TEST_TMPDIR/stderr
	: >"$RAW_STDOUT"
	set -m
	"$AIRLOCK" "$@" </dev/null >"$RAW_STDOUT" 2>"$RAW_STDERR" 3>&- &
	PID=$!
	set +m
}

# finish: waits for it; then as after run_airlock
finish() {
	status=0
	wait "$PID" || status=$?
	stdout=$(cat "$RAW_STDOUT")
	stderr=$(cat "$RAW_STDERR")
}

says() {
	grep -q -- "$1" "$RAW_STDOUT"
}

@test "what a command leaves behind is dead when airlock returns" {
	each_backend left_behind
}
left_behind() {
	run_airlock run --timeout 30s -c "$(stay)
		echo left"
	assert_status 0
	assert_stdout left
	assert_no_process "$MARKER"
}

@test "a daemon that holds the output open does not hold the run" {
	each_backend daemon
}
daemon() {
	local start=$SECONDS
	run_airlock run --timeout 30s -c "setsid bash -c 'exec -a $MARKER sleep 100' & echo hello"
	assert_status 0
	assert_stdout hello
	[ $((SECONDS - start)) -lt 10 ] || fail "it waited for the daemon"
	assert_no_process "$MARKER"
}

@test "without a sandbox nothing is left behind either" {
	AIRLOCK_YES=true run_airlock run --backend passthrough --timeout 30s -c "$(stay)
		echo left"
	assert_status 0
	assert_stdout left
	assert_no_process "$MARKER"
	AIRLOCK_YES=true run_until_timeout ready --backend passthrough -c "$(stay)
		echo ready
		wait"
	assert_status 124
	assert_no_process "$MARKER"
}

@test "a late writer cannot write once airlock has returned" {
	each_backend late_writer
}
late_writer() {
	run_airlock run -c 'setsid sh -c "while :; do echo x >>late; done" & until [ -s late ]; do sleep 0.01; done'
	assert_status 0
	local size
	size=$(stat -c %s late)
	sleep 0.2
	[ "$(stat -c %s late)" -eq "$size" ] || fail "somebody still writes"
}

@test "a timeout ends everything, also what ignores SIGTERM, after a grace period" {
	each_backend timeout_tree
}
timeout_tree() {
	local start=$SECONDS
	run_until_timeout 'all here' --json -c "$(stay)
		trap '' TERM
		echo all here
		while :; do sleep 0.1; done"
	assert_status 124
	assert_json timeout status
	assert_json 'all here' stdout
	assert_no_process "$MARKER"
	[ $((SECONDS - start)) -lt 60 ] || fail "it took too long"
}

@test "a command that ends itself on SIGTERM may finish its work within the grace period" {
	each_backend grace
}
grace() {
	run_until_timeout ready -c 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
	assert_status 124
	assert_stdout $'ready\nsaved'
}

@test "a stopped command is ended by the timeout too" {
	each_backend stopped
}
stopped() {
	run_until_timeout ready -c 'echo ready; kill -STOP $$'
	assert_status 124
}

# ---- signals to airlock

@test "SIGINT, SIGTERM, SIGHUP and SIGQUIT reach the command, which may answer as it likes" {
	each_backend forwarded
}
forwarded() {
	local signal
	for signal in INT TERM HUP QUIT; do
		start run -c "trap 'echo got $signal; exit 5' $signal; echo ready; while :; do sleep 0.02; done"
		eventually says ready
		kill -"$signal" "$PID"
		finish
		assert_status 5
		assert_stdout $'ready\n'"got $signal"
	done
}

@test "a command that does not handle the signal dies of it, with everything it started" {
	each_backend died_of_it
}
died_of_it() {
	local signal
	for signal in INT TERM; do
		start run --json -c "setsid bash -c 'exec -a $MARKER sleep 100' & echo ready; exec sleep 100"
		eventually pgrep -f "^$MARKER 100" >/dev/null
		kill -"$signal" "$PID"
		finish
		assert_status $((128 + $(kill -l "$signal")))
		assert_json signaled status
		assert_json "$(kill -l "$signal")" signal
		assert_no_process "$MARKER"
	done
}

@test "a second SIGINT kills what ignores the first" {
	each_backend second_interrupt
}
second_interrupt() {
	start run -c "trap 'echo no' INT; $(stay)
		echo ready; while :; do sleep 0.02; done"
	eventually says ready
	kill -INT "$PID"
	eventually says no
	sleep 0.2
	kill -INT "$PID"
	finish
	assert_status 137
	assert_no_process "$MARKER"
}

@test "SIGTERM ends what ignores it after a grace period" {
	each_backend insisting
}
insisting() {
	start run -c "trap '' TERM; $(stay)
		echo ready; while :; do sleep 0.02; done"
	eventually says ready
	kill -TERM "$PID"
	finish
	assert_status 137
	assert_no_process "$MARKER"
}

@test "a signal the caller ignores is not passed on" {
	each_backend ignored
}
ignored() {
	run_program sh -c 'trap "" INT HUP; "$@" & sleep 0.3; kill -INT $!; kill -HUP $!; wait $!' sh \
		"$AIRLOCK" run -c 'trap "exit 5" INT HUP; sleep 1; sleep 0.1; exit 6' </dev/null
	assert_status 6
}

@test "kill -9 of airlock leaves nothing behind" {
	each_backend killed
}
killed() {
	start run -c "$(stay)
		echo ready; sleep 100"
	eventually says ready
	[ "$(pgrep -c -f "^$MARKER 100")" -eq 3 ] || fail "they should run"
	kill -KILL "$PID"
	finish
	assert_status 137
	eventually eval "! pgrep -f -- '$MARKER' >/dev/null"
}

# As the reaper of everything airlock leaves, at moments spread over the whole run.
@test "kill -9 of airlock at any moment leaves nothing behind" {
	each_backend killed_at_any_moment
}
killed_at_any_moment() {
	run_program timeout 50 python3 -c "$REAPER"'
import time
for round in range(40):
    run = subprocess.Popen([sys.argv[1], "run", "--", "sleep", "60"], stdin=subprocess.DEVNULL)
    time.sleep(round / 500)
    run.kill()
    run.wait()
    expect_nobody(10)
' "$AIRLOCK"
	assert_status 0
	assert_stderr ''
}

# A parent that adopts whatever its descendants leave. expect_nobody(SECONDS): all of it is gone within that time.
REAPER='
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
def expect_nobody(seconds):
    end = time.monotonic() + seconds
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0 and time.monotonic() > end:
            left = subprocess.run(["ps", "-o", "pid,stat,args", "--ppid", str(os.getpid())], stdout=subprocess.PIPE)
            sys.exit(f"left behind: {left.stdout.decode()}")
        if pid == 0:
            time.sleep(0.005)
'

# ---- many runs

@test "20 runs at once do not get into each other's way" {
	each_backend at_once
}
at_once() {
	local i pids=() status
	for i in {1..20}; do
		(echo "in $i" | "$AIRLOCK" run -c "cat; echo out $i; exit $i" >"$BATS_TEST_TMPDIR/$i") 3>&- &
		pids+=($!)
	done
	for i in {1..20}; do
		status=0
		wait "${pids[i - 1]}" || status=$?
		[ "$status" -eq "$i" ] || fail "run $i ended with $status"
		[ "$(cat "$BATS_TEST_TMPDIR/$i")" = "in $i"$'\n'"out $i" ] || fail "run $i said $(cat "$BATS_TEST_TMPDIR/$i")"
	done
	[ "$(find "$XDG_STATE_HOME/airlock/runs" -mindepth 1 -maxdepth 1 | wc -l)" -eq 20 ]
	rm -rf "$XDG_STATE_HOME/airlock/runs"
}

@test "sixty runs in a row leave nothing but their records" {
	each_backend in_a_row
}
# The last run's work directory of a cache is there until the next run: its name is no difference.
files_in_home() {
	find "$HOME" -path '*/airlock/runs/*' -prune -o -print | sed -E 's/[0-9]{8}-[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}/RUN/' | sort
}
in_a_row() {
	local _
	for _ in 1 2 3; do run_airlock run -- true; done # until what is kept for the next run is there
	files_in_home >"$BATS_TEST_TMPDIR/before"
	run_program timeout 55 python3 -c "$REAPER"'
import glob
expect_nobody(10)
pids = set()
for _ in range(60):
    run = subprocess.Popen([sys.argv[1], "run", "--memory", "1G", "--pids", "100", "--", "true"], stdin=subprocess.DEVNULL)
    pids.add(str(run.pid))
    if run.wait():
        sys.exit(f"ended with {run.returncode}")
    expect_nobody(0)
left = [path for depth in range(1, 6) for path in glob.glob("/sys/fs/cgroup/" + "*/" * depth + "airlock-*")
        if path.rpartition("airlock-")[2].split("-")[0].rpartition(".")[2] in pids]
if left:
    sys.exit(f"control groups left: {left}")
' "$AIRLOCK"
	assert_status 0
	assert_stderr ''
	files_in_home | diff "$BATS_TEST_TMPDIR/before" - >&2 || fail "files were left"
}

@test "--end-with ends the command with another process, whatever the command ignores" {
	each_backend end_with
}
end_with() {
	sleep 300 3>&- &
	local other=$!
	start run --end-with "$other" --timeout 60s -c "trap '' TERM; $(stay)
		echo started; sleep 100"
	eventually says started
	kill -0 "$PID" || fail "it ended too early"
	kill "$other"
	finish
	assert_status 137
	assert_no_process "$MARKER"
	run_airlock run --end-with 4194999 -c 'echo ran'
	assert_status 125
	[ -z "$stdout" ] || fail "it ran"
	run_airlock run --end-with some -c true
	assert_status 2
}
