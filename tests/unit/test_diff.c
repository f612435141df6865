/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The diff of a change set, by what it says. */
#include "twin_trees.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char *diff_of(const char *const *paths, const struct diff_options *options)
{
	struct airlock_error err = {0};
	struct buf out = BUF_INIT;
	int rc = diff_write(t->set, paths, options, &out, &err);
	if (rc != 0)
		fail_msg("%s", err.message);
	put_bytes("patch", "", buf_str(&out), out.len, 0644);
	return buf_take(&out);
}

static char *diff_plain(void)
{
	return diff_of(NULL, &(const struct diff_options){0});
}

static void assert_diff(const char *expected)
{
	_cleanup_free_ char *text = diff_plain();
	assert_string_equal(text, expected);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in:\n%s", part, text);
}

static int fresh(void **state)
{
	start_over();
	return 0;
}

/* ── What it says ── */

static void a_changed_file(void **state)
{
	put("live", "src/a.c", "one\ntwo\nthree\n");
	put("layer", "src/a.c", "one\n2\nthree\n");
	compare_layer();
	assert_diff("diff --git a/src/a.c b/src/a.c\n"
		    "--- a/src/a.c\n"
		    "+++ b/src/a.c\n"
		    "@@ -1,3 +1,3 @@\n"
		    " one\n"
		    "-two\n"
		    "+2\n"
		    " three\n");
}

static void new_and_deleted_files(void **state)
{
	put("live", "gone", "a\nb");
	put_bytes("live", "run", "x\n", 2, 0755);
	put("layer", "new", "a\nb\n");
	put_bytes("layer", "prog", "x", 1, 0755);
	put("layer", "empty", "");
	compare_trees();
	assert_diff("diff --git a/empty b/empty\n"
		    "new file mode 100644\n"
		    "index 0000000..e69de29\n"
		    "diff --git a/gone b/gone\n"
		    "deleted file mode 100644\n"
		    "--- a/gone\n"
		    "+++ /dev/null\n"
		    "@@ -1,2 +0,0 @@\n"
		    "-a\n"
		    "-b\n"
		    "\\ No newline at end of file\n"
		    "diff --git a/new b/new\n"
		    "new file mode 100644\n"
		    "--- /dev/null\n"
		    "+++ b/new\n"
		    "@@ -0,0 +1,2 @@\n"
		    "+a\n"
		    "+b\n"
		    "diff --git a/prog b/prog\n"
		    "new file mode 100755\n"
		    "--- /dev/null\n"
		    "+++ b/prog\n"
		    "@@ -0,0 +1 @@\n"
		    "+x\n"
		    "\\ No newline at end of file\n"
		    "diff --git a/run b/run\n"
		    "deleted file mode 100755\n"
		    "--- a/run\n"
		    "+++ /dev/null\n"
		    "@@ -1 +0,0 @@\n"
		    "-x\n");
}

static void modes_and_what_git_has_no_words_for(void **state)
{
	put("live", "bit", "x");
	put_bytes("layer", "bit", "x", 1, 0755);
	put("live", "private", "x");
	put_bytes("layer", "private", "x", 1, 0600);
	put("live", "both", "x\n");
	put_bytes("layer", "both", "y\n", 2, 0700);
	put_dir("live", "dir");
	put_dir("layer", "dir");
	assert_int_equal(chmod(at("layer", "dir"), 0700), 0);
	put_dir("layer", "empty dir");
	put("layer", "full/f", "");
	compare_layer();
	assert_diff("diff --git a/bit b/bit\n"
		    "old mode 100644\n"
		    "new mode 100755\n"
		    "# both: mode 0644 to 0700\n"
		    "diff --git a/both b/both\n"
		    "old mode 100644\n"
		    "new mode 100755\n"
		    "--- a/both\n"
		    "+++ b/both\n"
		    "@@ -1 +1 @@\n"
		    "-x\n"
		    "+y\n"
		    "# dir: directory, mode 0755 to 0700\n"
		    "# \"empty dir\": new directory\n"
		    "diff --git a/full/f b/full/f\n"
		    "new file mode 100644\n"
		    "index 0000000..e69de29\n"
		    "# private: mode 0644 to 0600\n");
}

static void times_and_attributes(void **state)
{
	put("live", "a", "x");
	put("layer", "a", "x");
	put("live", "b", "x");
	put("layer", "b", "x");
	assert_int_equal(chmod(at("layer", "a"), 0600), 0);
	assert_int_equal(chmod(at("layer", "b"), 0600), 0);
	compare_layer();
	found("a")->after.mode = found("b")->after.mode = 0644;
	found("a")->before.mtime_ns--;
	found("b")->before.mtime_ns = found("b")->after.mtime_ns;
	assert_diff("# a: modification time\n# b: extended attributes\n");
}

