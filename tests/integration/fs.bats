#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # status, stdout and stderr are set by run_airlock
# The file API: airlock fs on a workspace and on a project.

load ../helpers

setup() {
	default_setup
	WS=$BATS_TEST_TMPDIR/ws
	mkdir "$WS"
}

# fs VERB ARG...: on the workspace
fs() {
	run_airlock fs --workspace "$WS" "$@"
}

# put PATH TEXT: writes through the API
put() {
	printf '%s' "$2" | "$AIRLOCK" fs --workspace "$WS" write "$1"
}

assert_error() {
	assert_json "$1" error code
}

@test "/x, x and ./x are the same file, and directories above are made" {
	put /a/b/x one
	assert_file "$WS/a/b/x" one
	for path in /a/b/x a/b/x ./a/b/x /a/./b//x a/c/../b/x; do
		[ "$path" = a/c/../b/x ] && mkdir "$WS/a/c"
		fs read "$path"
		assert_status 0
		assert_stdout one
	done
}

@test "write replaces as a whole and keeps the mode" {
	echo old >"$WS/f"
	chmod 0750 "$WS/f"
	ln "$WS/f" "$BATS_TEST_TMPDIR/other-name"
	put f new
	assert_file "$WS/f" new
	assert_file "$BATS_TEST_TMPDIR/other-name" old
	[ "$(stat -c %a "$WS/f")" = 750 ]
	[ "$(find "$WS" | wc -l)" -eq 2 ]
}

