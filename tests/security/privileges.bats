#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# No capabilities, no way to get any, no devices.

load ../helpers

@test "all sets of capabilities are empty, but for a few of root's, and no new privileges can be had" {
	each_backend each_profile capabilities
}
capabilities() {
	run_airlock run -- grep -E '^(Cap|NoNewPrivs)' /proc/self/status
	assert_status 0
	local empty=5
	if is_root && [ "$AIRLOCK_BACKEND" = native ]; then
		[ "$(grep -c "^Cap\(Prm\|Eff\|Bnd\):.$KEPT_BY_ROOT\$" "$RAW_STDOUT")" -eq 3 ] || fail "expected a few in three sets"
		empty=2
	fi
	[ "$(grep -c $'^Cap.*:\t0000000000000000$' "$RAW_STDOUT")" -eq $empty ] || fail "expected $empty empty sets"
	grep -qx $'NoNewPrivs:\t1' "$RAW_STDOUT" || fail "expected no new privileges"
}

@test "every mount is without setuid" {
	each_backend each_profile nosuid
}
nosuid() {
	# What lies beneath another mount cannot be reached; the last of a place counts.
	run_python <<-'EOF_PYTHON'
		places = {}
		for line in open("/proc/self/mounts"):
		    source, place, kind, options = line.split()[:4]
		    places[place] = options.split(",")
		def reachable(place):
		    return os.path.exists(place)
		for place, options in places.items():
		    if "nosuid" not in options and reachable(place):
		        print(place)
	EOF_PYTHON
	assert_status 0
	assert_stdout ''
}

@test "a setuid program gives nobody another uid" {
	is_root || skip "needs: root, to make a setuid program of another user"
	each_backend each_profile setuid
}
setuid() {
	cp "$(command -v id)" ./other-id
	chown 12345:12345 other-id
	chmod 6755 other-id
	chmod 755 "$HOME" .
	[ "$(./other-id -u)" = 12345 ] || skip "needs: a file system with setuid programs"
	run_airlock run -- ./other-id -u
	assert_status 0
	assert_stdout 0
	rm other-id
}

@test "sudo and su do not work" {
	each_backend each_profile sudo
}
sudo() {
	run_airlock run --timeout 10s -c 'for tool in "sudo -n" "su -c"; do command -v ${tool%% *} >/dev/null && $tool id -u; done; id -u'
	[ "$(tail -n 1 "$RAW_STDOUT")" = "$(id -u)" ] || fail "expected its own uid"
	if [ "$(id -u)" -ne 0 ] && grep -qx 0 "$RAW_STDOUT"; then fail "it became root"; fi
	assert_inside # where the host has no sudo, nothing else tells
}

@test "a command cannot become another user or gain privileges" {
	each_backend each_profile becoming
}
becoming() {
	run_python <<-'EOF_PYTHON'
		if os.getuid() or open("/proc/self/uid_map").read().split()[2:] == ["1"]: # else root has more ids: other_ids.bats
		    attempt("setuid", os.setuid, 12345)
		    attempt("setgid", os.setgid, 12345)
		    attempt("setgroups", os.setgroups, [0, 12345])
		else:
		    for name in "setuid", "setgid", "setgroups":
		        attempt(name, getattr(os, name), [4294967294] if name == "setgroups" else 4294967294)
		attempt("hostname", socket.sethostname, "other")
		attempt("clock", lambda: __import__("time").clock_settime(0, 0))
		attempt("priority", os.setpriority, os.PRIO_PROCESS, 0, -10)
		class header(ctypes.Structure):
		    _fields_ = [("version", ctypes.c_uint), ("pid", ctypes.c_int)]
		every = (ctypes.c_uint * 6)(*[0xffffffff] * 6)
		attempt("capset", call, "capset", ctypes.byref(header(0x20080522, 0)), every)
		attempt("swap", call, "swapon", b"/tmp/x", 0)
		attempt("reboot", call, "reboot", 0)
		attempt("module", call, 175, None, 0, b"")
	EOF_PYTHON
	assert_all_failed 10
	assert_inside # an ordinary user cannot do these anywhere
}

