#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
# airlock-sh: whoever can start sh can start it instead, and is in the sandbox.

load ../helpers

setup() {
	default_setup
	SH=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-sh
	[ -x "$SH" ] || fail "airlock-sh is not beside airlock"
}

# same ARG...: sh and airlock-sh print the same and end the same; input is the caller's $INPUT
same() {
	local out code
	code=0
	out=$(sh "$@" <<<"${INPUT-}") || code=$?
	run_program "$SH" "$@" <<<"${INPUT-}"
	assert_status "$code"
	assert_stdout "$out"
}

@test "airlock-sh prints and exits as sh does" {
	each_backend as_sh
}
as_sh() {
	printf 'echo "$0|$#|$*"; exit 4\n' >script
	same -c 'echo one; echo "two  words"'
	same -c 'exit 7'
	same -c 'kill -TERM $$'
	same -c 'no-such-program-anywhere'
	same -c 'echo "$0|$#|$1|$2"' name 'a b' -x
	same -c 'echo "$0|$*"' name -- -c
	same -ec 'false; echo not reached'
	same -e -c 'false; echo not reached'
	same -o errexit -c 'false; echo not reached'
	same +e -c 'false; echo reached'
	same -euc 'echo "$unset"'
	same -c ''
	same script
	same script -c '--' '' "it's"
	same -- script a
	same - script a
	same ./script
	same no-such-script
	INPUT='echo "from input: $1"; exit 5' same -s argument
	INPUT='echo "from input: $#"' same
	INPUT='a line' same -c 'read -r x; echo "got $x"'
}

@test "-lc reads the profile, as a login shell does" {
	each_backend login
}
login() {
	echo 'echo from the profile' >"$HOME/.profile"
	run_program "$SH" -lc 'echo "$0 $1"' name arg </dev/null
	assert_status 0
	assert_stdout_contains 'from the profile'
	assert_stdout_contains 'name arg'
	run_program "$SH" --login -c 'echo x' </dev/null
	assert_stdout_contains 'from the profile'
	run_program "$SH" -c 'echo x' </dev/null
	assert_stdout x
}

@test "airlock-sh runs in the sandbox, in its current directory" {
	each_backend sandboxed
}
sandboxed() {
	mkdir -p sub
	cd sub || return
	run_program "$SH" -c 'pwd -P; echo x >"$HOME/outside"; echo y >inside' </dev/null
	assert_stdout "$PROJECT/sub"
	assert_absent "$HOME/outside"
	assert_file inside y
	echo 'echo x >"$HOME/outside"' >script
	run_program "$SH" script </dev/null
	assert_absent "$HOME/outside"
	run_program "$SH" <script
	assert_absent "$HOME/outside"
	cd "$PROJECT" || return
	rm -r sub
}

@test "AIRLOCK_SHELL is the shell inside" {
	for arguments in -c '-ec' '-lc'; do
		AIRLOCK_SHELL=bash run_program "$SH" "$arguments" 'echo "${BASH_VERSION:+bash}"' </dev/null
		assert_status 0
		assert_stdout bash
	done
	SHELL=$SH run_program "$SH" -c 'echo "$SHELL"' </dev/null
	assert_stdout /bin/sh
}

@test "on a terminal it is an interactive shell" {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm ENV= python3 -c '
import sys
from pseudo_terminal import Terminal
for arguments in [], ["-i"]:
    with Terminal([sys.argv[1], *arguments]) as terminal:
        terminal.expect(" ")
        terminal.type("echo flags-$-; echo x >/usr/x\r")
        terminal.expect("\nflags-")
        terminal.expect("Read-only file system")
        terminal.type("exit 6\r")
        assert terminal.wait() == 6, terminal.screen
' "$SH" </dev/null
	assert_status 0
}

@test "unknown arguments are wrong usage" {
	run_program "$SH" --nonsense </dev/null
	assert_status 2
	assert_stderr_contains 'unknown option: --nonsense'
	run_program "$SH" -c </dev/null
	assert_status 2
	run_program "$SH" -o </dev/null
	assert_status 2
	run_program "$SH" --version </dev/null
	assert_status 0
	[[ $stdout == "airlock-sh "[0-9]* ]] || fail "expected a version"
}

@test "airlock-sh starts the airlock beside it, not one from PATH" {
	mkdir "$HOME/bin"
	printf '#!/bin/sh\necho fooled\n' >"$HOME/bin/airlock"
	chmod +x "$HOME/bin/airlock"
	PATH=$HOME/bin:$PATH run_program "$SH" -c 'echo right' </dev/null
	assert_stdout right
	cp "$SH" "$HOME/airlock-sh"
	run_program "$HOME/airlock-sh" -c true </dev/null
	assert_status 127
	assert_stderr_contains "cannot run $HOME/airlock"
}

@test "what the sandbox refused is told, without the option that would allow it" {
	mkdir -p "$HOME/other"
	run_program "$SH" -c 'echo x >"$HOME/other/x"' </dev/null
	assert_stderr_contains "airlock: blocked: write to $HOME/other/x"
	[[ $stderr != *--* ]] || fail "names an option: $stderr"
	run_program "$SH" -c 'python3 -I -S -c "import socket; s = socket.socket(); s.bind((\"0.0.0.0\", 0)); s.listen()"' </dev/null
	assert_status 0
	assert_stderr ''
}

@test "airlock-bash has bash inside, and Claude Code learns in which directory its command ended" {
	local file=$BATS_TEST_TMPDIR/claude-ab12-cwd
	run_program "$(dirname "$SH")/airlock-bash" -c 'a=(x y); echo "${a[1]}"' </dev/null
	assert_stdout y
	CLAUDE_CODE_SESSION_ID=s1 run_program "$(dirname "$SH")/airlock-bash" -c -l \
		"eval 'mkdir new; cd new; echo said >&2' < /dev/null && pwd -P >| $file" </dev/null
	assert_status 0
	assert_file "$file" "$PROJECT/new"
	assert_stderr_contains said
	[[ $stderr != *airlock-directory* ]] || fail "the mark is shown: $stderr"
	CLAUDE_CODE_SESSION_ID=s1 run_program "$(dirname "$SH")/airlock-bash" -c "(exit 7) && pwd -P >| $file" </dev/null
	assert_status 7
	# No other file is written outside.
	CLAUDE_CODE_SESSION_ID=s1 run_program "$(dirname "$SH")/airlock-bash" -c "pwd -P >| $HOME/claude-x" </dev/null
	assert_absent "$HOME/claude-x"
}
