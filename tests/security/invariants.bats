#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# What holds of captured changes, whatever the command does: the invariants I1, I2, I7 and I8 of docs/design, each by
# its name. The others are in invariants_apply.bats.

load ../helpers
load ../capture/capture
load ../capture/invariants

# ---- I1

@test "I1 nothing outside the roots and the playground changes" {
	each_backend i1_outside
}
i1_outside() {
	mkdir -p "$HOME/beside/dir"
	echo outside >"$HOME/beside/file"
	age "$HOME/beside"
	keep_tree beside "$HOME/beside"
	local mode
	for mode in apply hold ask discard direct; do
		run_airlock run --changes $mode -c '
			ln -sfn "$HOME/beside" to-outside; ln -sfn "$HOME/beside/file" to-file
			for f in "$HOME"/beside/file to-file to-outside/file to-outside/dir/new "$HOME/new" /etc/new /usr/new /new /var/new; do
				echo x 2>/dev/null >"$f"; done
			rm -rf "$HOME/beside" to-outside/dir; mkdir "$HOME/beside/more"; chmod 777 to-file; touch to-file
			mv to-outside/dir .; ln -f to-file hard; echo y >>hard; echo played >"$HOME/playground/toy"; true'
		assert_status 0
		assert_same_tree beside "$HOME/beside"
		assert_absent "$HOME/new"
		assert_absent /new
		assert_file "$("$AIRLOCK" playground path)/toy" played
		rm -rf "$("$AIRLOCK" playground path)/toy" to-outside to-file hard dir
	done
}

@test "I1 a hard link outside the project keeps its content" {
	each_backend i1_hard_link
}
i1_hard_link() {
	echo original >"$HOME/outside"
	ln -f "$HOME/outside" "$PROJECT/inside"
	run_captured -c 'echo changed >inside; chmod 600 inside'
	assert_status 0
	assert_json applied changes state
	assert_file inside changed
	assert_file "$HOME/outside" original
	[ "$(stat -c %a "$HOME/outside")" = 644 ] || fail "the mode outside changed"
	run_airlock undo "$RUN"
	assert_status 0
	assert_file inside original
	[ "$HOME/outside" -ef inside ] || fail "undo brought back another file"
}

@test "I1 apply and undo do not follow a directory that became a symlink" {
	each_backend i1_symlinked_directory
}
i1_symlinked_directory() {
	some_project
	mkdir -p "$HOME/target/deep"
	echo theirs >"$HOME/target/numbers"
	echo theirs >"$HOME/target/deep/file"
	keep_tree target "$HOME/target"
	keep_tree before .
	run_captured -c 'rm -rf src; ln -s "$HOME/target" src; echo x >src/numbers 2>/dev/null; echo x >src/more 2>/dev/null; echo fine >one'
	assert_status 0
	assert_json partial changes state
	assert_change src state=held 'reason=*leads out of the project*'
	assert_file one fine
	run_airlock apply "$RUN"
	assert_status 0
	[ -L src ] || fail "the symlink was not applied"
	assert_same_tree target "$HOME/target"
	run_airlock undo "$RUN"
	assert_status 0
	assert_same_tree before .
	assert_same_tree target "$HOME/target"
}

# ---- I2

@test "I2 nothing inside the roots changes until apply" {
	each_backend i2_until_apply
}
i2_until_apply() {
	some_project
	keep_tree before .
	unchanged_so_far() {
		assert_same_tree before .
	}
	meanwhile "$EVERYTHING" unchanged_so_far --hold
	assert_same_tree before .
	assert_json held state
	run_airlock apply "$RUN"
	assert_status 0
	assert_file one changed
	assert_file new/er/file new
	assert_file deep/file deep
	assert_absent src/deep
	show_changes
	assert_json applied state
}

@test "I2 a discarded run leaves no trace, not even an mtime" {
	each_backend i2_discarded
}
i2_discarded() {
	some_project
	keep_tree before .
	run_captured --discard -c "$EVERYTHING"
	assert_status 0
	assert_json discarded changes state
	assert_change one state=discarded
	assert_same_tree before .
	run_captured --hold -c "$EVERYTHING"
	run_airlock discard "$RUN"
	assert_status 0
	assert_same_tree before .
	show_changes
	assert_json discarded state
	run_airlock apply "$RUN"
	assert_status 1
	assert_same_tree before .
}

@test "I2 a run that only reads, or leaves everything as it was, leaves no trace" {
	each_backend i2_reads
}
i2_reads() {
	some_project
	keep_tree before .
	run_captured -c 'find . -type f -exec cat {} + >/dev/null; exec 7>>one; exec 7>&-; ls -lR >/dev/null'
	assert_status 0
	assert_json none changes state
	assert_json '[]' changes files
	assert_same_tree before .
}

