#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The directory every command may write to: one on the host, HOME/playground inside, kept between runs.

load ../helpers

setup() {
	default_setup
	PLAYGROUND=$XDG_DATA_HOME/airlock/playground
}

@test "it is made when a command first runs, for its owner only" {
	assert_absent "$PLAYGROUND"
	each_backend each_profile made
}
made() {
	rm -rf "$PLAYGROUND"
	run_airlock run -c 'test -d ~/playground && test -w ~/playground'
	assert_status 0
	[ "$(stat -c %a "$PLAYGROUND")" = 700 ]
}

@test "what one run writes the next one finds, whatever its project and profile" {
	each_backend each_profile kept
}
kept() {
	run_airlock run -c 'mkdir ~/playground/d && echo one >~/playground/d/f && ln -s f ~/playground/d/l'
	assert_status 0
	assert_file "$PLAYGROUND/d/f" one
	make_project "$HOME/another"
	run_airlock run -c 'cat ~/playground/d/l; echo two >>~/playground/d/f; rm ~/playground/d/l'
	assert_status 0
	assert_stdout one
	assert_file "$PLAYGROUND/d/f" $'one\ntwo'
	assert_absent "$PLAYGROUND/d/l"
	rm -r "$PLAYGROUND/d"
	cd "$HOME/project" || return
}

@test "nothing called playground appears in the host's home" {
	each_backend no_ghost
}
no_ghost() {
	run_airlock run -c 'echo x >~/playground/x'
	assert_status 0
	assert_absent "$HOME/playground"
}

@test "a home that has a playground of its own keeps it, out of sight" {
	each_backend own_one
}
own_one() {
	mkdir -p "$HOME/playground"
	echo mine >"$HOME/playground/mine"
	run_airlock run -c 'ls -A ~/playground; echo x >~/playground/new'
	assert_status 0
	refute_stdout_contains mine
	assert_file "$HOME/playground/mine" mine
	assert_absent "$HOME/playground/new"
	assert_file "$PLAYGROUND/new" x
	rm "$PLAYGROUND/new"
}

@test "the rest of our data directory cannot be written" {
	each_backend only_the_playground
}
only_the_playground() {
	run_airlock run -c 'echo x >"$XDG_DATA_HOME/airlock/x"'
	assert_status 2
	assert_absent "$XDG_DATA_HOME/airlock/x"
}

# ---- airlock playground

@test "path says where it is, and makes nothing" {
	run_airlock playground path
	assert_status 0
	assert_stdout "$PLAYGROUND"
	assert_absent "$PLAYGROUND"
	XDG_DATA_HOME='' run_airlock playground path
	assert_stdout "$HOME/.local/share/airlock/playground"
	XDG_DATA_HOME=relative run_airlock playground path
	assert_stdout "$HOME/.local/share/airlock/playground"
}

@test "size counts what is in it; nothing when there is none" {
	run_airlock playground size --json
	assert_status 0
	assert_json 0 bytes
	assert_json 0 entries
	run_airlock run -c 'cd ~/playground && mkdir d && head -c 100000 /dev/zero >d/f && ln d/f g && ln -s / l'
	run_airlock playground size --json
	assert_status 0
	assert_json 4 entries
	[ "$(json_get bytes)" -ge 100000 ] && [ "$(json_get bytes)" -lt 150000 ] || fail "expected about 100 kB"
}

@test "clear without a terminal is refused, and --yes does it" {
	mkdir -p "$PLAYGROUND/d"
	echo x >"$PLAYGROUND/d/f"
	run_program setsid -w "$AIRLOCK" playground clear </dev/null
	assert_status 125
	assert_stderr_contains --yes
	assert_file "$PLAYGROUND/d/f" x
	run_program setsid -w "$AIRLOCK" playground clear --json </dev/null
	assert_status 125
	assert_json denied error code
	run_airlock playground clear --yes --json
	assert_status 0
	assert_json 2 removed
	[ -d "$PLAYGROUND" ]
	[ -z "$(ls -A "$PLAYGROUND")" ]
	run_airlock playground clear --yes --json
	assert_status 0
	assert_json 0 removed
}

@test "clear removes what a command made unreadable, and follows no symlink" {
	mkdir -p "$HOME/precious" "$PLAYGROUND/a/b/c"
	echo precious >"$HOME/precious/file"
	ln -s "$HOME/precious" "$PLAYGROUND/link"
	ln -s "$HOME/precious/file" "$PLAYGROUND/a/file"
	echo x >"$PLAYGROUND/a/b/c/x"
	chmod 000 "$PLAYGROUND/a/b/c" "$PLAYGROUND/a/b" "$PLAYGROUND/a"
	run_airlock playground clear --yes
	assert_status 0
	[ -z "$(ls -A "$PLAYGROUND")" ]
	assert_file "$HOME/precious/file" precious
}

@test "clear is right when a command made a very deep tree" {
	run_airlock run -- python3 -c '
import os
os.chdir(os.environ["HOME"] + "/playground")
for _ in range(1000):  # as a path it would be too long for the system
    os.mkdir("ddddd")
    os.chdir("ddddd")'
	assert_status 0
	run_airlock playground clear --yes --json
	assert_status 0
	assert_json 1000 removed
}

@test "a playground that is a symlink is not followed when it is cleared" {
	mkdir -p "$HOME/precious" "$XDG_DATA_HOME/airlock"
	echo precious >"$HOME/precious/file"
	ln -s "$HOME/precious" "$PLAYGROUND"
	run_airlock playground clear --yes
	assert_file "$HOME/precious/file" precious
}
