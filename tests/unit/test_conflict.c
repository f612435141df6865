/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* I3 on real directories: what somebody else does between the run's start and the apply, and what is no conflict. Each
 * test makes the live tree first, then "runs", then somebody comes. */
#include "change/same_root.h"
#include "twin_trees.h"
#include "why.h"

/* ctime has the granularity of a clock tick: what comes after must be seen to. */
static void let_time_pass(void)
{
	int64_t then = now_ns();
	while (now_ns() == then)
		(void)usleep(1000);
}

/* The run begins: what is live now is what it sees. */
static void begin(void)
{
	let_time_pass();
	t->started_ns = now_ns();
	let_time_pass();
}

/* It ends, and the layer is compared with what is live. */
static void end(bool whole_tree)
{
	if (whole_tree)
		compare_trees();
	else
		compare_layer();
	t->set->started_ns = t->started_ns;
	let_time_pass();
}

static int check(void)
{
	struct airlock_error err = {0};
	int n = conflict_check(t->set, NULL, &err), marked = 0;
	for (size_t i = 0; i < t->set->n; i++)
		marked += t->set->v[i].state == CHANGE_CONFLICT;
	assert_int_equal(n, marked);
	return n;
}

static void assert_conflict(const char *path, const char *reason)
{
	const struct change *c = found(path);
	if (c->state != CHANGE_CONFLICT || !why(c) || strcmp(why(c), reason) != 0)
		fail_msg("%s: %s, expected: %s", path, why(c) ? why(c) : "no conflict", reason);
}

static void assert_none(void)
{
	if (check() == 0)
		return;
	for (size_t i = 0; i < t->set->n; i++)
		if (t->set->v[i].state == CHANGE_CONFLICT)
			fail_msg("%s: %s", t->set->v[i].path, why(&t->set->v[i]));
}

/* A live a, changed by the run. */
static void modify_a(void)
{
	put("live", "a", "old");
	put("live", "d/b", "old");
	begin();
	put("layer", "a", "new");
}

static void put_aside(const char *which, const char *path)
{
	assert_int_equal(rename(at(which, path), at(which, "aside")), 0);
}

static int fresh(void **state)
{
	start_over();
	return 0;
}

static void nobody_came(void **state)
{
	put("live", "d/c", "old");
	put("live", "gone/x/y", "old");
	put_link("live", "l", "x");
	modify_a();
	put("layer", "new/x", "new");
	put("layer", "d/b", "new");
	put("layer", "l/x", "new");
	end(true);
	assert_true(t->set->n > 6);
	assert_none();
}

/* ── A file that was there ── */

