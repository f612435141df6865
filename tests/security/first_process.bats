#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Process 1 of a sandbox tells the command's fate to the supervisor. The command has its uid, and must not be able to
# read it, stop it, steer it or speak for it.

load ../helpers

@test "its memory, environment, program and files cannot be read" {
	each_backend each_profile unreadable
}
unreadable() {
	SECRET_WORD=the-secret run_python <<-'EOF_PYTHON'
		for name in "environ", "maps", "mem", "auxv", "smaps", "io", "stack", "syscall", "pagemap":
		    attempt(name, lambda: os.read(os.open("/proc/1/" + name, os.O_RDONLY), 100))
		for name in "exe", "cwd", "root", "fd/0", "fd/3", "ns/user", "ns/mnt", "ns/pid":
		    attempt("link " + name, os.readlink, "/proc/1/" + name)
		for name in "root", "cwd", "map_files":
		    attempt("list " + name, os.listdir, "/proc/1/" + name)
	EOF_PYTHON
	assert_all_failed 20
}

@test "none of its descriptors can be opened or copied" {
	each_backend each_profile descriptors
}
descriptors() {
	run_python <<-'EOF_PYTHON'
		pidfd = os.pidfd_open(1)
		for fd in range(8):
		    for mode in os.O_RDONLY, os.O_WRONLY:
		        attempt(f"open {fd} {mode}", os.open, f"/proc/1/fd/{fd}", mode)
		    attempt(f"take {fd}", call, 438, pidfd, fd, 0)
	EOF_PYTHON
	assert_all_failed 24
}

@test "its arguments and name reveal nothing" {
	each_backend each_profile tells_nothing
}
tells_nothing() {
	run_airlock run -c ': the-secret-word; tr "\0" " " </proc/1/cmdline; cat /proc/1/comm'
	assert_status 0
	assert_stdout_contains airlock-init
	refute_stdout_contains the-secret-word
	refute_stdout_contains "$HOME"
	refute_stdout_contains bwrap
}

@test "it cannot be traced, and its memory cannot be read or written" {
	each_backend each_profile traced
}
traced() {
	run_python <<-'EOF_PYTHON'
		attempt("attach", call, "ptrace", 16, 1, None, None)
		attempt("seize", call, "ptrace", 0x4206, 1, None, None)
		class iovec(ctypes.Structure):
		    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
		local = ctypes.create_string_buffer(16)
		here, there = iovec(ctypes.addressof(local), 16), iovec(0x400000, 16)
		for name in "process_vm_readv", "process_vm_writev":
		    attempt(name, call, name, 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
	EOF_PYTHON
	assert_all_failed 4
}

@test "it cannot be killed or stopped from inside" {
	each_backend each_profile signals
}
signals() {
	run_python --timeout 20s <<-'EOF_PYTHON'
		import signal
		for number in range(1, 65):
		    if number not in (32, 33):
		        os.kill(1, number)
		import time
		time.sleep(0.1)
		state = open("/proc/1/stat").read().rpartition(")")[2].split()[0]
		print("alive", state)
		sys.exit(7)
	EOF_PYTHON
	assert_status 7
	[[ $stdout =~ ^alive\ [SR]$ ]] || fail "expected that it lives"
}

@test "its settings cannot be changed" {
	each_backend each_profile settings
}
settings() {
	run_python <<-'EOF_PYTHON'
		for name, value in ("comm", b"x"), ("coredump_filter", b"ff"), ("timerslack_ns", b"1"):
		    attempt(name, write, "/proc/1/" + name, value)
		attempt("chmod", os.chmod, "/proc/1/exe", 0o4755)
	EOF_PYTHON
	assert_all_failed 4
	assert_inside
}

# The kernel lets a process slow down another with the same uid, and take its descriptors away. PRIO_USER and
# IOPRIO_WHO_USER mean every process of the user's.
@test "it cannot be slowed down or starved" {
	each_backend each_profile slowed
}
slowed() {
	run_python <<-'EOF_PYTHON'
		import resource
		idle, all_cpus = os.sched_param(0), os.sched_getaffinity(0)
		def set_attr(pid):
		    attr = (ctypes.c_uint32 * 12)(48, 5)
		    call("syscall", 314 if os.uname().machine == "x86_64" else 274, pid, attr, 0)
		def set_ioprio(which, who):
		    call("syscall", 251 if os.uname().machine == "x86_64" else 30, which, who, 3 << 13)
		def try_all(name, pid):
		    attempt(f"{name} scheduler", os.sched_setscheduler, pid, os.SCHED_BATCH, idle)
		    attempt(f"{name} param", os.sched_setparam, pid, idle)
		    attempt(f"{name} attr", set_attr, pid)
		    attempt(f"{name} affinity", os.sched_setaffinity, pid, all_cpus)
		    attempt(f"{name} nice", os.setpriority, os.PRIO_PROCESS, pid, 19)
		    attempt(f"{name} group", os.setpriority, os.PRIO_PGRP, pid, 19)
		    attempt(f"{name} ioprio", set_ioprio, 1, pid)
		    attempt(f"{name} limits", resource.prlimit, pid, resource.RLIMIT_NOFILE, (64, 64))
		try_all("first", 1)
		attempt("first by user", os.setpriority, os.PRIO_USER, os.getuid(), 19)
		attempt("first ioprio by user", set_ioprio, 3, os.getuid())
		print("values", os.sched_getscheduler(1), os.getpriority(os.PRIO_PROCESS, 1))
		try_all("own", 0)
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c '^first.*: EPERM$' "$RAW_STDOUT")" -eq 10 ] || fail "expected ten refusals"
	[ "$(grep -c '^own.*: done$' "$RAW_STDOUT")" -eq 8 ] || fail "expected eight successes"
	assert_stdout_contains 'values 0 0'
}

@test "lowering its limits does not free the command of its own" {
	each_backend each_profile lowered
}
lowered() {
	run_python --json --memory 100M --timeout 20s <<-'EOF_PYTHON'
		import resource, time
		attempt("lower", resource.prlimit, 1, resource.RLIMIT_NOFILE, (0, 0))
		block = bytearray(300 << 20)
		for i in range(0, len(block), 4096):
		    block[i] = 1
		time.sleep(0.5)
		print("had it")
	EOF_PYTHON
	assert_status 137
	assert_json signaled status
	refute_stdout_contains 'had it'
}

@test "a command cannot forge how it ended" {
	each_backend each_profile forged
}
forged() {
	run_python --json --timeout 20s <<-'EOF_PYTHON'
		# What the first process would say: that it ended, with status 0. On every descriptor there is.
		message = (8).to_bytes(4, "little") + bytes(60)
		for fd in range(3, 64):
		    for length in 16, 24, 32, 40, 64:
		        try:
		            os.write(fd, message[:length])
		        except OSError:
		            pass
		sys.exit(9)
	EOF_PYTHON
	assert_status 9
	assert_json exited status
	assert_json 9 exit_code
	run_airlock run --json -c '(sleep 0.05; exit 0) & exit 8'
	assert_status 8
	assert_inside
}

@test "a child that outlives the command does not decide its status" {
	each_backend each_profile orphan_status
}
orphan_status() {
	run_airlock run -c 'setsid sh -c "sleep 0.2; exit 0" & kill -KILL $$'
	assert_status 137
	assert_inside
}
