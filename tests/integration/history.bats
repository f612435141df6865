# SPDX-License-Identifier: LGPL-2.1-or-later
# airlock log, show, output: what is remembered of runs.
# shellcheck disable=SC2154,SC2016,SC2012 # run_airlock sets variables; what runs inside is quoted; names are ours

load ../helpers

setup() {
	default_setup
	STATE=$XDG_STATE_HOME/airlock
}

@test "every run is in the log, newest first: applied, held, direct, failed, refused" {
	"$AIRLOCK" run -c 'echo 1 >a'
	"$AIRLOCK" run --hold -c 'echo 2 >b'
	"$AIRLOCK" run --yes --no-sandbox -c 'exit 4' || true
	"$AIRLOCK" run --no-sandbox -c 'echo denied' </dev/null || true
	"$AIRLOCK" run -- /no/such/program || true
	run_airlock log --json
	assert_status 0
	[ "$(json '[(r["command"], r["status"], r["exit_code"], r["changes"]["state"], r["changes"]["count"]) for r in d["runs"]]')" = \
		"[('/no/such/program', 'error', 127, 'none', 0), ('echo denied', 'error', 125, 'none', 0), ('exit 4', 'exited', 4, 'direct', 0), ('echo 2 >b', 'exited', 0, 'held', 1), ('echo 1 >a', 'exited', 0, 'applied', 1)]" ]
	[ "$(json 'set(r["project"] for r in d["runs"])')" = "{'$(pwd -P)'}" ]
	[ "$(json 'all(r["started"][:2] == "20" and r["asked_by"] == "cli" for r in d["runs"])')" = True ]
	run_airlock log -n 2
	assert_status 0
	[ "$(wc -l <"$RAW_STDOUT")" -eq 2 ]
	assert_stdout_contains "echo denied"
}

@test "a run that was refused has an id, and changed nothing" {
	run_airlock run --network -- true
	assert_status 125
	run_airlock log --json
	local id word
	id=$(json_get runs 0 run)
	run_airlock changes "$id" --json
	assert_status 0
	assert_json none state
	assert_json '[]' files
	for word in apply discard undo; do
		run_airlock $word "$id"
		assert_status 1
	done
	run_airlock diff "$id"
	assert_status 0
	assert_stdout ''
}

@test "log lists the runs of this project, --project those of another, --all those of all" {
	"$AIRLOCK" run -c true
	make_project "$HOME/other"
	"$AIRLOCK" run -c 'exit 0'
	run_airlock log --json --project "$HOME/project"
	[ "$(json '[r["command"] for r in d["runs"]]')" = "['true']" ]
	run_airlock log --json
	[ "$(json '[r["command"] for r in d["runs"]]')" = "['exit 0']" ]
	run_airlock log --json --all
	[ "$(json 'len(d["runs"])')" = 2 ]
	make_project "$HOME/third" # has no runs of its own
	run_airlock log --json
	[ "$(json 'len(d["runs"])')" = 2 ]
	run_airlock log
	assert_stderr_contains "runs of all projects"
}

@test "log and changes agree about a run of which some was discarded and some applied" {
	"$AIRLOCK" run --hold -c 'echo 1 >one; echo 2 >two; echo 3 >three'
	"$AIRLOCK" discard last one
	run_airlock log
	assert_stdout_contains "2 held, 1 discarded"
	run_airlock changes last
	assert_stdout_contains "2 held, 1 discarded"
	"$AIRLOCK" apply last two
	run_airlock log
	assert_stdout_contains "1 applied, 1 held, 1 discarded"
}

@test "log without runs, and wrong numbers" {
	run_airlock log --json
	assert_status 0
	[ "$(json 'd')" = "{'runs': []}" ]
	for number in -1 x 1x ''; do
		run_airlock log -n "$number"
		assert_status 2
	done
}

@test "show is the result of the run, and the policy with who set it" {
	run_airlock run --json --timeout 33s -c 'echo out; echo err >&2; echo x >new; exit 3'
	cp "$RAW_STDOUT" "$BATS_TEST_TMPDIR/result"
	run_airlock show last --json
	assert_status 0
	python3 -I - "$BATS_TEST_TMPDIR/result" "$RAW_STDOUT" <<-'END'
		import json, sys
		result, shown = (json.load(open(name)) for name in sys.argv[1:])
		for key, value in result.items():
		    assert shown[key] == value, (key, value, shown[key])
		assert shown["command"].startswith("echo out;"), shown["command"]
		timeout = [v for v in shown["policy"]["values"] if v["key"].endswith(".timeout")]
		assert timeout[0]["source"] == "--timeout", timeout
	END
	run_airlock show last
	assert_stdout_contains "--timeout"
	assert_stdout_contains "exit status 3"
}

