#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# Git itself at work inside: ordinary work is applied without a question, and what must wait for a person waits whole.

load ../helpers
load ../capture/capture

setup() {
	default_setup
	git config --global user.name Somebody
	git config --global user.email somebody@example.org
	git config --global init.defaultBranch main
	git config --global protocol.file.allow always
	rm -rf .git file
	git init -q .
	mkdir src
	echo one >src/a
	git add .
	git commit -qm one
}

# a branch of the person's own, with a workflow in it
make_branch() {
	git checkout -qb feat
	mkdir -p .github/workflows
	echo 'on: push' >.github/workflows/ci.yml
	echo two >src/b
	git add .
	git commit -qm workflow
	git checkout -q main
}

# does COMMAND: it is applied, and git sees a clean tree
does() {
	run_captured -c "$1"
	assert_status 0
	assert_json applied changes state
	assert_json applied changes files 0 state # it was captured, not written past us
	[[ -z $(git status --porcelain) ]] || fail "after $1: $(git status --porcelain)"
}

# waits COMMAND: nothing of it is applied
waits() {
	local before
	before=$(git status --porcelain; git rev-parse HEAD; git for-each-ref)
	run_captured -c "$1"
	assert_status 0
	assert_json held changes state
	[[ $before == "$(git status --porcelain; git rev-parse HEAD; git for-each-ref)" ]] || fail "$1 changed something"
}

@test "a checkout, merge, rebase, stash and revert of the person's own commits ask nothing" {
	make_branch
	does 'git checkout -q feat'
	assert_file .github/workflows/ci.yml 'on: push'
	does 'git checkout -q main'
	assert_absent .github/workflows/ci.yml
	does 'git merge -q --no-ff --no-edit feat'
	does 'git reset -q --hard HEAD~1'
	does 'echo three >src/c && git add . && git commit -qm three'
	does 'git rebase -q main feat'
	does 'git checkout -q main && git cherry-pick feat'
	does 'git revert --no-edit HEAD'
	does 'git checkout -q feat && git mv src/b src/d && git commit -qm move'
	does 'git checkout -q HEAD~1'
	does 'git checkout -q feat && git gc -q && git checkout -q main'
	does 'git checkout -q feat'
}

@test "a stash with the person's own workflow comes back" {
	make_branch
	git checkout -q feat
	echo 'on: pull_request' >.github/workflows/ci.yml
	git stash -q
	run_captured -c 'git stash pop -q'
	assert_status 0
	assert_json applied changes state
	assert_file .github/workflows/ci.yml 'on: pull_request'
	assert_change .github/workflows/ci.yml state=applied
	run_captured -c 'git add -A && git commit -qm mine'
	assert_json applied changes state
}

@test "a commit with a new workflow waits whole, and is applied whole" {
	waits 'mkdir -p .github/workflows; echo x >.github/workflows/ci.yml; echo y >src/y; git add .; git commit -qm ci'
	assert_change .github/workflows/ci.yml state=held 'reason=*CI workflow*'
	assert_change .git/refs/heads/main state=held 'reason=*new commit*.github/workflows/ci.yml*'
	assert_change .git/index state=held 'reason=*applied whole or not at all*'
	assert_change src/y state=held 'reason=*applied whole or not at all*'
	local run=$RUN
	git status >/dev/null # rewrites the index: the times in it are not the command's
	run_airlock apply "$run"
	assert_status 0
	assert_stderr_contains ci.yml
	[[ $stderr != *src/y* ]]
	assert_file .github/workflows/ci.yml x
	[[ -z $(git status --porcelain) ]]
	run_airlock undo "$run"
	assert_status 0
	[[ -z $(git status --porcelain) ]]
}

@test "merge, pull, rebase, stash pop and mv with a file that waits wait whole" {
	git clone -q . ../upstream
	(cd ../upstream && echo 'use flake' >.envrc && git add . && git commit -qm env)
	waits 'git pull -q ../upstream main'
	assert_change .envrc state=held 'reason=*direnv*'
	waits 'git fetch -q ../upstream main:theirs'
	assert_change .git/refs/heads/theirs state=held 'reason=*.envrc*'
	waits 'git checkout -qb x && echo 1 >.envrc && git add . && git commit -qm x && git checkout -q main && git merge -q x'
	waits 'echo 1 >.envrc && git add . && git stash -q && git stash pop -q'
	waits 'git mv src/a .envrc'
	assert_change .git/index state=held
	waits 'echo 1 >.envrc && git add . && git commit -qm x && git rm -q .envrc && git commit -qm gone'
	assert_change .git/refs/heads/main 'reason=*.envrc*'
}

@test "a pull without anything sensitive asks nothing" {
	git clone -q . ../upstream
	(cd ../upstream && for i in 1 2 3; do echo $i >src/n && git add . && git commit -qm $i; done && git tag -a v1 -m v1 && git gc -q)
	does 'git pull -q ../upstream main'
	does 'git fetch -q --tags ../upstream "refs/heads/*:refs/remotes/up/*"'
	does 'git checkout -q -b topic v1~1'
}

@test "worktrees, submodules and clones of nothing sensitive ask nothing" {
	git clone -q . ../lib
	run_captured -c 'git worktree add -q ../project/tree -b side 2>&1'
	assert_status 0
	assert_json applied changes state
	does 'cd tree && echo 2 >>src/a && git commit -qam two; echo /tree >>../.git/info/exclude; echo /copy >>../.git/info/exclude'
	run_captured -c 'git clone -q --no-hardlinks . copy && cd copy && git checkout -q -b z && echo 3 >z && git add z && git commit -qm z'
	assert_status 0
	assert_json applied changes state
}
