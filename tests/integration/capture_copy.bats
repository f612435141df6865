#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2153,SC2016 # run_airlock sets variables; $ in single quotes is for the shell inside
# Where no layer can be put over the project changes are found by comparing with a copy, and end like those of a layer.

load ../helpers
load ../capture/capture

setup() {
	default_setup
	python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 2)' || skip "needs: Landlock of Linux 5.19"
	export AIRLOCK_BACKEND=landlock
	mkdir dir
	echo inner >dir/inner
	echo gone >gone
	age .
	STATE=$XDG_STATE_HOME/airlock
}

teardown() {
	cd /
	if [ -n "${FOREIGN-}" ]; then rm -rf "$FOREIGN"; fi
}

# Something of everything.
WORK='echo more >>file; rm gone; mkdir new; echo n >new/n; mv dir/inner dir/moved; chmod 750 dir; ln -s file link'

# Nothing of the capture is left once a run is settled.
assert_settled() {
	local left
	left=$(find "$STATE" \( -path '*/copies/*' -o -path '*/runs/*/copy*' -o -name origins -o -name capture \) -print)
	[ -z "$left" ] || fail "expected nothing left: $left"
}

@test "changes stay, are reported exactly, undone and done again" {
	keep_tree before .
	run_captured -c "$WORK"
	assert_status 0
	assert_json copy isolation capture
	assert_json partial isolation filesystem
	assert_json applied changes state
	assert_changes 'metadata dir' 'renamed dir/moved' 'modified file' 'deleted gone' 'added link' 'added new' 'added new/n'
	keep_tree after .
	assert_settled
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree after .
}

@test "what is held is put back, and can be looked at, applied in part and discarded" {
	keep_tree before .
	run_captured --hold -c "$WORK"
	assert_json held changes state
	assert_same_tree before .
	assert_settled
	run_airlock diff "$RUN" file
	assert_stdout_contains '+more'
	run_airlock apply "$RUN" new/n
	assert_status 0
	assert_file new/n n
	assert_file file original
	run_airlock discard "$RUN" file
	run_airlock apply "$RUN"
	assert_status 0
	assert_file file original
	assert_file dir/moved inner
	assert_absent gone
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
}

@test "what is discarded leaves no trace, of a strict profile and of a timeout either" {
	keep_tree before .
	run_captured --discard -c "$WORK; touch .; chmod 700 ."
	assert_json discarded changes state
	assert_same_tree before .
	run_captured --profile strict -c "$WORK"
	assert_json held changes state
	assert_same_tree before .
	run_captured --timeout 1s -c "$WORK; exec sleep 60"
	assert_status 124
	assert_json held changes state
	assert_change file 'reason=the command timed out' reason_code=timed-out
	assert_same_tree before .
	run_airlock apply "$RUN"
	assert_status 0
	assert_absent gone
}

@test "sensitive changes are put back, the rest stays" {
	run_captured -c 'echo "#!/bin/sh" >.git/hooks-x; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit; echo ok >fine'
	assert_json partial changes state
	assert_change .git/hooks/pre-commit state=held 'reason=*git hook*'
	assert_change fine state=applied
	assert_absent .git/hooks/pre-commit
	assert_file fine ok
	run_captured -c 'cp /bin/true suid; chmod 4755 suid; mkfifo pipe; python3 -c "import socket; socket.socket(1).bind(\"s\")"; echo x >x'
	assert_change suid state=applied 'reason=setuid bit dropped'
	assert_change pipe state=held
	assert_absent pipe
	assert_absent s
	[ ! -u suid ] || fail "expected no setuid bit"
	assert_settled
}

@test "nothing that was not touched is reported, and hard links stay what they are" {
	ln file twin
	run_captured -c 'cat file >/dev/null; touch -r file file; cp -p gone x; mv x gone; chmod 644 gone; echo more >>twin'
	assert_changes 'modified file' 'modified twin'
	test file -ef twin || fail "expected one file"
	run_airlock undo "$RUN"
	assert_file file original
	test file -ef twin || fail "expected one file after undo"
}

@test "closed files and directories are copied, found and put back" {
	mkdir closed
	echo secret >closed/file
	echo unread >unread
	chmod 000 unread closed
	keep_tree before .
	run_captured --hold -c 'chmod 700 closed; echo more >>closed/file; chmod 000 closed; rm -f unread; mkdir c; echo x >c/x; chmod 000 c'
	assert_changes 'added c' 'added c/x' 'modified closed/file' 'deleted unread'
	assert_same_tree before .
	run_airlock apply "$RUN"
	assert_status 0
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
}