static void symlinks(void **state)
{
	put_link("live", "changed", "old");
	put_link("layer", "changed", "new");
	put_link("layer", "new", "target");
	compare_layer();
	assert_diff("diff --git a/changed b/changed\n"
		    "--- a/changed\n"
		    "+++ b/changed\n"
		    "@@ -1 +1 @@\n"
		    "-old\n"
		    "\\ No newline at end of file\n"
		    "+new\n"
		    "\\ No newline at end of file\n"
		    "diff --git a/new b/new\n"
		    "new file mode 120000\n"
		    "--- /dev/null\n"
		    "+++ b/new\n"
		    "@@ -0,0 +1 @@\n"
		    "+target\n"
		    "\\ No newline at end of file\n");
}

static void a_file_that_became_a_symlink(void **state)
{
	put("live", "x", "text\n");
	put_link("layer", "x", "y");
	compare_layer();
	assert_diff("diff --git a/x b/x\n"
		    "deleted file mode 100644\n"
		    "--- a/x\n"
		    "+++ /dev/null\n"
		    "@@ -1 +0,0 @@\n"
		    "-text\n"
		    "diff --git a/x b/x\n"
		    "new file mode 120000\n"
		    "--- /dev/null\n"
		    "+++ b/x\n"
		    "@@ -0,0 +1 @@\n"
		    "+y\n"
		    "\\ No newline at end of file\n");
}

static void renames(void **state)
{
	put("live", "old name", "same\n");
	put_bytes("live", "bin", "\0\1", 2, 0644);
	put("layer", "dir/new", "same\n");
	put_bytes("layer", "dir/bin", "\0\1", 2, 0755);
	compare_trees();
	make_rename("old name", "dir/new");
	make_rename("bin", "dir/bin");
	assert_diff("diff --git a/bin b/dir/bin\n"
		    "old mode 100644\n"
		    "new mode 100755\n"
		    "similarity index 100%\n"
		    "rename from bin\n"
		    "rename to dir/bin\n"
		    "diff --git \"a/old name\" b/dir/new\n"
		    "similarity index 100%\n"
		    "rename from \"old name\"\n"
		    "rename to dir/new\n");
}

static void binary_files_are_said_as_such(void **state)
{
	put_bytes("live", "x", "a\0b", 3, 0644);
	put_bytes("layer", "x", "a\0c", 3, 0644);
	put_bytes("layer", "new", "\0", 1, 0644);
	put_bytes("live", "gone", "\0", 1, 0644);
	compare_trees();
	assert_diff("diff --git a/gone b/gone\n"
		    "deleted file mode 100644\n"
		    "Binary files a/gone and /dev/null differ\n"
		    "diff --git a/new b/new\n"
		    "new file mode 100644\n"
		    "Binary files /dev/null and b/new differ\n"
		    "diff --git a/x b/x\n"
		    "Binary files a/x and b/x differ\n");
}

/* A short git object: compressed, and without a NUL. */
static void binary_files_without_a_nul_are_too(void **state)
{
	static const char object[] = "x\x01\x9d\x8e\x41\x0a\xc2\x30\x10\x45\x5d\xe7\x14\xb3\x17\x64\x92\x02\x11"
				     "\x44\x5c\x79\x89\x49\x9b\x86\x42\x93\x94\x34\x15\xbd\xbd";
	static const char cyrillic[] =
		"\xf0\xd2\xc9\xd7\xc5\xd4\x2c \x1b[1m\xcd\xc9\xd2\x1b[m! \xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2\n";
	put("layer", "koi8", cyrillic);
	put("layer", "object", object);
	compare_layer();
	_cleanup_free_ char *text = diff_plain();
	assert_has(text, "Binary files /dev/null and b/object differ\n");
	assert_has(text, cyrillic);
}

static void large_files_are_not_shown(void **state)
{
	put("live", "x", "");
	put("layer", "x", "");
	put("layer", "y", "");
	assert_int_equal(truncate(at("live", "x"), 1 << 20), 0);
	assert_int_equal(truncate(at("layer", "x"), 40 << 20), 0);
	assert_int_equal(truncate(at("layer", "y"), (off_t)5 << 30), 0);
	compare_layer();
	found("x")->kind = CHANGE_MODIFIED;
	assert_diff("# x: too large to show, 1 MiB to 40 MiB\n"
		    "diff --git a/x b/x\n"
		    "Binary files a/x and b/x differ\n"
		    "# y: too large to show, 5 GiB\n"
		    "diff --git a/y b/y\n"
		    "new file mode 100644\n"
		    "Binary files /dev/null and b/y differ\n");
}