@test "show tells what was asked and answered" {
	"$AIRLOCK" run --yes --no-sandbox -c true
	run_airlock show last --json
	[ "$(json 'd["questions"][0]["reasons"], d["questions"][0]["answer"], d["changes"]["state"]')" = "(['unsandboxed'], 'yes', 'direct')" ]
	run_airlock show last
	grep -qE '^asked +.*\? yes$' <<<"$stdout" || fail "the question is not shown"
	"$AIRLOCK" run --no-sandbox -c 'echo never' </dev/null || true
	run_airlock log --json
	id=$(json 'd["runs"][0]["run"]')
	run_airlock show "$id" --json
	assert_status 0
	[ "$(json 'd["questions"][0]["answer"], d["error"]["code"]')" = "('deny', 'denied')" ]
}

@test "the log and show follow what is decided later" {
	"$AIRLOCK" run --hold -c 'echo 1 >a; echo 2 >b'
	"$AIRLOCK" apply last a
	run_airlock log --json
	[ "$(json 'd["runs"][0]["changes"]')" = "{'state': 'partial', 'count': 2}" ]
	"$AIRLOCK" discard last b
	"$AIRLOCK" undo last
	run_airlock show last --json
	[ "$(json '[f["state"] for f in d["changes"]["files"]]')" = "['held', 'discarded']" ]
	grep -o '"event":"[a-z]*"' "$STATE/audit/audit.jsonl" | cut -d'"' -f4 | tr '\n' ' ' >"$BATS_TEST_TMPDIR/events"
	[ "$(cat "$BATS_TEST_TMPDIR/events")" = "run apply discard undo " ]
}

@test "output is every byte, also what the result cut out" {
	"$AIRLOCK" run --json --max-output 100 -c 'seq 5000; printf "\377\000x" >&2' >/dev/null
	seq 5000 >"$BATS_TEST_TMPDIR/expected"
	run_airlock output last
	assert_status 0
	cmp "$RAW_STDOUT" "$BATS_TEST_TMPDIR/expected"
	run_airlock output last --stderr
	printf '\377\000x' | cmp - "$RAW_STDOUT"
	run_airlock output nonesuch
	assert_status 1
	run_airlock output nonesuch --json
	[ "$(json 'd["error"]["code"]')" = not_found ]
}

@test "hostile commands are shown inert, and exactly in JSON" {
	"$AIRLOCK" run -- printf $'a\033[31m\377' >/dev/null
	run_airlock log
	run ! grep -q $'\033' "$RAW_STDOUT"
	run_airlock show last
	run ! grep -q $'\033' "$RAW_STDOUT"
	run_airlock log --json
	[ "$(json '__import__("base64").b64decode(d["runs"][0]["command_base64"]).count(b"\xff")')" = 1 ]
}

@test "without its database the history is what the runs' directories say" {
	"$AIRLOCK" run -c 'echo 1 >a'
	"$AIRLOCK" run -c 'exit 5' || true
	run_airlock log
	before=$stdout
	rm "$STATE"/airlock.db*
	run_airlock log
	[ "$stdout" = "$before" ]
	run_airlock show last --json
	[ "$(json 'd["command"], d["exit_code"]')" = "('exit 5', 5)" ]
	"$AIRLOCK" changes "$(ls "$STATE/runs" | head -1)"
}

@test "a run opens no database, and is in the history at once" {
	"$AIRLOCK" run --hold -c 'echo 1 >a'
	"$AIRLOCK" run --no-sandbox -c 'echo denied' </dev/null || true
	"$AIRLOCK" discard last
	[ -z "$(find "$STATE" -name 'airlock.db*')" ] || fail "there is a database"
	[ "$(stat -c %a "$STATE/inbox")" = 600 ]
	run_airlock log --json
	[ "$(json '[(r["command"], r["status"], r["changes"]["state"]) for r in d["runs"]]')" = \
		"[('echo denied', 'error', 'none'), ('echo 1 >a', 'exited', 'discarded')]" ]
	[ -f "$STATE/airlock.db" ] && [ ! -s "$STATE/inbox" ] || fail "the inbox was not taken over"
	before=$(sha256sum "$STATE"/airlock.db*)
	"$AIRLOCK" run -c 'exit 3' || true
	"$AIRLOCK" run -c 'echo 2 >b'
	"$AIRLOCK" undo last
	[ "$before" = "$(sha256sum "$STATE"/airlock.db*)" ] || fail "a run wrote to the database"
	run_airlock log --json
	[ "$(json '[(r["exit_code"], r["changes"]["state"]) for r in d["runs"][:2]]')" = "[(0, 'held'), (3, 'none')]" ]
}

