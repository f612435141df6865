#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Keys, shared memory, message queues and sockets of the host are out of reach.

load ../helpers

teardown() {
	if [ -n "${SERVER:-}" ]; then kill "$SERVER" 2>/dev/null || true; fi
	rm -f "/tmp/airlock-test-$BATS_ROOT_PID" "/run/airlock-test-$BATS_ROOT_PID"
}

# ---- keys

KEYS='
import ctypes, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
add_key, request_key, keyctl = (248, 249, 250) if platform.machine() == "x86_64" else (217, 218, 219)
session, user = ctypes.c_long(-3), ctypes.c_long(-4)
def call(*arguments):
    result = libc.syscall(*arguments)
    return result if result >= 0 else -ctypes.get_errno()
def search(ring):
    return call(keyctl, ctypes.c_long(10), ring, b"user", b"airlock-test", ctypes.c_long(0))
def read(key):
    buffer = ctypes.create_string_buffer(32)
    n = call(keyctl, ctypes.c_long(11), ctypes.c_long(key), buffer, ctypes.c_long(32))
    return buffer.raw[:n] if n > 0 else n
'

@test "the caller's session keyring and its keys stay the caller's" {
	each_backend each_profile keyring
}
keyring() {
	run_program python3 -c "$KEYS"'
assert call(keyctl, ctypes.c_long(1), b"airlock-test-ring") > 0  # a new session keyring
key = call(add_key, b"user", b"airlock-test", b"the-secret", ctypes.c_long(10), session)
assert key > 0, key
assert search(session) == key and read(key) == b"the-secret"
os.execv(sys.argv[1], [sys.argv[1], "run", "--", "python3", "-I", "-S", "-c", sys.argv[2], str(key)])
' "$AIRLOCK" "$KEYS"'
print("session", search(session) > 0)
print("user", search(user) > 0)
print("read", read(int(sys.argv[1])) == b"the-secret")
print("request", call(request_key, b"user", b"airlock-test", None, ctypes.c_long(0)) > 0)
print("own", call(add_key, b"user", b"own", b"own", ctypes.c_long(3), session) != 0)' </dev/null
	assert_status 0
	assert_stdout $'session False\nuser False\nread False\nrequest False\nown True'
}

# ---- shared memory and queues

@test "System V shared memory, semaphores and queues of the host are not there" {
	each_backend each_profile system_v
}
system_v() {
	local key=$((0x41000000 + RANDOM))
	python3 -c '
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
key = int(sys.argv[1])
assert libc.shmget(key, 4096, 0o1666) >= 0 and libc.semget(key, 1, 0o1666) >= 0 and libc.msgget(key, 0o1666) >= 0' $key
	run_python <<-EOF_PYTHON
		attempt("shm", call, "shmget", $key, 4096, 0)
		attempt("sem", call, "semget", $key, 1, 0)
		attempt("msg", call, "msgget", $key, 0)
		print(sum(len(open("/proc/sysvipc/" + name).readlines()) - 1 for name in ("shm", "sem", "msg")))
	EOF_PYTHON
	ipcrm -M $key -S $key -Q $key
	assert_all_failed 3
	[ "$(tail -n 1 "$RAW_STDOUT")" = 0 ] || fail "it sees some"
}

@test "POSIX shared memory and message queues of the host are not there" {
	each_backend each_profile posix
}
posix() {
	local name=airlock-test-$BATS_ROOT_PID-$RANDOM
	python3 -c '
import ctypes, sys
assert ctypes.CDLL(None).mq_open(("/" + sys.argv[1]).encode(), 0o102, 0o666, None) >= 0
open("/dev/shm/" + sys.argv[1], "w")' "$name"
	run_python <<-EOF_PYTHON
		attempt("queue", call, "mq_open", b"/$name", 0)
		attempt("memory", os.open, "/dev/shm/$name", os.O_RDONLY)
		print(*os.listdir("/dev/shm"))
	EOF_PYTHON
	rm "/dev/shm/$name"
	python3 -c 'import ctypes, sys; ctypes.CDLL(None).mq_unlink(("/" + sys.argv[1]).encode())' "$name"
	assert_all_failed 2
}

# ---- sockets

# serve ADDRESS...: listens there on the host; @ is the abstract name space
serve() {
	python3 -c '
import os, signal, socket, sys
listeners = []
for address in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        s = socket.socket(socket.AF_UNIX, kind)
        suffix = "" if kind == socket.SOCK_STREAM else ".dgram"
        s.bind("\0" + address[1:] + suffix if address[0] == "@" else address + suffix)
        if kind == socket.SOCK_STREAM:
            s.listen()
        listeners.append(s)
print("ready", flush=True)
signal.pause()' "$@" >"$BATS_TEST_TMPDIR/serving" 3>&- &
	SERVER=$!
	eventually grep -q ready "$BATS_TEST_TMPDIR/serving"
}

# connect ADDRESS...: from inside
connect() {
	local addresses
	addresses=$(printf '"%s", ' "$@")
	run_python <<-EOF_PYTHON
		for address in [$addresses]:
		    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
		        suffix = "" if kind == socket.SOCK_STREAM else ".dgram"
		        name = chr(0) + address[1:] + suffix if address[0] == "@" else address + suffix
		        attempt(f"{address}{suffix}", lambda: socket.socket(socket.AF_UNIX, kind).connect(name))
	EOF_PYTHON
}

