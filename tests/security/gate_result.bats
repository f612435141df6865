#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# The resulting tree is what counts: settings that lie outside of the project, and what two runs, an undo or a redo bring
# together although each of them was harmless. Each test has an act of the same kind that is applied.

load ../helpers
load ../capture/capture

setup() {
	default_setup
	unset "${!GIT_@}"
	rm -rf .git file
	git init -q .
	echo one >a
}

# fresh_project NAME: a repository of its own for each backend
fresh_project() {
	make_project "$HOME/$1-$AIRLOCK_BACKEND"
	rm -rf .git file
	git init -q .
}

applied() {
	run_captured -c "$1"
	assert_status 0
	assert_json applied changes state
}
held() {
	run_captured -c "$1"
	assert_status 0
	assert_change "$2" state=held "reason=*$3*"
}

# refused_undo RUN REASON: by a person without --force, and by an agent, who is not told of it
refused_undo() {
	run_airlock undo "$1"
	assert_status 3
	assert_stderr_contains "$2"
	assert_stderr_contains '--force'
	AIRLOCK_AGENT=1 run_airlock undo "$1"
	assert_status 3
	refute_stderr_contains '--force'
	AIRLOCK_AGENT=1 run_airlock undo --force "$1"
	assert_status 125
}
undone() {
	run_airlock undo "$1"
	assert_status 0
}

@test "undo does not restore a setting that points to something newer" {
	each_backend setting_back
}
setting_back() {
	local first second
	fresh_project setting
	git config core.hooksPath tools
	mkdir tools
	echo mine >tools/pre-push
	applied 'git config --unset core.hooksPath'
	first=$RUN
	# The positive control: what was there all the time is the person's own.
	undone "$first"
	[ "$(git config core.hooksPath)" = tools ]
	undone "$first"
	[ -z "$(git config core.hooksPath)" ]
	applied 'echo evil >tools/pre-commit'
	second=$RUN
	refused_undo "$first" 'git hook'
	[ -z "$(git config core.hooksPath)" ]
	undone "$second"
	undone "$first"
	[ "$(git config core.hooksPath)" = tools ]
	# --force is a person's word.
	undone "$first"
	undone "$second" # done again
	run_airlock undo --force "$first"
	assert_status 0
}

@test "undo does not restore a file, link or repository that newer settings point to or newer files complete" {
	each_backend others_back
}
others_back() {
	local first second
	# A file under a setting that the person made since.
	fresh_project others
	mkdir lib lib2
	applied 'echo from-a-run >lib/pre-commit'
	applied 'rm lib/pre-commit; echo x >b'
	first=$RUN
	git config core.hooksPath lib
	refused_undo "$first" 'git hook'
	assert_absent lib/pre-commit
	run_airlock undo "$first" b # the rest of it
	assert_status 0
	git config --unset core.hooksPath
	undone "$first"
	assert_file lib/pre-commit from-a-run
	# A link that stands for a directory programs obey.
	ln -s lib2 .vscode
	applied 'rm .vscode'
	first=$RUN
	undone "$first"
	undone "$first"
	applied 'echo "{}" >lib2/tasks.json'
	second=$RUN
	refused_undo "$first" 'tasks.json'
	undone "$second"
	undone "$first"
	# An .envrc that sources what came since.
	echo 'source ./env.sh' >.envrc
	applied 'rm .envrc'
	first=$RUN
	applied 'echo evil >env.sh'
	second=$RUN
	refused_undo "$first" '.envrc leads here'
	undone "$second"
	undone "$first"
	# A repository around workflows that came since.
	mkdir sub
	git init -q sub
	applied 'rm -rf sub/.git'
	first=$RUN
	applied 'mkdir -p sub/.github/workflows; echo x >sub/.github/workflows/ci.yml'
	second=$RUN
	refused_undo "$first" 'CI workflow'
	assert_absent sub/.git/HEAD
	undone "$second"
	undone "$first"
	[ -e sub/.git/HEAD ]
}