@test "I2 killed and timed-out runs are held, and can be applied" {
	each_backend i2_killed
}
i2_killed() {
	local how
	for how in 'sleep 60' 'kill -KILL $$' 'kill -TERM $$'; do
		some_project
		keep_tree before .
		run_captured --timeout 1s -c "echo changed >one; $how"
		assert_json held changes state
		assert_change one state=held 'reason=the command *'
		assert_same_tree before .
		run_airlock apply "$RUN"
		assert_status 0
		assert_file one changed
	done
}

@test "I2 a run that fails by itself is applied like any other" {
	each_backend i2_failed
}
i2_failed() {
	run_captured -c 'echo changed >file; exit 3'
	assert_status 3
	assert_json applied changes state
	assert_change file state=applied kind=modified
	assert_file file changed
}

@test "I2 airlock killed during a run: nothing was applied" {
	each_backend i2_airlock_killed
}
i2_airlock_killed() {
	some_project
	keep_tree before .
	new_marker
	: >"$BATS_TEST_TMPDIR/out" # the word of the last backend is not meant
	"$AIRLOCK" run -c "echo changed >one; echo ready; : $MARKER; sleep 60" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	local pid=$!
	eventually grep -q ready "$BATS_TEST_TMPDIR/out"
	kill -KILL $pid
	wait $pid 2>/dev/null || true
	eventually assert_no_process "$MARKER"
	assert_same_tree before .
	run_airlock run -c true
	assert_status 0
	assert_same_tree before .
}

@test "I2 strict holds; ask holds without a terminal; direct writes at once" {
	each_backend i2_modes
}
i2_modes() {
	some_project
	keep_tree before .
	run_captured --profile strict -c 'echo changed >one'
	assert_json held changes state
	assert_same_tree before .
	run_captured --changes ask -c 'echo changed >one'
	assert_json held changes state
	assert_same_tree before .
	run_captured --changes direct -c 'echo changed >one'
	assert_json direct changes state
	assert_file one changed
}

# ---- I7

@test "I7 the report has exactly the paths whose final state differs, in order" {
	each_backend i7_exact
}
i7_exact() {
	some_project
	run_captured --hold -c 'echo changed >one; cp two tmp; rm tmp; mv two three; mv three two; echo x >>src/numbers; sed -i "\$d" src/numbers;
		touch -d "2019-05-05 05:05:05.123456789" src/numbers; chmod 600 script; chmod 755 script; mkdir a b; touch "b/ c" b/c-d b/c b/c.d;
		touch -d 2001-01-01 src/deep/file; mkdir -p a/b/c'
	assert_status 0
	assert_changes 'added a' 'added a/b' 'added a/b/c' 'added b' 'added b/ c' 'added b/c' 'added b/c-d' 'added b/c.d' \
		'modified one' 'metadata src/deep/file'
}

@test "I7 renames are reported as such, with where from" {
	each_backend i7_renames
}
i7_renames() {
	some_project
	run_captured -c 'mv one uno; mv src/deep deep; mv src/numbers deep/numbers; echo more >>deep/numbers'
	assert_json applied changes state
	assert_changes 'added deep' 'renamed deep/file' 'added deep/numbers' 'deleted src/deep' 'deleted src/numbers' 'renamed uno'
	assert_change uno from=one
	assert_change deep/file from=src/deep/file
}

@test "I7 modes, types, sizes and symlinks are reported as they are" {
	each_backend i7_attributes
}
i7_attributes() {
	some_project
	run_captured -c 'printf 12345 >five; chmod 640 five; ln -s five to; rm link; mkdir link; chmod 711 link; chmod 600 two'
	assert_json applied changes state
	assert_change five kind=added type=file size=5 mode=0640 from=null reason=null
	assert_change to kind=added type=symlink size=4
	assert_change link kind=type type=directory mode=0711
	assert_change two kind=metadata type=file size=4 mode=0600
	assert_json "$PROJECT" changes files 0 root
}

# ---- I8

