#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets status, stdout and stderr; the commands are for the inner shell
# Blocked, explained: what the sandbox refused, by which rule, and what would allow it.

load ../helpers

setup() {
	default_setup
	HOME=$(realpath "$HOME")
	PROJECT=$(realpath "$PROJECT")
	mkdir -p "$HOME/.ssh"
	echo key >"$HOME/.ssh/id_ed25519"
	mkdir -p "$HOME/there-is"
}

# denials: one line each, "OP WHAT: RULE, SOURCE, COUNT"
denials() {
	python3 -c '
import json, sys
for d in json.load(open(sys.argv[1]))["denials"]:
    print(d["op"], d.get("path", d.get("address")) + ":", ", ".join([d["rule"], d["source"], str(d["count"])]))' "$RAW_STDOUT"
}

# assert_denials LINE...: exactly these
assert_denials() {
	local found
	found=$(denials) || fail "no denials in the result"
	[ "$found" = "$(printf '%s\n' "$@")" ] || fail "expected: $*" "found: $found"
}

observed() {
	run_airlock run --json --explain-denials "$@"
}

a_hidden_secret() {
	observed -c 'cat ~/.ssh/id_ed25519; true'
	assert_status 0
	assert_denials "open $HOME/.ssh/id_ed25519: hidden, built-in: moderate, 1"
	assert_json "--ro $HOME/.ssh/id_ed25519" denials 0 hint
}
@test "a secret that is read is named, with the rule and the way out" {
	each_backend a_hidden_secret
}

the_way_out_works() {
	observed --ro "$HOME/.ssh/id_ed25519" -c 'cat ~/.ssh/id_ed25519'
	assert_json key stdout
	assert_json '[]' denials
	mkdir -p "$HOME/other"
	observed --yes -c 'echo x >~/other/new; true'
	assert_json "--allow-write $HOME/other" denials 0 hint
	observed --yes --allow-write "$HOME/other" -c 'echo x >~/other/new'
	assert_status 0
	assert_json '[]' denials
	rm "$HOME/other/new"
}
@test "following the hint allows the operation" {
	each_backend the_way_out_works
}

writes_outside() {
	touch "$HOME/there"
	observed -c 'cd ~; echo x >new; echo x >>there; mkdir dir; rm there; mv there here; ln -s a link; ln there hard
		chmod 600 there; touch -d @0 there; truncate -s 0 there; mkfifo fifo; true'
	assert_status 0
	assert_denials "write $HOME/new: read-only, built-in: moderate, 1" \
		"write $HOME/there: read-only, built-in: moderate, 3" \
		"mkdir $HOME/dir: read-only, built-in: moderate, 1" \
		"delete $HOME/there: read-only, built-in: moderate, 1" \
		"rename $HOME/there: read-only, built-in: moderate, 1" \
		"symlink $HOME/link: read-only, built-in: moderate, 1" \
		"link $HOME/hard: read-only, built-in: moderate, 1" \
		"chmod $HOME/there: read-only, built-in: moderate, 1" \
		"utime $HOME/there: read-only, built-in: moderate, 1" \
		"mknod $HOME/fifo: read-only, built-in: moderate, 1"
}
@test "every kind of write outside the roots" {
	each_backend writes_outside
}

addresses() {
	run_python --json --explain-denials <<-'END'
		import socket
		attempt("tcp", socket.socket().connect, ("192.0.2.1", 443))
		attempt("udp", socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"x", ("192.0.2.2", 53))
		attempt("six", socket.socket(socket.AF_INET6).connect, ("2001:db8::1", 80))
		attempt("stub", socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect, ("127.0.0.53", 53))
		attempt("abstract", socket.socket(socket.AF_UNIX).connect, "\0/tmp/.X11-unix/X0")
		server, own = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
		server.bind("\0own")
		server.listen()
		attempt("own", own.connect, "\0own")
		port = socket.create_server(("127.0.0.1", 0))
		attempt("loopback", socket.socket().connect, port.getsockname())
	END
	assert_denials "connect 192.0.2.1:443: network off, built-in: moderate, 1" \
		"send 192.0.2.2:53: network off, built-in: moderate, 1" \
		"connect [2001:db8::1]:80: network off, built-in: moderate, 1" \
		"connect 127.0.0.53:53: network off, built-in: moderate, 1" \
		"connect @/tmp/.X11-unix/X0: network off, built-in: moderate, 1"
	assert_json --network denials 0 hint
	[[ $stdout == *'own: done'* && $stdout == *'loopback: done'* ]] || fail "its own servers"
}
@test "addresses and abstract sockets when the network is off" {
	each_backend addresses
}