@test "what is too large is not run: the size, the limit and both ways out are named" {
	head -c 3000000 /dev/urandom >big
	write_config '[capture]' 'copy_size = "2M"'
	run_airlock run --json -c 'echo x >ran'
	if [ "$status" -eq 0 ]; then skip "needs: a file system that does not share the bytes of copies"; fi
	assert_refused limit
	[[ $(json_get error message) == *'2.9 MiB to copy'* ]] || fail "expected the size"
	[[ $(json_get error hint) == *'at most 2 MiB is copied: raise copy_size in [capture], or use --changes direct'* ]] || fail "expected the ways out"
	write_config '[capture]' 'copy_files = 3'
	run_airlock run --json -c 'echo x >ran'
	assert_refused limit
	[[ $(json_get error hint) == *'at most 3 are copied: raise copy_files'* ]] || fail "expected the limit"
	assert_absent ran
	run_airlock run --json --changes direct -c 'echo x >ran'
	assert_json none isolation capture
	assert_file ran x
}

@test "one run at a time in a project" {
	"$AIRLOCK" run -c 'echo ready >ready; exec sleep 60' 3>&- &
	local first=$!
	eventually test -e ready
	run_airlock run --json -c 'echo x >second'
	kill "$first"
	wait "$first" || true
	assert_refused busy
	assert_absent second
	run_captured -c 'echo x >third'
	assert_status 0
}

@test "killed while the command runs: the next start puts everything back and holds it" {
	keep_tree before .
	"$AIRLOCK" run -c "$WORK; echo ready >ready; exec sleep 60" 3>&- &
	local airlock=$!
	eventually test -e ready
	kill -9 "$airlock"
	wait "$airlock" || true
	eventually nobody_sleeps
	run_airlock recover
	assert_status 0
	assert_stdout_contains 'were taken out of the project and are held'
	assert_same_tree before .
	assert_settled
	show_changes last
	assert_json held state
	assert_change file 'reason=the run was interrupted' reason_code=interrupted
	run_airlock apply last
	assert_status 0
	assert_file file $'original\nmore'
	run_airlock gc
	assert_status 0
}
nobody_sleeps() {
	local pid
	for pid in $(pgrep -x sleep -u "$(id -u)"); do
		[ "$(readlink "/proc/$pid/cwd")" != "$PROJECT" ] || return 1
	done
}

@test "killed at any moment after the command: the project is the old one or the new one" {
	command -v strace >/dev/null || skip "needs: strace"
	keep_tree before .
	local call
	for call in mkdirat:2 linkat:2 rename:2 renameat2:2 unlinkat:3 unlinkat:12 unlink:1; do
		strace -qq -o /dev/null -e trace="${call%:*}" -e inject="${call%:*}:signal=KILL:when=${call#*:}+" "$AIRLOCK" run --hold -c "$WORK" >/dev/null 2>&1 || true
		run_airlock gc # which recovers first, and sweeps what was being made
		[ "$status" -le 1 ] || fail "expected it to be recovered"
		assert_same_tree before .
		assert_settled
	done
}

@test "a file with another name outside is named" {
	ln file "$HOME/outside"
	run_airlock run -c 'echo x >new'
	assert_status 0
	assert_stderr_contains '1 files have another name outside the project (file)'
}

@test "daily backups are made of what stays" {
	run_airlock project add .
	assert_status 0
	run_captured -c 'echo more >>file; rm gone'
	run_airlock backups --json
	assert_json file backups 0 path
	assert_json gone backups 1 path
	run_airlock restore gone
	assert_status 0
	assert_file gone gone
}

@test "a project of another group is captured by copy in every sandbox" {
	is_root || skip "needs: root, who may give files away"
	FOREIGN=$(mktemp -d /var/lib/airlock-test.XXXXXX) # where every user can get to
	chmod 755 "$FOREIGN"
	make_home "$FOREIGN/home"
	make_project "$HOME/project"
	chown -R 65534:65534 "$FOREIGN"
	chown -R 65534:1 "$PROJECT"
	export AIRLOCK_BACKEND=native
	run_program setpriv --reuid 65534 --regid 65534 --clear-groups "$AIRLOCK" run --json --hold -c 'echo more >>file' </dev/null
	if [[ $stderr$stdout == *'user namespace'* ]]; then skip "needs: user namespaces for every user"; fi
	assert_status 0
	assert_json native isolation backend
	assert_json copy isolation capture
	assert_json held changes state
	assert_file file original
}
