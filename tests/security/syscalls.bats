#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The system call filter, as the kernel enforces it. tests/unit/test_filter.c has the verdict for every number.

load ../helpers

# filtered OPTION...: run_python whose program can say number["mount"] and refused("mount", …), by the table that airlock
# was built from
filtered() {
	local program numbers column=3
	program=$(cat)
	[ "$(uname -m)" = x86_64 ] && column=2
	numbers=$(awk -v c=$column '/^[a-z_]/ && NF == 4 && $c ~ /^[0-9]+$/ { printf "%s=%s,", $1, $c }' \
		"$BATS_TEST_DIRNAME/../../src/filter/calls.txt")
	run_python "$@" <<<"
number = dict($numbers)
def refused(*names):
    for name in names:
        if name in number:
            attempt(name, call, number[name], 0, 0, 0, 0, 0, 0)
$program"
}

@test "a filter is in force for the command and everything it starts" {
	each_backend each_profile in_force
}
in_force() {
	run_airlock run --json -c 'grep "^Seccomp:" /proc/self/status; (setsid grep "^Seccomp:" /proc/self/status & wait)'
	assert_status 0
	assert_json $'Seccomp:\t2\nSeccomp:\t2' stdout
	assert_json enforced isolation syscalls
}

@test "without a sandbox there is none, and the result says so" {
	local before
	before=$(grep '^Seccomp:' /proc/self/status)
	run_airlock run --json --yes --no-sandbox -- grep '^Seccomp:' /proc/self/status
	assert_json none isolation syscalls
	assert_json "$before" stdout
}

@test "keyrings, modules, kexec, bpf, perf, handles, clocks, accounting: not permitted" {
	each_backend each_profile not_permitted
}
not_permitted() {
	filtered <<-'EOF_PYTHON'
		refused("add_key", "request_key", "keyctl", "kexec_load", "kexec_file_load", "init_module", "finit_module",
		        "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
		        "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm", "modify_ldt",
		        "fanotify_init", "fanotify_mark", "vhangup", "bpf", "perf_event_open", "userfaultfd", "pidfd_getfd",
		        "name_to_handle_at", "open_by_handle_at", "migrate_pages", "move_pages")
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c ': EPERM$' "$RAW_STDOUT")" -eq "$(wc -l <"$RAW_STDOUT")" ] || fail "expected EPERM for all"
	[ "$(wc -l <"$RAW_STDOUT")" -ge 28 ] || fail "expected more attempts"
}

@test "io_uring and obsolete calls do not exist" {
	each_backend each_profile missing
}
missing() {
	filtered <<-'EOF_PYTHON'
		refused("io_uring_setup", "io_uring_enter", "io_uring_register", "create_module", "get_kernel_syms",
		        "query_module", "nfsservctl", "uselib", "_sysctl", "sysfs", "ustat", "lookup_dcookie")
		for beyond in 470, 500, 600, 1000, -1:
		    attempt(f"{beyond}", call, beyond)
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c ': ENOSYS$' "$RAW_STDOUT")" -eq "$(wc -l <"$RAW_STDOUT")" ] || fail "expected ENOSYS for all"
	[ "$(wc -l <"$RAW_STDOUT")" -ge 10 ] || fail "expected more attempts"
}

