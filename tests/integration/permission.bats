#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What is never done without asking, the question itself, and that nobody there means no.

load ../helpers

# With no terminal at all, as under a service or an agent.
run_alone() {
	run_program setsid -w "$AIRLOCK" "$@" </dev/null
}

# ---- nobody to ask

assert_denied() {
	assert_refused denied
	assert_json "$1" error subject
	assert_json "permission is needed ($1) and there is nobody to ask" error message
	[[ $(json_get error hint) == *--yes* ]] || fail "expected a hint that names --yes"
	assert_absent "$PROJECT/started"
}

@test "network without a terminal: denied, and nothing runs" {
	each_backend no_network
}
no_network() {
	run_alone run --json --network -- touch started
	assert_denied network
	run_alone run --network -- touch started
	assert_status 125
	assert_stderr 'airlock: permission is needed (network) and there is nobody to ask
airlock: hint: run it in a terminal, or grant it on the command line with --yes'
	assert_absent started
}

@test "no sandbox without a terminal: denied, however it is said" {
	run_alone run --json --no-sandbox -- touch started
	assert_denied unsandboxed
	run_alone run --json --backend passthrough -- touch started
	assert_denied unsandboxed
	AIRLOCK_NO_SANDBOX=yes run_alone run --json -- touch started
	assert_denied unsandboxed
	AIRLOCK_BACKEND=passthrough run_alone run --json -- touch started
	assert_denied unsandboxed
	write_config '[sandbox]' 'enabled = false'
	run_alone run --json -- touch started
	assert_denied unsandboxed
	write_config '[sandbox]' 'backend = "passthrough"'
	run_alone run --json -- touch started
	assert_denied unsandboxed
}

@test "another writable path without a terminal: denied" {
	each_backend no_extra_path
}
no_extra_path() {
	mkdir -p "$HOME/extra"
	run_alone run --json --allow-write "$HOME/extra" -- touch started
	assert_denied allow-write
	AIRLOCK_ALLOW_WRITE=$HOME/extra run_alone run --json -- touch started
	assert_denied allow-write
}

@test "several reasons are one question, none hidden" {
	mkdir -p "$HOME/extra"
	run_alone run --json --network --no-sandbox --allow-write "$HOME/extra" -- touch started
	assert_denied 'unsandboxed, allow-write, network'
}

@test "standard input that happens to be a pipe of yes is no terminal" {
	each_backend piped_yes
}
piped_yes() {
	yes a | head -n 100 | run_program setsid -w "$AIRLOCK" run --json --network -- touch started
	assert_absent started
}

# ---- granted beforehand

@test "--yes grants the network, and only for a profile that may have it" {
	each_backend yes_network
}
yes_network() {
	run_alone run --json --network --yes -- true
	assert_status 0
	assert_json allowed isolation network
	run_alone run --json --profile strict --network --yes -- touch started
	assert_refused blocked
	assert_absent started
}

@test "--yes grants a run without a sandbox, and the result says so" {
	run_alone run --json --no-sandbox --yes -- sh -c 'echo x >"$HOME/outside"'
	assert_status 0
	assert_json passthrough isolation backend
	assert_json none isolation filesystem
	assert_file "$HOME/outside" x
}

@test "--yes grants another writable path, and nothing beside it" {
	each_backend yes_path
}
yes_path() {
	mkdir -p "$HOME/extra" "$HOME/beside"
	run_alone run --allow-write "$HOME/extra" --yes -c 'echo x >"$HOME/extra/x"; echo y >"$HOME/beside/y"'
	assert_file "$HOME/extra/x" x
	assert_absent "$HOME/beside/y"
	rm "$HOME/extra/x"
}

@test "--sandbox overrules a file that turns it off" {
	each_backend sandbox_option
}
sandbox_option() {
	write_config '[sandbox]' 'enabled = false'
	AIRLOCK_BACKEND='' run_alone run --json --sandbox -- sh -c 'echo x >"$HOME/outside"'
	assert_json enforced isolation filesystem
	assert_absent "$HOME/outside"
}

# ---- everything is checked before anybody is asked

@test "what would fail anyway is not asked about" {
	each_backend checked_first
}
checked_first() {
	run_alone run --json --network --profile nonsense -- true
	assert_status 2
	run_alone run --json --network --project /no/such/place -- true
	assert_refused not_found
	run_alone run --json --network --allow-write /no/such/place -- true
	assert_refused not_found
	run_alone run --json --network -C /no/such/place -- true
	assert_refused not_found
	run_alone run --json --allow-write / -- true
	assert_refused invalid
	assert_json '--allow-write: the whole file system cannot be made writable' error message
}

