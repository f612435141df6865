#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What a command sees is the plan's, not the backend's: the view from inside through both, line by line.

load ../helpers

VIEW=$(<"$BATS_TEST_DIRNAME/../inside_view.py")

# view BACKEND OPTION...
view() {
	local backend=$1 name hosts=()
	shift
	for name in /proc/self/ns/*; do
		hosts+=(--env "HOST_${name##*/}=$(readlink "$name")")
	done
	run_airlock run --backend "$backend" "${hosts[@]}" "$@" -- python3 -I -S -c "$VIEW"
	assert_status 0
	# Not the same: /dev of bwrap has no limit of its own; its devpts belongs to the user, who may not change anything in it
	# either. The files that hide .env and /proc/kallsyms and stand for /etc/hosts and resolv.conf lie in the home, which bwrap sees through a
	# read-only overlay.
	# As root with native the command has a few capabilities (other_ids.bats).
	sed -E -e '/^Cap(Prm|Eff|Bnd) /s/00f9$/0000/' -e '/^mount .*\/\.env /d' -e '/^mount \/(etc\/(hosts|resolv\.conf)|proc\/kallsyms) /d' -e '/^size \/dev [0-9]*$/d' -e '/^entry \/dev\/pts /s/[0-9]+ [0-9]+ 0 $/owner/' "$RAW_STDOUT" >"$BATS_TEST_TMPDIR/$backend"
}

same_view() {
	view bubblewrap "$@"
	view native "$@"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/native")" -gt 80 ] || fail "that is not much of a view"
	diff "$BATS_TEST_TMPDIR/bubblewrap" "$BATS_TEST_TMPDIR/native" >&2 || fail "expected no difference"
}

@test "both backends show the same view with captured writes" {
	each_profile same_view
}

@test "both backends show the same view with --changes direct" {
	each_profile same_view --changes direct
}

@test "both backends show the same view with hidden, visible and writable paths" {
	mkdir -p "$HOME/shown" "$HOME/extra" "$PROJECT/secret" "$PROJECT/kept"
	echo secret >"$PROJECT/.env"
	each_profile same_view --yes --hide "$PROJECT/secret" --hide "$PROJECT/.env" --ro "$PROJECT/kept" --ro "$HOME/shown" \
		--allow-write "$HOME/extra"
}

@test "both backends show the same view with the network" {
	AIRLOCK_PROFILE=moderate same_view --yes --network
}
