#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2094 # run_airlock sets variables; $ in single quotes is for the shell inside
# What goes into a command, what comes out of it, and how it ends.

load ../helpers

# ---- what is run

@test "a program gets its arguments exactly as they are" {
	each_backend arguments
}
arguments() {
	run_airlock run -- printf '<%s>' 'a b' '' '*' '$HOME' "it's" $'new\nline' -- --json
	assert_status 0
	[ "$(cat "$RAW_STDOUT")" = $'<a b><><*><$HOME><it\'s><new\nline><--><--json>' ] || fail "arguments were changed"
	assert_stderr ''
}

@test "arguments are bytes, not text" {
	each_backend argument_bytes
}
argument_bytes() {
	run_airlock run -- printf %s $'a\xff\xc3z'
	assert_status 0
	[ "$(od -An -tx1 "$RAW_STDOUT" | tr -d ' \n')" = 61ffc37a ] || fail "bytes were changed"
}

@test "-c runs a shell line: pipes, redirects, cd, substitution" {
	each_backend shell_line
}
shell_line() {
	run_airlock run -c 'mkdir -p sub && cd sub && echo one >f && echo two >>f && cat <f | tr a-z A-Z; echo "in $(basename "$PWD")"'
	assert_status 0
	assert_stdout $'ONE\nTWO\nin sub'
	assert_file sub/f $'one\ntwo'
}

@test "-c is /bin/sh unless --shell says otherwise" {
	each_backend shells
}
shells() {
	run_airlock run -c 'echo "$0 ${BASH_VERSION:+bash}"'
	assert_stdout '/bin/sh '
	run_airlock run --shell bash -c 'a=(x y); [[ $0 == bash ]] && echo "${a[1]}"'
	assert_stdout y
	run_airlock run --shell /bin/bash -c 'echo "$0"'
	assert_stdout /bin/bash
	run_airlock run --json --shell fish -c true
	assert_status 2
	assert_json usage error code
}

@test "a file without a known format is a shell script" {
	each_backend script_without_interpreter
}
script_without_interpreter() {
	printf 'echo "$1 $#"\n' >script
	chmod +x script
	run_airlock run -- ./script one two
	assert_status 0
	assert_stdout 'one 2'
}

@test "a program is found in the PATH that the command gets" {
	each_backend found_in_path
}
found_in_path() {
	mkdir -p tools
	printf '#!/bin/sh\necho mine\n' >tools/mine
	chmod +x tools/mine
	PATH=$PROJECT/tools:$PATH run_airlock run -- mine
	assert_status 0
	assert_stdout mine
}

# ---- how it ends

@test "the exit status is the command's own" {
	each_backend own_status
}
own_status() {
	for expected in 0 1 2 42 124 125 126 127 128 137 255; do
		run_airlock run -- sh -c "exit $expected"
		assert_status "$expected"
		assert_stderr ''
	done
	run_airlock run --json -c 'exit 125'
	assert_json exited status
	assert_json 125 exit_code
	assert_json null error
}

@test "death by signal gives 128+N, and the message says so" {
	each_backend by_signal
}
by_signal() {
	for signal in HUP INT QUIT KILL SEGV TERM USR1; do
		local number
		number=$(kill -l $signal)
		run_airlock run --json -- sh -c "kill -$signal \$\$"
		assert_status $((128 + number))
		assert_json signaled status
		assert_json "$number" signal
		assert_json $((128 + number)) exit_code
		assert_json null error
	done
}

@test "a missing program gives 127 and not_found" {
	each_backend not_there
}
not_there() {
	run_airlock run -- no-such-program
	assert_status 127
	assert_stdout ''
	assert_stderr 'airlock: no-such-program: command not found'
	run_airlock run --json -- ./no/such/file
	assert_status 127
	assert_json error status
	assert_json 127 exit_code
	assert_json not_found error code
	assert_json ./no/such/file error subject
	run_airlock run --json -- ''
	assert_status 127
	assert_json not_found error code
}

@test "a file that cannot be executed gives 126 and invalid" {
	each_backend not_executable
}
not_executable() {
	mkdir -p directory
	printf '#!/no/such/interpreter\n' >bad-interpreter
	chmod +x bad-interpreter
	run_airlock run -- ./file
	assert_status 126
	assert_stderr 'airlock: ./file: cannot be executed: Permission denied'
	run_airlock run --json -- ./directory
	assert_status 126
	assert_json invalid error code
	assert_json error status
	assert_json 126 exit_code
}

