#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# A file that a program outside obeys by itself waits for a person, whatever its name, wherever the project lies; what a
# person starts by name does not. Each test has both.

load ../helpers
load ../capture/capture

# assert_states STATE PATH...: each is in that state in the last run; one process for all of them
assert_states() {
	printf '%s' "$stdout" | python3 -c '
import json, sys
states = {f["path"]: (f["state"], f["reason"]) for f in json.load(sys.stdin)["changes"]["files"]}
wrong = [(path, states.get(path)) for path in sys.argv[2:]
         if states.get(path, ("missing",))[0] != sys.argv[1] or (sys.argv[1] == "held") != bool(states[path][1])]
sys.exit("\n".join(map(str, wrong)) if wrong else 0)' "$@" || fail "expected: $1"
}
# assert_held PATH...; assert_applied PATH...: of the last run, and in the project
assert_held() {
	local path
	assert_states held "$@"
	for path; do
		assert_absent "$path"
	done
}
assert_applied() {
	local path
	assert_states applied "$@"
	for path; do
		[ "$(<"$path")" = x ] || fail "expected in $path: x"
	done
}

# put PATH...: a shell line that writes x to each
put() {
	printf 'for f in'
	printf ' %q' "$@"
	printf '; do mkdir -p "$(dirname "$f")"; echo x >"$f"; done'
}

OBEYED=(binding.gyp .envrc.local .direnv/a .mise/config.toml mise.prod.toml .config/mise/config.toml lint-staged.config.js
	husky.config.js .pnp.cjs .yarn/sdks/a .hg/hgrc .sl/config .jj/repo/config.toml hk.pkl prek.toml captainhook.json
	.git-hooks/a .pdbrc .irbrc .pryrc .Rprofile .ghci .ocamlinit .iex.exs .octaverc .latexmkrc jupyter_lab_config.py
	.helix/a .vscode/c_cpp_properties.json .idea/a .lazy.lua .luarc.json .ycm_extra_conf.py .gitpod.yml .idx/a
	.codesandbox/a .pi/a .crush.json crush.json .kilocode/a .openhands/a .factory/a .agents/a .amp/a .cline/a .copilot/a
	.github/hooks/a WARP.md .cargo/config.toml .mvn/a gradle/wrapper/a tools/bazel sub/.envrc
	.bsp/sbt.json .bloop/a.json _darcs/prefs/defaults _FOSSIL_ CVS/Root omnisharp.json renv/activate.R packrat/init.R startup.m
	netlify.toml vercel.json amplify.yml render.yaml heroku.yml codemagic.yaml bitrise.yml gptme.toml
	.GIT-Hooks/b WARP.md:stream $'.di\u200brenv/b' .IDEA./b)
SOURCE=(Makefile conftest.py build.rs setup.py Dockerfile Cargo.lock package-lock.json node_modules/a/.anything
	node_modules/a/.github/workflows/ci.yml vendor/a/.github/workflows/ci.yml .gitignore .gitkeep .editorconfig .dockerignore
	.prettierrc.json .clang-format .env.example .pytest_cache/a .mypy_cache/a .next/a .turbo/a .tox/a .coverage)

@test "names that programs obey are held, source and harmless dot-entries are applied" {
	each_backend names
}
names() {
	make_project "$HOME/names-$AIRLOCK_BACKEND"
	run_captured -c "$(put "${OBEYED[@]}" "${SOURCE[@]}")"
	assert_status 0
	assert_json partial changes state
	assert_held "${OBEYED[@]}"
	assert_applied "${SOURCE[@]}"
}

@test "a dot-entry that no table knows is held, and the configuration can say otherwise" {
	each_backend unknown
}
unknown() {
	make_project "$HOME/unknown-$AIRLOCK_BACKEND"
	write_config
	run_captured -c "$(put .newtool .newdir/deep/file sub/.newdir/.gitignore .gitignore plain)"
	assert_status 0
	assert_held .newtool .newdir/deep/file sub/.newdir/.gitignore
	assert_change .newtool 'reason=unknown dot-file: no table of airlock knows which program reads it'
	assert_applied .gitignore plain
	write_config '[gate]' 'allow = [".newtool", ".newdir/**"]' 'hold = [".prettierrc"]'
	run_captured -c "$(put .newtool .newdir/deep/file .other .prettierrc .editorconfig)"
	assert_status 0
	assert_applied .newtool .newdir/deep/file .editorconfig
	assert_held .other .prettierrc
}

@test "the interpreter of an environment is a link to an installed program, to nothing else" {
	each_backend interpreter
}
interpreter() {
	local target n=0
	make_project "$HOME/interpreter-$AIRLOCK_BACKEND"
	mkdir -p "$HOME/pyprojects" "$HOME/.pyenv/versions/3/bin"
	printf '#!/bin/sh\n' | tee "$HOME/pyprojects/python3" >"$HOME/.pyenv/versions/3/bin/python3"
	chmod +x "$HOME/pyprojects/python3" "$HOME/.pyenv/versions/3/bin/python3"
	for target in "$HOME/pyprojects" "$HOME/pyprojects/python3" "$HOME/.pyenv/versions/3/bin/python4" /etc/python3 /proc/self/cwd/py; do
		n=$((n + 1))
		run_captured -- sh -c 'mkdir -p "$1/bin" && echo home=/usr/bin >"$1/pyvenv.cfg" && ln -s "$2" "$1/bin/python"' sh "env$n" "$target"
		assert_status 0
		assert_held "env$n/bin/python"
		[ -e "env$n/pyvenv.cfg" ] || fail 'expected that the rest of the environment is applied'
	done
	for target in /usr/bin/python3 "$HOME/.pyenv/versions/3/bin/python3"; do
		n=$((n + 1))
		run_captured -- sh -c 'mkdir -p "$1/bin" && echo home=/usr/bin >"$1/pyvenv.cfg" && ln -s "$2" "$1/bin/python"' sh "env$n" "$target"
		assert_status 0
		assert_states applied "env$n/bin/python"
		[ "$(readlink "env$n/bin/python")" = "$target" ] || fail "expected a link to $target"
	done
}

