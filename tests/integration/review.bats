#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The list of changes on the whole terminal: after `run --changes ask`, and `airlock review`. What its keys mean and how
# it is drawn is tested in unit/test_review.c, the questions in lines in ask.bats.

load ../helpers

setup() {
	default_setup
	printf 'one\ntwo\nthree\n' >file
	echo kept >other
}

# at_terminal ARG...: the Python program on stdin; it has Terminal, ask(COMMAND) and the arguments from sys.argv[1]
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm \
		python3 -c "
import os, signal, sys, time
from pseudo_terminal import Terminal
airlock, *arguments = sys.argv[1:]
READY = '\033[1m?\033[0m help'  # the end of a frame of the list
LEFT = '\033[?25h\033[?1049l'
def check(condition, terminal):
    assert condition, terminal.screen
def ask(command, *options, **terminal):
    return Terminal([airlock, 'run', '--changes', 'ask', *options, '-c', command], **terminal)
def press(terminal, keys):
    for key in keys:
        terminal.expect(READY)
        terminal.type(key)
def left(terminal):
    check(terminal.mode() == terminal.mode_before, terminal)
    check(terminal.screen.count('\033[?1049h') == terminal.screen.count(LEFT) > 0, terminal)
$(cat)" "$AIRLOCK" "$@" </dev/null
	assert_status 0
}

