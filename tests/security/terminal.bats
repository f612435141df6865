#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The caller's terminal, session, process group and other processes are out of a command's reach.

load ../helpers

# at_terminal ARG...: the Python program on stdin; it has Terminal, and the arguments from sys.argv[1]
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=dumb python3 -c "
import os, signal, sys, time
from pseudo_terminal import Terminal
airlock, *arguments = sys.argv[1:]
$(cat)" "$AIRLOCK" "$@" </dev/null
	assert_status 0
}

# Types a line into whatever terminal it can find: its own descriptors, /dev/tty, the terminals in /dev/pts.
TYPIST='
import fcntl, glob, os, termios
fds = [0, 1, 2]
for path in ["/dev/tty", "/dev/console", *glob.glob("/dev/pts/*"), *glob.glob("/proc/*/fd/[0-9]")]:
    try:
        fds.append(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        pass
for fd in fds:
    for request in termios.TIOCSTI, termios.TIOCSTI | 1 << 32:
        for letter in b"echo typed-by-the-command\r":
            try:
                fcntl.ioctl(fd, request & 0xffffffff, bytes([letter]))
            except OSError:
                break
print("tried", len(fds))'

@test "a command without a terminal types nothing into the caller's" {
	each_backend each_profile types_nothing
}
types_nothing() {
	at_terminal "$TYPIST" <<-'EOF_PYTHON'
		with Terminal(["bash", "--norc", "--noprofile", "-i"], env={**os.environ, "PS1": "ready> ", "TYPIST": arguments[0]}) as terminal:
		    terminal.expect("ready> ")
		    terminal.type(f"{airlock} run -- python3 -c \"$TYPIST\"\r")
		    terminal.expect("tried ")
		    terminal.expect("ready> ")
		    time.sleep(0.1)
		    terminal.type("echo still here\r")
		    terminal.expect("\nstill here\n")
		    assert "typed-by" not in terminal.screen, terminal.screen
	EOF_PYTHON
}

@test "a command with a terminal types only into its own" {
	each_backend types_into_own
}
types_into_own() {
	at_terminal "$TYPIST" <<-'EOF_PYTHON'
		with Terminal(["bash", "--norc", "--noprofile", "-i"], env={**os.environ, "PS1": "ready> ", "TYPIST": arguments[0]}) as terminal:
		    terminal.expect("ready> ")
		    terminal.type(f"{airlock} run -t -- python3 -c \"$TYPIST\"\r")
		    terminal.expect("tried ")
		    terminal.expect("ready> ")
		    time.sleep(0.1)
		    terminal.type("echo 'still' here\r")
		    terminal.expect("\nstill here\n")
		    assert "\ntyped-by" not in terminal.screen, terminal.screen
	EOF_PYTHON
}

@test "a command is in a session of its own" {
	each_backend each_profile own_session
}
own_session() {
	run_airlock run -c 'read -r pid _ _ parent group session _ </proc/self/stat; echo "$group $session"; : </dev/tty && echo opened'
	[[ $stdout =~ ^([0-9]+)\ ([0-9]+)$ ]] || fail "expected no terminal"
	[ "${BASH_REMATCH[2]}" -ne 0 ] || fail "its session is the host's"
}

@test "signals to its group, to everybody and to numbers of the host reach nobody outside" {
	each_backend each_profile signals
}
signals() {
	new_marker
	# In the process group of airlock itself: the one that kill(0) reached where no new session was made.
	run_program bash -c '
		exec -a "$2" sleep 60 & sentinel=$!
		(exec -a "$2" sleep 60) & 
		"$1" run -- python3 -I -S -c "$3" "$sentinel" "$$" "$PPID"
		echo "airlock ended"
		kill -0 "$sentinel" && echo "sentinel lives"
		pkill -KILL -f "^$2 60"' bash "$AIRLOCK" "$MARKER" '
import os, signal, sys
def hit(target, number):
    pid = os.fork()
    if pid == 0:
        try:
            os.kill(target, number)
        except OSError:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for target in [-1, 0, *map(int, sys.argv[1:]), *range(2, 400), *(-int(n) for n in sys.argv[1:])]:
    if target not in (os.getpid(), -os.getpgid(0)):
        hit(target, signal.SIGTERM)
print("tried", flush=True)
hit(-1, signal.SIGKILL)' </dev/null
	assert_stdout_contains tried
	assert_stdout_contains 'airlock ended'
	assert_stdout_contains 'sentinel lives'
}

@test "output is passed on as it is, but airlock itself says nothing a command has chosen" {
	each_backend hostile_words
}
hostile_words() {
	run_airlock run -- $'./\e]0;title\a\nairlock: all is well'
	assert_status 127
	refute_stderr_contains $'\e'
	refute_stderr_contains $'\a'
	[ "$(wc -l <"$RAW_STDERR")" -eq 1 ] || fail "expected one line"
	[[ $stderr == 'airlock: '* ]] || fail "expected airlock's own words"
}