@test "a project is judged by where it lies" {
	each_backend places
}
# in_place DIR HELD APPLIED: relative to the home
in_place() {
	local dir=$HOME/$1
	rm -rf "$dir"
	mkdir -p "$dir"
	cd "$dir" || return
	run_captured -p "$dir" -c "$(put "$2" ${3:+"$3"})"
	assert_status 0
	assert_held "$2"
	[ -z "${3-}" ] || assert_applied "$3"
	cd "$HOME" || return
	rm -rf "$dir"
}
places() {
	in_place .config/fish config.fish
	in_place .config/autostart a.desktop
	in_place .config/systemd user/a.service
	in_place .config/newtool settings
	in_place .local/bin ls
	in_place .vim plugin/a.vim
	in_place proj/.vscode tasks.json a.code-snippets
	in_place proj .envrc src/a.c
	in_place .claude/worktrees/fix .envrc src/a.c
	in_place proj/vendor/x .vscode/tasks.json src/a.c
}

@test "a file that programs obeyed before may move; one that would gain power may not" {
	each_backend moves
}
moves() {
	make_project "$HOME/moves-$AIRLOCK_BACKEND"
	mkdir -p .github/workflows fixture/.vscode old/.vscode
	echo ci >.github/workflows/a.yml
	echo off >.github/workflows/b.off
	echo task >fixture/.vscode/tasks.json
	echo own >old/.vscode/tasks.json
	echo rules >AGENTS.md
	run_captured -c 'mv .github/workflows/a.yml .github/workflows/c.yml; mv .github/workflows/b.off .github/workflows/b.yml
		mkdir .vscode sub; mv fixture/.vscode/tasks.json .vscode/; mv old new; cp AGENTS.md sub/; cp AGENTS.md CLAUDE.md'
	assert_status 0
	assert_change .github/workflows/c.yml state=applied
	assert_file .github/workflows/c.yml ci
	assert_change new/.vscode/tasks.json state=applied
	assert_change sub/AGENTS.md state=applied
	assert_held .github/workflows/b.yml .vscode/tasks.json CLAUDE.md
}

@test "start-up files of an environment that is in use are held, a new environment is applied" {
	each_backend environments
}
environments() {
	make_project "$HOME/environments-$AIRLOCK_BACKEND"
	mkdir -p venv/lib/python3/site-packages venv/bin
	echo 'home = /usr/bin' >venv/pyvenv.cfg
	run_captured -c 'echo "import evil" >venv/lib/python3/site-packages/a.pth; echo "$PWD/src" >venv/lib/python3/site-packages/b.pth
		echo x >venv/lib/python3/site-packages/sitecustomize.py; echo x >venv/bin/activate; echo x >venv/bin/tool
		mkdir -p new/lib/python3/site-packages; echo home=/usr/bin >new/pyvenv.cfg; echo x >new/lib/python3/site-packages/sitecustomize.py'
	assert_status 0
	assert_held venv/lib/python3/site-packages/a.pth venv/lib/python3/site-packages/sitecustomize.py venv/bin/activate
	assert_applied venv/bin/tool new/lib/python3/site-packages/sitecustomize.py
	assert_change venv/lib/python3/site-packages/b.pth state=applied
}

@test "what a link in the home directory or an allowed .envrc leads to is held, what lies beside it is applied" {
	each_backend leads
}
leads() {
	make_project "$HOME/dots-$AIRLOCK_BACKEND"
	mkdir -p config/fish "$HOME/.config/systemd/user" "$HOME/bin"
	rm -f "$HOME/.zshrc" "$HOME/.config/fish" "$HOME/.config/systemd/user/a.service" "$HOME/bin/tool" "$HOME/.later"
	ln -s "$PROJECT/zshrc" "$HOME/.zshrc" # where nothing is yet
	ln -s "../dots-$AIRLOCK_BACKEND/config/fish" "$HOME/.config/fish"
	ln -s "$PROJECT/a.service" "$HOME/.config/systemd/user/a.service"
	ln -s "$PROJECT/tool" "$HOME/bin/tool"
	printf '%s\n' 'use flake' 'watch_file watched # source noted' 'source_env ./sourced' 'eval "$(./started x)"' >.envrc
	run_captured -c "$(put zshrc config/fish/a a.service flake.nix flake.lock sourced started tool config/b watched noted)"
	assert_status 0
	assert_held zshrc config/fish/a a.service flake.nix flake.lock sourced started
	assert_applied tool config/b watched noted

	# In a project without .envrc, and below what a link leads to.
	make_project "$HOME/none-$AIRLOCK_BACKEND"
	run_captured -c "$(put flake.nix sourced started zshrc)"
	assert_applied flake.nix sourced started zshrc
	run_captured -p "$HOME/dots-$AIRLOCK_BACKEND/config/fish" -c "$(put conf.d/a)"
	cd "$HOME/dots-$AIRLOCK_BACKEND/config/fish" || return
	assert_held conf.d/a
}
