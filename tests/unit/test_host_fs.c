/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan's view of the machine: whatever was read before, the answer is what lstat(2) would say. */
#include "tests.h"

#include "base/path.h"
#include "fs/fs.h"
#include "run/host_fs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ENOUGH 20 /* questions after which a directory was read */

struct state {
	char dir[PATH_MAX];
	struct host_fs world;
	struct plan_world view;
};

static int setup(void **state)
{
	struct state *s = calloc(1, sizeof *s);
	const char *base = getenv("TMPDIR");
	assert_non_null(s);
	(void)snprintf(s->dir, sizeof s->dir, "%s/world-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(s->dir));
	s->view = host_fs_view(&s->world);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct state *s = *state;
	char command[PATH_MAX + 16];
	host_fs_done(&s->world);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

static void make_file(const struct state *s, const char *name)
{
	char path[2 * PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", s->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void make_dir(const struct state *s, const char *name)
{
	char path[2 * PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", s->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static enum plan_type ask(struct state *s, const char *name)
{
	char path[2 * PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", s->dir, name);
	return s->view.type(path, s->view.data);
}

static void ask_much(struct state *s, const char *dir)
{
	char name[64];
	for (int i = 0; i < ENOUGH; i++) {
		(void)snprintf(name, sizeof name, "%s%sno-%d", dir, *dir ? "/" : "", i);
		assert_int_equal(ask(s, name), PLAN_MISSING);
	}
}

static void everything_is_what_it_is_before_and_after_reading(void **state)
{
	struct state *s = *state;
	char path[2 * PATH_MAX];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	make_file(s, "file");
	make_dir(s, "dir");
	make_file(s, "dir/in");
	(void)snprintf(path, sizeof path, "%s/link", s->dir);
	assert_int_equal(symlink("nowhere", path), 0);
	(void)snprintf(path, sizeof path, "%s/pipe", s->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", s->dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(ask(s, "file"), PLAN_FILE);
		assert_int_equal(ask(s, "dir"), PLAN_DIRECTORY);
		assert_int_equal(ask(s, "dir/in"), PLAN_FILE);
		assert_int_equal(ask(s, "link"), PLAN_LINK);
		assert_int_equal(ask(s, "link/below"), PLAN_MISSING);
		assert_int_equal(ask(s, "pipe"), PLAN_OTHER);
		assert_int_equal(ask(s, "socket"), PLAN_SOCKET);
		assert_int_equal(ask(s, "FILE"), PLAN_MISSING);
		assert_int_equal(ask(s, "file/below"), PLAN_MISSING);
		assert_int_equal(ask(s, "no/such/place"), PLAN_MISSING);
		ask_much(s, "");
		ask_much(s, "dir");
		ask_much(s, "no/such");
	}
	(void)close(fd);
	assert_int_equal(s->view.type("/", s->view.data), PLAN_DIRECTORY);
}

/* Where letters of either case are one name, the list of names alone cannot tell: these answers come from lstat. */
static void a_name_that_may_be_meant_is_looked_at(void **state)
{
	struct state *s = *state;
	make_file(s, ".SSH");
	make_file(s, ".\xc5\xbfh");
	ask_much(s, "");
	assert_int_equal(ask(s, ".ssh"), PLAN_MISSING);
	make_file(s, ".ssh"); /* behind the back of what was read: only who looks sees it */
	assert_int_equal(ask(s, ".ssh"), PLAN_FILE);
	assert_int_equal(ask(s, ".gnupg"), PLAN_MISSING);
	make_file(s, ".gnupg"); /* may be the name with the long s, for all we know */
	assert_int_equal(ask(s, ".gnupg"), PLAN_FILE);
	assert_int_equal(ask(s, "other"), PLAN_MISSING);
	make_file(s, "other");
	assert_int_equal(ask(s, "other"), PLAN_MISSING);
}

static void a_directory_too_full_is_asked_entry_by_entry(void **state)
{
	struct state *s = *state;
	char name[32];
	for (int i = 0; i < 2100; i++) {
		(void)snprintf(name, sizeof name, "f%d", i);
		make_file(s, name);
	}
	ask_much(s, "");
	assert_int_equal(ask(s, "f2099"), PLAN_FILE);
	assert_int_equal(ask(s, "late"), PLAN_MISSING);
	make_file(s, "late");
	assert_int_equal(ask(s, "late"), PLAN_FILE);
}

static void a_list_is_the_same_read_before_or_not(void **state)
{
	struct state *s = *state;
	_cleanup_strs_ struct strs before = STRS_INIT, after = STRS_INIT;
	make_file(s, "b");
	make_file(s, "A");
	make_dir(s, ".c");
	assert_int_equal(s->view.list(s->dir, &before, s->view.data), 0);
	ask_much(s, "");
	assert_int_equal(s->view.list(s->dir, &after, s->view.data), 0);
	strs_sort(&before);
	strs_sort(&after);
	assert_int_equal(before.n, 3);
	assert_int_equal(after.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(before.v[i], after.v[i]);
	assert_true(s->view.list("/no/such/directory", &after, s->view.data) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything_is_what_it_is_before_and_after_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_that_may_be_meant_is_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(a_directory_too_full_is_asked_entry_by_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_is_the_same_read_before_or_not, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
