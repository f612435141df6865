#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Where a file system is mounted a second time, what is hidden has a second name; it is hidden under that too.

load ../helpers

setup() {
	default_setup
	is_root || skip "needs: root, to mount"
	unshare --mount true 2>/dev/null || skip "needs: the right to mount"
	ELSEWHERE=$(mktemp -d /opt/airlock-test.XXXXXX)
	chmod 755 "$ELSEWHERE"
	mkdir -p "$HOME/.ssh/keys"
	echo the-secret | tee "$HOME/.ssh/id" "$HOME/.ssh/keys/id" "$HOME/.netrc" >"$HOME/plain"
}

teardown() {
	if [ -n "${ELSEWHERE:-}" ]; then rm -r "$ELSEWHERE"; fi
}

# bound SOURCE TARGET OPTION... : `airlock run OPTION...` where SOURCE is mounted on TARGET too, which nobody else sees
bound() {
	run_program unshare --mount sh -c 'mount --bind -- "$1" "$2" && shift 2 && exec "$@"' sh "$1" "$2" "$AIRLOCK" run "${@:3}" </dev/null
}

@test "the home mounted elsewhere: its secrets are hidden there too, the rest is not" {
	each_backend second_home
}
second_home() {
	bound "$HOME" "$ELSEWHERE" -c "cat $ELSEWHERE/plain; cat $ELSEWHERE/.ssh/id $ELSEWHERE/.ssh/keys/id $ELSEWHERE/.netrc; ls -A $ELSEWHERE/.ssh"
	assert_stdout the-secret
}

@test "the whole file system mounted elsewhere: its secrets are hidden there too" {
	each_backend second_root
}
second_root() {
	local real
	real=$(findmnt -no FSROOT -T "$HOME")${HOME#"$(findmnt -no TARGET -T "$HOME" | sed 's:^/$::')"}
	bound "$(findmnt -no TARGET -T "$HOME")" "$ELSEWHERE" -c "ls -A $ELSEWHERE/ >/dev/null && echo seen; cat $ELSEWHERE/$HOME/.ssh/id $ELSEWHERE/$real/.ssh/id $ELSEWHERE/etc/shadow"
	assert_stdout seen
}

@test "a secret, or a part of one, mounted elsewhere is hidden there too" {
	each_backend second_secret
}
second_secret() {
	bound "$HOME/.ssh" "$ELSEWHERE" -c "cat $ELSEWHERE/id $ELSEWHERE/keys/id; echo tried"
	assert_stdout tried
	bound "$HOME/.ssh/keys" "$ELSEWHERE" -c "cat $ELSEWHERE/id; echo tried"
	assert_stdout tried
	touch "$ELSEWHERE/file"
	bound "$HOME/.netrc" "$ELSEWHERE/file" -c "cat $ELSEWHERE/file; echo tried"
	assert_stdout tried
}

@test "airlock's own state mounted elsewhere is hidden there too" {
	each_backend second_state
}
second_state() {
	run_airlock run --hold -c 'echo x >held'
	assert_status 0
	bound "$XDG_STATE_HOME/airlock" "$ELSEWHERE" -c "ls -A $ELSEWHERE; echo tried"
	assert_stdout tried
	bound "$HOME" "$ELSEWHERE" -c "ls -A $ELSEWHERE/.local/state/airlock; echo tried"
	assert_stdout tried
}

@test "a mount point with a blank, a backslash and a newline in its name is found" {
	each_backend odd_name
}
odd_name() {
	local odd=$ELSEWHERE/$'a b\\c\nd'
	mkdir -p "$odd"
	bound "$HOME/.ssh" "$odd" -- cat "$odd/id"
	[ "$status" -eq 1 ] || fail "expected that cat fails"
	assert_stdout ''
}

@test "a project that is itself a mount stays visible" {
	each_backend second_project
}
second_project() {
	bound "$PROJECT" "$ELSEWHERE" -p "$ELSEWHERE" -C "$ELSEWHERE" -c 'cat file; echo y >new; ls'
	assert_status 0
	assert_stdout $'original\nfile\nnew'
	rm "$PROJECT/new"
}

@test "explain says which name of what is hidden" {
	each_backend explained
}
explained() {
	run_program unshare --mount sh -c 'mount --bind -- "$1" "$2" && exec "$3" explain -- true' sh "$HOME" "$ELSEWHERE" "$AIRLOCK" </dev/null
	assert_status 0
	assert_stdout_contains "$ELSEWHERE/.ssh    [another name of $HOME/.ssh]"
}
