/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Worktrees and submodules, made by git itself, and forged ones. */
#include "project_place.h"

static void make_repository(const char *rel)
{
	shell("git init -q '%s' && cd '%s' && echo x >f && git add f && git commit -qm x", rel, rel);
}

static void use_project(const char *rel)
{
	strcpy(place->project, at(rel));
}

static void a_plain_repository_needs_nothing(void **state)
{
	make_repository("home/repo");
	use_project("home/repo");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 0);
}

static void a_worktree_brings_its_common_directory(void **state)
{
	make_repository("home/repo");
	shell("git -C home/repo worktree add -q ../tree");
	use_project("home/tree");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/repo/.git"));
	assert_origin(&p->roots[1].because, "git directory of this worktree");
	assert_int_equal(p->notes.n, 0);
}

/* Newer git can write both ways relative. */
static void a_worktree_with_relative_paths_does_too(void **state)
{
	make_repository("home/repo");
	shell("git -C home/repo worktree add -q ../tree && cd home && echo 'gitdir: ../repo/.git/worktrees/tree' "
	      ">tree/.git && echo '../../../../tree/.git' >repo/.git/worktrees/tree/gitdir && git -C tree status");
	use_project("home/tree");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/repo/.git"));
}

static void a_worktree_outside_home_does_too(void **state)
{
	make_dir("srv");
	make_repository("srv/repo");
	shell("git -C srv/repo worktree add -q ../tree");
	use_project("srv/tree");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("srv/repo/.git"));
	struct project_query q = query();
	q.home = NULL;
	_cleanup_project_ struct project *homeless = open_query(&q);
	assert_roots(homeless, ROOTS("srv/repo/.git"));
}

static void a_submodule_brings_its_git_directory(void **state)
{
	make_repository("home/sub");
	make_repository("home/repo");
	shell("cd home/repo && git -c protocol.file.allow=always submodule --quiet add '%s' \"a b\"", at("home/sub"));
	use_project("home/repo/a b");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/repo/.git/modules/a b"));
	assert_origin(&p->roots[1].because, "git directory of this submodule");
	assert_int_equal(p->notes.n, 0);
	/* Seen from the repository, everything is inside. */
	use_project("home/repo");
	_cleanup_project_ struct project *whole = open_project();
	assert_roots(whole, NO_ROOTS);
	assert_int_equal(whole->notes.n, 0);
}

static void a_sparse_submodule_does_too(void **state)
{
	make_repository("home/sub");
	make_repository("home/repo");
	shell("cd home/repo && git -c protocol.file.allow=always submodule --quiet add '%s' s && cd s && "
	      "git sparse-checkout init --cone && ! git config -f ../.git/modules/s/config core.worktree",
	      at("home/sub"));
	use_project("home/repo/s");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/repo/.git/modules/s"));
}

static void assert_git_refused(const char *gitfile, const char *why)
{
	make_file("home/work/p/.git", gitfile);
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 1);
	if (!note_has(p, why, ""))
		fail_msg("note is: %s", airlock_note_name(p->notes.v[0].code));
}

static const char *pointing_to(const char *rel)
{
	static char line[600];
	(void)snprintf(line, sizeof line, "gitdir: %s\n", at(rel));
	return line;
}

static void a_forged_git_file_opens_nothing(void **state)
{
	make_repository("home/repo");
	shell("git -C home/repo worktree add -q ../tree");
	make_dir("home/Documents");
	assert_git_refused(pointing_to("home/repo/.git"), "does not point back");
	assert_git_refused(pointing_to("home/repo/.git/worktrees/tree"), "does not point back");
	assert_git_refused(pointing_to("home/Documents"), "does not point back");
	assert_git_refused(pointing_to("home/.ssh"), "does not point back");
	assert_git_refused("gitdir: /\n", "does not point back");
	assert_git_refused(pointing_to("home/nothing"), "leads to no git directory");
	assert_git_refused("", "leads to no git directory");
	assert_git_refused("gitdir: ", "leads to no git directory");
	assert_git_refused("rubbish\n", "leads to no git directory");
	assert_git_refused(pointing_to("home/repo/f"), "leads to no git directory");
}

