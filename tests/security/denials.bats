#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets status, stdout and stderr
# Explaining what was refused looks at what a hostile command does. It must give it nothing: no way in, no hold on the
# first process, no end that does not come.

load ../helpers

# The path changes between the look and the call: what is read is decided by the kernel and the mounts alone.
a_race() {
	mkdir -p "$HOME/.ssh"
	echo the-secret >"$HOME/.ssh/id"
	printf '%-200s' x >decoy-file-with-a-name-as-long-as-that
	run_python --json --explain-denials <<<"$RACE"
	assert_status 0
	assert_json 'leaked False' stdout
	# The same race is won on the host: otherwise it proves nothing.
	run_outside <<<"$RACE"
	assert_stdout 'leaked True'
}
# Another process writes one path and then the other, for threads of python take turns and would never meet in the call.
RACE='
import mmap, signal, time
decoy, secret = b"decoy-file-with-a-name-as-long-as-that\0", os.fsencode(os.path.expanduser("~")) + b"/.ssh/id\0"
shared = mmap.mmap(-1, 4096)
path = (ctypes.c_char * 4096).from_buffer(shared)
swapper = os.fork()
if swapper == 0:
    while True:
        shared[0 : len(secret)] = secret
        shared[0 : len(decoy)] = decoy
leaked, end = False, time.monotonic() + 1
while not leaked and time.monotonic() < end:
    for i in range(200):
        fd = libc.open(path, os.O_RDONLY)
        if fd >= 0:
            leaked |= b"the-secret" in os.read(fd, 100)
            os.close(fd)
os.kill(swapper, signal.SIGKILL)
os.waitpid(swapper, 0)
print("leaked", leaked)'
@test "a path that changes while airlock reads it gives no access" {
	each_backend a_race
}

# Everything a program may name, and no call waits for what is behind the name.
odd_paths() {
	mkfifo fifo
	ln -s loop loop
	run_python --json --explain-denials --changes discard <<-'END'
		deep = "/".join("d" * 1 for i in range(1500))
		for name in "loop", "fifo/x", "loop/x", "/proc/1/root/etc/x", "/proc/self/fd/1/x", "/proc/1/fd/3", "/dev/fd/99", deep, "", "/" * 4000, "x" * 4095:
		    attempt("open", os.open, name, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK)
		fd = os.open(".", os.O_RDONLY)
		attempt("at", os.open, "../outside", os.O_WRONLY | os.O_CREAT, 0o600)
		attempt("bad fd", lambda: os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=9999))
		attempt("file fd", lambda: os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=1))
		attempt("address", call, "connect", socket.socket().fileno(), 1, 16)
		attempt("short", call, "connect", socket.socket().fileno(), b"", 0)
		attempt("long", call, "connect", socket.socket().fileno(), b"x" * 200, 200)
		attempt("openat2", call, 437, -100, b"x", 1, 24)
		print("over")
	END
	assert_status 0
	[[ $stdout == *'at: EROFS'*over* || $stdout == *'at: ENOENT'*over* ]] || fail "expected it to come to its end"
	assert_absent ../outside
}
@test "odd paths, descriptors and addresses are reported or ignored, never fatal" {
	each_backend odd_paths
}

# prlimit(2) needs nothing but the uid: without descriptors it cannot look, and lets everything go on.
# (Where it watches a limit it kills who blinds it.)
blinded() {
	run_python --json --explain-denials --pids none <<-'END'
		import resource
		attempt("blind", resource.prlimit, 1, resource.RLIMIT_NOFILE, (0, 0))
		attempt("write", write, "../outside", b"x", os.O_CREAT)
		print(open("file").read())
	END
	assert_status 0
	[[ $stdout == *original* ]] || fail "expected it to go on"
	assert_absent ../outside
}
@test "a command goes on if the first process can no longer observe it" {
	each_backend blinded
}

# The descriptors of the listener and of the record are the first process's alone.
descriptors() {
	run_python --explain-denials <<-'END'
		print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])
		maps = open("/proc/self/maps").read()
		print("airlock" in maps or "seccomp" in maps)
	END
	assert_stdout '[0, 1, 2]
False'
}
@test "the command inherits no descriptor of the observer" {
	each_backend descriptors
}

# Many processes that are killed in the middle of a call, and their numbers used again.
churn() {
	run_airlock run --json --explain-denials -c '
		for i in $(seq 40); do
			sh -c "while :; do echo >../outside; cat <file; done" >/dev/null 2>&1 &
			kill -9 $!
		done
		wait
		echo >../outside
		echo over' 
	assert_status 0
	assert_json over stdout
	assert_absent ../outside
}
@test "processes may die while they wait for the observer's answer" {
	each_backend churn
}
