#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Kernels and file systems on which an overlay is mounted otherwise, or not at all. `airlock doctor` must never say that something
# works which a run then cannot do. On real kernels: tools/vm.
load ../helpers

BACKENDS="native bubblewrap"

setup() {
	default_setup
	mkdir d
	echo old >d/inside
}

# on_61 ARG...: airlock on a kernel that behaves like Linux 6.1
on_61() {
	run_program python3 "$BATS_TEST_DIRNAME/../older_kernel.py" "$AIRLOCK" "$@" </dev/null
}

# Runs the lines of stdin in a mount namespace of its own, where this user may mount.
in_mounts() {
	local own=(--mount)
	is_root || own=(--mount --map-root-user)
	unshare "${own[@]}" true 2>/dev/null || skip "needs: user namespaces"
	run_program unshare "${own[@]}" bash -eu -c "$(cat)" </dev/null
}

# assert_row STATUS NAME: of `doctor --json`
assert_row() {
	python3 - "$RAW_STDOUT" "$@" <<-'PY' || fail "expected $2: $1"
		import json, sys
		rows = {row["name"]: row for row in json.load(open(sys.argv[1], encoding="utf-8"))["checks"]}
		assert rows[sys.argv[3]]["status"] == sys.argv[2], rows[sys.argv[3]]
	PY
}

@test "the stand-in for Linux 6.1 refuses lowerdir+ when the file system is created, and takes lowerdir" {
	local try
	try=$(
		cat <<-'PY'
			import ctypes, os, sys
			libc = ctypes.CDLL(None, use_errno=True)
			def call(*a):
			    return ctypes.get_errno() if libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a]) < 0 else 0
			for key in (b"lowerdir+", b"lowerdir"):
			    fs = libc.syscall(430, b"overlay", 1)
			    a = call(431, fs, 1, key, b"/usr:/etc" if key == b"lowerdir" else b"/usr", 0)
			    if key != b"lowerdir":
			        call(431, fs, 1, key, b"/etc", 0)
			    print(key.decode(), a, call(431, fs, 6, None, None, 0))
		PY
	)
	local own=(--mount)
	is_root || own=(--mount --map-root-user)
	unshare "${own[@]}" true 2>/dev/null || skip "needs: user namespaces"
	run_program unshare "${own[@]}" python3 "$BATS_TEST_DIRNAME/../older_kernel.py" /usr/bin/python3 -c "$try"
	assert_status 0
	assert_stdout $'lowerdir+ 0 22\nlowerdir 0 0'
}

@test "the stand-in for Linux 6.1 has no calls that came later" {
	local try='import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True)
for number in (450, 451, 464):
    print(number, libc.syscall(number, -1, 0, 0, 0, 0, 0) < 0 and errno.errorcode[ctypes.get_errno()] == "ENOSYS")'
	run_program python3 "$BATS_TEST_DIRNAME/../older_kernel.py" /usr/bin/python3 -c "$try"
	assert_status 0
	assert_stdout $'450 False\n451 True\n464 True'
}

@test "Linux 6.1: doctor is content, and changes are captured in a layer" {
	on_61 doctor --json
	assert_status 0
	assert_row ok overlay
	for backend in $BACKENDS; do
		on_61 run --json --hold --backend "$backend" -c 'echo more >>file; rm -r d; mkdir d; echo new >d/other'
		assert_status 0
		assert_json "$backend" isolation backend
		assert_json overlay isolation capture
		assert_json held changes state
		assert_file file original
		on_61 discard last
		assert_status 0
	done
	on_61 run -c 'echo more >>file; rm -r d'
	assert_status 0
	assert_file file $'original\nmore'
	assert_absent d
}

@test "Linux 6.1: attributes and modes of files are captured, applied and undone" {
	local set='import os, sys; os.setxattr(sys.argv[1], "user.mine", sys.argv[2].encode())'
	local get='import os; print(*(os.getxattr(p, "user.mine").decode() for p in ("file", "new") if os.path.exists(p)))'
	python3 -c "$set" file before 2>/dev/null || skip "needs: user extended attributes"
	on_61 run -c "chmod 640 file; mkdir -m 700 new; python3 -c '$set' file after; python3 -c '$set' new x"
	assert_status 0
	[ "$(python3 -c "$get")" = "after x" ]
	[ "$(stat -c %a file new)" = $'640\n700' ]
	on_61 undo
	assert_status 0
	[ "$(python3 -c "$get")" = before ]
	assert_absent new
}

@test "Linux 6.1: names with the separators of mount options stay names" {
	local name
	for name in 'a,upperdir=b' 'a:b' 'a\,b\:c' 'lowerdir+=x'; do
		mkdir -p "$HOME/$name/.git"
		cd "$HOME/$name" || return
		echo original >file
		on_61 run -c 'echo more >>file'
		assert_status 0
		assert_file file $'original\nmore'
	done
}

@test "state on a file system without user extended attributes: doctor says so, and the run compares with a copy" {
	in_mounts <<-E
		mkdir "$HOME/ram"
		mount -t ramfs ramfs "$HOME/ram"
		export XDG_STATE_HOME=$HOME/ram
		"$AIRLOCK" doctor --json >"$HOME/doctor" || true
		"$AIRLOCK" run --json -c 'rm -r d; echo more >>file' 2>"$HOME/said"
	E
	assert_status 0
	assert_json copy isolation capture
	assert_json applied changes state
	assert_absent d
	assert_file file $'original\nmore'
	grep -q 'comparing with a copy.*ramfs' "$RAW_STDOUT" "$HOME/said" || fail "expected a sentence: $(cat "$HOME/said")"
	RAW_STDOUT=$HOME/doctor assert_row degraded overlay
}

