#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What airlock says about the machine, and that a run gives the same reasons.

load ../helpers

# doctor_row NAME FIELD: of the examination on stdout
doctor_row() {
	python3 -c '
import json, sys
checks = json.load(open(sys.argv[1], encoding="utf-8"))["checks"]
print(next(c for c in checks if c["name"] == sys.argv[2])[sys.argv[3]])' "$RAW_STDOUT" "$@"
}

# assert_row STATUS NAME [TEXT]: and TEXT is somewhere in its words
assert_row() {
	local words
	[ "$(doctor_row "$2" status)" = "$1" ] || fail "expected $2: $1"
	words="$(doctor_row "$2" detail) $(doctor_row "$2" consequence) $(doctor_row "$2" fix)"
	[[ $words == *"${3-}"* ]] || fail "expected in $2: $3" "found: $words"
}

# without_namespaces ARG...: airlock in a user namespace that allows no further ones
without_namespaces() {
	# shellcheck disable=SC2016 # for the inner shell to expand
	run_program unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' \
		sh "$AIRLOCK" "$@" </dev/null
}

@test "doctor finds that this machine can run commands in the default profile" {
	run_airlock doctor
	assert_status 0
	assert_stderr ''
	assert_stdout_contains native
	assert_stdout_contains bubblewrap
	assert_stdout_contains 'default profile'
}

@test "doctor --json has a status, words and a way out in every row" {
	run_airlock doctor --json
	assert_status 0
	assert_json true ok
	python3 - "$RAW_STDOUT" <<-'PY'
		import json, sys
		checks = json.load(open(sys.argv[1], encoding="utf-8"))["checks"]
		names = [c["name"] for c in checks]
		for name in ("user namespaces", "overlay", "native", "bubblewrap", "Landlock", "seccomp", "control groups",
		             "pid namespace", "network namespace", "environment", "state directory"):
		    assert name in names, name
		assert len(names) == len(set(names))
		for c in checks:
		    assert set(c) >= {"name", "status", "detail", "consequence", "fix"}, c
		    assert c["status"] in ("ok", "degraded"), c
		    assert c["detail"] and (c["status"] == "ok") == (c["consequence"] == ""), c
	PY
}

@test "doctor leaves nothing behind but its state" {
	run_airlock doctor
	[ "$(ls -A "$PROJECT")" = "$(printf '.git\nfile')" ] || fail "the project was changed"
	[ "$(ls -A "$XDG_STATE_HOME/airlock")" = $'bubblewrap.probe\nnative.probe' ] || fail "found: $(ls -A "$XDG_STATE_HOME/airlock")"
}

@test "doctor fails where the state directory cannot be made" {
	XDG_STATE_HOME=$PROJECT/file run_airlock doctor --json
	assert_status 1
	assert_json false ok
	assert_row failed 'state directory' XDG_STATE_HOME
}

@test "a state directory of root's: the user is told to take it over; root was warned" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root"
	local place as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	place=$(mktemp -d /var/tmp/airlock-sudo.XXXXXX)
	mkdir -p "$place/home/p/.git"
	chown -R 65534:65534 "$place"
	chmod 755 "$place"
	cp -L "$AIRLOCK" "$place/airlock"
	cd "$place/home/p" || return
	export HOME=$place/home
	unset XDG_STATE_HOME XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
	run_program "$place/airlock" run -- true </dev/null
	assert_status 0
	assert_stderr_contains 'sudo -H'
	run_program "${as_nobody[@]}" "$place/airlock" run -- true </dev/null
	assert_status 125
	assert_stderr_contains "chown -R 65534 $HOME/.local"
	chmod -R u+rwx "$place"
	rm -rf "$place"
}

@test "doctor escapes the name of the state directory" {
	XDG_STATE_HOME=$HOME/$'a\033[31m\nb' run_airlock doctor
	assert_status 0
	refute_stdout_contains $'\033[31m'
	assert_stdout_contains 'a\x1b[31m\nb'
}

@test "doctor fails inside a Flatpak and says what happens there" {
	FLATPAK_ID=org.example.App run_airlock doctor --json
	assert_status 1
	assert_row failed environment 'NOT IN SANDBOX'
}

@test "without user namespaces doctor names the setting and the command that changes it" {
	without_namespaces doctor --json
	assert_status 1
	assert_json false ok
	assert_row failed 'user namespaces' 'user.max_user_namespaces=0'
	assert_row failed native 'sysctl -w user.max_user_namespaces'
	assert_row failed bubblewrap 'sysctl -w user.max_user_namespaces'
}

@test "without user namespaces a run is refused with the same cause" {
	without_namespaces run --json --backend native -- true
	assert_refused unavailable
	[[ $(json_get error message) == *user.max_user_namespaces=0* ]] || fail "expected the setting"
	[[ $(json_get error hint) == *'sysctl -w'* ]] || fail "expected the way out"
}

@test "a run that fails because of the machine is followed by what doctor finds, once" {
	without_namespaces run --backend native -- true
	assert_status 125
	assert_stderr_contains 'airlock doctor tested this machine:'
	assert_stderr_contains '  user namespaces: '
	assert_stderr_contains '    fix: as root: `sysctl -w user.max_user_namespaces'
	[ "$(grep -c 'fix: as root: `sysctl -w' "$RAW_STDERR")" -eq 1 ] || fail "the same fix twice"
	refute_stderr_contains 'Landlock:'
	without_namespaces run --backend native -- true
	assert_status 125
	refute_stderr_contains 'tested this machine'
	assert_stderr_contains '`airlock doctor` says more'
	touch -d '2 days ago' "$XDG_STATE_HOME/airlock/doctor.told"
	without_namespaces run --backend native -- true
	assert_stderr_contains 'tested this machine'
}

@test "with --json a run that fails because of the machine only names doctor" {
	without_namespaces run --json --backend native -- true
	assert_refused unavailable
	[[ $(json_get error hint) == *'airlock doctor'* ]] || fail "expected the doctor's name"
	assert_stderr ''
}

@test "a run that fails for another reason is not followed by anything" {
	run_airlock run -- no-such-program
	assert_status 127
	refute_stderr_contains 'tested this machine'
	XDG_STATE_HOME=$PROJECT/file run_airlock run -- true
	assert_status 125
	assert_stderr_contains '  state directory: '
}

@test "a partly covered /proc is named, with the options of the container that cause it" {
	# Another one in full view, as of a chroot, makes the kernel content.
	[ "$(awk '$3 == "proc"' /proc/self/mounts | wc -l)" -eq 1 ] || skip "needs: no second /proc on this machine"
	# Twice, for who made the cover may take it away.
	run_program unshare --user --map-root-user --mount sh -c \
		'mount -t tmpfs none /proc/fs && exec unshare --user --map-user=1000 --map-group=1000 "$@"' \
		sh "$AIRLOCK" doctor --json </dev/null
	assert_status 0
	assert_row degraded 'pid namespace' 'fresh /proc'
	assert_row degraded native systempaths=unconfined
	assert_row degraded bubblewrap systempaths=unconfined
}

@test "a bwrap in the project is never run, whatever PATH says" {
	mkdir bin
	printf '#!/bin/sh\necho ran >>%q\necho bubblewrap 0.9.9\n' "$HOME/ran" >bin/bwrap
	chmod 755 bin/bwrap
	PATH=$PROJECT/bin:bin:.:$PATH run_airlock run -- true
	assert_status 0
	assert_absent "$HOME/ran"
}
