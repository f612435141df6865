#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Answers for longer than one run: what may be remembered, for how long, for what exactly, and how to forget it. Inside
# Flatpak there is no sandbox, so there everything is asked about.

load ../helpers

# Like a service or an agent: nobody to ask, so only a remembered answer lets anything run.
run_alone() {
	run_program setsid -w "$AIRLOCK" "$@" </dev/null
}

# at_terminal: the Python program on stdin; it has Terminal, airlock and ask(KEY, ARG...), which asks about a run
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm FLATPAK_ID=org.example.App \
		python3 -c "
import sys
from pseudo_terminal import Terminal
airlock = sys.argv[1]
KEYS = '[A]llow once  [D]eny  allow: [S]ession, al[W]ays  deny: s[E]ssion, ne[V]er: '
def ask(key, *run, keys=KEYS):
    with Terminal([airlock, 'run', *run], columns=500) as terminal:
        terminal.expect('\n' + keys)
        terminal.answer(key)
        return terminal.wait()
$(cat)" "$AIRLOCK" </dev/null
	assert_status 0
}

list() {
	run_airlock permissions list --json
	assert_status 0
}

assert_remembered() {
	local found
	list
	found=$(python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["permissions"]: print(p["decision"], p["scope"], p["command"])' "$RAW_STDOUT")
	[ "$found" = "$1" ] || fail "expected: $1" "found: $found"
}

@test "inside Flatpak every command is asked about, and the result says NOT IN SANDBOX" {
	export FLATPAK_ID=org.example.App
	run_alone run --json -- touch started
	assert_refused denied
	assert_json unsandboxed error subject
	assert_absent started
	run_alone run --yes -- touch started
	assert_status 0
	assert_stderr_contains 'NOT IN SANDBOX'
	[ -e started ] || fail "it did not run"
	run_alone run --yes --json -- true
	assert_json passthrough isolation backend
	assert_json none isolation filesystem
	write_config '[sandbox]' 'fallback_on_unavailable = "warn"'
	run_alone run --json -- true
	assert_refused denied
}

@test "Flatpak is known by its file too" {
	is_root || skip "needs: root, for another root directory"
	mkdir "$BATS_TEST_TMPDIR/layer" "$BATS_TEST_TMPDIR/root"
	export BATS_TEST_TMPDIR PROJECT PROGRAM
	PROGRAM=$(readlink -f "$AIRLOCK")
	run_program unshare -m sh -euc '
		cd "$BATS_TEST_TMPDIR"
		mount -t tmpfs tmpfs layer
		mkdir layer/upper layer/work
		mount -t overlay overlay -o lowerdir=/,upperdir=layer/upper,workdir=layer/work root
		for dir in /proc /dev "$HOME" "${PROGRAM%/*}"; do
			mkdir -p "root$dir"
			mount --rbind "$dir" "root$dir"
		done
		touch root/.flatpak-info
		exec setsid -w chroot root sh -c "cd \"\$PROJECT\" && exec \"\$PROGRAM\" run --json -- true"' </dev/null
	assert_refused denied
	assert_json unsandboxed error subject
}

@test "inside Flatpak, refuse that somebody wrote down refuses, whatever --yes says" {
	export FLATPAK_ID=org.example.App
	write_config '[sandbox]' 'fallback_on_unavailable = "refuse"'
	run_alone run --json --yes -- touch started
	assert_refused unavailable
	assert_absent started
}

# No sandbox of any kind is to be had here: no further user namespace, and no Landlock.
where_nothing_is_available() {
	run_program unshare --user --map-root-user setsid -w \
		sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh \
		python3 -I -S "$BATS_TEST_DIRNAME/../without_calls.py" landlock_create_ruleset "$AIRLOCK" "$@" </dev/null
}

@test "nothing available: refused by default, and --yes does not help" {
	unshare --user --map-root-user true 2>/dev/null || skip "needs: user namespaces"
	where_nothing_is_available run --json --yes -- touch started
	assert_refused unavailable
	write_config '[sandbox]' 'fallback_on_unavailable = "refuse"'
	where_nothing_is_available run --json --yes -- touch started
	assert_refused unavailable
	assert_absent started
}

@test "nothing available, and ask: asked, with the reason; --yes answers" {
	unshare --user --map-root-user true 2>/dev/null || skip "needs: user namespaces"
	write_config '[sandbox]' 'fallback_on_unavailable = "ask"'
	where_nothing_is_available run --json -- touch started
	assert_refused denied
	assert_json unsandboxed error subject
	assert_absent started
	where_nothing_is_available run --json --yes -- touch started
	assert_status 0
	assert_json passthrough isolation backend
	[ -e started ] || fail "it did not run"
}

@test "nothing available, and warn: runs, and says before and after that it is not in a sandbox" {
	unshare --user --map-root-user true 2>/dev/null || skip "needs: user namespaces"
	write_config '[sandbox]' 'fallback_on_unavailable = "warn"'
	where_nothing_is_available run -- echo hello
	assert_status 0
	assert_stdout hello
	[ "$(grep -c 'NOT IN SANDBOX' <<<"$stderr")" -eq 2 ] || fail "expected it twice"
}

@test "always: the same command in the same place is not asked about again" {
	at_terminal <<-'EOF_PYTHON'
		assert ask("w", "--", "echo", "hello") == 0
	EOF_PYTHON
	export FLATPAK_ID=org.example.App
	run_alone run -- echo hello
	assert_status 0
	assert_stdout hello
	run_alone explain -- echo hello
	assert_stdout_contains 'would not ask: allowed without a sandbox'
	run_alone explain -- echo something else
	assert_stdout_contains 'would ask first'
	assert_remembered 'allow always echo hello'
	assert_json "$PROJECT" permissions 0 working_dir
	assert_json "$PROJECT" permissions 0 project
	assert_json unsandboxed permissions 0 kind
	[[ $(json_get permissions 0 created) == 20??-??-??T??:??:??Z ]] || fail "expected a time"
}

@test "a command that differs in anything is another question" {
	mkdir -p "$PROJECT/sub" "$HOME/other/.git"
	at_terminal <<-'EOF_PYTHON'
		assert ask("w", "--", "echo", "a", "b") == 0
	EOF_PYTHON
	export FLATPAK_ID=org.example.App
	run_alone run -- echo a b
	assert_status 0
	for arguments in 'run -- echo a' 'run -- echo a b c' 'run -- echo' 'run -C sub -- echo a b' \
		"run -p $HOME/other -- echo a b" 'run --profile permissive -- echo a b'; do
		# shellcheck disable=SC2086 # a list of words
		run_alone $arguments
		assert_status 125
		assert_stderr_contains 'nobody to ask'
	done
	run_alone run -- echo 'a b'
	assert_status 125
	run_alone run -c 'echo a b' # a shell between: other bytes are executed
	assert_status 125
	run_alone run --network -- echo a b # another reason beside
	assert_status 125
	run_alone run --network --json -- echo a b
	assert_json 'unsandboxed, network' error subject
}

@test "a command line that is more than one command is never remembered" {
	at_terminal <<-'EOF_PYTHON'
		for line in "echo a | cat", "echo a; echo b", "echo $HOME", "echo a >f", "cd sub && cd .. && ls":
		    assert ask("w", "-c", line, keys="[A]llow once  [D]eny: ") == 125, line
		assert ask("d", "-c", "cd . && ls") == 125
	EOF_PYTHON
	assert_remembered ''
}

@test "network is never remembered" {
	at_terminal <<-'EOF_PYTHON'
		for _ in range(2):
		    assert ask("a", "--network", "--", "true", keys="[A]llow once  [D]eny: ") == 0
		    assert ask("s", "--network", "--", "true", keys="[A]llow once  [D]eny: ") == 125
	EOF_PYTHON
	assert_remembered ''
}

@test "never: denied without a question, said so, and forgotten on request" {
	at_terminal <<-'EOF_PYTHON'
		assert ask("v", "--", "touch", "started") == 125
		with Terminal([airlock, "run", "--", "touch", "started"]) as terminal:
		    assert terminal.wait() == 125
		    assert "llow once" not in terminal.screen, terminal.screen
	EOF_PYTHON
	export FLATPAK_ID=org.example.App
	assert_remembered 'deny always touch started'
	id=$(json_get permissions 0 id)
	run_alone run --json -- touch started
	assert_refused denied
	assert_json "that answer was remembered; \`airlock permissions revoke $id\` forgets it" error hint
	assert_absent started
	run_airlock permissions revoke "$id"
	assert_status 0
	run_alone run --json -- touch started
	assert_json 'permission is needed (unsandboxed) and there is nobody to ask' error message
	run_airlock permissions revoke "$id"
	assert_status 1
}

@test "this session: until its terminal is closed" {
	at_terminal <<-'EOF_PYTHON'
		shell = '"$0" run -- echo one; "$0" run -- echo one; "$0" permissions list; echo end'
		with Terminal(["sh", "-c", shell, airlock], columns=500) as terminal:
		    terminal.expect(KEYS)
		    terminal.answer("s")
		    terminal.expect("allow for this session\none\n")
		    terminal.expect("\none\n")
		    terminal.expect("allow session  unsandboxed  echo one")
		    terminal.expect("end\n")
		    assert terminal.wait() == 0
		    assert terminal.screen.count("once") == 2, terminal.screen # shown, and once more when decided
		assert ask("d", "--", "echo", "one") == 125
	EOF_PYTHON
	assert_remembered ''
}

@test "allow once applies to one run" {
	at_terminal <<-'EOF_PYTHON'
		for _ in range(2):
		    assert ask("a", "--", "true") == 0
		    assert ask("d", "--", "true") == 125
	EOF_PYTHON
	assert_remembered ''
}

@test "keys that are none of the choices deny, and are not remembered" {
	at_terminal <<-'EOF_PYTHON'
		for key in "\r", "\x03", "\x04", "x", "sx\r", "wa\r", "n", "session\r":
		    assert ask(key, "--", "true") == 125, key
		assert ask("S\r", "--", "true") == 0
	EOF_PYTHON
	assert_remembered ''
}

@test "permissions list, revoke and clear" {
	run_airlock permissions list
	assert_status 0
	assert_stdout ''
	assert_stderr 'airlock: no answer is remembered'
	run_airlock permissions clear
	assert_status 1
	run_airlock permissions revoke 1
	assert_status 1
	run_airlock permissions revoke first
	assert_status 2
	at_terminal <<-'EOF_PYTHON'
		assert ask("w", "--", "echo", "one") == 0
		assert ask("v", "--", "echo", "two\x1b[31m", keys="[A]llow once  [D]eny: ") == 125
	EOF_PYTHON
	run_airlock permissions list
	assert_stdout_contains 'allow always   unsandboxed  echo one  in '
	assert_remembered 'allow always echo one'
	run_airlock permissions clear --json
	assert_status 0
	assert_json 1 removed
	assert_remembered ''
}

@test "a damaged store has no answers: the question is asked" {
	at_terminal <<-'EOF_PYTHON'
		assert ask("w", "--", "touch", "started") == 0
	EOF_PYTHON
	rm started "$XDG_STATE_HOME"/airlock/airlock.db-* 2>/dev/null || true
	printf 'damaged, and long enough to be looked at%.0s' {1..200} >"$XDG_STATE_HOME/airlock/airlock.db"
	export FLATPAK_ID=org.example.App
	run_alone run --json -- touch started
	assert_refused denied
	assert_absent started
	run_airlock permissions list --json
	assert_status 125
	[[ $(json_get error message) == *airlock.db* ]] || fail "expected that the file is named"
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "run", "--", "touch", "started"], columns=500) as terminal:
		    terminal.expect(KEYS)
		    terminal.answer("w")
		    assert terminal.wait() == 0, terminal.screen
		    assert "your answer could not be remembered: " in terminal.screen, terminal.screen
	EOF_PYTHON
}

@test "the answers can be neither seen nor written from inside" {
	at_terminal <<-'EOF_PYTHON'
		assert ask("w", "--", "echo", "one") == 0
	EOF_PYTHON
	state=$XDG_STATE_HOME/airlock
	[ -f "$state/airlock.db" ] || fail "expected a store"
	before=$(sha256sum "$state/airlock.db")
	each_backend each_profile from_inside
	[ "$before" = "$(sha256sum "$state/airlock.db")" ] || fail "the store was changed"
	assert_remembered 'allow always echo one'
}
from_inside() {
	run_airlock run -- sh -c "cat '$state/airlock.db'; echo x >>'$state/airlock.db'; rm -rf '$state'; ls -A '$state'"
	refute_stdout_contains SQLite
	refute_stdout_contains airlock.db
}
