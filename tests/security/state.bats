#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# airlock's own records and configuration: not seen, not changed, not locked from inside; and projects apart.

load ../helpers

setup() {
	default_setup
	write_config '# the-secret in the configuration' '[sandbox]'
	run_airlock run -- echo 'the-secret of an earlier run'
	[ -d "$XDG_STATE_HOME/airlock/runs" ]
}

@test "state and configuration are not seen" {
	each_backend each_profile unseen
}
unseen() {
	run_airlock run -- sh -c 'ls -A "$1" "$2"; grep -rs the-secret "$HOME" "$1" "$2" /proc/self/root"$1"; echo tried' sh \
		"$XDG_STATE_HOME/airlock" "$XDG_CONFIG_HOME/airlock"
	refute_stdout_contains the-secret
	refute_stdout_contains runs
	refute_stdout_contains config.toml
	assert_stdout_contains tried
}

@test "state and configuration cannot be written" {
	each_backend each_profile unwritten
}
unwritten() {
	run_airlock run -- true # remembers what it finds out about the machine
	find "$XDG_STATE_HOME/airlock" "$XDG_CONFIG_HOME/airlock" -not -path '*/runs/*' -not -path '*/caches/*/used/*' | sort >"$BATS_TEST_TMPDIR/before"
	run_python <<-'EOF_PYTHON'
		for variable, fallback in ("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config"):
		    place = os.environ.get(variable, f"{os.environ['HOME']}/{fallback}") + "/airlock"
		    attempt("create in " + variable, write, place + "/new", b"x", os.O_CREAT)
		    attempt("mkdir in " + variable, os.makedirs, place + "/runs/new")
		    attempt("configuration in " + variable, write, place + "/config.toml", b"x", os.O_CREAT)
		    attempt("rename " + variable, os.rename, place, place + "-away")
	EOF_PYTHON
	# In strict home is an empty place of the sandbox's own, where anything can be made.
	[ "$AIRLOCK_PROFILE" = strict ] || assert_all_failed 8
	find "$XDG_STATE_HOME/airlock" "$XDG_CONFIG_HOME/airlock" -not -path '*/runs/*' -not -path '*/caches/*/used/*' | sort | diff "$BATS_TEST_TMPDIR/before" - >&2 ||
		fail "something was changed"
}

@test "a state directory elsewhere is hidden, too" {
	each_backend each_profile moved
}
moved() {
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/moved-state XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/moved-config
	mkdir -p "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"
	write_config '# the-secret'
	run_airlock run -- sh -c 'ls -AR "$1"/* "$2"/*; cat "$2/airlock/config.toml"; echo x >"$1/airlock/x"' sh "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"
	refute_stdout_contains runs
	refute_stdout_contains the-secret
	assert_absent "$XDG_STATE_HOME/airlock/x"
}

@test "the configuration that --config names cannot be changed" {
	each_backend each_profile named
}
named() {
	mkdir -p "$HOME/settings"
	echo '[sandbox]' >"$HOME/settings/airlock.toml"
	run_airlock run --config "$HOME/settings/airlock.toml" -c 'echo x >>~/settings/airlock.toml'
	assert_file "$HOME/settings/airlock.toml" '[sandbox]'
}

@test "two projects do not see each other's state, and in strict not each other" {
	each_backend each_profile apart
}
apart() {
	make_project "$HOME/other"
	echo the-secret >secret
	run_airlock run -- sh -c 'echo the-secret-output'
	cd "$HOME/project" || return
	run_airlock run -- sh -c 'grep -rs the-secret-output "$HOME" "$1"; echo x >"$HOME/other/x"; echo tried' sh "$XDG_STATE_HOME"
	assert_stdout tried
	assert_absent "$HOME/other/x"
	if [ "$AIRLOCK_PROFILE" = strict ]; then
		run_airlock run -c 'cat ~/other/secret; ls ~/other'
		assert_stdout ''
	fi
}

@test "a lock cannot be taken on our files from inside" {
	each_backend each_profile locks
}
locks() {
	: >"$XDG_STATE_HOME/airlock/lock-test"
	chmod 600 "$XDG_STATE_HOME/airlock/lock-test"
	run_python <<-EOF_PYTHON
		import fcntl
		def lock():
		    fcntl.flock(os.open("$XDG_STATE_HOME/airlock/lock-test", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
		attempt("lock", lock)
	EOF_PYTHON
	assert_all_failed 1
}
