/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of ours, in a directory of its own per test. Everything here holds for root and for an ordinary user. */
#include "tests.h"

#include "base/path.h"
#include "fs/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

struct place {
	char dir[64];
	int fd;
};

static int setup(void **state)
{
	struct place *p = malloc(sizeof *p);
	strcpy(p->dir, "/tmp/airlock-test-fs-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[256];
	(void)snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", p->dir, p->dir);
	assert_int_equal(system(command), 0);
	(void)close(p->fd);
	free(p);
	return 0;
}

/* Lives until the next call. */
static const char *in(void **state, const char *name)
{
	static char path[512];
	(void)snprintf(path, sizeof path, "%s/%s", ((struct place *)*state)->dir, name);
	return path;
}

static int top(void **state)
{
	return ((struct place *)*state)->fd;
}

static void put(int dirfd, const char *name, const char *content)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static size_t count_entries(void **state)
{
	DIR *d = opendir(((struct place *)*state)->dir);
	size_t n = 0;
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2;
}

static unsigned mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void a_file_is_read_whole(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	put(top(state), "f", "hello");
	buf_adds(&b, "old");
	assert_int_equal(fs_read_file(in(state, "f"), 5, &b, NULL), 0);
	assert_int_equal(b.len, 5);
	assert_string_equal(buf_str(&b), "hello");
	put(top(state), "empty", "");
	assert_int_equal(fs_read_file(in(state, "empty"), 0, &b, NULL), 0);
	assert_int_equal(b.len, 0);
}

static void a_file_over_the_limit_is_refused(void **state)
{
	struct airlock_error err = {0};
	_cleanup_buf_ struct buf b = BUF_INIT;
	buf_adds(&b, "old");
	put(top(state), "f", "hello");
	assert_int_equal(fs_read_file(in(state, "f"), 4, &b, &err), AIRLOCK_ERR_LIMIT);
	assert_string_equal(err.subject, in(state, "f"));
	assert_string_equal(buf_str(&b), "old");
}

/* Its size is said to be 0, as that of a file which grows after we looked. */
static void a_growing_file_is_limited_too(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	assert_int_equal(fs_read_file("/proc/self/status", 16, &b, NULL), AIRLOCK_ERR_LIMIT);
	assert_int_equal(fs_read_file("/proc/self/status", SIZE_MAX, &b, NULL), 0);
	assert_true(b.len > 16);
}

static void only_regular_files_are_read(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	assert_int_equal(mkfifo(in(state, "fifo"), 0600), 0);
	assert_int_equal(fs_read_file(in(state, "fifo"), 10, &b, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_read_file(in(state, "."), 10, &b, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_read_file("/dev/zero", 10, &b, NULL), AIRLOCK_ERR_INVALID);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	_cleanup_close_ int s = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(a.sun_path, in(state, "sock"));
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(fs_read_file(in(state, "sock"), 10, &b, NULL), AIRLOCK_ERR_INVALID);
}

static void what_is_missing_is_not_found(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	_cleanup_free_ char *real = NULL;
	put(top(state), "f", "");
	assert_int_equal(fs_read_file(in(state, "none"), 10, &b, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(fs_read_file(in(state, "f/x"), 10, &b, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(fs_real_path(in(state, "none"), &real, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(fs_check_private(in(state, "none"), NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_null(real);
}

static void a_symlink_loop_is_invalid(void **state)
{
	_cleanup_free_ char *real = NULL;
	_cleanup_buf_ struct buf b = BUF_INIT;
	assert_int_equal(symlinkat("loop", top(state), "loop"), 0);
	assert_int_equal(fs_real_path(in(state, "loop"), &real, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_read_file(in(state, "loop"), 10, &b, NULL), AIRLOCK_ERR_INVALID);
}

static void directories_are_made_private(void **state)
{
	mode_t old = umask(0);
	assert_int_equal(fs_make_private_dir(in(state, "a//b/./c/"), NULL), 0);
	(void)umask(0777);
	assert_int_equal(fs_make_private_dir(in(state, "x/y"), NULL), 0);
	(void)umask(old);
	assert_int_equal(mode_of(in(state, "a")), 0700);
	assert_int_equal(mode_of(in(state, "a/b/c")), 0700);
	assert_int_equal(mode_of(in(state, "x")), 0700);
	assert_int_equal(mode_of(in(state, "x/y")), 0700);
	assert_int_equal(fs_make_private_dir(in(state, "a/b/c"), NULL), 0);
	assert_int_equal(fs_make_private_dir("/", NULL), 0);
}

static void an_existing_directory_keeps_its_mode(void **state)
{
	assert_int_equal(mkdirat(top(state), "a", 0755), 0);
	assert_int_equal(chmod(in(state, "a"), 0755), 0);
	assert_int_equal(fs_make_private_dir(in(state, "a/b"), NULL), 0);
	assert_int_equal(mode_of(in(state, "a")), 0755);
}

static void a_file_in_the_way_is_named(void **state)
{
	struct airlock_error err = {0};
	put(top(state), "f", "");
	assert_int_equal(fs_make_private_dir(in(state, "f/x/y"), &err), AIRLOCK_ERR_INVALID);
	assert_string_equal(err.subject, in(state, "f"));
	assert_int_equal(symlinkat("nowhere", top(state), "dangling"), 0);
	assert_int_equal(fs_make_private_dir(in(state, "dangling/x"), NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_write_private_file(in(state, "f/x"), "", 0, NULL), AIRLOCK_ERR_INVALID);
}

static void a_refused_directory_is_named(void **state)
{
	struct airlock_error err = {0};
	assert_int_equal(fs_make_private_dir("/proc/airlock-test/x", &err), AIRLOCK_ERR_IO);
	assert_string_equal(err.subject, "/proc/airlock-test");
	assert_true(err.errnum != 0);
}

static void a_private_file_is_replaced_whole(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	mode_t old = umask(0777);
	assert_int_equal(fs_write_private_file(in(state, "d/f"), "one\0two", 7, NULL), 0);
	(void)umask(old);
	assert_int_equal(mode_of(in(state, "d/f")), 0600);
	assert_int_equal(fs_read_file(in(state, "d/f"), 100, &b, NULL), 0);
	assert_int_equal(b.len, 7);
	assert_memory_equal(b.data, "one\0two", 7);
	assert_int_equal(fs_write_private_file(in(state, "d/f"), "x", 1, NULL), 0);
	assert_int_equal(fs_read_file(in(state, "d/f"), 100, &b, NULL), 0);
	assert_string_equal(buf_str(&b), "x");
}

static void a_symlink_is_replaced_not_followed(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	put(top(state), "victim", "mine");
	assert_int_equal(symlinkat("victim", top(state), "f"), 0);
	assert_int_equal(fs_write_private_file(in(state, "f"), "new", 3, NULL), 0);
	assert_int_equal(fs_read_file(in(state, "victim"), 100, &b, NULL), 0);
	assert_string_equal(buf_str(&b), "mine");
	assert_int_equal(mode_of(in(state, "f")), 0600);
}

static void a_failed_write_leaves_no_temporary(void **state)
{
	struct airlock_error err = {0};
	assert_int_equal(mkdirat(top(state), "f", 0700), 0);
	assert_int_equal(fs_write_private_file(in(state, "f"), "new", 3, &err), AIRLOCK_ERR_INVALID);
	assert_string_equal(err.subject, in(state, "f"));
	assert_int_equal(count_entries(state), 1);
	char name[300];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(fs_write_private_file(in(state, name), "new", 3, NULL), AIRLOCK_ERR_IO);
	assert_int_equal(count_entries(state), 1);
	assert_int_equal(fs_write_private_file("/proc/airlock-test", "new", 3, NULL), AIRLOCK_ERR_IO);
}

static void what_others_may_write_is_not_private(void **state)
{
	struct airlock_error err = {0};
	struct stat st;
	put(top(state), "f", "");
	assert_int_equal(fs_check_private(in(state, "f"), NULL), 0);
	assert_int_equal(chmod(in(state, "f"), 0666), 0);
	assert_int_equal(fs_check_private(in(state, "f"), &err), AIRLOCK_ERR_INVALID);
	assert_string_equal(err.subject, in(state, "f"));
	assert_int_equal(chmod(in(state, "f"), 0660), 0);
	assert_int_equal(stat(in(state, "f"), &st), 0);
	assert_int_equal(fs_check_private(in(state, "f"), NULL), st.st_gid == st.st_uid ? 0 : AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_check_private("/tmp", NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(fs_check_private("/usr", NULL), 0);
}

static void what_somebody_else_owns_is_not_private(void **state)
{
	if (geteuid() != 0) /* only root can make such a file; the suite runs as root too */
		return;
	put(top(state), "f", "");
	assert_int_equal(chown(in(state, "f"), 4242, 4242), 0);
	assert_int_equal(fs_check_private(in(state, "f"), NULL), AIRLOCK_ERR_INVALID);
}

static void a_symlink_is_not_private(void **state)
{
	put(top(state), "f", "");
	assert_int_equal(symlinkat("f", top(state), "l"), 0);
	assert_int_equal(fs_check_private(in(state, "l"), NULL), AIRLOCK_ERR_INVALID);
}

static void real_paths_have_no_symlinks(void **state)
{
	_cleanup_free_ char *real = NULL;
	assert_int_equal(mkdirat(top(state), "d", 0700), 0);
	assert_int_equal(symlinkat("d", top(state), "l"), 0);
	assert_int_equal(fs_real_path(in(state, "l/../l/."), &real, NULL), 0);
	assert_string_equal(real, in(state, "d"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read_whole),
		TEST(a_file_over_the_limit_is_refused),
		TEST(a_growing_file_is_limited_too),
		TEST(only_regular_files_are_read),
		TEST(what_is_missing_is_not_found),
		TEST(a_symlink_loop_is_invalid),
		TEST(directories_are_made_private),
		TEST(an_existing_directory_keeps_its_mode),
		TEST(a_file_in_the_way_is_named),
		TEST(a_refused_directory_is_named),
		TEST(a_private_file_is_replaced_whole),
		TEST(a_symlink_is_replaced_not_followed),
		TEST(a_failed_write_leaves_no_temporary),
		TEST(what_others_may_write_is_not_private),
		TEST(what_somebody_else_owns_is_not_private),
		TEST(a_symlink_is_not_private),
		TEST(real_paths_have_no_symlinks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