@test "redo judges the changes by the tree as it is now" {
	each_backend again
}
again() {
	local first
	fresh_project again
	mkdir tools
	applied 'echo x >tools/pre-commit'
	first=$RUN
	undone "$first"
	undone "$first" # the positive control: again, with nothing new
	undone "$first"
	git config core.hooksPath tools
	refused_undo "$first" 'git hook'
	assert_absent tools/pre-commit
	git config --unset core.hooksPath
	undone "$first"
	assert_file tools/pre-commit x
	# A repository in parts.
	applied 'mkdir -p d/objects d/refs; echo "ref: refs/heads/main" >d/HEAD'
	first=$RUN
	undone "$first"
	applied 'mkdir -p d; printf "[core]\n\tfsmonitor = ./evil\n" >d/config'
	refused_undo "$first" 'git repository'
}

@test "a directory does not become a repository around workflows that nobody judged" {
	each_backend around
}
around() {
	fresh_project around
	applied 'mkdir -p sub/.github/workflows sub/deep .github; echo x >sub/.github/workflows/ci.yml; echo x >sub/deep/renovate.json'
	held 'git init -q sub' sub/.git/HEAD 'sub/.github/workflows/ci.yml: runs outside the sandbox: CI workflow'
	held 'mkdir sub/.git; echo "ref: refs/heads/main" >sub/.git/HEAD' sub/.git/HEAD 'CI workflow'
	held 'git init -q sub/deep' sub/deep/.git/HEAD 'renovate.json'
	applied 'mkdir sub/.git' # no repository yet
	held 'git init -q sub' sub/.git/HEAD 'CI workflow'
	rmdir sub/.git
	# Files that come with the repository are judged themselves, and nothing else in it counts.
	applied 'mkdir -p plain/src; echo x >plain/src/ci.yml; echo y >plain/.gitignore'
	applied 'git init -q plain'
	held 'mkdir -p plain/.github/workflows; echo x >plain/.github/workflows/ci.yml' plain/.github/workflows/ci.yml 'CI workflow'
	# A place deeper than where a forge looks.
	applied 'mkdir -p other/x/.github/workflows; echo x >other/x/.github/workflows/ci.yml'
	applied 'git init -q other'
}

# held_and_control LINE PATH REASON: the same file beside it is applied
held_and_control() {
	held "$1" "$2" "$3"
	applied 'echo x >beside'
}

@test "settings of the environment and of other files that git reads lead to what is held" {
	each_backend environment
}
environment() {
	fresh_project environment
	applied 'mkdir -p h; echo x >h/pre-commit; echo y >gitconfig' # nothing leads there yet
	rm -r h gitconfig
	# XDG_CONFIG_HOME elsewhere
	mkdir -p "$HOME/xdg/git"
	git config -f "$HOME/xdg/git/config" core.hooksPath h
	XDG_CONFIG_HOME=$HOME/xdg held_and_control 'mkdir h; echo x >h/pre-commit' h/pre-commit 'git hook'
	git config -f "$HOME/global" include.path "$PROJECT/inc"
	GIT_CONFIG_GLOBAL=$HOME/global held_and_control 'printf "[core]\n\tpager = x\n" >inc' inc 'core.pager'
	GIT_CONFIG_SYSTEM=$HOME/global held_and_control 'printf "[core]\n\tpager = x\n" >inc' inc 'core.pager'
	GIT_CONFIG_GLOBAL=$PROJECT/mine held_and_control 'printf "[core]\n\tpager = x\n" >mine' mine 'core.pager'
	GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=x GIT_CONFIG_KEY_1=Core.HooksPath GIT_CONFIG_VALUE_1=h \
		held_and_control 'mkdir h; echo x >h/pre-commit' h/pre-commit 'git hook'
	GIT_EXTERNAL_DIFF=./show.sh held_and_control 'echo x >show.sh' show.sh 'git configuration'
	GIT_TEMPLATE_DIR=$PROJECT/t held_and_control 'mkdir -p t/hooks; echo x >t/hooks/pre-commit' t/hooks/pre-commit 'git hook'
	GIT_CONFIG_COUNT=4294967295 GIT_CONFIG_KEY_0=x GIT_CONFIG_KEY_1=. GIT_CONFIG_VALUE_1=y applied 'echo x >beside2'
	applied 'mkdir h; echo x >h/pre-commit; echo x >show.sh'
}

