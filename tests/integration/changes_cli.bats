#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The command line of changes, diff, apply, discard, undo and recover, what `airlock run` says about changes, and
# `--changes ask`. What the changes are and how they are applied is tested elsewhere.

load ../helpers

setup() {
	default_setup
	printf 'one\ntwo\nthree\n' >file
	printf 'kept\n' >other
}

# Without a terminal, also when the person who runs the tests has one.
run_airlock() {
	run_program setsid -w "$AIRLOCK" "$@" </dev/null
}

# hold COMMAND-LINE: runs it, keeps its changes aside; $RUN is the run
hold() {
	run_airlock run --hold -c "$1"
	assert_status 0
	find_last
}

# apply_now COMMAND-LINE: runs it and applies its changes
apply_now() {
	run_airlock run --changes apply -c "$1"
	assert_status 0
	find_last
}

find_last() {
	RUN=$("$AIRLOCK" changes last --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["run"])')
}

# at_terminal [PATTERN KEYS]... -- ARG...: airlock at a terminal; what it shows is $stdout
at_terminal() {
	local steps=()
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	TERM=xterm run_program python3 "$BATS_TEST_DIRNAME/../at_terminal.py" "${steps[@]}" -- "$AIRLOCK" "$@"
	[ "$status" -ne 99 ] || fail "the terminal is stuck"
}

# The same where only lines can be shown; the list is tested in review.bats.
at_lines() {
	NO_COLOR=1 at_terminal "$@"
}

# states: "path=state" of every file in the JSON on stdout, in one line
states() {
	python3 -c '
import json, sys
print(*(f["path"] + "=" + f["state"] for f in json.load(open(sys.argv[1]))["files"]))' "$RAW_STDOUT"
}

assert_states() {
	local found
	found=$(states)
	[ "$found" = "$1" ] || fail "expected: $1" "found: $found"
}

# ---- usage

@test "changes, diff, apply and discard need a run" {
	for name in changes diff apply discard; do
		run_airlock $name
		assert_status 2
		assert_stderr_contains "RUN is missing"
		assert_stdout ''
	done
}

@test "words and options that a command does not take are wrong usage" {
	for line in 'changes last file' 'recover now' 'changes last --force' 'diff last --force' 'discard last --yes' \
		'undo --bogus' 'recover --force' 'apply last --force=perhaps'; do
		# shellcheck disable=SC2086 # words
		run_airlock $line
		assert_status 2
	done
	run_airlock run --force -- true
	assert_status 2
}

@test "wrong usage with --json is an object" {
	for name in changes diff apply discard; do
		run_airlock $name --json
		assert_status 2
		assert_json usage error code
		assert_stderr ''
	done
}

@test "--force has no variable" {
	hold 'echo ours >>file'
	echo theirs >>file
	AIRLOCK_FORCE=1 run_airlock apply "$RUN"
	assert_status 3
	assert_file file $'one\ntwo\nthree\ntheirs'
}

# ---- which run

@test "before the first run there is none" {
	for name in changes diff apply discard; do
		run_airlock $name last
		assert_status 1
		run_airlock $name last --json
		assert_status 1
		assert_json not_found error code
	done
	run_airlock undo
	assert_status 1
	run_airlock undo --json
	assert_status 1
	assert_json not_found error code
}

@test "an unknown run is not found" {
	hold 'echo x >new'
	for name in changes diff apply discard undo; do
		run_airlock $name 19700101-000000
		assert_status 1
		assert_stderr_contains '19700101-000000'
		run_airlock $name 19700101-000000 --json
		assert_status 1
		assert_json not_found error code
		assert_stderr ''
	done
}

@test "a run that is no name of one is not found, wherever it leads" {
	hold 'echo x >new'
	for name in . .. / ../runs "$RUN/" "$XDG_STATE_HOME/airlock/runs/$RUN" '' ; do
		run_airlock changes "$name"
		assert_status 1
	done
}

@test "a run is found by its id, a beginning of it and last" {
	hold 'echo x >first'
	one=$RUN
	hold 'echo x >second'
	[ "$one" != "$RUN" ]
	run_airlock changes "$one" --json
	assert_status 0
	assert_json "$one" run
	assert_json first files 0 path
	run_airlock changes "${one%?}" --json
	assert_json "$one" run
	run_airlock changes last --json
	assert_json "$RUN" run
	assert_json second files 0 path
}

