#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# /dev and the temporary file systems: few devices, nothing to change, nothing without a size.

load ../helpers

@test "/dev has the harmless devices and nothing else" {
	each_backend each_profile few
}
few() {
	run_airlock run -- ls -A /dev
	assert_status 0
	local name
	while read -r name; do
		[[ $name =~ ^(null|zero|full|random|urandom|tty|ptmx|pts|shm|fd|stdin|stdout|stderr|core|console)$ ]] ||
			fail "expected no /dev/$name"
	done <"$RAW_STDOUT"
	run_airlock run -c 'echo x >/dev/null && head -c 4 /dev/zero | od -An -tx1 && head -c 1 /dev/urandom | wc -c'
	assert_status 0
	assert_stdout $' 00 00 00 00\n1'
}

@test "/dev/pts is the sandbox's own" {
	each_backend each_profile own_terminals
}
own_terminals() {
	# A terminal of the host, so that there is something not to be seen.
	python3 -c 'import os, signal; os.openpty(); print("open", flush=True); signal.pause()' >"$BATS_TEST_TMPDIR/pty" 3>&- &
	eventually grep -q open "$BATS_TEST_TMPDIR/pty"
	run_airlock run -- sh -c 'ls /dev/pts; exec 9<>/dev/ptmx; ls /dev/pts'
	kill $!
	assert_status 0
	assert_stdout $'ptmx\n0\nptmx'
}

@test "/dev cannot be changed, and its devices neither" {
	each_backend each_profile unchanged
}
unchanged() {
	stat -c '%n %a %u %g %X %Y %Z' /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty >"$BATS_TEST_TMPDIR/before"
	run_python <<-'EOF_PYTHON'
		attempt("create", os.open, "/dev/new", os.O_CREAT | os.O_WRONLY)
		attempt("mkdir", os.mkdir, "/dev/new")
		attempt("remove", os.unlink, "/dev/null")
		attempt("rename", os.rename, "/dev/null", "/dev/zero")
		attempt("symlink", os.symlink, "/tmp/x", "/dev/new")
		for name in "null", "zero", "full", "random", "urandom", "tty":
		    path = "/dev/" + name
		    mode = stat.S_IMODE(os.stat(path).st_mode)
		    attempt("chmod " + name, os.chmod, path, mode)
		    attempt("chown " + name, os.chown, path, os.getuid(), -1)
		    attempt("utime " + name, os.utime, path)
	EOF_PYTHON
	assert_all_failed 23
	# The access time of a terminal or of random numbers moves by itself.
	stat -c '%n %a %u %g %X %Y %Z' /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty |
		diff <(cut -d ' ' -f 1-4,7 "$BATS_TEST_TMPDIR/before") <(cut -d ' ' -f 1-4,7) >&2 || fail "a device of the host was changed"
}

@test "every file system in memory has a size" {
	each_backend each_profile sizes
}
sizes() {
	local half
	half=$(python3 -I -S -c 'import os; print(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)')
	write_config "[profiles.$AIRLOCK_PROFILE]" 'shm_size = "256M"'
	run_python <<-'EOF_PYTHON'
		total = 0
		topmost = {line.split()[1]: line.split()[2] for line in open("/proc/self/mounts")}
		for place in (place for place in topmost if topmost[place] == "tmpfs"):
		    if not os.access(place, os.W_OK):
		        continue
		    s = os.statvfs(place)
		    if s.f_flag & os.ST_RDONLY:
		        continue
		    print(place, s.f_blocks * s.f_frsize)
	EOF_PYTHON
	assert_status 0
	local place size
	while read -r place size; do
		((size > 0 && size <= half)) || fail "$place has $size bytes"
	done <"$RAW_STDOUT"
	grep -q '^/tmp ' "$RAW_STDOUT" || fail "expected that /tmp can be written"
	# The size that the plan gives it, not one that the host happens to have.
	grep -qx "/dev/shm $((256 << 20))" "$RAW_STDOUT" || fail "expected that /dev/shm can be written, up to 256 MiB"
	write_config ''
}

@test "/tmp is private: what is in the host's is not seen, what is left in it is gone" {
	each_backend each_profile private_tmp
}
private_tmp() {
	local name=airlock-test-$BATS_ROOT_PID-$RANDOM
	echo x >"/tmp/$name"
	run_airlock run -- sh -c 'ls -A /tmp /var/tmp /dev/shm /run; for d in /tmp /var/tmp /dev/shm; do echo x >"$d/$1-inside"; done' sh "$name"
	rm "/tmp/$name"
	assert_status 0
	refute_stdout_contains "$name"
	for place in /tmp /var/tmp /dev/shm; do
		assert_absent "$place/$name-inside"
	done
	run_airlock run -- ls -A /tmp
	assert_stdout ''
}
