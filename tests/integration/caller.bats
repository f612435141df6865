#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets variables; what runs inside is quoted for the other shell
# The caller's signals on their way to the command, and what of the caller's descriptors is nobody else's business.

load ../helpers

# start ARG...: airlock in the background with the usual signals; its pid is $!. A shell would have it ignore SIGINT.
start() {
	: >"$BATS_TEST_TMPDIR/out"
	env --default-signal "$AIRLOCK" "$@" </dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
}

# wait_for_output TEXT: until the started command has written it
wait_for_output() {
	local i
	for ((i = 0; i < 200; i++)); do
		if grep -qF -- "$1" "$BATS_TEST_TMPDIR/out"; then return; fi
		sleep 0.05
	done
	cat "$BATS_TEST_TMPDIR/err" >&2
	return 1
}

assert_ends_with() {
	local status=0
	wait "$1" || status=$?
	[ "$status" -eq "$2" ] || { cat "$BATS_TEST_TMPDIR/err" >&2; fail "expected exit status $2, found $status"; }
}

# ---- descriptors

@test "files of the caller do not get what was meant for a closed descriptor" {
	echo kept >"$BATS_TEST_TMPDIR/file"
	"$AIRLOCK" run -c 'echo out; echo err >&2' 7<>"$BATS_TEST_TMPDIR/file" <&- >&- 2>&-
	assert_file "$BATS_TEST_TMPDIR/file" kept
}

# Everything arrives though the pipe is full and, as below npm, does not wait.
@test "results are complete if the caller's descriptors are non-blocking" {
	seq 60000 >big
	python3 - "$AIRLOCK" <<-'EOF_PYTHON'
		import os, subprocess, sys, time
		def wholly(stream, *words):
		    ours, theirs = os.pipe()
		    os.set_blocking(theirs, False)
		    before = os.write(theirs, bytes(61440))
		    with subprocess.Popen([sys.argv[1], *words], **{stream: theirs}) as airlock:
		        os.close(theirs)
		        with open(ours, "rb") as reader:
		            said = reader.read()[before:]
		    assert airlock.returncode == 0, (words, airlock.returncode)
		    return said
		lines = b"".join(b"%d\n" % i for i in range(1, 60001))
		assert wholly("stdout", "run", "--", "cat", "big") == lines
		assert wholly("stdout", "output", "last") == lines
		assert wholly("stdout", "fs", "--workspace", ".", "read", "big") == lines
		assert wholly("stdout", "run", "--json", "--max-output", "1M", "--", "cat", "big").endswith(b"}\n")
		ours, theirs = os.pipe()
		os.set_blocking(ours, False)
		with subprocess.Popen([sys.argv[1], "fs", "--workspace", ".", "write", "given"], stdin=ours) as airlock:
		    os.close(ours)
		    time.sleep(0.2)
		    os.write(theirs, b"late\n")
		    os.close(theirs)
		assert airlock.returncode == 0 and open("given").read() == "late\n"
		said = wholly("stderr", "run", "--hold", "-c", "cat big >&2; echo 1 >new")
		assert said.startswith(lines) and b"airlock: " in said[len(lines):], said[-200:]
	EOF_PYTHON
}

@test "output that the caller's file cannot take is said to be lost, and is no success" {
	run_program sh -c '"$0" run -c "echo whole >new; echo hi" >/dev/full' "$AIRLOCK"
	assert_status 125
	assert_stderr_contains "standard output could not be written: No space left on device; the whole output: airlock output"
	assert_file new whole
	run_airlock output last
	[ "$stdout" = hi ] || fail "not kept"
	run_program sh -c '"$0" run -c "echo hi; exit 3" >/dev/full' "$AIRLOCK"
	assert_status 3
	run_program sh -c '"$0" run -c "seq 100000" | head -n 1' "$AIRLOCK"
	assert_status 0
}

@test "a limit on the size of files does not kill airlock" {
	run_program bash -c 'ulimit -f 100 && "$0" run -c "echo 1 >new; seq 100000; exit 0" >"$1"' "$AIRLOCK" "$BATS_TEST_TMPDIR/cut"
	assert_stderr_contains "File too large"
	run_airlock recover
	run_program bash -c 'ulimit -f 100 && "$0" run -c "echo 2 >new"' "$AIRLOCK"
	assert_status 0
	assert_file new 2
}

@test "input is passed on with --json too" {
	run_program "$AIRLOCK" run --json -- cat < <(printf 'one\ntwo\n')
	assert_json $'one\ntwo' stdout
}

# ---- signals

@test "input that has ended does not keep airlock busy" {
	command -v strace >/dev/null || skip "needs: strace"
	local log=$BATS_TEST_TMPDIR/log
	printf x | strace -qq -o "$log" -e trace=epoll_wait "$AIRLOCK" run -c 'cat; sleep 0.3' >"$BATS_TEST_TMPDIR/out"
	assert_file "$BATS_TEST_TMPDIR/out" x
	[ "$(wc -l <"$log")" -lt 100 ] || fail "woken $(wc -l <"$log") times"
}

@test "SIGTERM, SIGINT, SIGHUP and SIGQUIT are passed on" {
	for signal in TERM INT HUP QUIT; do
		start run -c "trap 'echo got-$signal; exit 9' $signal; echo ready; while :; do sleep 0.05; done"
		pid=$!
		wait_for_output ready
		kill -$signal $pid
		assert_ends_with $pid 9
		grep -qx "got-$signal" "$BATS_TEST_TMPDIR/out"
	done
}

@test "a command killed by a signal gives 128+N" {
	for signal in TERM INT HUP QUIT; do
		start run -c 'echo ready; exec sleep 100'
		pid=$!
		wait_for_output ready
		sleep 0.3
		kill -$signal $pid
		assert_ends_with $pid $((128 + $(kill -l $signal)))
		[ ! -s "$BATS_TEST_TMPDIR/err" ] || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	done
}

@test "a second SIGINT within two seconds ends a command that ignores the first" {
	start run -c 'trap "" INT; echo ready; while :; do sleep 0.05; done'
	pid=$!
	wait_for_output ready
	kill -INT $pid
	sleep 0.5
	kill -INT $pid
	assert_ends_with $pid 137
}

@test "two SIGINTs at the same moment count as one" {
	start run -c 'trap "echo got; got=1" INT; echo ready; until [ "$got" ]; do sleep 0.05; done; sleep 0.5; exit 6'
	pid=$!
	wait_for_output ready
	kill -INT $pid
	sleep 0.02
	kill -INT $pid
	assert_ends_with $pid 6
}

@test "signals the caller ignores stay ignored" {
	env --ignore-signal=HUP "$AIRLOCK" run -c 'echo ready; sleep 1; exit 6' </dev/null >"$BATS_TEST_TMPDIR/out" 2>&1 &
	pid=$!
	wait_for_output ready
	kill -HUP $pid
	assert_ends_with $pid 6
}