@test "the settings of a repository above the project lead to what is held, and so do those of one in it" {
	each_backend above_and_below
}
above_and_below() {
	local top
	fresh_project top
	top=$PROJECT
	mkdir -p sub/deeper
	cd sub || return
	applied_below() { # applied LINE, in the project below the top
		run_captured -p . -c "$1"
		assert_status 0
		assert_json applied changes state
	}
	held_below() {
		run_captured -p . -c "$1"
		assert_status 0
		assert_change "$2" state=held "reason=*$3*"
	}
	applied_below 'echo x >conv; echo x >up.sh'
	git config core.hooksPath sub/hooks
	git config diff.x.textconv 'sub/conv --fast'
	git config include.path ../sub/team.inc
	git config alias.up '!sh sub/up.sh'
	mkdir -p "$top/.git/hooks"
	ln -s ../../sub/linked "$top/.git/hooks/post-merge"
	echo 'source_env sub/env.sh' >"$top/.envrc"
	held_below 'mkdir hooks; echo x >hooks/pre-commit' hooks/pre-commit 'git hook'
	held_below 'rmdir hooks; ln -s deeper hooks' hooks 'git hook'
	held_below 'echo y >conv' conv 'git configuration'
	held_below 'echo y >up.sh' up.sh 'git configuration'
	held_below 'printf "[core]\n\tpager = x\n" >team.inc' team.inc 'core.pager'
	held_below 'echo x >linked' linked 'git hook'
	held_below 'echo x >env.sh' env.sh '.envrc leads here'
	applied_below 'echo y >other; mkdir -p deeper/hooks; echo x >deeper/hooks/pre-commit'
	# The same with a work tree of its own, whose .git is a file.
	cd "$top" || return
	git commit -q --allow-empty -m one 2>/dev/null || git -c user.name=x -c user.email=x@x.org commit -q --allow-empty -m one
	git worktree add -q "$HOME/tree-$AIRLOCK_BACKEND" 2>/dev/null
	mkdir -p "$HOME/tree-$AIRLOCK_BACKEND/sub"
	cd "$HOME/tree-$AIRLOCK_BACKEND/sub" || return
	held_below 'mkdir hooks; echo x >hooks/pre-commit' hooks/pre-commit 'git hook'
	applied_below 'echo x >other'
	# A repository inside the project.
	fresh_project outer
	git init -q inner
	git -C inner config core.hooksPath h
	held 'mkdir inner/h; echo x >inner/h/pre-commit' inner/h/pre-commit 'git hook'
	applied 'mkdir h; echo x >h/pre-commit; echo x >inner/other'
}

@test "a link in the place of a directory that settings lead to is held, and so is what is behind one that was there" {
	each_backend behind_links
}
behind_links() {
	fresh_project behind
	git config core.hooksPath scripts/hooks
	mkdir elsewhere
	held 'ln -s elsewhere scripts' scripts 'git hook'
	held 'mkdir scripts; ln -s ../elsewhere scripts/hooks' scripts/hooks 'git hook'
	applied 'ln -s elsewhere other'
	mkdir -p scripts
	ln -s ../elsewhere scripts/hooks
	held 'echo x >elsewhere/pre-commit' elsewhere/pre-commit 'git hook'
	applied 'echo x >scripts/other'
}
