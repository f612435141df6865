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
	run_python --json --explain-denials <<-'END'
		import threading
		decoy, secret = (os.fsencode(os.path.realpath(p)) for p in ("decoy-file-with-a-name-as-long-as-that", os.path.expanduser("~")))
		secret += b"/.ssh/id"
		path, stop, leaked = ctypes.create_string_buffer(4096), False, 0
		def swap():
		    while not stop:
		        path.value = secret
		        path.value = decoy
		thread = threading.Thread(target=swap)
		path.value = decoy
		thread.start()
		for i in range(1000):
		    fd = libc.open(path, os.O_RDONLY)
		    if fd >= 0:
		        leaked += b"the-secret" in os.read(fd, 100)
		        os.close(fd)
		stop = True
		thread.join()
		print("leaked", leaked)
	END
	assert_status 0
	assert_json 'leaked 0' stdout
}
@test "a path that changes under the reader opens nothing" {
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
	[[ $stdout == *over* ]] || fail "expected it to come to its end"
}
@test "odd paths, descriptors and addresses" {
	each_backend odd_paths
}

# prlimit(2) needs nothing but the uid: without descriptors it cannot look, and lets everything go on.
# (Where it watches a limit it kills who blinds it.)
blinded() {
	run_python --json --explain-denials --pids none <<-'END'
		import resource
		attempt("blind", resource.prlimit, 1, resource.RLIMIT_NOFILE, (0, 0))
		attempt("write", write, "/etc/x", b"x", os.O_CREAT)
		print(open("file").read())
	END
	assert_status 0
	[[ $stdout == *original* ]] || fail "expected it to go on"
}
@test "a first process that is blinded hinders nobody" {
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
@test "the command has none of its descriptors" {
	each_backend descriptors
}

# Many processes that are killed in the middle of a call, and their numbers used again.
churn() {
	run_airlock run --json --explain-denials -c '
		for i in $(seq 40); do
			sh -c "while :; do echo >/etc/x; cat <file; done" >/dev/null 2>&1 &
			kill -9 $!
		done
		wait
		echo over'
	assert_status 0
	assert_json over stdout
}
@test "processes that die while they wait for the answer" {
	each_backend churn
}
