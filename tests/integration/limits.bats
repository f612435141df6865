#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Time, memory, processes, file size: what stops a command, and that the result says so truly.

load ../helpers

# ---- time

@test "every form of a duration" {
	local form
	for form in 90s=90000 90=90000 5m=300000 1h=3600000 500ms=500 1.5s=1500 none=null; do
		run_airlock explain --json --timeout "${form%=*}" -- true
		assert_status 0
		assert_json "${form#*=}" limits timeout_ms
	done
}

@test "an invalid duration is wrong usage" {
	local form
	for form in 0 0s -1s 5x s 1h30 never 99999999999999999999s ''; do
		run_airlock run --json --timeout="$form" -- true
		assert_status 2
		assert_json usage error code
	done
}

@test "the timeout comes from the option, the variable, the file and the profile" {
	each_backend sources
}
sources() {
	AIRLOCK_TIMEOUT=200ms run_airlock run -- sleep 30
	assert_status 124
	write_config '[profiles.quick]' 'timeout = "200ms"' '[profiles.moderate]' 'timeout = "300ms"'
	run_airlock run -- sleep 30
	assert_status 124
	assert_stderr_contains 'timed out after 300 ms'
	run_airlock run --profile quick -- sleep 30
	assert_status 124
	assert_stderr_contains 'timed out after 200 ms'
	run_airlock run --timeout none -- sleep 0.4
	assert_status 0
}

@test "the time is elapsed time, and counts from the start" {
	each_backend elapsed
}
elapsed() {
	run_airlock run --json --timeout 500ms -- sleep 60
	assert_status 124
	assert_json timeout usage limit_hit
	python3 -c 'import sys; sys.exit(not 480 <= float(sys.argv[1]) < 25000)' "$(json_get duration_ms)" ||
		fail "expected about 500 ms"
}

@test "a command that ends in time is not killed" {
	each_backend in_time
}
in_time() {
	run_airlock run --json --timeout 30s -- sleep 0.1
	assert_status 0
	assert_json exited status
	assert_json null usage limit_hit
	assert_json null error
}

# ---- memory

HOG='import sys, time
block = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(block), 4096):
    block[i] = 1
print("had it", flush=True)
time.sleep(0.3)'

@test "a command that takes more memory than it may is killed, and the result says memory" {
	each_backend memory
}
memory() {
	run_airlock run --json --memory 100M -- python3 -I -c "$HOG" 400
	assert_status 137
	assert_json signaled status
	assert_json 9 signal
	assert_json memory usage limit_hit
}

# Four processes that would have 60 MB each at the same time; how many of them live to see it?
HOGS='import os, time
pids, ready, (go, end) = [], [], os.pipe()
for _ in range(4):
    ready.append(os.pipe())
    pids.append(os.fork())
    if pids[-1] == 0:
        os.close(end)
        block = bytearray(60 << 20)
        for i in range(0, len(block), 4096):
            block[i] = 1
        os.write(ready[-1][1], b"x")
        os.read(go, 1)
        os._exit(0)
    os.close(ready[-1][1])
for fd, _ in ready:
    os.read(fd, 1)
time.sleep(0.2)
print(sum(os.waitpid(pid, os.WNOHANG)[0] == 0 for pid in pids))'

@test "memory counts over all processes of the command" {
	each_backend memory_of_all
}
memory_of_all() {
	run_airlock run --json --memory 150M -- python3 -I -c "$HOGS"
	assert_json memory usage limit_hit
	[ "$status" -eq 137 ] || [ "$(json_get stdout)" -lt 4 ] || fail "nobody was killed"
}

@test "a command within its memory is not touched" {
	each_backend memory_enough
}
memory_enough() {
	run_airlock run --json --memory 200M -- python3 -I -c "$HOG" 60
	assert_status 0
	assert_json null usage limit_hit
}

# ---- processes

# As many processes as it can get, at most 60 of them, all at once.
FORK='import os, signal, time
children = []
try:
    while len(children) < 60:
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        children.append(pid)
except BlockingIOError:
    pass
