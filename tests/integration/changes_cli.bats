#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr; changes.bash sets RUN
# What `airlock changes`, `discard` and `recover` say, which run is meant, and wrong usage of all commands that take one.

load ../helpers
load ../changes

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
		assert_stderr_contains 'airlock log lists the runs'
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

# ---- discard

@test "discard waits for somebody who applies in the same project" {
	command -v flock >/dev/null || skip "needs: flock"
	run_airlock run --hold -c 'echo 1 >new'
	"$AIRLOCK" apply last
	"$AIRLOCK" undo
	exec 7<>"$(find "$XDG_STATE_HOME/airlock/locks" -type f)"
	flock -x 7
	"$AIRLOCK" discard last 7>&- &
	sleep 0.5
	run_airlock changes last --json
	assert_json held files 0 state
	exec 7>&-
	wait $!
	run_airlock changes last --json
	assert_json discarded files 0 state
}

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