@test "a timeout gives 124, and the message says so" {
	each_backend timed_out
}
timed_out() {
	run_airlock run --timeout 200ms -- sleep 30
	assert_status 124
	assert_stderr $'airlock: timed out after 200 ms\nairlock: hint: allow more time with --timeout, or --timeout none'
	run_until_timeout before --json -c 'echo before; exec sleep 60'
	assert_status 124
	assert_json timeout status
	assert_json 124 exit_code
	assert_json timeout error code
	assert_json timeout usage limit_hit
	assert_json before stdout
}

@test "wrong usage is 2 and starts nothing" {
	each_backend wrong_usage
}
wrong_usage() {
	run_airlock run --json --timeout soon -- touch started
	assert_status 2
	assert_json usage error code
	assert_json 2 exit_code
	run_airlock run --json --memory -5 -- touch started
	assert_status 2
	run_airlock run --json --pids 0 -- touch started
	assert_status 2
	run_airlock run --json --profile no-such -- touch started
	assert_status 2
	run_airlock run --json --backend no-such -- touch started
	assert_status 2
	assert_absent started
}

@test "an airlock error gives 125, and nothing runs" {
	each_backend refused
}
refused() {
	run_airlock run --json --project "$HOME/nowhere" -- touch started
	assert_refused not_found
	assert_json 125 exit_code
	assert_json null run
	assert_absent started
}

# ---- the result object

@test "the JSON object has every key of the contract, with its type" {
	each_backend whole_object
}
whole_object() {
	run_airlock run --json -c 'echo out; echo err >&2; exit 3'
	assert_status 3
	assert_stderr ''
	check_object
	assert_json exited status
	assert_json out stdout
	assert_json err stderr
	assert_json 4 stdout_bytes
	assert_json false truncated
	assert_json "$PROJECT" working_dir
	assert_json "$AIRLOCK_BACKEND" isolation backend
	assert_json moderate isolation profile
	[ -d "$XDG_STATE_HOME/airlock/runs/$(json_get run)" ] || fail "expected the run's record"
}

# check_object: the object on stdout against the contract
check_object() {
	python3 - "$RAW_STDOUT" <<'EOF_PYTHON' || fail "not the object of the contract"
import json, re, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
result, end = json.JSONDecoder().raw_decode(text)
assert text[end:] == "\n", "one object and nothing else"
number, none = (int, float), type(None)
def has(where, **types):
    for key, kind in types.items():
        assert key in where, key
        kinds = kind if isinstance(kind, tuple) else (kind,)
        value = where[key]
        assert type(value) in kinds, (key, value)
has(result, run=(str, none), status=str, exit_code=int, signal=(int, none), duration_ms=number, stdout=str, stderr=str,
    stdout_bytes=int, stderr_bytes=int, truncated=bool, working_dir=(str, none), isolation=(dict, none),
    usage=(dict, none), changes=dict, error=(dict, none))
assert result["status"] in ("exited", "signaled", "timeout", "error")
assert result["duration_ms"] >= 0
if result["run"] is not None:
    assert re.fullmatch(r"\d{8}-\d{6}\.\d{6}-[0-9a-f]{4}", result["run"])
if result["isolation"] is not None:
    isolation = result["isolation"]
    has(isolation, backend=str, profile=str, filesystem=str, network=str, processes=str, syscalls=str, limits=str)
    for key in ("filesystem", "processes", "syscalls", "limits"):
        assert isolation[key] in ("enforced", "partial", "none"), key
    assert isolation["network"] in ("blocked", "filtered", "allowed", "host", "none")
if result["usage"] is not None:
    has(result["usage"], cpu_ms=number, max_rss_kb=int, limit_hit=(str, none))
    if result["status"] != "error":
        assert result["usage"]["cpu_ms"] > 0 and result["usage"]["max_rss_kb"] > 100
    assert result["usage"]["limit_hit"] in (None, "timeout", "memory", "pids", "fsize")
has(result["changes"], state=str, files=list)
assert result["changes"]["state"] in ("applied", "partial", "held", "discarded", "direct", "none")
if result["error"] is not None:
    has(result["error"], code=str, message=str, op=(str, none), subject=(str, none), hint=(str, none))
    assert result["error"]["code"] in ("usage invalid not_found unavailable init_failed blocked denied timeout conflict"
                                       " busy limit corrupt io internal").split()
    assert result["error"]["message"]
EOF_PYTHON
}

