#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Sessions: commands that see one another, decided about together.

load ../helpers
load ../changes

# step COMMAND-LINE [OPTION...]: a command of session s
step() {
	local line=$1
	shift
	run_airlock run --session s --json "$@" -c "$line"
	assert_status 0
}

# new_session [NAME]: one that holds its changes
new_session() {
	run_airlock session new "${1:-s}" --changes hold
	assert_status 0
	assert_stdout "${1:-s}"
}

# ---- steps

sees_earlier_commands() {
	local name=with-$AIRLOCK_BACKEND
	new_session "$name"
	run_airlock run --session "$name" -c 'echo new >new; mkdir d; echo x >d/x; echo more >>file; rm other'
	assert_status 0
	run_airlock run --session "$name" -c 'cat new d/x; tail -1 file; test ! -e other && echo gone; rm -r d'
	assert_status 0
	assert_stdout $'new\nx\nmore\ngone'
	run_airlock run --session "$name" -c 'ls'
	assert_stdout $'file\nnew'
	assert_file file $'one\ntwo\nthree'
	[ ! -e new ] || fail "the project has what is held"
	run_airlock changes "$name" --json
	assert_states 'file=held new=held other=held'
}

@test "a command sees what the commands before it did, and the project does not" {
	each_backend sees_earlier_commands
}

@test "the result names the session and the step" {
	new_session
	step 'echo 1 >a'
	assert_json s session
	assert_json 1 step
	assert_json 0 background
	step 'true'
	assert_json null step
	step 'echo 2 >b'
	assert_json 2 step
	run_airlock run --json -- true
	assert_json null session
}

@test "a session is made for the first command that names it" {
	run_airlock run --session made --hold -c 'echo x >x'
	assert_status 0
	run_airlock session list --json
	assert_status 0
	assert_json made sessions 0 session
	assert_json open sessions 0 state
	assert_json 1 sessions 0 steps
	assert_json 1 sessions 0 held
}

@test "AIRLOCK_SESSION names it, too" {
	export AIRLOCK_SESSION=env
	run_airlock run --hold -c 'echo x >x'
	assert_status 0
	run_airlock run -c 'cat x'
	assert_stdout x
}

shares_tmp() {
	local name=tmp-$AIRLOCK_BACKEND
	new_session "$name"
	run_airlock run --session "$name" -c 'echo x >/tmp/shared; stat -c %a /tmp; touch "$HOME/playground/p" /dev/shm/own'
	assert_status 0
	assert_stdout 1777
	run_airlock run --session "$name" -c 'cat /tmp/shared; ls "$HOME/playground"; ls /dev/shm'
	assert_stdout $'x\np'
	[ ! -e /tmp/shared ] || fail "it is the machine's own /tmp"
	run_airlock run -c 'test ! -e /tmp/shared && echo none'
	assert_stdout none
	run_airlock session show "$name" --json
	[ "$("$JSON_GET" "$RAW_STDOUT" get tmp_bytes)" -gt 0 ] || fail "nothing was counted"
	run_airlock session end "$name"
	run_airlock run --session "$name" -c 'ls /tmp'
	assert_stdout ''
}

@test "the commands of a session have one /tmp, and nobody else has it" {
	each_backend shares_tmp
}

# ---- deciding

@test "a session is applied and undone as one" {
	new_session
	step 'echo 1 >a; echo more >>file'
	step 'echo 2 >>a; mkdir d; echo x >d/x'
	step 'rm other; mv d e'
	run_airlock apply s --json
	assert_status 0
	assert_file a $'1\n2'
	assert_file e/x x
	[ ! -e other ] && [ ! -e d ] || fail "what was removed is there"
	run_airlock undo s
	assert_status 0
	assert_file file $'one\ntwo\nthree'
	assert_file other kept
	[ ! -e a ] && [ ! -e e ] || fail "what was applied is still there"
	run_airlock undo s
	assert_status 0
	assert_file a $'1\n2'
}

@test "what comes to nothing is no change" {
	new_session
	step 'echo x >x; mkdir d; echo y >d/y'
	step 'rm -r x d'
	run_airlock changes s --json
	assert_status 0
	assert_states ''
}