@test "ask shows the list; a applies all, and the command's status stays" {
	at_terminal <<-'EOF_PYTHON'
		with ask("echo x >new; rm other; exit 5") as terminal:
		    terminal.expect("2 changes, not applied yet")
		    terminal.expect("> [ ] A  new")
		    terminal.expect("[ ] D  other")
		    press(terminal, "a")
		    terminal.expect("2 changes applied")
		    check(terminal.wait() == 5, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file new x
	assert_absent other
}

@test "space selects, s applies what is selected, the rest is held" {
	at_terminal <<-'EOF_PYTHON'
		with ask("echo x >>file; echo y >new; rm other") as terminal:
		    press(terminal, "s")
		    terminal.expect("nothing is selected yet")
		    press(terminal, "j")
		    terminal.expect("> [ ] A  new")
		    press(terminal, " ")
		    terminal.expect("> [x] A  new")
		    press(terminal, "s")
		    terminal.expect("1 change applied, 2 held for you")
		    check(terminal.wait() == 0, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file new y
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
}

@test "a directory is selected with all in it, and may be selected in part" {
	mkdir gone
	echo 1 >gone/x
	echo 2 >gone/y
	at_terminal <<-'EOF_PYTHON'
		with ask("mkdir d e; touch d/x d/y e/x e/y; rm -r gone") as terminal:
		    terminal.expect("> [ ] A  d")
		    press(terminal, " ")
		    terminal.expect("> [x] A  d")
		    press(terminal, "jj")
		    terminal.expect("> [x] A  d/y")
		    press(terminal, " ")
		    terminal.expect("[-] A  d")
		    terminal.expect("> [ ] A  d/y")
		    for n in range(4):
		        press(terminal, "j")
		    terminal.expect("> [ ] D  gone")
		    press(terminal, " ")
		    terminal.expect("> [x] D  gone")
		    press(terminal, "s")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
	[ -e d/x ]
	assert_absent d/y
	assert_absent e
	assert_absent gone
}

@test "x asks once more, and discards all, or what is selected" {
	at_terminal <<-'EOF_PYTHON'
		with ask("echo x >new; rm other") as terminal:
		    press(terminal, "x")
		    terminal.expect("Discard all 2 changes for good?")
		    terminal.type("n")
		    terminal.expect("nothing was discarded")
		    press(terminal, " ")
		    terminal.expect("> [x] A  new")
		    press(terminal, "x")
		    terminal.expect("Discard 1 selected change for good?")
		    terminal.type("y")
		    terminal.expect("1 change discarded, 1 held")
		    check(terminal.wait() == 0, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_absent new
	assert_file other kept
	run_airlock apply last
	assert_status 0
	assert_absent other
	assert_absent new
}

@test "h, q, Ctrl-C, Ctrl-D and a terminal that goes away hold" {
	at_terminal <<-'EOF_PYTHON'
		for key in "h", "q", "\x03", "\x04":
		    with ask("echo x >new") as terminal:
		        press(terminal, key)
		        terminal.expect("1 change held: airlock review 20")
		        check(terminal.wait() == 0, terminal)
		        left(terminal)
		terminal = ask("echo x >new")
		press(terminal, " ")
		os.close(terminal.master)
		end = time.monotonic() + 10
		while os.waitpid(terminal.pid, os.WNOHANG)[0] == 0:
		    assert time.monotonic() < end, "it does not end"
		    time.sleep(0.02)
	EOF_PYTHON
	assert_absent new
	run_airlock changes last --json
	assert_json held state
}

@test "Enter shows the diff, which scrolls; q goes back to the list" {
	at_terminal <<-'EOF_PYTHON'
		with ask("seq 100 >new; echo x >>file", rows=12) as terminal:
		    terminal.expect("> [ ] M  file")
		    press(terminal, "\r")
		    terminal.expect("+x")
		    terminal.expect("the list")
		    terminal.type("n")
		    terminal.expect("lines 1-9 of 105")
		    terminal.type("G")
		    terminal.expect("lines 97-105 of 105")
		    terminal.expect("+100")
		    terminal.expect("the list")
		    terminal.type("a") # decides nothing here
		    terminal.type("q")
		    terminal.expect("> [ ] A  new")
		    press(terminal, "q")
		    check(terminal.wait() == 0, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_absent new
}

@test "names and content never reach the terminal as they are" {
	at_terminal <<-'EOF_PYTHON'
		with ask(r"""n=$(printf 'a\033]0;title\007\nb'); printf 'x\033[2Jy\n' >"$n" """) as terminal:
		    terminal.expect(r"A  a\x1b]0;title\x07\nb")
		    press(terminal, "d")
		    terminal.expect(r"x\x1b[2Jy")
		    terminal.expect("the list")
		    terminal.type("q")
		    press(terminal, "q")
		    check(terminal.wait() == 0, terminal)
		    check("\033]0" not in terminal.screen and "\033[2J" not in terminal.screen, terminal)
	EOF_PYTHON
}

@test "a sensitive change is marked with its reason, and asked about once more" {
	mkdir .git/hooks
	at_terminal <<-'EOF_PYTHON'
		with ask("echo 'exit 0' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push") as terminal:
		    terminal.expect("A! .git/hooks/pre-push  runs outside the sandbox: git hook")
		    press(terminal, "a")
		    terminal.expect("[A]pply  [N]o: ")
		    terminal.answer("n")
		    terminal.expect("not applied yet") # the list again
		    press(terminal, "a")
		    terminal.expect("[A]pply  [N]o: ")
		    terminal.answer("a")
		    terminal.expect("1 change applied")
		    check(terminal.wait() == 0, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file .git/hooks/pre-push 'exit 0'
}

@test "SIGTERM, SIGHUP and SIGINT put the terminal back and hold" {
	"$AIRLOCK" run --hold -c 'echo x >new' 2>/dev/null
	at_terminal <<-'EOF_PYTHON'
		for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
		    with Terminal([airlock, "review"]) as terminal:
		        press(terminal, " ")
		        terminal.expect("> [x]")
		        terminal.signal(number)
		        check(terminal.wait() == 128 + number, terminal)
		        left(terminal)
		with ask("echo y >newer") as terminal: # here the status is the command's
		    terminal.expect(READY)
		    terminal.signal(signal.SIGTERM)
		    terminal.wait()
		    left(terminal)
	EOF_PYTHON
	assert_absent new
	assert_absent newer
}

@test "Ctrl-Z and SIGTSTP stop it with the terminal put back; it goes on where it was" {
	command -v bash >/dev/null || skip "needs: bash"
	at_terminal <<-'EOF_PYTHON'
		os.environ["PS1"] = "ready> "
		with Terminal(["bash", "--norc", "--noprofile", "-i"]) as terminal:
		    terminal.expect("ready> ")
		    terminal.type(f"'{airlock}' run --changes ask -c 'echo x >new; rm other'\r")
		    press(terminal, " ")
		    terminal.expect("> [x] A  new")
		    press(terminal, "\x1a")
		    terminal.expect(LEFT)
		    terminal.expect("ready> ")
		    terminal.type("stty -a | grep -o ' icanon'; fg\r")
		    terminal.expect("icanon\n'")
		    terminal.expect("> [x] A  new")
		    terminal.expect(READY)
		    pid = os.tcgetpgrp(terminal.master)
		    os.kill(pid, signal.SIGTSTP)
		    terminal.expect(LEFT)
		    terminal.expect("ready> ")
		    terminal.type("fg\r")
		    terminal.expect("> [x] A  new")
		    press(terminal, "s")
		    terminal.expect("1 change applied, 1 held")
		    terminal.expect("ready> ")
		    terminal.type("exit\r")
		    terminal.wait()
	EOF_PYTHON
	assert_file new x
	assert_file other kept
}

@test "the list follows the size of the terminal" {
	at_terminal <<-'EOF_PYTHON'
		with ask("for n in $(seq 10 60); do echo x >file-with-a-rather-long-name-$n; done") as terminal:
		    terminal.expect("file-with-a-rather-long-name-30")
		    terminal.expect(READY)
		    terminal.resize(8, 30)
		    terminal.expect("> [ ] A  …-rather-long-name-10")
		    terminal.expect("a\033[0m apply all  \033[1m?")
		    terminal.type("G")
		    terminal.expect("…-rather-long-name-56")
		    terminal.expect("> [ ] A  …-rather-long-name-60")
		    terminal.resize(60, 100)
		    terminal.expect("[ ] A  file-with-a-rather-long-name-10")
		    press(terminal, "q")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
}

@test "pasted keys, and those typed ahead, decide nothing" {
	at_terminal <<-'EOF_PYTHON'
		with ask("sleep 0.3; echo x >new") as terminal:
		    terminal.type("a") # long before the list
		    terminal.expect(READY)
		    terminal.type("aaaa")
		    terminal.expect("several keys at once decide nothing")
		    terminal.type("jsa")
		    terminal.expect("several keys at once decide nothing")
		    press(terminal, "q")
		    terminal.expect("1 change held")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
	assert_absent new
}

@test "a dumb or tiny terminal, and NO_COLOR, get lines without escapes" {
	at_terminal <<-'EOF_PYTHON'
		plain = {name: value for name, value in os.environ.items() if name != "TERM"}
		for env, size in (({**plain, "TERM": "dumb"}, (24, 80)), (plain, (24, 80)), ({**plain, "TERM": ""}, (24, 80)),
		                  ({**plain, "TERM": "xterm", "NO_COLOR": "1"}, (24, 80)), ({**plain, "TERM": "dumb"}, (5, 20))):
		    with ask("echo x >new", env=env, rows=size[0], columns=size[1]) as terminal:
		        terminal.expect("[a]pply all  [c]hoose  [d]iscard  [h]old  d[i]ff: ")
		        terminal.answer("h")
		        check(terminal.wait() == 0, terminal)
		        check("\033[?1049h" not in terminal.screen, terminal)
		        check("\033" not in terminal.screen or "TERM" not in env or env["TERM"] == "", terminal)
	EOF_PYTHON
	assert_absent new
}

@test "the review prints nothing to standard output" {
	at_terminal "$BATS_TEST_TMPDIR/out" <<-'EOF_PYTHON'
		with Terminal(["sh", "-c", f"'{airlock}' run --changes ask -c 'echo out; echo x >new' >'{arguments[0]}'"]) as terminal:
		    press(terminal, "a")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
	assert_file "$BATS_TEST_TMPDIR/out" out
	assert_file new x
}

# ---- airlock review

@test "review: the newest run of this project with changes that wait" {
	"$AIRLOCK" run --hold -c 'echo x >waits' 2>/dev/null
	"$AIRLOCK" run -c 'echo y >applied' 2>/dev/null
	mkdir -p ~/elsewhere/.git
	(cd ~/elsewhere && "$AIRLOCK" run --hold -c 'echo z >not-here' 2>/dev/null)
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "review"]) as terminal:
		    terminal.expect("1 change, not applied yet")
		    terminal.expect("> [ ] A  waits")
		    press(terminal, "a")
		    terminal.expect("1 change applied")
		    check(terminal.wait() == 0, terminal)
		    check("not-here" not in terminal.screen, terminal)
	EOF_PYTHON
	assert_file waits x
	run_airlock review
	assert_status 1
	assert_stdout 'nothing waits for you'
}

@test "review of a run: only what still waits is shown" {
	"$AIRLOCK" run --hold -c 'echo x >a; echo x >b' 2>/dev/null
	"$AIRLOCK" apply last a >/dev/null
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "review", "last"]) as terminal:
		    terminal.expect("1 change, not applied yet")
		    terminal.expect("> [ ] A  b")
		    press(terminal, "q")
		    check(terminal.wait() == 0, terminal)
		    check("A  a" not in terminal.screen, terminal)
		with Terminal([airlock, "review", "last"], env={**os.environ, "NO_COLOR": "1"}) as terminal:
		    terminal.expect("1 change, not applied yet")
		    terminal.expect("A  b")
		    terminal.expect("d[i]ff: ")
		    terminal.answer("h")
		    check(terminal.wait() == 0, terminal)
		    check("A  a" not in terminal.screen, terminal)
	EOF_PYTHON
}

@test "review: a conflict is marked, and applying it fails as apply does" {
	"$AIRLOCK" run --hold -c 'echo ours >>file' 2>/dev/null
	echo theirs >>file
	run_airlock apply last
	assert_status 3
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "review"]) as terminal:
		    terminal.expect("M! file  conflict")
		    press(terminal, "a")
		    check(terminal.wait() == 3, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file file $'one\ntwo\nthree\ntheirs'
}

