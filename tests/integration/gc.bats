# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets variables; what runs inside is quoted for the other shell
# airlock gc: what goes, what stays, and that being killed or misled does no harm.

load ../helpers

setup() {
	default_setup
	STATE=$XDG_STATE_HOME/airlock
}

# last_run: its id
last_run() {
	find "$STATE/runs" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tail -1
}

# age_run ID: gives the run an id, directory and rows of long ago; prints the new id
age_run() {
	local old=20200101-${1#*-}
	"$AIRLOCK" log >/dev/null # what is in the inbox goes into the database
	mv "$STATE/runs/$1" "$STATE/runs/$old"
	python3 -I - "$STATE/airlock.db" "$1" "$old" <<-'END'
		import sqlite3, sys
		c = sqlite3.connect(sys.argv[1])
		c.execute("update run set id = ? where id = ?", (sys.argv[3], sys.argv[2]))
		c.commit()
	END
	echo "$old"
}

# age_backups DATE: all backups are of this day
age_backups() {
	python3 -I - "$STATE" "$1" <<-'END'
		import os, re, sqlite3, sys
		state, day = sys.argv[1:]
		c = sqlite3.connect(state + "/airlock.db")
		for name in os.listdir(state + "/edited"):
		    new = re.sub(r"^(\d+)-\d\d-\d\d-\d\d-", r"\1-" + day + "-", name)
		    os.rename(f"{state}/edited/{name}", f"{state}/edited/{new}")
		    c.execute("update backup set date = ?, name = ? where name = ?", (day, new.encode(), name.encode()))
		    path = f"{state}/edited/".encode()
		    c.execute("update file set last_approved_copy_path = ? where last_approved_copy_path = ?", (path + new.encode(), path + name.encode()))
		c.commit()
	END
}

@test "gc with nothing to remove" {
	run_airlock gc
	assert_status 0
	"$AIRLOCK" run -c 'echo 1 >a'
	"$AIRLOCK" run --hold -c 'echo 1 >b'
	run_airlock gc --json
	[ "$(json 'd')" = "{'dry_run': False, 'layers': [], 'runs': [], 'backups': [], 'caches': [], 'sessions': []}" ]
	"$AIRLOCK" apply last
	"$AIRLOCK" undo last
}

@test "the layers of a crashed run that throws its changes away go, those of a run that goes on stay" {
	"$AIRLOCK" run --discard -c 'mkdir d; echo x >d/f; chmod 0 d; echo up; sleep 60' >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	until [ -s "$BATS_TEST_TMPDIR/out" ]; do sleep 0.05; done
	run_airlock gc --json
	[ "$(json 'd["layers"]')" = "[]" ]
	kill -9 "$pid"
	wait "$pid" || true
	id=$(last_run)
	until run_airlock gc --dry-run --json && [ "$(json 'd["layers"]')" = "['$id']" ]; do sleep 0.05; done
	[ -d "$STATE/runs/$id/upper" ]
	run_airlock gc
	assert_status 0
	[ ! -e "$STATE/runs/$id/upper" ]
	[ ! -e "$STATE/runs/$id/work" ]
	[ ! -e d ]
	run_airlock output "$id"
	assert_stdout up
	run_airlock gc --json
	[ "$(json 'd["layers"]')" = "[]" ]
}

@test "files of ours that were never finished go once nobody can be writing them" {
	run_airlock run -- true
	local run dir names=()
	run=$(last_run)
	mkdir -p "$STATE/copies" "$STATE/trust" "$STATE/projects/0123456789abcdef"
	for dir in "$STATE" "$STATE/copies" "$STATE/trust" "$STATE/projects/0123456789abcdef"; do
		touch -d '2 hours ago' "$dir/.airlock-old"
		touch "$dir/.airlock-new"
		names+=("$dir/.airlock-new")
	done
	touch "$STATE/runs/$run/.airlock-old"
	run_airlock gc --dry-run
	[ -e "$STATE/.airlock-old" ] || fail "a dry run removed it"
	run_airlock gc
	assert_status 0
	assert_stdout 'nothing to remove'
	[ "$(find "$STATE" -name '.airlock-*' | sort)" = "$(printf '%s\n' "${names[@]}" | sort)" ] ||
		fail "left: $(find "$STATE" -name '.airlock-*')"
}

@test "old runs go with their rows; held ones stay, whatever their age" {
	"$AIRLOCK" run -c 'echo 1 >a'
	applied=$(age_run "$(last_run)")
	"$AIRLOCK" run --hold -c 'echo 2 >b'
	held=$(age_run "$(last_run)")
	"$AIRLOCK" run --discard -c 'echo 3 >c'
	discarded=$(age_run "$(last_run)")
	"$AIRLOCK" run -c true
	run_airlock gc --dry-run --json
	[ "$(json 'sorted(d["runs"])')" = "$(printf '%s\n' "$applied" "$discarded" | python3 -I -c 'import sys; print(sorted(sys.stdin.read().split()))')" ]
	[ -d "$STATE/runs/$applied" ]
	run_airlock gc
	assert_status 0
	[ ! -e "$STATE/runs/$applied" ] && [ ! -e "$STATE/runs/$discarded" ]
	[ -d "$STATE/runs/$held/upper" ]
	run_airlock log --json
	[ "$(json '[r["command"] for r in d["runs"]]')" = "['true', 'echo 2 >b']" ]
	[ "$(cat a)" = 1 ]
	run_airlock log --verify
	assert_status 0
}

@test "refused runs of long ago go too" {
	"$AIRLOCK" run --no-sandbox -c true </dev/null || true
	"$AIRLOCK" log >/dev/null
	python3 -I -c 'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute("update run set id = \"20200101-000000.000000-0000\""); c.commit()' "$STATE/airlock.db"
	run_airlock gc
	assert_status 0
	run_airlock log --json
	[ "$(json 'd["runs"]')" = "[]" ]
}

@test "backups go after seven days, and with them the records of deleted files" {
	echo x >deleted
	run_airlock project add
	"$AIRLOCK" run -c 'echo 2 >file; rm deleted'
	age_backups "$(date -d '6 days ago' +%y-%m-%d)"
	run_airlock gc --json
	[ "$(json 'd["backups"]')" = "[]" ]
	age_backups "$(date -d '8 days ago' +%y-%m-%d)"
	run_airlock gc --dry-run --json
	[ "$(json 'len(d["backups"])')" = 2 ]
	run_airlock gc
	assert_status 0
	[ -z "$(ls -A "$STATE/edited")" ]
	run_airlock files --json
	[ "$(json '[(f["path"], f["last_approved_copy_path"]) for f in d["files"] if f["type"] == "file"]')" = "[('file', '')]" ]
	run_airlock undo
	assert_status 0
	[ "$(cat file deleted)" = "original
x" ]
}

@test "the configuration says how long" {
	write_config '[retention]' 'backups = "none"' 'runs = "none"'
	run_airlock project add
	"$AIRLOCK" run -c 'echo 2 >file'
	age_run "$(last_run)" >/dev/null
	age_backups 20-01-01
	run_airlock gc --json
	[ "$(json 'd["runs"] + d["backups"]')" = "[]" ]
	write_config '[retention]' 'backups = "1d"' 'runs = "2h"'
	run_airlock gc --json
	[ "$(json 'len(d["runs"]), len(d["backups"])')" = "(1, 1)" ]
	write_config '[retention]' 'backups = "soon"'
	run_airlock gc
	assert_status 125
	assert_stderr_contains "\"backups\" must be"
}

@test "files in edited/ that no record knows go by the day in their names, others stay" {
	"$AIRLOCK" run -c true
	mkdir -p "$STATE/edited"
	touch "$STATE/edited/7-20-01-01-lost" "$STATE/edited/8-$(date +%y-%m-%d)-new" "$STATE/edited/notes.txt" "$STATE/edited/.new-now"
	run_airlock gc
	assert_status 0
	[ "$(find "$STATE/edited" -type f -printf '%f\n' | sort | tr '\n' ' ')" = ".new-now 8-$(date +%y-%m-%d)-new notes.txt " ]
}

@test "clean-up follows no symbolic link" {
	mkdir "$HOME/precious" "$HOME/precious/upper"
	echo keep >"$HOME/precious/7-20-01-01-x"
	"$AIRLOCK" run -c 'echo 1 >a'
	old=$(age_run "$(last_run)")
	ln -s "$HOME/precious" "$STATE/runs/$old/link"
	ln -s "$HOME/precious" "$STATE/runs/20200101-000000.000000-aaaa"
	run_airlock gc
	assert_status 0
	[ -e "$HOME/precious/7-20-01-01-x" ] && [ -d "$HOME/precious/upper" ]
	[ ! -e "$STATE/runs/$old" ]
	ln -s "$HOME/precious" "$STATE/edited"
	run_airlock gc
	assert_status 125
	[ -e "$HOME/precious/7-20-01-01-x" ]
}

@test "killed at every step, clean-up leaves no record without its file" {
	command -v strace >/dev/null || skip "needs: strace"
	for i in 1 2 3; do echo "$i" >"f$i"; done
	run_airlock project add
	"$AIRLOCK" run -c 'for i in 1 2 3; do echo new >f$i; done'
	age_backups 20-01-01
	for n in 1 2 3 4; do
		strace -qq -o /dev/null -e inject=unlinkat:signal=KILL:when="$n" "$AIRLOCK" gc >/dev/null 2>&1 || true
		run_airlock backups --json
		json '"\n".join(b["backup"] for b in d["backups"])' | while read -r file; do
			[ -z "$file" ] || [ -e "$file" ] || fail "record without a file: $file"
		done
	done
	run_airlock gc
	assert_status 0
	[ -z "$(ls -A "$STATE/edited")" ]
}

@test "a damaged database: nothing is removed" {
	"$AIRLOCK" run -c 'echo 1 >a'
	old=$(age_run "$(last_run)")
	head -c 9000 /dev/urandom >"$STATE/airlock.db"
	rm -f "$STATE"/airlock.db-*
	run_airlock gc
	assert_status 125
	[ -d "$STATE/runs/$old" ]
}

# keep_nothing: every run that began before this second is old
keep_nothing() {
	mkdir -p "$XDG_CONFIG_HOME/airlock"
	printf '[retention]\nruns = "1ms"\n' >"$XDG_CONFIG_HOME/airlock/config.toml"
	sleep 1.1
}

# age_sessions: nobody has used any of them for long, nor their layers
age_sessions() {
	find "$STATE/sessions" -name session -exec touch -d 2020-01-01 {} +
	[ ! -d "$STATE/layers" ] || find "$STATE/layers" -mindepth 1 -maxdepth 1 -exec touch -d 2020-01-01 {} +
}

@test "what a session holds stays, whatever its age" {
	echo old >base
	for i in 1 2 3; do "$AIRLOCK" run --session work --hold -c "echo $i >f$i; echo $i >base"; done
	"$AIRLOCK" changes work >/dev/null # all steps as one
	"$AIRLOCK" discard work f1         # what is left is a layer of its own
	"$AIRLOCK" run --session work -c 'echo 4 >f4'
	keep_nothing
	age_sessions
	run_airlock gc --json
	assert_status 0
	[ "$(json 'd["sessions"]')" = "[]" ]
	run_airlock run --session work -c 'cat f2 f3 f4 base; ls f1'
	[ "$stdout" = $'2\n3\n4\n3' ]
	run_airlock apply work
	assert_status 0
	[ "$(cat f2 f3 f4 base)" = $'2\n3\n4\n3' ] && [ ! -e f1 ]
	age_sessions
	run_airlock undo work # what it applied last is kept as long as the session is
	assert_status 0
	[ "$(cat base)" = old ] && [ ! -e f2 ]
}

@test "steps and layers that no session needs go, and so does a session that holds nothing" {
	for i in 1 2; do "$AIRLOCK" run --session work --hold -c "echo $i >f$i"; done
	"$AIRLOCK" discard work f1 # leaves a layer
	"$AIRLOCK" session new other --changes hold
	"$AIRLOCK" session new used --changes hold
	"$AIRLOCK" run --session other -c 'echo x >/tmp/left'
	[ -n "$(ls "$STATE/layers")" ]
	"$AIRLOCK" discard work
	run_airlock gc
	[ -n "$(ls "$STATE/layers")" ] || fail "a young layer went: its session may not know of it yet"
	keep_nothing
	age_sessions
	touch -d tomorrow "$STATE"/sessions/*/used/session
	run_airlock gc --dry-run --json
	[ "$(json 'sorted(d["sessions"])')" = "['other', 'work']" ]
	[ "$(json 'len(d["layers"])')" -ge 1 ]
	[ -n "$(ls "$STATE/layers")" ]
	run_airlock session list --json
	[ "$(json 'len(d["sessions"])')" = 3 ]
	run_airlock gc
	assert_status 0
	[[ $stdout == *"session other"* ]]
	[ "$(ls "$STATE"/sessions/*)" = used ] || fail "$(ls "$STATE"/sessions/*)"
	[ -z "$(ls "$STATE/layers")" ] || fail "$(ls "$STATE/layers")"
	run_airlock session list --json
	[ "$(json '[s["session"] for s in d["sessions"]]')" = "['used']" ]
	run_airlock gc --json # the steps, which nobody needs now
	[ -z "$(ls "$STATE/runs")" ] || fail "$(ls "$STATE/runs")"
}

@test "rewind goes back to a step whose layer was merged with others, after gc" {
	for i in $(seq 18); do "$AIRLOCK" run --session work --hold -c "echo $i >f; echo $i >f$i" 2>/dev/null; done
	[ -n "$(ls "$STATE/layers")" ] || fail "nothing was merged"
	keep_nothing
	age_sessions
	run_airlock gc
	assert_status 0
	"$AIRLOCK" session rewind work 5
	run_airlock run --session work -c 'cat f; ls f[0-9]*'
	[ "$stdout" = $'5\nf1\nf2\nf3\nf4\nf5' ] || fail "$stdout"
}

@test "a layer that a running command may see stays" {
	for i in 1 2; do "$AIRLOCK" run --session work --hold -c "echo $i >f$i"; done
	"$AIRLOCK" discard work f1
	mkfifo "$BATS_TEST_TMPDIR/go"
	"$AIRLOCK" run --session work -c 'echo up; read -r _; cat f2' <"$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" 2>&1 &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/go"
	until grep -q up "$BATS_TEST_TMPDIR/out"; do sleep 0.05; done
	"$AIRLOCK" discard work f2
	age_sessions
	run_airlock gc
	echo >&7
	exec 7>&-
	wait "$pid"
	[ "$(tail -n +2 "$BATS_TEST_TMPDIR/out" | head -1)" = 2 ] || fail "$(cat "$BATS_TEST_TMPDIR/out")"
	age_sessions
	run_airlock gc
	[ -z "$(ls "$STATE/layers")" ]
}

@test "a session that cannot be read keeps everything of sessions" {
	for i in 1 2; do "$AIRLOCK" run --session work --hold -c "echo $i >f$i"; done
	"$AIRLOCK" discard work f1
	"$AIRLOCK" run -c 'echo 1 >plain'
	plain=$(last_run)
	keep_nothing
	age_sessions
	layers=$(ls "$STATE/layers")
	steps=$(grep -l '^session step' "$STATE"/runs/*/changes)
	record=$(echo "$STATE"/sessions/*/work/session)
	cp "$record" "$BATS_TEST_TMPDIR/record"
	echo damage >>"$record"
	run_airlock gc
	assert_status 125
	[ "$(ls "$STATE/layers")" = "$layers" ] && [ "$(grep -l '^session step' "$STATE"/runs/*/changes)" = "$steps" ]
	[ ! -e "$STATE/runs/$plain" ]
	cp "$BATS_TEST_TMPDIR/record" "$record"
	run_airlock run --session work -c 'cat f2'
	[ "$stdout" = 2 ]
}
