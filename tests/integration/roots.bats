#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Which directories a command can write to: the project, where its symlinks lead once a person allowed it (what a link does
# before that: tests/security/links.bats), and the real git directory.

load ../helpers

setup() {
	default_setup
	git config --global user.name Test
	git config --global user.email test@example.org
	git config --global init.defaultBranch main
	git config --global protocol.file.allow always
}

# writes PATH: a command that writes there leaves its word on the host
writes() {
	run_airlock run -- sh -c 'echo written >"$1"' sh "$1"
	assert_status 0
	assert_file "$1" written
	rm "$1"
}

# cannot_write PATH: it fails inside, and nothing is there on the host
cannot_write() {
	run_airlock run -- sh -c 'echo written >"$1"' sh "$1"
	[ "$status" -ne 0 ] || fail "expected that it cannot write to $1"
	[ "$status" -ne 125 ] || fail "expected that the command runs"
	assert_absent "$1"
}

# allow PATH...: a person says yes to these links
allow() {
	run_airlock project link "$@"
	assert_status 0
}

roots() {
	run_airlock explain --json -- true
	assert_status 0
	[ "$(json_get roots)" = "$1" ] || fail "expected roots $1" "found: $(json_get roots)"
}

# ---- symlinks

@test "an allowed link to a directory beside the project makes it writable, under its real name" {
	each_backend sibling
}
sibling() {
	mkdir -p "$HOME/lib/deep"
	ln -sfn ../lib/deep linked
	allow linked
	writes "$PROJECT/linked/new"
	writes "$HOME/lib/deep/new"
	cannot_write "$HOME/lib/new"
	roots "[\"$HOME/lib/deep\", \"$PROJECT\"]"
}

@test "a home whose parent is hidden, as /home is: links and worktrees in it count" {
	write_config '[profiles.moderate]' "blocked_paths = [\"$(dirname "$HOME")\"]"
	mkdir "$HOME/lib"
	ln -s ../lib linked
	allow linked
	writes "$PROJECT/linked/new"
	git init -q "$HOME/repo"
	git -C "$HOME/repo" commit -q --allow-empty -m first
	git -C "$HOME/repo" worktree add -q "$HOME/tree"
	cd "$HOME/tree" || return
	run_airlock run -c 'git commit -q --allow-empty -m inside && git log --format=%s'
	assert_status 0
	assert_stdout $'inside\nfirst'
}

@test "a link deep in the project, and one through another link, count too" {
	each_backend deep_link
}
deep_link() {
	mkdir -p "$HOME/one" "$HOME/two" a/b/c
	ln -sfn "$HOME/one" a/b/c/link
	ln -sfn ../two "$HOME/one/further"
	allow a/b/c/link
	allow "$HOME/one/further"
	writes "$PROJECT/a/b/c/link/new"
	writes "$HOME/two/new"
}

@test "nested roots are one" {
	each_backend nested
}
nested() {
	mkdir -p "$HOME/big/small"
	ln -sfn "$HOME/big" big
	ln -sfn "$HOME/big/small" small
	allow big small
	roots "[\"$HOME/big\", \"$PROJECT\"]"
	writes "$HOME/big/small/new"
}

@test "paths are relative to the project, also where another root comes before it by name" {
	each_backend first_root
}
first_root() {
	local other=$HOME/a-first-$AIRLOCK_BACKEND
	mkdir "$other"
	ln -sfn "$other" "$PROJECT/lib"
	allow lib
	run_airlock run --hold -c 'echo 1 >lib/one; echo 2 >two'
	assert_status 0
	run_airlock changes last
	assert_stdout_contains $'A  two\nA  '"$other/one"$'\n'
	run_airlock apply last two
	assert_status 0
	assert_file two 2
	assert_absent "$other/one"
	run_airlock apply last "$other/one"
	assert_status 0
	assert_file "$other/one" 1
	run_airlock undo
	assert_status 0
	assert_absent two
	rm lib
}

@test "a link to a file gives no right to write it" {
	each_backend to_a_file
}
to_a_file() {
	echo keep >"$HOME/notes"
	ln -sfn "$HOME/notes" notes
	run_airlock run -c 'echo changed >notes'
	[ "$status" -ne 0 ]
	assert_file "$HOME/notes" keep
}