@test "strict and moderate: no mounts, no namespaces, no tracing" {
	each_backend closed
}
closed() {
	local profile
	for profile in strict moderate; do
		filtered --profile $profile <<-'EOF_PYTHON'
			refused("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
			        "mount_setattr", "open_tree_attr", "setns", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp")
			for flag in 0x20000, 0x80, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000:
			    attempt(f"unshare {flag:#x}", call, number["unshare"], flag)
			    if flag != 0x80:
			        attempt(f"clone {flag:#x}", call, number["clone"], flag | 17, 0, 0, 0, 0)
		EOF_PYTHON
		assert_status 0
		[ "$(grep -c ': EPERM$' "$RAW_STDOUT")" -eq 31 ] || fail "expected EPERM 31 times"
		filtered --profile $profile <<-'EOF_PYTHON'
			refused("clone3")
			attempt("unshare", call, number["unshare"], 0x600)
		EOF_PYTHON
		assert_attempts clone3=ENOSYS unshare='done'
	done
}

@test "permissive: a process may trace its own, not the first" {
	each_backend own_tracing
}
own_tracing() {
	filtered --profile permissive <<-'EOF_PYTHON'
		import signal
		child = os.fork()
		if child == 0:
		    call("ptrace", 0, 0, None, None)
		    os.kill(os.getpid(), signal.SIGSTOP)
		    os._exit(0)
		os.waitpid(child, 0)
		attempt("own", call, "ptrace", 17, child, None, None)
		attempt("first", call, "ptrace", 16, 1, None, None)
		os.kill(child, signal.SIGKILL)
	EOF_PYTHON
	assert_attempts own='done' first=EPERM
}

@test "characters cannot be pushed into a terminal, not even its own" {
	each_backend each_profile pushed
}
pushed() {
	filtered <<-'EOF_PYTHON'
		master, terminal = os.openpty()
		for name, request in ("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541c), ("TIOCCONS", 0x541d), ("TIOCSETD", 0x5423):
		    for high in 0, 1 << 32, 0xffffffff << 32:
		        attempt(f"{name}+{high:x}", call, number["ioctl"], terminal, request | high, b"x\0\0\0\0\0\0\0")
		attempt("TIOCGWINSZ", call, number["ioctl"], terminal, 0x5413, ctypes.create_string_buffer(8))
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c ': EPERM' "$RAW_STDOUT")" -eq 12 ] || fail "expected EPERM twelve times"
	assert_stdout_contains 'TIOCGWINSZ: done'
}

# What a build needs of ioctl is there; what makes second views of a file system, exchanges files or takes keys away is not,
# also where the file system here would not know it.
@test "only the ioctls that programs need are allowed" {
	each_backend each_profile ioctls
}
ioctls() {
	filtered <<-'EOF_PYTHON'
		import array, fcntl
		here = os.open(".", os.O_RDONLY)
		one, two = os.open("one", os.O_RDWR | os.O_CREAT), os.open("two", os.O_RDWR | os.O_CREAT)
		os.write(one, b"content")
		buffer = ctypes.create_string_buffer(4096)
		for name, request in (("snapshot", 0x50009401), ("subvolume", 0x5000940e), ("remove", 0x5000940f),
		                      ("snapshot 2", 0x50009417), ("subvolume 2", 0x50009418), ("remove 2", 0x5000943f),
		                      ("move extents", 0xc028660f), ("swap extents", 0xc0c0586d),
		                      ("exchange range", 0x40285881), ("add key", 0xc0506617), ("remove key", 0xc0406618),
		                      ("bcachefs", 0x4020bc10), ("f2fs", 0xf501), ("freeze", 0xc0045877),
		                      ("with high bits", 1 << 32 | 0x5000940e)):
		    attempt(name, call, number["ioctl"], here, request, buffer)
		def clone(request):
		    try:
		        fcntl.ioctl(two, request, one if request == 0x40049409 else bytes(array.array("q", [one, 0, 0, 0])))
		    except OSError as error: # the file system decides, not the filter
		        if error.errno not in (95, 18, 22): raise
		attempt("needed FICLONE", clone, 0x40049409)
		attempt("needed FICLONERANGE", clone, 0x4020940d)
		reading, writing = os.pipe()
		attempt("needed FIONREAD", fcntl.ioctl, reading, 0x541b, bytes(4))
		attempt("needed GETFLAGS", fcntl.ioctl, one, 0x80086601, bytes(8))
		attempt("needed TCGETS", fcntl.ioctl, os.openpty()[1], 0x5401, bytes(64))
	EOF_PYTHON
	assert_status 0
	[ "$(grep -v needed "$RAW_STDOUT" | grep -c ': ENOTTY$')" -eq 15 ] || fail "expected fifteen refusals"
	[ "$(grep -c '^needed.*: done$' "$RAW_STDOUT")" -eq 5 ] || fail "expected five successes"
}

@test "sockets of other families and protocols cannot be had" {
	each_backend each_profile families
}
families() {
	filtered <<-'EOF_PYTHON'
		for family in list(range(3, 10)) + [11, 12, 13, 14, 15] + list(range(17, 47)):
		    attempt(f"family {family}", socket.socket, family, socket.SOCK_STREAM, 0)
		for kind in range(1, 23):
		    attempt(f"netlink {kind}", socket.socket, 16, socket.SOCK_RAW, kind)
		for protocol in 33, 115, 132, 136, 256, 262:
		    attempt(f"protocol {protocol}", socket.socket, 2, socket.SOCK_STREAM, protocol)
		for family in 2, 10:
		    attempt(f"raw {family}", socket.socket, family, socket.SOCK_RAW, 1)
	EOF_PYTHON
	assert_all_failed 72
}

@test "the sockets that programs need are there" {
	each_backend each_profile needed
}
needed() {
	filtered <<-'EOF_PYTHON'
		for family in 2, 10:
		    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
		        attempt(f"{family} {int(kind)}", socket.socket, family, kind | socket.SOCK_CLOEXEC)
		attempt("netlink", socket.socket, 16, socket.SOCK_RAW, 0)
		attempt("pair", socket.socketpair)
		attempt("packets", socket.socketpair, socket.AF_UNIX, socket.SOCK_SEQPACKET)
		server = socket.create_server(("127.0.0.1", 0))
		attempt("loopback", socket.create_connection, server.getsockname(), 10)
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 8 ] || fail "expected eight"
	assert_inside
}

