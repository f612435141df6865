#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# run -t and shell: the command's own terminal, and that the caller's comes back as it was.

load ../helpers

# at_terminal ARG...: the Python program on stdin; it has Terminal, and the arguments from sys.argv[1]
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm PS1='inside> ' ENV= \
		python3 -c "
import os, signal, sys, time
from pseudo_terminal import Terminal
airlock, *arguments = sys.argv[1:]
def check(condition, terminal):
    assert condition, terminal.screen
$(cat)" "$AIRLOCK" "$@" </dev/null
	assert_status 0
}

@test "-t: all three are a terminal, and it is the command's controlling one" {
	each_backend is_terminal
}
is_terminal() {
	at_terminal <<-'EOF_PYTHON'
		program = "test -t 0 && test -t 1 && test -t 2 && tty && : </dev/tty && echo is-a-terminal"
		with Terminal([airlock, "run", "-t", "-c", program]) as terminal:
		    check(terminal.wait() == 0, terminal)
		    check(terminal.screen == "/dev/pts/0\nis-a-terminal\n", terminal)
	EOF_PYTHON
}

@test "-t: it is not the caller's terminal" {
	each_backend another_terminal
}
another_terminal() {
	at_terminal <<-'EOF_PYTHON'
		program = 'import os; s = os.fstat(0); print("device", s.st_dev, s.st_ino)'
		with Terminal(["sh", "-c", 'python3 -c "$1"; exec "$0" run -t -- python3 -c "$1"', airlock, program]) as terminal:
		    check(terminal.wait() == 0, terminal)
		    outside, inside = [line for line in terminal.screen.split("\n") if line.startswith("device")]
		    check(outside != inside, terminal)
	EOF_PYTHON
}

@test "at a terminal the command gets one of its own without -t" {
	each_backend is_terminal_by_default
}
is_terminal_by_default() {
	at_terminal <<-'EOF_PYTHON'
		program = "test -t 0 && test -t 1 && test -t 2 && tty && : </dev/tty && echo is-a-terminal"
		with Terminal([airlock, "run", "-c", program]) as terminal:
		    check(terminal.wait() == 0, terminal)
		    check(terminal.screen == "/dev/pts/0\nis-a-terminal\n", terminal)
	EOF_PYTHON
}

@test "one of the three is no terminal, or --json: no terminal inside, and two clean streams" {
	at_terminal <<-'EOF_PYTHON'
		program = "for fd in 0 1 2; do test -t $fd && echo terminal $fd; done; readlink /proc/self/fd/0; echo wrong >&2"
		def run(line, expected):
		    with Terminal(["sh", "-c", line, airlock, program]) as terminal:
		        check(terminal.wait() == 0, terminal)
		        check(expected in terminal.screen and "terminal" not in terminal.screen, terminal)
		run('"$0" run -c "$1" | cat', "/dev/null\n")
		run('"$0" run -c "$1" 2>&1 | cat', "wrong\n")
		run('"$0" run -c "$1" </dev/null', "/dev/null\n")
		run('"$0" run --no-pty -c "$1"', "/dev/null\n")
		run('AIRLOCK_NO_PTY=1 "$0" run -c "$1"', "/dev/null\n")
		run('AIRLOCK_PTY=no "$0" run -c "$1"', "/dev/null\n")
		run('"$0" run --json -c "$1"', '"stderr": "wrong\\n"')
		with Terminal(["sh", "-c", 'AIRLOCK_NO_PTY=1 "$0" run -t -c tty', airlock]) as terminal:
		    check(terminal.wait() == 0 and terminal.screen == "/dev/pts/0\n", terminal)
	EOF_PYTHON
}

@test "Ctrl-Z stops the command and airlock, fg continues both, as often as one likes" {
	each_backend stop_and_go_on
}
stop_and_go_on() {
	at_terminal <<-'EOF_PYTHON'
		shell = ["bash", "--norc", "--noprofile", "-i"]
		line = f"{airlock} run -c 'echo up-$((1+1)); read a; echo got $a; exit 5'\r"
		with Terminal(shell) as terminal:
		    terminal.expect("inside> ")
		    terminal.type(line)
		    terminal.expect("up-2")
		    for _ in range(2):
		        terminal.type("\x1a")
		        terminal.expect("Stopped")
		        terminal.expect("inside> ")
		        terminal.type("fg\r")
		        terminal.expect("read a")
		        time.sleep(0.5)  # until it has the terminal again
		    terminal.type("this\r")
		    terminal.expect("got this\n")
		    terminal.expect("inside> ")
		    terminal.type("echo status $?\r")
		    terminal.expect("status 5\n")
		    terminal.type("exit 0\r")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}