@test "a beginning that several runs share is wrong usage" {
	hold 'echo x >first'
	hold 'echo x >second'
	for name in changes diff apply discard undo; do
		run_airlock $name 20
		assert_status 2
		assert_stderr_contains '"20"'
		run_airlock $name 20 --json
		assert_status 2
		assert_json usage error code
	done
	assert_absent first
	assert_absent second
}

@test "a run that writes to the project itself has no changes to tell" {
	run_airlock run --changes direct -c 'echo x >new'
	assert_status 0
	assert_stderr ''
	assert_file new x
	run_airlock changes last
	assert_status 0
	assert_stdout_contains 'wrote straight to the project'
}

# ---- what run says

@test "run says what was applied, on stderr only" {
	run_airlock run --changes apply -c 'echo out; echo x >>file; echo y >new; rm other'
	assert_status 0
	assert_stdout out
	assert_stderr 'airlock: 3 changes applied
airlock:   M  file
airlock:   A  new
airlock:   D  other'
}

@test "one change is one change" {
	run_airlock run --changes apply -c 'echo x >new'
	[ "${stderr%%$'\n'*}" = 'airlock: 1 change applied' ] || fail "wrong first line"
}

@test "run says nothing when nothing changed, and nothing with --json" {
	run_airlock run --changes apply -c 'cat file >/dev/null'
	assert_stderr ''
	run_airlock run --changes apply --json -c 'echo x >new'
	assert_stderr ''
	assert_json applied changes state
}

@test "run exits as the command did, whatever it changed" {
	run_airlock run --changes apply -c 'echo x >new; exit 7'
	assert_status 7
	assert_stderr_contains '1 change applied'
}

@test "run names the one sensitive change that waits, and how to apply it" {
	mkdir .git/hooks
	run_airlock run --changes apply -c 'echo x >new; echo "exit 0" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit'
	assert_status 0
	find_last
	[[ $stderr == "airlock: 1 change applied, 1 held for you: airlock apply $RUN .git/hooks/pre-commit"$'\n'* ]] ||
		fail "wrong first line"
	assert_stderr_contains 'git hook'
	assert_file new x
	assert_absent .git/hooks/pre-commit
	run_airlock apply "$RUN" .git/hooks/pre-commit
	assert_status 0
	assert_file .git/hooks/pre-commit 'exit 0'
}

@test "a path that a shell would read differently is quoted, or left out" {
	run_airlock run --changes apply -c 'echo x >new; mkdir "a b"; echo "export X=1" >"a b/.envrc"'
	find_last
	assert_stderr_contains "airlock apply $RUN 'a b/.envrc'"
	run_airlock run --changes apply -c 'echo x >new2; mkdir "it'\''s"; echo "export X=1" >"it'\''s/.envrc"'
	find_last
	assert_stderr_contains "held for you: airlock apply $RUN"$'\n'
}

@test "run says what is held, and what to do next" {
	hold 'echo x >>file; echo y >new'
	[[ $stderr == "airlock: 2 changes held: airlock diff $RUN, airlock apply $RUN, airlock discard $RUN"$'\n'* ]] ||
		fail "wrong first line"
	assert_absent new
}

@test "run says what was discarded" {
	run_airlock run --discard -c 'echo y >new'
	[ "${stderr%%$'\n'*}" = 'airlock: 1 change discarded' ] || fail "wrong first line"
	assert_absent new
}

@test "the report has ten paths, and says how many more there are" {
	run_airlock run --hold -c 'touch a1 a2 a3 a4 a5 a6 a7 a8 a9 b1'
	refute_stderr_contains 'more:'
	run_airlock run --hold -c 'touch a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2 b3'
	find_last
	[ "$(grep -c '^airlock:   A' "$RAW_STDERR")" -eq 10 ] || fail "expected ten paths"
	assert_stderr_contains "airlock: … and 2 more: airlock changes $RUN"
}

