#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# What holds when changes are applied and undone: the invariants I3 to I6 of docs/design, each by its name. That happens outside
# the sandbox, on layers that are the same whatever made them: invariants.bats goes through every backend, this file through one.

load ../helpers
load ../capture/capture
load ../capture/invariants

# ---- I3

# conflicts LINE FUNCTION PATH: the command does LINE, and changes "two"; FUNCTION happens meanwhile, which is a conflict at PATH
conflicts() {
	some_project
	meanwhile "$1; echo ours >two; echo ours >new-file" "$2"
	assert_json held state
	assert_change "$3" state=conflict 'reason=?*'
	assert_change two state=held 'reason=*conflict*'
	assert_change new-file state=held
	assert_file two two
	assert_absent new-file
}

@test "I3 edited meanwhile: the whole run is held, both versions can be seen" {
	i3_edited
}
i3_edited() {
	theirs() { echo theirs >>one; }
	conflicts 'echo ours >>one' theirs one
	assert_file one $'one\ntheirs'
	keep_tree theirs .
	run_airlock diff "$RUN" one
	assert_stdout_contains ours
	assert_stdout_contains theirs
	run_airlock apply "$RUN"
	assert_status 3
	assert_same_tree theirs .
	run_airlock apply "$RUN" one
	assert_status 3
	assert_same_tree theirs .
	run_airlock apply "$RUN" two
	assert_status 0
	assert_file two ours
	assert_file one $'one\ntheirs'
	assert_absent new-file
	show_changes
	assert_json partial state
	run_airlock apply --force "$RUN"
	assert_status 0
	assert_file one $'one\nours'
	assert_file new-file ours
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree theirs .
}

@test "I3 edited meanwhile, size and mtime set back" {
	i3_set_back
}
i3_set_back() {
	theirs() {
		echo ONE >one
		touch -d '2019-05-05 05:05:05.123456789' one
	}
	conflicts 'echo two >one' theirs one
	assert_file one ONE
}

@test "I3 replaced meanwhile, by renaming another file over it" {
	i3_replaced
}
i3_replaced() {
	theirs() {
		echo theirs >spare
		mv spare one
	}
	conflicts 'echo ours >>one' theirs one
	assert_file one theirs
	run_airlock apply --force "$RUN" one
	assert_status 0
	assert_file one $'one\nours'
	assert_file two two
	run_airlock undo "$RUN" one
	assert_status 0
	assert_file one theirs
}

@test "I3 deleted meanwhile: changed and deleted, both ways" {
	i3_deleted
}
i3_deleted() {
	theirs() { rm one; }
	conflicts 'echo ours >>one' theirs one
	assert_absent one
	run_airlock apply --force "$RUN"
	assert_status 0
	assert_file one $'one\nours'
	changed() { echo theirs >>one; }
	conflicts 'rm one' changed one
	assert_file one $'one\ntheirs'
	run_airlock apply --force "$RUN"
	assert_status 0
	assert_absent one
	run_airlock undo "$RUN"
	assert_status 0
	assert_file one $'one\ntheirs'
}

@test "I3 a conflict on what waits for a person holds the rest as well" {
	i3_sensitive
}
i3_sensitive() {
	some_project
	mkdir -p .git/hooks
	echo old >.git/hooks/pre-commit
	theirs() { echo theirs >.git/hooks/pre-commit; }
	meanwhile 'echo ours >.git/hooks/pre-commit; echo ours >two' theirs
	assert_json held state
	assert_change .git/hooks/pre-commit state=conflict
	assert_change two state=held 'reason=*conflict*'
	assert_file two two
	assert_file .git/hooks/pre-commit theirs
}

@test "I3 created meanwhile, where the command creates something too" {
	i3_created
}
i3_created() {
	theirs() { echo theirs >made; }
	conflicts 'echo ours >made' theirs made
	assert_file made theirs
	run_airlock diff "$RUN" made
	assert_stdout_contains ours
	assert_stdout_contains theirs
	into() { echo theirs >src/deep/extra; }
	conflicts 'rm -rf src/deep' into src/deep/extra
	assert_file src/deep/extra theirs
	as_directory() { mkdir made && echo theirs >made/in; }
	conflicts 'echo ours >made' as_directory made/in
	assert_file made/in theirs
	as_empty() { mkdir made; }
	conflicts 'echo ours >made' as_empty made
	[ -d made ] || fail "their directory is gone"
}