/* What somebody does to the live a, and what that is called. */
static void somebody_came(void **state)
{
	static const char *const rows[][2] = {
		{"echo theirs >a", "edited since the run began"},
		{"echo nwe >a && touch -d @1 a", "edited since the run began"},
		{"chmod 600 a", "edited since the run began"},
		{"rm a", "deleted since the run began"},
		{"echo theirs >tmp && mv tmp a", "replaced since the run began"},
		{"mv -f older a", "replaced since the run began"},
		{"ln -sf d/b a", "replaced since the run began"},
		{"rm a && mkdir a", "replaced since the run began"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		start_over();
		put("live", "older", "theirs");
		modify_a();
		end(false);
		shell("cd live && %s", rows[i][0]);
		assert_int_equal(check(), 1);
		assert_conflict("a", rows[i][1]);
	}
}

static void edited_while_the_command_ran(void **state)
{
	modify_a();
	put("live", "a", "theirs");
	end(false);
	assert_int_equal(check(), 1);
	assert_conflict("a", "edited since the run began");
}

static void deleted_by_the_run_and_edited(void **state)
{
	put("live", "a", "old");
	begin();
	end(true);
	put("live", "a", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("a", "edited since the run began");
}

static void the_clock_was_set_back(void **state)
{
	modify_a();
	end(false);
	found("a")->before.ctime_ns -= 5; /* as if the live one had changed, without a later ctime */
	assert_int_equal(check(), 1);
	assert_conflict("a", "edited since the run began");
}

static void another_name_of_it_came_or_went(void **state)
{
	put("live", "a", "old");
	assert_int_equal(link(at("live", "a"), at("live", "other")), 0);
	begin();
	put("layer", "a", "new");
	end(false);
	assert_int_equal(unlink(at("live", "other")), 0);
	assert_none();
	assert_int_equal(link(at("live", "a"), at("live", "third")), 0);
	assert_none();
	put("live", "third", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("a", "edited since the run began");
}

/* ── A path that was not there ── */

static void created(void **state)
{
	begin();
	put("layer", "n", "new");
	put("layer", "d", "new");
	end(false);
	put("live", "n", "theirs");
	put("live", "d/x", "theirs");
	assert_int_equal(check(), 2);
	assert_conflict("n", "created since the run began");
	assert_conflict("d", "created since the run began");
}

static void a_new_directory_exists_meanwhile(void **state)
{
	begin();
	put("layer", "d/x", "new");
	put("layer", "d/y", "new");
	end(false);
	put("live", "d/x", "theirs"); /* the directory is as ours, x is not, y is still free */
	assert_int_equal(check(), 1);
	assert_conflict("d/x", "created since the run began");
	assert_int_equal(chmod(at("live", "d"), 0700), 0);
	assert_int_equal(check(), 2);
	assert_conflict("d", "created since the run began");
}

static void a_new_directory_is_a_symlink_meanwhile(void **state)
{
	begin();
	put("layer", "d/x", "new");
	end(false);
	put_link("live", "d", "/tmp");
	assert_int_equal(check(), 1);
	assert_conflict("d", "created since the run began");
}

static void a_neighbour_is_no_conflict(void **state)
{
	modify_a();
	put("layer", "d/new", "new");
	assert_int_equal(chmod(at("layer", "d"), 0700), 0);
	end(false);
	put("live", "d/neighbour", "theirs");
	put("live", "neighbour", "theirs");
	assert_none();
}

/* ── Already so ── */

static void made_the_same_by_somebody_else(void **state)
{
	put("live", "gone", "x");
	put("live", "tree/x", "x");
	put_link("live", "l", "old");
	modify_a();
	put("layer", "n", "new");
	put("layer", "d/e/f", "new");
	put_link("layer", "l", "new");
	put("layer", "d/b", "old");
	end(true);
	put("live", "a", "new");
	put("live", "n", "new");
	put("live", "d/e/f", "new");
	assert_int_equal(unlink(at("live", "l")), 0);
	put_link("live", "l", "new");
	assert_int_equal(unlink(at("live", "gone")), 0);
	shell("rm -r live/tree");
	assert_none();
}

static void the_same_but_for_a_bit(void **state)
{
	begin();
	put("layer", "content", "new");
	put("layer", "size", "new");
	put("layer", "mode", "new");
	put_link("layer", "link", "new");
	put_bytes("layer", "setuid", "new", 3, 04755);
	end(false);
	found("setuid")->setid_dropped = true;
	put("live", "content", "nex");
	put("live", "size", "news");
	put_bytes("live", "mode", "new", 3, 0600);
	put_link("live", "link", "nex");
	put_bytes("live", "setuid", "new", 3, 0755);
	assert_int_equal(check(), 4);
	assert_conflict("content", "created since the run began");
	assert_int_equal(found("setuid")->state, CHANGE_HELD);
}

/* ── Renames ── */

static void rename_a(void)
{
	put("live", "d/a", "old");
	begin();
	put("layer", "e/b", "old");
	end(true);
	make_rename("d/a", "e/b");
}

static void both_ends_of_a_rename_count(void **state)
{
	rename_a();
	assert_none();
	put("live", "e/b", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("e/b", "created since the run began");
	assert_int_equal(unlink(at("live", "e/b")), 0);
	put("live", "d/a", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("e/b", "edited since the run began");
	assert_int_equal(unlink(at("live", "d/a")), 0);
	assert_int_equal(check(), 1);
	assert_conflict("e/b", "deleted since the run began");
	put("live", "e/b", "old"); /* now both are as the run made them */
	assert_none();
}

/* ── Directories ── */

static void something_new_in_a_deleted_directory(void **state)
{
	put("live", "d/x", "old");
	put("live", "d/moved", "moved");
	put("live", "d/e/y", "old");
	begin();
	put("layer", "target", "moved");
	end(true);
	make_rename("d/moved", "target");
	assert_none();
	put("live", "d/e/z", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("d/e", "something was created in it since the run began");
	assert_int_equal(unlink(at("live", "d/e/z")), 0);
	put("live", "d/e/y", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("d/e/y", "edited since the run began");
}

/* Some of it was applied before: that is not somebody else. */
static void a_deleted_directory_that_is_half_gone(void **state)
{
	put("live", "d/x", "old");
	put("live", "d/y", "old");
	begin();
	end(true);
	assert_int_equal(unlink(at("live", "d/x")), 0);
	found("d/x")->state = CHANGE_APPLIED;
	assert_none();
}

static void a_directory_that_became_a_file(void **state)
{
	put("live", "d/x", "old");
	begin();
	put("layer", "d", "new");
	end(true);
	assert_none();
	put("live", "d/z", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("d", "something was created in it since the run began");
}

static void a_file_that_became_a_directory(void **state)
{
	put("live", "d", "old");
	begin();
	put("layer", "d/x", "new");
	end(false);
	assert_none();
	put("live", "d", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("d", "edited since the run began");
}

static void the_mode_of_a_directory(void **state)
{
	put_dir("live", "d");
	begin();
	put_dir("layer", "d");
	assert_int_equal(chmod(at("layer", "d"), 0700), 0);
	end(false);
	assert_none();
	assert_int_equal(chmod(at("live", "d"), 0750), 0);
	assert_int_equal(check(), 1);
	assert_conflict("d", "edited since the run began");
}

/* ── What is above ── */

static void change_below_d(void)
{
	put("live", "d/e/a", "old");
	put("live", "other/e/a", "old");
	begin();
	put("layer", "d/e/a", "new");
	put("layer", "d/e/n", "new");
	end(false);
}

static void a_directory_above_became_a_symlink(void **state)
{
	change_below_d();
	put_aside("live", "d");
	put_link("live", "d", "other");
	assert_int_equal(check(), 2);
	assert_conflict("d/e/a", "a directory above it was replaced");
	assert_conflict("d/e/n", "a directory above it was replaced");
}

static void a_directory_above_became_a_file(void **state)
{
	change_below_d();
	put_aside("live", "d");
	put("live", "d", "theirs");
	assert_int_equal(check(), 2);
	assert_conflict("d/e/n", "a directory above it was replaced");
}

static void a_directory_above_became_another_one(void **state)
{
	change_below_d();
	put_aside("live", "d");
	put_dir("live", "d/e");
	assert_int_equal(check(), 2);
	assert_conflict("d/e/a", "a directory above it was replaced");
	assert_conflict("d/e/n", "a directory above it was replaced");
}

static void a_directory_above_was_deleted(void **state)
{
	change_below_d();
	put_aside("live", "d");
	assert_int_equal(check(), 2);
	assert_conflict("d/e/a", "deleted since the run began");
	assert_conflict("d/e/n", "a directory above it was deleted since the run began");
}

static void the_root_was_replaced(void **state)
{
	modify_a();
	end(false);
	shell("mv live moved && mkdir live && cp moved/a live/a");
	assert_int_equal(check(), 1);
	assert_conflict("a", "the project directory was replaced");
	shell("rm -r live && ln -s moved live");
	assert_int_equal(check(), 1);
	assert_conflict("a", "the project directory was replaced");
	shell("rm live");
	assert_int_equal(check(), 1);
	shell("mv moved live");
	assert_none();
}

/* ── An original that was gone when the scan came ── */

/* Disks may get other device numbers when the machine is started again; until then another number is another disk. */
static void the_disk_has_another_number(void **state)
{
	struct stat st;
	int fd = open(at("live", ""), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	struct same_root_key key = {.device = st.st_dev, .inode = st.st_ino, .read_ns = now_ns()};
	assert_true(same_root(fd, &st, &key));
	key.device += 1;
	assert_false(same_root(fd, &st, &key));
	key.read_ns = 1;
	assert_true(same_root(fd, &st, &key));
	key.inode += 1;
	assert_false(same_root(fd, &st, &key));
	assert_false(has_made_up_inodes(fd));
	(void)close(fd);
}

static void deleted_while_the_command_ran(void **state)
{
	put("live", "d/a", "old");
	put_dir("live", "e");
	begin();
	put("layer", "d/a", "new");
	put_dir("layer", "e");
	assert_int_equal(unlink(at("live", "d/a")), 0);
	assert_int_equal(rmdir(at("live", "e")), 0);
	end(false);
	found("d/a")->copied_up = found("e")->copied_up = true;
	assert_int_equal(check(), 2);
	assert_conflict("d/a", "deleted since the run began");
	assert_conflict("e", "deleted since the run began");
	put("live", "d/a", "theirs");
	assert_int_equal(check(), 2);
	assert_conflict("d/a", "replaced since the run began");
}

static void moved_there_by_the_command(void **state)
{
	put_dir("live", "d");
	begin();
	put("layer", "d/a", "new");
	end(false);
	found("d/a")->copied_up = true; /* from elsewhere */
	assert_none();
	/* A part of the run was applied to the directory before. */
	put("live", "d/ours", "x");
	assert_int_equal(change_set_take_dir(t->set, 0, strdup("d"), t->started_ns - 1, t->started_ns + 1), 0);
	assert_none();
	t->set->dirs[0].without_ns = t->started_ns + 1;
	assert_int_equal(check(), 1);
}

/* ── States ── */

static void what_an_undo_put_back_is_ours(void **state)
{
	struct stat st;
	modify_a();
	end(false);
	put("live", "a", "old");
	assert_int_equal(check(), 1);
	assert_int_equal(lstat(at("live", "a"), &st), 0);
	found("a")->before = change_stat_of(&st);
	assert_int_equal(check(), 1);
	found("a")->settled = true;
	assert_none();
	let_time_pass();
	put("live", "a", "theirs");
	assert_int_equal(check(), 1);
	assert_conflict("a", "edited since the run began");
}

static void what_is_decided_is_not_asked_about(void **state)
{
	begin();
	put("layer", "applied", "x");
	put("layer", "discarded", "x");
	put("layer", "skipped", "x");
	end(false);
	put("live", "applied", "y");
	put("live", "discarded", "y");
	put("live", "skipped", "y");
	found("applied")->state = CHANGE_APPLIED;
	found("discarded")->state = CHANGE_DISCARDED;
	found("skipped")->state = CHANGE_SKIPPED;
	assert_none();
}

static void a_conflict_that_went_away_is_held_as_before(void **state)
{
	begin();
	put("layer", "a", "new");
	end(false);
	give_reason(found("a"), AIRLOCK_REASON_RUNS, "a hook");
	put("live", "a", "theirs");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(check(), 1);
		assert_conflict("a", "created since the run began; runs outside the sandbox: a hook");
	}
	assert_int_equal(unlink(at("live", "a")), 0);
	assert_none();
	assert_int_equal(found("a")->state, CHANGE_HELD);
	assert_string_equal(why(found("a")), "runs outside the sandbox: a hook");
}

static void names_of_all_kinds(void **state)
{
	char deep[4096] = "";
	for (int i = 0; i < 300; i++)
		strcat(deep, "nine-char/");
	strcat(deep, "x\n\x1b\xff");
	begin();
	put("layer", deep, "new");
	put("layer", "-n \t\"", "new");
	end(false);
	assert_none();
	put("live", deep, "theirs");
	put("live", "-n \t\"", "theirs");
	assert_int_equal(check(), 2);
	assert_conflict(deep, "created since the run began");
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_came),
		TEST(somebody_came),
		TEST(edited_while_the_command_ran),
		TEST(deleted_by_the_run_and_edited),
		TEST(the_clock_was_set_back),
		TEST(another_name_of_it_came_or_went),
		TEST(created),
		TEST(a_new_directory_exists_meanwhile),
		TEST(a_new_directory_is_a_symlink_meanwhile),
		TEST(a_neighbour_is_no_conflict),
		TEST(made_the_same_by_somebody_else),
		TEST(the_same_but_for_a_bit),
		TEST(both_ends_of_a_rename_count),
		TEST(something_new_in_a_deleted_directory),
		TEST(a_deleted_directory_that_is_half_gone),
		TEST(a_directory_that_became_a_file),
		TEST(a_file_that_became_a_directory),
		TEST(the_mode_of_a_directory),
		TEST(a_directory_above_became_a_symlink),
		TEST(a_directory_above_became_a_file),
		TEST(a_directory_above_became_another_one),
		TEST(a_directory_above_was_deleted),
		TEST(the_root_was_replaced),
		TEST(the_disk_has_another_number),
		TEST(deleted_while_the_command_ran),
		TEST(moved_there_by_the_command),
		TEST(what_an_undo_put_back_is_ours),
		TEST(what_is_decided_is_not_asked_about),
		TEST(a_conflict_that_went_away_is_held_as_before),
		TEST(names_of_all_kinds),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
