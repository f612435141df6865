#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Nothing outside the roots and the playground changes because of a run (I1), whatever way a command tries.

load ../helpers

setup() {
	default_setup
	VICTIM=$HOME/victim
	OUTSIDE=$BATS_TEST_TMPDIR/outside
	local dir
	for dir in "$VICTIM" "$OUTSIDE"; do
		mkdir -p "$dir/full" "$dir/empty"
		echo precious >"$dir/file"
		echo deep >"$dir/full/file"
		ln -s file "$dir/link"
		mkfifo "$dir/fifo"
		python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.mark", b"kept")' "$dir/file" 2>/dev/null || true
	done
}

teardown() {
	rmdir /airlock-test-* /etc/airlock-test-* /usr/airlock-test-* /var/airlock-test-* 2>/dev/null || true
}

# Everything that can be seen of a tree: names, types, modes, owners, times (the change time above all), contents.
snapshot() {
	find "$@" -printf '%p %y %m %U %G %n %s %T@ %C@ %l\n' | sort
	find "$@" -type f -exec sha256sum {} + | sort
}

assert_unchanged() {
	snapshot "$VICTIM" "$OUTSIDE" | diff "$BATS_TEST_TMPDIR/before" - >&2 || fail "something outside was changed"
}

# tries: the Python program on stdin, for each of the two places as `v`; nothing of it may be done
tries() {
	local program place
	program=$(cat)
	snapshot "$VICTIM" "$OUTSIDE" >"$BATS_TEST_TMPDIR/before"
	for place in "$VICTIM" "$OUTSIDE"; do
		run_python "${OPTIONS[@]}" <<<"v = '$place'
p = '$PROJECT'
$program"
		assert_all_failed "$1"
	done
	assert_unchanged
}
OPTIONS=()

@test "files: create, write, append, truncate, remove" {
	each_backend each_profile files
}
files() {
	tries 12 <<-'EOF_PYTHON'
		attempt("create", write, v + "/new", b"x", os.O_CREAT)
		attempt("write", write, v + "/file")
		attempt("append", write, v + "/file", b"x", os.O_APPEND)
		attempt("open to truncate", os.open, v + "/file", os.O_RDONLY | os.O_TRUNC)
		attempt("truncate", os.truncate, v + "/file", 0)
		attempt("through a link", write, v + "/link")
		attempt("remove", os.unlink, v + "/file")
		attempt("remove a link", os.unlink, v + "/link")
		attempt("symlink", os.symlink, "x", v + "/new")
		attempt("fifo", os.mkfifo, v + "/new")
		attempt("socket", lambda: socket.socket(socket.AF_UNIX).bind(v + "/new"))
		attempt("nameless", os.open, v, os.O_TMPFILE | os.O_RDWR, 0o600)
	EOF_PYTHON
}

@test "directories: create, remove, and what is in them" {
	each_backend each_profile directories
}
directories() {
	tries 4 <<-'EOF_PYTHON'
		attempt("create", os.mkdir, v + "/new")
		attempt("remove", os.rmdir, v + "/empty")
		attempt("deep", write, v + "/full/file")
		attempt("deep remove", os.unlink, v + "/full/file")
	EOF_PYTHON
}

@test "metadata: mode, owner, times, extended attributes" {
	each_backend each_profile metadata
}
metadata() {
	tries 11 <<-'EOF_PYTHON'
		me, us = os.getuid(), os.getgid()
		attempt("chmod", os.chmod, v + "/file", 0o666)
		attempt("chmod dir", os.chmod, v, 0o777)
		attempt("setuid", os.chmod, v + "/file", 0o4755)
		attempt("chown", os.chown, v + "/file", me, us)
		attempt("chown link", os.lchown, v + "/link", me, us)
		attempt("utime", os.utime, v + "/file", (0, 0))
		attempt("touch", os.utime, v + "/file")
		attempt("utime link", lambda: os.utime(v + "/link", (0, 0), follow_symlinks=False))
		attempt("setxattr", os.setxattr, v + "/file", "user.new", b"x")
		attempt("removexattr", os.removexattr, v + "/file", "user.mark")
		attempt("fchmod", lambda: os.fchmod(os.open(v + "/file", os.O_RDONLY), 0o666))
	EOF_PYTHON
}

@test "names: link and rename, into, out of and within" {
	each_backend each_profile names
}
names() {
	tries 8 <<-'EOF_PYTHON'
		attempt("link in", os.link, p + "/file", v + "/new")
		attempt("link out", os.link, v + "/file", p + "/linked")
		attempt("link fd", lambda: os.link(f"/proc/self/fd/{os.open(v + '/file', os.O_RDONLY)}", p + "/linked"))
		attempt("rename in", os.rename, p + "/file", v + "/new")
		attempt("rename over", os.rename, p + "/file", v + "/file")
		attempt("rename out", os.rename, v + "/file", p + "/moved")
		attempt("rename within", os.rename, v + "/file", v + "/moved")
		attempt("exchange", call, "renameat2", -100, (v + "/file").encode(), -100, (p + "/file").encode(), 2)
	EOF_PYTHON
	assert_file file original
}

