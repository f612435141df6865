/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The live monitor: on plain directories, under a real overlay, and when it runs out of everything. */
#include "overlay_world.h"

#include "base/macros.h"
#include "layer/monitor.h"
#include "layer/monitor_seen.h"

#include <poll.h>

static void closep(struct monitor **m)
{
	monitor_close(*m);
}
#define _cleanup_monitor_ _cleanup_(closep)

/* A user has 128 inotify instances on this machine, and programs that run beside this test may hold all of them for a moment. */
static int open_monitor(const char *const *dirs, size_t n, struct monitor **ret)
{
	int rc = monitor_open(dirs, n, ret);
	for (int tries = 0; rc == -EMFILE && tries < 300; tries++) {
		(void)usleep(100000);
		rc = monitor_open(dirs, n, ret);
	}
	return rc;
}

static struct monitor *watch(const char *dir)
{
	struct monitor *m = NULL;
	return open_monitor(&dir, 1, &m) == 0 ? m : NULL;
}

/* Until nothing has come for a moment. */
static void drain(struct monitor *m)
{
	struct pollfd p = {.fd = monitor_fd(m), .events = POLLIN};
	while (poll(&p, 1, 20) > 0)
		monitor_read(m);
}

static uint64_t count(struct monitor *m)
{
	drain(m);
	return monitor_count(m);
}

static const char *latest(const struct monitor *m, size_t i)
{
	struct monitor_path p[MONITOR_LATEST + 1];
	return i < monitor_latest(m, p, MONITOR_LATEST + 1) ? p[i].path : "";
}

static const char *check_files(const char *dir)
{
	_cleanup_monitor_ struct monitor *m = watch(dir);
	EXPECT(m && count(m) == 0 && *latest(m, 0) == '\0');
	EXPECT(world_host(dir, "echo 1 >a; echo 1 >b; ln -s x c; echo 2 >>a") == 0);
	EXPECT(count(m) == 3 && monitor_is_exact(m));
	EXPECT(strcmp(latest(m, 0), "a") == 0 && strcmp(latest(m, 1), "c") == 0 && strcmp(latest(m, 2), "b") == 0);
	EXPECT(world_host(dir, "mv a d; chmod 600 b; rm c") == 0);
	EXPECT(count(m) == 2);
	EXPECT(world_host(dir, "for i in $(seq 100); do echo 1 >t; rm t; done") == 0);
	EXPECT(count(m) == 2 && monitor_is_exact(m));
	return NULL;
}

static void files_are_counted_once(void **state)
{
	as_everyone(check_files);
}

static const char *check_directories(const char *dir)
{
	EXPECT(mkdir(in_dir(dir, "upper"), 0700) == 0);
	EXPECT(world_host(dir,
			  "mkdir -p outside/x/y; echo 1 >outside/x/f; echo 1 >outside/x/y/g; echo 1 >upper/early") ==
	       0);
	_cleanup_monitor_ struct monitor *m = watch(in_dir(dir, "upper"));
	EXPECT(m && count(m) == 1);
	EXPECT(world_host(dir, "mkdir -p upper/a/b/c; echo 1 >upper/a/b/c/f") == 0);
	EXPECT(count(m) == 2 && strcmp(latest(m, 0), "a/b/c/f") == 0);
	EXPECT(world_host(dir, "mv outside upper/arrived") == 0); /* full */
	EXPECT(count(m) == 4);
	EXPECT(world_host(dir, "echo 1 >upper/arrived/x/y/h") == 0);
	EXPECT(count(m) == 5 && strcmp(latest(m, 0), "arrived/x/y/h") == 0);
	EXPECT(world_host(dir, "mv upper/arrived upper/moved; echo 1 >upper/moved/x/y/i") == 0);
	drain(m);
	EXPECT(strcmp(latest(m, 0), "moved/x/y/i") == 0 && monitor_is_exact(m));
	/* Gone before anybody looked, and gone after: what was watched leaves gaps, which are closed. */
	EXPECT(world_host(dir, "for i in 1 2 3; do mkdir upper/d$i; rmdir upper/d$i; done; for i in $(seq 70); do "
			       "mkdir upper/e$i; done") == 0);
	drain(m);
	EXPECT(world_host(dir, "rmdir upper/e[0-9]*") == 0);
	drain(m);
	EXPECT(world_host(dir, "mkdir upper/d; echo 1 >upper/d/y") == 0);
	drain(m);
	EXPECT(world_host(dir, "echo 1 >upper/d/z; echo 1 >upper/moved/x/y/j") == 0);
	drain(m);
	EXPECT(strcmp(latest(m, 0), "moved/x/y/j") == 0 && strcmp(latest(m, 1), "d/z") == 0);
	EXPECT(world_host(dir, "echo 1 >>upper/d/z") == 0);
	drain(m);
	EXPECT(strcmp(latest(m, 0), "d/z") == 0 && monitor_is_exact(m));
	return NULL;
}