@test "apply and discard take paths, and the next command sees what is left" {
	new_session
	step 'echo a >a; echo b >b; echo c >>file'
	run_airlock apply s a
	assert_status 0
	assert_file a a
	[ ! -e b ] || fail "b was applied"
	run_airlock discard s file
	assert_status 0
	step 'cat a b; cat file'
	assert_json $'a\nb\none\ntwo\nthree' stdout
	echo later >>file
	step 'tail -1 file'
	assert_json later stdout
	run_airlock apply s
	assert_status 0
	assert_file b b
	assert_file file $'one\ntwo\nthree\nlater'
}

@test "what somebody else changed since the session first touched it is a conflict, by path" {
	new_session
	echo early >>other
	step 'echo ours >>file'
	echo theirs >>file
	echo later >>other
	step 'echo ours >>other; cat file'
	assert_json $'one\ntwo\nthree\nours' stdout
	run_airlock apply s
	assert_status 3
	assert_stderr_contains file
	assert_file file $'one\ntwo\nthree\ntheirs'
	assert_file other $'kept\nearly\nlater'
	run_airlock apply s other
	assert_status 0
	assert_file other $'kept\nearly\nlater\nours'
}

@test "apply --merge merges texts where both changed other places, and nothing where not" {
	seq 9 >lines
	new_session
	step 'sed -i s/2/two/ lines; echo new >new'
	sed -i s/8/eight/ lines
	run_airlock apply s
	assert_status 3
	run_airlock apply s --merge
	assert_status 0
	assert_file lines $'1\ntwo\n3\n4\n5\n6\n7\neight\n9'
	assert_file new new
	run_airlock undo s
	assert_status 0
	assert_file lines $'1\n2\n3\n4\n5\n6\n7\neight\n9'
	step 'sed -i s/two/zwei/ lines'
	sed -i s/2/deux/ lines
	run_airlock apply s --merge
	assert_status 3
	assert_file lines $'1\ndeux\n3\n4\n5\n6\n7\neight\n9'
	[ ! -e new ] || fail "a part was applied"
}

@test "a step is decided about with its session" {
	new_session
	step 'echo x >x'
	run_airlock changes last --json
	assert_states 'x=held'
	run=$("$JSON_GET" "$RAW_STDOUT" get run)
	for name in apply discard undo; do
		run_airlock $name "$run"
		[ "$status" -ne 0 ] || fail "$name took a step"
		assert_stderr_contains 'session s'
	done
	run_airlock diff "$run"
	assert_status 0
	assert_stdout_contains '+x'
}

@test "review without RUN goes through the session that the last held command belongs to" {
	new_session
	step 'echo x >x'
	step 'echo y >y'
	at_lines 'ff:' a -- review
	assert_status 0
	assert_file x x
	assert_file y y
	run_airlock session show s --json
	assert_json applied changes state
}

@test "sensitive changes of a session wait for a person when it is applied" {
	new_session
	step 'mkdir -p .github/workflows; echo "on: push" >.github/workflows/ci.yml'
	run_airlock changes s
	assert_stdout_contains 'runs outside the sandbox'
	at_lines 'Apply them too' n -- apply s
	[ ! -e .github ] || fail "it was applied without a yes"
	run_airlock apply s --yes
	assert_status 0
	assert_file .github/workflows/ci.yml 'on: push'
}

# ---- back, and in two directions

@test "rewind drops steps" {
	new_session
	step 'echo 1 >a'
	step 'echo 2 >a; echo b >b'
	step 'rm a'
	run_airlock session rewind s
	assert_status 0
	step 'cat a b'
	assert_json $'2\nb' stdout
	run_airlock session rewind s 1
	assert_status 0
	step 'cat a; ls'
	assert_json $'1\na\nfile\nother' stdout
	step 'echo again >c'
	assert_json 2 step
	run_airlock session rewind s 0
	assert_status 0
	step 'ls'
	assert_json $'file\nother' stdout
	run_airlock session rewind s 7
	assert_status 1
	run_airlock session rewind s word
	assert_status 2
}

@test "rewind does not take back what was applied" {
	new_session
	step 'echo 1 >a'
	run_airlock apply s
	assert_status 0
	run_airlock session rewind s 0
	assert_status 3
	assert_stderr_contains 'airlock undo s'
	assert_file a 1
}

