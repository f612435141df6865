/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of ours, in a directory of its own per test. Everything here holds for root and for an ordinary user. */
#include "tests.h"

#include "base/path.h"
#include "fs/fs.h"
#include "fs/inodes.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

/* Calls that can be made to fail: the linker sends those of the library here. */
static const char *failing = "";

ssize_t __real_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
ssize_t __real_getrandom(void *data, size_t len, unsigned flags);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_fsync(int fd);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags);

static bool fails(const char *call)
{
	if (strcmp(failing, call) != 0)
		return false;
	errno = ENOSPC;
	return true;
}

/* Short of what was asked for, and interrupted now and then, as write(2) may be. */
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	static unsigned turn;
	if (fails("write"))
		return -1;
	if (strcmp(failing, "short") != 0)
		return __real_write(fd, data, len);
	if (++turn % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	return __real_write(fd, data, len > 2 ? 2 : len);
}

int __wrap_fsync(int fd)
{
	return fails("fsync") ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return fails("renameat") ? -1 : __real_renameat(from_fd, from, to_fd, to);
}

ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags)
{
	return fails("getrandom") ? -1 : __real_getrandom(data, len, flags);
}

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

static void a_file_prepared_has_no_name_until_it_is_made(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	mode_t old = umask(0777);
	int prepared = fs_prepare_file(in(state, "."));
	(void)umask(old);
	assert_int_equal(count_entries(state), 0);
	assert_int_equal(fs_create_prepared_file(prepared, in(state, "f"), "one\0two", 7, NULL), 0);
	assert_int_equal(mode_of(in(state, "f")), 0600);
	assert_int_equal(fs_read_file(in(state, "f"), 100, &b, NULL), 0);
	assert_memory_equal(b.data, "one\0two", 7);
	/* What is there is not replaced, whether there was one or not. */
	prepared = fs_prepare_file(in(state, "."));
	assert_int_equal(fs_create_prepared_file(prepared, in(state, "f"), "x", 1, NULL), AIRLOCK_ERR_IO);
	assert_int_equal(fs_create_prepared_file(-1, in(state, "f"), "x", 1, NULL), AIRLOCK_ERR_IO);
	assert_int_equal(fs_create_prepared_file(-1, in(state, "g"), "x", 1, NULL), 0);
	assert_int_equal(fs_prepare_file(in(state, "nowhere")), -1);
	assert_int_equal(fs_read_file(in(state, "f"), 100, &b, NULL), 0);
	assert_int_equal(b.len, 7);
	assert_int_equal(count_entries(state), 2);
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

static void every_failing_call_leaves_the_old_file(void **state)
{
	static const char *const calls[] = {"write", "fsync", "renameat", "getrandom"};
	_cleanup_buf_ struct buf b = BUF_INIT;
	put(top(state), "f", "old");
	for (size_t i = 0; i < AL_ARRAY_LEN(calls); i++) {
		struct airlock_error err = {0};
		failing = calls[i];
		int rc = fs_write_private_file(in(state, "f"), "new", 3, &err);
		failing = "";
		assert_int_equal(rc, AIRLOCK_ERR_IO);
		assert_int_equal(err.errnum, ENOSPC);
		assert_string_equal(err.subject, in(state, "f"));
		assert_int_equal(count_entries(state), 1);
		assert_int_equal(fs_read_file(in(state, "f"), 10, &b, NULL), 0);
		assert_string_equal(buf_str(&b), "old");
	}
}

static void short_writes_are_continued(void **state)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	failing = "short";
	int rc = fs_write_private_file(in(state, "f"), "0123456789", 10, NULL);
	failing = "";
	assert_int_equal(rc, 0);
	assert_int_equal(fs_read_file(in(state, "f"), 10, &b, NULL), 0);
	assert_string_equal(buf_str(&b), "0123456789");
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

static bool exists(void **state, const char *name)
{
	struct stat st;
	return fstatat(top(state), name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make_dir(void **state, const char *name)
{
	assert_int_equal(mkdirat(top(state), name, 0755), 0);
}

static void a_tree_is_removed_and_counted(void **state)
{
	uint64_t n = 0;
	make_dir(state, "t");
	make_dir(state, "t/a");
	make_dir(state, "t/a/b");
	put(top(state), "t/a/b/f", "x");
	put(top(state), "t/g", "x");
	put(top(state), "stays", "x");
	assert_int_equal(mkfifo(in(state, "t/fifo"), 0600), 0);
	assert_int_equal(fs_remove_tree_at(top(state), "t", &n, NULL), 0);
	assert_int_equal(n, 6);
	assert_false(exists(state, "t"));
	assert_true(exists(state, "stays"));
	assert_int_equal(fs_remove_tree_at(top(state), "stays", NULL, NULL), 0);
	assert_false(exists(state, "stays"));
}

static void symlinks_in_a_tree_are_not_followed(void **state)
{
	uint64_t bytes = 0, entries = 0, n = 0;
	make_dir(state, "outside");
	put(top(state), "outside/precious", "x");
	make_dir(state, "t");
	assert_int_equal(symlinkat("../outside", top(state), "t/rel"), 0);
	assert_int_equal(symlinkat(in(state, "outside"), top(state), "t/abs"), 0);
	assert_int_equal(symlinkat("/", top(state), "t/root"), 0);
	assert_int_equal(fs_tree_size_at(top(state), "t", &bytes, &entries, NULL), 0);
	assert_int_equal(entries, 4);
	assert_int_equal(fs_remove_tree_at(top(state), "t", &n, NULL), 0);
	assert_int_equal(n, 4);
	assert_true(exists(state, "outside/precious"));
}

static void a_symlink_as_the_top_is_removed_itself(void **state)
{
	make_dir(state, "outside");
	put(top(state), "outside/precious", "x");
	assert_int_equal(symlinkat("outside", top(state), "l"), 0);
	assert_int_equal(fs_remove_tree_at(top(state), "l", NULL, NULL), 0);
	assert_false(exists(state, "l"));
	assert_true(exists(state, "outside/precious"));
}

static void directories_without_permissions_are_removed(void **state)
{
	make_dir(state, "t");
	make_dir(state, "t/a");
	make_dir(state, "t/a/b");
	make_dir(state, "t/read-only");
	put(top(state), "t/a/b/f", "x");
	put(top(state), "t/read-only/f", "x");
	assert_int_equal(chmod(in(state, "t/read-only"), 0500), 0);
	assert_int_equal(chmod(in(state, "t/a/b"), 0400), 0);
	assert_int_equal(chmod(in(state, "t/a"), 0), 0);
	assert_int_equal(chmod(in(state, "t"), 0), 0);
	assert_int_equal(fs_remove_tree_at(top(state), "t", NULL, NULL), 0);
	assert_false(exists(state, "t"));
}

/* The parent of an unreadable or unsearchable directory must still be found again. */
static void measuring_changes_no_permissions(void **state)
{
	uint64_t bytes = 0, entries = 0;
	make_dir(state, "t");
	make_dir(state, "t/locked");
	make_dir(state, "t/unsearchable");
	put(top(state), "t/unsearchable/f", "x");
	put(top(state), "t/z", "x");
	assert_int_equal(chmod(in(state, "t/locked"), 0), 0);
	assert_int_equal(chmod(in(state, "t/unsearchable"), 0400), 0);
	assert_int_equal(fs_tree_size_at(top(state), "t", &bytes, &entries, NULL), 0);
	assert_int_equal(entries, geteuid() == 0 ? 5 : 4);
	assert_int_equal(mode_of(in(state, "t/locked")), 0);
	assert_int_equal(mode_of(in(state, "t/unsearchable")), 0400);
}

static void sizes_count_hard_links_once(void **state)
{
	uint64_t one = 0, two = 0, entries = 0;
	static char block[65536];
	memset(block, 'x', sizeof block - 1);
	make_dir(state, "t");
	put(top(state), "t/f", block);
	assert_int_equal(fs_tree_size_at(top(state), "t", &one, &entries, NULL), 0);
	assert_int_equal(entries, 2);
	assert_true(one >= sizeof block - 1);
	assert_int_equal(linkat(top(state), "t/f", top(state), "t/g", 0), 0);
	assert_int_equal(fs_tree_size_at(top(state), "t", &two, &entries, NULL), 0);
	assert_int_equal(entries, 3);
	assert_int_equal(one, two);
	assert_int_equal(fs_tree_size_at(top(state), "t", &two, &entries, NULL), 0);
}

/* Far more levels than descriptors, and a path far longer than PATH_MAX. */
static void make_deep_tree(int dirfd, int levels)
{
	int at = dup(dirfd);
	for (int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(at, "level", 0755), 0);
		int next = openat(at, "level", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		put(next, "f", "x");
		(void)close(at);
		at = next;
	}
	(void)close(at);
}

static void four_thousand_levels_are_no_trouble(void **state)
{
	uint64_t bytes = 0, entries = 0, n = 0;
	make_deep_tree(top(state), 4000);
	assert_int_equal(fs_tree_size_at(top(state), "level", &bytes, &entries, NULL), 0);
	assert_int_equal(entries, 8000);
	assert_int_equal(fs_remove_tree_at(top(state), "level", &n, NULL), 0);
	assert_int_equal(n, 8000);
	assert_false(exists(state, "level"));
}

static void names_may_be_any_bytes(void **state)
{
	static const char *const names[] = {"a\nb", "\xff\xfe", " ", "-rf", "\"'$(id)", "..."};
	uint64_t bytes = 0, entries = 0, n = 0;
	make_dir(state, "t\n\xff");
	_cleanup_close_ int fd = openat(top(state), "t\n\xff", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		assert_int_equal(mkdirat(fd, names[i], 0755), 0);
		_cleanup_close_ int sub = openat(fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		put(sub, names[i], "x");
	}
	assert_int_equal(fs_tree_size_at(top(state), "t\n\xff", &bytes, &entries, NULL), 0);
	assert_int_equal(entries, 13);
	assert_int_equal(fs_remove_tree_at(top(state), "t\n\xff", &n, NULL), 0);
	assert_int_equal(n, 13);
}

static void a_missing_tree_is_not_found(void **state)
{
	uint64_t bytes = 7, entries = 7;
	struct airlock_error err = {0};
	assert_int_equal(fs_remove_tree_at(top(state), "none", &entries, &err), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(err.subject, "none");
	assert_int_equal(fs_tree_size_at(top(state), "none", &bytes, &entries, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(bytes, 7);
	assert_int_equal(entries, 7);
}

static void only_plain_names_are_taken(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "/", "../x"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		uint64_t bytes, entries;
		assert_int_equal(fs_remove_tree_at(top(state), names[i], NULL, NULL), AIRLOCK_ERR_INVALID);
		assert_int_equal(fs_tree_size_at(top(state), names[i], &bytes, &entries, NULL), AIRLOCK_ERR_INVALID);
	}
}

/* /proc is a mount point on every machine this runs on. */
static void a_mount_point_is_not_entered(void **state)
{
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t bytes, entries;
	assert_int_equal(fs_tree_size_at(root, "proc", &bytes, &entries, NULL), AIRLOCK_ERR_BUSY);
	assert_int_equal(fs_remove_tree_at(root, "proc", NULL, NULL), AIRLOCK_ERR_BUSY);
}

/* A bind mount has the device number of what it shows: only the kernel's own check tells them apart. */
static int remove_tree_with_bind_mount(void **state)
{
	struct airlock_error err = {0};
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	/* By name from here: the open descriptor still sees the mounts of before. */
	if (chdir(in(state, ".")) < 0 || mount("outside", "t/mnt", NULL, MS_BIND, NULL) < 0)
		return -1;
	return fs_remove_tree_at(AT_FDCWD, "t", NULL, &err);
}

static void a_bind_mount_is_not_emptied(void **state)
{
	make_dir(state, "outside");
	put(top(state), "outside/precious", "x");
	make_dir(state, "t");
	make_dir(state, "t/mnt");
	pid_t child = fork();
	int status = 0;
	if (child == 0)
		_exit(remove_tree_with_bind_mount(state) == AIRLOCK_ERR_BUSY ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(exists(state, "outside/precious"));
	assert_int_equal(status, 0);
}

static void forbid_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = AL_ARRAY_LEN(code), .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(2);
}

static int without_openat2(void **state)
{
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forbid_openat2();
	if (fs_remove_tree_at(root, "proc", NULL, NULL) != AIRLOCK_ERR_BUSY)
		return 3;
	if (fs_remove_tree_at(top(state), "link", NULL, NULL) < 0)
		return 4;
	return fs_remove_tree_at(top(state), "t", NULL, NULL) < 0 ? 5 : 0;
}

static void kernels_without_openat2_do_too(void **state)
{
	int status = 0;
	make_dir(state, "outside");
	put(top(state), "outside/precious", "x");
	make_dir(state, "t");
	make_dir(state, "t/a");
	assert_int_equal(symlinkat("../outside", top(state), "t/a/link"), 0);
	assert_int_equal(symlinkat("outside", top(state), "link"), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(without_openat2(state));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(exists(state, "t"));
	assert_true(exists(state, "outside/precious"));
}

static void inodes_are_remembered(void **state)
{
	_cleanup_inodes_ struct fs_inodes s = FS_INODES_INIT;
	assert_false(fs_inodes_has(&s, 1, 1));
	for (ino_t i = 0; i < 5000; i++)
		assert_true(fs_inodes_add(&s, i % 3, i));
	for (ino_t i = 0; i < 5000; i++) {
		assert_false(fs_inodes_add(&s, i % 3, i));
		assert_true(fs_inodes_has(&s, i % 3, i));
		assert_false(fs_inodes_has(&s, i % 3 + 1, i));
	}
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
		TEST(a_file_prepared_has_no_name_until_it_is_made),
		TEST(a_symlink_is_replaced_not_followed),
		TEST(a_failed_write_leaves_no_temporary),
		TEST(every_failing_call_leaves_the_old_file),
		TEST(short_writes_are_continued),
		TEST(what_others_may_write_is_not_private),
		TEST(what_somebody_else_owns_is_not_private),
		TEST(a_symlink_is_not_private),
		TEST(real_paths_have_no_symlinks),
		TEST(a_tree_is_removed_and_counted),
		TEST(symlinks_in_a_tree_are_not_followed),
		TEST(a_symlink_as_the_top_is_removed_itself),
		TEST(directories_without_permissions_are_removed),
		TEST(measuring_changes_no_permissions),
		TEST(sizes_count_hard_links_once),
		TEST(four_thousand_levels_are_no_trouble),
		TEST(names_may_be_any_bytes),
		TEST(a_missing_tree_is_not_found),
		TEST(only_plain_names_are_taken),
		TEST(a_mount_point_is_not_entered),
		TEST(a_bind_mount_is_not_emptied),
		TEST(kernels_without_openat2_do_too),
		TEST(inodes_are_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