@test "a secret is not made writable by naming it" {
	each_backend no_secret
}
no_secret() {
	mkdir -p "$XDG_STATE_HOME/airlock"
	run_alone run --json --allow-write "$XDG_STATE_HOME/airlock" --yes -c 'echo x >"$XDG_STATE_HOME/airlock/x"'
	assert_absent "$XDG_STATE_HOME/airlock/x"
}

# ---- the question

# at_terminal ARG...: the Python program on stdin; it has Terminal, and the arguments from sys.argv[1]
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm python3 -c "
import sys
from pseudo_terminal import Terminal
airlock, *arguments = sys.argv[1:]
$(cat)" "$AIRLOCK" "$@" </dev/null
	assert_status 0
}

@test "the question for network: its sentence, its keys; a allows" {
	each_backend network_question
}
network_question() {
	at_terminal <<-'EOF_PYTHON'
		for key in "a", "A":
		    with Terminal([airlock, "run", "--network", "--", "echo", "it ran"]) as terminal:
		        terminal.expect("Run command with network access: echo 'it ran'?\n[A]llow once  [D]eny: ")
		        assert "it ran\n" not in terminal.screen.replace("'it ran'", "")
		        terminal.answer(key)
		        assert terminal.wait() == 0, terminal.screen
		        assert terminal.screen.endswith("\nit ran\n"), terminal.screen
	EOF_PYTHON
}

@test "the question: everything but a yes denies" {
	each_backend denied_keys
}
denied_keys() {
	at_terminal <<-'EOF_PYTHON'
		for key in "\r", "\n", "\x04", "\x03", "\x1b", "d", "D", "n", "x", " ", "\x7f", "apt\r", "\x1b[A":
		    with Terminal([airlock, "run", "--network", "--", "echo", "it", "ran"]) as terminal:
		        terminal.expect("[A]llow once  [D]eny: ")
		        terminal.answer(key)
		        assert terminal.wait() == 125, (key, terminal.screen)
		        assert "\nit ran" not in terminal.screen, (key, terminal.screen)
		        assert "permission was denied (network)" in terminal.screen, (key, terminal.screen)
		        assert terminal.mode() == terminal.mode_before, key
	EOF_PYTHON
}

@test "the question: a terminal that goes away denies" {
	each_backend hung_up
}
hung_up() {
	at_terminal <<-'EOF_PYTHON'
		import os, signal
		for number in signal.SIGHUP, signal.SIGTERM, signal.SIGINT:
		    with Terminal([airlock, "run", "--network", "--", "touch", "started"]) as terminal:
		        terminal.expect("[A]llow once  [D]eny: ")
		        terminal.signal(number)
		        assert terminal.wait() in (125, 128 + number), terminal.status
		        assert terminal.mode() == terminal.mode_before
		assert not os.path.exists("started")
	EOF_PYTHON
}

@test "the question is asked again for the next run" {
	each_backend never_remembered
}
never_remembered() {
	at_terminal <<-'EOF_PYTHON'
		for _ in range(2):
		    with Terminal([airlock, "run", "--network", "--", "true"]) as terminal:
		        terminal.expect("[A]llow once  [D]eny: ")
		        terminal.answer("a")
		        assert terminal.wait() == 0
	EOF_PYTHON
}

@test "the questions for other reasons" {
	mkdir -p "$HOME/extra"
	at_terminal "$HOME/extra" "$PROJECT" <<-'EOF_PYTHON'
		extra, project = arguments
		def question(*options):
		    with Terminal([airlock, "run", *options, "--", "true"], columns=500) as terminal:
		        more = "  allow: [S]ession, al[W]ays  deny: s[E]ssion, ne[V]er" if options == ("--no-sandbox",) else ""
		        terminal.expect(f"\n[A]llow once  [D]eny{more}: ")
		        text = terminal.screen[: terminal.screen.index("\n[A]llow")]
		        terminal.answer("d")
		        assert terminal.wait() == 125
		        return text.split("\n")
		found = question("--no-sandbox")
		assert found == [f"In {project}",
		                 "NOT IN SANDBOX: it can read and change everything you can (--no-sandbox)",
		                 "Run command without a sandbox: true?"], found
		found = question("--allow-write", extra)
		assert found == [f"In {project}", f"It may also write to {extra}",
		                 "Run command with these extra writable paths: true?"], found
		found = question("--network", "--no-sandbox", "--allow-write", extra)
		assert found == [f"In {project}",
		                 "NOT IN SANDBOX: it can read and change everything you can (--no-sandbox)",
		                 f"It may also write to {extra}", "Run command with network access: true?"], found
	EOF_PYTHON
}

