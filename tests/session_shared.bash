# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # run_airlock sets status, stdout and stderr
# What tests of sessions whose commands share their processes have in common, and what is tried with every backend that can do it.

write_server() {
	cat >serve.py <<-'EOF'
		import http.server, sys
		http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
	EOF
}

# step COMMAND-LINE [OPTION...]: a command of session s
step() {
	local line=$1
	shift
	run_airlock run --session s --json "$@" -c "$line"
	assert_status 0
}

new_session() {
	run_airlock session new s --changes "${1:-hold}"
	assert_status 0
}

# await COMMAND...: until it succeeds
await() {
	local i
	for ((i = 0; i < 100; i++)); do
		if "$@"; then
			return
		fi
		sleep 0.1
	done
	fail "waited in vain: $*"
}

has_processes() { # COUNT
	run_airlock session show s --json
	[ "$(grep -c '"pid":' <<<"$stdout")" = "$1" ]
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

background_pid() {
	run_airlock session show s --json
	grep -m1 -o '"pid": [0-9]*' <<<"$stdout" | grep -o '[0-9]*'
}

# ---- the same for every backend

leaves_a_server() {
	new_session
	step 'python3 serve.py 8123 >/dev/null 2>&1 & echo started'
	assert_json 1 background
	assert_stdout_contains '1 process goes on in the background: python3 serve.py 8123'
	step 'for i in 1 2 3 4 5 6 7 8 9; do curl -sf http://127.0.0.1:8123/file && break; sleep 0.3; done'
	assert_json original stdout
	run_airlock session show s --json
	assert_json 'python3 serve.py 8123' processes 0 command
	run_airlock session list --json
	assert_json 1 sessions 0 processes
	step 'pkill -x python3; sleep 0.2; ps ax'
	[[ $stdout != *serve.py* ]] || fail "it is still there"
	run_airlock session show s --json
	[[ $stdout == *'"processes": []'* ]] || fail "it is still told"
}

changes_later() {
	new_session
	step '(sleep 1; echo late >late; rm gone; echo 2 >>file) & echo 1 >first; echo x >gone; echo mine >both; sleep 0.1'
	assert_json 1 step
	step 'cat first; echo theirs >both'
	assert_json 1 stdout
	assert_json 2 step
	await has_processes 0
	step 'ls; cat both file'
	assert_json $'both\nfile\nfirst\nlate\nserve.py\ntheirs\noriginal\n2' stdout
	run_airlock session show s --json
	assert_json 3 steps 2 count
	run_airlock apply s
	assert_status 0
	assert_file both theirs
	assert_file late late
	[ ! -e gone ] || fail "gone is there"
}

outlives_airlock() {
	new_session
	step 'sleep 300 & :'
	"$AIRLOCK" run --session s -c 'echo x >cut; touch /tmp/there; sleep 400' >/dev/null 2>&1 </dev/null &
	local killed=$!
	await has_processes 3
	kill -9 "$killed"
	await has_processes 1
	step 'cat cut; ls /tmp'
	assert_json $'x\nthere' stdout
}

limits_the_session() {
	new_session
	step 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 300 & done'
	run_airlock run --session s --json --pids 60 -c 'for i in 1 2 3 4 5 6; do sleep 0.3 & done; wait'
	assert_status 0
	run_airlock run --session s --json --pids 12 -c 'for i in 1 2 3 4 5 6; do sleep 0.3 & done; wait'
	[ "$status" -ne 0 ] || fail "more processes than the limit"
	assert_json pids usage limit_hit
	run_airlock session end s
	run_airlock run --session s --json --pids 12 -c 'for i in 1 2 3 4 5 6; do sleep 0.3 & done; wait'
	assert_status 0
	[[ $stdout != *session-pids* ]] || fail "it says that it counts the command alone"
}

cannot_look_into_guards() {
	new_session
	step 'sleep 300 & :'
	step 'for p in $(ls /proc | grep "^[0-9]*$"); do grep -q "^Name:.airlock" /proc/$p/status 2>/dev/null || continue
		echo found
		for f in /proc/$p/fd/* /proc/$p/root /proc/$p/cwd /proc/$p/exe; do readlink $f; done 2>/dev/null
		cat /proc/$p/environ /proc/$p/mem 2>/dev/null
		gdb -p $p --batch 2>/dev/null | grep -i attached; done; :'
	! json_get stdout | grep . | grep -qv '^found$' || fail "$(json_get stdout)"
	[[ $(json_get stdout) == found*found*found* ]] || fail "not all were found"
}

# ends_the_session SIGNAL NAME: sent by a process that an earlier command left, to all processes of that name. The attack looks at one
# process after another, so it may miss one that has the name for a moment only: then the next command is attacked.
ends_the_session() {
	cat >attack <<-EOF
		while ! grep -q '^PPid:.1$' /proc/\$\$/status; do sleep 0.05; done # until its own guard is gone
		while :; do for p in \$(ls /proc | grep '^[0-9]*\$'); do
			if grep -q '^Name:.$2' /proc/\$p/status 2>/dev/null; then kill -$1 \$p 2>/dev/null; fi; done; done
	EOF
	new_session
	step 'sh attack & echo before >before; sleep 0.1'
	survives_attack
}

# survives_attack: commands are run until one is hit; then the session has ended, and what it holds is still there
survives_attack() {
	local tries
	for ((tries = 0; tries < 20; tries++)); do
		SECONDS=0
		run_airlock run --session s --json --timeout 60s -c 'sleep 1; echo done'
		[ "$SECONDS" -lt 20 ] || fail "it took $SECONDS s"
		[ "$status" -eq 0 ] || break
	done
	[ "$status" -ne 0 ] || fail "nobody noticed"
	await has_processes 0
	step 'cat before'
	assert_json before stdout
	run_airlock session end s
	run_airlock discard s
	rm -rf "$XDG_STATE_HOME/airlock/sessions"
}

# The same by an attack that asks nobody's name and so meets the first process at every stage, while it makes its mounts too. Its own
# process and the holder, which is process 1, are left out.
ends_the_session_at_any_stage() {
	local i
	cat >attack <<-'EOF'
		while ! grep -q '^PPid:.1$' /proc/$$/status; do sleep 0.05; done
		while :; do for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = 1 ] || [ $p = $$ ] || kill -KILL $p; done; done 2>/dev/null
	EOF
	for ((i = 0; i < 8; i++)); do
		new_session
		step 'sh attack & echo before >before; sleep 0.1'
		survives_attack
	done
}

# What a command wrote is scanned and judged when it ends. A process of an earlier command that has one of its files open could
# write to it afterwards, past the gate.
keeps_a_file_open() { # MODE
	new_session "$1"
	step 'python3 -c "
import os, time
while True:
    time.sleep(0.02)
    for p in filter(str.isdigit, os.listdir(\"/proc\")):
        try:
            fd = os.open(f\"/proc/{p}/root$PWD/victim\", os.O_WRONLY)
        except OSError:
            continue
        open(\"/tmp/open\", \"w\").close()
        while not os.path.exists(\"/tmp/write\"):
            time.sleep(0.02)
        os.write(fd, b\"EVIL\")
        open(\"/tmp/written\", \"w\").close()
        time.sleep(300)
" & :'
	step 'echo good >victim; while [ ! -e /tmp/open ]; do sleep 0.05; done'
	step 'touch /tmp/write; while [ ! -e /tmp/written ]; do sleep 0.05; done'
	step 'cat victim'
	assert_json good stdout
}

holds_what_was_judged() {
	keeps_a_file_open hold
	run_airlock apply s
	assert_status 0
	assert_file victim good
}