@test "detours: other names of the same directory give no write access" {
	each_backend each_profile detours
}
detours() {
	tries 8 <<-'EOF_PYTHON'
		os.path.lexists(p + "/gate") or os.symlink(v, p + "/gate")
		attempt("symlink", write, p + "/gate/new", b"x", os.O_CREAT)
		attempt("symlink chmod", os.chmod, p + "/gate/file", 0o666)
		attempt("dots", write, p + "/" + os.path.relpath(v, p) + "/file")
		attempt("proc root", write, "/proc/self/root" + v + "/file")
		attempt("proc cwd", write, "/proc/self/cwd/" + os.path.relpath(v, os.getcwd()) + "/file")
		def reopened():
		    fd = os.open(v + "/file", os.O_RDONLY)
		    write(f"/proc/self/fd/{fd}")
		attempt("reopen", reopened)
		def by_directory():
		    fd = os.open(v, os.O_RDONLY | os.O_DIRECTORY)
		    write(f"/proc/self/fd/{fd}/file")
		attempt("directory fd", by_directory)
		def mapped():
		    import mmap
		    fd = os.open(v + "/file", os.O_RDONLY)
		    try:
		        mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0:1] = b"X"
		    except PermissionError as error:
		        raise OSError(error.errno, "mmap")
		attempt("map", mapped)
	EOF_PYTHON
}

@test "a file handle opens nothing" {
	each_backend each_profile handles
}
handles() {
	tries 2 <<-'EOF_PYTHON'
		def name_handle():
		    handle = (ctypes.c_char * 136)()
		    ctypes.c_uint.from_buffer(handle).value = 128
		    call("name_to_handle_at", -100, (p + "/file").encode(), handle, ctypes.byref(ctypes.c_int()), 0)
		attempt("name", name_handle) # anybody may, without a filter
		def by_handle():
		    handle = (ctypes.c_char * 136)()
		    ctypes.c_uint.from_buffer(handle).value = 128
		    mount = ctypes.c_int()
		    target = v + "/file" if os.path.exists(v + "/file") else p + "/file"
		    call("name_to_handle_at", -100, target.encode(), handle, ctypes.byref(mount), 0)
		    call("open_by_handle_at", os.open("/", os.O_RDONLY), handle, os.O_RDONLY)
		attempt("handle", by_handle)
	EOF_PYTHON
}

@test "mounts: nothing can be mounted, moved or made writable again" {
	each_backend each_profile mounts
}
mounts() {
	tries 6 <<-'EOF_PYTHON'
		MS_REMOUNT, MS_BIND, MS_MOVE = 32, 4096, 8192
		attempt("remount", call, "mount", None, b"/", None, MS_REMOUNT | MS_BIND, None)
		attempt("bind", call, "mount", b"/", p.encode(), None, MS_BIND, None)
		attempt("move", call, "mount", b"/tmp", p.encode(), None, MS_MOVE, None)
		attempt("tmpfs", call, "mount", b"x", p.encode(), b"tmpfs", 0, None)
		attempt("unmount", call, "umount2", b"/tmp", 2)
		attempt("chroot", os.chroot, p)
	EOF_PYTHON
	assert_inside # an ordinary user cannot do these anywhere
}

# As root these would be allowed on the host, so they do no harm even there.
@test "the system's directories, in every profile" {
	each_backend each_profile system
}
system() {
	stat -c '%n %a %Y %Z' / /etc /etc/nsswitch.conf /usr/bin /bin/true >"$BATS_TEST_TMPDIR/system"
	run_python <<-'EOF_PYTHON'
		name = f"airlock-test-{os.getpid()}"
		for place in "/", "/etc", "/usr", "/var":
		    attempt("mkdir in " + place, os.mkdir, f"{place}/{name}")
		for file in "/etc/nsswitch.conf", "/bin/true", "/etc/passwd":
		    attempt("open " + file, os.open, file, os.O_WRONLY)
		    def same(file=file):
		        os.chmod(file, stat.S_IMODE(os.stat(file).st_mode))
		    attempt("chmod " + file, same)
	EOF_PYTHON
	assert_all_failed 10
	assert_inside # an ordinary user cannot do these anywhere
	stat -c '%n %a %Y %Z' / /etc /etc/nsswitch.conf /usr/bin /bin/true | diff "$BATS_TEST_TMPDIR/system" - >&2 || fail "the system was changed"
}

@test "the project and the playground can be written, so that the refusals mean something" {
	each_backend each_profile control
}
control() {
	run_python <<-'EOF_PYTHON'
		for place in ".", os.environ["HOME"] + "/playground", "/tmp":
		    attempt("write in " + place, write, place + "/control", b"x", os.O_CREAT)
		    attempt("chmod in " + place, os.chmod, place + "/control", 0o600)
		    attempt("rename in " + place, os.rename, place + "/control", place + "/moved")
		    attempt("remove in " + place, os.unlink, place + "/moved")
		attempt("write outside", write, os.environ["HOME"] + "/victim/control", b"x", os.O_CREAT)
	EOF_PYTHON
	assert_status 0
	assert_absent "$VICTIM/control"
	[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 12 ] || fail "expected that all of it works"
}

@test "the airlock and the bwrap that run it stay as they are" {
	each_backend each_profile programs
}
programs() {
	# A copy of its user's own, which that user may change: the installed one is root's.
	local files=("$BATS_TEST_TMPDIR/own-airlock" "$(command -v bwrap)") AIRLOCK=$BATS_TEST_TMPDIR/own-airlock
	cp "$BATS_AIRLOCK" "$AIRLOCK"
	stat -Lc '%n %a %s %Y %Z' "${files[@]}" >"$BATS_TEST_TMPDIR/programs"
	run_python <<-EOF_PYTHON
		for path in "${files[0]}", "${files[1]}", "/proc/1/exe", "/proc/self/exe":
		    attempt("chmod " + path, os.chmod, path, 0o4755)
		    attempt("write " + path, write, path)
	EOF_PYTHON
	assert_all_failed 8
	stat -Lc '%n %a %s %Y %Z' "${files[@]}" | diff "$BATS_TEST_TMPDIR/programs" - >&2 || fail "a program was changed"
}
