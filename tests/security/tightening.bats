#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What a project's .airlock.toml tightens holds for every project below it: a directory that becomes a project of its own
# leaves nothing behind. Each test shows that the same act is allowed when the file above is not there.

load ../helpers

setup() {
	default_setup
	mkdir -p "$HOME/notes"
	echo note >"$HOME/notes/n"
}

# settings DIR LINE...
settings() {
	printf '%s\n' "${@:2}" >"$1/.airlock.toml"
}

# inner DIR: a repository of its own, and the tests go on there
inner() {
	mkdir -p "$1"
	git init -q "$1"
	cd "$1" || return
}

can_read() {
	run_airlock run -- cat "$HOME/notes/n"
	assert_status 0
	assert_stdout note
}

cannot_read() {
	run_airlock run -- sh -c 'echo runs; cat "$1"' sh "$HOME/notes/n"
	[ "$status" -ne 0 ] || fail 'expected that it cannot read the note'
	assert_stdout runs
}

@test "git init sub does not shed the rules of the outer project" {
	each_backend sheds_nothing
}
sheds_nothing() {
	local dir
	cd "$PROJECT" || return
	settings . '[profiles.moderate]' 'blocked_paths = ["~/notes"]' 'timeout = "20s"' '[gate]' 'hold = ["*.lock", "sub/docs/**"]'
	cannot_read
	# Also three deep, and with settings of its own on the way.
	for dir in sub sub/deeper sub/deeper/deepest; do
		inner "$PROJECT/$dir"
		cannot_read
		settings . '[sandbox]' 'default_profile = "strict"'
		cannot_read
		settings . '[profiles.moderate]' 'readonly_paths = ["~/notes"]' 'timeout = "none"'
		cannot_read
	done
	cd "$PROJECT/sub" || return
	mkdir -p docs
	run_airlock run -c 'echo x >a.lock; echo x >docs/a; echo x >b'
	assert_status 0
	assert_absent a.lock
	assert_absent docs/a
	assert_file b x
	rm "$PROJECT/.airlock.toml" .airlock.toml
	can_read
	run_airlock run -c 'echo x >c.lock; echo x >docs/c'
	assert_file c.lock x
	assert_file docs/c x
	rm -rf "$PROJECT/sub"
}

@test "trust in an inner project does not loosen the rules of the outer one" {
	each_backend inner_trust
}
inner_trust() {
	rm -rf "$XDG_STATE_HOME/airlock/trust"
	settings "$PROJECT" '[profiles.moderate]' 'blocked_paths = ["~/notes"]'
	inner "$PROJECT/sub"
	settings . '[sandbox]' 'default_profile = "own"' '[profiles.own]' 'extends = "permissive"' 'readonly_paths = ["~/notes"]'
	run_airlock trust
	assert_status 0
	cannot_read
	assert_stderr_contains "$PROJECT/.airlock.toml, above $PROJECT/sub/.airlock.toml, is not trusted"
	run_airlock trust "$PROJECT"
	assert_status 0
	can_read
	# An edit of the outer ends it.
	echo >>"$PROJECT/.airlock.toml"
	cannot_read
	rm -rf "$PROJECT/sub"
}

@test "a file above that belongs to somebody else neither stops nor changes a run" {
	[ "$(id -u)" -eq 0 ] || skip 'needs: root, to make a file that belongs to somebody else'
	each_backend foreign
}
foreign() {
	local kind
	inner "$PROJECT/sub"
	for kind in settings broken link unreadable; do
		rm -rf "$PROJECT/.airlock.toml"
		case $kind in
		settings) settings "$PROJECT" '[profiles.moderate]' 'blocked_paths = ["~/notes"]' ;;
		broken) settings "$PROJECT" '[[[' ;;
		link) ln -s /dev/zero "$PROJECT/.airlock.toml" ;;
		unreadable) mkdir -m 0 "$PROJECT/.airlock.toml" ;;
		esac
		chown -h 4242:4242 "$PROJECT/.airlock.toml"
		can_read
		assert_stderr_contains "$PROJECT/.airlock.toml belongs to another user"
	done
	# The same file counts when it is ours.
	rm -rf "$PROJECT/.airlock.toml"
	settings "$PROJECT" '[profiles.moderate]' 'blocked_paths = ["~/notes"]'
	cannot_read
	rm -rf "$PROJECT/sub" "$PROJECT/.airlock.toml"
}

@test "a broken file or a link above stops the run and is named" {
	inner "$PROJECT/sub"
	settings "$PROJECT" '[sandbox]' 'backand = "x"'
	run_airlock run -- true
	assert_status 125
	assert_stderr_contains "$PROJECT/.airlock.toml:2:1: unknown key"
	rm "$PROJECT/.airlock.toml"
	ln -s "$HOME/elsewhere" "$PROJECT/.airlock.toml"
	run_airlock run -- true
	assert_status 125
	assert_stderr_contains "$PROJECT/.airlock.toml is a symbolic link"
	rm "$PROJECT/.airlock.toml"
	can_read
}