@test "state on an overlay: doctor says so, and the run compares with a copy" {
	mkdir "$HOME"/{lower,upper,work,merged}
	in_mounts <<-E
		mount -t overlay -o "lowerdir=$HOME/lower,upperdir=$HOME/upper,workdir=$HOME/work,userxattr" overlay "$HOME/merged"
		export XDG_STATE_HOME=$HOME/merged/state
		"$AIRLOCK" doctor --json >"$HOME/doctor" || true
		"$AIRLOCK" run --json --hold -c 'rm -r d; echo more >>file' 2>"$HOME/said"
	E
	assert_status 0
	assert_json copy isolation capture
	assert_json held changes state
	assert_file file original
	assert_file d/inside old
	RAW_STDOUT=$HOME/doctor assert_row degraded overlay
}

@test "a project on an overlay has a layer where the kernel can stack it, and a copy where not" {
	mkdir "$HOME"/{lower,upper,work,merged,upper2,work2,merged2}
	mkdir -p "$HOME/lower/p/.git"
	echo original >"$HOME/lower/p/file"
	in_mounts <<-E
		mount -t overlay -o "lowerdir=$HOME/lower,upperdir=$HOME/upper,workdir=$HOME/work,userxattr" overlay "$HOME/merged"
		mount -t overlay -o "lowerdir=$HOME/merged,upperdir=$HOME/upper2,workdir=$HOME/work2,userxattr" overlay "$HOME/merged2"
		cd "$HOME/merged/p"
		"$AIRLOCK" doctor --json >"$HOME/doctor" || true
		"$AIRLOCK" run --json --hold -c 'echo more >>file' >"$HOME/once"
		cd "$HOME/merged2/p"
		"$AIRLOCK" doctor --json >"$HOME/doctor2" || true
		"$AIRLOCK" run --json --hold -c 'echo more >>file'
	E
	assert_status 0
	assert_json copy isolation capture
	RAW_STDOUT=$HOME/doctor2 assert_row degraded overlay
	RAW_STDOUT=$HOME/once assert_json overlay isolation capture
	RAW_STDOUT=$HOME/doctor assert_row ok overlay
}

@test "that layers work is remembered, that they do not is not" {
	run_airlock run -c true
	assert_status 0
	[ -s "$XDG_STATE_HOME/airlock/layers.probe" ] || fail "expected: layers.probe"
	in_mounts <<-E
		mkdir "$HOME/ram"
		mount -t ramfs ramfs "$HOME/ram"
		export XDG_STATE_HOME=$HOME/ram
		"$AIRLOCK" run -c true
		test ! -e "$HOME/ram/airlock/layers.probe"
	E
	assert_status 0
}

@test "Linux 6.1: landlock keeps files outside from being emptied, in every way there is" {
	local way
	mkdir "$HOME/victim"
	python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 2)' || skip "needs: Landlock of Linux 5.19"
	for way in 'os.truncate(p, 0)' 'os.open(p, os.O_RDONLY | os.O_TRUNC)' 'os.open(p, 3 | os.O_TRUNC)' 'os.open(p, os.O_WRONLY | os.O_TRUNC)' \
		'os.open(p, os.O_RDWR | os.O_TRUNC)' 'os.ftruncate(os.open(p, os.O_RDWR), 0)' 'os.open(p, os.O_RDONLY | os.O_CREAT | os.O_TRUNC)' \
		'openat2(p, os.O_RDONLY | os.O_TRUNC)'; do
		echo precious >"$HOME/victim/file"
		on_61 run --backend landlock --changes direct -- python3 -I -S -c "
import ctypes, os, struct
def openat2(p, flags):
    if ctypes.CDLL(None, use_errno=True).syscall(437, -100, p.encode(), struct.pack('QQQ', flags, 0, 0), 24) < 0:
        raise OSError(ctypes.get_errno(), 'openat2')
p = '$HOME/victim/file'
try:
    $way
except OSError:
    print('refused')"
		assert_status 0
		assert_stdout refused
		assert_file "$HOME/victim/file" precious
	done
	# The same where it may: without the sandbox, and in the project by opening for writing.
	run_program python3 -c "import os; p = '$HOME/victim/file'; os.open(p, os.O_RDONLY | os.O_TRUNC)"
	assert_file "$HOME/victim/file" ''
	on_61 run --json --backend landlock --changes direct -- sh -c 'echo new >file; truncate -s 2 file'
	assert_status 0
	assert_json partial isolation filesystem
	assert_file file ne
	on_61 doctor --json
	assert_row ok Landlock
	assert_stdout_contains 'refuses truncate(2) everywhere'
}

@test "Linux 6.1: sockets of the host in a directory that is shown cannot be reached" {
	local place=$BATS_TEST_TMPDIR/place
	mkdir -p "$place/below"
	echo shown >"$place/file"
	python3 -c 'import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(60)' "$place/below/socket" 3>&- &
	eventually test -S "$place/below/socket"
	reach() {
		on_61 run --ro "$place" -- python3 -I -c '
import errno, socket, sys
print(open(sys.argv[1] + "/file").read(), end="")
print(errno.errorcode.get(socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1] + "/below/socket"), "reached"))' "$place"
		assert_status 0
		assert_stdout $'shown\nECONNREFUSED'
		refute_stderr_contains 'could reach sockets'
	}
	each_backend reach
	kill %1
}
