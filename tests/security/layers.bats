#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# Layers made to hurt whoever reads them, projects that are hard to capture, and others at work at the same time.

load ../helpers
load ../capture/capture

setup() {
	default_setup
	age "$PROJECT"
}

# ---- hostile layers

@test "a layer full of symlinks to host directories: nothing there is read, changed or removed" {
	each_backend symlink_layer
}
symlink_layer() {
	mkdir -p "$HOME/host/sub" dir
	echo host >"$HOME/host/file"
	echo deep >"$HOME/host/sub/file"
	echo mine | tee dir/file >dir/other
	age "$HOME/host"
	keep_tree host "$HOME/host"
	keep_tree before .
	run_captured -c 'rm -rf dir; ln -s "$HOME/host" dir; for i in $(seq 50); do ln -s "$HOME/host" l$i; ln -s "$HOME/host/sub" "l$i "; done
		mkdir deep; cd deep; ln -s ../../host x; ln -s x y; ln -s y/sub z; ln -s /proc/self/root root; ln -s /proc/self/cwd cwd'
	assert_status 0
	run_airlock diff "$RUN"
	assert_status 0
	run_airlock apply "$RUN"
	assert_status 0
	[ -L dir ] || fail "dir was not applied"
	[ -L deep/z ] || fail "the symlinks were not applied"
	assert_same_tree host "$HOME/host"
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	assert_same_tree host "$HOME/host"
	run_captured --discard -c 'rm -rf dir; ln -s "$HOME/host" dir; ln -s "$HOME/host" d2'
	assert_same_tree host "$HOME/host"
	assert_same_tree before .
}

@test "trees of mode 000 are reported, applied, undone and discarded" {
	each_backend mode_000
}
mode_000() {
	mkdir -p old/sub
	echo old >old/sub/file
	age old
	keep_tree before .
	local line='mkdir -p a/b/c; echo x >a/b/c/f; chmod 000 a/b/c/f a/b/c a/b a; chmod 000 old/sub/file old/sub; mkdir x; echo y >x/y; chmod 500 x'
	run_captured -c "$line"
	assert_status 0
	assert_json applied changes state
	assert_change a kind=added mode=0000
	assert_change a/b/c/f kind=added mode=0000 size=2
	assert_change old/sub kind=metadata mode=0000
	assert_change old/sub/file kind=metadata mode=0000
	assert_change x/y kind=added
	[ "$(stat -c %a a)$(stat -c %a old/sub)$(stat -c %a x)" = 00500 ] || fail "modes: $(stat -c %a a old/sub x)"
	keep_tree after .
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree after .
	run_airlock undo "$RUN"
	assert_same_tree before .
	run_captured --discard -c "$line"
	assert_status 0
	assert_same_tree before .
}

@test "a read-only directory is changed by those who may, and stays read-only" {
	each_backend read_only_parent
}
read_only_parent() {
	mkdir -p ro
	echo one | tee ro/one >ro/two
	chmod 555 ro
	age ro
	keep_tree before .
	run_captured -c 'chmod 755 ro; echo new >ro/new; rm ro/one; echo two >>ro/two; chmod 555 ro'
	assert_status 0
	assert_json applied changes state
	assert_file ro/new new
	assert_absent ro/one
	[ "$(stat -c %a ro)" = 555 ] || fail "mode $(stat -c %a ro)"
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	chmod 755 ro
}

@test "thousands of entries are reported, applied and undone" {
	each_backend many
}
many() {
	run_python --json <<-'PYTHON'
		for folder in range(30):
		    os.makedirs(f"t/{folder}")
		    for name in range(100):
		        os.mknod(f"t/{folder}/{name}")
	PYTHON
	assert_status 0
	assert_json applied changes state
	[ "$(change_list | wc -l)" -eq 3031 ] || fail "reported: $(change_list | wc -l)"
	[ "$(find t | wc -l)" -eq 3031 ] || fail "applied: $(find t | wc -l)"
	keep_tree full .
	run_captured -c 'rm -rf t'
	assert_json applied changes state
	assert_absent t
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree full .
}