@test "an inbox that has become large is taken over by the next run" {
	"$AIRLOCK" run -c 'exit 3' || true
	head -c 300000 /dev/zero | tr '\0' x >>"$STATE/inbox" # half a line, as a power cut leaves it
	run_airlock run -c 'exit 4'
	assert_status 4
	assert_stderr ''
	[ -f "$STATE/airlock.db" ] && [ ! -s "$STATE/inbox" ] || fail "the inbox was not taken over"
	run_airlock log --json
	[ "$(json '[r["exit_code"] for r in d["runs"]]')" = "[4, 3]" ]
}

@test "a damaged database: runs go on, the log fails with the way out, nothing is lost" {
	"$AIRLOCK" run -c true
	"$AIRLOCK" log
	head -c 9000 /dev/urandom >"$STATE/airlock.db"
	rm -f "$STATE"/airlock.db-*
	cp "$STATE/airlock.db" "$BATS_TEST_TMPDIR/damaged"
	run_airlock run --hold -c 'echo x >held'
	assert_status 0
	run_airlock run --no-sandbox -c true </dev/null
	assert_status 125
	run_airlock log
	assert_status 125
	assert_stderr_contains "move it away"
	head -c 300000 /dev/zero >>"$STATE/inbox" # now somebody should take it over
	run_airlock run -c 'exit 7'
	assert_status 7
	assert_stderr_contains "cannot be brought up to date"
	cmp "$STATE/airlock.db" "$BATS_TEST_TMPDIR/damaged"
	"$AIRLOCK" discard "$(ls "$STATE/runs" | sed -n 2p)"
	rm "$STATE/airlock.db"
	run_airlock log --json
	assert_status 0
	[ "$(json '[(r["command"], r["changes"]["state"]) for r in d["runs"]]')" = \
		"[('exit 7', 'none'), ('true', 'none'), ('echo x >held', 'discarded'), ('true', 'none')]" ]
}

@test "a database of a newer airlock is left alone" {
	"$AIRLOCK" run -c true
	"$AIRLOCK" log
	python3 -I -c 'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute("pragma user_version=99"); c.close()' "$STATE/airlock.db"
	run_airlock log
	assert_status 125
	assert_stderr_contains "newer airlock"
	run_airlock run -c 'exit 6'
	assert_status 6
	[ -s "$STATE/inbox" ] || fail "nobody keeps it for the newer one"
}

@test "what cannot be put into the history is missing there, and the run says so" {
	"$AIRLOCK" run -c true
	rm "$STATE/inbox"
	mkdir "$STATE/inbox"
	run_airlock run -c 'exit 6'
	assert_status 6
	assert_stderr_contains "missing in the history"
	assert_stderr_contains "$STATE/inbox"
	run_airlock log
	assert_status 125
	assert_stderr_contains "$STATE/inbox"
	run_airlock show last
	assert_status 0
	assert_stdout_contains "exit status 6"
}

@test "a run whose airlock was killed is an error in the log" {
	"$AIRLOCK" run -c 'echo $$; sleep 60' >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	until [ -s "$BATS_TEST_TMPDIR/out" ]; do sleep 0.05; done
	run_airlock log --json
	[ "$(json 'd["runs"][0]["status"], d["runs"][0]["exit_code"]')" = "('running', None)" ]
	kill -9 "$pid"
	wait "$pid" || true
	until run_airlock log --json && [ "$(json 'd["runs"][0]["status"]')" = error ]; do sleep 0.05; done
	run_airlock show last --json
	[ "$(json 'd["status"], d["error"]["code"]')" = "('error', 'internal')" ]
	run_airlock show last
	assert_stdout_contains 'airlock was ended before the run was over'
}

@test "sixteen runs at once are sixteen runs in the log" {
	pids=()
	for i in $(seq 16); do
		"$AIRLOCK" run -c "exit $i" 2>"$BATS_TEST_TMPDIR/err.$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || true; done
	! grep -h . "$BATS_TEST_TMPDIR"/err.* || fail "somebody complained"
	run_airlock log --json
	[ "$(json 'sorted(r["exit_code"] for r in d["runs"])')" = "$(python3 -I -c 'print(list(range(1, 17)))')" ]
	run_airlock log --verify
	assert_status 0
	assert_stdout_contains "16 lines"
}

