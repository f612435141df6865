#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Where a command runs, and the two sentences for where it cannot. The same with every backend, passthrough included.

load ../helpers

# every_way FUNCTION: with each backend, and without a sandbox
every_way() {
	each_backend "$@"
	AIRLOCK_BACKEND=passthrough AIRLOCK_YES=true "$@"
}

assert_runs_in() {
	assert_status 0
	assert_stdout "$1"
}

@test "without -C a command runs in the project, wherever in it one is" {
	every_way in_the_project
}
in_the_project() {
	run_airlock run -- pwd -P
	assert_runs_in "$PROJECT"
	mkdir -p sub/dir
	cd sub/dir || return
	run_airlock run -- pwd -P
	assert_runs_in "$PROJECT"
	run_airlock run --json -- true
	assert_json "$PROJECT" working_dir
	cd "$PROJECT" || return
}

@test "PWD is where it runs" {
	every_way variable
}
variable() {
	PWD=/elsewhere run_airlock run -C sub -- sh -c 'true' # a directory that is not there
	assert_status 125
	mkdir -p sub
	run_airlock run -C sub -- printenv PWD
	assert_runs_in "$PROJECT/sub"
	rmdir sub
}

@test "an absolute directory" {
	every_way absolute
}
absolute() {
	run_airlock run -C /usr/bin -- pwd -P
	assert_runs_in /usr/bin
	run_airlock run --json --working-dir / -- pwd -P
	assert_status 0
	assert_json / stdout
	assert_json / working_dir
}

@test "a relative directory is seen from where airlock was called" {
	every_way relative
}
relative() {
	mkdir -p a/b
	cd a || return
	run_airlock run -C b -- pwd -P
	assert_runs_in "$PROJECT/a/b"
	run_airlock run -C .. -- pwd -P
	assert_runs_in "$PROJECT"
	cd "$PROJECT" || return
}

@test "a symlink to a directory leads there" {
	every_way linked
}
linked() {
	mkdir -p real
	ln -sfn real link
	run_airlock run -C "$PROJECT/link" -- pwd -P
	assert_runs_in "$PROJECT/real"
}

@test "AIRLOCK_WORKING_DIR says the same as -C" {
	every_way by_variable
}
by_variable() {
	mkdir -p sub
	AIRLOCK_WORKING_DIR=$PROJECT/sub run_airlock run -- pwd -P
	assert_runs_in "$PROJECT/sub"
}

@test "a directory that does not exist: the sentence, 125, not_found, and nothing runs" {
	every_way missing
}
missing() {
	run_airlock run -C "$PROJECT/no/such" -- touch started
	assert_status 125
	assert_stdout ''
	assert_stderr "airlock: Working directory does not exist: $PROJECT/no/such"
	run_airlock run --json -C no/such -- touch started
	assert_refused not_found
	assert_json "Working directory does not exist: $PROJECT/no/such" error message
	assert_json "$PROJECT/no/such" error subject
	ln -sfn nowhere dangling
	run_airlock run --json -C "$PROJECT/dangling" -- touch started
	assert_refused not_found
	assert_json "Working directory does not exist: $PROJECT/dangling" error message
	assert_absent started
}

@test "a file: the sentence, 125, invalid, and nothing runs" {
	every_way a_file
}
a_file() {
	run_airlock run -C "$PROJECT/file" -- touch started
	assert_status 125
	assert_stdout ''
	assert_stderr "airlock: Working directory is not a directory: $PROJECT/file"
	run_airlock run --json -C "$PROJECT/file" -- touch started
	assert_refused invalid
	assert_json "Working directory is not a directory: $PROJECT/file" error message
	assert_absent started
}

@test "a directory beneath a file does not exist" {
	every_way beneath_a_file
}
beneath_a_file() {
	run_airlock run --json -C "$PROJECT/file/sub" -- touch started
	assert_refused not_found
	assert_json "Working directory does not exist: $PROJECT/file/sub" error message
	assert_absent started
}

@test "a directory that the sandbox hides does not exist for the command" {
	each_backend hidden
}
hidden() {
	mkdir -p "$HOME/.ssh/deep" "$HOME/other"
	run_airlock run --json -C "$HOME/.ssh/deep" -- touch started
	assert_refused not_found
	assert_json "Working directory does not exist: $HOME/.ssh/deep" error message
	run_airlock run --json --hide "$HOME/other" -C "$HOME/other/x" -- touch started
	assert_refused not_found
	run_airlock run --json --profile strict -C "$HOME/other" -- touch started
	assert_refused not_found
	assert_json "Working directory does not exist: $HOME/other" error message
	assert_absent started
}

@test "the private /tmp is not the host's: its directories do not exist inside" {
	each_backend private_tmp
}
private_tmp() {
	local dir
	dir=$(mktemp -d /tmp/airlock-test-XXXXXX)
	run_airlock run --json -C "$dir" -- true
	rmdir "$dir"
	assert_refused not_found
	assert_json "Working directory does not exist: $dir" error message
	run_airlock run -C /tmp -- pwd -P
	assert_runs_in /tmp
}

@test "a directory of mode 000 cannot be entered: 125" {
	is_root && skip "needs: a user whom permissions stop"
	every_way closed_directory
}
closed_directory() {
	mkdir -p closed
	chmod 000 closed
	run_airlock run --json -C "$PROJECT/closed" -- true
	chmod 700 closed
	assert_status 125
	assert_json io error code
	assert_json "$PROJECT/closed" error subject
}

@test "playground is HOME/playground, made when it is missing" {
	each_backend playground
}
playground() {
	run_airlock run -C playground -- sh -c 'pwd -P; echo kept >note'
	assert_runs_in "$HOME/playground"
	assert_file "$XDG_DATA_HOME/airlock/playground/note" kept
	assert_absent "$HOME/playground"
}

@test "playground without a sandbox is the directory itself" {
	AIRLOCK_BACKEND=passthrough AIRLOCK_YES=true run_airlock run -C playground -- pwd -P
	assert_runs_in "$XDG_DATA_HOME/airlock/playground"
}

@test "a directory in the playground that does not exist" {
	each_backend in_playground
}
in_playground() {
	run_airlock run --json -C "$HOME/playground/sub" -- true
	assert_refused not_found
	assert_json "Working directory does not exist: $HOME/playground/sub" error message
	mkdir -p "$XDG_DATA_HOME/airlock/playground/sub"
	run_airlock run -C "$HOME/playground/sub" -- pwd -P
	assert_runs_in "$HOME/playground/sub"
	rmdir "$XDG_DATA_HOME/airlock/playground/sub"
}

@test "a directory called playground in the project is reached as ./playground" {
	every_way own_playground
}
own_playground() {
	mkdir -p playground
	run_airlock run -C ./playground -- pwd -P
	assert_runs_in "$PROJECT/playground"
}
