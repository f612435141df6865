#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Other users and groups inside a sandbox of root's: files are given away and come home with their owners; becoming somebody
# opens nothing of theirs outside. What an ordinary user gets is in places.py.

load ../helpers

OTHER=54321 # nobody's number

setup() {
	default_setup
	is_root || skip "needs: root"
	OUTSIDE=$(mktemp -d /var/lib/airlock-other-ids.XXXXXX) # where everybody may look
	chmod 755 "$OUTSIDE"
}

teardown() {
	[ -z "${OUTSIDE:-}" ] || rm -rf "$OUTSIDE"
}

# has_ids: with this backend root's sandbox has other ids. The others answer EPERM, and that is tested, too.
has_ids() {
	[ "$AIRLOCK_BACKEND" = native ]
}

# owner_of PATH
owner_of() {
	stat -c %u:%g "$1"
}

assert_owner() {
	[ "$(owner_of "$2")" = "$1" ] || fail "expected that $2 belongs to $1, not $(owner_of "$2")"
}

# ---- giving away

@test "chown, install -o and tar: applied with their owners, undone, done again" {
	each_backend given_away
}
given_away() {
	rm -rf -- * && mkdir dir kept && echo old >file && echo old >kept/file && ln -s file link
	touch -d '2020-01-01' file
	run_airlock run --json -c "
		chown $OTHER:54322 file && chown -h $OTHER link && chown $OTHER dir && install -o $OTHER -g 54322 file made &&
		tar -c --owner=$OTHER --group=54322 -f - kept | (mkdir out && tar -xp -C out -f -) && stat -c %u:%g file dir made out/kept/file"
	if ! has_ids; then
		[ "$(json 'd["exit_code"]')" -eq 1 ] || fail "expected a refusal"
		run_airlock run -c "chown $OTHER file"
		assert_stderr_contains "Operation not permitted"
		return
	fi
	[ "$(json 'd["exit_code"]')" -eq 0 ] || fail "expected success"
	[ "$(json 'd["stdout"]')" = "$OTHER:54322"$'\n'"$OTHER:0"$'\n'"$OTHER:54322"$'\n'"$OTHER:54322" ] || fail "expected other owners inside"
	assert_given
	[ "$(json 'd["changes"]["files"][1]["path"]')" = file ] && [ "$(json 'd["changes"]["files"][1]["kind"]')" = metadata ]
	[ "$(json 'd["changes"]["files"][1]["owner"]')" = "$OTHER:54322" ] && [ "$(json 'd["changes"]["files"][1]["owner_before"]')" = 0:0 ]
	[ "$(cat file) $(stat -c %Y file)" = "old $(date -d 2020-01-01 +%s)" ] || fail "expected the rest as it was"
	local run
	run=$(json 'd["run"]')
	run_airlock changes last
	assert_stdout_contains "m  file  (owner 0:0 -> $OTHER:54322)"
	assert_stdout_contains "A  made  (owner $OTHER:54322)"
	run_airlock undo
	assert_status 0
	for path in file dir link kept; do assert_owner 0:0 $path; done
	assert_absent made
	run_airlock undo "$run" # once more
	assert_given
	rm -rf out made
}
assert_given() {
	for path in file made out/kept/file out/kept; do assert_owner $OTHER:54322 $path; done
	for path in dir link; do assert_owner $OTHER:0 $path; done
	assert_owner 0:0 out
}

@test "what is held keeps its owner in the layer; setuid bits of what was given away are told, and dropped" {
	each_backend held
}
held() {
	has_ids || return 0 # refused, see above
	rm -rf -- * && echo old >file
	run_airlock run --json --hold -c "chown $OTHER file; chmod 4755 file; mkdir shared; chown $OTHER:54322 shared; chmod 2775 shared"
	assert_owner 0:0 file
	[ "$(json 'd["changes"]["files"][0]["reason"]')" = "setuid bit dropped" ] || fail "expected that the bit is told"
	run_airlock apply last
	assert_owner $OTHER:0 file
	assert_owner $OTHER:54322 shared
	[ "$(stat -c %a file) $(stat -c %a shared)" = "755 2775" ] || fail "expected no setuid bit, and the directory's setgid"
	[ -z "$(find "$HOME" "$XDG_STATE_HOME" -uid +2000000000)" ] || fail "expected nobody's numbers nowhere"
}

@test "ACLs that name others come home" {
	command -v setfacl >/dev/null || skip "needs: setfacl"
	each_backend named
}
named() {
	has_ids || return 0
	rm -rf -- * && echo old >file && mkdir dir
	run_airlock run -c "setfacl -m u:$OTHER:rw,g:54322:r file && setfacl -d -m u:$OTHER:rwx dir"
	assert_status 0
	[ "$(getfacl -cn file | grep -c "^user:$OTHER:rw-\|^group:54322:r--")" -eq 2 ] || fail "expected both entries: $(getfacl -cn file)"
	getfacl -cn dir | grep -q "^default:user:$OTHER:rwx" || fail "expected the default entry: $(getfacl -cn dir)"
}