@test "the audit file: a line changed, removed, put in or cut off is noticed" {
	for i in 1 2 3 4; do "$AIRLOCK" run -c "exit $i" || true; done
	audit=$STATE/audit/audit.jsonl
	cp "$audit" "$BATS_TEST_TMPDIR/good"
	run_airlock log --verify
	assert_status 0
	for damage in '2s/exit 2/exit 0/' 2d 1d 2p '$d' '$s/exit 4/exit 0/' '2s/}$//'; do
		sed "$damage" "$BATS_TEST_TMPDIR/good" >"$audit"
		run_airlock log --verify
		[ "$status" -eq 125 ] || fail "not noticed: $damage"
	done
	cp "$BATS_TEST_TMPDIR/good" "$audit"
	run_airlock log --verify
	assert_status 0
	python3 -I -c 'import json,sys; [json.loads(l) for l in open(sys.argv[1])]' "$audit"
	[ "$(stat -c %a "$audit")" = 600 ]
}

@test "the log follows an apply that was killed and recovered" {
	"$AIRLOCK" run --hold -c 'mkdir many; cd many; seq 1500 | split -l 1 -a 4' 2>/dev/null
	"$AIRLOCK" apply last >/dev/null &
	local pid=$!
	while kill -0 "$pid" 2>/dev/null && [ ! -d many ]; do :; done
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" || true
	run_airlock recover
	run_airlock changes last --json
	assert_json applied state
	run_airlock log -n 1 --json
	[ "$(json 'd["runs"][0]["changes"]')" = "{'state': 'applied', 'count': 1501}" ] || fail "expected: applied"
	run_airlock log --verify
	assert_status 0
}

# states: (session, step, state of the changes) of each run, the newest first
states() {
	run_airlock log --json
	json '[(r["session"], r["step"], r["changes"]["state"]) for r in d["runs"]]'
}

@test "the log says which session a run is of, and what became of its step" {
	for i in 1 2 3; do "$AIRLOCK" run --session work --hold -c "echo $i >f$i"; done
	"$AIRLOCK" run --session work true
	"$AIRLOCK" run -c 'echo 1 >plain'
	"$AIRLOCK" changes work >/dev/null # makes all steps one run, which is no run of its own
	plain="(None, None, 'applied'), ('work', None, 'none')"
	[ "$(states)" = "[$plain, ('work', 3, 'held'), ('work', 2, 'held'), ('work', 1, 'held')]" ] || fail "$(states)"
	run_airlock show last
	assert_stdout_contains "plain"
	"$AIRLOCK" session rewind work
	[ "$(states)" = "[$plain, ('work', 3, 'discarded'), ('work', 2, 'held'), ('work', 1, 'held')]" ] || fail "$(states)"
	"$AIRLOCK" apply work
	[ "$(states)" = "[('work', None, 'applied'), $plain, ('work', 3, 'discarded'), ('work', 2, 'applied'), ('work', 1, 'applied')]" ] || fail "$(states)"
	run_airlock log
	assert_stdout_contains "work, step 2"
	assert_stdout_contains "airlock apply work"
	run_airlock show last --json
	[ "$(json '(d["command"], d["status"], d["session"], d["error"])')" = "('airlock apply work', 'exited', 'work', None)" ]
	run_airlock show "$("$AIRLOCK" log --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][-1]["run"])')"
	assert_stdout_contains "work, step 1"
	run_airlock show work --json
	[ "$(json 'len(d["steps"])')" = 2 ]
	[ -e f1 ] && "$AIRLOCK" undo && [ ! -e f1 ] # without RUN: the apply of the session was the last
	[[ $(states) == *"('work', 2, 'partial')"* ]] || fail "$(states)"
	python3 - "$STATE/audit/audit.jsonl" <<-'END'
		import json, sys
		events = [json.loads(line) for line in open(sys.argv[1])]
		assert [(e.get("session"), e.get("step")) for e in events if e["event"] == "run"][:5] == [
		    ("work", 1), ("work", 2), ("work", 3), ("work", None), (None, None)], events
		assert [(e["event"], e["session"]) for e in events if e["event"] != "run"] == [
		    ("session-begin", "work"), ("session-rewind", "work"), ("apply", "work"), ("undo", "work")], events
	END
	run_airlock log --verify
	assert_status 0
}

@test "without sessions the log has no column for them" {
	"$AIRLOCK" run -c 'echo 1 >a'
	run_airlock log
	[[ $stdout == *"1 applied  echo 1 >a"* ]]
}
