#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The caller's open files do not reach the command: it has 0, 1 and 2, and they are pipes or a terminal of ours.

load ../helpers

# every_way FUNCTION: with each backend, and without a sandbox
every_way() {
	each_backend "$@"
	AIRLOCK_BACKEND=passthrough AIRLOCK_YES=true "$@"
}

# The program that lists what it has open, one "NUMBER TYPE" a line, without the descriptor of the listing itself.
LIST='
import os, stat
kinds = {stat.S_IFIFO: "pipe", stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFCHR: "device", stat.S_IFSOCK: "socket"}
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print(name, kinds[stat.S_IFMT(os.fstat(int(name)).st_mode)])
    except OSError:
        pass'

@test "only 0, 1 and 2 are open: pipes, and /dev/null where no input can come" {
	every_way only_three
}
only_three() {
	mkdir -p "$HOME/victim"
	exec 7<"$HOME/victim" 8>>"$HOME/victim/log" 9</dev/null 200<"$HOME" 1000<"$HOME/victim"
	run_airlock run -- python3 -I -S -c "$LIST"
	exec 7<&- 8>&- 9<&- 200<&- 1000<&-
	assert_status 0
	assert_stdout $'0 device\n1 pipe\n2 pipe'
}

@test "files, directories and devices as standard descriptors become pipes" {
	every_way standard_files
}
standard_files() {
	"$AIRLOCK" run -- python3 -I -S -c "$LIST" <file >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
	assert_file "$BATS_TEST_TMPDIR/out" $'0 pipe\n1 pipe\n2 pipe'
	"$AIRLOCK" run -- python3 -I -S -c "$LIST" </dev/zero >"$BATS_TEST_TMPDIR/out" 2>/dev/null
	assert_file "$BATS_TEST_TMPDIR/out" $'0 pipe\n1 pipe\n2 pipe'
}

@test "a descriptor of a host directory does not reach the command" {
	each_backend no_way_out
}
no_way_out() {
	mkdir -p "$HOME/victim"
	exec 9<"$HOME/victim"
	run_airlock run -c 'touch /proc/self/fd/9/X; ls /proc/*/fd/9/; cat <&9; echo tried'
	exec 9<&-
	assert_stdout tried
	assert_absent "$HOME/victim/X"
}

@test "a file given as input or output cannot be changed beyond what is passed through" {
	each_backend passed_through
}
passed_through() {
	printf 'input' >"$BATS_TEST_TMPDIR/in"
	printf 'kept\n' >"$BATS_TEST_TMPDIR/log"
	"$AIRLOCK" run -c 'echo x >/proc/self/fd/0; truncate -s 0 /dev/stdout /dev/stdin; chmod 777 /dev/stdout; echo appended' \
		<"$BATS_TEST_TMPDIR/in" >>"$BATS_TEST_TMPDIR/log" 2>/dev/null
	assert_file "$BATS_TEST_TMPDIR/in" input
	assert_file "$BATS_TEST_TMPDIR/log" $'kept\nappended'
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/log")" = 644 ]
}

@test "sockets of the caller do not reach the command" {
	every_way sockets
}
sockets() {
	run_program python3 -c '
import os, socket, sys
a, b = socket.socketpair()
os.set_inheritable(a.fileno(), True)
os.dup2(a.fileno(), 50)
os.execv(sys.argv[1], sys.argv[1:])' "$AIRLOCK" run -- python3 -I -S -c "$LIST" </dev/null
	assert_status 0
	assert_stdout $'0 device\n1 pipe\n2 pipe'
}