@test "a run that could not start gives the same object" {
	each_backend failed_object
}
failed_object() {
	run_airlock run --json --project /no/such/place -- true
	check_object
	assert_json null run
	assert_json null isolation
	assert_json none changes state
	run_airlock run --json -- /no/such/program
	assert_status 127
	check_object
}

@test "passthrough says that nothing is enforced" {
	AIRLOCK_YES=true run_airlock run --json --backend passthrough -- true
	assert_status 0
	check_object
	assert_json passthrough isolation backend
	for what in filesystem network processes syscalls limits; do
		assert_json none isolation $what
	done
}

@test "run ids sort by time and never repeat" {
	local ids
	for _ in 1 2 3 4 5; do
		run_airlock run --json -- true
		ids+=$(json_get run)$'\n'
	done
	[ "$ids" = "$(sort -u <<<"${ids%$'\n'}")"$'\n' ] || fail "not sorted, or not unique: $ids"
}

# ---- output

@test "stdout and stderr stay apart and in order" {
	each_backend streams
}
streams() {
	run_airlock run -c 'for i in 1 2 3; do echo "out $i"; echo "err $i" >&2; done'
	assert_status 0
	assert_stdout $'out 1\nout 2\nout 3'
	assert_stderr $'err 1\nerr 2\nerr 3'
}

@test "output without a newline at the end stays so" {
	each_backend no_newline
}
no_newline() {
	run_airlock run -c 'printf out; printf err >&2'
	[ "$(od -An -c "$RAW_STDOUT" | tr -d ' ')" = out ] || fail "stdout was changed"
	[ "$(od -An -c "$RAW_STDERR" | tr -d ' ')" = err ] || fail "stderr was changed"
}

@test "bytes pass through unchanged, NUL and invalid UTF-8 included" {
	each_backend raw_bytes
}
raw_bytes() {
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)' >bytes
	run_airlock run -c 'cat bytes; cat bytes >&2'
	cmp bytes "$RAW_STDOUT"
	cmp bytes "$RAW_STDERR"
}

@test "invalid UTF-8 in the result becomes U+FFFD, and is counted in bytes" {
	each_backend invalid_utf8
}
invalid_utf8() {
	run_airlock run --json -- printf 'a\377b\303\050c\355\240\200\000d'
	assert_status 0
	python3 - "$RAW_STDOUT" <<'EOF_PYTHON' || fail "not what was written"
import json, sys
result = json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))
assert result["stdout_bytes"] == 11, result["stdout_bytes"]
assert result["stdout"].startswith("a\ufffdb\ufffd(c\ufffd"), ascii(result["stdout"])
assert result["stdout"].endswith("\0d"), ascii(result["stdout"])
EOF_PYTHON
}

@test "3 MB go through in both directions" {
	each_backend three_megabytes
}
three_megabytes() {
	head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/big"
	"$AIRLOCK" run -- cat <"$BATS_TEST_TMPDIR/big" | cmp - "$BATS_TEST_TMPDIR/big"
}

@test "over the cap the result keeps head and tail and counts the middle; the disk keeps everything" {
	each_backend capped
}
capped() {
	run_airlock run --json --max-output 1K -c 'seq 1 20000; seq 20001 40000 >&2'
	assert_status 0
	assert_json true truncated
	assert_json 108894 stdout_bytes
	assert_json 120000 stderr_bytes
	local run_dir=$XDG_STATE_HOME/airlock/runs
	run_dir=$run_dir/$(json_get run)
	seq 1 20000 | cmp - "$run_dir/stdout"
	seq 20001 40000 | cmp - "$run_dir/stderr"
	python3 - "$RAW_STDOUT" "$run_dir" <<'EOF_PYTHON' || fail "head, tail or count is wrong"
import json, re, sys
result = json.load(open(sys.argv[1]))
for name in ("stdout", "stderr"):
    whole = open(f"{sys.argv[2]}/{name}").read()
    head, left_out, tail = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)", result[name], re.S).groups()
    assert 0 < len(head) <= 512 and 0 < len(tail) <= 512, (len(head), len(tail))
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + int(left_out) + len(tail) == len(whole)
EOF_PYTHON
}

@test "output up to the cap is whole" {
	each_backend under_the_cap
}
under_the_cap() {
	run_airlock run --json --max-output 1K -c 'head -c 1024 /dev/zero | tr "\0" x'
	assert_json false truncated
	assert_json 1024 stdout_bytes
	[ "$(json_get stdout | wc -c)" -eq 1025 ] || fail "expected all of it"
	run_airlock run --json --max-output 1K -c 'head -c 1025 /dev/zero | tr "\0" x'
	assert_json true truncated
}

