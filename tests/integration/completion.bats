#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The completion scripts. Bash really completes here; the others are held against the options and, where their shells
# are installed, read by them.

load ../helpers

# complete_words WORD...: what bash would offer for the last word, sorted, in one line
complete_words() {
	bash --norc -c '
		source "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_airlock
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$BATS_TEST_TMPDIR/airlock.bash" airlock "$@" | sort | tr '\n' ' ' | sed 's/ $//'
}

# assert_completes EXPECTED WORD...
assert_completes() {
	local expected=$1 found
	shift
	found=$(complete_words "$@")
	[ "$found" = "$expected" ] || fail "completing: $*" "expected: $expected" "found: $found"
}

setup() {
	default_setup
	for shell in bash zsh fish; do "$AIRLOCK" completion $shell >"$BATS_TEST_TMPDIR/airlock.$shell"; done
}

long_options() {
	"$AIRLOCK" help run | sed -n '/^Options:/,/^$/s/^  \(-., \)\{0,1\} *--\([a-z-]*\).*/\2/p'
}

@test "bash reads its script" {
	bash -n "$BATS_TEST_TMPDIR/airlock.bash"
	command -v shellcheck >/dev/null || skip "needs: shellcheck"
	shellcheck -s bash "$BATS_TEST_TMPDIR/airlock.bash"
}

@test "bash completes commands" {
	assert_completes 'completion config' co
	assert_completes 'run' ru
	assert_completes '--help --version' --
}

@test "bash completes options of the command" {
	assert_completes '--profile' run --prof
	assert_completes '--profile --project' run -y --pro
	assert_completes '--help --json' config check --
	assert_completes '--profile' config show --prof
	assert_completes '' playground path --j
}

@test "bash completes an option's values" {
	assert_completes 'moderate permissive strict' run --profile ''
	assert_completes 'strict' run --profile s
	assert_completes 'strict' run --profile = s
	assert_completes 'moderate permissive strict' run --profile =
	assert_completes 'direct discard' run --changes d
	assert_completes 'bubblewrap' explain --backend b
}

@test "bash completes an option's value if = does not break words" {
	found=$(bash --norc -c '
		source "$1"
		COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
		COMP_WORDS=(airlock run --profile=s) COMP_CWORD=2
		_airlock
		echo "${COMPREPLY[@]}"' bash "$BATS_TEST_TMPDIR/airlock.bash")
	[ "$found" = --profile=strict ]
}

@test "bash completes questions, and then answers" {
	local asker id
	PATH=$(dirname "$(readlink -f "$AIRLOCK")"):$PATH
	assert_completes '' answer ''
	assert_completes 'allow deny' answer 00000000 ''
	assert_completes 'deny' answer 00000000 d
	AIRLOCK_AGENT=1 "$AIRLOCK" run --network -- true >/dev/null 2>&1 </dev/null 3>&- &
	asker=$!
	eventually eval '[ -n "$("$AIRLOCK" questions 2>/dev/null)" ]'
	id=$("$AIRLOCK" questions | cut -c1-8)
	assert_completes "$id" answer ''
	"$AIRLOCK" answer "$id" deny
	wait "$asker" || true
}

@test "bash completes sessions, also where a run is wanted" {
	PATH=$(dirname "$(readlink -f "$AIRLOCK")"):$PATH
	assert_completes 'last' changes ''
	assert_completes '' session show ''
	"$AIRLOCK" session new apple && "$AIRLOCK" session new avocado
	assert_completes 'apple avocado' session show a
	assert_completes 'apple avocado' session merge apple --into ''
	assert_completes 'apple avocado' run --session ''
	assert_completes 'avocado' run --session=av
	for command in changes diff review apply discard show; do assert_completes 'apple avocado last' "$command" ''; done
	touch apricot
	assert_completes 'apple apricot avocado' undo a
	assert_completes 'apricot' apply apple ap
}

@test "zsh and fish offer sessions where they are wanted" {
	for shell in zsh fish; do
		run_airlock completion "$shell"
		[ "$(grep -c 'airlock session list' <<<"$stdout")" -ge 12 ] || fail "$shell"
	done
}

@test "bash completes directories and files" {
	mkdir apple avocado
	touch apricot
	assert_completes 'apple avocado' run -p a
	assert_completes 'apple avocado' run --working-dir a
	assert_completes 'apple apricot avocado' run --ro a
	assert_completes 'apple apricot avocado' config check a
	assert_completes 'apple avocado' trust a
}

@test "bash completes programs, and then their arguments" {
	touch strawberry
	assert_completes 'mkfifo' run mkfif
	assert_completes 'mkfifo' run --timeout 5s -- mkfif
	assert_completes 'strawberry' run ls straw
	assert_completes 'strawberry' run -- ls straw
	assert_completes '' run -c 'ls' straw
}

@test "bash completes verbs" {
	assert_completes 'check path show' config ''
	assert_completes 'clear' playground c
	assert_completes 'bash fish zsh' completion ''
	assert_completes 'shell show' help sh
}

@test "bash completes runs, and then paths" {
	touch apricot
	assert_completes 'last' apply ''
	assert_completes 'apricot' apply last apr
	assert_completes 'apricot' diff last x apr
	assert_completes 'apricot' undo apr
	assert_completes 'last' undo la
	assert_completes '' changes last apr
	assert_completes '--force' apply last --fo
	assert_completes '' run --fo
}

@test "every option is in all three scripts" {
	[ "$(long_options | wc -l)" -ge 25 ]
	for option in $(long_options); do
		grep -qE -- "--$option( |\))" "$BATS_TEST_TMPDIR/airlock.bash" || fail "bash: $option"
		grep -qE -- "--${option}[=}['\"]" "$BATS_TEST_TMPDIR/airlock.zsh" || fail "zsh: $option"
		grep -qE -- "-l $option( |\$)" "$BATS_TEST_TMPDIR/airlock.fish" || fail "fish: $option"
	done
}

@test "every command is in all three scripts" {
	for name in $("$AIRLOCK" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		grep -qE "echo words .*\b$name\b" "$BATS_TEST_TMPDIR/airlock.bash" || fail "bash: $name"
		grep -qE "^_airlock_$name\(\)" "$BATS_TEST_TMPDIR/airlock.zsh" || fail "zsh: $name"
		grep -qE -- "-n __fish_use_subcommand -a $name " "$BATS_TEST_TMPDIR/airlock.fish" || fail "fish: $name"
	done
}

@test "the scripts are the same every time" {
	for shell in bash zsh fish; do
		"$AIRLOCK" completion $shell | cmp - "$BATS_TEST_TMPDIR/airlock.$shell"
	done
}

@test "zsh reads its script" {
	command -v zsh >/dev/null || skip "needs: zsh"
	zsh -f -n "$BATS_TEST_TMPDIR/airlock.zsh"
}

@test "fish reads its script" {
	command -v fish >/dev/null || skip "needs: fish"
	fish --no-execute "$BATS_TEST_TMPDIR/airlock.fish"
	found=$(fish --no-config -c "source $BATS_TEST_TMPDIR/airlock.fish; complete -C 'airlock run --prof'")
	[[ $found == --profile* ]]
}
