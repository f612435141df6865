#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC1003 # run_airlock sets variables; what is typed is quoted for the other shell
# What a person at a terminal sees: questions, run -t and shell. The terminal is tmux's.

load ../helpers

setup() {
	default_setup
	command -v tmux >/dev/null || skip "needs: tmux"
	TMUX_TMPDIR=$BATS_TEST_TMPDIR
	export TMUX_TMPDIR
	PATH=$(dirname "$AIRLOCK"):$PATH
	unset TMUX
	echo 'PS1="ready> "' >"$BATS_TEST_TMPDIR/rc"
	tmux -u -f /dev/null new-session -d -x 80 -y 24 "exec bash --noprofile --rcfile '$BATS_TEST_TMPDIR/rc'"
	wait_for 'ready>'
}

teardown() {
	tmux kill-server 2>/dev/null || true
}

screen() {
	tmux capture-pane -p -J
}

# wait_for PATTERN: until some line of the screen fits it; fails after ten seconds
wait_for() {
	local i
	for ((i = 0; i < 250; i++)); do
		if screen | grep -qE -- "$1"; then return; fi
		sleep 0.04
	done
	echo "never on the screen: $1" >&2
	screen >&2
	return 1
}

type_line() {
	tmux send-keys -l "$1"
	tmux send-keys Enter
}

press() {
	tmux send-keys "$@"
}

# What the terminal's mode is; airlock must leave it as it was.
mode() {
	stty -g -F "$(tmux display-message -p '#{pane_tty}')"
}

# The pid of the airlock that runs in the terminal.
airlock_pid() {
	pgrep -o -x airlock -P "$(tmux display-message -p '#{pane_pid}')"
}

# ---- questions

ask_for_network() {
	type_line 'airlock run --network -- echo it-"ran"; echo status $?'
	wait_for '^Run command with network access: echo it-ran\?$'
	wait_for '^\[A\]llow once  \[D\]eny:'
}

@test "a question: a allows, and only this once" {
	before=$(mode)
	ask_for_network
	press a
	wait_for '^it-ran$'
	wait_for '^status 0$'
	[ "$(mode)" = "$before" ]
	press C-l
	ask_for_network
	press Enter
	wait_for '^status 125$'
}

@test "a question: A, and the words allow and yes, allow" {
	for answer in A allow YES y; do
		ask_for_network
		type_line "$answer"
		wait_for '^it-ran$'
		wait_for '^status 0$'
		type_line clear
		wait_for '^ready> $'
	done
}

@test "a question: Enter, Ctrl-C, Ctrl-D, d, Escape and other words deny" {
	before=$(mode)
	for key in Enter C-c C-d C-z 'C-\' d n x Escape Space Up; do
		ask_for_network
		press "$key"
		wait_for '^status 125$'
		if screen | grep -q '^it-ran$'; then fail "$key allowed it"; fi
		[ "$(mode)" = "$before" ] || fail "$key left the terminal in another mode"
		type_line clear
		wait_for '^ready> $'
	done
	for answer in ay apt-get yesterday 'y y' allowed 'al low' ''; do
		ask_for_network
		type_line "$answer"
		wait_for '^status 125$'
		if screen | grep -q '^it-ran$'; then fail "'$answer' allowed it"; fi
		type_line clear
		wait_for '^ready> $'
	done
}

@test "a question: what was typed ahead does not answer it" {
	type_line 'stty -echo; sleep 2; stty echo; airlock run --network -- echo it-"ran"; echo status $?'
	sleep 0.5
	tmux send-keys -l aaa
	wait_for '^\[A\]llow once  \[D\]eny: *$'
	sleep 0.5
	if screen | grep -qE '^(it-ran|status .*)$'; then fail "an early key answered"; fi
	press d
	wait_for '^status 125$'
}

@test "a question is never answered from standard input" {
	type_line 'yes a | airlock run --network -- echo it-"ran"; echo status $?'
	wait_for '^\[A\]llow once  \[D\]eny:'
	sleep 0.3
	if screen | grep -q '^it-ran$'; then fail "standard input answered"; fi
	press d
	wait_for '^status 125$'
}

@test "a question: SIGTERM denies and leaves the terminal as it was" {
	before=$(mode)
	ask_for_network
	kill -TERM "$(airlock_pid)"
	wait_for '^status (125|143)$'
	[ "$(mode)" = "$before" ]
}

@test "Ctrl-C that the command ignores: it is told how to kill it, and twice does" {
	type_line "airlock run --no-pty -c 'trap \"\" INT; echo go-on; while :; do sleep 0.1; done'; echo status \$?"
	wait_for '^go-on$'
	press C-c
	wait_for 'goes on; Ctrl-C twice within two seconds kills it'
	sleep 2
	press C-c
	sleep 0.3
	press C-c
	wait_for '^status 137$'
}

@test "without a terminal the answer is no, and says which option grants it" {
	run_program setsid -w "$AIRLOCK" run --network -- true </dev/null
	assert_status 125
	assert_stderr_contains "--yes"
	run_program setsid -w "$AIRLOCK" run --json --network -- true </dev/null
	assert_refused denied
	run_program setsid -w "$AIRLOCK" run --network --yes -- echo ran </dev/null
	assert_status 0
	assert_stdout ran
}

@test "a question from the background is not asked" {
	type_line 'set -m; airlock run --network -- echo it-"ran" & wait $!; echo status $?'
	wait_for '^status 125$'
}