@test "a character is not cut in two at the cap" {
	each_backend cut_between_characters
}
cut_between_characters() {
	run_airlock run --json --max-output 1001 -- python3 -c 'print("x" + "\u20ac" * 2000)'
	assert_json true truncated
	[[ $(json_get stdout) != *$'\xef\xbf\xbd'* ]] || fail "a character was cut"
}

@test "floods on both streams at once neither hang nor kill the command" {
	each_backend floods
}
floods() {
	run_airlock run --json --timeout 30s -c 'yes out | head -c 20000000 & yes err | head -c 20000000 >&2; wait; echo done'
	assert_status 0
	assert_json 20000005 stdout_bytes
	assert_json 20000000 stderr_bytes
	assert_json true truncated
	[[ $(json_get stdout) == *$'\ndone' ]] || fail "expected the end of it"
}

@test "a reader that goes away ends the command as in any pipe" {
	each_backend reader_goes
}
reader_goes() {
	local start=$SECONDS
	[ "$("$AIRLOCK" run --timeout 20s -- yes 2>"$BATS_TEST_TMPDIR/err" | head -n 1)" = y ]
	[ $((SECONDS - start)) -lt 10 ] || fail "it went on without a reader"
	[ ! -s "$BATS_TEST_TMPDIR/err" ] || fail "$(cat "$BATS_TEST_TMPDIR/err")"
}

@test "a full disk on our side does not harm the command" {
	each_backend full_output
}
full_output() {
	status=0
	"$AIRLOCK" run -c 'seq 1 100000; echo finished >marker; exit 9' >/dev/full || status=$?
	[ "$status" -eq 9 ]
	assert_file marker finished
}

# ---- input

@test "standard input is /dev/null where nothing can come, and a pipe where something can" {
	each_backend input_kinds
}
input_kinds() {
	[ "$("$AIRLOCK" run -- readlink /proc/self/fd/0 </dev/null)" = /dev/null ]
	[ "$("$AIRLOCK" run -- readlink /proc/self/fd/0 <&-)" = /dev/null ]
	echo given >file
	[[ "$("$AIRLOCK" run -- readlink /proc/self/fd/0 <file)" == pipe:* ]]
	[[ "$(echo given | "$AIRLOCK" run -- readlink /proc/self/fd/0)" == pipe:* ]]
	[ "$(echo given | "$AIRLOCK" run -- cat)" = given ]
	[ "$("$AIRLOCK" run -- cat <file)" = given ]
	[ "$("$AIRLOCK" run --json -- readlink /proc/self/fd/0 </dev/null | json_stdin stdout)" = /dev/null ]
	# The descriptor is the sandbox's: the host's device keeps its mode.
	before=$(stat -c %a /dev/null)
	run_airlock run -- python3 -c 'import os; os.fchmod(0, 0o600)' </dev/null
	[ "$status" -ne 0 ]
	[ "$(stat -c %a /dev/null)" = "$before" ]
}

@test "a program that searches the directory unless it is given input does so" {
	echo "a word" >file
	run_airlock run -- rg word </dev/null
	assert_status 0
	[ "$stdout" = "file:a word" ]
}

@test "input is relayed from a pipe, a file and nothing" {
	each_backend inputs
}
inputs() {
	[ "$(echo piped | "$AIRLOCK" run -- cat)" = piped ]
	[ "$("$AIRLOCK" run -- cat <file)" = original ]
	[ "$("$AIRLOCK" run -c 'cat; echo "end $?"' </dev/null)" = 'end 0' ]
	[ "$(printf '' | "$AIRLOCK" run -- wc -c)" = 0 ]
	[ "$("$AIRLOCK" run --json -- cat <file | json_stdin stdout)" = original ]
}
json_stdin() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]], end="")' "$1"
}

@test "a command that reads no input leaves a large one alone" {
	each_backend ignored_input
}
ignored_input() {
	head -c 2000000 /dev/zero >"$BATS_TEST_TMPDIR/big"
	run_program "$AIRLOCK" run --timeout 20s -- echo 'done' <"$BATS_TEST_TMPDIR/big"
	assert_status 0
	assert_stdout 'done'
	yes | run_program "$AIRLOCK" run --timeout 20s -- head -n 1
}

