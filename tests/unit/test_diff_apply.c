/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The diff of a change set, by what git apply and patch make of it: applied to a twin of the live tree it must give the
 * layer. */
#include "twin_trees.h"

static void write_patch(void)
{
	struct airlock_error err = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	if (diff_write(t->set, NULL, &(const struct diff_options){0}, &out, &err) != 0)
		fail_msg("%s", err.message);
	put_bytes("patch", "", buf_str(&out), out.len, 0644);
}

/* The whole layer is the tree after the run. */
static void compare_and_diff(void)
{
	compare_trees();
	write_patch();
}

/* In a twin of the live tree; all but directories without files must then be as in the layer. */
static void assert_applies(const char *command)
{
	forget("twin");
	shell("cp -a live twin && (cd twin && %s)", command);
	shell("find layer -type d -empty -delete; find twin -type d -empty -delete; diff -r --no-dereference layer "
	      "twin");
	shell("for d in layer twin; do (cd $d && find . -type f -perm /100 | sort) >$d.x; done; cmp layer.x twin.x");
	shell("rm -f layer.x twin.x; rm -rf twin");
}

#define GIT_APPLY "git apply --whitespace=nowarn ../patch"
#define PATCH "patch -s -p1 <../patch"

static int fresh(void **state)
{
	start_over();
	return 0;
}

static void make_everything(void)
{
	put("live", "mod", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n");
	put("layer", "mod", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\nfourteen\n15");
	put("live", "no-newline", "a\nb");
	put("layer", "no-newline", "a\nb\nc");
	put("live", "keep/x", "keep\n");
	put("layer", "keep/x", "keep\n");
	put("live", "gone/x", "bye\n");
	put("live", "gone/y", "");
	put("live", "emptied", "x\ny\n");
	put("layer", "emptied", "");
	put("live", "filled", "");
	put("layer", "filled", "x\ny\n");
	put("layer", "new/deep/er", "hello\n");
	put("layer", "new/empty", "");
	put("live", "looks", "-- a\n++ b\n@@ -1 +1 @@\n");
	put("layer", "looks", "-- b\n++ b\n@@ -1 +1 @@\n\\ No newline at end of file\n--- a/x\n+++ b/x\n");
	put("live", "crlf", "a\r\nb\r\n");
	put("layer", "crlf", "a\r\nc\r\n\r\n");
	put("live", "bytes", "\xff\xfe\x01\x1b[31m\n");
	put("layer", "bytes", "\xff\xfd\x01\x1b[32m\n\f\n");
	put("live", "a b", "x\n");
	put("layer", "a b", "y\n");
	put("layer", "new empty", "");
	put("live", "gone empty", "");
	put("live", " lead", "x\n");
	put("layer", " lead", "y\n");
	put_bytes("layer", "prog", "#!/bin/sh\n", 10, 0755);
	put("live", "bit", "x\n");
	put_bytes("layer", "bit", "x\n", 2, 0755);
	put("live", "bit-and-text", "x\n");
	put_bytes("layer", "bit-and-text", "y\n", 2, 0755);
}

static void git_and_patch_apply_text(void **state)
{
	make_everything();
	compare_and_diff();
	assert_applies(GIT_APPLY);
	assert_applies(PATCH);
}

static void git_applies_all_but_binary(void **state)
{
	make_everything();
	put_link("live", "link", "old");
	put_link("layer", "link", "new");
	put_link("layer", "new-link", "a b\nc");
	put_link("live", "gone-link", "x");
	put("live", "file-to-link", "x\n");
	put_link("layer", "file-to-link", "y");
	put_link("live", "link-to-file", "x");
	put("layer", "link-to-file", "y\n");
	put("live", "file-to-dir", "x\n");
	put("layer", "file-to-dir/f", "y\n");
	put("live", "dir-to-file/f", "x\n");
	put("layer", "dir-to-file", "y\n");
	put("live", "q\"uo\\te\t\x1b\xff", "x\n");
	put("layer", "q\"uo\\te\t\x1b\xff", "y\n");
	put("layer", "new\nline", "y\n");
	put("layer", "-dash", "y\n");
	put_dir("layer", "empty");
	put_dir("live", "dir");
	put_dir("layer", "dir");
	assert_int_equal(chmod(at("layer", "dir"), 0700), 0);
	put("live", "private", "x\n");
	put_bytes("layer", "private", "y\n", 2, 0600);
	compare_and_diff();
	shell("grep -q '^# dir: directory, mode' patch");
	assert_applies(GIT_APPLY);
	shell("cd layer && git init -q . && git -C . apply --check -R ../patch && rm -rf .git");
}

/* Random texts with few different lines, which make many small hunks. */
static void git_applies_random_texts(void **state)
{
	unsigned seed = 1;
	for (int round = 0; round < 20; round++) {
		char x[400], y[400];
		size_t n = 0, m = 0;
		for (int i = 0; i < 120; i++) {
			x[n++] = "ab\n\n-+@ "[rand_r(&seed) % 8];
			y[m++] = rand_r(&seed) % 10 ? x[n - 1] : "ab\n\n-+\\ "[rand_r(&seed) % 8];
		}
		put_bytes("live", "x", x, n, 0644);
		put_bytes("layer", "x", y, m, 0644);
		compare_and_diff();
		if (t->set->n == 0)
			continue;
		assert_applies(GIT_APPLY);
		assert_applies(PATCH);
	}
}

static void git_and_patch_apply_renames(void **state)
{
	put("live", "old name", "same\n");
	put_bytes("live", "bin", "\0\1", 2, 0644);
	put("live", "d/x", "x\n");
	put("layer", "dir/new", "same\n");
	put_bytes("layer", "dir/bin", "\0\1", 2, 0755);
	put("layer", "x y", "x\n");
	compare_trees();
	make_rename("old name", "dir/new");
	make_rename("bin", "dir/bin");
	make_rename("d/x", "x y");
	write_patch();
	assert_applies(GIT_APPLY);
	assert_applies(PATCH);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(git_and_patch_apply_text),
		TEST(git_applies_all_but_binary),
		TEST(git_applies_random_texts),
		TEST(git_and_patch_apply_renames),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