@test "I3 a parent directory replaced meanwhile by a symlink, moved away, or made anew" {
	i3_parent
}
i3_parent() {
	mkdir -p "$HOME/elsewhere/deep"
	echo theirs >"$HOME/elsewhere/numbers"
	keep_tree elsewhere "$HOME/elsewhere"
	link() {
		mv src moved
		ln -s "$HOME/elsewhere" src
	}
	conflicts 'echo ours >src/numbers; echo ours >src/deep/file; echo ours >src/new' link src
	assert_same_tree elsewhere "$HOME/elsewhere"
	[ "$(wc -l <moved/numbers)" = 200 ] || fail "the moved directory was changed"
	run_airlock apply --force "$RUN"
	assert_same_tree elsewhere "$HOME/elsewhere"
	away() { mv src moved; }
	conflicts 'echo ours >src/numbers' away src
	assert_absent src
	anew() {
		mv src moved
		mkdir src
		cp -p moved/numbers src/numbers
	}
	conflicts 'echo ours >src/numbers' anew src/numbers
	[ "$(wc -l <src/numbers)" = 200 ] || fail "the new directory's file was changed"
}

@test "I3 a neighbour created or changed meanwhile is no conflict" {
	i3_neighbour
}
i3_neighbour() {
	some_project
	neighbour() {
		echo theirs >src/neighbour
		echo theirs >two
	}
	meanwhile 'echo ours >src/numbers; echo ours >src/new; rm one' neighbour
	assert_json applied state
	assert_file src/numbers ours
	assert_file src/new ours
	assert_file src/neighbour theirs
	assert_file two theirs
	assert_absent one
}

@test "I3 an identical change by somebody else is no conflict" {
	i3_same
}
i3_same() {
	some_project
	same() {
		rm two
		echo both >made
	}
	meanwhile 'rm two; echo both >made; echo ours >one' same
	assert_json applied state
	assert_absent two
	assert_file made both
	assert_file one ours
}

@test "I3 undo does not overwrite what was edited since" {
	i3_undo
}
i3_undo() {
	some_project
	run_captured -c 'echo ours >one; rm two; echo ours >made; mkdir dir; echo x >dir/x'
	echo later >>one
	echo mine >dir/mine
	keep_tree edited .
	run_airlock undo "$RUN"
	assert_status 3
	assert_same_tree edited .
	run_airlock undo "$RUN" two
	assert_status 0
	assert_file two two
	assert_file one $'ours\nlater'
	run_airlock undo "$RUN" --force one
	assert_status 0
	assert_file one one
	run_airlock undo "$RUN" one
	assert_status 0
	assert_file one $'ours\nlater'
	assert_file dir/mine mine
}

@test "I3 the project itself replaced meanwhile" {
	i3_root
}
i3_root() {
	some_project
	replaced() {
		mv "$PROJECT" "$HOME/moved"
		mkdir "$PROJECT"
		echo theirs >"$PROJECT/one"
	}
	started_meanwhile 'echo ours >one' replaced
	cd "$PROJECT" || return
	assert_status 125
	assert_stderr_contains 'is not the same directory as when the command began'
	assert_stderr_contains 'nothing is applied'
	run_airlock changes last
	assert_status 1
	assert_stderr_contains 'they could not be read or recorded'
	assert_stderr_contains 'what the command wrote is in '
	[ "$(cat "$XDG_STATE_HOME"/airlock/runs/*/upper/overlay1/one)" = ours ] || fail "what it wrote is lost"
	assert_file "$PROJECT/one" theirs
	assert_file "$HOME/moved/one" one
	[ "$(ls -A "$PROJECT")" = one ] || fail "something came into the new project"
}

# ---- I4

@test "I4 killed at any step of apply and undo, each path is old or new after recovery" {
	command -v strace >/dev/null || skip "needs: strace"
	i4_killed
}
# The calls that apply makes steps with. Each is the last one that succeeds or does not, in its turn.
i4_killed() {
	local call when points=0
	some_project
	keep_tree before .
	run_captured --hold -c "$EVERYTHING"
	cp -a "$PROJECT" "$HOME/direct"
	(cd "$HOME/direct" && bash -c "$EVERYTHING")
	keep_tree after "$HOME/direct"
	for call in renameat2 fsync,fdatasync,syncfs mkdirat unlinkat openat2 write,pwrite64; do
		for ((when = 1; when < 200; when += 1 + when / 6)); do
			points=$((points + 1))
			run_program strace -qq -o /dev/null -e trace=none -e "inject=$call:signal=KILL:when=$when" "$AIRLOCK" apply "$RUN"
			[ "$status" -ne 0 ] || when=1000 # there are no more of these
			run_airlock recover
			[ "$status" -le 1 ] || fail "recover after $call $when"
			old_or_new "$call $when"
			back_to_old
		done
	done
	echo "# $points points"
}
# Afterwards the run can still be applied and undone, whatever the crash left.
old_or_new() {
	if python3 "$CAPTURE/tree.py" same "$BATS_TEST_TMPDIR/before.tree" . >"$BATS_TEST_TMPDIR/not-old"; then
		IS_NEW=
	elif python3 "$CAPTURE/tree.py" alike "$BATS_TEST_TMPDIR/after.tree" . >"$BATS_TEST_TMPDIR/not-new"; then
		IS_NEW=1
	else
		fail "after $1 neither old:" "$(cat "$BATS_TEST_TMPDIR/not-old")" "nor new:" "$(cat "$BATS_TEST_TMPDIR/not-new")"
	fi
}
back_to_old() {
	if [ "$IS_NEW" ]; then
		run_airlock undo "$RUN"
		assert_status 0
		assert_same_tree before .
	fi
}