@test "links to secrets, to home, above the project and out of home widen nothing" {
	each_backend too_wide
}
too_wide() {
	mkdir -p "$HOME/.ssh" "$HOME/.config/gh/sub" "$BATS_TEST_TMPDIR/outside" "$XDG_CONFIG_HOME/airlock"
	local target
	for target in "$HOME/.ssh" "$HOME/.config/gh/sub" "$HOME" "$HOME/.." / /etc /usr "$BATS_TEST_TMPDIR/outside" \
		"$HOME/.config" "$XDG_STATE_HOME/airlock" "$XDG_CONFIG_HOME/airlock" "$XDG_STATE_HOME"; do
		rm -rf "$XDG_STATE_HOME/airlock/projects"
		ln -sfn "$target" link
		roots "[\"$PROJECT\"]"
		run_airlock project link link
		assert_status 125
		assert_stderr_contains 'never made writable, because'
		cannot_write "$target/airlock-test-new"
	done
	rm link
}

@test "the result names a refused link, with the reason" {
	each_backend told
}
told() {
	mkdir -p "$HOME/.ssh"
	ln -sfn "$HOME/.ssh" keys
	run_airlock run -- true
	assert_status 0
	assert_stderr_contains 'keys'
	assert_stderr_contains "$HOME/.ssh"
	rm keys
	rm -rf "$XDG_STATE_HOME/airlock/projects"
}

@test "dangling links and loops do no harm" {
	each_backend dangling
}
dangling() {
	ln -sfn nowhere dangling
	ln -sfn loop-b loop-a
	ln -sfn loop-a loop-b
	ln -sfn . self
	mkdir -p sub
	ln -sfn ../.. sub/up
	roots "[\"$PROJECT\"]"
	writes "$PROJECT/new"
}

@test "a link that was re-pointed since it was allowed is no root until a person allows that, too" {
	each_backend repointed
}
repointed() {
	mkdir -p "$HOME/first" "$HOME/second"
	ln -sfn "$HOME/first" link
	allow link
	writes "$HOME/first/new"
	run_airlock run --changes direct -c 'ln -sfn "$HOME/second" link'
	assert_status 0
	cannot_write "$HOME/second/new"
	cannot_write "$HOME/first/new"
	run_airlock run -- true
	assert_stderr_contains "link leads to $HOME/second (read-only)"
	run_airlock project scan
	assert_status 0
	assert_stdout_contains "link unanswered: link -> $HOME/second"
	cannot_write "$HOME/second/new"
	allow link
	writes "$HOME/second/new"
	rm link
	rm -rf "$XDG_STATE_HOME/airlock/projects"
}

@test "a link made by a command opens nothing for the next command" {
	each_backend made_inside
}
made_inside() {
	mkdir -p "$HOME/elsewhere"
	run_airlock run -- true
	run_airlock run --changes direct -c 'ln -s "$HOME/elsewhere" gate'
	assert_status 0
	cannot_write "$PROJECT/gate/new"
	rm gate
}

@test "a project that is itself reached through a link has its real name inside" {
	each_backend linked_project
}
linked_project() {
	ln -sfn "$PROJECT" "$HOME/alias"
	cd "$HOME/alias" || return
	run_airlock run -- pwd -P
	assert_status 0
	assert_stdout "$PROJECT"
	run_airlock run --project "$HOME/alias" -c 'echo x >here'
	assert_status 0
	assert_file "$PROJECT/here" x
	cd "$PROJECT" || return
}

@test "a home that is reached through a link is still home" {
	each_backend linked_home
}
linked_home() {
	ln -sfn home "$BATS_TEST_TMPDIR/home-link"
	mkdir -p "$HOME/.ssh" "$HOME/lib"
	echo key >"$HOME/.ssh/id"
	ln -sfn ../lib lib
	allow lib
	HOME=$BATS_TEST_TMPDIR/home-link run_airlock run -c 'cat ~/.ssh/id; echo x >lib/new; echo y >~/playground/y'
	assert_status 0
	refute_stdout_contains key
	assert_file "$HOME/lib/new" x
	assert_file "$XDG_DATA_HOME/airlock/playground/y" y
	rm "$HOME/lib/new"
}

# ---- finding the project

@test "the project is the nearest directory with .git or .airlock.toml, never home" {
	each_backend nearest
}
nearest() {
	mkdir -p "$HOME/outer/inner/deep" "$HOME/plain/sub" "$HOME/.git"
	: >"$HOME/outer/.airlock.toml"
	cd "$HOME/outer/inner/deep" || return
	roots "[\"$HOME/outer\"]"
	cd "$HOME/plain/sub" || return
	roots "[\"$HOME/plain/sub\"]"
	cd "$HOME" || return
	run_airlock explain --json -- true
	assert_status 125
	assert_json invalid error code
	assert_json "$HOME is the home directory: airlock uses it as the project only if you name it" error message
	run_airlock run -p . --changes direct -c 'echo named >named'
	assert_status 0
	assert_file "$HOME/named" named
	cd "$PROJECT" || return
	rm -rf "$HOME/.git"
}