@test "fork goes on from there, and the two do not see each other" {
	new_session
	step 'echo 1 >a'
	run_airlock session fork s t
	assert_status 0
	run_airlock run --session t -c 'cat a; echo t >t; echo 2 >>a'
	assert_stdout 1
	step 'cat a; ls'
	assert_json $'1\na\nfile\nother' stdout
	run_airlock session fork s t
	assert_status 3
	run_airlock apply s
	assert_status 0
	echo edited >>a
	run_airlock run --session t -c 'cat a'
	assert_stdout $'1\n2'
}

@test "merge brings one session's changes into another, all or nothing" {
	seq 9 >lines
	new_session
	run_airlock session fork s t
	step 'sed -i s/2/two/ lines; echo s >s'
	run_airlock run --session t -c 'sed -i s/8/eight/ lines; echo t >t; rm other'
	run_airlock session merge t --into s
	assert_status 0
	step 'cat lines s t; ls'
	assert_json $'1\ntwo\n3\n4\n5\n6\n7\neight\n9\ns\nt\nfile\nlines\ns\nt' stdout
	run_airlock run --session t -c 'sed -i s/2/zwei/ lines; echo u >u'
	run_airlock session merge t --into s
	assert_status 3
	assert_stderr_contains 'conflict: lines'
	step 'test ! -e u && echo nothing'
	assert_json nothing stdout
}

@test "diff of two sessions shows how what they see differs" {
	new_session
	step 'echo both >both'
	run_airlock session fork s t
	step 'echo s >>file; rm other; ln -s a link'
	run_airlock run --session t -c 'echo t >>file; echo new >new'
	run_airlock diff s t
	assert_status 0
	assert_stdout_contains '-s'
	assert_stdout_contains '+t'
	assert_stdout_contains '+kept'
	assert_stdout_contains '+new'
	[[ $stdout != *both* ]] || fail "what both have is no difference"
	run_airlock diff s t --json
	assert_json s sessions 0
}

# ---- at the same time

@test "two commands at once become steps when they changed different paths" {
	new_session
	setsid -w "$AIRLOCK" run --session s -c 'mkdir -p out; echo 1 >out/1; sleep 1.5' >/dev/null 2>&1 </dev/null 3>&- &
	local other=$!
	sleep 0.7
	step 'mkdir -p out; echo 2 >out/2'
	assert_json 1 step
	wait "$other"
	step 'cat out/1 out/2'
	assert_json $'1\n2' stdout
}

@test "the later one of two that changed the same path stands apart" {
	local late=$BATS_TEST_TMPDIR/late
	new_session
	setsid -w "$AIRLOCK" run --session s --json -c 'sleep 1.5; echo late >same; echo x >x' >"$late" 2>&1 </dev/null 3>&- &
	local other=$!
	sleep 0.7
	step 'echo early >same'
	wait "$other"
	grep -q '"state": "conflict"' "$late"
	grep -q '"step": null' "$late"
	step 'cat same; test -e x || echo none'
	assert_json $'early\nnone' stdout
	run_airlock diff "$("$JSON_GET" "$late" get run)"
	assert_status 0
	assert_stdout_contains '+late'
}

# ---- a session that applies

@test "in a session that applies, each command's changes go home at once" {
	run_airlock session new a --changes apply
	assert_status 0
	run_airlock run --session a --json -c 'echo x >x'
	assert_status 0
	assert_json 1 step
	assert_file x x
	run_airlock session rewind a 0
	assert_status 3
	run_airlock run --session a --hold -c 'true'
	assert_status 125
	assert_stderr_contains 'applies its changes'
}

@test "a session that holds refuses another mode" {
	new_session
	run_airlock run --session s --changes apply -c 'echo x >x'
	assert_status 125
	[ ! -e x ] || fail "it ran"
	run_airlock run --session s --discard -c 'echo x >x; cat x'
	assert_status 0
	assert_stdout x
	step 'test ! -e x'
}

# ---- names and bad input

@test "names that no session can have" {
	local long
	long=$(printf 'x%.0s' {1..65})
	for name in last 0x .x 'a/b' "$long" 'a b'; do
		run_airlock session new "$name"
		assert_status 2
	done
	run_airlock run --session 'no good' -- true
	assert_status 2
}

@test "names that are made up, taken or unknown" {
	run_airlock session new
	assert_status 0
	made=$stdout
	run_airlock session show "$made"
	assert_status 0
	run_airlock session new "$made"
	assert_status 3
	run_airlock session show nosuch
	assert_status 1
	run_airlock session show nosuch --json
	assert_json not_found error code
}