@test "names that could fool a terminal are inert in every report" {
	hold 'touch "$(printf "a\033[31mred\nB  fake")"'
	refute_stderr_contains $'\033'
	assert_stderr_contains 'a\x1b[31mred\nB  fake'
	run_airlock changes last
	refute_stdout_contains $'\033'
	assert_stdout_contains 'a\x1b[31mred\nB  fake'
	[ "$(wc -l <"$RAW_STDOUT")" -eq 2 ] || fail "expected two lines"
}

@test "run tells what there is to know besides, in lines of their own" {
	echo x >"$(printf 'two\nlines')"
	ln "$(printf 'two\nlines')" twin
	run_airlock run --changes apply -c 'for f in two*; do echo y >>"$f"; done'
	assert_status 0
	assert_stderr_contains $'\nairlock: hard link split: the other names of two\\nlines keep'
}

@test "a timed-out command's changes are held, and the report says so" {
	run_airlock run --changes apply --timeout 1s -c 'echo x >new; sleep 30'
	assert_status 124
	assert_stderr_contains '1 change held: airlock diff'
	assert_stderr_contains 'timed out'
	assert_absent new
}

@test "a conflict during the run: nothing is applied, and the paths are named" {
	"$AIRLOCK" run --changes apply -c 'echo ours >>file; echo x >new; touch started; while [ ! -e /proc/1/x ] && sleep 0.1; do
		[ "$((i = i + 1))" -lt 20 ] || exit 0; done' </dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	sleep 1
	echo theirs >>file
	wait $!
	grep -q '^airlock: conflict: file (' "$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	grep -q 'nothing is applied' "$BATS_TEST_TMPDIR/err"
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
	assert_file file $'one\ntwo\nthree\ntheirs'
	assert_absent new
	run_airlock changes last --json
	assert_json held state
	assert_states 'file=conflict new=held started=held'
}

# ---- changes

@test "changes lists the paths and what became of them" {
	mkdir .git/hooks
	apply_now 'echo x >>file; mv other renamed; echo "exit 0" >.git/hooks/post-merge; chmod +x .git/hooks/post-merge'
	run_airlock changes "$RUN"
	assert_status 0
	assert_stdout_contains 'M  file'
	assert_stdout_contains 'R  other -> renamed'
	assert_stdout_contains 'A  .git/hooks/post-merge  (held: '
	[ "${stdout##*$'\n'}" = "3 changes of run $RUN: 2 applied, 1 held" ] || fail "wrong last line"
}

@test "changes of a run that changed nothing" {
	hold 'true'
	run_airlock changes "$RUN"
	assert_status 0
	assert_stdout "run $RUN changed nothing"
	run_airlock changes "$RUN" --json
	assert_status 0
	assert_json none state
	assert_json '[]' files
}

@test "changes --json has the keys of the contract" {
	hold 'echo x >>file; chmod 600 other; printf x >"$(printf "bad\377")"'
	run_airlock changes "$RUN" --json
	assert_status 0
	assert_stderr ''
	python3 - "$RAW_STDOUT" <<'END'
import base64, json, sys
result = json.load(open(sys.argv[1], encoding="utf-8"))
assert set(result) >= {"run", "state", "files"}, result
assert result["state"] == "held"
for f in result["files"]:
    assert set(f) >= {"path", "root", "kind", "type", "state", "reason", "from", "size", "mode"}, f
bad, file, other = result["files"]
assert bad["path"] == "bad\ufffd" and base64.b64decode(bad["path_base64"]) == b"bad\xff", bad
assert (file["path"], file["kind"], file["type"], file["state"]) == ("file", "modified", "file", "held"), file
assert "path_base64" not in file
assert (other["kind"], other["mode"]) == ("metadata", "0600"), other
END
}

# ---- diff

# A project with every kind of change that a patch can express.
change_a_lot() {
	printf 'old\n' >gone
	printf 'moved\nlines\nof\ntext\n' >from
	printf '#!/bin/sh\n' >tool
	mkdir sub
	printf 'a\nb\n' >'sub/with space'
	cp -a . "$BATS_TEST_TMPDIR/twin"
	hold 'sed -i s/two/2/ file; printf "new\n" >added; rm gone; printf "no newline" >>other; printf "c\n" >>"sub/with space"
		mkdir d; printf "deep\n" >d/e; mv from to; '"$1"
}