@test "input that comes later is passed on when it comes" {
	each_backend late_input
}
late_input() {
	[ "$({ sleep 0.3 && echo late; } | "$AIRLOCK" run --timeout 20s -- cat)" = late ]
}

@test "closed standard descriptors do no harm" {
	each_backend closed_descriptors
}
closed_descriptors() {
	local closed
	for closed in '<&-' '>&-' '2>&-' '<&- >&-' '>&- 2>&-' '<&- >&- 2>&-'; do
		rm -f written
		status=0
		eval "\"\$AIRLOCK\" run -c 'cat >written; echo out; echo err >&2; exit 7' $closed" </dev/null >/dev/null 2>&1 || status=$?
		[ "$status" -eq 7 ] || fail "with $closed the status was $status"
		[ -f written ] || fail "with $closed it did not run"
	done
	# Only then into the file: some shells redirect themselves for the time a command runs.
	"$AIRLOCK" run -c 'all=$(for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done); echo "$all" >fds' <&- >&- 2>&-
	[ "$(grep -c '^pipe:' fds) $(head -n 1 fds)" = "2 /dev/null" ] || fail "inside: $(cat fds)"
}

# ---- what the caller is like

@test "a caller that ignores SIGCHLD and SIGPIPE does not matter, and the command ignores neither" {
	each_backend ignored_signals
}
ignored_signals() {
	run_program python3 -c '
import os, signal, sys
for name in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1):
    signal.signal(name, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGCHLD})
os.execv(sys.argv[1], sys.argv[1:])' "$AIRLOCK" run --timeout 20s -c 'grep -E "^Sig(Ign|Blk)" /proc/self/status; exit 6' </dev/null
	assert_status 6
	python3 - "$RAW_STDOUT" <<'EOF_PYTHON' || fail "the command inherited a disposition"
import signal, sys
for line in open(sys.argv[1]):
    bits = int(line.split()[1], 16)
    assert not any(bits >> (number - 1) & 1 for number in range(1, 32)), line
EOF_PYTHON
}

@test "the caller's umask is the command's, and our own files are private all the same" {
	each_backend umasks
}
umasks() {
	local mask
	for mask in 0000 0022 0077; do
		rm -rf made "$XDG_STATE_HOME/airlock" "$XDG_DATA_HOME/airlock"
		# There already, so that the test itself can read them whatever the mask.
		: >"$BATS_TEST_TMPDIR/stdout"
		: >"$BATS_TEST_TMPDIR/stderr"
		(umask $mask && run_airlock run -c 'umask; : >made' && assert_status 0 && assert_stdout $mask)
		[ "$(stat -c %a made)" = "$(printf '%o' $((0666 & ~mask)))" ] || fail "made with $(stat -c %a made)"
		[ -z "$(find "$XDG_STATE_HOME/airlock" "$XDG_DATA_HOME/airlock" -maxdepth 2 -perm /077)" ] || fail "others may enter our files"
	done
	run_airlock run -c 'echo x >after'
	assert_status 0
	assert_file after x
}

@test "an argument just below the system's limit works, one at it is refused with the limit" {
	each_backend long_argument
}
long_argument() {
	local below above
	below=$(printf '%*s' 131071 '' | tr ' ' x)
	above=${below}x
	run_airlock run -- sh -c 'echo ${#1}' sh "$below"
	assert_status 0
	assert_stdout 131071
	# A longer one does not even reach airlock on the command line: the kernel refuses it.
	run_airlock run -- echo "$above"
	assert_status 126
	assert_stderr_contains 'Argument list too long'
}

@test "a command line of 1 MB in many arguments works" {
	each_backend many_arguments
}
many_arguments() {
	local part
	part=$(printf '%*s' 100000 '' | tr ' ' y)
	run_airlock run -- sh -c 'echo $#; IFS=; all="$*"; echo ${#all}' sh "$part" "$part" "$part" "$part" "$part" \
		"$part" "$part" "$part" "$part" "$part"
	assert_status 0
	assert_stdout $'10\n1000000'
}

@test "a script of 1 MB on standard input works" {
	each_backend long_script
}
long_script() {
	python3 -c '
for i in range(20000):
    print(f"a={i} # {chr(120) * 40}")
print("echo $a")' >"$BATS_TEST_TMPDIR/script"
	[ "$(wc -c <"$BATS_TEST_TMPDIR/script")" -gt 1000000 ]
	run_program "$AIRLOCK" run -- sh <"$BATS_TEST_TMPDIR/script"
	assert_status 0
	assert_stdout 19999
}
