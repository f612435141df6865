#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Sockets and FIFOs of the host lead nowhere, wherever a command can see them; its own work.

load ../helpers

teardown() {
	if [ -n "${SERVER:-}" ]; then kill "$SERVER" 2>/dev/null || true; fi
	rm -rf "${TOP[@]}"
}

# serve DIR...: on the host, in each: a socket of each kind and a FIFO that somebody reads
serve() {
	python3 -c '
import os, signal, socket, sys
kept = []
for place in sys.argv[1:]:
    os.chdir(place)
    for kind, name in (socket.SOCK_STREAM, "stream"), (socket.SOCK_DGRAM, "dgram"), (socket.SOCK_SEQPACKET, "packet"):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(name)
        if kind != socket.SOCK_DGRAM:
            s.listen()
        kept.append(s)
    os.mkfifo("fifo")
    kept.append(os.open("fifo", os.O_RDWR | os.O_NONBLOCK))
    os.write(kept[-1], b"the host wrote this")
print("ready", flush=True)
signal.pause()' "$@" >"$BATS_TEST_TMPDIR/serving" 3>&- &
	SERVER=$!
	eventually grep -q ready "$BATS_TEST_TMPDIR/serving"
}

# serve_at DIR: the sockets only, bound to their whole names, as most programs do
serve_at() {
	python3 -c '
import signal, socket, sys
kept = []
for kind, name in (socket.SOCK_STREAM, "stream"), (socket.SOCK_DGRAM, "dgram"), (socket.SOCK_SEQPACKET, "packet"):
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(sys.argv[1] + "/" + name)
    if kind != socket.SOCK_DGRAM:
        s.listen()
    kept.append(s)
print("ready", flush=True)
signal.pause()' "$1" >"$BATS_TEST_TMPDIR/serving" 3>&- &
	SERVER=$!
	eventually grep -q ready "$BATS_TEST_TMPDIR/serving"
}

# Tries everything that leads to a socket or FIFO in the directories it is given: the whole name, a relative one, one through
# a descriptor.
TRY='
def try_all(place):
    def unix(kind): return socket.socket(socket.AF_UNIX, kind)
    attempt("stream", unix(socket.SOCK_STREAM).connect, place + "/stream")
    attempt("packet", unix(socket.SOCK_SEQPACKET).connect, place + "/packet")
    attempt("connect", unix(socket.SOCK_DGRAM).connect, place + "/dgram")
    attempt("sendto", unix(socket.SOCK_DGRAM).sendto, b"x", place + "/dgram")
    attempt("sendmsg", unix(socket.SOCK_DGRAM).sendmsg, [b"x"], [], 0, place + "/dgram")
    os.chdir(place)
    attempt("relative", unix(socket.SOCK_STREAM).connect, "./stream")
    fd = os.open(".", os.O_PATH)
    attempt("descriptor", unix(socket.SOCK_STREAM).connect, f"/proc/self/fd/{fd}/stream")
    file = os.open("stream", os.O_PATH)
    attempt("file", unix(socket.SOCK_STREAM).connect, f"/proc/self/fd/{file}")
'
TRY_FIFO='
def read_fifo(path):
    if not os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100): raise OSError(6, "nobody")
def try_fifo(place):
    attempt("write", os.open, place + "/fifo", os.O_WRONLY | os.O_NONBLOCK)
    attempt("read", read_fifo, place + "/fifo")
'

# refused DIR...: with every backend in each profile
refused() {
	local place profile
	for profile in moderate permissive; do
		for place in "$@"; do
			run_python --profile "$profile" <<<"$TRY$TRY_FIFO
try_all('$place')
try_fifo('$place')"
			assert_all_failed 10
		done
	done
	for place in "$@"; do
		# Strict has no such sockets at all; shown by name, a directory's FIFOs still lead nowhere.
		run_python --profile strict --ro "$place" <<<"$TRY_FIFO
try_fifo('$place')"
		assert_all_failed 2
	done
}

# The very same attempts succeed on the host.
succeeds_outside() {
	local place
	for place in "$@"; do
		run_program python3 - <<<"$PYTHON_PRELUDE$TRY$TRY_FIFO
try_all('$place')
try_fifo('$place')"
		[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 10 ] || fail "expected ten successes on the host"
	done
}

@test "sockets and FIFOs in the home and elsewhere lead nowhere" {
	local places=("$HOME/.tmux/deep" "$HOME/.1password" "$BATS_TEST_TMPDIR/elsewhere")
	mkdir -p "${places[@]}"
	serve "${places[@]}"
	succeeds_outside "$HOME/.tmux/deep"
	each_backend refused "${places[@]}"
}

@test "sockets and FIFOs in the directories of / lead nowhere" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root, to make something there"
	TOP=(/srv/airlock-test-$$ /opt/airlock-test-$$ /mnt/airlock-test-$$ /media/airlock-test-$$ /var/airlock-test-$$
		/airlock-test-$$)
	mkdir -p "${TOP[@]}"
	serve "${TOP[@]}"
	each_backend top_level
}
top_level() {
	local place
	for place in "${TOP[@]}"; do
		run_python <<<"$TRY$TRY_FIFO
try_all('$place')
try_fifo('$place')"
		assert_all_failed 10
	done
}