@test "Ctrl-Z without a shell above that could continue us: the command goes on" {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "-c", "echo ready; read a; echo got $a"]) as terminal:
		    terminal.expect("ready\n")
		    terminal.type("\x1a")
		    time.sleep(0.5)
		    terminal.type("this\r")
		    terminal.expect("got this\n")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}

@test "Ctrl-Z of a run whose output goes to a pipe stops the command, too" {
	at_terminal <<-'EOF_PYTHON'
		line = f"{airlock} run -c 'for i in 1 2 3 4 5 6 7 8; do echo tick $i; sleep 0.3; done' | cat\r"
		with Terminal(["bash", "--norc", "--noprofile", "-i"]) as terminal:
		    terminal.expect("inside> ")
		    terminal.type(line)
		    terminal.expect("tick 2\n")
		    terminal.type("\x1a")
		    terminal.expect("Stopped")
		    time.sleep(3)
		    terminal.type("echo asked\r")
		    terminal.expect("asked\n")
		    check("tick 8" not in terminal.screen, terminal)
		    terminal.type("fg\r")
		    terminal.expect("tick 8\n")
		    terminal.expect("inside> ")
		    terminal.type("exit 0\r")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}

@test "started in the background it runs, and gets its keys once it is in the foreground" {
	at_terminal <<-'EOF_PYTHON'
		line = f"{airlock} run -c 'echo up-$((1+1)); read a; echo got $a' &\r"
		with Terminal(["bash", "--norc", "--noprofile", "-i"]) as terminal:
		    terminal.expect("inside> ")
		    terminal.type(line)
		    terminal.expect("up-2")
		    terminal.type("fg\r")
		    terminal.expect("read a")
		    time.sleep(1)
		    terminal.type("this\r")
		    terminal.expect("got this\n")
		    terminal.expect("inside> ")
		    check(terminal.screen.count("this\n") == 2, terminal)  # echoed once
		    terminal.type("exit 0\r")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}

@test "with --no-pty the command has no terminal and cannot open one" {
	each_backend no_terminal
}
no_terminal() {
	at_terminal <<-'EOF_PYTHON'
		program = "for fd in 0 1 2; do test -t $fd && echo terminal; done; : </dev/tty && echo opened"
		with Terminal([airlock, "run", "--no-pty", "-c", program]) as terminal:
		    check(terminal.wait() != 0, terminal)
		    check("terminal\n" not in terminal.screen and "opened" not in terminal.screen, terminal)
	EOF_PYTHON
}

@test "-t: input and output go both ways, echoed once, and the exit status is the command's" {
	each_backend both_ways
}
both_ways() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "-t", "-c", 'echo ready; read line; echo "got $line"; exit 7']) as terminal:
		    terminal.expect("ready\n")
		    terminal.type("hello\r")
		    check(terminal.wait() == 7, terminal)
		    check(terminal.screen == "ready\nhello\ngot hello\n", terminal)
	EOF_PYTHON
}

@test "-t: Ctrl-D is the end of input" {
	each_backend end_of_input
}
end_of_input() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "-t", "-c", "echo ready; cat; echo over"]) as terminal:
		    terminal.expect("ready\n")
		    terminal.type("text\r\x04")
		    check(terminal.wait() == 0, terminal)
		    check(terminal.screen.endswith("text\nover\n"), terminal)
	EOF_PYTHON
}