assert_twin_equal() {
	rm -rf "$BATS_TEST_TMPDIR/twin/.git"
	run_airlock apply "$RUN"
	assert_status 0
	diff -r --no-dereference --exclude=.git . "$BATS_TEST_TMPDIR/twin"
}

@test "diff in a pipe is valid for git apply" {
	change_a_lot 'chmod +x tool; ln -s file link'
	run_airlock diff "$RUN"
	assert_status 0
	refute_stdout_contains $'\033'
	rm -rf "$BATS_TEST_TMPDIR/twin/.git"
	git -C "$BATS_TEST_TMPDIR/twin" apply --verbose "$RAW_STDOUT"
	[ -x "$BATS_TEST_TMPDIR/twin/tool" ]
	[ -L "$BATS_TEST_TMPDIR/twin/link" ]
	assert_twin_equal
}

@test "diff in a pipe is valid for patch -p1" {
	change_a_lot ''
	run_airlock diff "$RUN"
	assert_status 0
	(cd "$BATS_TEST_TMPDIR/twin" && patch -s -p1 <"$RAW_STDOUT")
	assert_twin_equal
}

@test "diff of some paths, relative or absolute" {
	hold 'echo x >>file; echo y >>other; mkdir d; echo z >d/e'
	run_airlock diff "$RUN" other d
	assert_status 0
	assert_stdout_contains '+y'
	assert_stdout_contains '+z'
	refute_stdout_contains '+x'
	run_airlock diff "$RUN" "$PROJECT/file"
	assert_stdout_contains '+x'
	refute_stdout_contains '+y'
	run_airlock diff "$RUN" nowhere
	assert_status 1
	assert_stderr_contains nowhere
}

@test "diff --json has the text in an object" {
	hold 'echo x >>file; printf "\377bytes\t\"\\\n" >new'
	run_airlock diff "$RUN" --json
	assert_status 0
	assert_json "$RUN" run
	json_get diff >"$BATS_TEST_TMPDIR/diff"
	grep -qxF -- '+x' "$BATS_TEST_TMPDIR/diff"
	run_airlock diff "$RUN" nowhere --json
	assert_status 1
	assert_json not_found error code
}

# A pager that leaves a mark.
make_pager() {
	mkdir -p "$1"
	printf '#!/bin/sh\necho "$0 $*" >%q\ncat\n' "$BATS_TEST_TMPDIR/paged" >"$1/mypager"
	chmod +x "$1/mypager"
}

long_change() {
	hold 'seq 1 100 >long'
}

@test "diff uses no pager in a pipe, and no colours" {
	make_pager "$HOME/bin"
	long_change
	PAGER=$HOME/bin/mypager run_airlock diff "$RUN"
	assert_status 0
	assert_absent "$BATS_TEST_TMPDIR/paged"
	refute_stdout_contains $'\033'
}

@test "diff on a terminal: the pager for what is long, and only for that" {
	make_pager "$HOME/bin"
	long_change
	PATH=$HOME/bin:$PATH PAGER='mypager -x  y' at_terminal -- diff "$RUN"
	assert_status 0
	assert_file "$BATS_TEST_TMPDIR/paged" "$HOME/bin/mypager -x y"
	assert_stdout_contains +100
	rm "$BATS_TEST_TMPDIR/paged"
	LINES=200 PATH=$HOME/bin:$PATH PAGER=mypager at_terminal -- diff "$RUN"
	assert_status 0
	assert_absent "$BATS_TEST_TMPDIR/paged"
	assert_stdout_contains +100
}

@test "diff on a terminal: less is the default, and q leaves it" {
	command -v less >/dev/null || skip "needs: less"
	long_change
	unset PAGER LESS
	at_terminal ':' q -- diff "$RUN"
	assert_status 0
	refute_stdout_contains +100
}