@test "sockets that only a supplementary group may use lead nowhere" {
	is_root || skip "needs: root, to put somebody into a group"
	TOP=(/srv/airlock-test-$$ /srv/airlock-member-$$)
	mkdir -p "${TOP[0]}" "${TOP[1]}/project"
	serve "${TOP[0]}"
	chown -R root:4343 "${TOP[0]}"
	chmod -R 0770 "${TOP[0]}"
	chown -R 4242:4242 "${TOP[1]}"
	each_backend through_group
}
# as_member PROGRAM ARG...: as somebody who is in the group of these sockets
as_member() {
	run_program setpriv --reuid 4242 --regid 4242 --groups 4242,4343 env -u XDG_STATE_HOME -u XDG_DATA_HOME -u XDG_CONFIG_HOME \
		"HOME=${TOP[1]}" sh -c 'cd "$HOME/project" && exec "$@"' sh "$@" </dev/null
}
through_group() {
	local try="$PYTHON_PRELUDE$TRY$TRY_FIFO
try_all('${TOP[0]}')
try_fifo('${TOP[0]}')"
	as_member "$AIRLOCK" run -- python3 -I -S -c "$try"
	assert_all_failed 10
	as_member python3 -I -S -c "$try"
	[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 10 ] || fail "expected ten successes on the host"
}

@test "sockets that the host makes while the command runs lead nowhere" {
	each_backend made_meanwhile
}
made_meanwhile() {
	local play=$XDG_DATA_HOME/airlock/playground place=$HOME/.late
	rm -rf "$play" "$place"
	mkdir -p "$place"
	"$AIRLOCK" run --timeout 60s -- python3 -I -S -c "$PYTHON_PRELUDE$TRY$TRY_FIFO
import time
open(os.environ['HOME'] + '/playground/ready', 'w')
while not os.path.exists(os.environ['HOME'] + '/playground/go'): time.sleep(0.02)
print(*sorted(os.listdir('$place')))
try_all('$place')
try_fifo('$place')" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- </dev/null &
	local command=$!
	eventually test -e "$play/ready"
	serve "$place"
	touch "$play/go"
	wait "$command" || fail "$(cat "$BATS_TEST_TMPDIR/out")"
	kill "$SERVER"
	grep -qx 'dgram fifo packet stream' "$BATS_TEST_TMPDIR/out" || fail "it does not see them: $(cat "$BATS_TEST_TMPDIR/out")"
	[ "$(grep -c ': E' "$BATS_TEST_TMPDIR/out")" -eq 10 ] || fail "$(cat "$BATS_TEST_TMPDIR/out")"
}

@test "a socket of the host in the project is refused, and one that is named works" {
	mkdir sockets "$HOME/.agent"
	serve "$PROJECT/sockets" "$HOME/.agent"
	each_backend named
}
named() {
	local place
	for place in "$PROJECT/sockets" "$HOME/.agent"; do
		run_python <<<"$TRY
try_all('$place')"
		assert_all_failed 8
		run_python --ro "$place/stream" --ro "$place/dgram" --ro "$place/packet" --ro "$place/fifo" <<<"$TRY$TRY_FIFO
try_all('$place')
try_fifo('$place')"
		[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 10 ] || fail "expected ten successes"
	done
	# A directory that is named is seen; its sockets are not meant.
	run_python --ro "$HOME/.agent" <<<"$TRY
try_all('$HOME/.agent')"
	assert_all_failed 8
}

# No overlay is in between: those that are there when it starts are covered.
@test "a socket of the host in a project that is written to directly is refused" {
	mkdir sockets
	serve_at "$PROJECT/sockets"
	each_backend direct
}
direct() {
	run_python --changes direct <<<"$TRY
try_all('$PROJECT/sockets')"
	assert_all_failed 8
	run_python --changes direct --ro "$PROJECT/sockets/stream" <<-EOF_PYTHON
		attempt("named", socket.socket(socket.AF_UNIX).connect, "$PROJECT/sockets/stream")
		own = socket.socket(socket.AF_UNIX)
		own.bind("own")
		own.listen()
		attempt("own", socket.socket(socket.AF_UNIX).connect, "own")
		os.unlink("own")
	EOF_PYTHON
	assert_attempts named='done' own='done'
}