static void what_is_gone_or_already_so(void **state)
{
	put("live", "same", "x");
	put("layer", "same", "y");
	put("live", "a", "x");
	put("layer", "a", "y");
	assert_int_equal(mkfifo(at("layer", "pipe"), 0600), 0);
	compare_layer();
	put("live", "same", "y");
	assert_int_equal(unlink(at("layer", "a")), 0);
	assert_diff("# a: cannot be shown: it is not there any more\n"
		    "# pipe: special file\n"
		    "# same: is already like that\n");
}

static void names_are_quoted_like_git_does(void **state)
{
	put("layer", "a b", "x\n");
	put("layer", "tab\there", "x\n");
	put("layer", "new\nline \"\\", "x\n");
	put("layer", "\x1b[31m\x7f\xc3\xa4\xff", "");
	compare_layer();
	_cleanup_free_ char *text = diff_plain();
	assert_has(text, "diff --git \"a/a b\" \"b/a b\"\n");
	assert_has(text, "+++ \"b/a b\"\n");
	assert_has(text, "diff --git \"a/tab\\there\" \"b/tab\\there\"\n");
	assert_has(text, "+++ \"b/new\\nline \\\"\\\\\"\n");
	assert_has(text, "diff --git \"a/\\033[31m\\177\\303\\244\\377\" \"b/\\033[31m\\177\\303\\244\\377\"\n");
	assert_null(strchr(text, '\x1b'));
}

/* ── Which changes ── */

