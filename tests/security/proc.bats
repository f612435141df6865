#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# /proc and /sys: the sandbox's own processes, and nothing of the machine that could be changed. As root too, whose uid
# alone opens most of it.

load ../helpers

@test "/proc shows the sandbox's processes only" {
	each_backend each_profile own_processes
}
own_processes() {
	new_marker
	bash -c "exec -a $MARKER sleep 60" 3>&- &
	local sleeper=$!
	eventually pgrep -f "^$MARKER 60" >/dev/null
	run_airlock run -- sh -c 'ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline | tr "\0" " "; ls /proc/'"$sleeper"'/fd'
	kill "$sleeper"
	[ "$(head -n 1 "$RAW_STDOUT")" -le 5 ] || fail "expected a handful of processes"
	refute_stdout_contains "$MARKER"
}

@test "settings of the kernel cannot be written" {
	each_backend each_profile settings
}
settings() {
	run_python <<-'EOF_PYTHON'
		for name in "kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "kernel/sysrq", "kernel/randomize_va_space", \
		            "vm/drop_caches", "vm/overcommit_memory", "fs/suid_dumpable", "fs/file-max", "dev/tty/legacy_tiocsti", \
		            "net/ipv4/ip_forward", "user/max_user_namespaces", "kernel/yama/ptrace_scope":
		    attempt("open " + name, os.open, "/proc/sys/" + name, os.O_WRONLY)
		for name in "sysrq-trigger", "kmsg", "kcore", "kallsyms", "irq/default_smp_affinity", "mtrr":
		    attempt("write " + name, write, "/proc/" + name, b"\n")
	EOF_PYTHON
	assert_all_failed 19
	assert_inside # an ordinary user cannot write these anywhere
}

@test "no file below /proc/sys is writable" {
	each_backend nothing_writable
}
nothing_writable() {
	local profile
	for profile in strict moderate permissive; do
		# Where sandboxes may be nested /proc must stay whole; what a user can write there is the sandbox's own.
		if [ $profile = permissive ] && ! is_root; then continue; fi
		run_python --profile $profile <<-'EOF_PYTHON'
			for where, _, files in os.walk("/proc/sys"):
			    for name in files:
			        if os.access(f"{where}/{name}", os.W_OK):
			            print(f"{where}/{name}")
		EOF_PYTHON
		assert_status 0
		assert_stdout ''
	done
}

@test "/sys and the control groups cannot be written" {
	each_backend each_profile sys
}
sys() {
	run_python <<-'EOF_PYTHON'
		import glob
		attempt("mkdir", os.mkdir, "/sys/fs/cgroup/airlock-test")
		for group in sorted(glob.glob("/sys/fs/cgroup/*/"))[:3]:
		    attempt("mkdir " + group, os.mkdir, group + "airlock-test")
		    attempt("procs " + group, write, group + "cgroup.procs", b"0")
		for name in "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled":
		    attempt("open " + name, os.open, name, os.O_WRONLY)
	EOF_PYTHON
	assert_status 0
	if grep ': done$' "$RAW_STDOUT"; then fail "expected that all attempts fail"; fi
	[ "$(grep -c ': E' "$RAW_STDOUT")" -ge 4 ] || fail "expected attempts"
	assert_inside
}

@test "addresses, messages and memory of the kernel cannot be read" {
	each_backend each_profile kernel
}
kernel() {
	run_python <<-'EOF_PYTHON'
		try:
		    addresses = {line.split()[0] for line in open("/proc/kallsyms")}
		    print("addresses", *sorted(addresses - {"0000000000000000"})[:3])
		except OSError:
		    print("addresses")
		for name in "/proc/kmsg", "/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg":
		    attempt(name, lambda: os.read(os.open(name, os.O_RDONLY | os.O_NONBLOCK), 1))
	EOF_PYTHON
	assert_status 0
	[ "$(head -n 1 "$RAW_STDOUT")" = addresses ] || fail "it knows addresses of the kernel"
	if grep ': done$' "$RAW_STDOUT"; then fail "expected that all attempts fail"; fi
	assert_inside
}

@test "files of the kernel in /proc can be hidden" {
	each_backend hidden_in_proc
}
hidden_in_proc() {
	run_airlock run --hide /proc/kallsyms --hide /proc/version -c 'cat /proc/kallsyms /proc/version | wc -c; grep -q . /proc/uptime'
	assert_status 0
	assert_stdout 0
}

@test "another process of the host cannot be reached by its number" {
	each_backend each_profile by_number
}
by_number() {
	sleep 60 3>&- &
	local sleeper=$!
	run_python <<-EOF_PYTHON
		attempt("kill", os.kill, $sleeper, 9)
		attempt("pidfd", os.pidfd_open, $sleeper)
		attempt("root", os.listdir, "/proc/$sleeper/root")
		attempt("priority", os.setpriority, os.PRIO_PROCESS, $sleeper, 19)
	EOF_PYTHON
	assert_all_failed 4
	kill -0 "$sleeper"
	kill "$sleeper"
}

# The entries of every /proc are the same to the kernel, but for those of processes: a mode that is changed is changed for all.
@test "modes, owners and times of what is in /proc cannot be changed" {
	each_backend each_profile modes
}
modes() {
	run_python <<-'EOF_PYTHON'
		for name in "/proc/version", "/proc/fs", "/proc/sys", "/proc/self/comm":
		    attempt("chmod " + name, os.chmod, name, stat.S_IMODE(os.stat(name).st_mode))
		    attempt("chown " + name, os.chown, name, os.getuid(), -1)
		    attempt("utime " + name, os.utime, name, (0, 0))
	EOF_PYTHON
	assert_status 0
	if is_root; then assert_all_failed 12; fi
	if grep '/proc/[vfs][^e].*: done$' "$RAW_STDOUT"; then fail "expected that all attempts fail"; fi
	assert_inside
}