@test "write and edit keep extended attributes" {
	echo old >"$WS/f"
	python3 -c 'import os, sys
for name in ("user.one", "user.two"):
    os.setxattr(sys.argv[1], name, name.encode())' "$WS/f" || skip "needs: extended attributes"
	put f new
	fs edit f --old e --new E
	assert_file "$WS/f" nEw
	[ "$(python3 -c 'import os, sys
print(sorted((name, os.getxattr(sys.argv[1], name)) for name in os.listxattr(sys.argv[1])))' "$WS/f")" = \
		"[('user.one', b'user.one'), ('user.two', b'user.two')]" ]
}

@test "read counts lines from 0 and says where to continue" {
	printf 'a\nb\nc\nd' >"$WS/f"
	fs read f --offset 1 --limit 2 --json
	assert_json $'b\nc' content
	assert_json 2 start_line
	assert_json 3 end_line
	assert_json 4 total_lines
	assert_json 3 next_offset
	fs read f --offset 3 --json
	assert_json d content
	assert_json null next_offset
	fs read f --offset 9 --json
	assert_json "" content
	assert_json null start_line
	assert_json 4 total_lines
	fs read f --offset x
	assert_status 2
}

@test "what is not text comes in base64, and byte for byte without --json" {
	printf 'a\0\377b' >"$WS/f"
	fs read f --json
	assert_json base64 encoding
	assert_json "$(base64 <"$WS/f")" content
	fs read f
	cmp "$WS/f" "$RAW_STDOUT"
}

@test "a file of more than 1 GiB is not read: counting the lines of a sparse one would take hours" {
	truncate -s 8T "$WS/sparse"
	truncate -s 64M "$WS/smaller"
	SECONDS=0
	fs read sparse --json
	assert_status 125
	assert_error invalid
	fs grep x
	assert_status 1
	[ "$SECONDS" -lt 20 ] || fail "it took $SECONDS seconds"
	fs read smaller
	assert_status 0
	[ "$(stat -c %s "$RAW_STDOUT")" -gt 0 ]
}

@test "edit wants the text exactly once" {
	printf 'x y x' >"$WS/f"
	fs edit f --old x --new z --json
	assert_status 125
	assert_error invalid
	fs edit f --old q --new z --json
	assert_status 1
	assert_error not_found
	fs edit f --old '' --new z --json
	assert_error invalid
	fs edit f --old y --new y --json
	assert_error invalid
	fs edit f --old y --new Y --json
	assert_json 1 occurrences
	fs edit f --old x --new '' --all --json
	assert_json 2 occurrences
	assert_file "$WS/f" ' Y '
}

@test "ls tells of files, directories and links" {
	mkdir "$WS/d"
	echo 12345 >"$WS/d/f"
	ln -s d "$WS/l"
	fs ls / --json
	assert_json /d entries 0 path
	assert_json true entries 0 is_dir
	assert_json /l entries 1 path
	assert_json true entries 1 is_dir
	assert_json symlink entries 1 type
	fs ls l --json
	assert_json /l/f entries 0 path
	assert_json 6 entries 0 size
	fs ls d/f
	assert_stdout /d/f
}

@test "glob: bare names at any depth, ** and braces" {
	mkdir -p "$WS/src/deep/er" "$WS/.hidden"
	touch "$WS/a.c" "$WS/src/b.c" "$WS/src/deep/c.h" "$WS/src/deep/er/d.c" "$WS/.hidden/e.c"
	fs glob '*.c'
	assert_stdout $'/.hidden/e.c\n/a.c\n/src/b.c\n/src/deep/er/d.c'
	fs glob 'src/**/*.{c,h}'
	assert_stdout $'/src/b.c\n/src/deep/c.h\n/src/deep/er/d.c'
	fs glob '/*.c'
	assert_stdout /a.c
	fs glob '[b-c].?' src
	assert_stdout $'/src/b.c\n/src/deep/c.h'
	fs glob '*.c' --max 2 --json
	assert_json true truncated
	fs glob '*.none'
	assert_status 1
	fs glob '{a,b' --json
	assert_error invalid
}

@test "grep is literal, has a cap over all files, and passes binary files over" {
	printf 'a.c\nabc\r\nxa.c' >"$WS/one"
	printf 'a.c\n' >"$WS/two.py"
	printf 'a.c\n\0' >"$WS/binary"
	fs grep a.c
	assert_stdout $'/one:1:a.c\n/one:3:xa.c\n/two.py:1:a.c'
	fs grep a.c --glob '*.py' --json
	assert_json /two.py matches 0 path
	assert_json 1 matches 0 line
	assert_json false truncated
	fs grep a.c --max 2 --json
	assert_json true truncated
	assert_json 3 matches 1 line
	fs grep a.c --max 3 --json
	assert_json false truncated
	fs grep a.c two.py
	assert_stdout /two.py:1:a.c
	fs grep ''
	assert_status 125
	fs grep none
	assert_status 1
}

@test "grep searches a very long line and cuts its output" {
	{
		head -c 40000000 /dev/zero | tr '\0' x
		printf 'needle\nshort needle\n'
	} >"$WS/f"
	fs grep needle --json
	assert_json 1 matches 0 line
	assert_json true matches 0 cut
	assert_json 2 matches 1 line
	assert_json 'short needle' matches 1 text
	fs read f --json
	assert_json true cut
	assert_json 2 total_lines
	assert_json 1 next_offset
	fs read f --offset 1
	assert_stdout "short needle"
}

@test "delete: a file, a link itself, a whole directory, never the workspace" {
	mkdir -p "$WS/d/e"
	touch "$WS/d/e/f" "$WS/g"
	ln -s d "$WS/l"
	fs delete l
	[ -d "$WS/d" ]
	fs delete d --json
	assert_json 3 entries
	fs delete /g
	fs delete / --json
	assert_error blocked
	fs delete g --json
	assert_status 1
	assert_error not_found
	[ -d "$WS" ]
}

@test "what is not a file is not read or written, and never waited for" {
	mkfifo "$WS/fifo"
	mkdir "$WS/d"
	for path in fifo d; do
		fs read "$path" --json
		assert_error invalid
		fs write "$path" --json
		assert_error invalid
	done
	fs grep x
	assert_status 1
}

@test "not there is not_found, below a file too" {
	touch "$WS/f"
	for path in none none/at/all f/below; do
		fs read "$path" --json
		assert_status 1
		assert_error not_found
	done
	fs ls none --json
	assert_error not_found
}

@test "a workspace that is not there, is a file, or is /" {
	run_airlock fs --workspace "$WS/none" ls --json
	assert_error not_found
	run_airlock fs --workspace "$PROJECT/file" ls --json
	assert_error invalid
	run_airlock fs --workspace / ls --json
	assert_error invalid
}

@test "--bind-ro: links into it are followed, nothing in it is written" {
	mkdir -p "$BATS_TEST_TMPDIR/skills"
	echo skill >"$BATS_TEST_TMPDIR/skills/s"
	ln -s "$BATS_TEST_TMPDIR/skills" "$WS/.skills"
	fs read .skills/s --json
	assert_error blocked
	fs read .skills/s --bind-ro "$BATS_TEST_TMPDIR/skills"
	assert_stdout skill
	fs ls /else --bind-ro "$BATS_TEST_TMPDIR/skills:/else"
	assert_stdout /else/s
	fs write .skills/t --json --bind-ro "$BATS_TEST_TMPDIR/skills"
	assert_error blocked
	assert_absent "$BATS_TEST_TMPDIR/skills/t"
}

@test "in a project a change is a run that can be undone" {
	printf new | "$AIRLOCK" fs write dir/f
	assert_file dir/f new
	run_airlock fs edit file --old original --new edited --json
	assert_json applied state
	assert_file file edited
	assert_json file path
	run_airlock undo
	assert_file file original
	run_airlock fs delete dir
	assert_absent dir
	run_airlock undo
	assert_file dir/f new
}

@test "in a project a sensitive change is held, and so is one that should be" {
	mkdir .git/hooks
	run_airlock fs write .git/hooks/pre-commit --json
	assert_json held state
	assert_absent .git/hooks/pre-commit
	run_airlock fs edit file --old original --new x --hold --json
	assert_json held state
	assert_file file original
	run_airlock apply last
	assert_file file x
}

@test "a held run's view: added, changed and deleted, and only to look at" {
	mkdir gone
	touch gone/f
	run_airlock run --hold -c 'echo held >file; mkdir new; echo q >new/q; rm -r gone'
	run_airlock fs --run last read file
	assert_stdout held
	run_airlock fs --run last ls
	assert_stdout $'.git/\nfile\nnew/'
	run_airlock fs --run last grep q
	assert_stdout new/q:1:q
	run_airlock fs --run last read gone/f --json
	assert_error not_found
	run_airlock fs read file
	assert_stdout original
	run_airlock apply last file
	run_airlock fs --run last read file
	assert_stdout held
	run_airlock discard last new
	run_airlock fs --run last ls
	refute_stdout_contains new
}

@test "in a project what the policy hides stays hidden, and nothing else is reached" {
	echo secret >.env
	mkdir "$HOME/elsewhere"
	echo far >"$HOME/elsewhere/f"
	ln -s "$HOME/elsewhere/f" link
	write_config '[profiles.mine]' 'extends = "moderate"' "blocked_paths = [\"$PROJECT/.env\"]" '[sandbox]' 'default_profile = "mine"'
	run_airlock fs read .env --json
	assert_error blocked
	run_airlock fs grep secret
	assert_status 1
	run_airlock run --hold -c 'echo x >new'
	run_airlock fs --run last ls
	assert_stdout_contains new
	refute_stdout_contains .env
	run_airlock fs read link --json
	assert_error blocked
	run_airlock fs read ../elsewhere/f --json
	assert_error blocked
	run_airlock fs read /etc/passwd --json
	assert_error blocked
	run_airlock fs read "$PROJECT/file"
	assert_stdout original
}

@test "options that exclude each other are wrong usage" {
	fs read
	assert_status 2
	fs edit f --old x
	assert_status 2
	fs ls --run last
	assert_status 2
	run_airlock fs ls --bind-ro /usr
	assert_status 2
	fs glob a b c
	assert_status 2
	fs grep $'two\nlines' --json
	assert_error invalid
	fs grep "$(head -c 100000 /dev/zero | tr '\0' x)" --json
	assert_error limit
	fs --bind-ro /usr:/ ls --json
	assert_error invalid
}