a_socket_of_the_host() {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$HOME/agent.sock"
	run_python --json --explain-denials <<-END
		attempt("hidden", socket.socket(socket.AF_UNIX).connect, "$HOME/agent.sock")
		attempt("nothing", socket.socket(socket.AF_UNIX).connect, "$HOME/nothing.sock")
	END
	rm "$HOME/agent.sock"
	assert_denials "connect $HOME/agent.sock: not visible, built-in: moderate, 1"
}
@test "a socket of the host by its path" {
	each_backend a_socket_of_the_host
}

nothing_refused() {
	observed -c 'cat file; echo x >new; mkdir -p a/b; mv a c; rm -r c new; cat /nothing ~/nothing ~/.aws/x /tmp/nothing-here
		mkdir /usr /etc; rm -f "$HOME/no" /etc/no; python3 -I -S -c 1; ls / ~ >/dev/null; echo x >/dev/null; date >/tmp/x; true'
	assert_status 0
	assert_json '[]' denials
	refute_stderr_contains denial
}
# As root everything of this could be written outside, so it is refused inside.
fails_outside_too() {
	[ "$(id -u)" -ne 0 ] || return 0
	observed -c 'echo x >/etc/hosts; mkdir /usr/share/__pycache__; rm /etc/passwd; mkdir ~/control; true'
	assert_denials "mkdir $HOME/control: read-only, built-in: moderate, 1"
}
@test "what the user could not do outside either is not said" {
	each_backend fails_outside_too
}

hints_for_writes() {
	mkdir -p "$HOME/.tool/deep" "$HOME/work/a" "$HOME/work/b"
	observed -c 'echo x >~/.tool/deep/x; mkdir ~/.made; echo x >~/work/a/x; echo x >~/work/b/x; echo x >~/plain; mkdir ~/.ssh/d; true'
	assert_json "--allow-write $HOME/.tool" denials 0 hint
	assert_json "--allow-write $HOME/.made, once that directory exists" denials 1 hint
	assert_json "--allow-write $HOME/work" denials 2 hint
	assert_json "--allow-write $HOME/work" denials 3 hint
	assert_json null denials 4 hint
	assert_json "--allow-write $HOME/.ssh" denials 5 hint
	observed --yes --changes discard --allow-write "$HOME/.ssh" --allow-write "$HOME/work" -c 'mkdir ~/.ssh/d && echo x >~/work/a/x'
	assert_status 0
	assert_json '[]' denials
}
@test "hints name the directory that helps, never the home, and writing is not allowed by --ro" {
	each_backend hints_for_writes
}

serving() {
	run_python --json --explain-denials <<-'END'
		import socket
		everywhere = socket.create_server(("0.0.0.0", 0))
		attempt("itself", socket.socket().connect, ("0.0.0.0", everywhere.getsockname()[1]))
		attempt("no address of ours", socket.socket().bind, ("192.0.2.1", 8080))
		attempt("control", socket.socket().connect, ("192.0.2.1", 8080))
	END
	[[ $stdout == *'itself: done'* ]] || fail "its own server"
	assert_denials "connect 192.0.2.1:8080: network off, built-in: moderate, 1"
}
@test "to serve an address is not to connect to it" {
	each_backend serving
}

an_agent() {
	AIRLOCK_AGENT=1 observed -c 'cat ~/.ssh/id_ed25519; true'
	assert_json null denials 0 hint
	run_airlock show last --json
	assert_json "--ro $HOME/.ssh/id_ed25519" denials 0 hint
}
@test "an agent's result has no hint, the record of its run has" {
	an_agent
}

@test "nothing is said when nothing was refused, or nothing is there" {
	each_backend nothing_refused
}

links() {
	ln -s "$HOME/.ssh" there
	ln -s "$HOME/.ssh/id_ed25519" key
	ln -s "$HOME/made" made
	mkdir -p "$HOME/out"
	ln -s "$PROJECT/file" "$HOME/out/in"
	observed -c 'cat there/id_ed25519 key; echo x >made; cd ~/out; cat in; echo y >in; cd ..; cat ./.ssh/../.ssh/id_ed25519
		cat "project/../.ssh/id_ed25519"; true'
	assert_denials "open $HOME/.ssh/id_ed25519: hidden, built-in: moderate, 4" \
		"write $HOME/made: read-only, built-in: moderate, 1"
	echo original >file
	rm there key made "$HOME/out/in"
}
@test "symbolic links are followed both ways" {
	each_backend links
}