@test "-t: the terminal is as large as the caller's, and follows it" {
	each_backend size
}
size() {
	at_terminal <<-'EOF_PYTHON'
		program = 'trap "stty size" WINCH; stty size; echo ready; while :; do sleep 0.02; done'
		with Terminal([airlock, "run", "-t", "-c", program], rows=30, columns=99) as terminal:
		    terminal.expect("30 99\n")
		    terminal.expect("ready\n")
		    terminal.resize(41, 132)
		    terminal.expect("41 132\n")
		    terminal.type("\x1c")
		    check(terminal.wait() == 131, terminal)
	EOF_PYTHON
}

@test "-t: Ctrl-C, Ctrl-\\ and Ctrl-Z are the command's" {
	each_backend keys
}
keys() {
	at_terminal <<-'EOF_PYTHON'
		program = "import os, signal, time\nseen = []\n" \
		          "def tell(number, _):\n    seen.append(number)\n" \
		          "    os.write(1, b'got %s\\n' % signal.Signals(number).name[3:].encode())\n" \
		          "for name in ('INT', 'QUIT', 'TSTP'): signal.signal(getattr(signal, 'SIG' + name), tell)\n" \
		          "print('ready', flush=True)\nwhile len(seen) < 3: time.sleep(0.02)\nos._exit(3)\n"
		with Terminal([airlock, "run", "-t", "--", "python3", "-c", program]) as terminal:
		    terminal.expect("ready\n")
		    for key, name in ("\x03", "INT"), ("\x1c", "QUIT"), ("\x1a", "TSTP"):
		        terminal.type(key)
		        terminal.expect(f"got {name}\n")
		    check(terminal.wait() == 3, terminal)
	EOF_PYTHON
}

@test "-t: bytes pass unchanged, control characters too" {
	each_backend raw
}
raw() {
	at_terminal <<-'EOF_PYTHON'
		program = "stty raw -echo; echo ready; head -c 5 | od -An -tx1"
		with Terminal([airlock, "run", "-t", "-c", program]) as terminal:
		    terminal.expect("ready\n")
		    terminal.type("\x03\x1a\r\x04\x11")
		    check(terminal.wait() == 0, terminal)
		    check("03 1a 0d 04 11" in terminal.screen, terminal)
	EOF_PYTHON
}

@test "-t: 200 kB through the terminal arrive whole" {
	each_backend large
}
large() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "-t", "-c", "seq 1 35000"]) as terminal:
		    check(terminal.wait() == 0, terminal)
		    assert terminal.screen == "".join(f"{i}\n" for i in range(1, 35001)), len(terminal.screen)
	EOF_PYTHON
}

@test "-t: job control works inside" {
	each_backend job_control
}
job_control() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "-t", "--", "bash", "--norc", "--noprofile", "-i"]) as terminal:
		    terminal.expect("inside> ")
		    terminal.type("sleep 50\r")
		    time.sleep(0.3)
		    terminal.type("\x1a")
		    terminal.expect("Stopped")
		    terminal.type("bg\r")
		    terminal.expect("sleep 50 &")
		    terminal.type("kill %1; wait; exit 4\r")
		    check(terminal.wait() == 4, terminal)
		    check("no job control" not in terminal.screen, terminal)
	EOF_PYTHON
}

@test "-t: the caller's terminal is raw while it runs and as before after each end" {
	each_backend restored
}
restored() {
	at_terminal <<-'EOF_PYTHON'
		def run(*arguments, then=None, status):
		    with Terminal([airlock, "run", "-t", *arguments]) as terminal:
		        if then:
		            terminal.expect("ready\n")
		            check(terminal.mode() != terminal.mode_before, terminal)
		            then(terminal)
		        check(terminal.wait() == status, terminal)
		        check(terminal.mode() == terminal.mode_before, terminal)
		wait = ["-c", "echo ready; exec sleep 100"]
		run("--", "true", status=0)
		run("--", "false", status=1)
		run("--", "sh", "-c", "kill -9 $$", status=137)
		run("--", "sh", "-c", "stty raw -echo; exit 2", status=2)
		run("--", "/no/such/program", status=127)
		run("-C", "/no/such/place", "--", "true", status=125)
		run("--timeout", "300ms", "--", "sleep", "100", status=124)
		run(*wait, then=lambda terminal: terminal.type("\x03"), status=130)
		for number in signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT:
		    run(*wait, then=lambda terminal: terminal.signal(number), status=128 + number)
	EOF_PYTHON
}