/* Everything a command can write: the .git file and a git directory inside the project that names another one. */
static void a_forged_way_back_in_the_project_opens_nothing(void **state)
{
	make_dir("home/Documents");
	make_file("home/work/p/fake/worktrees/x/commondir", at("home/Documents"));
	make_file("home/work/p/fake/worktrees/x/gitdir", at("home/work/p/.git"));
	assert_git_refused(pointing_to("home/work/p/fake/worktrees/x"), "where commands can write");
}

/* The same in a directory that commands of another project could write: it proves nothing about a third one. */
static void a_forged_way_back_elsewhere_opens_nothing_else(void **state)
{
	make_dir("home/Documents");
	make_file("home/fake/worktrees/x/commondir", at("home/Documents"));
	make_file("home/fake/worktrees/x/gitdir", at("home/work/p/.git"));
	assert_git_refused(pointing_to("home/fake/worktrees/x"), "does not point back");
	make_file("home/fake/y/commondir", "..");
	make_file("home/fake/y/gitdir", at("home/work/p/.git"));
	assert_git_refused(pointing_to("home/fake/y"), "does not point back");
}

static void a_proved_git_directory_is_judged_like_a_link(void **state)
{
	/* The project is a worktree inside its own bare repository: the root would swallow it. */
	make_repository("home/repo");
	shell("git clone -q --bare home/repo home/bare.git && git -C home/bare.git worktree add -q tree");
	use_project("home/bare.git/tree");
	_cleanup_project_ struct project *inside = open_project();
	assert_roots(inside, NO_ROOTS);
	assert_true(note_has(inside, at("home/bare.git"), "the project lies inside it"));
	/* A repository that holds a secret. */
	shell("git -C home/repo worktree add -q ../tree");
	use_project("home/tree");
	strcpy(place->aws, at("home/repo/.git/token"));
	_cleanup_project_ struct project *secret = open_project();
	assert_roots(secret, NO_ROOTS);
	assert_true(note_has(secret, at("home/repo/.git"), "contains a hidden path"));
}

/* A git directory that lies in a linked root is writable already. */
static void a_git_directory_in_a_linked_root_is_covered(void **state)
{
	make_repository("home/repo");
	shell("git -C home/repo worktree add -q ../tree");
	use_project("home/tree");
	link_to("home/repo", "home/tree/main");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/repo"));
	assert_int_equal(p->notes.n, 0);
}

/* As git writes and reads it: quotes, escapes, comments, the last one counts, other sections do not. */
static void core_worktree_is_read_as_git_reads_it(void **state)
{
	static const char *const names[] = {"plain",   "with space",  "semi;colon#hash",
					    "qu\"ote", "back\\slash", "t\tab"};
	make_repository("home/repo");
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		char rel[64];
		(void)snprintf(rel, sizeof rel, "home/work/%s", names[i]);
		make_dir(rel);
		shell("git -C home/repo config core.worktree '%s' && git -C home/repo config other.worktree /",
		      at(rel));
		char gitfile[96];
		(void)snprintf(gitfile, sizeof gitfile, "%s/.git", rel);
		make_file(gitfile, pointing_to("home/repo/.git"));
		use_project(rel);
		_cleanup_project_ struct project *p = open_project();
		assert_roots(p, ROOTS("home/repo/.git"));
		use_project("home/work/p");
		make_file("home/work/p/.git", pointing_to("home/repo/.git"));
		_cleanup_project_ struct project *other = open_project();
		assert_roots(other, NO_ROOTS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plain_repository_needs_nothing),
		TEST(a_worktree_brings_its_common_directory),
		TEST(a_worktree_with_relative_paths_does_too),
		TEST(a_worktree_outside_home_does_too),
		TEST(a_submodule_brings_its_git_directory),
		TEST(a_sparse_submodule_does_too),
		TEST(a_forged_git_file_opens_nothing),
		TEST(a_forged_way_back_in_the_project_opens_nothing),
		TEST(a_forged_way_back_elsewhere_opens_nothing_else),
		TEST(a_proved_git_directory_is_judged_like_a_link),
		TEST(a_git_directory_in_a_linked_root_is_covered),
		TEST(core_worktree_is_read_as_git_reads_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