# The project's own mount is known after the first call: ways out of it must still be seen, and what is hidden in it.
after_work_in_the_project() {
	echo hidden >"$PROJECT/secret.txt"
	touch "$HOME/there"
	observed --hide "$PROJECT/secret.txt" -c 'mkdir d; for i in 1 2 3; do echo x >d/f$i; rm d/f$i; done
		ln -s ~/there out; ln -s ~/not-there dangling; ln -s ~ home; cd d
		echo x >>../out; echo x >../dangling; echo x >../home/new; rm ../home/there; rm ../missing
		cat ../secret.txt; echo x >../../above; cd ..; cat d/../secret.txt; true'
	assert_status 0
	assert_denials "write $HOME/there: read-only, built-in: moderate, 1" \
		"write $HOME/not-there: read-only, built-in: moderate, 1" \
		"write $HOME/new: read-only, built-in: moderate, 1" \
		"delete $HOME/there: read-only, built-in: moderate, 1" \
		"open $PROJECT/secret.txt: hidden, --hide, 2" \
		"write $(dirname "$PROJECT")/above: read-only, built-in: moderate, 1"
	rm secret.txt "$HOME/there"
	rm -rf d out dangling home
}
@test "what is refused is still seen after much work in the project" {
	each_backend after_work_in_the_project
}

in_strict() {
	echo x >"$HOME/notes"
	observed --profile strict -c 'cat ~/notes ~/nothing ~/.ssh/id_ed25519 /nobody-at-all/x; true'
	assert_denials "open $HOME/notes: not visible, built-in: strict, 1" \
		"open $HOME/.ssh: not visible, built-in: strict, 1"
}
@test "strict: what is not visible, as far as it is there" {
	each_backend in_strict
}

@test "the rule is told by file and line, option and variable" {
	write_config '[profiles.moderate]' 'blocked_paths = ["~/private"]' 'network = "refuse"'
	mkdir "$HOME/private" "$HOME/b" "$HOME/c"
	touch "$HOME/private/x" "$HOME/b/x" "$HOME/c/x"
	AIRLOCK_HIDE="$HOME/c" observed --hide "$HOME/b" -c 'cat ~/private/x ~/b/x ~/c/x
		python3 -I -S -c "import socket; socket.socket().connect((\"192.0.2.1\", 443))"; true'
	assert_denials "open $HOME/private/x: hidden, $XDG_CONFIG_HOME/airlock/config.toml:2, 1" \
		"open $HOME/b/x: hidden, --hide, 1" \
		"open $HOME/c/x: hidden, AIRLOCK_HIDE, 1" \
		"connect 192.0.2.1:443: network off, $XDG_CONFIG_HOME/airlock/config.toml:3, 1"
	assert_json "leave out --hide $HOME/b" denials 1 hint
	assert_json "--profile moderate --network" denials 3 hint
}

@test "denials in a workspace" {
	mkdir -p "$HOME/w"
	observed --workspace "$HOME/w" -c 'echo x >/usr/x; echo x >/fine; cat /tmp/nothing; true'
	if [ "$(id -u)" -eq 0 ]; then
		assert_denials "write /usr/x: read-only, the system, over the workspace, 1"
		assert_json null denials 0 hint
	else # it would have failed without airlock, too
		assert_denials
	fi
}

@test "denials are printed one a line by run and show, and stored in the record" {
	run_airlock run --explain-denials -c 'cat ~/.ssh/id_ed25519 2>/dev/null; echo done'
	assert_stdout 'done'
	assert_stderr "airlock: blocked: open $HOME/.ssh/id_ed25519 (hidden: built-in: moderate); to allow: --ro $HOME/.ssh/id_ed25519"
	run_airlock show last
	assert_stdout_contains "blocked      open $HOME/.ssh/id_ed25519 (hidden: built-in: moderate); to allow: --ro $HOME/.ssh/id_ed25519"
	run_airlock show last --json
	assert_json hidden denials 0 rule
}