@test "a socket bound by a relative name or through a link is refused in a project that is written to directly" {
	mkdir -p deep/sockets
	ln -s "$PROJECT/deep/sockets" "$BATS_TEST_TMPDIR/link"
	python3 -c '
import os, signal, socket, sys
named, relative = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
named.bind(sys.argv[1] + "/through-link")
os.chdir(sys.argv[1])
relative.bind("by-relative-name")
named.listen()
relative.listen()
print("ready", flush=True)
signal.pause()' "$BATS_TEST_TMPDIR/link" >"$BATS_TEST_TMPDIR/serving" 3>&- &
	SERVER=$!
	eventually grep -q ready "$BATS_TEST_TMPDIR/serving"
	each_backend direct_by_other_names
}
direct_by_other_names() {
	local dir=$PROJECT/deep/sockets
	run_python --changes direct <<-EOF_PYTHON
		attempt("link", socket.socket(socket.AF_UNIX).connect, "$dir/through-link")
		attempt("relative", socket.socket(socket.AF_UNIX).connect, "$dir/by-relative-name")
	EOF_PYTHON
	assert_all_failed 2
	run_python --changes direct --ro "$dir/through-link" --ro "$dir/by-relative-name" <<-EOF_PYTHON
		attempt("link", socket.socket(socket.AF_UNIX).connect, "$dir/through-link")
		attempt("relative", socket.socket(socket.AF_UNIX).connect, "$dir/by-relative-name")
	EOF_PYTHON
	assert_attempts link='done' relative='done'
}

@test "sockets and FIFOs of its own work in the project, the playground and /tmp" {
	each_backend own
}
own() {
	local profile
	assert_inside
	for profile in moderate permissive; do
		run_python --profile $profile <<<"$TRY
import threading
for place in os.getcwd(), os.environ['HOME'] + '/playground', '/tmp':
    place += '/of-its-own'
    os.mkdir(place)
    kept = []
    for kind, name in (socket.SOCK_STREAM, 'stream'), (socket.SOCK_DGRAM, 'dgram'), (socket.SOCK_SEQPACKET, 'packet'):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(place + '/' + name)
        if kind != socket.SOCK_DGRAM: s.listen()
        kept.append(s)
    try_all(place)
    os.mkfifo(place + '/fifo')
    end = os.open(place + '/fifo', os.O_RDWR)
    attempt('fifo', os.open, place + '/fifo', os.O_WRONLY | os.O_NONBLOCK)
    for name in os.listdir(place): os.unlink(place + '/' + name)
    os.rmdir(place)"
		[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 27 ] || fail "expected 27 successes"
	done
}

@test "programs with sockets of their own: multiprocessing, agents" {
	each_backend own_programs
}
own_programs() {
	assert_inside
	run_airlock run -- python3 -c '
import multiprocessing as m
with m.Manager() as manager, m.Pool(2) as pool:
    print(manager.list(pool.map(abs, [-1, -2])))'
	assert_status 0
	assert_stdout '[1, 2]'
	if command -v ssh-agent >/dev/null; then
		run_airlock run -c 'eval "$(ssh-agent)" >/dev/null; ssh-add -l; kill "$SSH_AGENT_PID"'
		assert_stdout_contains 'no identities'
	fi
	run_airlock run -c 'export GNUPGHOME=$(mktemp -d); gpg --batch --quiet --passphrase "" --quick-generate-key me@here ed25519 sign never &&
		gpg --batch --list-secret-keys --with-colons | grep -c ^sec'
	assert_status 0
	assert_stdout 1
}

# ---- mounts in the way

@test "a directory with a mount inside is shown with it, and its sockets lead nowhere" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root, to mount something"
	each_backend with_mounts
}
with_mounts() {
	local place=$BATS_TEST_TMPDIR/outer
	mkdir -p "$place/inner/mounted" "$place/beside"
	run_program unshare -m --propagation private sh -ec '
		mount -t tmpfs none "$1/inner/mounted"
		echo there >"$1/inner/mounted/file"
		python3 -c "$4" "$1" "$1/beside" "$1/inner/mounted" &
		until [ -e "$1/inner/mounted/done" ]; do sleep 0.05; done
		"$2" run -- cat "$1/inner/mounted/file"
		for place in "$1" "$1/beside" "$1/inner/mounted"; do "$2" run -- python3 -I -S -c "$3" "$place"; done
		kill $!' sh "$place" "$AIRLOCK" "$PYTHON_PRELUDE
place = sys.argv[1]
attempt('stream', lambda: socket.socket(socket.AF_UNIX).connect(place + '/stream'))" '
import os, signal, socket, sys
kept = []
for place in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(place + "/stream")
    s.listen()
    kept.append(s)
open(sys.argv[-1] + "/done", "w")
signal.pause()'
	assert_stdout_contains there
	[ "$(grep -c ': E' "$RAW_STDOUT")" -eq 3 ] || fail "expected three refusals"
	rm -rf "$place"
}

@test "where no overlay can be made the result says so" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root, to mount something"
	each_backend no_overlay
}
no_overlay() {
	local place=$BATS_TEST_TMPDIR/stacked
	mkdir -p "$place/a/dir" "$place/b" "$place/one" "$place/two"
	run_program unshare -m --propagation private sh -ec '
		mount -t overlay none -o "lowerdir=$1/a:$1/b" "$1/one"
		mount -t overlay none -o "lowerdir=$1/one:$1/b" "$1/two" # as deep as the kernel lets overlays be
		"$2" run --json -- true' sh "$place" "$AIRLOCK"
	assert_status 0
	assert_json partial isolation filesystem
	assert_stdout_contains 'could reach sockets of the host in'
	assert_stdout_contains 'through an overlay: Invalid argument' # the kernel's own reason
	run_airlock run --json -- true
	assert_json enforced isolation filesystem
	rm -rf "$place"
}
