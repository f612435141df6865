#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What is mounted inside leaves no empty files or directories behind on the host.

load ../helpers

# Home without our own state, and the directories of the system in which a mount point could have been made. Not /tmp
# and /run, where others are at work.
listing() {
	find "$HOME" -path '*/airlock' -prune -o -print | sort
	find / /etc /var /mnt /home /usr -maxdepth 1 ! -name 'airlock-test-*' 2>/dev/null | sort # other suites make those
}

assert_no_ghosts() {
	listing | diff "$BATS_TEST_TMPDIR/before" - >&2 || fail "something was left on the host"
}

@test "runs leave nothing in an empty home" {
	rm -rf "$HOME/.config" "$HOME/.cache" "$HOME/.local"
	mkdir -p "$XDG_STATE_HOME" "$XDG_DATA_HOME"
	listing >"$BATS_TEST_TMPDIR/before"
	each_backend each_profile empty_home
}
empty_home() {
	run_airlock run -c 'ls -A ~ ~/playground; mkdir -p ~/.ssh ~/new; true'
	assert_status 0
	assert_no_ghosts
}

@test "runs leave nothing in a home with some of the secrets" {
	mkdir -p "$HOME/.config/gh" "$HOME/.docker" "$HOME/.local/share/keyrings" "$HOME/.cargo"
	echo x >"$HOME/.docker/config.json"
	listing >"$BATS_TEST_TMPDIR/before"
	each_backend each_profile some_secrets
}
some_secrets() {
	run_airlock run -c 'mkdir -p ~/.ssh ~/.aws/x; echo x >~/.docker/config.json; echo x >~/.netrc; true'
	assert_status 0
	assert_no_ghosts
	assert_file "$HOME/.docker/config.json" x
}

@test "hidden paths that do not exist are not made" {
	mkdir -p "$HOME/there"
	listing >"$BATS_TEST_TMPDIR/before"
	each_backend each_profile missing_paths
}
missing_paths() {
	run_airlock run --hide "$HOME/missing" --hide "$HOME/there/missing/deep" --hide /airlock-test-missing \
		--hide "$PROJECT/missing" -c 'ls -A ~ >/dev/null; true'
	assert_status 0
	assert_no_ghosts
}

@test "a project in a directory of its own leaves nothing beside it" {
	make_project "$BATS_TEST_TMPDIR/elsewhere/deep/project"
	listing >"$BATS_TEST_TMPDIR/before"
	find "$BATS_TEST_TMPDIR/elsewhere" | sort >"$BATS_TEST_TMPDIR/elsewhere-before"
	each_backend each_profile elsewhere
}
elsewhere() {
	run_airlock run -c 'mkdir -p ../beside ../../above; true'
	assert_status 0
	assert_no_ghosts
	find "$BATS_TEST_TMPDIR/elsewhere" | sort | diff "$BATS_TEST_TMPDIR/elsewhere-before" - >&2 || fail "something was left"
}

@test "runs that fail to start leave nothing either" {
	listing >"$BATS_TEST_TMPDIR/before"
	each_backend each_profile failing
}
failing() {
	run_airlock run -- /no/such/program
	assert_status 127
	run_airlock run -C /no/such/place -- true
	assert_status 125
	run_airlock run --timeout 50ms -- sleep 30
	assert_status 124
	assert_no_ghosts
}

@test "no mount of a run is seen on the host, during it or after it" {
	each_backend each_profile mounts
}
mounts() {
	local play=$XDG_DATA_HOME/airlock/playground
	rm -f "$play/ready" "$play/go"
	sort /proc/self/mountinfo >"$BATS_TEST_TMPDIR/mounts"
	"$AIRLOCK" run --timeout "${EVENTUALLY_SECONDS:-30}s" -c 'touch ~/playground/ready; until [ -e ~/playground/go ]; do sleep 0.02; done' 3>&- </dev/null &
	eventually test -e "$play/ready"
	sort /proc/self/mountinfo | grep -F "$HOME" && fail "its mounts are seen here"
	touch "$play/go"
	wait $!
	if sort /proc/self/mountinfo | grep -F "$HOME"; then fail "its mounts are seen here"; fi
}