@test "diff never takes the pager from the project or the current directory" {
	make_pager "$PROJECT/bin"
	make_pager "$HOME/elsewhere"
	long_change
	for path in "$PROJECT/bin" bin . '' ; do
		PATH=$path:/usr/bin:/bin PAGER=mypager at_terminal -- diff "$RUN"
		assert_status 0
		assert_stdout_contains +100
		assert_absent "$BATS_TEST_TMPDIR/paged"
	done
	for pager in "$PROJECT/bin/mypager" bin/mypager ./bin/mypager; do
		PAGER=$pager at_terminal -- diff "$RUN"
		assert_absent "$BATS_TEST_TMPDIR/paged"
	done
	ln -s "$PROJECT/bin" "$HOME/link"
	PATH=$HOME/link:/usr/bin:/bin PAGER=mypager at_terminal -- diff "$RUN"
	assert_absent "$BATS_TEST_TMPDIR/paged"
	cd "$HOME/elsewhere"
	PAGER=$HOME/elsewhere/mypager at_terminal -- diff "$RUN"
	assert_absent "$BATS_TEST_TMPDIR/paged"
	cd /
	PAGER=$HOME/elsewhere/mypager at_terminal -- diff "$RUN"
	[ -s "$BATS_TEST_TMPDIR/paged" ]
}

@test "diff on a terminal is coloured unless NO_COLOR, and inert in any case" {
	hold 'printf "evil\033]0;title\007\n" >new'
	at_terminal -- diff "$RUN"
	assert_stdout_contains $'\033['
	refute_stdout_contains $'\033]0'
	NO_COLOR=1 at_terminal -- diff "$RUN"
	refute_stdout_contains $'\033'
	assert_stdout_contains '+evil\x1b]0;title'
}

# ---- apply

@test "apply makes everything that is held, and says so" {
	hold 'echo x >>file; mkdir d; echo y >d/e; rm other'
	run_airlock apply "$RUN"
	assert_status 0
	assert_stderr ''
	assert_stdout_contains 'M  file'
	[ "${stdout##*$'\n'}" = "applied 4 changes of run $RUN" ] || fail "wrong last line"
	assert_file file $'one\ntwo\nthree\nx'
	assert_file d/e y
	assert_absent other
	run_airlock apply "$RUN"
	assert_status 1
	assert_stdout 'nothing to apply'
}

@test "apply --json prints the changes afterwards, also when there was nothing to do" {
	hold 'echo x >>file; echo y >new'
	run_airlock apply "$RUN" new --json
	assert_status 0
	assert_stderr ''
	assert_json "$RUN" run
	assert_json partial state
	assert_states 'file=held new=applied'
	run_airlock apply last --json
	assert_status 0
	assert_json applied state
	run_airlock apply last --json
	assert_status 1
	assert_json applied state
	assert_states 'file=applied new=applied'
}

@test "apply of some paths takes what they need and nothing else" {
	hold 'echo x >>file; mkdir -p d/e; echo y >d/e/f; echo z >d/g; rm other'
	run_airlock apply "$RUN" d/e/f
	assert_status 0
	assert_file d/e/f y
	assert_absent d/g
	[ -e other ]
	run_airlock apply "$RUN" "$PROJECT/other" -- file
	assert_status 0
	assert_absent other
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent d/g
	run_airlock changes "$RUN"
	assert_stdout_contains '1 held'
}

@test "apply of a path that did not change is not found, and nothing is applied" {
	hold 'echo x >>file'
	run_airlock apply "$RUN" file nowhere
	assert_status 1
	assert_file file $'one\ntwo\nthree'
	run_airlock apply "$RUN" nowhere --json
	assert_status 1
	assert_json not_found error code
}

@test "apply without a terminal lists sensitive changes and goes on" {
	mkdir .git/hooks
	hold 'echo x >new; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	run_airlock apply "$RUN"
	assert_status 0
	assert_stderr_contains 'airlock: sensitive'
	assert_stderr_contains 'airlock:   .git/hooks/pre-push'
	refute_stderr_contains '  new'
	assert_file .git/hooks/pre-push 'exit 0'
	assert_file new x
}

hold_a_hook() {
	mkdir -p .git/hooks
	hold 'echo x >new; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
}

@test "apply on a terminal asks about sensitive changes: a applies" {
	hold_a_hook
	at_terminal '\[A\]pply  \[N\]o: $' a -- apply "$RUN"
	assert_status 0
	assert_stdout_contains '.git/hooks/pre-push'
	assert_file .git/hooks/pre-push 'exit 0'
	assert_file new x
}