@test "playground clear asks; r removes, Enter keeps" {
	mkdir -p "$XDG_DATA_HOME/airlock/playground"
	chmod 700 "$XDG_DATA_HOME/airlock" "$XDG_DATA_HOME/airlock/playground"
	echo x >"$XDG_DATA_HOME/airlock/playground/file"
	type_line 'airlock playground clear; echo status $?'
	wait_for '^Remove .* in 1 entry from'
	wait_for '^\[R\]emove  \[K\]eep:'
	press Enter
	wait_for '^status 125$'
	[ -e "$XDG_DATA_HOME/airlock/playground/file" ]
	type_line 'clear; airlock playground clear; echo status $?'
	wait_for '^\[R\]emove  \[K\]eep: *$'
	press r
	wait_for '^status 0$'
	assert_absent "$XDG_DATA_HOME/airlock/playground/file"
}

# ---- a terminal for the command

@test "run -t: the command has a terminal of its own, as large as ours" {
	type_line 'airlock run -t -- sh -c "test -t 0 && test -t 1 && test -t 2 && stty size"; echo status $?'
	wait_for '^24 80$'
	wait_for '^status 0$'
}

@test "run --no-pty: the command has no terminal" {
	type_line 'airlock run --no-pty -- sh -c "test -t 0 || test -t 1 || test -t 2"; echo status $?'
	wait_for '^status 1$'
}

@test "run -t: the size follows" {
	type_line "airlock run -t -- sh -c 'trap \"stty size\" WINCH; echo wait\"ing\"; while :; do sleep 0.1; done'"
	wait_for '^waiting$'
	tmux resize-window -x 90 -y 30
	wait_for '^30 90$'
	press 'C-\'
	wait_for 'ready> $'
}

@test "run -t: Ctrl-C is the command's" {
	before=$(mode)
	type_line "airlock run -t -- sh -c 'trap \"echo caught; exit 5\" INT; echo wait\"ing\"; while :; do sleep 0.1; done'; echo status \$?"
	wait_for '^waiting$'
	[ "$(mode)" != "$before" ] || fail "the terminal is not raw"
	press C-c
	wait_for 'caught$'
	wait_for '^status 5$'
	[ "$(mode)" = "$before" ]
}

@test "run -t: the terminal is put back when airlock or the command is killed" {
	before=$(mode)
	for signal in TERM HUP QUIT INT; do
		type_line "airlock run -t -- sh -c 'echo wait\"ing\"; exec sleep 100'; echo status \$?"
		wait_for '^waiting$'
		sleep 0.3
		kill -$signal "$(airlock_pid)"
		wait_for "^status $((128 + $(kill -l $signal)))\$"
		[ "$(mode)" = "$before" ] || fail "SIG$signal left the terminal in another mode"
		type_line clear
		wait_for '^ready> $'
	done
	type_line "airlock run -t --timeout 1s -- sleep 100; echo status \$?"
	wait_for '^airlock: timed out after 1 s$'
	wait_for '^status 124$'
	[ "$(mode)" = "$before" ]
	type_line "clear; airlock run -t -- /nonexistent; echo status \$?"
	wait_for '^status 127$'
	[ "$(mode)" = "$before" ]
}

@test "shell: an interactive shell with job control" {
	before=$(mode)
	type_line 'SHELL=/bin/bash PS1= airlock shell -C playground; echo status $?'
	sleep 1
	type_line 'PS1="inside> "; pwd'
	wait_for "^$HOME/playground\$"
	wait_for '^inside> $'
	type_line 'sleep 100'
	sleep 0.5
	press C-z
	wait_for 'Stopped +sleep 100'
	type_line fg
	sleep 0.3
	press C-c
	wait_for '^inside> $'
	type_line 'exit 3'
	wait_for '^status 3$'
	[ "$(mode)" = "$before" ]
}

@test "shell: the end of input ends it" {
	type_line 'SHELL=/bin/sh airlock shell; echo status $?'
	sleep 1
	type_line 'echo ins"ide"'
	wait_for '^inside$'
	press C-d
	wait_for '^status 0$'
}

@test "shell: --shell is started instead of SHELL" {
	type_line 'SHELL=/bin/sh airlock shell --shell bash; echo status $?'
	sleep 1
	type_line 'echo v"ersion" ${BASH_VERSION%%.*}'
	wait_for '^version [0-9]+$'
	type_line exit
	wait_for '^status 0$'
}

@test "without a pty Ctrl-C reaches the command, and a second one ends it" {
	type_line "airlock run --no-pty -- sh -c 'trap \"echo caught\" INT; echo wait\"ing\"; while :; do sleep 0.1; done'; echo status \$?"
	wait_for '^waiting$'
	press C-c
	wait_for 'caught$'
	sleep 0.3 # closer together they would count as one
	press C-c
	wait_for 'status 137$'
}

# ---- colour

@test "messages are coloured on a terminal, unless NO_COLOR" {
	type_line 'airlock bogus'
	wait_for "^airlock: unknown command 'bogus'\$"
	tmux capture-pane -p -e | grep -q $'\e\\[.*airlock:'
	type_line 'clear; NO_COLOR=1 airlock bogus'
	wait_for "^airlock: unknown command 'bogus'\$"
	run tmux capture-pane -p -e
	[[ $output != *$'\e['*airlock:* ]] || fail "coloured in spite of NO_COLOR"
}

@test "doctor has signs on a terminal that can show them, words elsewhere" {
	type_line 'clear; LC_ALL=C.UTF-8 airlock doctor | cat; echo done'
	wait_for '^done$'
	screen | grep -qE '^(ok|degraded|failed) '
	type_line 'clear; LC_ALL=C.UTF-8 airlock doctor; echo done'
	wait_for '^done$'
	screen | grep -qE '^[✓✗!] '
	type_line 'clear; LC_ALL=C airlock doctor; echo done'
	wait_for '^done$'
	screen | grep -qE '^(ok|degraded|failed) '
}
