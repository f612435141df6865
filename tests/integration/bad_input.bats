#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Files, paths and environments that are not as they should be: each with its code, and nothing runs.

load ../helpers

setup() {
	default_setup
	CONFIG=$XDG_CONFIG_HOME/airlock/config.toml
	mkdir -p "${CONFIG%/*}"
}

# refuses CODE: a run is refused with that code, in time, and nothing ran
refuses() {
	run_program timeout 20 "$AIRLOCK" run --json -- touch "$PROJECT/started" </dev/null
	assert_refused "$1"
	assert_absent "$PROJECT/started"
}

# ---- configuration files

@test "a configuration that cannot be read is io" {
	is_root && skip "needs: a user whom permissions stop"
	echo '[sandbox]' >"$CONFIG"
	chmod 000 "$CONFIG"
	refuses io
	assert_json "$CONFIG" error subject
}

@test "a binary configuration is invalid" {
	head -c 2000 /dev/urandom >"$CONFIG"
	printf '\0' >>"$CONFIG"
	refuses invalid
	assert_json "$CONFIG is not a text file" error message
}

@test "a configuration of 100 MB is over the limit, and not read" {
	truncate -s 100M "$CONFIG"
	refuses limit
	assert_json "$CONFIG is larger than 1 MiB, the limit for a configuration file" error message
}

@test "a configuration that is a directory, a FIFO or a device is invalid" {
	mkdir "$CONFIG"
	refuses invalid
	rmdir "$CONFIG"
	mkfifo "$CONFIG"
	refuses invalid
	rm "$CONFIG"
	ln -s /dev/zero "$CONFIG"
	refuses invalid
}

@test "a configuration that everybody may write is invalid" {
	echo '[sandbox]' >"$CONFIG"
	chmod 666 "$CONFIG"
	refuses invalid
	[[ $(json_get error hint) == *'chmod o-w'* ]] || fail "expected a way out"
}

@test "a configuration that somebody else owns is invalid" {
	is_root || skip "needs: root, to give a file away"
	echo '[sandbox]' >"$CONFIG"
	chown 12345 "$CONFIG"
	refuses invalid
}

@test "a byte order mark and invalid UTF-8 are invalid, deep nesting is over the limit" {
	printf '\xef\xbb\xbf[sandbox]\n' >"$CONFIG"
	refuses invalid
	printf '[sandbox]\nshell = "\xff"\n' >"$CONFIG"
	refuses invalid
	python3 -c 'print("x = " + "[" * 100000)' >"$CONFIG"
	refuses limit
}

@test "an empty configuration file changes nothing" {
	: >"$CONFIG"
	run_airlock run -- true
	assert_status 0
	printf '\n\n# only a comment\r\n' >"$CONFIG"
	run_airlock run -- true
	assert_status 0
}

@test "a project's configuration that is binary, huge, a link or a FIFO is refused" {
	printf 'a\0b' >.airlock.toml
	refuses invalid
	truncate -s 100M .airlock.toml
	refuses limit
	rm .airlock.toml
	mkfifo .airlock.toml
	refuses invalid
	rm .airlock.toml
	ln -s "$CONFIG" .airlock.toml
	echo '[sandbox]' >"$CONFIG"
	refuses invalid
}

# ---- the project

@test "a project that does not exist is not_found" {
	run_airlock run --json -p "$HOME/nowhere" -- true
	assert_refused not_found
	assert_json "the project directory $HOME/nowhere does not exist" error message
}

@test "a project that is a file is invalid" {
	run_airlock run --json -p file -- true
	assert_refused invalid
	assert_json "$PROJECT/file is not a directory" error message
}

@test "an empty name of a project is invalid" {
	run_airlock run --json -p '' -- true
	assert_refused invalid
}

@test "a name of a project that is too long is invalid" {
	run_airlock run --json -p "$(printf '%5000s' '' | tr ' ' x)" -- true
	assert_refused invalid
}