@test "review: ! applies one over what is there now, after a question, and the list goes on" {
	"$AIRLOCK" run --hold -c 'echo ours >file; echo ours >other; echo x >new' 2>/dev/null
	echo theirs >file
	echo theirs >other
	run_airlock apply last
	assert_status 3
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "review"]) as terminal:
		    terminal.expect("M! file  conflict")
		    terminal.expect("the key ! applies it anyway")
		    press(terminal, "!")
		    terminal.expect("Apply it, over what is there now?")
		    terminal.type("n")
		    terminal.expect("nothing was applied")
		    press(terminal, "jj")
		    terminal.expect("> [ ] M! other  conflict")
		    press(terminal, "!")
		    terminal.expect("Apply it, over what is there now?")
		    terminal.type("y")
		    terminal.expect("2 changes, not applied yet")
		    terminal.expect("> [ ] A! new")
		    press(terminal, "q")
		    terminal.expect("conflict: file (edited since the run began); 1 change applied")
		    check(terminal.wait() == 0, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file file theirs
	assert_file other ours
	assert_absent new
	run_airlock undo
	assert_status 0
	assert_file other theirs
}

@test "review: ! applies a sensitive change with the one question, and ends when nothing waits" {
	mkdir .git/hooks
	at_terminal <<-'EOF_PYTHON'
		with ask("echo 'exit 0' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push") as terminal:
		    press(terminal, "!")
		    terminal.expect("Apply it anyway (runs outside the sandbox: git hook")
		    terminal.type("y")
		    terminal.expect("1 change applied")
		    check(terminal.wait() == 0, terminal)
		    check("[A]pply" not in terminal.screen, terminal)
		    left(terminal)
	EOF_PYTHON
	assert_file .git/hooks/pre-push 'exit 0'
}