@test "a hostile command is shown escaped, on one line" {
	each_backend hostile
}
hostile() {
	at_terminal $'x\e[2J\e[1;1HRun ls?\r\n[A]llow\x07 \u202egnp\u200b\x7f\xff' <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "--network", "--", "echo", *arguments], columns=1000) as terminal:
		    terminal.expect("\n[A]llow once  [D]eny: ")
		    shown = terminal.screen[: terminal.screen.rindex("\n[A]llow once")]
		    question = shown.split("\n")[-1]
		    assert question.startswith("Run command with network access: echo "), shown
		    assert shown.count("\n") == 2, shown
		    for bad in "\x1b\x07\r\x7f\u202e\u200b\ufffd":
		        assert bad not in shown, (bad, shown)
		    for part in "[2J", "Run ls?", "[A]llow", "gnp":
		        assert part in question, (part, question)
		    terminal.answer("d")
		    assert terminal.wait() == 125
	EOF_PYTHON
}

@test "a very long command shows its head, its tail and its length" {
	each_backend long_command
}
long_command() {
	at_terminal <<-'EOF_PYTHON'
		command = "echo " + "x" * 5000 + "; rm -rf tail"
		with Terminal([airlock, "run", "--network", "-c", command], columns=3000) as terminal:
		    terminal.expect("[D]eny: ")
		    shown = terminal.screen
		    assert "network access: echo xxx" in shown and "; rm -rf tail?" in shown, shown
		    assert f"of {len(command)} bytes not shown" in shown, shown
		    assert len(shown) < 1500
		    terminal.answer("d")
		    assert terminal.wait() == 125
	EOF_PYTHON
}

@test "what runs are the very bytes that were asked about" {
	each_backend same_bytes
}
same_bytes() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "--network", "--", "printf", "%s|", "a b", "$HOME", "*"]) as terminal:
		    terminal.expect("Run command with network access: printf '%s|' 'a b' '$HOME' '*'?")
		    terminal.expect("[D]eny: ")
		    terminal.answer("a")
		    assert terminal.wait() == 0
		    assert terminal.screen.endswith("a b|$HOME|*|"), terminal.screen
	EOF_PYTHON
}

@test "what was typed before the question does not answer it" {
	each_backend typed_ahead
}
typed_ahead() {
	at_terminal <<-'EOF_PYTHON'
		import time
		for _ in range(5):
		    with Terminal([airlock, "run", "--network", "--", "touch", "started"]) as terminal:
		        terminal.type("aaaa")
		        terminal.expect("[D]eny: ")
		        time.sleep(0.15)
		        terminal.answer("d")
		        assert terminal.wait() == 125, terminal.screen
	EOF_PYTHON
	assert_absent started
}

@test "the answer is not the command's input" {
	each_backend not_its_input
}
not_its_input() {
	at_terminal <<-'EOF_PYTHON'
		with Terminal(["sh", "-c", 'echo from-pipe | "$0" run --network -- cat', airlock]) as terminal:
		    terminal.expect("[D]eny: ")
		    terminal.answer("a")
		    assert terminal.wait() == 0
		    assert terminal.screen.endswith("\nfrom-pipe\n"), terminal.screen
	EOF_PYTHON
}

@test "with --json the question is asked on the terminal, and stdout has only the object" {
	each_backend json_question
}
json_question() {
	at_terminal <<-'EOF_PYTHON'
		import json
		with Terminal(["sh", "-c", '"$0" run --json --network -- true >result', airlock]) as terminal:
		    terminal.expect("[D]eny: ")
		    terminal.answer("a")
		    assert terminal.wait() == 0
		assert json.load(open("result"))["isolation"]["network"] == "allowed"
	EOF_PYTHON
}

@test "nobody is asked about a program that does not exist" {
	local program
	for program in /no/such/program no-such-program ./no-such-program; do
		run_airlock run --network -- "$program"
		assert_status 127
		assert_stderr "airlock: $program: command not found"
		run_airlock run --json --network -- "$program"
		assert_status 127
		assert_json 127 exit_code
		assert_json not_found error code
	done
	# What may exist inside only, and what exists, is asked about.
	for program in /tmp/made-inside true ./script; do
		printf '#!/bin/sh\n' >script
		chmod +x script
		run_airlock run --network -- "$program"
		assert_status 125
		assert_stderr_contains 'permission is needed (network)'
	done
}