@test "/ and home are no project unless they are named" {
	cd /
	run_airlock run --json -- true
	assert_refused invalid
	assert_json '/ is the whole file system: airlock uses it as the project only if you name it' error message
	cd "$HOME"
	run_airlock run --json -- true
	assert_refused invalid
}

@test "/ as a project gives its owner what they own, but for home, secrets and our own state" {
	is_root && skip "needs: a user whom permissions stop"
	each_backend whole_system
}
whole_system() {
	mkdir -p "$BATS_TEST_TMPDIR/other" "$HOME/.ssh"
	run_airlock run --json -p / --changes direct -- sh -c 'pwd; for f; do echo x >"$f"; done' sh \
		/airlock-test-x "$BATS_TEST_TMPDIR/other/x" "$HOME/.ssh/x" "$XDG_STATE_HOME/airlock/x"
	assert_json / working_dir
	assert_json / stdout
	assert_file "$BATS_TEST_TMPDIR/other/x" x
	assert_absent /airlock-test-x
	assert_absent "$HOME/.ssh/x"
	assert_absent "$XDG_STATE_HOME/airlock/x"
}

# each name must work as a project, to the byte
assert_usable_name() {
	mkdir -p "$HOME/$1/.git"
	cd "$HOME/$1" || return
	run_airlock run -- sh -c 'pwd -P; echo written >new'
	assert_status 0
	[ "$(cat "$RAW_STDOUT"; echo .)" = "$HOME/$1"$'\n.' ] || fail "it ran elsewhere"
	assert_file "$HOME/$1/new" written
	run_airlock run --json -C "$HOME/$1" -- true
	assert_status 0
	python3 -c '
import base64, json, os, sys
result = json.load(open(sys.argv[1]))
path = os.fsencode(sys.argv[2])
if "working_dir_base64" in result:
    assert base64.b64decode(result["working_dir_base64"]) == path
    assert result["working_dir"] == path.decode("utf-8", "replace")
else:
    assert result["working_dir"].encode() == path' "$RAW_STDOUT" "$HOME/$1" || fail "working_dir is not $1"
}

@test "names of projects with newline, colon, comma, quotes, spaces and the like work" {
	each_backend odd_names
}
odd_names() {
	local name
	for name in $'new\nline' 'co:lon' 'com,ma,upperdir=x,lowerdir=y' "it's \"quoted\"" ' spaces  ' '-dash' 'back\slash' \
		'$(touch x)' '*' $'esc\e[31m' 'ünïcödé' '%s%n'; do
		assert_usable_name "$name"
	done
}

@test "a name that is no UTF-8 works, and is given exactly in working_dir_base64" {
	each_backend no_utf8
}
no_utf8() {
	assert_usable_name $'in\xffvalid\xc3'
	json_get working_dir_base64 >/dev/null || fail "expected working_dir_base64"
}

# ---- the environment

@test "HOME unset or empty: the user's home of the system" {
	each_backend no_home
}
no_home() {
	local home
	home=$(getent passwd "$(id -u)" | cut -d : -f 6)
	run_program env -u HOME "$AIRLOCK" run -- printenv HOME </dev/null
	assert_status 0
	assert_stdout "$home"
	HOME='' run_airlock run -- printenv HOME
	assert_stdout "$home"
}

@test "HOME that is no absolute path is invalid" {
	HOME=relative refuses invalid
	assert_json 'HOME is "relative", which is not an absolute path' error message
}

@test "HOME that does not exist is no reason to make it, or to fail where nothing has to be there" {
	each_backend missing_home
}
missing_home() {
	HOME=$BATS_TEST_TMPDIR/missing run_airlock run -- printenv HOME
	assert_status 0
	assert_stdout "$BATS_TEST_TMPDIR/missing"
	assert_absent "$BATS_TEST_TMPDIR/missing"
}

@test "a state directory that cannot be made is io, with a hint" {
	XDG_STATE_HOME=/proc/nowhere refuses io
	[[ $(json_get error hint) == *XDG_STATE_HOME* ]] || fail "expected a hint that names XDG_STATE_HOME"
	XDG_STATE_HOME=/dev/null refuses io
}

