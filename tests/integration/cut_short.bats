#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Runs that were cut short: airlock was killed with SIGKILL while the command ran. What the command changed is found and held.

load ../helpers
load ../changes

setup() {
	default_setup
	printf 'one\ntwo\nthree\n' >file
	printf 'kept\n' >other
	STATE=$HOME/.local/state/airlock
}

# cut_short OPTION... COMMAND-LINE: kills airlock once the command has said "up"
cut_short() {
	local line=${*: -1} out=$BATS_TEST_TMPDIR/up
	rm -f "$out"
	"$AIRLOCK" run "${@:1:$#-1}" -c "$line; echo up; sleep 60" >"$out" 2>/dev/null </dev/null &
	local pid=$!
	until [ -s "$out" ]; do sleep 0.01; done
	kill -KILL "$pid"
	wait "$pid" || true
}

is_held() {
	cut_short 'echo new >new; echo four >>file; rm other; mkdir d; echo x >d/x'
	run_airlock log --json
	[ "$(json '[(r["status"], r["changes"]["state"], r["changes"]["count"]) for r in d["runs"]][0]')" = "('error', 'held', 5)" ]
	run_airlock changes last --json
	assert_states 'd=held d/x=held file=held new=held other=held'
	[ "$(json '{f["reason_code"] for f in d["files"]}')" = "{'interrupted'}" ]
	run_airlock show last
	assert_stdout_contains 'airlock was ended before the run was over'
	assert_stdout_contains 'echo four >>file'
	run_airlock diff last new
	assert_stdout_contains '+new'
	assert_file file $'one\ntwo\nthree'
	run_airlock apply last --yes
	assert_status 0
	assert_file file $'one\ntwo\nthree\nfour'
	assert_file d/x x
	[ ! -e other ] || fail "it is still there"
	run_airlock undo
	assert_status 0
	assert_file file $'one\ntwo\nthree'
	[ -z "$(ls "$STATE/begun")" ] || fail "the record of the beginning is left"
}

@test "what the command of a killed airlock changed is held" {
	each_backend is_held
}

@test "it can be discarded, and a run that changed nothing holds nothing" {
	cut_short 'echo new >new'
	run_airlock discard last
	assert_status 0
	run_airlock changes last --json
	assert_states 'new=discarded'
	cut_short true
	run_airlock log --json
	[ "$(json 'd["runs"][0]["status"], d["runs"][0]["changes"]["state"]')" = "('error', 'none')" ]
	run_airlock log --verify
	assert_status 0
}

@test "nothing is found of a run that throws its changes away, and its layer goes" {
	cut_short --discard 'echo new >new'
	id=$(cd "$STATE/runs" && echo *)
	run_airlock changes "$id"
	assert_status 1
	run_airlock gc
	[ ! -e "$STATE/runs/$id/upper" ] || fail "the layer is left"
}

@test "gc keeps what was cut short, looked at or not" {
	cut_short 'echo new >new'
	run_airlock gc --json
	assert_json '[]' layers
	run_airlock changes last --json
	assert_states 'new=held'
	run_airlock gc
	run_airlock apply last --yes
	assert_status 0
	assert_file new new
}

@test "airlock recover tells of it once" {
	cut_short 'echo new >new'
	run_airlock recover
	assert_status 0
	assert_stdout_contains 'was cut short, because airlock was killed: its changes are held'
	run_airlock recover
	assert_stdout 'nothing to recover'
}

# A writer that does not heed the end of its airlock: what is found is what is there once it is dead.
ends_the_writers() {
	cut_short 'for i in 1 2 3 4 5 6 7 8; do (trap "" TERM HUP; while :; do echo x >>many.$i; done) & done; sleep 0.05'
	run_airlock changes last --json
	assert_status 0
	id=$(json 'd["run"]')
	sizes=$(cd "$STATE/runs/$id/upper/overlay1" && stat -c '%n %s' many.*)
	sleep 0.05
	[ "$sizes" = "$(cd "$STATE/runs/$id/upper/overlay1" && stat -c '%n %s' many.*)" ] || fail "somebody writes still"
	[ "$sizes" = "$(json '"\n".join("%s %d" % (f["path"], f["size"]) for f in d["files"])')" ] || fail "found before they had ended"
}

@test "the layer is looked at when nobody can write to it any more" {
	each_backend ends_the_writers
}

@test "somebody's edit since then is a conflict" {
	cut_short 'echo four >>file'
	echo mine >>file
	run_airlock apply last --yes
	assert_status 3
	assert_file file $'one\ntwo\nthree\nmine'
}

@test "a run that goes on is not taken for one that was cut short" {
	"$AIRLOCK" run -c 'echo new >new; echo up; sleep 1; echo more >>new' >"$BATS_TEST_TMPDIR/out" 2>/dev/null &
	pid=$!
	until [ -s "$BATS_TEST_TMPDIR/out" ]; do sleep 0.01; done
	run_airlock log --json
	[ "$(json 'd["runs"][0]["status"]')" = running ]
	wait "$pid"
	assert_file new $'new\nmore'
}