@test "denials are off by default; option, variable and file turn them on, the strongest wins" {
	run_airlock run --json -c 'cat ~/.ssh/id_ed25519; true'
	assert_json null denials
	AIRLOCK_EXPLAIN_DENIALS=true run_airlock run --json -c 'cat ~/.ssh/id_ed25519; true'
	assert_json open denials 0 op
	write_config '[sandbox]' 'explain_denials = true'
	run_airlock run --json -c 'cat ~/.ssh/id_ed25519; true'
	assert_json open denials 0 op
	run_airlock run --json --no-explain-denials -c 'cat ~/.ssh/id_ed25519; true'
	assert_json null denials
	AIRLOCK_EXPLAIN_DENIALS=false run_airlock run --json -c 'cat ~/.ssh/id_ed25519; true'
	assert_json null denials
	run_airlock explain --json -- true
	assert_json true explain_denials
}

the_same_without() {
	local program='import os, threading
for path in ("/etc/hosts", "/nothing", os.path.expanduser("~/.ssh/id_ed25519"), "file", "/etc/passwd"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_EXCL):
        attempt(f"{path} {flags}", os.open, path, flags)
attempt("mkdir", os.mkdir, "/etc/dir")
attempt("rename", os.rename, "/etc/hosts", "/etc/hosts2")
attempt("unlink", os.unlink, "/etc/hosts")
attempt("null", call, "open", None, 0)
attempt("wild", call, "open", 1, 0)
attempt("long", os.open, "x" * 5000, 0)
'
	run_python --changes discard <<<"$program"
	local before=$stdout
	run_python --changes discard --explain-denials <<<"$program"
	[ "$stdout" = "$before" ] || fail "expected: $before"
}
@test "the command sees the same with and without" {
	each_backend the_same_without
}

many() {
	run_python --json --explain-denials <<-'END'
		for i in range(1000):
		    attempt("w", write, os.path.expanduser("~/there-is/same"), b"", os.O_CREAT)
		for i in range(400):
		    attempt("d", os.mkdir, os.path.expanduser(f"~/there-is/distinct{i}"))
		attempt("last", os.mkdir, os.path.expanduser("~/last"))
	END
	assert_status 0
	assert_json 1000 denials 0 count
	[ "$(denials | wc -l)" -le 256 ] || fail "expected a bound"
	[ "$(denials | wc -l)" -ge 200 ] || fail "expected many"
}
@test "equal denials are counted as one, and their number is bounded" {
	each_backend many
	run_airlock run --explain-denials -c 'for i in $(seq 300); do echo >~/there-is/x$i; done 2>/dev/null; true'
	[ "$(grep -c 'blocked: write' "$RAW_STDERR")" -eq 10 ] || fail "expected ten lines"
	assert_stderr_contains 'more: airlock show '
	assert_stderr_contains 'more calls may have been refused'
}

threads() {
	run_python --json --explain-denials <<-'END'
		import threading, ctypes
		# The path changes under the reader: what is noted is one or the other, and the kernel decides by what it reads.
		path = ctypes.create_string_buffer(os.path.expanduser("~/there-is/one").encode())
		one, two = path.value, path.value.replace(b"one", b"two")
		stop = False
		def swap():
		    while not stop:
		        path.value = two
		        path.value = one
		def work():
		    for i in range(200):
		        libc.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
		swapper = threading.Thread(target=swap)
		swapper.start()
		workers = [threading.Thread(target=work) for i in range(4)]
		for w in workers: w.start()
		for w in workers: w.join()
		stop = True
		swapper.join()
		print("over")
	END
	assert_status 0
	[ "$(denials | awk '{ n += $NF } END { print n }')" -eq 800 ] || fail "expected 800"
	if denials | grep -qv "^write $HOME/there-is/"; then fail "expected nothing else"; fi
}
@test "racing threads cannot confuse the observer" {
	each_backend threads
}

killed() {
	new_marker
	"$AIRLOCK" run --explain-denials -- sh -c "while :; do echo >/etc/x; cat /etc/hosts; done; : $MARKER" >/dev/null 2>&1 </dev/null &
	local pid=$!
	eventually pgrep -f "$MARKER" >/dev/null
	kill -9 "$pid"
	wait "$pid" || true
	eventually eval '! pgrep -f "$MARKER" >/dev/null'
}
@test "kill -9 of airlock leaves nothing behind" {
	each_backend killed
}

