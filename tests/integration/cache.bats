#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2088 # run_airlock sets status, stdout and stderr; a tilde in a configuration is not the shell's
# Caches of the home: a command may write there, the home stays as it is, the next run of the project finds it, no other does.

load ../helpers

setup() {
	default_setup
	mkdir -p "$HOME/.npm"
	echo yours >"$HOME/.npm/index"
}

kept_dirs() {
	find "$XDG_STATE_HOME/airlock/caches" -mindepth 1 -maxdepth 1 -type d
}

@test "what a command writes to a cache is kept for its project, and reaches neither the home nor the report" {
	each_backend kept
}
kept() {
	"$AIRLOCK" cache clear --all >/dev/null
	cd "$HOME/project" || return
	# .npm is in the home and .cargo is not; the home itself stays read-only.
	run_airlock run --json -c 'cat ~/.npm/index && echo mine >~/.npm/index && echo new >~/.npm/new && echo lib >~/.cargo/registry/lib && echo in >added'
	assert_status 0
	assert_json yours stdout
	assert_stdout_contains '"path": "added"'
	refute_stdout_contains '.npm'
	assert_file "$HOME/project/added" in
	rm "$HOME/project/added"
	assert_file "$HOME/.npm/index" yours
	assert_absent "$HOME/.npm/new"
	assert_absent "$HOME/.cargo"
	run_airlock run -c 'cat ~/.npm/index ~/.npm/new ~/.cargo/registry/lib'
	assert_stdout $'mine\nnew\nlib'
	make_project "$HOME/another"
	run_airlock run -c 'cat ~/.npm/index; cd ~/.npm && ls; cd ~/.cargo/registry && ls'
	assert_stdout_contains yours
	refute_stdout_contains new
	refute_stdout_contains lib
	cd "$HOME/project" || return
	run_airlock run -c 'touch ~/file'
	assert_status 1
	assert_absent "$HOME/file"
}

@test "the cache of a rarer program is there if its program is installed or was used" {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	export PATH="$BATS_TEST_TMPDIR/bin:$PATH"
	run_airlock run -c 'touch ~/.conan2/p/a'
	[ "$status" -ne 0 ] || fail "nobody has conan here"
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/bin/conan"
	chmod +x "$BATS_TEST_TMPDIR/bin/conan"
	run_airlock run -c 'touch ~/.conan2/p/a && ls ~/.conan2/p'
	assert_status 0
	assert_stdout a
	rm "$BATS_TEST_TMPDIR/bin/conan"
	mkdir -p "$HOME/.conan2/p"
	run_airlock run -c 'touch ~/.conan2/p/b && ls ~/.conan2/p'
	assert_status 0
	assert_stdout b
	assert_absent "$HOME/.conan2/p/b"
}

@test "the directories of the caches are their owner's only, and not to be seen from inside" {
	run_airlock run -c 'echo a >~/.npm/a'
	assert_status 0
	local dir
	for dir in "$XDG_STATE_HOME/airlock/caches" $(kept_dirs); do
		[ "$(stat -c %a "$dir")" = 700 ]
	done
	run_airlock run -c "cat ~/.npm/a && ! ls '$XDG_STATE_HOME/airlock/caches'"
	assert_status 0
}

# The caches that a plan has, and where their directories are: "target source".
planned() {
	run_airlock explain --json -- true
	assert_status 0
	json '"\n".join(sorted(m["target"] + " " + m["source"] for m in d["mounts"] if m["because"] == "cache"))'
}

# A function, because a command after "!" fails no test.
lacks() {
	! grep -Eq "$1" <<<"$2"
}

@test "explain shows the caches, and makes nothing; a run makes what it shows" {
	each_backend only_shown
}
only_shown() {
	rm -rf "$XDG_STATE_HOME/airlock/caches"
	local caches
	caches=$(planned)
	grep -q "^$HOME/.npm $HOME/.npm\$" <<<"$caches" # in the home: a layer over it
	grep -q "^$HOME/.cargo/registry $XDG_STATE_HOME/airlock/caches/.*/whole/.cargo%2Fregistry\$" <<<"$caches"
	run_airlock explain -- true
	assert_status 0
	assert_absent "$XDG_STATE_HOME/airlock/caches"
	assert_absent "$HOME/.cargo"
	run_airlock run -c 'touch ~/.cargo/registry/a ~/.npm/a'
	assert_status 0
	[ -e "$(kept_dirs)/whole/.cargo%2Fregistry/a" ]
	[ -e "$(kept_dirs)/upper/.npm/a" ]
}

