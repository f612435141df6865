/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate on what git itself does: ordinary work is not held, what a hostile command lets it write is. */
#include "gate_trees.h"

/* Runs the commands in a copy of the live tree; nothing of what they changed may be held. */
static void git_does(const char *commands)
{
	forget("layer");
	shell("cp -a live layer && cd layer && %s", commands);
	compare_trees();
	judge();
	for (size_t i = 0; i < t->set->n; i++)
		if (t->set->v[i].verdict != CHANGE_APPLY)
			fail_msg("after %s: %s: %s", commands, t->set->v[i].path, why(&t->set->v[i]));
	assert_true(t->set->n > 0);
	forget("live");
	shell("cp -a layer live");
}

static void work_with_git_is_not_held(void **state)
{
	git_does("git init -q . && echo 1 >f && git add f");
	git_does("git commit -qm one");
	git_does("git checkout -qb side && echo 2 >g && git add g && git commit -qm two");
	git_does("git checkout -q - && echo 3 >h && git add h && git commit -qm three");
	git_does("git merge -q --no-edit side");
	git_does("git checkout -qb topic HEAD~1 && echo 4 >i && git add i && git commit -qm four");
	git_does("git rebase -q side");
	git_does("echo 5 >>f && git stash -q && git stash pop -q && git stash -q");
	git_does("git tag -a v1 -m v1 && git gc -q && git pack-refs --all");
	git_does("git branch x && git config branch.x.remote . && git config branch.x.merge refs/heads/main");
	git_does("git config user.name x && git notes add -m x && git reset -q --hard HEAD~1 && git reflog");
	git_does("git bisect start -q HEAD HEAD~1; git bisect reset -q; git revert --no-edit HEAD");
	git_does("mkdir d && git mv f d/f && git commit -qm move && git clean -fdq && git fsck --no-progress");
}

static void git_that_stops_halfway_is_not_held(void **state)
{
	git_does("git init -q . && echo 1 >f && git add f && git commit -qm one && git checkout -qb side && echo 2 >f "
		 "&& "
		 "git commit -qam two && echo 3 >f && git commit -qam three && git checkout -q - && echo 4 >f && "
		 "git commit -qam four");
	git_does("! git merge -q side");
	git_does("git merge --abort && ! git rebase -q side");
	git_does("git rebase --abort && ! git cherry-pick side~1 side");
	git_does("git cherry-pick --abort && ! git revert --no-edit HEAD~1");
	git_does("git revert --abort; git format-patch -q -1 side --stdout >p && ! git am -q p");
}

static void worktrees_and_submodules_are_not_held(void **state)
{
	git_does("git init -q . && echo 1 >f && git add f && git commit -qm one");
	/* Git writes where the tree is now; airlock shows it to commands at its own place. */
	git_does("git worktree add -q w && sed -i 's,/layer/,/live/,' w/.git .git/worktrees/w/gitdir");
	shell("git init -q sub && cd sub && git commit -q --allow-empty -m x");
	git_does("git -c protocol.file.allow=always submodule --quiet add ../sub libs/sub && git commit -qm sub");
	git_does("git init -q --bare bare.git && git init -q nested && git clone -q --bare . copy.git");
	forget("sub");
}

/* Puts path into the index of the layer under a name of the same length that git would accept, then renames it there. The
 * shell looks at both for $. */
static void forge_index(int version, const char *accepted, const char *path)
{
	forget("live");
	forget("layer");
	put_dir("live", "");
	shell("git init -q layer && cd layer && export GIT_INDEX_VERSION=%d && "
	      "for i in 1 2 3; do echo $i >f$i; done && git add . && "
	      "git update-index --add --cacheinfo 100755,$(git hash-object -w f1),\"%s\" && "
	      "python3 -c 'import os, sys; a, b = map(os.fsencode, sys.argv[1:]); p = \".git/index\"; "
	      "d = open(p, \"rb\").read(); assert a in d and d[7] == %d; "
	      "open(p, \"wb\").write(d.replace(a, b))' \"%s\" \"%s\"",
	      version, accepted, version, accepted, path);
	judge_layer();
}

static void an_index_with_paths_into_git_is_held(void **state)
{
	const char *bad = RUNS "git index that writes into .git";
	for (int i = 2; i <= 4; i += 2) {
		forge_index(i, "xgit/hooks/a", "xgit/hooks/b");
		assert_change(".git/index", NULL);
		forge_index(i, "xgit/hooks/a", ".git/hooks/a");
		assert_change(".git/index", bad);
		forge_index(i, "a/XGIT/config", "a/.GIT/config");
		assert_change(".git/index", bad);
		forge_index(i, "aaaaaaa/x", ".g\xe2\x80\x8cit/x");
		assert_change(".git/index", bad);
		forge_index(i, "aa/bb/x", "aa/../x");
		assert_change(".git/index", bad);
		forge_index(i, "a/bb", "//bb");
		assert_change(".git/index", bad);
	}
	/* Names longer than the index can say in a number. */
#define LONG "$(printf 'directory/%.0s' $(seq 420))"
	for (int i = 2; i <= 4; i += 2) {
		forge_index(i, LONG "xgit/hooks/a", LONG "xgit/hooks/b");
		assert_change(".git/index", NULL);
		forge_index(i, LONG "xgit/hooks/a", LONG ".git/hooks/a");
		assert_change(".git/index", bad);
	}
	shell("rm -rf layer && git init -q --object-format=sha256 layer && cd layer && echo x >f && git add f");
	judge_layer();
	assert_change(".git/index", NULL);
}

/* What git itself does for somebody hostile. */
static void settings_and_hooks_made_with_git_are_held(void **state)
{
	git_does("git init -q . && echo 1 >f && git add f && git commit -qm one");
	forget("layer");
	shell("cp -a live layer && cd layer && git config core.fsmonitor ./evil && echo x >.git/hooks/pre-commit && "
	      "git init -q --bare b && git -C b config core.fsmonitor ./evil && git worktree add -q ../outside");
	compare_trees();
	judge();
	forget("outside");
	assert_change(".git/config", RUNS "git setting core.fsmonitor");
	assert_change(".git/hooks/pre-commit", RUNS "git hook");
	assert_change("b/config", RUNS "git setting core.fsmonitor");
	assert_change(".git/worktrees/outside/gitdir", LEADS "git directory");
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_with_git_is_not_held),
		TEST(git_that_stops_halfway_is_not_held),
		TEST(worktrees_and_submodules_are_not_held),
		TEST(an_index_with_paths_into_git_is_held),
		TEST(settings_and_hooks_made_with_git_are_held),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