@test "apply on a terminal asks about sensitive changes: everything else applies nothing" {
	hold_a_hook
	for keys in '\r' n '\x03' '\x04' q; do
		at_terminal '\[A\]pply  \[N\]o: $' "$keys" -- apply "$RUN"
		assert_status 125
		assert_absent .git/hooks/pre-push
		assert_absent new
	done
}

@test "apply on a terminal does not ask when nothing is sensitive, or with --yes" {
	hold 'echo x >new'
	at_terminal -- apply "$RUN"
	assert_status 0
	assert_file new x
	hold_a_hook
	at_terminal -- apply "$RUN" -y
	assert_status 0
	assert_file .git/hooks/pre-push 'exit 0'
}

# ---- conflicts

@test "apply of a path that somebody changed is a conflict, and nothing is applied" {
	hold 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock apply "$RUN"
	assert_status 3
	assert_stdout ''
	assert_stderr_contains file
	assert_file file $'one\ntwo\nthree\ntheirs'
	assert_absent new
	run_airlock apply "$RUN" file new --json
	assert_status 3
	assert_json conflict error code
	assert_stderr ''
	assert_absent new
	run_airlock changes "$RUN" --json
	assert_states 'file=conflict new=held'
	run_airlock changes "$RUN"
	assert_stdout_contains 'file  (conflict: '
	assert_stdout_contains '1 held, 1 in conflict'
}

@test "after a conflict the other paths can be applied" {
	hold 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock apply "$RUN"
	assert_status 3
	run_airlock apply "$RUN" new
	assert_status 0
	assert_file new x
	assert_file file $'one\ntwo\nthree\ntheirs'
	run_airlock apply "$RUN" file
	assert_status 3
}

@test "apply --force takes ours, and undo brings theirs back" {
	hold 'echo ours >>file'
	echo theirs >>file
	run_airlock apply "$RUN" --force
	assert_status 0
	assert_file file $'one\ntwo\nthree\nours'
	run_airlock undo
	assert_status 0
	assert_file file $'one\ntwo\nthree\ntheirs'
}

# ---- discard

@test "discard throws away what is held, all or some" {
	hold 'echo x >>file; echo y >new; mkdir d; echo z >d/e'
	run_airlock discard "$RUN" d
	assert_status 0
	[ "${stdout##*$'\n'}" = "discarded 2 changes of run $RUN" ] || fail "wrong last line"
	run_airlock discard "$RUN" new --json
	assert_status 0
	assert_states 'd=discarded d/e=discarded file=held new=discarded'
	run_airlock apply "$RUN"
	assert_status 0
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent new
	assert_absent d
	run_airlock discard "$RUN"
	assert_status 1
	assert_stdout 'nothing to discard'
	run_airlock discard "$RUN" nowhere
	assert_status 1
	assert_stderr_contains nowhere
}

# ---- undo

@test "undo without a run takes back the last one that was applied here" {
	apply_now 'echo 1 >first'
	one=$RUN
	apply_now 'echo 2 >second'
	hold 'echo 3 >third'
	make_project "$HOME/elsewhere"
	apply_now 'echo 4 >fourth'
	cd "$HOME/project"
	run_airlock undo
	assert_status 0
	assert_absent second
	assert_file first 1
	assert_file "$HOME/elsewhere/fourth" 4
	run_airlock undo
	assert_status 0
	[ "${stdout##*$'\n'}" = "undid 1 change of run $one" ] || fail "wrong last line"
	assert_absent first
	run_airlock undo
	assert_status 1
	run_airlock undo --project "$HOME/elsewhere"
	assert_status 0
	assert_absent "$HOME/elsewhere/fourth"
}

@test "undo of a run, and again" {
	apply_now 'echo x >>file; rm other'
	run_airlock undo "$RUN"
	assert_status 0
	[ "${stdout##*$'\n'}" = "undid 2 changes of run $RUN" ] || fail "wrong last line"
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
	run_airlock undo "$RUN" --json
	assert_status 0
	assert_json applied state
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent other
	run_airlock undo last
	assert_status 0
	run_airlock undo last
	[ "${stdout##*$'\n'}" = "applied again 2 changes of run $RUN" ] || fail "wrong last line"
}

