#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# Capture, apply and undo on other file systems than the one the tests are on: they work, or say which it is and what to do.

load ../helpers
load ../capture/capture

teardown() {
	cd /
	if [ -n "${MOUNTED-}" ]; then umount "$MOUNTED"; fi
	if [ -n "${MOUNTED_BELOW-}" ]; then umount "$MOUNTED_BELOW"; fi
}

# mounted_image NAME SIZE MKFS...: a file system of its own at $BATS_TEST_TMPDIR/NAME
mounted_image() {
	local name=$1 size=$2
	shift 2
	is_root || skip "needs: root"
	command -v "$1" >/dev/null || skip "needs: $1"
	grep -qw "$name" /proc/filesystems || modprobe "$name" 2>/dev/null || skip "needs: a kernel with $name"
	truncate -s "$size" "$BATS_TEST_TMPDIR/$name.img"
	"$@" "$BATS_TEST_TMPDIR/$name.img" >/dev/null 2>&1
	mkdir "$BATS_TEST_TMPDIR/$name"
	mount -o loop "$BATS_TEST_TMPDIR/$name.img" "$BATS_TEST_TMPDIR/$name" || skip "needs: loop devices"
	MOUNTED=$BATS_TEST_TMPDIR/$name
}

LINE='echo changed >file; rm gone; mkdir -p new/er; echo new >new/er/file; mv sub moved; chmod 700 dir; ln -s file link; printf x >>big'

# works DIR: a project there, from the run to undo and back
works() {
	make_project "$1/project"
	mkdir -p dir sub/deep
	echo gone >gone
	echo deep >sub/deep/file
	truncate -s 1M big
	age .
	keep_tree before .
	run_captured -c "$LINE"
	assert_status 0
	assert_json applied changes state
	assert_file file changed
	assert_file moved/deep/file deep
	assert_absent gone
	keep_tree after .
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree after .
}

# both_ways DIR: the state elsewhere, and beside the project
both_ways() {
	works "$1"
	rm -rf "${1:?}/project"
	export XDG_STATE_HOME=$1/state
	works "$1"
}

@test "btrfs" {
	mounted_image btrfs 128M mkfs.btrfs -q
	both_ways "$MOUNTED"
}

@test "a subvolume of btrfs" {
	mounted_image btrfs 128M mkfs.btrfs -q
	btrfs subvolume create "$MOUNTED/volume" >/dev/null
	export XDG_STATE_HOME=$MOUNTED/state
	works "$MOUNTED/volume"
}

@test "xfs" {
	mounted_image xfs 320M mkfs.xfs -q
	both_ways "$MOUNTED"
}

@test "tmpfs" {
	is_root || skip "needs: root"
	MOUNTED=$BATS_TEST_TMPDIR/memory
	mkdir "$MOUNTED"
	mount -t tmpfs none "$MOUNTED"
	both_ways "$MOUNTED"
}

# A container: the project, the state, or both are in an overlay already. The kernel takes no overlay for an upper layer.
@test "overlay on overlay works, or is refused by name with the way out" {
	is_root || skip "needs: root"
	MOUNTED_BELOW=$BATS_TEST_TMPDIR/below
	mkdir "$MOUNTED_BELOW"
	mount -t tmpfs none "$MOUNTED_BELOW"
	mkdir "$MOUNTED_BELOW"/{lower,upper,work,merged}
	mount -t overlay -o "lowerdir=$MOUNTED_BELOW/lower,upperdir=$MOUNTED_BELOW/upper,workdir=$MOUNTED_BELOW/work" \
		none "$MOUNTED_BELOW/merged"
	MOUNTED=$MOUNTED_BELOW/merged
	works "$MOUNTED"
	export XDG_STATE_HOME=$MOUNTED/state
	make_project "$MOUNTED/second"
	run_airlock run --json -c 'echo changed >file'
	if [ "$status" -eq 0 ]; then
		assert_json applied changes state
		assert_file file changed
		return
	fi
	assert_refused unavailable
	assert_stdout_contains overlay
	assert_stdout_contains '--changes direct'
	assert_file file original
	run_airlock run --changes direct -c 'echo changed >file'
	assert_status 0
	assert_file file changed
}