@test "directories 300 deep with the longest names are reported, applied and undone" {
	each_backend deep
}
deep() {
	listed >"$BATS_TEST_TMPDIR/before"
	run_python --json <<-'PYTHON'
		for i in range(300):
		    name = "n" * (255 if i % 20 == 0 else 2)
		    os.mkdir(name)
		    os.chdir(name)
		open("bottom", "w").write("x")
	PYTHON
	assert_status 0
	assert_json applied changes state
	RUN=$(json_get run)
	[ "$(change_list | wc -l)" -eq 301 ] || fail "reported: $(change_list | wc -l)"
	listed >"$BATS_TEST_TMPDIR/after"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/after")" -eq $(($(wc -l <"$BATS_TEST_TMPDIR/before") + 301)) ] || fail "not everything is there"
	local state
	for state in before after before; do
		run_airlock undo "$RUN"
		assert_status 0
		listed | cmp - "$BATS_TEST_TMPDIR/$state" || fail "not as $state"
	done
}
# listed: everything there is; for paths longer than the kernel takes at once, which other programs stumble over
listed() {
	find . -printf '%P %y %m %s %T@\n' | sort
}

# ---- names

@test "names like terminal sequences, reports and options are inert in text and exact in JSON" {
	each_backend hostile_names
}
hostile_names() {
	run_python --json --hold <<-'PYTHON'
		names = [b"\x1b[2J\x1b[31mred", b"\x1b]0;title\x07", b"two\nlines", b"tab\there", b"\rover", b"back\x08\x08", b"\xff\xfe bad",
		         "\u202etxt.exe".encode(), "\u200bzero".encode(), "\x9b31m".encode(), b"-rf", b"--force", b"a\\x1b", b"  (applied)",
		         b"x\napplied  y", b"%s%n", b"$(reboot)", b"'\"`", b"n" * 255, "漢字".encode()]
		for name in names:
		    open(name, "w").write("x")
		    os.mkdir(b"d" + name[:200]), open(b"d" + name[:200] + b"/" + name, "w").close()
	PYTHON
	assert_status 0
	RUN=$(json_get run)
	assert_change $'\e[2J\e[31mred' kind=added state=held
	assert_change $'\xff\xfe bad' kind=added
	assert_change $'two\nlines' kind=added
	[ "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["changes"]["files"]))' "$RAW_STDOUT")" -eq 60 ] || fail "not 60 changes"
	inert changes "$RUN"
	inert diff "$RUN"
	[ "$(grep -c two "$RAW_STDOUT")" -ge 2 ] || fail "a name is not shown"
	inert apply "$RUN" -- -rf $'two\nlines'
	assert_file ./-rf x
	assert_file $'two\nlines' x
	assert_absent --force
	inert apply "$RUN"
	assert_file $'\xff\xfe bad' x
	inert undo "$RUN"
	[ "$(ls -A)" = $'.git\nfile' ] || fail "left: $(ls -A)"
	inert discard "$RUN"
	run_airlock run -c "touch $'\\e[31m' $'\\xff' ok"
	is_inert
}
# inert COMMAND...: succeeds, and neither stream has a byte that a terminal acts on
inert() {
	run_airlock "$@"
	assert_status 0
	is_inert
}
is_inert() {
	python3 - "$RAW_STDOUT" "$RAW_STDERR" <<-'PYTHON' || fail "control characters in the output"
		import sys, unicodedata
		for name in sys.argv[1:]:
		    text = open(name, "rb").read().decode("utf-8")
		    bad = [c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
		    if bad:
		        sys.exit(f"{name}: {bad}")
	PYTHON
}

@test "a path with ,upperdir= : and a newline cannot inject mount options" {
	each_backend hostile_project
}
hostile_project() {
	local name
	for name in 'a,upperdir=/tmp,workdir=x' 'with:colon' $'new\nline' 'back\slash\040' 'lowerdir+=%s "q"' $'\xff\xfe'; do
		make_project "$HOME/$name"
		age .
		keep_tree before .
		run_captured -c 'echo changed >file; echo new >new'
		assert_status 0
		assert_json applied changes state
		assert_changes 'modified file' 'added new'
		assert_file file changed
		run_airlock undo "$RUN"
		assert_status 0
		assert_same_tree before .
	done
}

# ---- who can see what

@test "the sandbox sees neither its own layer nor the state directory" {
	each_backend invisible
}
invisible() {
	local name=marker-$BASHPID-$RANDOM
	run_captured -c "echo mine >$name"
	run_airlock run -c 'ls -A "$XDG_STATE_HOME/airlock" "$HOME/.local/state/airlock" 2>/dev/null; find "$HOME" /tmp /run /var /proc/1/root/home -name '"$name"' 2>/dev/null | sort -u'
	assert_stdout "$PROJECT/$name"
	run_airlock run -c 'sed -n "s/.*upperdir=\([^,]*\).*/\1/p" /proc/self/mountinfo | while read -r d; do ls -d "$d" "$d"/..; done 2>/dev/null; true'
	assert_stdout ""
	run_airlock run -c 'touch "$HOME/.local/state/airlock/x" "$HOME/.local/state/airlock/runs/x"'
	[ "$status" -ne 0 ] || fail "something was written there"
	[ -z "$(find "$XDG_STATE_HOME" -name x)" ] || fail "written: $(find "$XDG_STATE_HOME" -name x)"
}

@test "overlay's own attributes never leave the layer, and cannot be forged" {
	each_backend attributes
}
attributes() {
	mkdir -p dir/sub
	echo in >dir/sub/in
	age dir
	keep_tree before .
	run_python --json <<-'PYTHON'
		for name in "user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect", "user.overlay.origin", "trusted.overlay.opaque":
		    for path in "dir", "dir/sub", "file":
		        try:
		            os.setxattr(path, name, b"y")
		        except OSError:
		            pass
		os.setxattr("file", "user.mine", b"kept")
	PYTHON
	assert_status 0
	RUN=$(json_get run)
	assert_file dir/sub/in in
	assert_change file kind=metadata state=applied
	python3 -c 'import os; assert os.listxattr("file") == ["user.mine"], os.listxattr("file")'
	python3 -c 'import os; assert os.listxattr("dir") + os.listxattr("dir/sub") == []'
	run_airlock undo "$RUN"
	assert_same_tree before .
	run_captured -c 'rm -rf dir; mkdir dir; mv file dir/file; rm -rf dir/sub; mkdir dir/sub; touch dir/sub/new'
	assert_json applied changes state
	python3 -c 'import os; assert not [x for d, _, f in os.walk(".") for n in [d] + f for x in os.listxattr(os.path.join(d, n) if n != d else d) if "overlay" in x]'
}

@test "a project with foreign user.overlay. attributes is captured or refused, never misread" {
	each_backend foreign_attributes
}
foreign_attributes() {
	mkdir -p dir
	echo visible >dir/in
	setfattr_py dir user.overlay.opaque
	setfattr_py file user.overlay.whiteout
	keep_tree before .
	run_airlock run --json -c 'cat dir/in file; echo changed >other'
	if [ "$status" -ne 0 ]; then # refused in words is an answer, hiding files is not
		assert_refused unavailable
		assert_same_tree before .
		return
	fi
	assert_json $'visible\noriginal' stdout
	assert_change other state=applied kind=added
	rm other
}
setfattr_py() {
	python3 -c 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], b"y")' "$1" "$2"
}

