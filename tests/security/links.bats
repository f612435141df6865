#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# A symlink tracked in a repository opens nothing by itself: the directory it leads to is writable only after a person has
# said yes to that link and that target. Each test shows that the same write works once the person has.

load ../helpers
load ../changes

setup() {
	default_setup
	mkdir -p "$HOME/lib"
}

KEYS='\[A\]llow once  \[D\]eny  allow al\[W\]ays: $'

# can_write PATH: a command writes there and it is applied
can_write() {
	run_airlock run "${@:2}" -- sh -c 'echo written >"$1"' sh "$1"
	assert_status 0
	assert_file "$1" written
	rm "$1"
}

# cannot_write PATH [OPTION...]: the command runs, its write fails, nothing is there
cannot_write() {
	run_airlock run "${@:2}" -- sh -c 'echo runs; echo written >"$1"' sh "$1"
	[ "$status" -ne 0 ] || fail "expected that it cannot write to $1"
	assert_stdout runs
	assert_absent "$1"
}

allow() {
	run_airlock project link "$@"
	assert_status 0
}

# fresh_link TARGET: the project's link `link` leads there, and nothing is remembered
fresh_link() {
	rm -rf "$XDG_STATE_HOME/airlock/projects"
	ln -sfn "$1" link
}

@test "a link opens nothing until a person allows it; unlink takes it back" {
	each_backend opens_nothing
}
opens_nothing() {
	local target
	mkdir -p "$HOME/.config/autostart" "$HOME/bin"
	for target in "$HOME/.config/autostart" "$HOME/bin" "$HOME/lib"; do
		fresh_link "$target"
		cannot_write "$PROJECT/link/new"
		cannot_write "$target/new"
		allow link
		# Not through the gate, which holds what some program starts by itself, wherever it lies.
		can_write "$target/new" --changes direct
		can_write "$PROJECT/link/new" --changes direct
		run_airlock project unlink link
		assert_status 0
		cannot_write "$target/new" --changes direct
	done
}

@test "the result says it in one sentence: text, JSON, history; it names no command line that would allow it" {
	each_backend one_sentence
}
one_sentence() {
	fresh_link "$HOME/lib"
	ln -sfn ../lib second
	local sentence="no person has allowed these symlinks of the project to make another directory writable: link leads to"
	sentence+=" $HOME/lib (read-only), second leads to $HOME/lib (read-only)"
	run_airlock run -- true
	assert_status 0
	[ "$(grep -cF "$sentence" "$RAW_STDERR")" = 1 ] || fail "expected once: $sentence"
	run_airlock run --json -- true
	[ "$(json 'd["notes"]')" = "['$sentence']" ] || fail "expected one note"
	run_airlock show last --json
	[ "$(json 'd["notes"]')" = "['$sentence']" ] || fail "expected it in the history"
	allow link second
	run_airlock run --json -- true
	assert_json '[]' notes
	rm second
}

@test "strict: what is behind a link that nobody allowed is hidden" {
	each_backend strict
}
strict() {
	echo text >"$HOME/lib/file"
	fresh_link "$HOME/lib"
	run_airlock run --profile strict -- cat link/file
	[ "$status" -ne 0 ] && [ "$status" -ne 125 ]
	refute_stdout_contains text
	assert_stderr_contains "link leads to $HOME/lib (hidden)"
	run_airlock run -- cat link/file
	assert_stdout text
	allow link
	run_airlock run --profile strict -- cat link/file
	assert_stdout text
}

@test "--yes allows it for that run only, and not after a no" {
	each_backend yes_once
}
yes_once() {
	fresh_link "$HOME/lib"
	can_write "$HOME/lib/new" --yes
	refute_stderr_contains 'no person has allowed'
	cannot_write "$HOME/lib/new"
	run_airlock project unlink link
	cannot_write "$HOME/lib/new" --yes
	allow link
	can_write "$HOME/lib/new"
}

# ---- the question