@test "device nodes cannot be made, anywhere it can write" {
	each_backend each_profile devices
}
devices() {
	run_python <<-'EOF_PYTHON'
		for place in ".", os.environ["HOME"] + "/playground", "/tmp", "/dev/shm":
		    for name, kind, device in ("null", stat.S_IFCHR, (1, 3)), ("mem", stat.S_IFCHR, (1, 1)), ("disk", stat.S_IFBLK, (8, 0)), \
		                          ("whiteout", stat.S_IFCHR, (0, 0)):
		        attempt(f"{name} in {place}", os.mknod, f"{place}/node", kind | 0o666, os.makedev(*device))
		    os.mkfifo(place + "/fifo")
		    os.unlink(place + "/fifo")
	EOF_PYTHON
	assert_all_failed 16
}

@test "a device node that was in the project before cannot be opened" {
	is_root || skip "needs: root, to make a device node"
	mknod zero c 1 5 2>/dev/null || skip "needs: the right to make device nodes"
	chmod 666 zero
	head -c 1 zero >/dev/null || skip "needs: a file system with devices"
	each_backend each_profile ready_made
}
ready_made() {
	run_python <<-'EOF_PYTHON'
		attempt("open", os.open, "zero", os.O_RDONLY)
	EOF_PYTHON
	assert_attempts open='EACCES|EPERM|ENOENT'
}

# ---- namespaces

@test "strict and moderate: no namespaces of its own" {
	each_backend closed
}
closed() {
	local profile
	for profile in strict moderate; do
		run_python --profile $profile <<-'EOF_PYTHON'
			for name, flag in ("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000), \
			                  ("ipc", 0x8000000), ("uts", 0x4000000), ("cgroup", 0x2000000), ("user+mount", 0x10020000):
			    attempt("unshare " + name, call, "unshare", flag)
			attempt("clone user", call, 56 if os.uname().machine == "x86_64" else 220, 0x10000000 | 17, None, None, None, None)
			attempt("setns", call, "setns", os.open("/proc/self/ns/user", os.O_RDONLY), 0)
		EOF_PYTHON
		assert_all_failed 10
		run_airlock run --profile $profile -- unshare --user --map-root-user true
		[ "$status" -ne 0 ] || fail "expected no nested namespaces"
	done
}

@test "permissive: namespaces of its own, and nothing gained by them" {
	each_backend nested
}
nested() {
	local map=
	run_airlock run --profile permissive -- unshare --user true
	assert_status 0
	mkdir -p "$HOME/victim"
	# The kernel lets nobody map the machine's root without a capability that root does not have inside.
	is_root || map=--map-root-user
	run_airlock run --profile permissive -- unshare --user $map --mount sh -c '
		mount -o remount,rw,bind / ; mount -o remount,rw "$HOME"; mount -t tmpfs none /etc
		echo x >"$HOME/victim/x"; echo x >/airlock-test-x; umount -l /etc "$HOME/.ssh" "$HOME"; echo tried'
	assert_stdout tried
	assert_absent "$HOME/victim/x"
	assert_absent /airlock-test-x
}

# ---- core dumps

@test "a crash leaves no core file" {
	each_backend each_profile core
}
core() {
	find . | sort >"$BATS_TEST_TMPDIR/before"
	(ulimit -c unlimited 2>/dev/null || true
		run_airlock run -- sh -c 'ulimit -c; kill -SEGV $$'
		assert_status 139)
	find . | sort | diff "$BATS_TEST_TMPDIR/before" - >&2 || fail "something was left"
	run_python <<-'EOF_PYTHON'
		import resource
		print(*resource.getrlimit(resource.RLIMIT_CORE))
		attempt("raise", resource.setrlimit, resource.RLIMIT_CORE, (1 << 20, 1 << 20))
	EOF_PYTHON
	if grep -q 'raise: done' "$RAW_STDOUT"; then fail "it could allow itself core files"; fi
}
