#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The native backend: where it is chosen, what it says when something is missing, sandboxes in sandboxes.

load ../helpers

# without_calls NAME[,NAME...] ARG...: airlock on a kernel that does not know these system calls
without_calls() {
	local names=$1
	shift
	run_program python3 -I -S "$BATS_TEST_DIRNAME/../without_calls.py" "$names" "$AIRLOCK" "$@"
}

@test "auto chooses native if it enforces everything" {
	run_airlock run --json -- true
	assert_status 0
	assert_json native isolation backend
	assert_json enforced isolation filesystem
	assert_json enforced isolation processes
	assert_json blocked isolation network
}

@test "native needs no bwrap" {
	# shellcheck disable=SC2016 # for the inner shell to expand
	run_program unshare --user --map-root-user --mount sh -c \
		'mount --bind /dev/null "$(readlink -f "$(command -v bwrap)")" && exec "$@"' sh "$AIRLOCK" run --json -- true
	assert_status 0
	assert_json native isolation backend
	assert_json enforced isolation processes
}

@test "native works without the newest system calls" {
	without_calls clone3,statmount,listmount run --json --backend native -c 'echo one >new; printf hello'
	assert_status 0
	assert_json hello stdout
	assert_file new one
}

@test "if a system call is missing, native names it and auto uses bubblewrap" {
	without_calls mount_setattr run --json --backend native -- true
	assert_refused unavailable
	[[ $(json_get error message) == *kernel* ]] || fail "expected the cause"
	[[ $(json_get error hint) == *bubblewrap* ]] || fail "expected the way out"
	without_calls fsopen,open_tree,move_mount,mount_setattr run --json --backend native -- true
	assert_refused unavailable
	without_calls mount_setattr run --json --changes direct -- true
	assert_status 0
	assert_json bubblewrap isolation backend
}

@test "native works on a kernel without repeatable overlay options" {
	command -v strace >/dev/null || skip "needs: strace"
	local log=$BATS_TEST_TMPDIR/log child n
	run_program strace -f -qq -o "$log" -e trace=fsconfig "$AIRLOCK" run --backend native -- true
	run_program strace -f -qq -o "$log" -e trace=fsconfig "$AIRLOCK" run --backend native -- true # the probe is behind us
	assert_status 0
	child=$(awk '/"lowerdir\+"/ { print $1 }' "$log")
	n=$(awk -v child="$child" '$1 == child { n++ } /"lowerdir\+"/ { print n }' "$log")
	[ -n "$n" ] || skip "needs: a kernel that knows lowerdir+"
	run_program strace -f -qq -o "$log" -e trace=fsconfig -e inject=fsconfig:error=EINVAL:when="$n" \
		"$AIRLOCK" run --backend native -c 'echo one >new'
	assert_status 0
	grep -q '"lowerdir",' "$log" || fail "expected the older option"
	assert_file new one
}

# in_covered_proc COMMAND...: where the kernel lets nobody mount a fresh /proc, as in many containers
in_covered_proc() {
	# Another one in full view, as of a chroot, makes the kernel content.
	[ "$(awk '$3 == "proc"' /proc/self/mounts | wc -l)" -eq 1 ] || skip "needs: no second /proc on this machine"
	# Twice, for who made the cover may take it away.
	run_program unshare --user --map-root-user --mount sh -c \
		'mount -t tmpfs none /proc/fs && exec unshare --user --map-user=1000 --map-group=1000 "$@"' sh "$@" </dev/null
}

@test "with a partly covered /proc the command runs, and the result says so" {
	in_covered_proc "$AIRLOCK" run --json -c 'printf hello >new; cat new; kill -9 -1'
	assert_json native isolation backend
	assert_json partial isolation processes
	assert_json enforced isolation filesystem
	assert_json hello stdout
	in_covered_proc "$AIRLOCK" run --json --memory 100M -- true
	[ "$(json_get isolation limits 2>/dev/null)" = enforced ] || assert_refused limit
}

@test "the error names a mount that fails" {
	in_covered_proc "$AIRLOCK" run -- true
	assert_status 0
	# A verdict that does not hold any more, for nothing else would let it try.
	# shellcheck disable=SC2016 # for the inner shell to expand
	in_covered_proc sh -c '"$0" run -- true; sed -i "s/^old proc$/whole/" "$XDG_STATE_HOME/airlock/native.probe"
		exec "$0" run --json --backend native -- true' "$AIRLOCK"
	assert_refused init_failed
	assert_json /proc error subject
	assert_json 'mount proc' error op
	[[ $(json_get error message) == *'Operation not permitted'* ]] || fail "expected the cause"
}

@test "three nested sandboxes work if the policy allows nesting" {
	if is_root; then skip "needs: an ordinary user, the kernel maps root only for who has CAP_SETFCAP"; fi
	mkdir -p "$PROJECT/bin" "$PROJECT/state" "$PROJECT/data"
	cp -L "$AIRLOCK" "$PROJECT/bin/airlock"
	# shellcheck disable=SC2016 # for the inner shells to expand
	run_airlock run --profile permissive --changes direct --env IN="$PROJECT" -c '
		export XDG_STATE_HOME=/tmp/s XDG_DATA_HOME=/tmp/d XDG_CONFIG_HOME=/tmp/c
		$IN/bin/airlock run --backend native --profile permissive --changes direct -p $IN -c "
			export XDG_STATE_HOME=/tmp/s XDG_DATA_HOME=/tmp/d XDG_CONFIG_HOME=/tmp/c
			$IN/bin/airlock run --backend native --profile permissive --changes direct -p $IN -c \"
				echo \\\$\\\$ deep; echo deep >$IN/three\""'
	assert_status 0
	assert_stdout_contains deep
	assert_file "$PROJECT/three" deep
}