static void directories_are_watched_as_they_appear(void **state)
{
	as_everyone(check_directories);
}

static const char *check_links(const char *dir)
{
	EXPECT(world_host(dir, "mkdir upper host; echo 1 >host/secret; ln -s ../host upper/before") == 0);
	_cleanup_monitor_ struct monitor *m = watch(in_dir(dir, "upper"));
	EXPECT(m && count(m) == 1);
	EXPECT(world_host(dir, "ln -s ../host upper/link; mkdir upper/d; ln -s ../../host upper/d/link") == 0);
	EXPECT(count(m) == 3);
	EXPECT(world_host(dir, "echo 1 >host/more; rmdir upper/none 2>/dev/null || :") == 0);
	EXPECT(count(m) == 3);
	return NULL;
}

static void symlinks_are_not_followed(void **state)
{
	as_everyone(check_links);
}

static const char *check_overlay(const char *dir)
{
	EXPECT(world_make(dir,
			  "mkdir -p d/e; for i in 1 2 3 4 5; do echo 1 >d/e/$i; done; mkdir gone; echo 1 >gone/f") ==
	       0);
	_cleanup_monitor_ struct monitor *m = watch(in_dir(dir, "upper"));
	EXPECT(m);
	EXPECT(world_shell(dir,
			   "echo 2 >>d/e/1; echo 2 >d/e/2; chmod 600 d/e/3; rm d/e/4; echo 1 >new; echo 1 >t; rm t; "
			   "rm -r gone; mkdir -p x/y; echo 1 >x/y/z; cat d/e/5 >/dev/null") == 0);
	EXPECT(count(m) == 7 && monitor_is_exact(m)); /* 1 2 3 4 new gone z */
	EXPECT(strcmp(latest(m, 0), "x/y/z") == 0);
	return NULL;
}

static void what_an_overlay_writes_is_seen(void **state)
{
	as_everyone(check_overlay);
}

static const char *check_roots(const char *dir)
{
	struct monitor_path p[2];
	EXPECT(world_host(dir, "mkdir a b") == 0);
	const char *const uppers[] = {in_dir(dir, "a"), in_dir(dir, "b")};
	_cleanup_monitor_ struct monitor *m = NULL;
	EXPECT(open_monitor(uppers, 2, &m) == 0);
	EXPECT(world_host(dir, "echo 1 >a/f; echo 1 >b/f") == 0);
	EXPECT(count(m) == 2 && monitor_latest(m, p, 2) == 2);
	EXPECT(p[0].root == 1 && p[1].root == 0 && strcmp(p[1].path, "f") == 0);
	EXPECT(monitor_latest(m, p, 1) == 1);
	return NULL;
}

static void roots_are_told_apart(void **state)
{
	as_everyone(check_roots);
}

static const char *check_latest(const char *dir)
{
	_cleanup_monitor_ struct monitor *m = watch(dir);
	EXPECT(m && world_host(dir, "for i in $(seq 100); do echo 1 >$i; done") == 0);
	EXPECT(count(m) == 100);
	EXPECT(strcmp(latest(m, 0), "100") == 0 && strcmp(latest(m, MONITOR_LATEST - 1), "93") == 0);
	EXPECT(*latest(m, MONITOR_LATEST) == '\0');
	return NULL;
}

static void the_latest_paths_come_first(void **state)
{
	as_everyone(check_latest);
}

/* ── Running out ── */

/* More events than the kernel keeps (16,384 by default, always bounded), and none read meanwhile. */
static const char *check_overflow(const char *dir)
{
	char name[32];
	_cleanup_close_ int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_monitor_ struct monitor *m = watch(dir);
	EXPECT(m && mkdirat(at, "d", 0700) == 0);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof name, "d/%d", i % 500);
		int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		EXPECT(fd >= 0 && close(fd) == 0);
		if (i % 500 < 250)
			EXPECT(unlinkat(at, name, 0) == 0);
		if (i == 100)
			drain(m);
	}
	EXPECT(count(m) == 250 && !monitor_is_exact(m));
	EXPECT(monitor_count(m) == 250);
	EXPECT(put_file(in_dir(dir, "d/more"), "1", 0600) == 0);
	for (int i = 0; i < 100 && count(m) != 251; i++)
		(void)usleep(20000); /* it does not count again at once */
	EXPECT(monitor_count(m) == 251);
	return NULL;
}

