#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What somebody who has just installed the packages would try. Runs in the fresh system of tools/deb-test; prints TAP.
# shellcheck disable=SC2317 # the functions are called by name
set -u
n=0 failed=0
place=$(mktemp -d "$HOME/smoke.XXXXXX")
trap 'rm -rf "$place"' EXIT

# try NAME FUNCTION: a function whose every command must succeed
try() {
	n=$((n + 1))
	# Not in the condition of an if: there, set -e would mean nothing.
	(
		set -eux
		cd "$place/project"
		"$2"
	) >"$place/log" 2>&1 </dev/null
	case $? in
	0)
		echo "ok $n - $1"
		;;
	*)
		failed=$((failed + 1))
		echo "not ok $n - $1"
		sed 's/^/# /' "$place/log"
		;;
	esac
}

versions() {
	airlock --version | grep -q '^airlock [0-9]'
	test "$(airlock --version)" = "airlock $(pkg-config --modversion airlock)"
}

doctor() {
	airlock doctor
	airlock doctor --json | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["ok"] is True, d'
}

run_and_undo() {
	echo before >kept
	airlock run -c 'echo after >kept; echo new >added; echo done'
	test "$(cat kept)" = after
	test "$(cat added)" = new
	airlock changes last | grep -q kept
	airlock diff last | grep -q '^+after'
	airlock undo
	test "$(cat kept)" = before
	test ! -e added
}

held() {
	airlock run --hold -- touch held
	test ! -e held
	airlock apply last
	test -e held
}

confined() {
	if airlock run -c 'echo x >"$HOME/escaped"'; then return 1; fi
	test ! -e "$HOME/escaped"
	if airlock run -c 'touch /usr/escaped'; then return 1; fi
	test ! -e /usr/escaped
}

bubblewrap() {
	test "$(airlock run --backend bubblewrap -c 'echo hello')" = hello
	airlock run --backend bubblewrap --json -- true | grep -q '"backend": *"bubblewrap"'
}

every_page() {
	for page in airlock.1 airlock-run.1 airlock-mcp.1 airlock.toml.5 airlock-security.7 libairlock.3; do
		test -s "/usr/share/man/man${page##*.}/$page.gz"
	done
	man -w airlock-run
}

python() {
	cat >try.py <<'END'
import airlock
with airlock.Sandbox(workspace=".") as sandbox:
    result = sandbox.execute("echo hello >there; echo hi")
    assert result.stdout == "hi\n" and result.exit_code == 0, result
    assert sandbox.read("/there").text == "hello\n"
END
	python3 try.py
}

example() {
	cp /usr/share/doc/libairlock-dev/examples/run.c .
	# shellcheck disable=SC2046 # a list of options
	cc -Wall -Werror run.c $(pkg-config --cflags --libs airlock) -o example
	./example 'echo hello; echo hi >greeting' >out
	grep -q hello out
	grep -q greeting out
	test ! -e greeting
}

mcp() {
	cat >talk.py <<'END'
import json, subprocess
server = subprocess.Popen(["airlock", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)
def ask(number, method, **params):
    say(id=number, method=method, params=params)
    while True:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == number:
            return answer["result"]
told = ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "smoke", "version": "1"})
assert told["protocolVersion"] == "2025-06-18", told
say(method="notifications/initialized")
result = ask(2, "tools/call", name="run_command", arguments={"command": "echo from the tool"})
assert result["structuredContent"]["stdout"] == "from the tool\n", result
server.stdin.close()
assert server.wait(20) == 0
END
	python3 talk.py
}

shell() {
	test "$(airlock-sh -c 'echo hello')" = hello
}

completions() {
	bash --norc -c 'source /usr/share/bash-completion/completions/airlock; COMP_WORDS=(airlock ru) COMP_CWORD=1; _airlock
		[ "${COMPREPLY[*]}" = run ]'
	test -s /usr/share/zsh/vendor-completions/_airlock
	test -s /usr/share/fish/vendor_completions.d/airlock.fish
}

mkdir "$place/project"
try 'versions agree' versions
try 'airlock doctor finds nothing missing' doctor
try 'run, changes, diff, undo' run_and_undo
try 'hold and apply' held
try 'nothing outside the project is written' confined
try 'the recommended bubblewrap is used on request' bubblewrap
try 'manual pages' every_page
try 'the Python module' python
try 'pkg-config and the example' example
try 'airlock mcp answers' mcp
try 'airlock-sh' shell
try 'completions' completions
echo "1..$n"
exit "$failed"
