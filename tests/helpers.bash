# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# What every .bats file starts with:
#
#   load ../helpers
#
#   @test "a command's exit status is airlock's own" {
#       run_airlock run -c 'exit 7'
#       assert_status 7
#   }
#
# Before each test: HOME, the XDG directories and the project $PROJECT are new and empty, the project is the current
# directory, and no AIRLOCK_ variable is set. After run_airlock: $status, $stdout, $stderr; $RAW_STDOUT and $RAW_STDERR
# are the files behind them, for bytes that a shell variable cannot hold. Every assert_ shows them when it fails.
#
# A file with a setup() of its own calls `default_setup` in it first.

bats_require_minimum_version 1.5.0

setup() {
	default_setup
}

default_setup() {
	make_home "$BATS_TEST_TMPDIR/home"
	make_project "$HOME/project"
	unset "${!AIRLOCK_@}" TMPDIR
	AIRLOCK=$BATS_AIRLOCK
}

# A run that was killed leaves a directory of the kernel's, mode 000, that bats could not remove.
teardown_file() {
	chmod -R u+rwx "$BATS_RUN_TMPDIR" 2>/dev/null || true
}

# The variables of the test run itself, out of the way of those that airlock reads.
BATS_AIRLOCK=${AIRLOCK:-${BATS_AIRLOCK:?set AIRLOCK to the airlock to test, or use tools/check}}
TEST_BACKENDS=${AIRLOCK_TEST_BACKENDS:-${TEST_BACKENDS:-native}}
JSON_GET=${JSON_GET:-${BATS_AIRLOCK%/*}/tests/unit/json_get} # built from tests/json_get.c
export BATS_AIRLOCK TEST_BACKENDS JSON_GET

# make_home DIR: a new home with its XDG directories, as after a login
make_home() {
	export HOME=$1
	export XDG_CONFIG_HOME=$HOME/.config XDG_DATA_HOME=$HOME/.local/share XDG_STATE_HOME=$HOME/.local/state
	export XDG_CACHE_HOME=$HOME/.cache XDG_RUNTIME_DIR=$1.run
	mkdir -p "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME"
	mkdir -m 0700 "$XDG_RUNTIME_DIR"
}

# make_project DIR: a project with a file in it; becomes $PROJECT and the current directory
make_project() {
	PROJECT=$1
	mkdir -p "$PROJECT/.git"
	echo original >"$PROJECT/file"
	cd "$PROJECT" || return
}

# write_config TEXT...: the user's configuration, one argument a line
write_config() {
	mkdir -p "$XDG_CONFIG_HOME/airlock"
	printf '%s\n' "$@" >"$XDG_CONFIG_HOME/airlock/config.toml"
}

# run_airlock ARG...: runs it with empty input, keeps the streams apart
run_airlock() {
	run_program "$AIRLOCK" "$@" </dev/null
}

# run_until_timeout WORD ARG...: runs `airlock run ARG...` with a timeout that ends it after the command has printed WORD. A loaded
# machine may need longer than the first timeout to start the command at all, so a longer one is tried then.
run_until_timeout() {
	local word=$1 limit
	shift
	for limit in 300ms 3s 30s; do
		run_airlock run --timeout "$limit" "$@"
		[[ $stdout != *"$word"* ]] || return 0
	done
}

# run_program PROGRAM ARG...: the same for any program; input is the caller's
run_program() {
	RAN=("$@")
	RAW_STDOUT=$BATS_TEST_TMPDIR/stdout RAW_STDERR=$BATS_TEST_TMPDIR/stderr
	status=0
	"$@" >"$RAW_STDOUT" 2>"$RAW_STDERR" || status=$?
	# Without starting a program: this runs thousands of times. Bash leaves NULs out, with a warning.
	{
		stdout=$(<"$RAW_STDOUT")
		stderr=$(<"$RAW_STDERR")
	} 2>/dev/null
}

# each_backend FUNCTION: calls it once for every backend under test, with AIRLOCK_BACKEND set
each_backend() {
	local backend
	for backend in $TEST_BACKENDS; do
		echo "# with backend $backend"
		export AIRLOCK_BACKEND=$backend
		"$@"
	done
	unset AIRLOCK_BACKEND
}

# each_profile FUNCTION: calls it once for every built-in profile, with AIRLOCK_PROFILE set
each_profile() {
	local profile
	for profile in strict moderate permissive; do
		echo "# with profile $profile"
		export AIRLOCK_PROFILE=$profile
		"$@"
	done
	unset AIRLOCK_PROFILE
}

# run_python OPTION...: runs the Python program on stdin inside, with these options of `airlock run`. The program can
# say attempt(NAME, FUNCTION, ARG...), which prints "NAME: done" or the error ("NAME: EROFS"), and call(NAME, ARG...):
# that function of libc, or the system call of that number, failing as OSError.
run_python() {
	local program
	program=$(cat)
	run_airlock run "$@" -- python3 -I -S -c "$PYTHON_PRELUDE$program"
}

# run_outside: the same program on the host, without airlock: the control of a refusal that an ordinary user would not meet
run_outside() {
	local program
	program=$(cat)
	run_program python3 -I -S -c "$PYTHON_PRELUDE$program" </dev/null
}

# assert_inside OPTION...: a command with these options runs confined: a filter of system calls, no capabilities to gain. For
# tests of what the kernel refuses to every ordinary user, where nothing else tells a sandbox from none.
assert_inside() {
	run_airlock run "$@" -- grep -E '^(Seccomp|NoNewPrivs|CapBnd):' /proc/self/status
	assert_status 0
	if is_root && [ "${stdout%%$'\n'*}" = $'CapBnd:\t'"$KEPT_BY_ROOT" ]; then
		stdout=${stdout/"$KEPT_BY_ROOT"/0000000000000000}
	fi
	assert_stdout $'CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2'
}
# CHOWN FOWNER FSETID KILL SETGID SETUID: what root's command keeps in its own user namespace, where it has other ids (native
# backend, captured writes; src/child/view.c). It opens nothing of the host: integration/other_ids.bats.
KEPT_BY_ROOT=00000000000000f9

PYTHON_PRELUDE='
import ctypes, errno, os, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, function, *arguments):
    try:
        function(*arguments)
        print(f"{name}: done", flush=True)
    except OSError as error:
        print(f"{name}: {errno.errorcode.get(error.errno, error)}", flush=True)
def call(name, *arguments):
    arguments = [a if isinstance(a, (bytes, type(None))) else ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if isinstance(name, int):
        arguments.insert(0, ctypes.c_long(name))
        name = "syscall"
    function = getattr(libc, name)
    function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    result = function(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result
def write(path, text=b"x", flags=0):
    fd = os.open(path, os.O_WRONLY | flags)
    os.write(fd, text)
    os.close(fd)
'

# assert_attempts NAME=RESULT...: exactly these attempts of run_python were made, with these results. A result may be
# several words separated by "|": any of these will do.
assert_attempts() {
	local expected found
	assert_status 0
	for expected; do
		found=$(sed -n "s/^${expected%%=*}: //p" "$RAW_STDOUT")
		[[ -n $found && "|${expected#*=}|" == *"|$found|"* ]] || fail "expected ${expected%%=*}: ${expected#*=}"
	done
	[ "$(grep -c '^[^:]*: [A-Za-z0-9]*$' "$RAW_STDOUT")" -eq $# ] || fail "expected $# attempts"
}

# assert_all_failed N: run_python made N attempts, and every one was refused
assert_all_failed() {
	assert_status 0
	if grep -q ': done$' "$RAW_STDOUT"; then fail "expected that all attempts fail"; fi
	[ "$(grep -c '^[^:]*: [A-Za-z0-9]*$' "$RAW_STDOUT")" -eq "$1" ] || fail "expected $1 attempts"
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

FAIL_SHOWS=20000 # characters of a stream: a list of thousands of changes helps nobody

# fail MESSAGE...: ends the test, showing the last run
fail() {
	{
		printf '%s\n' "$@"
		if [ -n "${RAN+set}" ]; then
			printf 'ran:   '
			printf ' %q' "${RAN[@]}"
			printf '\nstatus: %s\n' "$status"
			printf 'stdout: %s\nstderr: %s\n' "${stdout:0:FAIL_SHOWS}" "${stderr:0:FAIL_SHOWS}"
		fi
	} >&2
	return 1
}

assert_status() {
	[ "$status" -eq "$1" ] || fail "expected exit status $1"
}

# assert_stdout TEXT, assert_stderr TEXT: exactly this, but for newlines at the end
assert_stdout() {
	[ "$stdout" = "$1" ] || fail "expected stdout: $1"
}

assert_stderr() {
	[ "$stderr" = "$1" ] || fail "expected stderr: $1"
}

assert_stdout_contains() {
	[[ $stdout == *"$1"* ]] || fail "expected in stdout: $1"
}

assert_stderr_contains() {
	[[ $stderr == *"$1"* ]] || fail "expected in stderr: $1"
}

refute_stdout_contains() {
	[[ $stdout != *"$1"* ]] || fail "expected not in stdout: $1"
}

refute_stderr_contains() {
	[[ $stderr != *"$1"* ]] || fail "expected not in stderr: $1"
}

# assert_file FILE TEXT: its content, but for newlines at the end
assert_file() {
	[ -f "$1" ] || fail "expected a file: $1"
	[ "$(cat "$1")" = "$2" ] || fail "expected in $1: $2" "found: $(cat "$1")"
}

# Also true of a dangling symlink: nothing of that name may be there.
assert_absent() {
	if [ -e "$1" ] || [ -L "$1" ]; then fail "expected not to exist: $1"; fi
}

# A word that no other process has among its arguments.
new_marker() {
	# shellcheck disable=SC2034 # for the tests
	MARKER=airlock-marker-$BATS_ROOT_PID-$BATS_TEST_NUMBER-$RANDOM
}

# eventually COMMAND...: until it succeeds; fails after thirty seconds, or EVENTUALLY_SECONDS
eventually() {
	local i
	for ((i = 0; i < 20 * ${EVENTUALLY_SECONDS:-30}; i++)); do
		if "$@"; then return; fi
		sleep 0.05
	done
	fail "never true: $*"
}

# assert_no_process MARKER: nothing on this machine runs with that word
assert_no_process() {
	local left
	left=$(pgrep -fa -- "$1") || return 0
	fail "expected no process, found: $left"
}

# json_get KEY...: that value of the JSON object on stdout; list positions are numbers. Strings come bare, everything
# else as JSON (null, true, 7, ["a"]).
json_get() {
	"$JSON_GET" "$RAW_STDOUT" get "$@"
}

# json EXPRESSION: of python, where d is the object on stdout
json() {
	python3 -I -S -c "import json,sys; d=json.load(open(sys.argv[1])); print(($1))" "$RAW_STDOUT"
}

# assert_json VALUE KEY...
assert_json() {
	local expected=$1 found
	shift
	found=$(json_get "$@" 2>&1) || fail "no $* in the JSON on stdout: ${found##*$'\n'}"
	[ "$found" = "$expected" ] || fail "expected $*: $expected" "found: $found"
}

# assert_refused CODE: run --json ended with that error code, and with the exit status of airlock's own failures
assert_refused() {
	assert_status 125
	assert_json error status
	assert_json "$1" error code
}