@test "dot-directories of the home, agents' settings and /tmp are taken only when they are named or were added" {
	each_backend unclaimed
}
unclaimed() {
	local dir
	for dir in "$HOME/.config/autostart" "$HOME/.local/bin" "$HOME/lone/.codex" /tmp; do
		mkdir -p "$dir"
		[ "$dir" = /tmp ] || mkdir -p "$dir/.git"
		cd "$dir" || return
		run_airlock run --json -- true
		assert_status 125
		assert_json invalid error code
		assert_json "$dir" error subject
		assert_json 'name it: airlock run -p . …' error hint
	done
	mkdir -p "$PROJECT/.claude/sub/.git"
	cd "$PROJECT/.claude/sub" || return
	roots "[\"$PROJECT\"]"
	cd "$HOME/.local/bin" || return
	run_airlock run -p . -- true
	assert_status 0
	run_airlock project add .
	assert_status 0
	roots "[\"$HOME/.local/bin\"]"
	run_airlock project remove .
	assert_status 0
	cd "$PROJECT" || return
}

# ---- somebody else's directories

@test "a project in a directory that belongs to somebody else and may be written: changes are applied and undone" {
	[ "$(id -u)" -eq 0 ] || skip "needs: root"
	local place as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	place=$(mktemp -d /var/tmp/airlock-shared.XXXXXX)
	mkdir -p "$place/home" "$place/shared/.git"
	chmod 755 "$place"
	chmod 777 "$place/home" "$place/shared"
	cp -L "$AIRLOCK" "$place/airlock"
	cd "$place/shared" || return
	export HOME=$place/home
	unset XDG_STATE_HOME XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
	run_program "${as_nobody[@]}" "$place/airlock" run -c 'echo x >new' </dev/null
	assert_status 0
	assert_stderr_contains '1 change applied'
	assert_stderr_contains 'belongs to another user'
	assert_file new x
	run_program "${as_nobody[@]}" "$place/airlock" undo </dev/null
	assert_status 0
	assert_absent new
	chmod -R u+rwx "$place"
	rm -rf "$place"
}

# ---- git

@test "a commit in a worktree works, and changes nothing of other projects" {
	each_backend worktree
}
worktree() {
	git init -q "$HOME/repo"
	git -C "$HOME/repo" commit -q --allow-empty -m first
	git -C "$HOME/repo" worktree add -q "$HOME/tree"
	cd "$HOME/tree" || return
	run_airlock run -c 'echo text >new && git add new && git commit -q -m inside && git log --format=%s'
	assert_status 0
	assert_stdout $'inside\nfirst'
	[ "$(git -C "$HOME/tree" log -1 --format=%s)" = inside ]
	[ -z "$(git -C "$HOME/tree" status --porcelain)" ]
	cannot_write "$HOME/repo/stray"
	cd "$PROJECT" || return
	rm -rf "$HOME/repo" "$HOME/tree"
}

@test "a commit in a submodule works" {
	each_backend submodule
}
submodule() {
	git init -q "$HOME/library"
	git -C "$HOME/library" commit -q --allow-empty -m library
	git init -q "$HOME/main"
	git -C "$HOME/main" submodule --quiet add "$HOME/library" part
	git -C "$HOME/main" commit -q -m main
	cd "$HOME/main/part" || return
	run_airlock run -c 'echo text >new && git add new && git commit -q -m inside && git log --format=%s'
	assert_status 0
	assert_stdout $'inside\nlibrary'
	[ "$(git -C "$HOME/main/part" log -1 --format=%s)" = inside ]
	cannot_write "$HOME/main/stray"
	cd "$PROJECT" || return
	rm -rf "$HOME/main" "$HOME/library"
}

@test "a forged gitfile opens no other repository" {
	each_backend forged
}
forged() {
	git init -q "$HOME/victim"
	mkdir -p "$HOME/forged"
	echo "gitdir: $HOME/victim/.git" >"$HOME/forged/.git"
	cd "$HOME/forged" || return
	run_airlock run -c 'echo stolen >"$HOME/victim/.git/description"'
	[ "$status" -ne 0 ]
	refute_file_has "$HOME/victim/.git/description" stolen
	mkdir -p "$HOME/victim/.git/worktrees/x"
	echo "gitdir: $HOME/victim/.git/worktrees/x" >"$HOME/forged/.git"
	run_airlock run -c 'echo stolen >"$HOME/victim/.git/description"'
	[ "$status" -ne 0 ]
	refute_file_has "$HOME/victim/.git/description" stolen
	cd "$PROJECT" || return
	rm -rf "$HOME/victim" "$HOME/forged"
}
refute_file_has() {
	! grep -q "$2" "$1" || fail "$1 was changed"
}