@test "at a terminal it is asked; allow once, always, and deny mean what they say" {
	each_backend asked
}
asked() {
	fresh_link "$HOME/lib"
	at_lines "$KEYS" a -- run -- sh -c 'echo 1 >link/one'
	assert_status 0
	assert_stdout_contains "The symlink link leads out of the project, to $HOME/lib"
	assert_file "$HOME/lib/one" 1
	cannot_write "$HOME/lib/new"
	# Enter and Ctrl-C put it off: the command runs without, and the next one asks again.
	at_lines "$KEYS" '\r' -- run -- sh -c 'echo runs; echo 2 >link/two'
	assert_status 2
	assert_stdout_contains runs
	at_lines "$KEYS" '\x03' -- run -- sh -c 'echo runs; echo 2 >link/two'
	assert_status 2
	assert_absent "$HOME/lib/two"
	at_lines "$KEYS" w -- run -- sh -c 'echo 3 >link/three'
	assert_status 0
	at_lines -- run -- sh -c 'echo 4 >link/four'
	assert_status 0
	refute_stdout_contains 'leads out of the project'
	assert_file "$HOME/lib/four" 4
	run_airlock project links --json
	assert_json allowed links 0 state
	rm "$HOME"/lib/*
}

@test "a no is remembered until the link leads elsewhere or a person allows it" {
	each_backend remembered_no
}
remembered_no() {
	mkdir -p "$HOME/other"
	fresh_link "$HOME/lib"
	at_lines "$KEYS" d -- run -- sh -c 'echo runs; echo 1 >link/one'
	assert_status 2
	assert_stdout_contains runs
	at_lines -- run -- sh -c 'echo 1 >link/one'
	assert_status 2
	refute_stdout_contains 'leads out of the project'
	assert_stdout_contains 'no person has allowed'
	run_airlock project links --json
	assert_json denied links 0 state
	ln -sfn "$HOME/other" link
	at_lines "$KEYS" a -- run -- sh -c 'echo 1 >link/one'
	assert_status 0
	assert_file "$HOME/other/one" 1
	ln -sfn "$HOME/lib" link
	cannot_write "$HOME/lib/new"
	allow link
	can_write "$HOME/lib/new"
	rm "$HOME/other/one"
}

@test "a link and other reasons are one question; a no to it runs nothing" {
	each_backend together
}
together() {
	mkdir -p "$HOME/extra"
	fresh_link "$HOME/lib"
	at_lines '\[A\]llow once  \[D\]eny: $' d -- run --allow-write "$HOME/extra" -- sh -c 'echo 1 >link/one'
	assert_status 125
	assert_stdout_contains "It may also write to $HOME/extra"
	assert_stdout_contains "The symlink link leads out of the project, to $HOME/lib"
	assert_stdout_contains 'permission was denied (allow-write, link)'
	at_lines '\[A\]llow once  \[D\]eny: $' a -- run --allow-write "$HOME/extra" -- sh -c 'echo 1 >link/one; echo 2 >~/extra/two'
	assert_status 0
	assert_file "$HOME/lib/one" 1
	assert_file "$HOME/extra/two" 2
	cannot_write "$HOME/lib/new"
	rm "$HOME/lib/one" "$HOME/extra/two"
}

# ---- links that change, chains, odd ones

@test "a link that changed after a yes needs a new answer; so does one whose chain or target changed" {
	each_backend turned
}
turned() {
	mkdir -p "$HOME/other" "$HOME/v1" "$HOME/v2" "$HOME/.ssh"
	fresh_link "$HOME/lib"
	allow link
	ln -sfn "$HOME/other" link
	cannot_write "$HOME/other/new"
	cannot_write "$HOME/lib/new"
	run_airlock project links --json
	assert_json unanswered links 0 state
	assert_json "$HOME/lib" links 0 before
	ln -sfn "$HOME/lib" link
	can_write "$HOME/lib/new"

	ln -sfn v1 "$HOME/current"
	fresh_link "$HOME/current"
	allow link
	can_write "$HOME/v1/new"
	ln -sfn v2 "$HOME/current"
	cannot_write "$HOME/v2/new"
	cannot_write "$HOME/v1/new"

	fresh_link "$HOME/lib"
	allow link
	mv "$HOME/lib" "$HOME/moved"
	cannot_write "$HOME/moved/new"
	ln -s "$HOME/.ssh" "$HOME/lib"
	cannot_write "$HOME/.ssh/new"
	rm "$HOME/lib"
	mv "$HOME/moved" "$HOME/lib"
	can_write "$HOME/lib/new"
}

@test "a link that changes while the command runs opens nothing" {
	each_backend turned_meanwhile
}
turned_meanwhile() {
	mkdir -p "$HOME/other"
	fresh_link "$HOME/lib"
	allow link
	run_airlock run --changes direct -- sh -c 'ln -sfn "$HOME/other" link; echo 1 >link/new; echo ran; echo 2 >"$HOME/lib/old"'
	assert_stdout ran
	assert_absent "$HOME/other/new"
	assert_file "$HOME/lib/old" 2
	rm "$HOME/lib/old"
}

@test "chains, links to links, relative links and links through ..: the last directory counts" {
	each_backend chains
}
chains() {
	local target
	mkdir -p "$HOME/deep/er" a/b
	ln -sfn deep "$HOME/one"
	ln -sfn one/er "$HOME/two"
	for target in "$HOME/two" ../two ../project/../two ../lib/../two/../er; do
		fresh_link "$target"
		run_airlock project links --json
		assert_json "$HOME/deep/er" links 0 target
		cannot_write "$HOME/deep/er/new"
		allow link
		can_write "$HOME/deep/er/new"
		cannot_write "$HOME/deep/new"
	done
	rm link
	ln -sfn ../../../lib a/b/up
	cannot_write "$HOME/lib/new"
	allow a/b/up
	can_write "$HOME/lib/new"
	rm a/b/up
}

@test "a link inside an allowed target is a question of its own" {
	each_backend inside_target
}
inside_target() {
	mkdir -p "$HOME/further"
	ln -sfn ../further "$HOME/lib/on"
	fresh_link "$HOME/lib"
	cannot_write "$HOME/further/new" --yes
	allow link
	can_write "$HOME/lib/new"
	cannot_write "$HOME/further/new"
	run_airlock project links --json
	assert_json "$HOME/lib/on" links 1 path
	assert_json unanswered links 1 state
	allow "$HOME/lib/on"
	can_write "$HOME/further/new"
	run_airlock project unlink link
	cannot_write "$HOME/further/new"
	rm "$HOME/lib/on"
}

@test "a target that does not exist yet cannot be allowed, and opens nothing when it appears" {
	each_backend not_yet
}
not_yet() {
	fresh_link "$HOME/later"
	run_airlock project link link
	assert_status 1
	assert_stderr_contains 'leads to nothing'
	cannot_write "$HOME/later"
	mkdir "$HOME/later"
	cannot_write "$HOME/later/new"
	allow link
	can_write "$HOME/later/new"
	rmdir "$HOME/later"
}

@test "a target on another mount counts like any other" {
	is_root || skip "needs: root"
	mkdir "$HOME/mnt"
	each_backend other_mount
}
other_mount() {
	fresh_link "$HOME/mnt"
	# In a mount namespace of its own, so that nothing is left behind.
	run_program unshare -m sh -c 'mount -t tmpfs none "$HOME/mnt" && "$1" run -- sh -c "echo 1 >link/new"; echo "status $?"
		test -e "$HOME/mnt/new" || echo absent; "$1" project link link; "$1" run -- sh -c "echo 1 >link/new"; cat "$HOME/mnt/new"' sh "$AIRLOCK" </dev/null
	assert_status 0
	assert_stdout_contains $'status 2\nabsent\n'
	assert_stdout_contains $'\n1'
}

@test "ten thousand links: bounded time, a bounded question, nothing opened" {
	mkdir many "$HOME/targets"
	(cd "$HOME/targets" && mkdir $(seq 1 300))
	python3 - <<-'END'
		import os
		for i in range(10000):
		    os.symlink(f"../../targets/{i % 300 + 1}", f"many/{i}")
	END
	local before=$SECONDS
	at_lines "$KEYS" a -- run -- sh -c 'for i in $(seq 1 300); do echo x >$HOME/targets/$i/new; done 2>/dev/null; true'
	assert_status 0
	[ $((SECONDS - before)) -lt 20 ] || fail "expected less than 20 seconds"
	[ "$(grep -c 'leads out of the project' "$RAW_STDOUT")" -eq 16 ] || fail "expected 16 links in the question"
	# Only what the question showed was allowed.
	local shown written
	shown=$(grep -o 'targets/[0-9]*' <<<"$(grep 'leads out of the project' "$RAW_STDOUT")" | sort -u)
	written=$(cd "$HOME" && printf '%s\n' targets/*/new | sed 's,/new$,,' | sort -u)
	[ "$shown" = "$written" ] || fail "expected what was shown: $shown" "written: $written"
}

