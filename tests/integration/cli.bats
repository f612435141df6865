#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Words on the command line, and what airlock answers to wrong ones. Nothing here needs a sandbox.

load ../helpers

# assert_usage MESSAGE [HINT]: wrong usage is exit status 2, one sentence and a way out, nothing on stdout
assert_usage() {
	assert_status 2
	assert_stdout ''
	assert_stderr "airlock: $1
airlock: hint: $2"
}

# in_force KEY: the value and source that config show has for the last part of a key
in_force() {
	python3 -c '
import json, sys
for v in json.load(open(sys.argv[1]))["values"]:
    if v["key"].split(".")[-1] == sys.argv[2]:
        print(json.dumps(v["value"]), v["source"])' "$RAW_STDOUT" "$1" | tail -n 1
}

assert_in_force() {
	local found
	found=$(in_force "$1")
	[ "$found" = "$2" ] || fail "expected $1: $2" "found: $found"
}

@test "airlock alone names five things to do next" {
	run_airlock
	assert_status 0
	assert_stderr ''
	[ "$(grep -c '^  airlock ' "$RAW_STDOUT")" -eq 5 ] || fail "expected five commands"
}

@test "--version prints the version" {
	run_airlock --version
	assert_status 0
	[[ $stdout =~ ^airlock\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "expected a version"
}

# ---- wrong words

@test "an unknown command is wrong usage and names the nearest" {
	run_airlock rnu
	assert_status 2
	run_airlock explian
	assert_usage "unknown command 'explian'" "did you mean explain?"
	run_airlock exlain -- true
	assert_usage "unknown command 'exlain'" "did you mean explain?"
	run_airlock frobnicate
	assert_usage "unknown command 'frobnicate'" "see airlock help"
}

@test "an option before the command is wrong usage" {
	run_airlock --yes run -- true
	assert_usage "unknown option --yes" "the command comes first: airlock run [OPTION...] -- PROGRAM [ARG...]"
}

@test "wrong usage with --json is an error object on stdout, whatever the command" {
	local words
	for words in "--json run -- true" "nope --json" "trust --json /" "completion --json tcsh" "playground path --json" "help --json"; do
		# shellcheck disable=SC2086 # words
		run_airlock $words
		assert_status 2
		assert_json usage error code
		assert_stderr ''
	done
}

@test "an unknown option names the nearest" {
	run_airlock run --profil strict -- true
	assert_usage "unknown option --profil" "did you mean --profile?"
	run_airlock run --xyzzy -- true
	assert_usage "unknown option --xyzzy" "see airlock run --help"
	run_airlock run -Z -- true
	assert_usage "unknown option -Z" "see airlock run --help"
	run_airlock doctor --network
	assert_usage "unknown option --network" "see airlock doctor --help"
}

@test "long options are not abbreviated" {
	run_airlock run --prof strict -- true
	assert_usage "unknown option --prof" "did you mean --profile?"
}

@test "an option without its value is wrong usage" {
	run_airlock run --timeout
	assert_usage "option --timeout needs a value: DUR" "see airlock run --help"
	run_airlock run --timeout -- true
	assert_usage "option --timeout needs a value: DUR" "see airlock run --help"
	run_airlock run -p
	assert_usage "option -p needs a value: DIR" "see airlock run --help"
	run_airlock run -c
	assert_usage "option -c needs a value: STRING" "see airlock run --help"
}

@test "a flag takes a boolean and nothing else" {
	run_airlock run --network=maybe -- true
	assert_usage "--network must be true or false, not 'maybe'" \
		"write true, yes, on or 1, or false, no, off or 0"
	run_airlock run --hold=yes -- true
	assert_usage "option --hold takes no value" "see airlock run --help"
}

@test "run without a program is wrong usage" {
	run_airlock run
	assert_usage "nothing to run" "airlock run -- PROGRAM [ARG...], or airlock run -c STRING"
	run_airlock run --timeout 5s --
	assert_usage "nothing to run" "airlock run -- PROGRAM [ARG...], or airlock run -c STRING"
}

@test "-c takes one string" {
	run_airlock run -c 'echo a' b
	assert_usage "-c takes one string; unexpected argument: 'b'" "put the whole command line in quotes: -c 'ls -l'"
	run_airlock explain -c 'echo a' -- b
	assert_status 2
	run_airlock run -c a -c b
	assert_status 2
	assert_stderr_contains "option -c can be given only once"
	run_airlock shell -c a
	assert_usage "unknown option -c" "see airlock shell --help"
}

@test "an unknown or missing verb is wrong usage" {
	run_airlock config
	assert_usage "config needs one of: show, check, path" "see airlock config --help"
	run_airlock config sho
	assert_usage "unknown config command 'sho'; expected one of: show, check, path" "see airlock config --help"
	run_airlock config check
	assert_usage "FILE is missing" "see airlock config --help"
	run_airlock config path here
	assert_usage "unexpected argument: 'here'" "see airlock config --help"
	run_airlock playground size --yes
	assert_usage "playground size takes no option --yes" "see airlock playground --help"
	run_airlock doctor now
	assert_usage "unexpected argument: 'now'" "see airlock doctor --help"
	run_airlock completion tcsh
	assert_usage "unknown shell 'tcsh'; expected one of: bash, zsh, fish" "see airlock completion --help"
}

@test "hostile arguments are escaped in messages" {
	run_airlock $'\e]0;gotcha\a\nairlock: all is well'
	assert_status 2
	[ "$(wc -l <"$RAW_STDERR")" -eq 2 ] || fail "expected two lines"
	refute_stderr_contains $'\e'
	refute_stderr_contains $'\a'
}

# ---- how errors are told with --json

@test "with --json wrong usage is an object on stdout, wherever --json stands" {
	run_airlock explain --json --bogus
	assert_status 2
	assert_stderr ''
	assert_json usage error code
	run_airlock explain --bogus --json
	assert_status 2
	assert_stderr ''
	assert_json usage error code
	assert_json "unknown option --bogus" error message
	AIRLOCK_JSON=yes run_airlock doctor --bogus
	assert_json usage error code
}

@test "run --json that cannot start prints the result object" {
	run_airlock run --json
	assert_status 2
	assert_stderr ''
	assert_json error status
	assert_json 2 exit_code
	assert_json null run
	assert_json none changes state
	assert_json usage error code
}

@test "a json variable that is no boolean is wrong usage" {
	AIRLOCK_JSON=maybe run_airlock doctor
	assert_usage "AIRLOCK_JSON must be true or false, not 'maybe'" "write true, yes, on or 1, or false, no, off or 0"
	AIRLOCK_PTY=maybe run_airlock run -- true
	assert_status 2
}

@test "the option overrides its variable" {
	AIRLOCK_JSON=yes run_airlock doctor --json=no --bogus
	assert_usage "unknown option --bogus" "see airlock doctor --help"
}

# ---- the ways to write an option; config show tells what arrived

@test "values as the next word and after an equals sign" {
	run_airlock config show --json --timeout 7s --pids=9
	assert_status 0
	assert_in_force timeout '"7s" --timeout'
	assert_in_force pids '9 --pids'
}

@test "if an option is repeated, the last one counts" {
	run_airlock config show --json --timeout 7s --timeout 8s
	assert_in_force timeout '"8s" --timeout'
}

@test "short options, alone and in clusters" {
	mkdir "$HOME/other"
	run_airlock explain --json -yp"$HOME/other"
	assert_status 0
	assert_json "$HOME/other" roots 0
	run_airlock explain --json -yp "$HOME/other"
	assert_json "$HOME/other" roots 0
	run_airlock explain --json -ypt "$HOME/other"
	assert_status 1
	assert_json "$PROJECT/t" error subject
}

@test "the first word that is not an option is the program" {
	run_airlock explain --json ls --json --bogus
	assert_status 0
	run_airlock explain --json -- ls --bogus
	assert_status 0
	run_airlock explain --json --timeout 3s ls -c x
	assert_status 0
}

@test "options are accepted before and after the verb" {
	run_airlock config --json show --timeout 7s
	assert_status 0
	assert_in_force timeout '"7s" --timeout'
}

@test "an option overrides its variable; an empty variable counts as unset" {
	AIRLOCK_TIMEOUT=7s run_airlock config show --json
	assert_in_force timeout '"7s" AIRLOCK_TIMEOUT'
	AIRLOCK_TIMEOUT=7s run_airlock config show --json --timeout 8s
	assert_in_force timeout '"8s" --timeout'
	AIRLOCK_TIMEOUT='' run_airlock config show --json
	assert_status 0
}

# ---- the caller's descriptors

@test "a result that cannot be written is a failure" {
	status=0
	"$AIRLOCK" help >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "$status" -eq 125 ]
	grep -q 'airlock: cannot write to standard output' "$BATS_TEST_TMPDIR/err"
}

@test "a reader that stops reading is no failure" {
	"$AIRLOCK" completion zsh 2>"$BATS_TEST_TMPDIR/err" | head -n 1
	[ "${PIPESTATUS[0]}" -eq 0 ]
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "commands work with any of their descriptors closed" {
	"$AIRLOCK" --version <&-
	"$AIRLOCK" --version >&-
	"$AIRLOCK" --version 2>&-
	"$AIRLOCK" --version <&- >&- 2>&-
	status=0
	"$AIRLOCK" bogus <&- >&- 2>&- || status=$?
	[ "$status" -eq 2 ]
}

@test "messages have no colour outside a terminal" {
	run_airlock bogus
	refute_stderr_contains $'\e'
}

@test "a program where a command should be: the hint says how to run it" {
	run_airlock ls -l
	assert_status 2
	assert_stderr_contains 'airlock run -- ls'
	run_airlock ./file
	assert_stderr_contains 'see airlock help'
	refute_stderr_contains 'airlock run --'
}

@test "without RUN the hint names the newest run" {
	for command in apply diff discard changes show output; do
		run_airlock "$command"
		assert_status 2
		assert_stderr_contains "airlock $command last is the newest run here"
	done
}

@test "many warnings are shortened to a few lines" {
	local i
	for i in $(seq 20); do ln -s /usr/share "link.$i"; done
	run_airlock run -- true
	assert_status 0
	[ "$(wc -l <"$RAW_STDERR")" -eq 6 ] || fail "expected 6 lines"
	assert_stderr_contains '… and 15 more like these'
}
