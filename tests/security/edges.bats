#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2034 # run_airlock sets variables; $ in single quotes is for the shell inside
# Cases of the threat model that no other file has: targets that cannot be changed, capabilities of files, hogs.

load ../helpers
load ../capture/capture

teardown() {
	cd /
	chattr -i "$PROJECT/fixed" 2>/dev/null || true
}

@test "an immutable target: nothing of the run is applied until the target can be changed, then everything" {
	is_root || skip "needs: root, who may make files immutable"
	echo fixed >fixed
	chattr +i fixed 2>/dev/null || skip "needs: a file system with immutable files"
	keep_tree before .
	AIRLOCK_BACKEND=native run_airlock run --json -c 'echo a >a; rm -f fixed; echo more >>file'
	chattr -i fixed
	if [ "$(json_get changes state)" = applied ]; then
		# The layer could not remove it either: then there was nothing to apply there.
		assert_no_change fixed
		return
	fi
	chattr +i fixed
	assert_same_tree before .
	chattr -i fixed
	run_airlock apply last
	assert_status 0
	assert_absent fixed
	assert_file a a
}

@test "if applying fails, the command keeps its status, nothing is applied, and the message says how to go on" {
	is_root || skip "needs: root, who may make directories immutable"
	mkdir fixed
	chattr +i fixed 2>/dev/null || skip "needs: a file system with immutable directories"
	chattr -i fixed
	mkfifo "$BATS_TEST_TMPDIR/go"
	"$AIRLOCK" run -c 'echo x >fixed/new; echo more >>file; echo ready; read -r go; exit 7' <"$BATS_TEST_TMPDIR/go" \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	exec 8>"$BATS_TEST_TMPDIR/go"
	eventually grep -qs ready "$BATS_TEST_TMPDIR/out"
	chattr +i fixed
	echo go >&8
	exec 8>&-
	status=0
	wait $! || status=$?
	stderr=$(<"$BATS_TEST_TMPDIR/err")
	assert_status 7
	assert_stderr_contains "$PROJECT/fixed/new: Operation not permitted"
	assert_stderr_contains '2 changes held'
	assert_stderr_contains 'once this is fixed, run: airlock apply 20'
	assert_file file original
	run_airlock show last --json
	assert_json 7 exit_code
	assert_json io error code
	assert_json held changes state
	assert_json not-applied changes files 0 reason_code
	run_airlock apply last
	assert_status 125
	chattr -i fixed
	run_airlock apply last
	assert_status 0
	assert_file fixed/new x
}

@test "capabilities of a file do not survive a change, and none can be given" {
	is_root || skip "needs: root, who may give capabilities"
	cp /bin/true tool
	python3 -c 'import os; os.setxattr("tool", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))' ||
		skip "needs: a file system with capabilities of files"
	each_backend capabilities_of_files
}
capabilities_of_files() {
	run_python --json <<-'EOF_PYTHON'
		attempt("give", os.setxattr, "file", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
		open("tool", "ab").write(b"x")
	EOF_PYTHON
	assert_json 'give: EPERM' stdout
	if getfattr -n security.capability tool 2>/dev/null | grep -q capability; then fail "expected no capabilities"; fi
}

@test "a disk hog is stopped by its limit, and what it wrote is discarded whole" {
	each_backend hog
}
hog() {
	run_airlock run --json --discard --fsize 1M -c 'exec head -c 5M /dev/zero >big'
	assert_json fsize usage limit_hit
	assert_json 1048576 changes files 0 size
	assert_absent big
}