# ---- projects that are hard to capture

@test "a project with a socket, a FIFO, a sparse file of 5 GB and an unreadable directory works" {
	each_backend odd_project
}
odd_project() {
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	mkfifo fifo
	truncate -s 5G sparse
	mkdir -p closed/in
	echo in >closed/in/file
	chmod 000 closed
	run_captured -c 'echo changed >file; ls -l socket fifo sparse >/dev/null; ls closed; true'
	assert_status 0
	assert_json applied changes state
	assert_changes 'modified file'
	run_captured -c 'rm socket fifo; mkfifo fifo2; true'
	assert_change socket kind=deleted state=applied
	assert_absent socket
	assert_absent fifo
	run_captured -c 'printf end >>sparse'
	assert_json applied changes state
	[ "$(stat -c %s sparse)" -eq $((5 * 1024 * 1024 * 1024 + 3)) ] || fail "size $(stat -c %s sparse)"
	[ "$(stat -c %b sparse)" -lt 100000 ] || fail "no longer sparse: $(stat -c %b sparse) blocks"
	run_airlock undo "$RUN"
	assert_status 0
	[ "$(stat -c %s sparse)" -eq $((5 * 1024 * 1024 * 1024)) ] || fail "size after undo $(stat -c %s sparse)"
	chmod 755 closed
	assert_file closed/in/file in
}