print(len(children))
time.sleep(0.1)
for pid in children:
    os.kill(pid, signal.SIGKILL)'

# As root it takes a control group; without one the answer must be no.
assert_pids_refused_or() {
	if is_root && [ "$status" -eq 125 ]; then
		assert_refused limit
		assert_json pids error subject
		return 1
	fi
}

@test "a command gets no more processes than it may, and the result says pids" {
	each_backend processes
}
processes() {
	run_airlock run --json --pids 20 -- python3 -I -c "$FORK"
	assert_pids_refused_or || return 0
	assert_status 0
	local got
	got=$(json_get stdout)
	((got >= 15 && got <= 20)) || fail "expected about 20"
	assert_json pids usage limit_hit
}

@test "a fork bomb ends at its limit and leaves nothing" {
	each_backend bomb
}
bomb() {
	new_marker
	run_airlock run --json --pids 50 --timeout 2s -- bash -c "$MARKER() { $MARKER | $MARKER & }; $MARKER; sleep 30"
	assert_pids_refused_or || return 0
	[ "$status" -eq 124 ] || [ "$status" -eq 254 ] || fail "expected that it was ended"
	assert_no_process "$MARKER"
}

@test "a command within its processes is not touched" {
	each_backend processes_enough
}
processes_enough() {
	run_airlock run --json --pids 100 -- python3 -I -c "$FORK"
	assert_pids_refused_or || return 0
	assert_status 0
	assert_json 60 stdout
	assert_json null usage limit_hit
}

@test "the limit counts the command's processes, not the user's" {
	each_backend own_processes
}
own_processes() {
	local pids=()
	for _ in {1..30}; do
		sleep 20 3>&- &
		pids+=($!)
	done
	run_airlock run --json --pids 20 -- sh -c 'sleep 0.1 & sleep 0.1 & wait; echo fine'
	kill "${pids[@]}"
	assert_pids_refused_or || return 0
	assert_status 0
	assert_json fine stdout
}

# ---- file size

@test "a file does not grow larger than it may, and the result says fsize" {
	each_backend file_size
}
file_size() {
	run_airlock run --json --fsize 1M -- dd if=/dev/zero of=big bs=64K count=100
	assert_status 153
	assert_json signaled status
	assert_json 25 signal
	assert_json fsize usage limit_hit
	[ ! -e big ] || [ "$(stat -c %s big)" -le 1048576 ] || fail "it is too large"
}

@test "a shell that reports the signal of its child tells the same" {
	each_backend file_size_in_shell
}
file_size_in_shell() {
	run_airlock run --json --fsize 1M -c 'dd if=/dev/zero of=big bs=64K count=100'
	assert_status 153
	assert_json fsize usage limit_hit
	# Python does not die of the signal.
	run_airlock run --json --fsize 1M -- python3 -c 'open("other", "wb").write(bytes(3 << 20))'
	assert_status 1
	assert_json fsize usage limit_hit
}

@test "a file within its size is not touched" {
	each_backend file_size_enough
}
file_size_enough() {
	run_airlock run --json --fsize 1M -- dd if=/dev/zero of=fits bs=64K count=16
	assert_status 0
	assert_json null usage limit_hit
	[ "$(stat -c %s fits)" -eq 1048576 ]
}

# ---- what the result says of them

@test "isolation.limits is enforced when there is nothing to limit but time" {
	each_backend nothing_to_limit
}
nothing_to_limit() {
	run_airlock run --json --profile permissive --timeout 5s -- true
	assert_status 0
	assert_json enforced isolation limits
}

# Who came by ssh or a console has a systemd that can be asked for a group.
has_own_systemd() {
	! is_root && [ -O "/run/user/$(id -u)/bus" ] && [ -x /usr/bin/busctl ]
}

