# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of and for helpers.bash
# For .bats files about captured changes; loaded after ../helpers.

CAPTURE=$BATS_TEST_DIRNAME/../capture

# keep_tree NAME DIR; assert_same_tree NAME DIR: DIR is what it was when it was kept, in every byte, name, mode, time, link
# and attribute. Neither is hindered by modes.
keep_tree() {
	python3 "$CAPTURE/tree.py" save "$2" "$BATS_TEST_TMPDIR/$1.tree"
}
assert_same_tree() {
	local faults
	faults=$(python3 "$CAPTURE/tree.py" same "$BATS_TEST_TMPDIR/$1.tree" "$2") || fail "$2 is not as it was ($1):" "$faults"
}
# assert_alike_tree NAME DIR [IGNORED...]: the same but for times that are new in both, and the content of IGNORED
assert_alike_tree() {
	local faults name=$1 dir=$2
	shift 2
	faults=$(python3 "$CAPTURE/tree.py" alike "$BATS_TEST_TMPDIR/$name.tree" "$dir" "$@") || fail "$dir is not like $name:" "$faults"
}

# age DIR: gives everything in it a time long ago
age() {
	find "$1" -exec touch -h -d '2019-05-05 05:05:05.123456789' {} +
}

# run_captured OPTION... -c LINE: `airlock run --json`; sets $RUN to the run's id
run_captured() {
	run_airlock run --json "$@"
	RUN=$(json_get run)
}

# show_changes [RUN]: the changes of a run, as of now, for the assertions below
show_changes() {
	run_airlock changes "${1:-$RUN}" --json
	assert_status 0
}

# change_of PATH KEY: that value of the change of a path, of the JSON on stdout (of `run` or `changes`); "none": no change
change_of() {
	"$JSON_GET" "$RAW_STDOUT" change "$1" "$2"
}

# assert_change PATH KEY=VALUE...: VALUE may be a pattern (reason=*hook*)
assert_change() {
	local path=$1 expected found
	shift
	for expected; do
		found=$(change_of "$path" "${expected%%=*}")
		# shellcheck disable=SC2053 # a pattern
		[[ $found == ${expected#*=} ]] || fail "expected of $path $expected, found: $found"
	done
}

assert_no_change() {
	local found
	found=$(change_of "$1" kind)
	[ "$found" = none ] || fail "expected no change of $1, found: $found"
}

# change_list: KIND PATH of every change on stdout's JSON, in its order
change_list() {
	"$JSON_GET" "$RAW_STDOUT" changes kind path
}

# assert_changes "KIND PATH"...: exactly these, in this order
assert_changes() {
	local found expected
	found=$(change_list)
	expected=$(printf '%s\n' "$@")
	[ "$found" = "$expected" ] || fail "expected changes:" "$expected" "found:" "$found"
}

# meanwhile LINE FUNCTION [OPTION...]: runs the shell line inside; once it is done, calls FUNCTION outside; only then the
# command ends. Sets $RUN; the run's own words are in $BATS_TEST_TMPDIR/meanwhile.out and .err.
meanwhile() {
	started_meanwhile "$@"
	show_changes last
	RUN=$(json_get run)
}

# The same without a look at the changes.
started_meanwhile() {
	local line=$1 function=$2 out=$BATS_TEST_TMPDIR/meanwhile.out pid
	shift 2
	rm -f "$BATS_TEST_TMPDIR/go" "$out" # else an earlier "ready" counts
	mkfifo "$BATS_TEST_TMPDIR/go"
	exec 9<>"$BATS_TEST_TMPDIR/go"
	"$AIRLOCK" run "$@" -c "$line
echo ready; read -r go" <"$BATS_TEST_TMPDIR/go" >"$out" 2>"$BATS_TEST_TMPDIR/meanwhile.err" 3>&- 9>&- &
	pid=$!
	eventually grep -q ready "$out"
	"$function"
	echo go >&9
	status=0
	wait "$pid" || status=$?
	exec 9>&-
	RAN=(meanwhile "$line") stdout=$(cat "$out") stderr=$(cat "$BATS_TEST_TMPDIR/meanwhile.err")
}