@test "I4 airlock run killed while it applies" {
	i4_run_killed
}
i4_run_killed() {
	local i pid
	for i in 1 3 5 7; do
		some_project
		keep_tree before .
		: >"$BATS_TEST_TMPDIR/out" # or the last run's word would be taken for this one's
		"$AIRLOCK" run -c "$EVERYTHING; echo done" >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
		pid=$!
		eventually grep -q "done" "$BATS_TEST_TMPDIR/out"
		sleep "0.00$i"
		kill -KILL $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		run_airlock recover
		if ! python3 "$CAPTURE/tree.py" same "$BATS_TEST_TMPDIR/before.tree" . >/dev/null; then
			assert_file one changed
			assert_absent two
			assert_file deep/file deep
			assert_absent src/deep
		fi
	done
	# Every one of them is known afterwards, however far it came.
	run_airlock log --json -n 10
	[ "$(json 'len(d["runs"])')" -ge 4 ] || fail "expected four runs"
}

# ---- I5

@test "I5 undo puts back what was replaced, undoing that does it again" {
	i5_undo
}
i5_undo() {
	some_project
	keep_tree before .
	run_captured -c "$EVERYTHING"
	assert_json applied changes state
	keep_tree after .
	local i
	for i in 1 2 3; do
		run_airlock undo "$RUN"
		assert_status 0
		assert_same_tree before .
		run_airlock undo "$RUN"
		assert_status 0
		assert_same_tree after .
	done
}

@test "I5 undo of some paths includes what they depend on and nothing else" {
	i5_paths
}
i5_paths() {
	some_project
	run_captured -c 'echo ours >one; rm -rf src; echo ours >two'
	assert_json applied changes state
	run_airlock undo "$RUN" src/deep/file
	assert_status 0
	assert_file src/deep/file deep
	assert_absent src/numbers
	assert_file one ours
	run_airlock undo "$RUN" one src
	assert_status 0
	assert_file one one
	[ "$(wc -l <src/numbers)" = 200 ] || fail "src/numbers did not come back"
	assert_file two ours
}

@test "I5 undo without a run takes the last applied one of this project" {
	i5_last
}
i5_last() {
	some_project
	mkdir -p "$HOME/other/.git"
	echo other >"$HOME/other/file"
	run_captured -c 'echo 1 >one'
	run_captured -c 'echo 2 >two'
	run_captured --hold -c 'echo 3 >two'
	run_captured -c 'true'
	run_airlock run -p "$HOME/other" -C "$HOME/other" -c 'echo changed >file'
	assert_status 0
	assert_file "$HOME/other/file" changed
	run_airlock undo
	assert_status 0
	assert_file two two
	assert_file one 1
	run_airlock undo
	assert_status 0
	assert_file one one
	assert_file "$HOME/other/file" changed
	run_airlock undo
	assert_status 1
}