@test "without a group of one's own the user's systemd makes one, and takes it away again" {
	has_own_systemd || skip "needs: a user's systemd, as after a login (make vm has one)"
	if memory_group_place >/dev/null; then skip "needs: a login without a delegated control group"; fi
	each_backend in_scope
}
in_scope() {
	run_airlock run --json --memory 100M -- python3 -I -c "$HOG" 400
	assert_json enforced isolation limits
	assert_json memory usage limit_hit
	assert_json 137 exit_code
	run_airlock run --json --memory 200M -- python3 -I -c "$HOG" 60
	assert_json 0 exit_code
	eventually no_scope_is_left
}
no_scope_is_left() {
	! busctl --address="unix:path=/run/user/$(id -u)/bus" tree org.freedesktop.systemd1 2>/dev/null | grep -q 'airlock_2d'
}

@test "isolation.limits says partial where memory is only watched" {
	each_backend truthful
}
truthful() {
	local expected=partial
	if memory_group_place >/dev/null || has_own_systemd; then expected=enforced; fi
	run_airlock run --json --profile permissive --memory 500M -- true
	assert_status 0
	assert_json $expected isolation limits
}

# Where we can make a control group that limits memory, as airlock would; fails when nowhere.
memory_group_place() {
	python3 - <<'EOF_PYTHON'
import os, sys
own = {}
for line in open("/proc/self/cgroup"):
    number, names, path = line.strip().split(":", 2)
    for name in names.split(","):
        own[name] = path
def take_if_possible(where):
    probe = f"{where}/airlock-test-{os.getpid()}"
    try:
        os.mkdir(probe)
        os.rmdir(probe)
        print(where)
        sys.exit(0)
    except OSError:
        pass
for line in open("/proc/self/mountinfo"):
    fields, rest = line.split(" - ")
    point, (kind, _, options) = fields.split()[4], rest.split()[:3]
    if kind == "cgroup" and "memory" in options.split(","):
        take_if_possible(point + own.get("memory", "").rstrip("/"))
        sys.exit(1)
    if kind == "cgroup2" and "" in own:
        here = point + own[""].rstrip("/")
        for where in (os.path.dirname(here), here):
            try:
                controls = open(where + "/cgroup.subtree_control").read().split()
            except OSError:
                continue
            if "memory" in controls:
                take_if_possible(where)
sys.exit(1)
EOF_PYTHON
}

@test "without a sandbox a limit that cannot be enforced is refused" {
	memory_group_place >/dev/null && skip "needs: no control group for memory"
	AIRLOCK_YES=true run_airlock run --json --backend passthrough --memory 100M -- touch started
	assert_refused limit
	assert_json memory error subject
	assert_absent started
}

@test "an invalid size or number is wrong usage" {
	local option
	for option in --memory=0 --memory=x --memory=-1 --memory=1K --pids=0 --pids=x --pids=1.5 --fsize=x --fsize=-1; do
		run_airlock run --json "$option" -- touch started
		assert_status 2
		assert_json usage error code
	done
	assert_absent started
}

@test "usage tells processor time and memory of the command" {
	each_backend usage
}
usage() {
	run_airlock run --json -- python3 -I -c 'x = bytearray(50 << 20)
for i in range(2000000): pass'
	assert_status 0
	python3 -c 'import sys; sys.exit(not (float(sys.argv[1]) > 20 and int(sys.argv[2]) > 50000))' \
		"$(json_get usage cpu_ms)" "$(json_get usage max_rss_kb)" || fail "usage is not true"
}

# Containers may share one tree of groups, and a number that means nobody here is somebody there.
@test "groups that a dead airlock left are removed, those of another pid namespace are not" {
	local where here left gone=4190000
	where=$(memory_group_place) || skip "needs: a control group for memory"
	[ ! -e /proc/$gone ] || skip "needs: a process number that nobody has"
	here=$(stat -Lc %i /proc/self/ns/pid)
	mkdir "$where/airlock-in$here.$gone-$$" "$where/airlock-in1.$gone-$$"
	run_airlock run --memory 1G -- true
	left=$(cd "$where" && echo airlock-in*."$gone-$$")
	rmdir "$where"/airlock-in*."$gone-$$"
	assert_status 0
	[ "$left" = "airlock-in1.$gone-$$" ] || fail "left: $left"
}
