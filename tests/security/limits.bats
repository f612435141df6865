#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets status, stdout and stderr; $ in quotes is for the shell inside
# Limits hold against a command that knows how they are enforced. integration/limits.bats has what everybody meets.

load ../helpers

# Takes 120 MB in one of these ways, says so, and waits long enough for somebody to look.
HOG='
import ctypes, mmap, os, socket, sys, threading, time
way, size = sys.argv[1], 120 << 20
chunk = b"x" * (1 << 20)
libc = ctypes.CDLL(None, use_errno=True)
def fill(fd):
    for _ in range(size >> 20):
        os.write(fd, chunk)
def touch(block):
    for at in range(0, size, 4096):
        block[at] = 1
def finish():
    time.sleep(0.2)
    print("had it", flush=True)
    os._exit(0)
keep = []
if way == "private":
    touch(bytearray(size))
if way == "shared":
    keep.append(mmap.mmap(-1, size)); touch(keep[0])
if way == "memfd":
    fill(os.memfd_create("x"))
if way == "memfd mapped":
    fd = os.memfd_create("x"); os.ftruncate(fd, size); keep.append(mmap.mmap(fd, size)); touch(keep[0])
if way == "memfd hidden":
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody may look at its descriptors
    fill(os.memfd_create("x"))
if way == "memfd under way":
    a, b = socket.socketpair()
    fd = os.memfd_create("x"); fill(fd); socket.send_fds(a, [b"x"], [fd]); os.close(fd)
if way == "memfd of a thread":
    def own():
        assert libc.unshare(0x400) == 0  # CLONE_FILES
        fill(os.memfd_create("x")); time.sleep(5)
    threading.Thread(target=own, daemon=True).start(); time.sleep(0.3)
if way == "first thread gone":
    def rest():
        time.sleep(0.05)
        block = bytearray(size); touch(block); finish()
    threading.Thread(target=rest).start()
    libc.syscall(ctypes.c_long(60 if os.uname().machine == "x86_64" else 93), ctypes.c_long(0))  # exit, of this thread alone
if way == "tmp":
    fill(os.open("/tmp/x", os.O_WRONLY | os.O_CREAT))
if way == "dev shm removed":
    fd = os.open("/dev/shm/x", os.O_WRONLY | os.O_CREAT); os.unlink("/dev/shm/x"); fill(fd)
if way == "System V":
    at = libc.shmat
    at.restype = ctypes.c_void_p
    id = libc.shmget(0, ctypes.c_size_t(size), 0o1600)
    where = at(id, None, 0); ctypes.memset(where, 1, size); libc.shmdt(ctypes.c_void_p(where))
finish()'
WAYS=(private shared memfd 'memfd mapped' 'memfd hidden' 'memfd under way' 'memfd of a thread' 'first thread gone' tmp
	'dev shm removed' 'System V')

@test "memory counts in whatever form it is taken: private, shared, memory files, tmpfs, segments" {
	each_backend memory_forms
}
memory_forms() {
	local way open_ways try
	for way in "${WAYS[@]}"; do
		# Whoever on the machine gives back as much shared memory in the same moment hides it, and other tests do.
		for try in 1 2 3; do
			run_airlock run --json --memory 70M --timeout 20s -- python3 -I -c "$HOG" "$way"
			[ "$(json_get usage limit_hit)" != memory ] || break
			echo "# try $try: $way was not seen"
		done
		[ "$(json_get usage limit_hit)" = memory ] || fail "expected that it is hit: $way"
		assert_status 137
		assert_json '' stdout
	done
	# With enough of it each of them works, so that it was the limit. What is in /tmp and in segments stays. Not those that hide:
	# what other tests take at the same time could be blamed on them.
	mapfile -t open_ways < <(printf '%s\n' "${WAYS[@]}" | grep -v 'hidden\|under way\|thread')
	run_airlock run --json --memory 600M --timeout 30s -- sh -c 'for way; do python3 -I -c "$0" "$way" || echo "$way: $?"; done' "$HOG" "${open_ways[@]}"
	[ "$(json_get stdout | grep -cx 'had it')" -eq ${#open_ways[@]} ] || fail "expected that all of them work"
	assert_json null usage limit_hit
}

@test "shared memory of others on the machine is not blamed on the command" {
	each_backend others
}
others() {
	run_program python3 -c '
import os, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "run", "--json", "--memory", "60M", "--timeout", "20s", "-c", "echo started >/dev/shm/x; sleep 1; echo fine"],
                       stdin=subprocess.DEVNULL)
time.sleep(0.4)
fd = os.memfd_create("other")
for _ in range(120):
    os.write(fd, b"x" * (1 << 20))
sys.exit(run.wait())' "$AIRLOCK" </dev/null
	assert_status 0
	assert_json fine stdout
	assert_json null usage limit_hit
	# And the limit is in force.
	run_airlock run --json --memory 60M --timeout 20s -- python3 -I -c "$HOG" memfd
	assert_json memory usage limit_hit
}

# A dozen chains of processes, each of which lives for a moment and leaves one child: the bomb that is hardest to kill without a pid
# namespace, and one that never grows, whatever happens to this test.
CHAINS='import os, sys, time
beats = os.open("beats", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for _ in range(12):
    if os.fork() == 0:
        os.setsid()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            os.write(beats, b".")
            if os.fork():
                os._exit(0)
        os._exit(0)
time.sleep(60)'

landlock_works() {
	python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 3)' || skip "needs: Landlock of Linux 6.2"
}

@test "landlock: processes that replace themselves for ever end with the timeout, and none is left" {
	landlock_works
	new_marker
	run_airlock run --json --backend landlock --changes direct --timeout 1s -- python3 -I -c "$CHAINS" "$MARKER"
	assert_status 124
	assert_json timeout usage limit_hit
	# A list of processes would miss those that live for a moment only.
	local beats
	beats=$(stat -c %s beats)
	((beats > 12)) || fail "expected that it came to fork"
	sleep 0.3
	[ "$(stat -c %s beats)" -eq "$beats" ] || fail "expected that nobody is left"
	assert_no_process "$MARKER"
}

@test "landlock: a fork bomb that grows ends with its timeout, and nothing is left" {
	landlock_works
	if is_root; then skip "needs: an ordinary user, whose processes the kernel bounds"; fi
	new_marker
	# The kernel counts all of this user's processes; that many more, and no more, whatever becomes of this test.
	ulimit -u $(($(find /proc -maxdepth 1 -user "$(id -u)" -name '[0-9]*' | wc -l) + 250))
	run_airlock run --json --backend landlock --changes direct --timeout 1s -- \
		bash -c "touch started; $MARKER() { $MARKER | $MARKER & $MARKER; }; $MARKER; sleep 30" "$MARKER"
	[ "$status" -eq 124 ] || [ "$status" -eq 254 ] || fail "expected that it was ended"
	[ -e started ] || fail "expected that it began"
	assert_no_process "$MARKER"
}

@test "landlock: a limit on processes that cannot be had is refused, the profile's own is told as partial" {
	landlock_works
	run_airlock run --json --backend landlock --changes direct -- true
	assert_status 0
	local grade
	grade=$(json_get isolation limits)
	run_airlock run --json --backend landlock --changes direct --pids 30 -c 'touch ran'
	if [ "$grade" = partial ]; then
		assert_refused limit
		assert_absent ran
	else # a control group holds it
		assert_status 0
		assert_file ran ''
	fi
	run_airlock run --json --backend landlock --changes direct --pids none -c 'touch also'
	assert_status 0
	assert_file also ''
	assert_json landlock isolation backend
}