static void only_some_paths(void **state)
{
	char full[128];
	put("layer", "a/x", "");
	put("layer", "a/y", "");
	put("layer", "ab", "");
	put("live", "old", "x");
	put("layer", "b/new", "x");
	compare_trees();
	make_rename("old", "b/new");
	(void)snprintf(full, sizeof full, "%s/a/y", t->live);
	const char *const absolute[] = {full, NULL}, *const dir[] = {"./a/", NULL}, *const from[] = {"old", NULL};
	const char *const missing[] = {"a", "nothing", NULL}, *const everything[] = {".", NULL};
	_cleanup_free_ char *one = diff_of(absolute, &(const struct diff_options){0});
	assert_string_equal(one, "diff --git a/a/y b/a/y\nnew file mode 100644\nindex 0000000..e69de29\n");
	_cleanup_free_ char *two = diff_of(dir, &(const struct diff_options){0});
	assert_has(two, "a/x");
	assert_has(two, "a/y");
	assert_null(strstr(two, "ab"));
	_cleanup_free_ char *renamed = diff_of(from, &(const struct diff_options){0});
	assert_has(renamed, "rename to b/new");
	_cleanup_free_ char *all = diff_of(everything, &(const struct diff_options){0});
	assert_has(all, "rename to b/new");
	struct buf out = BUF_INIT;
	struct airlock_error err = {0};
	assert_int_equal(diff_write(t->set, missing, &(const struct diff_options){0}, &out, &err),
			 AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(err.subject, "nothing");
	buf_done(&out);
}

static void further_roots_are_named(void **state)
{
	struct airlock_error err = {0};
	char expected[512];
	put("layer", "a", "");
	put_dir("live2", "");
	put("layer2", "b", "");
	compare_layer();
	assert_int_equal(change_set_add_root(t->set, at("live2", ""), at("layer2", ""), &err), 0);
	struct change *c = change_set_add(t->set, 1, "b");
	c->kind = CHANGE_ADDED;
	c->type = c->after.type = CHANGE_FILE;
	(void)snprintf(expected, sizeof expected,
		       "diff --git a/a b/a\nnew file mode 100644\nindex 0000000..e69de29\n# in %s/live2\n"
		       "diff --git a/b b/b\nnew file mode 100644\nindex 0000000..e69de29\n",
		       t->dir);
	assert_diff(expected);
	forget("live2");
	forget("layer2");
}

/* ── Where the content is ── */

static void an_applied_run_has_its_old_content_in_before(void **state)
{
	put("run/before", "7", "old\n");
	put("run/before", "9", "gone\n");
	put_link("run/before", "11", "old");
	put("live", "a", "old\n");
	put("live", "gone", "gone\n");
	put_link("live", "l", "old");
	put("layer", "a", "new\n");
	put_link("layer", "l", "new");
	compare_trees();
	for (size_t i = 0; i < t->set->n; i++)
		t->set->v[i].state = CHANGE_APPLIED;
	found("a")->slot = 7;
	found("gone")->slot = 9;
	found("l")->slot = 11;
	forget("live");
	shell("mv layer live && mkdir layer");
	_cleanup_free_ char *text = diff_of(NULL, &(const struct diff_options){.run_dir = at("run", "")});
	assert_has(text, "-old\n+new\n");
	assert_has(text, "-gone\n");
	assert_has(text, "-old\n\\ No newline at end of file\n+new\n");
	_cleanup_free_ char *without = diff_plain();
	assert_has(without, "# a: cannot be shown: it is not there any more\n");
	forget("run");
}

static int open_fixed(void *context, const struct change *c)
{
	const char *text = context;
	int fd = memfd_create("x", MFD_CLOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int open_nothing(void *context, const struct change *c)
{
	return -EACCES;
}

static void content_can_come_from_elsewhere(void **state)
{
	put("live", "x", "a");
	put("layer", "x", "b");
	compare_layer();
	struct diff_source source = {open_fixed, open_fixed, (char *)(uintptr_t) "here\n"};
	_cleanup_free_ char *same = diff_of(NULL, &(const struct diff_options){.source = &source});
	assert_string_equal(same, "# x: is already like that\n");
	source.open_after = open_nothing;
	_cleanup_free_ char *denied = diff_of(NULL, &(const struct diff_options){.source = &source});
	assert_string_equal(denied, "# x: cannot be shown: Permission denied\n");
}

/* The layer is the command's: nothing in it may lead us elsewhere. */
static void a_symlink_in_the_layer_is_not_followed(void **state)
{
	put("layer", "d/x", "harmless");
	compare_layer();
	put("secret", "x", "secret");
	shell("rm -r layer/d && ln -s ../secret layer/d");
	_cleanup_free_ char *text = diff_plain();
	assert_null(strstr(text, "secret"));
	assert_has(text, "# d/x: cannot be shown");
	forget("secret");
}

/* ── On a terminal ── */

static void colours_and_inert_content(void **state)
{
	put("live", "x", "keep \x1b]0;t\x07 \xe2\x80\xae\nold\\n\t\x9b\n");
	put("layer", "x", "keep \x1b]0;t\x07 \xe2\x80\xae\nnew\r\n");
	compare_layer();
	_cleanup_free_ char *text = diff_of(NULL, &(const struct diff_options){.colour = true});
	assert_string_equal(text, "\033[1mdiff --git a/x b/x\033[m\n"
				  "\033[1m--- a/x\033[m\n"
				  "\033[1m+++ b/x\033[m\n"
				  "\033[36m@@ -1,2 +1,2 @@\033[m\n"
				  " keep \\x1b]0;t\\x07 \\u{202e}\n"
				  "\033[31m-old\\n\t\\x9b\033[m\n"
				  "\033[32m+new\\r\033[m\n");
	_cleanup_free_ char *plain = diff_of(NULL, &(const struct diff_options){.inert = true});
	assert_null(strchr(plain, '\033'));
	assert_has(plain, "-old\\n\t\\x9b\n");
}

/* ── The caller's process ── */

static int diff_in_child(void (*prepare)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct buf out = BUF_INIT;
		struct airlock_error err = {0};
		prepare();
		int rc = diff_write(t->set, NULL, &(const struct diff_options){0}, &out, &err);
		_exit(rc == 0 && strstr(buf_str(&out), "-old\n+new\n") ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void ignore_children(void)
{
	(void)signal(SIGCHLD, SIG_IGN);
}

static void close_standard(void)
{
	for (int fd = 0; fd < 5; fd++)
		(void)close(fd);
}

static void block_signals(void)
{
	sigset_t all;
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)setenv("DIFF_OPTIONS", "--brief", 1);
	(void)setenv("POSIXLY_CORRECT", "1", 1);
}

static void whatever_the_caller_did_to_its_process(void **state)
{
	put("live", "x", "old\n");
	put("layer", "x", "new\n");
	compare_layer();
	assert_int_equal(diff_in_child(ignore_children), 0);
	assert_int_equal(diff_in_child(close_standard), 0);
	assert_int_equal(diff_in_child(block_signals), 0);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_file),
		TEST(new_and_deleted_files),
		TEST(modes_and_what_git_has_no_words_for),
		TEST(times_and_attributes),
		TEST(symlinks),
		TEST(a_file_that_became_a_symlink),
		TEST(renames),
		TEST(binary_files_are_said_as_such),
		TEST(binary_files_without_a_nul_are_too),
		TEST(large_files_are_not_shown),
		TEST(what_is_gone_or_already_so),
		TEST(names_are_quoted_like_git_does),
		TEST(only_some_paths),
		TEST(further_roots_are_named),
		TEST(an_applied_run_has_its_old_content_in_before),
		TEST(content_can_come_from_elsewhere),
		TEST(a_symlink_in_the_layer_is_not_followed),
		TEST(colours_and_inert_content),
		TEST(whatever_the_caller_did_to_its_process),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
