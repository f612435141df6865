# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets variables; what runs inside is quoted for the other shell
# Projects, the records of their files, daily backups, restore.

load ../helpers

setup() {
	default_setup
	STATE=$XDG_STATE_HOME/airlock
	TODAY=$(date +%y-%m-%d)
}

# record PATH FIELD: of the record in this project
record() {
	run_airlock files --json
	json "[f[\"$2\"] for f in d[\"files\"] if f[\"path\"] == \"$1\"]"
}

add_project() {
	run_airlock project add
	assert_status 0
}

@test "project add, list, show and remove" {
	run_airlock project list --json
	[ "$(json 'd')" = "{'projects': []}" ]
	add_project
	run_airlock project list --json
	[ "$(json '[(p["path"], p["files"]) for p in d["projects"]]')" = "[('$(pwd -P)', 2)]" ]
	run_airlock project list
	assert_stdout "     2 files  $(pwd -P)"
	run_airlock project show --json
	[ "$(json 'd["roots"][0]["path"]')" = "$(pwd -P)" ]
	run_airlock project remove
	assert_status 0
	run_airlock project list --json
	[ "$(json 'len(d["projects"])')" = 0 ]
	for command in 'project show' 'project remove' files; do
		# shellcheck disable=SC2086
		run_airlock $command
		assert_status 1
		assert_stderr_contains "airlock project add"
	done
	[ "$(cat file)" = original ]
}

@test "an added directory is the project of the directories in it" {
	make_home "$HOME/elsewhere"
	mkdir -p "$HOME/plain/deep"
	cd "$HOME/plain"
	run_airlock project add .
	assert_status 0
	cd deep
	"$AIRLOCK" run -c 'echo x >made'
	run_airlock log --json
	[ "$(json 'd["runs"][0]["project"]')" = "$(cd .. && pwd -P)" ]
}

@test "every kind of entry has its record" {
	mkdir dir
	printf 'a\0b' >dir/binary
	: >empty
	ln -s dir/binary link
	mkfifo fifo
	printf 'x' >$'odd\n\377'
	add_project
	run_airlock files --json
	[ "$(json '[(f["path"], f["type"], f["size"], f["is_text"]) for f in d["files"] if "odd" not in f["path"] and f["path"] != ".git"]')" = \
		"[('dir', 'directory', 0, False), ('dir/binary', 'file', 3, False), ('empty', 'file', 0, True), ('fifo', 'other', 0, False), ('file', 'file', 9, True), ('link', 'symlink', 10, False)]" ]
	[ "$(json '[f["target"] for f in d["files"] if f["path"] == "link"]')" = "['dir/binary']" ]
	[ "$(json '[__import__("base64").b64decode(f["path_base64"]) for f in d["files"] if "odd" in f["path"]]')" = "[b'odd\\n\\xff']" ]
	[ "$(json 'all(f["is_deleted"] is False and f["last_approved_copy_path"] == "" for f in d["files"])')" = True ]
	run_airlock files
	run ! grep -q $'\377' "$RAW_STDOUT"
}

@test "airlock files finds out whether a file or its backup is text" {
	printf 'a\0b' >binary
	printf 'a\0b' >changes
	printf 'a\0b' >turns
	echo x >deleted
	echo x >linked
	mkdir "$HOME/lib"
	printf 'a\0b' >"$HOME/lib/binary"
	echo x >"$HOME/lib/text"
	ln -s "$HOME/lib" lib
	"$AIRLOCK" project link lib
	add_project
	lib=$(cd "$HOME/lib" && pwd -P)
	"$AIRLOCK" run -c 'rm deleted; echo x >changes'
	echo text now >turns # the record is of what it was
	rm linked
	ln -s /dev/zero linked
	for _ in first second; do
		run_airlock files --json
		assert_status 0
		[ "$(json "{f['path'].replace('$lib', 'LIB'): f['is_text'] for f in d['files'] if f['type'] == 'file'}")" = \
			"{'LIB/binary': False, 'LIB/text': True, 'binary': False, 'changes': True, 'deleted': True, 'file': True, 'linked': False, 'turns': True}" ]
	done
}

