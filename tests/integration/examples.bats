#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_program sets status and output
# The programs of examples/ are compiled against the library as anybody would, and do what they say.

load ../helpers

TOP=$BATS_TEST_DIRNAME/../..

setup() {
	default_setup
	LIBRARY=$(dirname "$BATS_AIRLOCK")
	EXAMPLE=$BATS_TEST_TMPDIR/example
	export LD_LIBRARY_PATH=$LIBRARY
}

shows_held_change() {
	local out
	run "$EXAMPLE" 'echo hello; echo hi >greeting; exit 3'
	out=$output
	[ "$status" -eq 3 ] || fail "status $status" "$out"
	[[ $out == *hello* && $out == *"Exit code: 3"* && $out == *greeting* ]] || fail "unexpected: $out"
	[ ! -e greeting ] || fail "applied, though it was to be held"
}

@test "examples/run.c" {
	cc -Wall -Wextra -Werror -I"$TOP/include" -o "$EXAMPLE" "$TOP/examples/run.c" -L"$LIBRARY" -lairlock
	shows_held_change
}

@test "examples/run.vala" {
	(cd "$BATS_TEST_TMPDIR" && valac --profile=posix --vapidir "$TOP/bindings/vala" --pkg airlock \
		"$TOP/examples/run.vala" -o example -X -w -X -I"$TOP/include" -X -L"$LIBRARY" -X -lairlock)
	shows_held_change
}

@test "bindings/vala has every public function" {
	local function
	# Those of the table of exported names, which tools/abi holds against the headers.
	while read -r function; do
		grep -qF "\"$function\"" "$TOP/bindings/vala/airlock.vapi" || fail "$function is not in airlock.vapi"
	done < <(sed -n 's/^[[:space:]]*\(airlock_[a-z0-9_]*\);$/\1/p' "$TOP/src/airlock.map" | grep -v _free$)
}

@test "bindings/vala: questions, changes of a run, files" {
	cp "$TOP/tests/assets/vala/binding.vala" "$BATS_TEST_TMPDIR"
	(cd "$BATS_TEST_TMPDIR" && valac --profile=posix --vapidir "$TOP/bindings/vala" --pkg airlock binding.vala \
		-o example -X -w -X -I"$TOP/include" -X -L"$LIBRARY" -X -lairlock)
	run "$EXAMPLE"
	[ "$status" -eq 0 ] || fail "status $status" "$output"
	[[ $output == *"asked about network, 2 answers"*"read / of moderate"*"allowed enforced overlay"*"0 denials, limit none"*"held 1"*"added file made 0"*"1 reason: setuid-dropped: setuid bit dropped"*"+x"*"applied 1"*"1 session: open work, step 1 of 1: echo y >more"*"work 1"*"1 question: network same by vala, 2: 1"*"2 bytes: x"* ]] || fail "unexpected: $output"
}