timed_out() {
	observed --timeout 3s -c '{ echo >~/there-is/x; } 2>/dev/null; while :; do :; done'
	assert_status 124
	assert_json timeout status
	assert_json "$HOME/there-is/x" denials 0 path
}
@test "a time-out ends it, and what was refused is told" {
	each_backend timed_out
}

@test "hostile names are shown inert" {
	run_airlock run --explain-denials -c '{ echo >"$HOME/there-is/$(printf "\033[2Jx\nairlock: y")"; } 2>/dev/null; true'
	assert_stderr_contains "blocked: write to $HOME/there-is/"
	if grep -q $'\033' "$RAW_STDERR"; then fail "expected no escape"; fi
	[ "$(wc -l <"$RAW_STDERR")" -eq 1 ] || fail "expected one line"
}

@test "denials with landlock" {
	python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 2)' || skip "needs: Landlock of Linux 5.19"
	observed --backend landlock --changes direct -c 'cat ~/.ssh/id_ed25519; echo x >~/new; cat ~/nothing; echo x >ok; cat file; true'
	assert_denials "open $HOME/.ssh/id_ed25519: hidden, built-in: moderate, 1" \
		"write $HOME/new: read-only, built-in: moderate, 1"
}

@test "without a sandbox nothing is refused" {
	observed --yes --no-sandbox -c 'cat ~/.ssh/id_ed25519'
	assert_json '[]' denials
}

# As a kernel does that has no such listeners: seccomp(2) with that flag is EINVAL.
without_listeners() {
	run_program python3 -I -S - "$AIRLOCK" "$@" <<-'END'
		import ctypes, errno, os, struct, sys
		number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
		code = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 24), (0x45, 0, 1, 8),
		        (0x06, 0, 0, 0x00050000 | errno.EINVAL), (0x06, 0, 0, 0x7fff0000)]
		buffer = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
		program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer)))
		libc = ctypes.CDLL(None, use_errno=True)
		assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
		os.execv(sys.argv[1], sys.argv[1:])
	END
}
@test "an older kernel: the run goes on, and says so when it was asked" {
	without_listeners run --json --explain-denials -c 'cat file; cat ~/.ssh/id_ed25519'
	assert_status 1
	assert_json original stdout
	assert_json null denials
	assert_json 'this kernel cannot do it: Linux 5.19 or newer is needed' denials_note
	without_listeners run --explain-denials -c true
	assert_stderr 'airlock: what was refused could not be observed: this kernel cannot do it: Linux 5.19 or newer is needed'
	without_listeners run -c true
	assert_stderr ''
	without_listeners doctor --json
	python3 -c 'import json, sys; row, = [c for c in json.load(open(sys.argv[1]))["checks"] if c["name"] == "explained denials"]; assert row["status"] == "degraded", row' "$RAW_STDOUT"
}

@test "if denials cannot be observed, the run continues and says so" {
	# Inside an observed sandbox the kernel lets nobody else observe.
	run_airlock run --explain-denials --profile permissive --yes --discard --env XDG_STATE_HOME=/tmp/s --env XDG_DATA_HOME=/tmp/d \
		-- "$AIRLOCK" run --json --changes direct --explain-denials -c 'echo inner'
	assert_status 0
	assert_json inner stdout
	assert_json null denials
	assert_json 'another program already observes this process: airlock runs inside an observed sandbox' denials_note
	run_airlock run --explain-denials --profile permissive --yes --discard --env XDG_STATE_HOME=/tmp/s --env XDG_DATA_HOME=/tmp/d \
		-- "$AIRLOCK" run --changes direct --explain-denials -c 'echo inner'
	assert_stderr_contains 'what was refused could not be observed: another program already observes this process'
}

# refused OP PROGRAM: the calls that the filter refused, as "OP PROGRAM"
refused() {
	python3 -c '
import json, sys
for d in json.load(open(sys.argv[1]))["denials"]:
    if "program" in d:
        print(d["op"], d["program"])' "$RAW_STDOUT"
}