@test "review in lines: f is offered for a conflict, and applies over what is there now" {
	"$AIRLOCK" run --hold -c 'echo ours >file; echo x >new' 2>/dev/null
	echo theirs >file
	run_airlock apply last
	assert_status 3
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "review"], env={**os.environ, "NO_COLOR": "1"}) as terminal:
		    terminal.expect("d[i]ff: ")
		    terminal.answer("c")
		    terminal.expect("modified file")
		    terminal.expect("[f]orce: over what is there now  [d]iff  [q]uit: ")
		    terminal.answer("f")
		    terminal.expect("added new")
		    terminal.expect("[n]o  [d]iff  [q]uit: ")
		    terminal.answer("y")
		    terminal.expect("2 changes applied")
		    check(terminal.wait() == 0, terminal)
	EOF_PYTHON
	assert_file file ours
	assert_file new x
}

@test "review without a terminal, without runs, or of no run says so" {
	run_program setsid -w "$AIRLOCK" review </dev/null
	assert_status 1
	"$AIRLOCK" run --hold -c 'echo x >a' 2>/dev/null
	run_program setsid -w "$AIRLOCK" review </dev/null
	assert_status 125
	assert_stderr_contains 'no terminal to review on'
	assert_stderr_contains 'airlock apply 20'
	run_airlock review 1999
	assert_status 1
	assert_stderr_contains '1999'
}