@test "-t: nothing is left behind when the terminal goes away" {
	each_backend gone
}
gone() {
	new_marker
	at_terminal "$MARKER" <<-'EOF_PYTHON'
		terminal = Terminal([airlock, "run", "-t", "--", "bash", "-c", f"echo ready; exec -a {arguments[0]} sleep 100"])
		terminal.expect("ready\n")
		os.close(terminal.master)
		os.waitpid(terminal.pid, 0)
	EOF_PYTHON
	assert_no_process "$MARKER"
}

@test "-t: what the command wrote last is not lost" {
	each_backend last_words
}
last_words() {
	at_terminal <<-'EOF_PYTHON'
		for _ in range(10):
		    with Terminal([airlock, "run", "-t", "-c", "seq 1 2000; printf last"]) as terminal:
		        check(terminal.wait() == 0, terminal)
		        check(terminal.screen.endswith("\n2000\nlast"), terminal)
	EOF_PYTHON
}

@test "-t without a terminal of the caller's: the command has one all the same" {
	each_backend no_terminal_outside
}
no_terminal_outside() {
	run_program setsid -w "$AIRLOCK" run -t -c 'test -t 0 && test -t 1 && test -t 2 && echo three; cat; exit 7' </dev/null
	assert_status 7
	assert_stdout $'three\r'
	# The last line has no end: it is handed over all the same, and then the end is seen.
	run_program setsid -w "$AIRLOCK" run -t -c 'stty -echo; cat' < <(printf 'typed\nunfinished')
	assert_status 0
	assert_stdout_contains $'typed\r\nunfinished'
	run_program setsid -w "$AIRLOCK" run -t -c 'cat; echo end' <&-
	assert_status 0
	assert_stdout $'end\r'
	run_airlock run -t --json -c 'tty; echo both >&2'
	assert_status 0
	assert_json $'/dev/pts/0\r\nboth\r' stdout
	assert_json '' stderr
	run_program setsid -w "$AIRLOCK" shell --shell /bin/sh < <(printf 'echo x"y"z; exit 3\n')
	assert_status 3
	assert_stdout_contains xyz
	run_airlock shell --json
	assert_status 2
	assert_json usage error code
}

# ---- airlock shell

@test "shell: an interactive shell in the project, sandboxed" {
	each_backend shell
}
shell() {
	at_terminal "$PROJECT" <<-'EOF_PYTHON'
		with Terminal([airlock, "shell", "--shell", "/bin/sh"]) as terminal:
		    terminal.expect("inside> ")
		    terminal.type("pwd -P; echo x >/usr/x; echo $-\r")
		    terminal.expect(f"{arguments[0]}\n")
		    terminal.expect("Read-only file system")
		    terminal.expect("i")
		    terminal.type("exit 9\r")
		    check(terminal.wait() == 9, terminal)
		    check(terminal.mode() == terminal.mode_before, terminal)
	EOF_PYTHON
}

@test "shell: SHELL decides when it is a program, else /bin/sh" {
	each_backend which_shell
}
which_shell() {
	echo "PS1='inside> '" >"$HOME/.bashrc"
	at_terminal <<-'EOF_PYTHON'
		def shell(value, *options):
		    env = {**os.environ, "SHELL": value}
		    with Terminal([airlock, "shell", *options], env=env) as terminal:
		        terminal.expect("inside> ")
		        terminal.type('echo "i""s $(readlink /proc/$$/exe)"; exit\r')
		        terminal.expect("is /")
		        check(terminal.wait() == 0, terminal)
		        return terminal.screen[terminal.screen.index("is /") + 3 :].split("\n")[0]
		sh = os.path.realpath("/bin/sh")
		found = shell("/bin/sh"), shell("relative"), shell("/no/such"), shell("/bin/sh", "--shell", "/bin/bash")
		assert found == (sh, sh, sh, os.path.realpath("/bin/bash")), found
	EOF_PYTHON
}

@test "shell: the end of input ends it" {
	each_backend shell_ends
}
shell_ends() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "shell", "--shell", "/bin/sh"]) as terminal:
		    terminal.expect("inside> ")
		    terminal.type("\x04")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}