@test "a session belongs to its project" {
	new_session
	mkdir -p "$HOME/elsewhere/.git"
	run_airlock run --session s -p "$HOME/elsewhere" -- true
	assert_status 125
	assert_stderr_contains "$PROJECT"
	cd "$HOME/elsewhere"
	run_airlock session show s
	assert_status 1
	assert_stderr_contains "$PROJECT"
	run_airlock session new s
	assert_status 0
}

@test "an ended session keeps what it holds, and the next command opens it again" {
	new_session
	step 'echo x >x'
	run_airlock session end s
	assert_status 0
	run_airlock session show s --json
	assert_json ended state
	step 'cat x'
	assert_json x stdout
	run_airlock session show s --json
	assert_json open state
}

@test "a damaged record is said, and nothing is lost" {
	new_session
	step 'echo x >x'
	record=$(echo "$XDG_STATE_HOME"/airlock/sessions/*/s/session)
	cp "$record" "$record.good"
	sed -i 's/^step 1/step 2/' "$record"
	run_airlock session show s
	[ "$status" -ne 0 ] || fail "a damaged record was taken"
	assert_stderr_contains damaged
	run_airlock run --session s -c 'echo y >y'
	[ "$status" -ne 0 ] || fail "a command ran in it"
	cp "$record.good" "$record"
	step 'cat x'
	assert_json x stdout
}

@test "a layer that is gone is said" {
	new_session
	step 'echo x >x'
	rm -rf "$XDG_STATE_HOME"/airlock/runs/*/upper
	run_airlock run --session s -c 'cat x'
	[ "$status" -ne 0 ] || fail "it ran without the layer"
	run_airlock session rewind s 0
	assert_status 0
	step 'ls'
	assert_json $'file\nother' stdout
}

@test "many steps are merged into few layers, and any of them can still be taken back" {
	new_session
	for i in {1..20}; do
		run_airlock run --session s -c "echo $i >>log; echo $i >f$i"
		assert_status 0
	done
	layers=$(grep -c '^layer' "$XDG_STATE_HOME"/airlock/sessions/*/s/session)
	[ "$layers" -le 16 ] || fail "there are $layers layers"
	step 'wc -l <log; ls f[0-9]* | wc -l'
	assert_json $'20\n20' stdout
	run_airlock session rewind s 3
	assert_status 0
	step 'cat log; ls f[0-9]*'
	assert_json $'1\n2\n3\nf1\nf2\nf3' stdout
	run_airlock apply s
	assert_status 0
	assert_file log $'1\n2\n3'
}

@test "the log tells what became of each step" {
	new_session
	step 'echo x >x'
	step 'echo y >y'
	step 'echo z >z'
	run_airlock apply s x
	run_airlock discard s y
	run_airlock discard s z
	run_airlock log --json
	[ "$(json '{r["step"]: r["changes"]["state"] for r in d["runs"] if r["step"]}')" = "{3: 'discarded', 2: 'discarded', 1: 'applied'}" ] || fail "$(json 'd["runs"]')"
}

# The kernel shows whiteouts in a directory that hides everything below it.
@test "what is deleted from a new directory stays deleted when layers are merged, or applied and undone" {
	new_session
	step 'mkdir d d/s; touch d/a d/b d/s/a'
	step 'rm d/a d/s/a'
	for i in {1..16}; do step "echo $i >f"; done
	[ "$(grep -c '^layer' "$XDG_STATE_HOME"/airlock/sessions/*/s/session)" -lt 16 ] || fail "nothing was merged"
	step 'ls d d/s'
	assert_json $'d:\nb\ns\n\nd/s:' stdout
	step 'mkdir e; mv e x; rm -r other; mkdir other; touch other/o'
	run_airlock apply s
	run_airlock undo s
	step 'ls other; rm -r d'
	assert_json o stdout
	run_airlock apply s
	assert_status 0
	[ ! -e d ] || fail "it is there"
}

@test "undo brings back what it undoes, and nothing that was decided since" {
	new_session
	step 'echo x >x; echo y >y'
	run_airlock apply s x
	step 'echo z >z'
	run_airlock discard s y
	run_airlock undo s
	assert_status 0
	run_airlock changes s --json
	assert_states 'x=held z=held'
	run_airlock run --session s -c 'ls'
	assert_stdout $'file\nother\nx\nz'
}