@test "I8 the work after the command depends on what changed, not on the size of the project" {
	command -v strace >/dev/null || skip "needs: strace"
	each_backend i8_cost
}
# The calls about files that the host side makes, scan and apply and undo, with the same ten changes.
i8_cost() {
	local small large
	mkdir -p src
	seq 10 | (cd src && xargs touch)
	small=$(calls_of_a_run) || fail "expected that it is applied and undone"
	mkdir -p many/{1..50}
	(cd many && for d in *; do (cd "$d" && seq 100 | xargs touch); done)
	large=$(calls_of_a_run) || fail "expected that it is applied and undone"
	[ "$large" -le $((small + small / 20 + 5)) ] || fail "calls with 10 files: $small, with 5010: $large"
}
calls_of_a_run() {
	local log=$BATS_TEST_TMPDIR/calls
	strace -qq -o "$log.run" -e trace=%file,getdents64 "$AIRLOCK" run -c 'for i in $(seq 10); do date >>src/$i; done' </dev/null
	[ -s src/1 ] || return
	strace -qq -o "$log.undo" -e trace=%file,getdents64 "$AIRLOCK" undo last >"$log.out" </dev/null
	[ ! -s src/1 ] || return
	cat "$log.run" "$log.undo" | wc -l
}

# ---- what is held, dropped, skipped

@test "sensitive changes are held, the rest is applied: partial" {
	each_backend sensitive
}
sensitive() {
	some_project
	printf '{"name": "p", "scripts": {"test": "true"}}\n' >package.json
	git init -q .
	git add two
	run_captured -c 'mkdir -p .git/hooks .github/workflows .vscode
		for f in .git/hooks/pre-commit .envrc .github/workflows/x.yml .vscode/tasks.json .mcp.json CLAUDE.md .airlock.toml; do echo x >$f; done
		printf "{\"name\": \"p\", \"scripts\": {\"test\": \"rm -rf /\"}}\n" >package.json
		echo fine >one; chmod +x two; git config --file .git/config core.fsmonitor evil 2>/dev/null; true'
	assert_status 0
	assert_json partial changes state
	assert_change one state=applied reason=null
	local path
	for path in .git/hooks/pre-commit .envrc .github/workflows/x.yml .vscode/tasks.json .mcp.json CLAUDE.md .airlock.toml; do
		assert_change "$path" state=held 'reason=*sandbox*'
		assert_absent "$path"
	done
	assert_change .git/hooks/pre-commit 'reason=runs outside the sandbox: git hook'
	assert_change package.json state=held 'reason=*package script*'
	assert_change two state=held 'reason=*executable*'
	grep -q true package.json || fail "package.json was applied"
	[ ! -x two ] || fail "two was made executable"
	assert_file one fine
	run_airlock apply "$RUN" .envrc
	assert_status 0
	assert_file .envrc x
	assert_absent .git/hooks/pre-commit
	run_airlock discard "$RUN" .mcp.json
	assert_status 0
	run_airlock apply "$RUN"
	assert_status 0
	assert_file .git/hooks/pre-commit x
	assert_absent .mcp.json
	[ -x two ] || fail "two was not made executable"
	show_changes
	assert_change .mcp.json state=discarded
	assert_change .git/hooks/pre-commit state=applied
}

@test "setuid and setgid are dropped, the file applied, and the reason says so" {
	each_backend setid
}
setid() {
	run_captured -c 'cp /bin/true suid; cp /bin/true both; chmod 4755 suid; chmod 6755 both; chmod 4755 file'
	assert_status 0
	assert_change suid state=applied mode=0755 'reason=setuid bit dropped'
	assert_change both state=applied mode=0755 'reason=setuid and setgid bits dropped'
	[ "$(stat -c %a suid)" = 755 ] || fail "suid has $(stat -c %a suid)"
	[ "$(stat -c %a both)" = 755 ] || fail "both has $(stat -c %a both)"
	run_airlock apply "$RUN"
	[ -z "$(find . -perm /6000)" ] || fail "bits were applied: $(find . -perm /6000)"
}

@test "FIFOs are held, sockets and devices are skipped" {
	each_backend special
}
special() {
	run_python --json <<-'PYTHON'
		os.mkfifo("fifo")
		socket.socket(socket.AF_UNIX).bind("socket")
		open("plain", "w").write("x")
		for name, mode, device in ("null", stat.S_IFCHR, os.makedev(1, 3)), ("whiteout", stat.S_IFCHR, 0), ("block", stat.S_IFBLK, os.makedev(8, 0)):
		    try:
		        os.mknod(name, mode | 0o666, device)
		    except OSError:
		        pass
	PYTHON
	assert_status 0
	RUN=$(json_get run)
	assert_json partial changes state
	assert_change plain state=applied
	assert_change fifo state=held type=other 'reason=?*'
	assert_change socket state=skipped type=other 'reason=*socket*'
	run_airlock apply "$RUN"
	assert_status 0
	[ -p fifo ] || fail "the FIFO was not applied"
	[ -z "$(find . -type s -o -type b -o -type c)" ] || fail "applied: $(find . -type s -o -type b -o -type c)"
}