@test "a plan has the caches that the configuration leaves and adds, per project unless they are shared" {
	local own other
	own=$(planned)
	grep -q "^$HOME/go/pkg " <<<"$own"
	write_config '[cache]' 'paths = ["~/.mytool/cache"]' 'exclude = ["~/.npm", "~/.cache/pip"]'
	own=$(planned)
	grep -q "^$HOME/.mytool/cache " <<<"$own"
	lacks "^$HOME/.npm " "$own"
	# What is excluded lies below ~/.cache: that is no cache as a whole then, but the others in it are.
	lacks "^$HOME/.cache(/pip)? " "$own"
	grep -q "^$HOME/.cache/uv " <<<"$own"
	make_project "$HOME/another"
	other=$(planned)
	[ "$(cut -d' ' -f1 <<<"$own")" = "$(cut -d' ' -f1 <<<"$other")" ]
	[ "$(grep go/pkg <<<"$own")" != "$(grep go/pkg <<<"$other")" ]
	write_config '[cache]' 'shared = true'
	other=$(planned)
	grep -q "^$HOME/go/pkg $XDG_STATE_HOME/airlock/caches/shared/whole/go%2Fpkg\$" <<<"$other"
	cd "$HOME/project" || return
	[ "$(planned)" = "$other" ]
	write_config '[cache]' 'enabled = false'
	[ -z "$(planned)" ]
}

@test "a run that cannot make the directories of its caches fails, and says which" {
	mkdir -p "$XDG_STATE_HOME/airlock"
	: >"$XDG_STATE_HOME/airlock/caches"
	run_airlock run -- touch "$HOME/project/ran"
	assert_status 125
	assert_stderr_contains "$XDG_STATE_HOME/airlock/caches"
	assert_absent "$HOME/project/ran"
	rm "$XDG_STATE_HOME/airlock/caches"
	run_airlock run -- touch "$HOME/project/ran"
	assert_status 0
	[ -e "$HOME/project/ran" ]
}

@test "two runs of a project at once: both write, the second one's layer goes with it" {
	each_backend both_at_once
}
both_at_once() {
	"$AIRLOCK" cache clear --all >/dev/null
	mkfifo "$HOME/project/go" "$HOME/project/ready"
	$AIRLOCK run --changes direct -c 'echo one >~/.npm/one; echo >ready; read x <go; cat ~/.npm/one' >"$BATS_TEST_TMPDIR/first" &
	local first=$!
	read -r _ <"$HOME/project/ready"
	run_airlock run -c 'cat ~/.npm/index && ! test -e ~/.npm/one && echo two >~/.npm/two && cat ~/.npm/two && echo x >~/.cargo/registry/both'
	assert_status 0
	assert_stdout $'yours\ntwo'
	# Not cleared under the feet of a run.
	run_airlock cache clear
	assert_status 125
	assert_stderr_contains "a run is using the caches"
	echo >"$HOME/project/go"
	wait "$first"
	assert_file "$BATS_TEST_TMPDIR/first" one
	rm "$HOME/project/go" "$HOME/project/ready"
	run_airlock run -c 'ls ~/.npm ~/.cargo/registry'
	assert_stdout_contains one
	assert_stdout_contains both
	refute_stdout_contains two
}

@test "a secret below a cache stays hidden, also one that comes to be while the command runs" {
	each_backend secret_hidden
}
secret_hidden() {
	"$AIRLOCK" cache clear --all >/dev/null
	rm -rf "$HOME/.cache"
	mkdir -p "$HOME/.cache/huggingface"
	echo hf_secret >"$HOME/.cache/huggingface/token"
	echo model >"$HOME/.cache/huggingface/model"
	run_airlock run -c 'cat ~/.cache/huggingface/model; cat ~/.cache/huggingface/token'
	assert_stdout model
	rm "$HOME/.cache/huggingface/token"
	mkfifo "$HOME/project/go" "$HOME/project/ready"
	$AIRLOCK run --changes direct -c 'echo >ready; read x <go; cat ~/.cache/huggingface/token ~/.cache/huggingface/later' \
		>"$BATS_TEST_TMPDIR/out" 2>&1 &
	local pid=$!
	read -r _ <"$HOME/project/ready"
	echo hf_secret >"$HOME/.cache/huggingface/token"
	echo harmless >"$HOME/.cache/huggingface/later"
	echo >"$HOME/project/go"
	wait "$pid" || true
	rm "$HOME/project/go" "$HOME/project/ready"
	grep -q harmless "$BATS_TEST_TMPDIR/out"
	! grep -q hf_secret "$BATS_TEST_TMPDIR/out"
}

