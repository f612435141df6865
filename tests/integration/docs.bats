#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# What the documents say is so: configurations that are accepted, error codes that exist, links that lead somewhere.

load ../helpers

TOP=$BATS_TEST_DIRNAME/../..

# blocks FILE FENCE: each block that begins with FENCE as a file of its own, named on stdout
blocks() {
	python3 - "$1" "$2" "$BATS_TEST_TMPDIR" <<'EOF_PYTHON'
import pathlib, re, sys
text = pathlib.Path(sys.argv[1]).read_text()
found = re.findall(r"^" + re.escape(sys.argv[2]) + r"\n(.*?)^```$", text, re.M | re.S)
for number, block in enumerate(found):
    path = pathlib.Path(sys.argv[3], f"block{number}")
    path.write_text(block)
    print(path)
EOF_PYTHON
}

@test "every example of docs/configuration.md is accepted" {
	local n=0
	for file in $(blocks "$TOP/docs/configuration.md" '```toml'); do
		cp "$file" .airlock.toml # where paths may be relative
		run_airlock config check .airlock.toml
		assert_status 0
		n=$((n + 1))
	done
	[ "$n" -ge 8 ] || fail "only $n examples found"
}

@test "every example of airlock.toml(5) is accepted" {
	local n=0
	for file in $(blocks "$TOP/docs/man/airlock.toml.5.scd" '```'); do
		cp "$file" .airlock.toml # where paths may be relative
		run_airlock config check .airlock.toml
		assert_status 0
		n=$((n + 1))
	done
	[ "$n" -ge 2 ] || fail "only $n examples found"
}

@test "troubleshooting has every error code, and no other" {
	local there documented
	there=$(grep -oE 'AIRLOCK_ERR_[A-Z_]+ = -' "$TOP/include/airlock/error.h" | sed 's/AIRLOCK_ERR_//; s/ = -//' |
		tr '[:upper:]' '[:lower:]' | sort)
	documented=$(sed -n '/^## By error code/,/^## By machine/s/^| `\([a-z_]*\)`.*/\1/p' "$TOP/docs/troubleshooting.md" | sort)
	[ -n "$there" ] || fail "no codes found"
	[ "$there" = "$documented" ] || fail "in the header: $there" "in the document: $documented"
}

@test "every link between the documents works" {
	python3 - "$TOP" <<'EOF_PYTHON' || fail "broken links"
import pathlib, re, sys
top = pathlib.Path(sys.argv[1])
files = [*top.glob("*.md"), *top.glob("docs/**/*.md"), *top.glob("tests/*.md"), *top.glob("src/*/README.md")]
assert len(files) > 5
broken = [f"{file.relative_to(top)}: {target}" for file in files
          for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text())
          if not (file.parent / target).exists()]
print("\n".join(broken))
sys.exit(bool(broken))
EOF_PYTHON
}

@test "airlock-security(7) lists every secret that moderate hides, and nothing else" {
	local root=$BATS_TEST_DIRNAME/../..
	sed -n '/home_secrets\[\]/,/NULL,/s/^\t"\(.*\)",$/\1/p' "$root/src/policy/secrets.c" | sort >"$BATS_TEST_TMPDIR/hidden"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/hidden")" -gt 400 ] || fail "the table was not found"
	sed -n '/^# WHAT IS HIDDEN/,/^In every profile/s/^\t//p' "$root/docs/man/airlock-security.7.scd" | sed 's/\\_/_/g' |
		grep -o '\*[^*]*\*' | tr -d '*' | sort | diff "$BATS_TEST_TMPDIR/hidden" - >&2 || fail "the table and the page differ"
}

@test "libairlock(3) names only existing functions" {
	local names
	names=$(sed 's/\\//g' "$TOP/docs/man/libairlock.3.scd" | grep -oE 'airlock_[a-z_]+\*?\(' | tr -d '*(' | sort -u)
	[ -n "$names" ] || fail "no names found"
	for name in $names; do
		grep -rqE "\b$name\(" "$TOP/include/airlock" || fail "$name is in no header"
	done
}

# A project in which the words of the README make sense.
readme_project() {
	mkdir src "$HOME/thread"
	printf 'test:\n\techo tested >log\n' >Makefile
	echo 'print("hello")' >script.py
	printf '#!/bin/sh\necho changed >src/a\necho changed >b\n' >refactor.sh
	chmod +x refactor.sh
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s "$AIRLOCK" "$BATS_TEST_TMPDIR/bin/airlock"
	ln -s "$(dirname "$(realpath "$AIRLOCK")")/airlock-sh" "$BATS_TEST_TMPDIR/bin/airlock-sh"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

@test "every command in the README works" {
	readme_project
	echo before >src/a
	local n=0 line
	for file in $(blocks "$TOP/README.md" '```sh'); do
		while read -r line; do
			bash -c "$line" >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null ||
				fail "failed ($?): $line" "$(cat "$BATS_TEST_TMPDIR/out")"
			n=$((n + 1))
		done <"$file"
	done
	[ "$n" -ge 12 ] || fail "only $n commands found"
	[ "$(cat src/a)" = changed ] || fail "the reviewed change is not there"
	[ ! -e b ] || fail "the discarded change is there"
}