static void lost_events_are_made_up_for_by_counting(void **state)
{
	as_everyone(check_overflow);
}

static const char *check_no_instances(const char *dir)
{
	struct monitor *m = NULL;
	EXPECT(enter_user_namespace() == 0);
	EXPECT(write_setting("/proc/sys/user/max_inotify_instances", "0") == 0);
	EXPECT(monitor_open(&dir, 1, &m) == -EMFILE && m == NULL);
	EXPECT(write_setting("/proc/sys/user/max_inotify_instances", "10") == 0);
	EXPECT(write_setting("/proc/sys/user/max_inotify_watches", "0") == 0);
	EXPECT(open_monitor(&dir, 1, &m) == -ENOSPC && m == NULL);
	return NULL;
}

static void without_a_quota_there_is_no_monitor(void **state)
{
	as_everyone(check_no_instances);
}

static const char *check_few_watches(const char *dir)
{
	EXPECT(enter_user_namespace() == 0);
	EXPECT(write_setting("/proc/sys/user/max_inotify_watches", "3") == 0);
	_cleanup_monitor_ struct monitor *m = watch(dir);
	EXPECT(m && world_host(dir, "mkdir a; echo 1 >a/f") == 0);
	EXPECT(count(m) == 1 && monitor_is_exact(m));
	EXPECT(world_host(dir, "mkdir b c d; echo 1 >b/f; echo 1 >c/f; echo 1 >d/f") == 0);
	EXPECT(count(m) == 4 && !monitor_is_exact(m));
	_cleanup_monitor_ struct monitor *late = NULL;
	EXPECT(open_monitor(&dir, 1, &late) == -ENOSPC);
	return NULL;
}

static void without_watches_it_counts_by_walking(void **state)
{
	as_everyone(check_few_watches);
}

static const char *check_no_directory(const char *dir)
{
	struct monitor *m = NULL;
	const char *const uppers[] = {dir, in_dir(dir, "none")};
	EXPECT(open_monitor(uppers, 2, &m) == -ENOENT && m == NULL);
	EXPECT(symlink(".", in_dir(dir, "none")) == 0);
	EXPECT(open_monitor(uppers, 2, &m) == -ENOTDIR && m == NULL);
	monitor_close(NULL);
	return NULL;
}

static void a_missing_directory_is_an_error(void **state)
{
	as_everyone(check_no_directory);
}

static void the_set_of_paths_is_bounded(void **state)
{
	struct monitor_seen s = {0};
	for (uint64_t i = 0; i < MONITOR_SEEN_MAX; i++)
		assert_int_equal(monitor_seen_add(&s, i * 2654435761u + 2), 1);
	assert_int_equal(monitor_seen_add(&s, 2), 0);
	assert_int_equal(monitor_seen_add(&s, 3), -ENOSPC);
	assert_true(s.cap <= 4 * MONITOR_SEEN_MAX);
	for (uint64_t i = 0; i < 3 * MONITOR_SEEN_MAX; i++) { /* what is removed does not fill it up */
		monitor_seen_remove(&s, i < MONITOR_SEEN_MAX ? i * 2654435761u + 2 : i * 7919 + 11);
		assert_int_equal(monitor_seen_add(&s, (i + MONITOR_SEEN_MAX) * 7919 + 11), 1);
	}
	assert_int_equal(s.n, MONITOR_SEEN_MAX);
	assert_true(s.cap <= 4 * MONITOR_SEEN_MAX);
	monitor_seen_done(&s);
	monitor_seen_remove(&s, 5);
}

static void keys_differ(void **state)
{
	assert_true(monitor_seen_key(0, "a") != monitor_seen_key(1, "a"));
	assert_true(monitor_seen_key(0, "a") != monitor_seen_key(0, "b"));
	assert_true(monitor_seen_key(0, "") > 1);
	assert_true(monitor_seen_key(0, "a/b") == monitor_seen_key(0, "a/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_counted_once),
		cmocka_unit_test(directories_are_watched_as_they_appear),
		cmocka_unit_test(symlinks_are_not_followed),
		cmocka_unit_test(what_an_overlay_writes_is_seen),
		cmocka_unit_test(roots_are_told_apart),
		cmocka_unit_test(the_latest_paths_come_first),
		cmocka_unit_test(lost_events_are_made_up_for_by_counting),
		cmocka_unit_test(without_a_quota_there_is_no_monitor),
		cmocka_unit_test(without_watches_it_counts_by_walking),
		cmocka_unit_test(a_missing_directory_is_an_error),
		cmocka_unit_test(the_set_of_paths_is_bounded),
		cmocka_unit_test(keys_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