@test "undo of an undone run brings back what was undone, not what was only held" {
	mkdir .git/hooks
	apply_now 'echo x >>file; echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	run_airlock undo
	assert_status 0
	run_airlock undo "$RUN"
	assert_status 0
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent .git/hooks/pre-push
}

@test "undo of some paths, with and without a run" {
	apply_now 'echo x >>file; rm other; echo y >new'
	run_airlock undo other
	assert_status 0
	assert_file other kept
	assert_file new y
	run_airlock undo last new
	assert_status 0
	assert_absent new
	assert_file file $'one\ntwo\nthree\nx'
	run_airlock undo "$RUN" "$PROJECT/file"
	assert_status 0
	assert_file file $'one\ntwo\nthree'
}

@test "undo: what looks like a run is one, unless it comes after --" {
	apply_now 'echo x >2026; echo y >2026-notes.txt; echo z >20x'
	run_airlock undo -- 2026
	assert_status 0
	assert_absent 2026
	run_airlock undo 2026-notes.txt
	assert_status 0
	assert_absent 2026-notes.txt
	run_airlock undo 20x
	assert_status 0
	assert_absent 20x
	run_airlock undo 1999
	assert_status 1
	assert_stderr_contains 'airlock undo -- PATH'
}

@test "undo of a run that is only held has nothing to do" {
	hold 'echo x >new'
	run_airlock undo "$RUN"
	assert_status 1
	assert_stdout 'nothing to undo'
	run_airlock undo "$RUN" --json
	assert_status 1
	assert_json held state
}

@test "undo where somebody changed the file since is a conflict, unless forced" {
	apply_now 'echo ours >>file; echo x >new'
	echo theirs >>file
	run_airlock undo
	assert_status 3
	assert_file file $'one\ntwo\nthree\nours\ntheirs'
	assert_file new x
	run_airlock undo --json
	assert_status 3
	assert_json conflict error code
	run_airlock undo --force
	assert_status 0
	assert_file file $'one\ntwo\nthree'
	assert_absent new
}

# ---- recover

@test "recover with nothing to recover" {
	run_airlock recover
	assert_status 1
	assert_stdout 'nothing to recover'
	run_airlock recover --json
	assert_status 1
	assert_json 0 recovered
	assert_json '[]' notes
}

# ---- ask

MENU='\[a\]pply all  \[c\]hoose  \[d\]iscard  \[h\]old  d\[i\]ff: $'
EACH='\[y\]es  \[n\]o  \[d\]iff  \[q\]uit: $'

@test "ask without a terminal holds" {
	run_airlock run --changes ask -c 'echo x >new'
	assert_status 0
	assert_stderr_contains '1 change held: airlock diff'
	assert_absent new
}

@test "ask: the list, and a applies all; the command's status stays" {
	at_lines "$MENU" a -- run --changes ask -c 'echo x >new; rm other; exit 5'
	assert_status 5
	assert_stdout_contains '2 changes, not applied yet:'
	assert_stdout_contains 'D  other'
	assert_stdout_contains '2 changes applied'
	assert_file new x
	assert_absent other
}

@test "ask: h, Enter, Ctrl-C and the end of input hold" {
	for keys in h '\r' '\x03' '\x04'; do
		at_lines "$MENU" "$keys" -- run --changes ask -c 'echo x >new'
		assert_status 0
		assert_stdout_contains '1 change held: airlock review 20'
		assert_absent new
	done
}

@test "ask: keys that mean nothing, and pasted text, decide nothing" {
	at_lines "$MENU" x '' aaaa '' h -- run --changes ask -c 'echo x >new'
	assert_stdout_contains '1 change held'
	assert_absent new
}

@test "ask: d discards" {
	at_lines "$MENU" d -- run --changes ask -c 'echo x >new'
	assert_stdout_contains '1 change discarded'
	assert_absent new
	run_airlock apply last
	assert_status 1
}

@test "ask: i shows the diff and asks again" {
	at_lines "$MENU" i "$MENU" a -- run --changes ask -c 'echo x >>file'
	assert_status 0
	assert_stdout_contains '+x'
	assert_file file $'one\ntwo\nthree\nx'
}