@test "what is ignored is what git ignores" {
	rm -r .git
	git init -q .
	mkdir -p a/b/c node_modules/m build/x deep/build docs/one/two keep logs
	touch a/1.o a/b/2.o a/b/c/keep.o a/t.tmp node_modules/m/i.js build/x/y deep/build/z docs/one/two/n.txt docs/n.txt \
		'with space' 'hash#' '#hash' 'end ' keep/a.log logs/b.log 'br[a' ab.c xb.c -- '!bang' a/q1 a/q22 secret
	printf '%s\n' '# comment' '*.o' '!keep.o' '/build/' 'node_modules/' 'docs/**/n.txt' '*.tmp ' 'with\ space' '\#hash' \
		'keep/*' '!keep/a.log' '**/logs' '[ax]b.c' '\!bang' 'a/q?' 'end\ ' 'c/' >.gitignore
	printf '*.js\n!2.o\n' >a/b/.gitignore
	echo secret >>.git/info/exclude
	add_project
	run_airlock files --json
	json '"\0".join(f["path"] for f in d["files"] if f["is_ignored"] and f["path"] != ".git")' | tr '\0' '\n' | sort >"$BATS_TEST_TMPDIR/ours"
	json '"\0".join(f["path"] for f in d["files"] if f["path"] != ".git")' | head -c -1 |
		git check-ignore -z --no-index --stdin | tr '\0' '\n' | sort >"$BATS_TEST_TMPDIR/git"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/git")" -ge 12 ]
	diff "$BATS_TEST_TMPDIR/git" "$BATS_TEST_TMPDIR/ours"
}

@test "a linked directory is recorded once, loops are harmless" {
	mkdir -p "$HOME/lib/sub"
	echo x >"$HOME/lib/sub/f"
	ln -s "$HOME/lib" lib
	ln -s "$HOME/lib/sub" again
	ln -s .. "$HOME/lib/sub/loop"
	"$AIRLOCK" project link lib
	add_project
	run_airlock files --json
	lib=$(cd "$HOME/lib" && pwd -P)
	[ "$(json "[f['path'] for f in d['files']].count('$lib/sub/f')")" = 1 ]
	"$AIRLOCK" run -c 'echo y >lib/sub/f'
	[ "$(cat "$HOME/lib/sub/f")" = y ]
	run_airlock backups --json
	[ "$(json "[b['path'] for b in d['backups']]")" = "['$lib/sub/f']" ]
	run_airlock restore "$HOME/lib/sub/f"
	assert_status 0
	[ "$(cat "$HOME/lib/sub/f")" = x ]
}

@test "after a run: modified, added, deleted, renamed" {
	seq 100 >renamed
	echo gone >deleted
	add_project
	id=$(record renamed id)
	"$AIRLOCK" run -c 'echo more >>file; rm deleted; mv renamed elsewhere; echo x >added'
	[ "$(record file size)" = "[14]" ]
	[ "$(record file last_approved_copy_path)" = "['$STATE/edited/$(record file id | tr -d '[]')-$TODAY-file']" ]
	[ "$(record deleted is_deleted)" = "[True]" ]
	[ "$(record added last_approved_copy_path)" = "['']" ]
	[ "$(record elsewhere id)" = "$id" ]
	[ "$(record renamed id)" = "[]" ]
	run_airlock backups --json
	[ "$(json 'sorted(b["path"] for b in d["backups"])')" = "['deleted', 'file']" ]
	run_airlock files --deleted --json
	[ "$(json '[f["path"] for f in d["files"]]')" = "['deleted']" ]
}

@test "a backup is the first version of its day, only of files with a record, without copying" {
	add_project
	echo new >unknown
	"$AIRLOCK" run -c 'echo 2 >file; echo 2 >unknown'
	"$AIRLOCK" run -c 'echo 3 >file'
	run_airlock backups file --json
	[ "$(json '[b["date"] for b in d["backups"]]')" = "['$TODAY']" ]
	backup=$(json 'd["backups"][0]["backup"]')
	[ "$(cat "$backup")" = original ]
	[ "$(stat -c %h "$backup")" -eq 2 ]
	run_airlock backups
	assert_stdout "$TODAY  $(pwd -P)/file"
	run_airlock backups unknown --json
	[ "$(json 'd["backups"]')" = "[]" ]
}