calls_are_named() {
	write_config ''
	# Named at the end of a run that failed, with what allows it.
	run_airlock run -- unshare --user true
	assert_status 1
	assert_stderr_contains 'refused: make or enter a namespace, as unshare tried (system call: profile moderate); to allow: nested = true in the profile'
	# One that went on without it is not bothered.
	run_airlock run -c 'unshare --user true 2>/dev/null; true'
	assert_status 0
	[[ $stderr != *refused* ]] || fail "a command that did without it was told"
	# An agent is told what was refused, not how to allow it.
	AIRLOCK_AGENT=1 run_airlock run -- unshare --user true
	assert_stderr_contains 'blocked: make or enter a namespace, as unshare tried'
	[[ $stderr != *nested* && $stderr != *permissive* ]] || fail "an agent was told how"
	observed -- unshare --user true
	assert_status 1
	[ "$(refused)" = 'namespace unshare' ]
	assert_json 'profile moderate' denials 0 source
	# What the hint says allows it.
	write_config '[[commands]]' 'match = ["unshare"]' 'nested = true'
	run_airlock run -- unshare --user true
	assert_status 0
	[[ $stderr != *refused* ]]
	observed --profile permissive -- unshare --user true
	assert_status 0
	[ -z "$(refused)" ]
	write_config ''
}
@test "namespaces that the filter refuses are named, with the profile that allows them" {
	each_backend calls_are_named
}

tracing_is_named() {
	observed -- python3 -I -S -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, b"tracer", 0, 0, 0)
assert libc.ptrace(0, 0, 0, 0) == -1 and ctypes.get_errno() == 1
assert libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, 0, 0) == -1 and ctypes.get_errno() == 1
'
	assert_status 0
	[ "$(refused)" = $'trace tracer\nkeys tracer' ] || fail "found: $(refused)"
	run_airlock run -c 'python3 -I -S -c "import ctypes, os; os._exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) and 3)"'
	assert_status 3
	assert_stderr_contains 'refused: trace a process, as python3'
	run_airlock run --profile permissive -c 'python3 -I -S -c "import ctypes, os; os._exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) and 3)"'
	assert_status 0
}
@test "tracing and keyrings are named; keyrings no profile allows" {
	each_backend tracing_is_named
}

would_fail_outside() {
	observed -c 'mount -t tmpfs x /mnt 2>/dev/null; unshare --mount true 2>/dev/null; true'
	if [ "$(id -u)" = 0 ]; then
		[ "$(refused)" = $'mount mount\nnamespace unshare' ] || fail "found: $(refused)"
	else
		[ -z "$(refused)" ] || fail "found: $(refused)"
	fi
}
@test "calls that only root may make are named to root only" {
	each_backend would_fail_outside
}

# The kernel says "read-only" before it looks for the name; with somebody who listens it is as outside.
missing_is_missing() {
	local program='
import errno, os
def attempt(name, f, *args):
	try:
		f(*args)
		print(name, "done")
	except OSError as e:
		print(name, errno.errorcode[e.errno])
def all_of(missing, there, directory):
	attempt("unlink missing", os.unlink, missing)
	attempt("unlink there", os.unlink, there)
	attempt("rmdir missing", os.rmdir, missing + "//")
	attempt("rmdir there", os.rmdir, directory)
	attempt("mkdir there", os.mkdir, directory)
all_of("/usr/nosuch", "/usr/bin/env", "/usr/bin")
attempt("rename missing", os.rename, "/usr/nosuch", "/usr/other")
attempt("rename there", os.rename, "/usr/bin/env", "/usr/other")
os.chdir("/usr/bin")
all_of("nosuch", "env", "../bin")
attempt("through proc", os.unlink, "/proc/self/cwd/env")
open(os.environ["HERE"] + "/new", "w").close()
here = os.open(os.environ["HERE"], os.O_RDONLY)
attempt("through a descriptor", os.unlink, "/proc/self/fd/%d/new" % here)
attempt("again", os.unlink, os.environ["HERE"] + "/new")'
	local answers='unlink missing ENOENT
unlink there EROFS
rmdir missing ENOENT
rmdir there EROFS
mkdir there EEXIST'
	run_airlock run --discard --explain-denials --env HERE="$PROJECT" -- python3 -I -S -c "$program"
	assert_status 0
	assert_stdout "$answers"$'\nrename missing ENOENT\nrename there EROFS\n'"$answers"$'\nthrough proc EROFS\nthrough a descriptor done\nagain ENOENT'
	# Renaming is listened to in every run with layers.
	run_airlock run --discard -- python3 -I -S -c 'import os; os.rename("/usr/nosuch", "/usr/other")'
	assert_status 1
	assert_stderr_contains FileNotFoundError
}
@test "what does not exist in a read-only place is not there: deleting and renaming it is ENOENT" {
	each_backend missing_is_missing
}