@test "a directory that is renamed keeps its owner" {
	each_backend renamed
}
renamed() {
	has_ids || return 0
	rm -rf -- * && mkdir -p old/sub && echo text >old/sub/file
	run_airlock run -c "chown -R $OTHER:54322 old && mv old new"
	assert_status 0
	for path in new new/sub new/sub/file; do assert_owner $OTHER:54322 $path; done
}

@test "without capture, foreign ids are refused" {
	each_backend uncaptured
}
uncaptured() {
	echo old >file
	run_airlock run --changes direct -c "chown $OTHER file"
	assert_status 1
	assert_stderr_contains "Operation not permitted"
	run_airlock run --changes direct -c 'chown 0:0 file && echo own'
	assert_stdout own
	run_airlock run -c "chown 4000000000 file" # no such number inside, captured or not
	assert_stderr_contains "Operation not permitted"
	assert_owner 0:0 file
}

# ---- becoming

@test "su and setpriv change the user, and root can end those processes" {
	each_backend becoming
}
becoming() {
	run_airlock run -c "setpriv --reuid $OTHER --regid 54322 --clear-groups sh -c 'id -u; id -g; grep CapEff /proc/self/status'"
	if ! has_ids; then
		[ "$status" -ne 0 ] || fail "expected a refusal"
		return
	fi
	assert_stdout $OTHER$'\n54322\nCapEff:\t0000000000000000'
	run_airlock run -c 'su nobody -s /bin/sh -c "id -un; touch file"'
	assert_stdout nobody
	assert_stderr_contains "Permission denied"
	run_airlock run -c "setpriv --reuid $OTHER --clear-groups sleep 300 & until grep -q '^Uid:.$OTHER' /proc/\$!/status; do sleep 0.01; done
		kill -TERM \$!; wait \$!; echo \$?"
	assert_stdout 143
}

# What somebody tries to read: as root, as the one it belongs to, with capabilities kept, without groups.
READING='
def read(path):
    with open(path) as f:
        f.read()
def as_other(name, uid, gid, keep, path):
    pid = os.fork()
    if pid == 0:
        if keep:
            libc.prctl(8, 1, 0, 0, 0) # PR_SET_KEEPCAPS
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        if keep: # all that were permitted in effect again
            header = (ctypes.c_uint * 2)(0x20080522, 0)
            data = (ctypes.c_uint * 6)()
            libc.capget(header, data)
            data[0] = data[1]
            libc.capset(header, data)
        attempt(name, read, path)
        os._exit(0)
    os.waitpid(pid, 0)
def everybody(path):
    base = os.path.basename(path)
    attempt("root " + base, read, path)
    for uid, gid in (54321, 54321), (54321, 0), (1000, 1000), (65534, 65534), (0, 54321):
        for keep in (0, 1):
            as_other(f"{uid} {gid} {keep} {base}", uid, gid, keep, path)
'

@test "files of others that root cannot read inside stay unreadable, whoever it becomes" {
	each_backend each_profile secrets
}
secrets() {
	has_ids || return 0
	echo secret >"$OUTSIDE/secret" && chown $OTHER:$OTHER "$OUTSIDE/secret" && chmod 600 "$OUTSIDE/secret"
	echo secret >"$OUTSIDE/group" && chown 0:54321 "$OUTSIDE/group" && chmod 060 "$OUTSIDE/group"
	echo secret >"$OUTSIDE/closed" && chmod 000 "$OUTSIDE/closed"
	echo public >"$OUTSIDE/public" && chown $OTHER:$OTHER "$OUTSIDE/public" && chmod 644 "$OUTSIDE/public"
	cp -a "$OUTSIDE/secret" in-project
	run_python --ro "$OUTSIDE" --yes <<-EOF_PYTHON
		$READING
		for name in "secret", "group", "closed":
		    everybody("$OUTSIDE/" + name)
		everybody("in-project")
	EOF_PYTHON
	assert_all_failed 44
	run_python --ro "$OUTSIDE" --yes <<-EOF_PYTHON
		$READING
		everybody("$OUTSIDE/public")
	EOF_PYTHON
	[ "$(grep -c ': done$' "$RAW_STDOUT")" -eq 11 ] || fail "expected that everybody may read what is public"
	run_program setpriv --reuid $OTHER --regid $OTHER --clear-groups cat "$OUTSIDE/secret"
	assert_stdout secret
}

@test "the remaining capabilities change nothing outside the capture" {
	each_backend unchanged
}
unchanged() {
	has_ids || return 0
	echo host >"$OUTSIDE/file"
	run_python --ro "$OUTSIDE" --yes <<-EOF_PYTHON
		for path in "$OUTSIDE/file", "$OUTSIDE", "/etc/hostname", "/dev/null", "/proc/1/oom_score_adj", "/usr":
		    attempt("chown " + path, os.chown, path, 54321, 54321)
		    attempt("chmod " + path, os.chmod, path, 0o4777)
		os.chown("file", 54321, 54321)
		print("captured", os.stat("file").st_uid)
	EOF_PYTHON
	[ "$(grep -c ': E' "$RAW_STDOUT")" -eq 12 ] || fail "expected twelve refusals"
	assert_stdout_contains "captured 54321"
	assert_owner 0:0 "$OUTSIDE/file"
}