@test "I5 runs one after the other are undone one after the other, and done again" {
	i5_stack
}
@test "I5 the same where the state is on another file system" {
	[ "$(stat -f -c %T /dev/shm)" != "$(stat -f -c %T "$PROJECT")" ] || skip "needs: /dev/shm on another file system"
	XDG_STATE_HOME=$(mktemp -d /dev/shm/airlock-test.XXXXXX)
	ELSEWHERE=$XDG_STATE_HOME
	i5_stack
}
teardown() {
	if [ -n "${ELSEWHERE-}" ]; then
		chmod -R u+rwx "$ELSEWHERE"
		rm -rf "$ELSEWHERE"
	fi
}
i5_stack() {
	some_project
	local i runs=()
	for i in 1 2 3 4; do
		keep_tree "step$i" .
		run_captured -c "echo $i >>one; mkdir -p d; rm -f d/*; echo $i >d/$i; mv two two.$i 2>/dev/null || mv two.* two; chmod 7${i}4 script"
		assert_json applied changes state
		runs+=("$RUN")
	done
	keep_tree step5 .
	run_airlock undo "${runs[0]}"
	assert_status 3
	assert_same_tree step5 .
	for i in 4 3 2 1; do
		run_airlock undo "${runs[i - 1]}"
		assert_status 0
		assert_same_tree "step$i" .
	done
	for i in 1 2 3 4; do
		run_airlock undo "${runs[i - 1]}"
		assert_status 0
		assert_same_tree "step$((i + 1))" .
	done
	run_airlock undo "${runs[3]}"
	run_airlock undo "${runs[2]}"
	assert_status 0
	assert_same_tree step3 .
	# What somebody else does between two undos is still theirs, also when only the ctime tells.
	printf '1\n2\n' >>one
	run_airlock undo "${runs[1]}"
	assert_status 3
	assert_file one $'one\n1\n2\n1\n2'
	run_airlock undo --force "${runs[1]}"
	assert_status 0
	assert_same_tree step2 .
	local stamp=$BATS_TEST_TMPDIR/stamp
	touch -r one "$stamp"
	printf ONE | dd of=one conv=notrunc status=none
	touch -r "$stamp" one
	run_airlock undo "${runs[0]}"
	assert_status 3
	[[ $(cat one) == ONE* ]] || fail "the edit is gone"
}

@test "I5 an edit through a descriptor from before the run is not taken for ours when runs are undone" {
	i5_open_descriptor
}
i5_open_descriptor() {
	some_project
	run_captured -c 'echo 1 >one'
	local first=$RUN stamp=$BATS_TEST_TMPDIR/stamp
	exec 8<>one
	touch -r one "$stamp"
	run_captured -c 'echo 2 >one'
	printf 9 >&8 # into what is the before-image now, and its time set back
	touch -r "$stamp" "/proc/$BASHPID/fd/8"
	exec 8>&-
	run_airlock undo "$RUN"
	assert_status 0
	assert_file one 9
	run_airlock undo "$first"
	assert_status 3
	assert_file one 9
}

@test "I5 a held run is applied after what it builds on was undone and done again" {
	i5_held_on_top
}
i5_held_on_top() {
	some_project
	run_captured -c 'echo 1 >one; mkdir d; echo x >d/x'
	local first=$RUN held
	run_captured --hold -c 'echo 2 >>one; echo y >d/y; chmod 700 d'
	held=$RUN
	run_airlock undo "$first"
	assert_status 0
	run_airlock apply "$held"
	assert_status 3
	assert_file one one
	run_airlock undo "$first"
	assert_status 0
	run_airlock apply "$held"
	assert_status 0
	assert_file one $'1\n2'
	assert_file d/y y
	run_airlock undo "$held"
	run_airlock undo "$first"
	assert_status 0
	assert_absent d
}

# ---- I6

@test "I6 the host side follows no symlink of the sandbox: scan, diff, apply, undo, discard" {
	i6_symlinks
}
i6_symlinks() {
	some_project
	mkdir -p "$HOME/secret/sub"
	echo "what it says" >"$HOME/secret/file"
	age "$HOME/secret"
	keep_tree secret "$HOME/secret"
	run_captured --hold -c 'ln -s "$HOME/secret" a; ln -s "$HOME/secret/file" b; rm -rf src; ln -s "$HOME/secret" src; rm one;
		ln -s "$HOME/secret/file" one; mkdir d; ln -s ../../../../../../../../../../etc d/etc; ln -s . self; ln -s self/self/a loop'
	assert_status 0
	assert_changes 'added a' 'added b' 'added d' 'added d/etc' 'added loop' 'type one' 'added self' 'type src' \
		'deleted src/deep' 'deleted src/deep/file' 'deleted src/numbers'
	assert_change a type=symlink "size=$(printf %s "$HOME/secret" | wc -c)"
	run_airlock diff "$RUN"
	refute_stdout_contains 'what it says'
	[[ $stdout == *"$HOME/secret/file"* ]] || fail "the target is not shown"
	run_airlock apply "$RUN"
	assert_status 0
	assert_same_tree secret "$HOME/secret"
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree secret "$HOME/secret"
	run_airlock discard "$RUN"
	assert_same_tree secret "$HOME/secret"
	assert_file one one
}