@test "strict: no Unix sockets but pairs; the profile can have them back" {
	each_backend unix_sockets
}
unix_sockets() {
	local program='
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
    attempt(f"unix {int(kind)}", socket.socket, socket.AF_UNIX, kind)
attempt("datagram pair", socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)'
	run_python --profile strict <<<"$program"
	assert_attempts 'unix 1=EAFNOSUPPORT' 'unix 2=EAFNOSUPPORT' 'unix 5=EAFNOSUPPORT' 'datagram pair=EPERM'
	run_python --profile moderate <<<"$program"
	assert_attempts 'unix 1=done' 'unix 2=done' 'unix 5=done' 'datagram pair=EPERM'
	write_config '[profiles.mine]' 'extends = "strict"' 'unix_sockets = true'
	run_python --profile mine <<<"$program"
	assert_attempts 'unix 1=done' 'unix 2=done' 'unix 5=done' 'datagram pair=EPERM'
	rm -r "$XDG_CONFIG_HOME/airlock"
}

@test "a command can make no device nodes, so no forged overlay deletions" {
	each_backend each_profile nodes
}
nodes() {
	filtered <<-'EOF_PYTHON'
		for name, kind in ("whiteout", stat.S_IFCHR), ("block", stat.S_IFBLK):
		    for place in ".", "/tmp", "/dev/shm":
		        attempt(f"{name} in {place}", os.mknod, f"{place}/node", kind, 0)
		attempt("fifo", os.mkfifo, "/tmp/fifo")
	EOF_PYTHON
	assert_status 0
	[ "$(grep -c ': EPERM$' "$RAW_STDOUT")" -eq 6 ] || fail "expected EPERM six times"
	assert_stdout_contains 'fifo: done'
}

@test "32-bit calls end the process, x32 calls do not exist" {
	[ "$(uname -m)" = x86_64 ] || skip "needs: x86_64"
	each_backend each_profile other_calls
}
other_calls() {
	local program='
import mmap
def machine_code(text):
    global page
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex(text))
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))'
	# getpid through int 0x80
	run_python <<<"$program"$'\nmachine_code("b814000000cd80c3")()\nprint("lived")'
	assert_status 159 # SIGSYS
	assert_stdout ''
	# getpid with the bit of x32
	run_python <<<"$program"$'\nprint(machine_code("b8270000400f05c3")())'
	assert_status 0
	assert_stdout -38
}

@test "a command cannot take the filter off, only add to it" {
	each_backend each_profile for_good
}
for_good() {
	filtered <<-'EOF_PYTHON'
		attempt("strict mode", call, "prctl", 22, 1, 0, 0, 0)
		attempt("disabled", call, "prctl", 22, 0, 0, 0, 0)
		attempt("privileges", call, "prctl", 38, 0, 0, 0, 0)
		refused("keyctl")
	EOF_PYTHON
	assert_attempts 'strict mode=EINVAL|EPERM|EACCES' disabled=EINVAL privileges=EINVAL keyctl=EPERM
}