@test "an unreadable directory is removed, renamed or left as a whole" {
	is_root && skip "needs: an ordinary user"
	each_backend closed_directory
}
closed_directory() {
	mkdir -p closed/in
	echo in >closed/in/file
	age .
	chmod 000 closed
	keep_tree before .
	run_captured -c 'rmdir closed; rm -rf closed; mv closed away; mkdir -p closed/x; true' 2>/dev/null
	assert_status 0
	if [ -d away ]; then # renaming it needs no right to look into it
		[ "$(json_get changes state)" = applied ] || fail "there, but not applied"
		run_airlock undo "$RUN"
		assert_status 0
	fi
	assert_same_tree before .
	chmod 755 closed
}

@test "after a kill, directories that airlock opened are closed again, and nothing is half done" {
	is_root && skip "needs: an ordinary user"
	command -v strace >/dev/null || skip "needs: strace"
	each_backend closed_killed
}
closed_killed() {
	mkdir -p closed/in
	echo in >closed/in/file
	age .
	keep_tree before .
	run_captured -c 'echo changed >closed/in/file; echo new >closed/in/new; chmod 000 closed/in closed'
	assert_json applied changes state
	keep_tree after .
	local call when
	for call in chmod fsync renameat2 unlinkat; do
		for ((when = 1; when < 30; when += 1 + when / 4)); do
			run_program strace -qq -o /dev/null -e trace=none -e "inject=$call:signal=KILL:when=$when" "$AIRLOCK" undo "$RUN"
			[ "$status" -ne 0 ] || when=1000 # there are no more of these
			run_airlock recover
			[ "$status" -le 1 ] || fail "recover after $call $when"
			if python3 "$CAPTURE/tree.py" same "$BATS_TEST_TMPDIR/before.tree" . >/dev/null; then
				run_airlock undo "$RUN"
				assert_status 0
			fi
			assert_same_tree after .
		done
	done
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
}

@test "a mount point inside the project gives a clear error" {
	is_root || skip "needs: root"
	each_backend mount_point
}
mount_point() {
	mkdir -p inner
	run_program unshare -m sh -c 'mount -t tmpfs none inner && echo there >inner/file && exec "$0" run --json -c "echo changed >file"' "$AIRLOCK" </dev/null
	assert_refused unavailable
	assert_stdout_contains "$PROJECT/inner"
	assert_file file original
	run_program unshare -m sh -c 'mount -t tmpfs none inner && exec "$0" run --changes direct -c "echo changed >inner/file && echo changed >file"' "$AIRLOCK" </dev/null
	assert_status 0
	assert_file file changed
}