@test "an undo does not put the backup's own inode into the project" {
	add_project
	"$AIRLOCK" run -c 'echo 2 >file'
	"$AIRLOCK" undo
	echo scribble >>file
	run_airlock restore file
	assert_status 0
	[ "$(cat file)" = original ]
}

@test "records follow undo and redo" {
	add_project
	"$AIRLOCK" run -c 'rm file; echo x >added; mkdir d'
	"$AIRLOCK" undo last
	[ "$(record file is_deleted)" = "[False]" ]
	[ "$(record added id)" = "[]" ]
	"$AIRLOCK" undo last
	[ "$(record file is_deleted)" = "[True]" ]
	[ "$(record added is_deleted)" = "[False]" ]
}

@test "a name of 255 bytes is backed up and restored" {
	name=$(printf 'ä%.0s' $(seq 127))x
	[ "$(printf %s "$name" | wc -c)" -eq 255 ]
	echo long >"$name"
	add_project
	"$AIRLOCK" run -- sh -c 'echo 2 >"$1"' sh "$name"
	run_airlock restore "$name"
	assert_status 0
	[ "$(cat "$name")" = long ]
	for file in "$STATE"/edited/*; do [ "$(basename "$file" | wc -c)" -le 256 ]; done
}

@test "restore brings back a file with its directories, and is undone" {
	mkdir -p d/e
	echo deep >d/e/f
	add_project
	"$AIRLOCK" run -c 'rm -r d'
	[ ! -e d ]
	run_airlock restore d/e/f
	assert_status 0
	[ "$(cat d/e/f)" = deep ]
	[ "$(record d/e/f is_deleted)" = "[False]" ]
	run_airlock undo
	assert_status 0
	[ ! -e d ]
	run_airlock log --json
	[ "$(json 'd["runs"][0]["command"]')" = "airlock restore d/e/f" ]
}

@test "restore: of a day, of no such day, of no such file, with something in the way" {
	add_project
	"$AIRLOCK" run -c 'echo 2 >file'
	run_airlock restore file --date "$TODAY"
	assert_status 0
	[ "$(cat file)" = original ]
	run_airlock restore file --date 20-01-01
	assert_status 1
	run_airlock restore file --date yesterday
	assert_status 2
	run_airlock restore nonesuch --json
	assert_status 1
	[ "$(json 'd["error"]["code"]')" = not_found ]
	rm file
	mkdir file
	run_airlock restore file
	assert_status 3
	[ -d file ]
}

@test "without a backup nothing is touched" {
	add_project
	mkdir -p "$STATE"
	echo in the way >"$STATE/edited"
	run_airlock run --json -c 'echo 2 >file; echo y >other'
	assert_status 125
	[ "$(json 'd["changes"]["state"], d["error"]["code"]')" = "('held', 'invalid')" ]
	[ "$(cat file)" = original ]
	[ ! -e other ]
	run_airlock apply last
	assert_status 125
	assert_stderr_contains "cannot make the daily backup"
	[ "$(cat file)" = original ]
	rm "$STATE/edited"
	run_airlock apply last
	assert_status 0
	[ "$(cat file)" = 2 ]
	[ "$(cat "$STATE"/edited/*-file)" = original ]
}

@test "a damaged database: the changes are held, and can still be discarded" {
	add_project
	head -c 9000 /dev/urandom >"$STATE/airlock.db"
	rm -f "$STATE"/airlock.db-*
	run_airlock run --json -c 'echo 2 >file'
	assert_status 125
	[ "$(json 'd["changes"]["state"], d["error"]["code"]')" = "('held', 'corrupt')" ]
	[ "$(cat file)" = original ]
	run_airlock discard last
	assert_status 0
	run_airlock files
	assert_status 125
	assert_stderr_contains "move it away"
}

@test "a second scan updates, adds and removes records, and keeps those with a backup" {
	echo a >changes
	echo b >goes
	echo c >stays
	add_project
	ids=$(record changes id)
	"$AIRLOCK" run -c 'echo cc >stays'
	echo longer >changes
	rm goes stays
	echo n >comes
	run_airlock project scan --json
	assert_status 0
	[ "$(json 'd["files"]')" = 5 ] # .git changes comes file stays
	run_airlock project show --json
	[ "$(json 'd["files"]')" = 5 ]
	[ "$(record changes size)" = "[7]" ]
	[ "$(record changes id)" = "$ids" ]
	[ "$(record goes id)" = "[]" ]
	[ "$(record comes size)" = "[2]" ]
	[ "$(record stays size)" = "[3]" ]
	rm "$STATE"/edited/*-stays
	run_airlock project scan
	[ "$(record stays id)" = "[]" ]
}

@test "many files, of which some change" {
	mkdir many
	(cd many && seq 3000 | split -l 1 -a 4 - f) # more than one statement, and more than one transaction
	add_project
	assert_stdout_contains "3003 files"
	run_airlock files --json
	cp "$RAW_STDOUT" "$BATS_TEST_TMPDIR/before"
	(cd many && rm faaaa && echo longer >faaab && seq 100 | split -l 1 -a 4 - g)
	run_airlock project scan
	assert_stdout_contains "3102 files"
	run_airlock files --json
	python3 -I - "$BATS_TEST_TMPDIR/before" "$RAW_STDOUT" <<-'END'
		import json, sys
		before, after = ({f["path"]: f for f in json.load(open(name))["files"]} for name in sys.argv[1:])
		assert len(before) == 3003 and len(after) == 3102
		assert before.keys() - after.keys() == {"many/faaaa"}
		assert all(path.startswith("many/g") for path in after.keys() - before.keys())
		changed = {path for path in before if path in after and before[path] != after[path]}
		assert changed == {"many", "many/faaab"}, changed
		assert after["many/faaab"]["id"] == before["many/faaab"]["id"] and after["many/faaab"]["size"] == 7
		assert after["many/faaab"]["first_seen"] == before["many/faaab"]["first_seen"] < after["many/faaab"]["last_seen"]
	END
}

@test "a deleted file that returns is no longer recorded as deleted" {
	add_project
	"$AIRLOCK" run -c 'rm file'
	[ "$(record file is_deleted)" = "[True]" ]
	run_airlock project scan
	[ "$(record file is_deleted)" = "[True]" ]
	echo back >file
	run_airlock project scan
	[ "$(record file is_deleted)" = "[False]" ]
}

@test "changes held by a conflict are not backed up" {
	add_project
	run_airlock run --hold -c 'echo 2 >file'
	echo mine >file
	run_airlock apply last
	assert_status 3
	run_airlock backups --json
	[ "$(json 'd["backups"]')" = "[]" ]
	[ "$(cat file)" = mine ]
}

# Whatever fails, the file that was there is live or can be had back, and nothing is left that stands in the way.
@test "a restore that fails loses nothing" {
	command -v strace >/dev/null || skip "needs: strace"
	local call n struck=0 late=0
	echo v1 >f
	"$AIRLOCK" project add >/dev/null
	"$AIRLOCK" run -c 'echo v2 >f'
	for call in renameat renameat2 fsync syncfs; do
		for ((n = 1; n < 20; n++)); do
			echo mine >f
			run_program strace -qq -o "$BATS_TEST_TMPDIR/log" -e trace="$call" \
				-e inject="$call:error=ENOSPC:when=$n" "$AIRLOCK" restore f
			grep -q INJECTED "$BATS_TEST_TMPDIR/log" || break
			struck=$((struck + 1))
			run_airlock recover
			[ "$status" -le 1 ] || fail "$call:$n: recover ends with $status" "$stderr"
			if [ "$(<f)" = v1 ]; then
				[ "$n" -eq 1 ] || late=1
				run_airlock undo last f
				assert_status 0
			fi
			assert_file f mine
		done
	done
	[ "$struck" -gt 4 ] && [ "$late" = 1 ] || fail "$struck calls struck, none after the file was in its place"
	"$AIRLOCK" restore f
	assert_file f v1
}
