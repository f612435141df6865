#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Help, and the manual held against it.

load ../helpers

# Every command there is, from the overview.
command_names() {
	"$AIRLOCK" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'
}

# The long options a command's help lists.
options_of() {
	"$AIRLOCK" help "$1" | sed -n '/^Options:/,/^$/s/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p' | sort -u
}

# page NAME: a manual page as plain text. Made by the build, beside the program.
page() {
	local dir
	dir=$(dirname "$(readlink -f "$AIRLOCK")")
	while [ ! -d "$dir/docs/man" ] && [ "$dir" != / ]; do dir=$(dirname "$dir"); done
	[ -f "$dir/docs/man/$1" ] || skip "needs: manual pages (scdoc)"
	MAN_PAGE=$dir/docs/man/$1
}

text_of() {
	mandoc -Tascii -O width=1000 "$1" | sed 's/.\x08//g'
}

@test "help lists every command with a summary" {
	run_airlock help
	assert_status 0
	assert_stderr ''
	[ "$(command_names | wc -l)" -ge 10 ] || fail "expected at least ten commands"
	overview=$stdout
	run_airlock --help
	[ "$stdout" = "$overview" ] || fail "--help is another text than help"
	run_airlock -h
	[ "$stdout" = "$overview" ] || fail "-h is another text than help"
}

@test "every command answers --help, -h and help COMMAND with the same text" {
	for name in $(command_names); do
		run_airlock "$name" --help
		assert_status 0
		assert_stderr ''
		text=$stdout
		[[ $text == "usage: airlock $name"* ]] || fail "expected a usage line"
		run_airlock "$name" -h
		[ "$stdout" = "$text" ] || fail "$name -h differs from --help"
		run_airlock help "$name"
		[ "$stdout" = "$text" ] || fail "help $name differs from $name --help"
	done
}

@test "help keeps to 80 columns" {
	{
		"$AIRLOCK"
		"$AIRLOCK" help
		for name in $(command_names); do "$AIRLOCK" help "$name"; done
	} >"$BATS_TEST_TMPDIR/all"
	run ! grep -nE "^.{81}" "$BATS_TEST_TMPDIR/all"
}

@test "help names exit statuses, variables and examples" {
	run_airlock help run
	for text in 'Exit status:' 124 125 126 127 AIRLOCK_WORKING_DIR AIRLOCK_ALLOW_WRITE 'Examples:' '-c STRING'; do
		assert_stdout_contains "$text"
	done
}

@test "help for an unknown command" {
	run_airlock help confg
	assert_status 2
	assert_stderr_contains "did you mean config?"
}

@test "--help after an error does not hide the error, and before it does" {
	run_airlock run --bogus --help
	assert_status 2
	run_airlock run --help --bogus
	assert_status 0
}

@test "--help of the program is the program's" {
	run_airlock explain --json -- ls --help
	assert_status 0
	refute_stdout_contains "usage: airlock"
}

# ---- the manual

@test "airlock-run(1) describes every option of run, and no other" {
	page airlock-run.1
	text_of "$MAN_PAGE" | grep -oE -- '--[a-z][a-z-]*' | sort -u >"$BATS_TEST_TMPDIR/man"
	options_of run >"$BATS_TEST_TMPDIR/help"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 25 ]
	diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/man"
}

@test "airlock-run(1) has each option as an entry, with its letter and value" {
	page airlock-run.1
	text_of "$MAN_PAGE" >"$BATS_TEST_TMPDIR/man"
	"$AIRLOCK" help run | sed -n '/^Options:/,/^$/s/^  *\(\(-., \)\{0,1\}--[a-z-]*\( [[A-Z][^ ]*\)\{0,1\}\)\(  .*\)\{0,1\}$/\1/p' \
		>"$BATS_TEST_TMPDIR/entries"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/entries")" -ge 25 ]
	while read -r entry; do
		grep -qE -- "^ *${entry//[\[\]]/.}\$" "$BATS_TEST_TMPDIR/man" || fail "no entry for: $entry"
	done <"$BATS_TEST_TMPDIR/entries"
}

@test "no page names an option that does not exist" {
	page airlock.1
	for name in $(command_names); do options_of "$name"; done | sort -u >"$BATS_TEST_TMPDIR/known"
	printf "%s\n" --version --add-dir >>"$BATS_TEST_TMPDIR/known" # the second is an option of agents
	for file in "$(dirname "$MAN_PAGE")"/*.[157]; do
		text_of "$file" | grep -oE -- '--[a-z][a-z-]*' | sort -u >"$BATS_TEST_TMPDIR/named"
		! grep -vxF -f "$BATS_TEST_TMPDIR/known" "$BATS_TEST_TMPDIR/named" || fail "in $file"
	done
}

@test "airlock(1) names every command" {
	page airlock.1
	text_of "$MAN_PAGE" >"$BATS_TEST_TMPDIR/man"
	for name in $(command_names); do
		grep -qE "^ *airlock $name( |\$)" "$BATS_TEST_TMPDIR/man" || fail "airlock(1) has no $name"
	done
}

@test "airlock(1) names every error code and its meaning" {
	page airlock.1
	text_of "$MAN_PAGE" >"$BATS_TEST_TMPDIR/man"
	for code in usage invalid not_found unavailable init_failed blocked denied timeout conflict busy limit corrupt io internal; do
		grep -qx " *$code" "$BATS_TEST_TMPDIR/man" || fail "airlock(1) has no $code"
	done
}

@test "the pages are well-formed" {
	command -v mandoc >/dev/null || skip "needs: mandoc"
	page airlock.1
	# scdoc writes empty paragraphs and names in lower case; everything else would be ours.
	run bash -c 'mandoc -Tlint -W warning "$1"/*.[1357] | grep -v "skipping paragraph macro"' bash "$(dirname "$MAN_PAGE")"
	[ -z "$output" ] || fail "$output"
}

@test "examples in the pages stand on lines of their own" {
	page airlock.1
	for file in "$(dirname "$MAN_PAGE")"/*.[1357]; do
		! text_of "$file" | grep -E '^ *\$ .* \$ ' || fail "in $file"
	done
}

# The first is a user's file, the second a project's; a project may write relative paths.
@test "the examples of airlock.toml(5) are valid" {
	page airlock.toml.5
	mkdir 1 2
	awk '/^\.nf/ { n++; on = 1; next } /^\.fi/ { on = 0 } on && !/^\./ { gsub(/\\&/, ""); print >(n "/.airlock.toml") }' "$MAN_PAGE"
	mv 1/.airlock.toml 1/config.toml
	for file in 1/config.toml 2/.airlock.toml; do
		[ -s $file ] || fail "no example"
		run_airlock config check $file
		assert_status 0
	done
}