@test "sockets in the runtime directory, /tmp and /run are out of reach" {
	local places=("$XDG_RUNTIME_DIR/bus" "/tmp/airlock-test-$BATS_ROOT_PID")
	if [ -w /run ]; then places+=("/run/airlock-test-$BATS_ROOT_PID"); fi
	rm -f "${places[@]}" "${places[@]/%/.dgram}"
	serve "${places[@]}"
	each_backend each_profile pathname_sockets "${places[@]}"
	rm -f "${places[@]}" "${places[@]/%/.dgram}"
}
pathname_sockets() {
	connect "$@"
	assert_all_failed $((2 * $#))
}

@test "a runtime directory within home is hidden too" {
	export XDG_RUNTIME_DIR=$HOME/.runtime
	mkdir -m 0700 "$XDG_RUNTIME_DIR"
	serve "$XDG_RUNTIME_DIR/bus"
	each_backend each_profile pathname_sockets "$XDG_RUNTIME_DIR/bus"
}

@test "a symlink in the project to the runtime directory gives nothing" {
	ln -s "$XDG_RUNTIME_DIR" runtime
	serve "$XDG_RUNTIME_DIR/bus"
	each_backend each_profile pathname_sockets runtime/bus
}

@test "abstract sockets of the host are out of reach" {
	serve "@airlock-test-$BATS_ROOT_PID-$BATS_TEST_NUMBER"
	each_backend each_profile abstract
}
abstract() {
	connect "@airlock-test-$BATS_ROOT_PID-$BATS_TEST_NUMBER"
	assert_all_failed 2
	run_airlock run -- grep -c airlock-test /proc/net/unix
	assert_stdout 0
}

# They belong to the host's network, which a grant shares. Landlock keeps them apart since Linux 6.12.
@test "a granted network does not open the host's abstract sockets" {
	local name=airlock-test-$BATS_ROOT_PID-$BATS_TEST_NUMBER
	serve "@$name"
	each_backend shared_network "$name"
}
shared_network() {
	local profile
	for profile in moderate permissive; do
		# Through the gate it has a network of its own, and names of its own in it.
		run_python --network --yes --profile "$profile" <<-EOF_PYTHON
			name = chr(0) + "$1"
			attempt("connect", socket.socket(socket.AF_UNIX).connect, name)
			attempt("datagram", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect, name + ".dgram")
		EOF_PYTHON
		assert_attempts connect=ECONNREFUSED datagram=ECONNREFUSED
		run_python --network-mode host --yes --profile "$profile" <<-EOF_PYTHON
			server, packets = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
			server.bind(chr(0) + "own-$1")
			server.listen()
			packets.bind(chr(0) + "own-$1.dgram")
			for of, name in ("own", "own-$1"), ("host", "$1"):
			    name = chr(0) + name
			    attempt(of + " connect", socket.socket(socket.AF_UNIX).connect, name)
			    attempt(of + " datagram", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect, name + ".dgram")
			    attempt(of + " sendto", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto, b"x", name + ".dgram")
			libc.syscall.restype = ctypes.c_long
			print("landlock", libc.syscall(444, None, ctypes.c_long(0), ctypes.c_long(1)))
		EOF_PYTHON
		assert_status 0
		[ "$(grep -c '^own.*: done$' "$RAW_STDOUT")" -eq 3 ] || fail "expected that its own can be reached"
		if [ "$(sed -n 's/^landlock //p' "$RAW_STDOUT")" -ge 6 ]; then
			[ "$(grep -c '^host.*: EPERM$' "$RAW_STDOUT")" -eq 3 ] || fail "expected that the host's cannot be reached"
		else
			run_airlock run --json --network-mode host --yes -- true
			assert_stdout_contains 'could reach sockets with abstract names'
		fi
	done
}

@test "raw and packet sockets are refused" {
	each_backend each_profile raw
}
raw() {
	run_python <<-'EOF_PYTHON'
		attempt("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
		attempt("raw6", socket.socket, socket.AF_INET6, socket.SOCK_RAW, 58)
		attempt("packet", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
	EOF_PYTHON
	assert_all_failed 3
	run_python --network --yes --profile permissive <<-'EOF_PYTHON'
		attempt("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
		attempt("packet", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
	EOF_PYTHON
	assert_all_failed 2
	assert_inside # no ordinary user has them anywhere
}

@test "sockets of its own work; strict has none" {
	each_backend own_sockets
}
own_sockets() {
	own_socket moderate
	assert_attempts connect='done'
	own_socket permissive
	assert_attempts connect='done'
	own_socket strict
	assert_status 1
	assert_stderr_contains 'Address family not supported'
}
own_socket() {
	run_python --profile "$1" <<-'EOF_PYTHON'
		server = socket.socket(socket.AF_UNIX)
		server.bind("/tmp/own")
		server.listen()
		client = socket.socket(socket.AF_UNIX)
		attempt("connect", client.connect, "/tmp/own")
	EOF_PYTHON
}