@test "cache list tells what each takes up, and cache clear removes it" {
	run_airlock cache list
	assert_status 0
	assert_stderr_contains "no project has anything in its caches"
	run_airlock run -c 'head -c 300000 /dev/urandom >~/.npm/big; mkdir -p ~/.cache/x; chmod 000 ~/.cache/x; ln -s /etc ~/.npm/link'
	assert_status 0
	run_airlock cache list
	assert_stdout_contains "~/.npm"
	assert_stdout_contains "$HOME/project"
	run_airlock cache list --json
	[ "$(json '[(c["bytes"] >= 300000, c["entries"]) for c in d["caches"] if c["path"] == "~/.npm"]')" = "[(True, 2)]" ]
	make_project "$HOME/another"
	run_airlock run -c 'echo a >~/.npm/a'
	run_airlock cache clear "$HOME/project"
	assert_status 0
	assert_stdout_contains removed
	run_airlock cache list
	refute_stdout_contains "$HOME/project"
	assert_stdout_contains "$HOME/another"
	[ -e /etc/passwd ]
	cd "$HOME/project" || return
	run_airlock run -c 'cat ~/.npm/index; ls ~/.npm'
	assert_stdout $'yours\nindex'
	run_airlock cache clear --all --json
	assert_status 0
	run_airlock cache list --json
	[ "$(json 'd["caches"]')" = "[]" ]
}

@test "the configuration adds caches, takes some away, shares them, and turns them off" {
	write_config '[cache]' 'paths = ["~/.mytool/cache"]' 'exclude = ["~/.npm"]'
	run_airlock run -c 'echo a >~/.mytool/cache/a && cat ~/.npm/index && ! echo b 2>/dev/null >~/.npm/b'
	assert_status 0
	assert_absent "$HOME/.mytool"
	write_config '[cache]' 'shared = true'
	run_airlock run -c 'echo common >~/.npm/common'
	make_project "$HOME/another"
	run_airlock run -c 'cat ~/.npm/common'
	assert_stdout common
	write_config '[cache]' 'enabled = false'
	run_airlock run -c 'cat ~/.npm/index && ! echo b 2>/dev/null >~/.npm/b'
	assert_status 0
	assert_stdout yours
}

@test "a project that is not trusted can only take caches away" {
	printf '[cache]\npaths = ["~/.mine"]\nshared = true\nexclude = ["~/.cargo/registry"]\n' >.airlock.toml
	run_airlock run -c 'echo a >~/.npm/a && ! touch ~/.mine/a 2>/dev/null && ! touch ~/.cargo/registry/a 2>/dev/null'
	assert_status 0
	rm .airlock.toml
	make_project "$HOME/another"
	run_airlock run -c 'test ! -e ~/.npm/a && touch ~/.cargo/registry/a'
	assert_status 0
}

@test "programs and what lies outside the home cannot be caches" {
	local path
	for path in '~/.local/bin' '~/.local' '~/bin/tool' '~' '/usr/lib'; do
		write_config '[cache]' "paths = [\"$path\"]"
		run_airlock run -- true
		assert_status 125
		assert_stderr_contains "$path"
	done
	write_config '[cache]' 'paths = ["~/.local/share/tool"]'
	run_airlock run -c 'touch ~/.local/share/tool/a'
	assert_status 0
}

@test "a rule for the very path goes before, and one below it leaves the caches beside it" {
	mkdir -p "$HOME/.cache/models" "$HOME/.cache/pip"
	echo model >"$HOME/.cache/models/m"
	run_airlock run --ro "$HOME/.npm" --ro "$HOME/.cache/models" \
		-c 'cat ~/.cache/models/m; ! touch ~/.npm/a 2>/dev/null && ! touch ~/.cache/models/a 2>/dev/null && touch ~/.cache/pip/a'
	assert_status 0
	assert_stdout model
	assert_absent "$HOME/.cache/pip/a"
}

@test "strict has an empty home, and nothing in it is kept" {
	run_airlock run --profile strict -c 'test ! -e ~/.npm && mkdir ~/.npm && touch ~/.npm/a'
	assert_status 0
	run_airlock run --profile strict -c 'test ! -e ~/.npm'
	assert_status 0
}

@test "gc removes the caches of projects that are gone" {
	make_project "$HOME/another"
	run_airlock run -c 'echo a >~/.npm/a'
	cd "$HOME/project" || return
	run_airlock run -c 'echo a >~/.npm/a'
	rm -r "$HOME/another"
	run_airlock gc
	assert_stdout_contains "caches of $HOME/another"
	run_airlock cache list
	refute_stdout_contains "$HOME/another"
	assert_stdout_contains "$HOME/project"
}

@test "npm install writes its cache" {
	command -v npm >/dev/null || skip "needs: npm"
	mkdir -p package
	echo '{"name": "tiny", "version": "1.0.0"}' >package/package.json
	tar -czf tiny.tgz package
	rm -r package
	echo '{"name": "p", "version": "1.0.0", "dependencies": {"tiny": "file:tiny.tgz"}}' >package.json
	run_airlock run -- npm install --offline --no-audit --no-fund
	assert_status 0
	[ -e node_modules/tiny/package.json ]
	[ "$(ls "$HOME/.npm")" = index ]
	run_airlock run -c 'ls ~/.npm'
	assert_stdout_contains _cacache
}