# ---- who may answer

@test "an answer cannot be forged from inside" {
	each_backend forged
}
forged() {
	fresh_link "$HOME/lib"
	run_airlock run -- true
	cp "$AIRLOCK" tool
	run_airlock run -c './tool project link link; echo "status $?"; ls "$XDG_STATE_HOME/airlock/projects" 2>/dev/null | wc -l'
	refute_stdout_contains 'status 0'
	cannot_write "$HOME/lib/new"
	run_airlock project links --json
	assert_json unanswered links 0 state
	allow link
	can_write "$HOME/lib/new"
	rm tool
}

@test "an agent cannot allow a link by MCP: run_command goes on read-only, and its result says so" {
	each_backend over_mcp
}
over_mcp() {
	fresh_link "$HOME/lib"
	mcp_run 'echo runs; echo 1 >link/new'
	assert_stdout_contains runs
	assert_stdout_contains "link leads to $HOME/lib (read-only)"
	refute_stdout_contains 'project link'
	assert_absent "$HOME/lib/new"
	allow link
	mcp_run 'echo 1 >link/new'
	assert_file "$HOME/lib/new" 1
	rm "$HOME/lib/new"
}
# mcp_run COMMAND: one call of run_command by a client without elicitation; $stdout is the text of the result
mcp_run() {
	run_program python3 - "$AIRLOCK" "$1" <<-'END'
		import json, subprocess, sys
		server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def send(message):
		    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
		    server.stdin.flush()
		send({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
		      "clientInfo": {"name": "t", "version": "1"}}})
		server.stdout.readline()
		send({"method": "notifications/initialized"})
		send({"id": 2, "method": "tools/call", "params": {"name": "run_command", "arguments": {"command": sys.argv[2]}}})
		for line in server.stdout:
		    reply = json.loads(line)
		    if reply.get("id") == 2:
		        print(reply["result"]["content"][0]["text"])
		        break
		server.stdin.close()
		server.wait(10)
	END
}