@test "ask: a asks once more about sensitive changes" {
	mkdir .git/hooks
	at_lines "$MENU" a '\[A\]pply  \[N\]o: $' n "$MENU" a '\[A\]pply  \[N\]o: $' a -- \
		run --changes ask -c 'echo "exit 0" >.git/hooks/pre-push; chmod +x .git/hooks/pre-push'
	assert_status 0
	assert_file .git/hooks/pre-push 'exit 0'
}

@test "ask: choose applies what was chosen, the rest is held" {
	at_lines "$MENU" c "$EACH" y "$EACH" d "$EACH" n "$EACH" y -- \
		run --changes ask -c 'echo x >>file; echo y >new; rm other'
	assert_status 0
	assert_stdout_contains '+y'
	assert_file file $'one\ntwo\nthree\nx'
	assert_absent new
	assert_absent other
	assert_stdout_contains '2 changes applied, 1 held for you'
}

@test "ask: choose, in directories" {
	at_lines "$MENU" c "added d/x" y "added d/y" n "added e/x" y "added e/y" y "modified file" q -- \
		run --changes ask -c 'mkdir d e; touch d/x d/y e/x e/y; echo x >>file; rm other'
	assert_status 0
	[ -e d/x ]
	assert_absent d/y
	[ -e e/x ]
	[ -e e/y ]
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
}

@test "ask: a directory that was removed goes when all in it was chosen" {
	mkdir d
	touch d/x d/y
	at_lines "$MENU" c "deleted" y "deleted" y -- run --changes ask -c 'rm -r d'
	assert_status 0
	assert_absent d
}

@test "ask: Ctrl-C while choosing applies nothing" {
	at_lines "$MENU" c "$EACH" y "$EACH" '\x03' -- run --changes ask -c 'echo x >new; rm other'
	assert_status 0
	assert_absent new
	assert_file other kept
	assert_stdout_contains '2 changes held'
}

@test "ask: the mode may come from the configuration" {
	write_config '[profiles.moderate]' 'changes = "ask"'
	at_lines "$MENU" a -- run -c 'echo x >new'
	assert_status 0
	assert_file new x
	AIRLOCK_CHANGES=hold at_lines -- run -c 'echo y >new2'
	assert_absent new2
}

@test "ask: nothing is asked when nothing changed, when the command was killed, or with --json" {
	at_lines -- run --changes ask -c 'true'
	assert_status 0
	at_lines -- run --changes ask --timeout 1s -c 'echo x >new; sleep 20'
	assert_status 124
	at_lines -- run --changes ask --json -c 'echo x >new'
	assert_status 0
	assert_stdout_contains '"held"'
}

@test "ask: standard output has only the command's" {
	NO_COLOR=1 TERM=xterm run_program python3 "$BATS_TEST_DIRNAME/../at_terminal.py" "$MENU" i "$MENU" a -- \
		sh -c "'$AIRLOCK' run --changes ask -c 'echo out; echo x >new' >'$BATS_TEST_TMPDIR/out'"
	assert_status 0
	assert_file "$BATS_TEST_TMPDIR/out" out
	assert_file new x
}

# ---- progress

@test "progress: a line on the terminal where nothing else is seen, and only there" {
	at_terminal -- run --json -c 'sleep 2.5'
	assert_status 0
	assert_stdout_contains 'airlock: 1 s'
	assert_stdout_contains 'airlock: 2 s'
	at_terminal -- run -c 'sleep 2.5'
	refute_stdout_contains 'airlock: 1 s'
	run_airlock run --json -c 'sleep 1.5'
	assert_stderr ''
}

@test "progress: applying that takes long says so, on a terminal and only there" {
	hold 'echo x >new'
	"$AIRLOCK" apply last >/dev/null # makes the lock
	"$AIRLOCK" undo >/dev/null
	exec 7<>"$(find "$XDG_STATE_HOME/airlock/locks" -type f)"
	flock -x 7
	at_terminal 'airlock: applying, 1 s.*airlock: applying, 2 s' '' -- apply last
	assert_stdout_contains 'another airlock is applying'
	run_airlock apply last
	refute_stderr_contains 'applying, 1 s'
	exec 7>&-
	at_terminal -- apply last
	assert_status 0
	refute_stdout_contains ' s'
}
