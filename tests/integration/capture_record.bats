#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# What is kept of a run, and what is said about it later.

load ../helpers
load ../capture/capture

@test "last is the newest run of this project that has ended, else of any" {
	mkdir -p "$HOME/other/.git" "$HOME/third/.git"
	run_airlock run -c 'echo here >file'
	run_airlock run -p "$HOME/other" -C "$HOME/other" -c 'echo there >thing'
	run_airlock changes last
	assert_status 0
	assert_stdout_contains file
	cd "$HOME/other"
	run_airlock changes last
	assert_stdout_contains thing
	cd "$HOME/third"
	run_airlock changes last
	assert_stdout_contains thing
	cd "$PROJECT"
	still_running() {
		"$AIRLOCK" changes last >"$BATS_TEST_TMPDIR/while" 2>&1
	}
	meanwhile 'echo x >other-file' still_running
	grep -q ' file' "$BATS_TEST_TMPDIR/while" || fail "while it ran: $(cat "$BATS_TEST_TMPDIR/while")"
	assert_change other-file state=applied
}

@test "a run that wrote straight to the project is a run, with nothing to undo" {
	run_airlock run --changes direct -c 'echo direct >file'
	run_airlock changes last --json
	assert_status 0
	assert_json direct state
	assert_json '[]' files
	local run
	run=$(json_get run)
	run_airlock undo "$run"
	assert_status 1
	run_airlock apply "$run"
	assert_status 1
	run_airlock diff "$run"
	assert_status 0
	assert_file file direct
}

@test "what is said about a change is true after each step" {
	echo two >two
	mkdir -p .git/hooks
	theirs() { echo theirs >>file; }
	meanwhile 'echo ours >file; echo ours >two; echo ours >three; echo x >.git/hooks/post-commit' theirs
	assert_change file state=conflict 'reason=edited*'
	assert_change two state=held 'reason=*conflict in the same run*'
	assert_change .git/hooks/post-commit state=held 'reason=*hook*'
	run_airlock apply "$RUN" two
	assert_status 0
	show_changes
	assert_change two state=applied reason=null
	assert_change three state=held 'reason=*conflict in the same run*'
	run_airlock apply --force "$RUN" file
	assert_status 0
	show_changes
	assert_change file state=applied reason=null
	run_airlock apply "$RUN" three
	assert_status 0
	show_changes
	assert_change three state=applied reason=null
	assert_change .git/hooks/post-commit state=held 'reason=*hook*'
	theirs_too() { echo theirs >.git/hooks/pre-commit; }
	meanwhile 'echo ours >.git/hooks/pre-commit; echo more >>two; echo more >>three' theirs_too --hold
	run_airlock apply "$RUN" two
	assert_status 0
	show_changes
	assert_change .git/hooks/pre-commit state=conflict 'reason=*since the run began*hook*'
	assert_change three state=held 'reason=*conflict in the same run*'
	rm .git/hooks/pre-commit
	run_airlock apply "$RUN" three
	assert_status 0
	show_changes
	assert_change .git/hooks/pre-commit state=conflict 'reason=deleted since the run began; runs outside the sandbox: git hook'
	run_airlock apply --force "$RUN"
	assert_status 0
	show_changes
	refute_stdout_contains 'since the run began'
	refute_stdout_contains 'in the same run'
}

@test "nothing in the layer waits for the disk" {
	each_backend volatile_layer
}
volatile_layer() { # otherwise every file that is copied up does
	echo old >file
	run_airlock run -c 'grep " $PWD " /proc/self/mountinfo; echo new >>file; sync'
	assert_status 0
	assert_stdout_contains ' overlay airlock '
	assert_stdout_contains volatile # newer kernels: fsync=volatile
	assert_file file $'old\nnew'
}

@test "the empty layer of a run serves the next one, and shows it nothing of the first" {
	SPARE="$XDG_STATE_HOME/airlock/empty-layers/0"
	mkdir -p "$HOME/other/.git"
	echo kept >"$HOME/other/file"
	chmod 0750 "$PROJECT"
	chmod 0700 "$HOME/other"
	run_airlock run -c 'stat -c %a .'
	assert_stdout 750
	[ -d "$SPARE/used-upper/overlay1" ] && [ -d "$SPARE/used-work/work1" ]
	# The next one makes it as new, and leaves its own.
	run_airlock run -c 'stat -c %a .'
	assert_stdout 750
	[ -d "$SPARE/upper/overlay1" ] && [ -d "$SPARE/work/work1" ] && [ -d "$SPARE/used-upper" ]
	[ -z "$(find "$SPARE/upper/overlay1" "$SPARE/work/work1" -mindepth 1)" ]
	# Attributes that a layer got from its root: it is not kept.
	cd "$HOME/other"
	python3 -c 'import os; os.setxattr(".", "user.mark", b"1")'
	run_airlock run -c 'stat -c %a .; python3 -c "import os; print(os.listxattr(\".\"))"; ls'
	assert_stdout $'700\n[\'user.mark\']\nfile'
	[ -e "$SPARE/upper" ] && [ -e "$SPARE/used-upper" ]
	cd "$PROJECT"
	run_airlock run -c 'python3 -c "import os; print(os.listxattr(\".\"))"'
	assert_stdout '[]'
	[ ! -e "$SPARE/upper" ]
	# One in which something was written is not kept either.
	run_airlock run --discard -c 'echo x >thing'
	[ -e "$SPARE/upper" ] && [ ! -e "$SPARE/used-upper" ]
	# What somebody puts there shows nowhere.
	: >"$SPARE/upper/overlay1/planted"
	run_airlock run -c 'ls -A'
	assert_stdout $'.git\nfile'
	: >"$SPARE/used-upper/overlay1/planted"
	run_airlock run -c 'ls -A'
	assert_stdout $'.git\nfile'
	run_airlock run -c 'ls -A'
	assert_stdout $'.git\nfile'
	[ ! -e "$PROJECT/planted" ]
}

@test "half of an empty layer, left by who was killed, does not keep others from being kept" {
	SPARE="$XDG_STATE_HOME/airlock/empty-layers/0"
	mkdir -p "$SPARE/used-upper/overlay1"
	run_airlock run -c true
	[ -d "$SPARE/used-upper/overlay1" ] && [ -d "$SPARE/used-work/work1" ]
	rm -r "$SPARE/used-upper"
	run_airlock run -c true
	[ -d "$SPARE/used-upper/overlay1" ] && [ -d "$SPARE/used-work/work1" ]
}