@test "a state directory that cannot be written is io, with a hint" {
	is_root && skip "needs: a user whom permissions stop"
	mkdir -m 0500 "$HOME/closed"
	XDG_STATE_HOME=$HOME/closed refuses io
	[[ $(json_get error hint) == *XDG_STATE_HOME* ]] || fail "expected a hint that names XDG_STATE_HOME"
	chmod 700 "$HOME/closed"
}

@test "a data directory that cannot be written is io" {
	is_root && skip "needs: a user whom permissions stop"
	mkdir -m 0500 "$HOME/closed"
	XDG_DATA_HOME=$HOME/closed refuses io
	chmod 700 "$HOME/closed"
}

@test "PATH empty, unset, relative or of nowhere: the sandbox is found, the program only where PATH says" {
	each_backend paths
}
paths() {
	local path
	for path in '' /nowhere relative:. :; do
		run_program env PATH="$path" "$AIRLOCK" run --json -- true </dev/null
		assert_status 127
		assert_json not_found error code
		run_program env PATH="$path" "$AIRLOCK" run -- /bin/echo there </dev/null
		assert_status 0
		assert_stdout there
	done
	run_program env -u PATH "$AIRLOCK" run -- echo there </dev/null
	assert_status 0
	assert_stdout there
}

@test "a current directory that was removed is invalid, with a hint" {
	mkdir gone
	cd gone
	rmdir "$PROJECT/gone"
	run_airlock run --json -- touch "$PROJECT/started"
	assert_refused invalid
	assert_json 'it was removed or cannot be reached: cd to a directory that exists' error hint
	assert_absent "$PROJECT/started"
}

@test "variables of airlock with nonsense in them are wrong usage" {
	local variable
	for variable in AIRLOCK_TIMEOUT=soon AIRLOCK_PROFILE=none-such AIRLOCK_BACKEND=none-such AIRLOCK_NETWORK=maybe \
		AIRLOCK_PIDS=many AIRLOCK_MEMORY=lots AIRLOCK_CHANGES=whatever AIRLOCK_HOLD=perhaps AIRLOCK_YES=possibly; do
		run_program env "$variable" "$AIRLOCK" run --json -- touch started </dev/null
		assert_status 2
		assert_json usage error code
		[[ $(json_get error message) == *"${variable%%=*}"* ]] || fail "expected that it names ${variable%%=*}"
	done
	assert_absent started
}

@test "thousands of variables do no harm" {
	each_backend many_variables
}
many_variables() {
	run_program python3 -c '
import os, sys
env = {**os.environ, **{f"VARIABLE_{i}": "x" * 100 for i in range(5000)}}
os.execve(sys.argv[1], [sys.argv[1], "run", "-c", "env | grep -c ^VARIABLE_"], env)' "$AIRLOCK" </dev/null
	assert_status 0
	assert_stdout 5000
}

# ---- our own files

@test "a damaged memory of the project's links is searched anew, and answers in it are gone" {
	each_backend damaged_links
}
damaged_links() {
	mkdir -p "$HOME/lib"
	ln -sfn ../lib lib
	run_airlock project link lib
	assert_status 0
	local links
	links=$(find "$XDG_STATE_HOME/airlock/projects" -name links)
	[ -f "$links" ]
	head -c 40 /dev/urandom >"$links"
	run_airlock run -c 'echo x >lib/x'
	assert_status 2
	assert_stderr_contains 'was unusable, so airlock searched again'
	assert_stderr_contains "lib leads to $HOME/lib (read-only)"
	run_airlock project link lib
	assert_status 0
	run_airlock run -c 'echo x >lib/x'
	assert_status 0
	assert_file "$HOME/lib/x" x
	rm "$HOME/lib/x" lib
}

@test "a state directory that others may write is not trusted with decisions" {
	echo '[profiles.moderate]' >.airlock.toml
	echo 'pids = 9999' >>.airlock.toml
	run_airlock trust
	chmod 777 "$XDG_STATE_HOME/airlock/trust"
	refuses invalid
}