@test "links that an earlier version accepted without asking count as unanswered" {
	each_backend old_memory
}
old_memory() {
	fresh_link "$HOME/lib"
	run_airlock run -- true
	python3 - "$XDG_STATE_HOME/airlock/projects" "$PROJECT" "$HOME/lib" <<-'END'
		import glob, hashlib, sys
		data = b"".join(s.encode() + b"\0" for s in ("airlock links 1", sys.argv[2], "link", sys.argv[3]))
		for name in glob.glob(sys.argv[1] + "/*/links"):
		    open(name, "wb").write(data + hashlib.sha256(data).hexdigest().encode() + b"\0")
	END
	cannot_write "$HOME/lib/new"
	allow link
	can_write "$HOME/lib/new"
}

# ---- the command line

@test "project link, unlink and links: names, several at once, all or none" {
	mkdir -p "$HOME/two" sub
	ln -s ../../two sub/two
	fresh_link "$HOME/lib"
	echo x >"$HOME/note"
	ln -s ../note note
	run_airlock project link link sub/two note
	assert_status 125
	assert_stderr_contains 'the symlink note does not lead to a directory'
	run_airlock project links --json
	[ "$(json '[l["state"] for l in d["links"]]')" = "['unanswered', 'unanswered']" ] || fail "expected none allowed"
	cd sub || return
	run_airlock project link two/ ../link
	assert_status 0
	assert_stdout "allowed     sub/two -> $HOME/two"$'\n'"allowed     link -> $HOME/lib"
	cd / || return
	run_airlock project unlink link "$PROJECT"
	assert_status 0
	run_airlock project links "$PROJECT" --json
	assert_json "$PROJECT" project
	[ "$(json '[(l["path"], l["state"]) for l in d["links"]]')" = "[('link', 'denied'), ('sub/two', 'allowed')]" ] ||
		fail "expected one denied and one allowed"
	cd "$PROJECT" || return
	rm sub/two # gone, and a no still counts
	run_airlock project unlink sub/two
	assert_status 0
	ln -s ../../two sub/two
	cannot_write "$HOME/two/new"
	run_airlock project link none
	assert_status 1
	run_airlock project link
	assert_status 2
	run_airlock project link .
	assert_status 2
	run_airlock project add
	run_airlock project show
	assert_stdout_contains "link denied: link -> $HOME/lib"
	allow link
	can_write "$HOME/lib/new"
	run_airlock project remove
	assert_status 0
	cannot_write "$HOME/lib/new"
}

@test "explain says of each link what becomes of it, and why" {
	fresh_link "$HOME/lib"
	run_airlock explain -- true
	assert_stdout_contains "link: link leads to $HOME/lib: read-only, because no person has allowed it"
	run_airlock explain --json -- true
	assert_json '["link"]' asks
	assert_json unanswered links 0 state
	allow link
	run_airlock explain -- true
	assert_stdout_contains "link: link leads to $HOME/lib: writable, because a person allowed it"
	assert_stdout_contains "[symlink link in the project, allowed by a person]"
}