@test "the state directory inside the project, or the project inside it, is refused or invisible" {
	each_backend state_inside
}
state_inside() {
	XDG_STATE_HOME=$PROJECT/state run_airlock run --json -c 'echo changed >file'
	assert_refused unavailable
	assert_file file original
	mkdir -p "$XDG_STATE_HOME/airlock/p/.git"
	run_airlock run --json -p "$XDG_STATE_HOME/airlock/p" -C "$XDG_STATE_HOME/airlock/p" -c 'echo x >x'
	assert_refused unavailable
	assert_absent "$XDG_STATE_HOME/airlock/p/x"
}

# ---- others at work

@test "two runs at once on one project do not disturb each other" {
	each_backend two_runs
}
two_runs() {
	local i pids=()
	seq 50 | tee a >b
	for i in 1 2 3 4 5 6; do
		"$AIRLOCK" run --json -c "echo $i >mine.$i; ls mine.* >seen.$i; sleep 0.3; ls mine.* >>seen.$i" >"$BATS_TEST_TMPDIR/run.$i" 2>&1 </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4 5 6; do
		assert_file "mine.$i" "$i"
		grep -q "mine.$i" "seen.$i" || fail "run $i did not see its own file"
		grep -q "\"path\": *\"mine.$i\"" "$BATS_TEST_TMPDIR/run.$i" || fail "run $i: $(cat "$BATS_TEST_TMPDIR/run.$i")"
		grep -q '"state": *"applied"' "$BATS_TEST_TMPDIR/run.$i" || fail "run $i: $(cat "$BATS_TEST_TMPDIR/run.$i")"
	done
}

@test "two runs that change the same file: one wins, the other is held" {
	each_backend same_file
}
same_file() {
	local i
	other() {
		"$AIRLOCK" run -c 'echo second >>file' </dev/null >/dev/null 2>&1
	}
	meanwhile 'echo first >>file' other
	RUN=$(find "$XDG_STATE_HOME/airlock/runs" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | head -n 1) # the other began later
	show_changes
	assert_json held state
	assert_change file state=conflict
	assert_file file $'original\nsecond'
}

@test "an editor at work during run and apply: no update is ever lost" {
	each_backend editor
}
# A process appends numbered lines to one file, replaces another and creates others, all the time. Every line is in the live
# file in the end, or the file was changed by a forced apply, whose undo brings the editor's version back.
editor() {
	local pid n round
	: >log
	echo 0 >replaced
	cat >"$BATS_TEST_TMPDIR/editor.py" <<-'PYTHON'
		import os, sys, time
		stop, n = sys.argv[1], 0
		while os.path.isdir(os.path.dirname(stop)) and not os.path.exists(stop):
		    n += 1
		    fd = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
		    os.write(fd, b"line %d\n" % n)
		    os.close(fd)
		    with open("spare", "w") as file:
		        file.write(f"{n}\n")
		    os.rename("spare", "replaced")
		    with open(f"made.{n % 7}", "a") as file:
		        file.write(f"{n}\n")
		    time.sleep(0.0007)
		print(n)
	PYTHON
	python3 "$BATS_TEST_TMPDIR/editor.py" "$BATS_TEST_TMPDIR/stop" >"$BATS_TEST_TMPDIR/edits" 2>"$BATS_TEST_TMPDIR/edit-errors" 3>&- &
	pid=$!
	for round in {1..6}; do
		run_airlock run --json -c "n=\$(wc -c <log); while [ \"\$(wc -c <log)\" = \"\$n\" ]; do :; done
			echo ours >>own; echo $round >ours.$round; echo ours >>log; echo ours >replaced; rm -f made.*"
		[ "$(json_get changes state)" != applied ] || fail "round $round overwrote the editor"
		run_airlock run --json -c "echo ours >>own; echo $round >ours.$round"
		assert_json applied changes state
	done
	touch "$BATS_TEST_TMPDIR/stop"
	wait $pid || fail "the editor failed: $(cat "$BATS_TEST_TMPDIR/edit-errors")"
	n=$(cat "$BATS_TEST_TMPDIR/edits")
	[ "$(grep -c '^line ' log)" -eq "$n" ] || fail "of $n lines only $(grep -c '^line ' log) are there"
	assert_file replaced "$n"
	[ "$(cat made.* | wc -l)" -eq "$n" ] || fail "of $n lines in new files $(cat made.* | wc -l) are there"
	[ "$(wc -l <own)" -eq 6 ] || fail "of our lines $(wc -l <own) are there"
}