in_a_session() {
	local name=with-$AIRLOCK_BACKEND
	run_airlock run --session "$name" --hold -c 'echo 1 >one; echo more >>file'
	assert_status 0
	cut_short --session "$name" 'echo 2 >two; echo more >>one; rm file'
	run_airlock run --session "$name" -c 'cat one two; test ! -e file && echo gone; echo 3 >three'
	assert_stdout $'1\nmore\n2\ngone'
	assert_stderr_contains 'was cut short'
	run_airlock session show "$name" --json
	[ "$(json '[(s["step"], s["exit_code"], s["count"]) for s in d["steps"]]')" = "[(1, 0, 2), (2, 137, 3), (3, 0, 1)]" ]
	run_airlock changes "$name" --json
	assert_states 'file=held one=held three=held two=held'
	run_airlock session rewind "$name" 1
	run_airlock changes "$name" --json
	assert_states 'file=held one=held'
}

@test "in a session it is a step, and the next command sees it" {
	each_backend in_a_session
}

@test "a look at the session, or at the log, finds the step, too" {
	run_airlock session new s --changes hold
	cut_short --session s 'echo 1 >one'
	run_airlock changes s --json
	assert_states 'one=held'
	cut_short --session s 'echo 2 >two'
	run_airlock log --json
	[ "$(json '[(r["session"], r["changes"]["state"]) for r in d["runs"]]')" = "[('s', 'held'), ('s', 'held')]" ]
	run_airlock session rewind s
	assert_status 0
	run_airlock changes s --json
	assert_states 'one=held'
}

@test "cut short while the session went back, or another command changed the same: it stands apart" {
	run_airlock run --session s --hold -c 'echo 1 >one'
	"$AIRLOCK" run --session s -c 'echo 2 >two; echo mine >same; echo up; sleep 60' >"$BATS_TEST_TMPDIR/out" 2>/dev/null &
	pid=$!
	until [ -s "$BATS_TEST_TMPDIR/out" ]; do sleep 0.01; done
	run_airlock run --session s -c 'echo theirs >same'
	kill -KILL "$pid"
	wait "$pid" || true
	run_airlock changes s --json
	assert_states 'one=held same=held'
	run_airlock log --json
	id=$(json '[r["run"] for r in d["runs"] if "mine" in r["command"]][0]')
	run_airlock changes "$id" --json
	assert_states 'same=conflict two=held'
}

@test "a session that applies its changes holds those of a command that was cut short" {
	run_airlock session new s --changes apply
	cut_short --session s 'echo 1 >one'
	[ ! -e one ] || fail "it is applied"
	run_airlock apply last --yes
	assert_status 0
	assert_file one 1
}

@test "with roots besides the project, and a project whose path needs care" {
	mkdir -p "$HOME/more" "$HOME/a b:c,d%25"
	cd "$HOME/a b:c,d%25"
	touch .airlock.toml
	cut_short --allow-write "$HOME/more" --yes 'echo 1 >one; echo 2 >"$HOME/more/two"'
	run_airlock apply last --yes
	assert_status 0
	assert_file one 1
	assert_file "$HOME/more/two" 2
}

@test "a record of the beginning that is damaged is no run" {
	cut_short 'echo new >new'
	id=$(cd "$STATE/begun" && echo *)
	sed -i 's/^root /root x/' "$STATE/begun/$id"
	run_airlock log
	assert_status 0
	run_airlock changes "$id"
	assert_status 1
	assert_stderr_contains 'airlock ended before it could record them'
}

@test "the record of a run that is over is used again, unless somebody has it" {
	run_airlock run -c 'echo a >a'
	local inode
	inode=$(stat -c %i "$STATE/begun/.spare")
	"$AIRLOCK" run -c 'echo up; sleep 60' >up 2>/dev/null </dev/null &
	local pid=$!
	until [ -s up ]; do sleep 0.01; done
	[ "$(stat -c %i "$STATE"/begun/2*)" = "$inode" ] || fail "it was not used again"
	run_airlock run -c 'echo b >b' # at the same time: one of its own
	assert_status 0
	kill -KILL "$pid"
	wait "$pid" || true
	run_airlock run -c 'echo c >c' # does not take the record of the one that was killed
	assert_status 0
	run_airlock log --json
	[ "$(json 'sorted(r["status"] for r in d["runs"])')" = "['error', 'exited', 'exited', 'exited']" ]
	exec 9<"$STATE/begun/.spare"
	flock 9
	run_airlock run -c 'echo d >d'
	assert_status 0
	exec 9<&-
	[ -z "$(ls "$STATE/begun")" ] || fail "the record of a beginning is left"
	assert_file d d
}
