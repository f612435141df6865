#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# A command cannot outlive its run, reach other processes, or get more of the machine by asking for it.

load ../helpers

@test "daemons of every kind are gone when airlock returns" {
	each_backend each_profile daemons
}
daemons() {
	new_marker
	run_python <<-EOF_PYTHON
		import signal
		def daemon(name, *steps):
		    if os.fork() == 0:
		        for step in steps:
		            step()
		        for number in range(1, 65):
		            try:
		                signal.signal(number, signal.SIG_IGN)
		            except (OSError, ValueError):
		                pass
		        os.execv("/bin/sh", [f"$MARKER-{name}", "-c", "while :; do sleep 1; done"])
		def twice():
		    if os.fork():
		        os._exit(0)
		daemon("child")
		daemon("session", os.setsid)
		daemon("double", twice, os.setsid, twice)
		daemon("group", os.setpgrp)
		daemon("stopped", lambda: os.kill(os.getpid(), 0))
		print("started")
	EOF_PYTHON
	assert_status 0
	assert_stdout started
	assert_no_process "$MARKER"
}

@test "nothing is written after airlock has returned" {
	each_backend late
}
late() {
	run_airlock run -c '(for i in $(seq 2000); do echo $i >>log; sleep 0.005; done) >/dev/null 2>&1 & echo started >>log'
	assert_status 0
	grep -q started log || fail "expected what it wrote before"
	local first second
	first=$(cksum <log)
	sleep 0.2
	second=$(cksum <log)
	[ "$first" = "$second" ] || fail "something wrote after the end"
	rm log
}

@test "airlock and its helpers cannot be found or signalled from inside" {
	each_backend each_profile supervisor
}
supervisor() {
	run_python <<-'EOF_PYTHON'
		print(os.getppid())
		attempt("parent of the first", lambda: os.kill(int(open("/proc/1/stat").read().rpartition(")")[2].split()[1]) or 99999999, 9))
		attempt("priority", os.setpriority, os.PRIO_PROCESS, 0, -5)
		attempt("realtime", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(10))
		attempt("less likely to be killed", write, "/proc/self/oom_score_adj", b"-1000")
	EOF_PYTHON
	assert_status 0
	[ "$(head -n 1 "$RAW_STDOUT")" = 1 ] || fail "expected that its parent is the first process"
	refute_stdout_contains ': done'
}

@test "limits cannot be raised, of itself or of the first process" {
	each_backend limits
}
limits() {
	run_python --fsize 1M --pids 50 <<-'EOF_PYTHON'
		import resource
		def raised(which):
		    soft, hard = resource.getrlimit(which)
		    resource.setrlimit(which, (hard + 1, hard + 1))
		for name in "FSIZE", "CORE":
		    try:
		        raised(getattr(resource, "RLIMIT_" + name))
		        print(name, "raised")
		    except (ValueError, OSError):
		        print(name, "held")
		attempt("first", lambda: resource.prlimit(1, resource.RLIMIT_CORE, (1 << 30, 1 << 30)))
	EOF_PYTHON
	assert_status 0
	assert_stdout_contains 'FSIZE held'
	assert_stdout_contains 'CORE held'
	refute_stdout_contains 'first: done'
}

@test "shared memory and queues are its own, and go with it" {
	each_backend shared
}
shared() {
	local key=$((0x42000000 + RANDOM))
	run_python <<-EOF_PYTHON
		print(call("shmget", $key, 4096, 0o1666) >= 0, call("msgget", $key, 0o1666) >= 0, call("semget", $key, 1, 0o1666) >= 0)
		open("/dev/shm/airlock-test-$key", "w").write("x")
	EOF_PYTHON
	assert_status 0
	assert_stdout 'True True True'
	if ipcs -a | grep -q "$(printf '0x%08x' $key)"; then fail "it is on the host"; fi
	assert_absent "/dev/shm/airlock-test-$key"
}

@test "a command cannot use up the user's inotify watches" {
	each_backend watches
}
watches() {
	# Root enters bwrap's own user namespace only, whose limits nobody may set from outside.
	if is_root && [ "$AIRLOCK_BACKEND" = bubblewrap ]; then skip "needs: an ordinary user, or backend native"; fi
	run_python <<-'EOF_PYTHON'
		count = 0
		try:
		    while count < 1000:
		        call("inotify_init1", 0)
		        count += 1
		except OSError as error:
		    print(errno.errorcode[error.errno], count <= 64)
	EOF_PYTHON
	assert_status 0
	assert_stdout 'EMFILE True'
}

@test "hard links to what is hidden cannot be made" {
	mkdir "$HOME/.ssh"
	echo the-secret >"$HOME/.ssh/id"
	each_backend each_profile hard_links
}
hard_links() {
	# permissive shows secrets: what is there can be read, but not linked to.
	run_python <<-'EOF_PYTHON'
		secret = os.environ["HOME"] + "/.ssh/id"
		for place in "linked", os.environ["HOME"] + "/playground/linked", "/tmp/linked":
		    attempt(place, os.link, secret, place)
		    attempt("renamed " + place, os.rename, secret, place)
	EOF_PYTHON
	assert_all_failed 6
	assert_file "$HOME/.ssh/id" the-secret
}