@test "an editor at work during a forced apply: what it replaced is kept" {
	each_backend editor_forced
}
# The editor only ever replaces the file; every version of it that our apply took away is in a before-image.
editor_forced() {
	local pid round
	echo 0 >replaced
	cat >"$BATS_TEST_TMPDIR/editor.py" <<-'PYTHON'
		import os, sys, time
		stop, seen, n = sys.argv[1], [], 0
		while os.path.isdir(os.path.dirname(stop)) and not os.path.exists(stop):
		    n += 1
		    fd = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
		    os.write(fd, b"line %d\n" % n)
		    os.close(fd)
		    time.sleep(0.0003)
		print(n)
	PYTHON
	: >log
	python3 "$BATS_TEST_TMPDIR/editor.py" "$BATS_TEST_TMPDIR/stop" >"$BATS_TEST_TMPDIR/edits" 2>&1 3>&- &
	pid=$!
	for round in {1..5}; do
		run_captured --hold -c 'echo ours >>log'
		run_airlock apply --force "$RUN"
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "round $round"
	done
	touch "$BATS_TEST_TMPDIR/stop"
	wait $pid
	grep -rqs '^line ' "$XDG_STATE_HOME" || fail "expected a version that was taken away"
	# Every line is in some version: the live one, or one that was taken away and is kept in the state directory.
	find . "$XDG_STATE_HOME" -type f -exec grep -haE '^line [0-9]+$' {} + | sort -u >"$BATS_TEST_TMPDIR/kept"
	seq -f 'line %g' "$(cat "$BATS_TEST_TMPDIR/edits")" | sort >"$BATS_TEST_TMPDIR/all"
	[ -z "$(comm -23 "$BATS_TEST_TMPDIR/all" "$BATS_TEST_TMPDIR/kept")" ] ||
		fail "lost: $(comm -23 "$BATS_TEST_TMPDIR/all" "$BATS_TEST_TMPDIR/kept" | head)"
}

@test "a project that stays locked: airlock says busy and changes nothing" {
	command -v flock >/dev/null || skip "needs: flock"
	each_backend busy
}
busy() {
	run_captured --hold -c 'echo changed >file'
	run_airlock apply "$RUN" # makes the lock
	run_airlock undo "$RUN"
	exec 7<>"$(find "$XDG_STATE_HOME/airlock/locks" -type f)"
	flock -x 7
	run_airlock apply "$RUN" --json
	exec 7>&-
	assert_status 125
	assert_json busy error code
	assert_file file original
	run_airlock apply "$RUN"
	assert_status 0
	assert_file file changed
}

@test "one applier at a time: the others wait, or say busy" {
	each_backend appliers
}
appliers() {
	local i runs=() pids=()
	for i in 1 2 3 4; do
		run_captured --hold -c "mkdir d.$i; cd d.$i; seq 200 | xargs touch; echo $i >../f.$i"
		runs+=("$RUN")
	done
	for i in "${!runs[@]}"; do
		"$AIRLOCK" apply "${runs[i]}" >"$BATS_TEST_TMPDIR/apply.$i" 2>&1 </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true # busy
	for i in "${!runs[@]}"; do
		show_changes "${runs[i]}"
		[ "$(json_get state)" = applied ] || grep -qi busy "$BATS_TEST_TMPDIR/apply.$i" || fail "run $i: $(cat "$BATS_TEST_TMPDIR/apply.$i")"
	done
}
