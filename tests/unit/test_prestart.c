/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes that a program starts before their command: used once, and not at all when a child started now would
 * be another one than a child started then. What lies on the file system is in integration/mcp_prestart.py. */
#include "library_place.h"

#include <airlock/result.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define TRIES 5 /* something else on this machine, a mount for instance, may make what was started useless */

static struct airlock_job *job_for(const char *command, const char *option, const char *value)
{
	struct airlock_settings *s = airlock_settings_new();
	struct airlock_job *job = NULL;
	struct airlock_error err = {0};
	if (airlock_settings_set_environ(s, environ, &err) < 0 ||
	    airlock_settings_set(s, "backend", "native", "this test", &err) < 0 ||
	    (option && airlock_settings_set(s, option, value, "this test", &err) < 0) ||
	    airlock_settings_set_command(s, command, &err) < 0 || airlock_job_prepare(s, &job, &err) < 0)
		print_error("%s\n", err.message);
	airlock_settings_free(s);
	assert_non_null(job);
	return job;
}

static int begin_for(struct airlock_prestart *p, const char *option, const char *value)
{
	struct airlock_job *job = job_for(":", option, value);
	struct airlock_error err = {0};
	int rc = airlock_prestart_begin_for(p, job, &err);
	airlock_job_free(job);
	return rc;
}

struct outcome {
	bool whole, bare; /* enum backend_prestart_kind: usage.warm_start, usage.head_start */
	int exit_code;
	char out[256];
};

static struct outcome run(struct airlock_prestart *p, const char *command, const char *option, const char *value)
{
	struct airlock_job *job = job_for(command, option, value);
	struct airlock_run *r = NULL;
	struct airlock_error err = {0};
	struct outcome o = {0};
	airlock_job_use_prestart(job, p);
	int rc = airlock_run_start(job, NULL, &r, &err);
	if (rc < 0)
		print_error("%s\n", err.message);
	assert_int_equal(rc, 0);
	while (airlock_run_dispatch(r, -1) > 0)
		;
	o.whole = airlock_run_usage(r)->warm_start;
	o.bare = airlock_run_usage(r)->head_start;
	o.exit_code = airlock_run_exit_code(r);
	(void)snprintf(o.out, sizeof o.out, "%s", airlock_run_result_text(r));
	airlock_run_free(r);
	airlock_job_free(job);
	return o;
}

/* Until it is used, for at most so many times. */
static struct outcome run_whole(struct airlock_prestart *p, const char *command, const char *option, const char *value)
{
	struct outcome o = {0};
	for (int i = 0; i < TRIES && !o.whole; i++) {
		assert_int_equal(begin_for(p, option, value), 1);
		o = run(p, command, option, value);
	}
	assert_true(o.whole);
	return o;
}

static size_t open_descriptors(void)
{
	size_t n = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

/* ── Use ── */

static void it_is_used_once(void **state)
{
	struct airlock_prestart *p = airlock_prestart_new();
	struct outcome o = run_whole(p, "echo $$; exit 5", NULL, NULL);
	assert_int_equal(o.exit_code, 5);
	assert_string_equal(o.out, "2\nExit code: 5\n");
	assert_int_equal(airlock_prestart_fd(p), -1);
	assert_int_equal(airlock_prestart_dispatch(p), 0);
	assert_false(run(p, "true", NULL, NULL).whole);
	airlock_prestart_free(p);
}

static void it_serves_every_way_of_keeping_changes(void **state)
{
	static const char *const modes[] = {"apply", "hold", "discard", "direct"};
	struct airlock_prestart *p = airlock_prestart_new();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		char command[64];
		(void)snprintf(command, sizeof command, "echo %s >%s", modes[i], modes[i]);
		assert_int_equal(run_whole(p, command, "changes", modes[i]).exit_code, 0);
		assert_int_equal(access(modes[i], F_OK) == 0, i == 0 || i == 3);
	}
	/* One for writing straight to the project is none for a run whose changes are held. */
	assert_int_equal(begin_for(p, "changes", "direct"), 1);
	assert_false(run(p, "true", "changes", "hold").whole);
	airlock_prestart_free(p);
}

static void nothing_is_left_of_those_nobody_used(void **state)
{
	struct airlock_prestart *p = airlock_prestart_new();
	assert_int_equal(run(p, "true", NULL, NULL).exit_code, 0);
	size_t before = open_descriptors();
	for (int i = 0; i < 3; i++)
		assert_int_equal(begin_for(p, NULL, NULL), 1);
	airlock_prestart_drop(p);
	assert_int_equal(airlock_prestart_fd(p), -1);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(begin_for(p, NULL, NULL), 1);
	assert_true(airlock_prestart_fd(p) >= 0);
	(void)run_whole(p, "true", NULL, NULL);
	assert_int_equal(begin_for(p, NULL, NULL), 1);
	assert_false(run(p, "true", "profile", "strict").whole);
	airlock_prestart_free(p);
	airlock_prestart_free(NULL);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void for_some_jobs_there_is_nothing_to_prepare(void **state)
{
	struct airlock_prestart *p = airlock_prestart_new();
	assert_int_equal(begin_for(p, "network", "true"), 0);
	assert_int_equal(begin_for(p, "no-sandbox", "true"), 0);
	assert_int_equal(begin_for(p, "workspace", "."), 0);
	assert_int_equal(airlock_prestart_fd(p), -1);
	airlock_prestart_free(p);
}

static void a_caller_that_ignores_its_children_is_fine(void **state)
{
	struct airlock_prestart *p = airlock_prestart_new();
	void (*before)(int) = signal(SIGCHLD, SIG_IGN);
	assert_int_equal(run_whole(p, "exit 3", NULL, NULL).exit_code, 3);
	assert_int_equal(begin_for(p, NULL, NULL), 1);
	airlock_prestart_free(p);
	(void)signal(SIGCHLD, before);
}

/* ── Begun without a plan ── */

static struct outcome run_bare(struct airlock_prestart *p, const char *command, const char *option, const char *value)
{
	struct airlock_error err = {0};
	int rc = airlock_prestart_begin(p, &err);
	if (rc < 0)
		print_error("%s\n", err.message);
	assert_int_equal(rc, 0);
	return run(p, command, option, value);
}

static void what_was_begun_serves_every_way_of_keeping_changes(void **state)
{
	static const char *const modes[] = {"apply", "hold", "discard", "direct"};
	struct airlock_prestart *p = airlock_prestart_new();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		char command[96], name[32];
		struct outcome o = {0};
		(void)snprintf(name, sizeof name, "begun-%s", modes[i]);
		(void)snprintf(command, sizeof command, "echo $$ >%s; cat %s; exit 5", name, name);
		for (int tries = 0; tries < TRIES && !o.bare; tries++) {
			o = run_bare(p, command, "changes", modes[i]);
			assert_int_equal(o.exit_code, 5);
			assert_memory_equal(o.out, "2\nExit code: 5\n", sizeof "2\nExit code: 5\n" - 1);
		}
		assert_true(o.bare);
		assert_false(o.whole);
		assert_int_equal(access(name, F_OK) == 0, i == 0 || i == 3);
	}
	assert_false(run(p, "true", NULL, NULL).bare);
	airlock_prestart_free(p);
}

static void plans_that_begin_otherwise_get_a_new_sandbox(void **state)
{
	static const char *const others[][2] = {{"profile", "strict"}, {"workspace", "."}, {"backend", "landlock"}};
	struct airlock_prestart *p = airlock_prestart_new();
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct outcome o = run_bare(p, "exit 6", others[i][0], others[i][1]);
		assert_int_equal(o.exit_code, 6);
		assert_false(o.bare);
	}
	airlock_prestart_free(p);
}

/* In a mount namespace of its own. 77: not allowed here. */
static int mount_meanwhile(void)
{
	struct airlock_prestart *p = airlock_prestart_new();
	struct airlock_error err = {0};
	if (mkdir("disk", 0755) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (airlock_prestart_begin(p, &err) < 0 || mount("tmpfs", "disk", "tmpfs", 0, NULL) < 0 ||
	    mkdir("disk/new", 0755) < 0)
		return 1;
	struct outcome o = run(p, "ls disk", "changes", "direct");
	airlock_prestart_free(p);
	return !o.bare && strcmp(o.out, "new\n") == 0 ? 0 : 2;
}

static void what_is_mounted_meanwhile_is_seen(void **state)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(mount_meanwhile());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)rmdir("disk");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void nothing_is_left_of_what_was_begun(void **state)
{
	struct airlock_prestart *p = airlock_prestart_new();
	struct airlock_error err = {0};
	assert_int_equal(run_bare(p, "exit 7", NULL, NULL).exit_code, 7);
	airlock_prestart_drop(p);
	size_t before = open_descriptors();
	for (int i = 0; i < 3; i++)
		assert_int_equal(airlock_prestart_begin(p, &err), 0);
	airlock_prestart_drop(p);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	airlock_prestart_free(p);
}

/* ── What a child inherits ── */

static bool mask_files(void)
{
	(void)umask(077);
	return true;
}

static bool lower_descriptors(void)
{
	return setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 100}) == 0;
}

static bool be_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, 7) == 0;
}

static bool stay_on_one_processor(void)
{
	cpu_set_t all, one;
	if (sched_getaffinity(0, sizeof all, &all) < 0 || CPU_COUNT(&all) < 2)
		return false;
	CPU_ZERO(&one);
	for (int i = 0; CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	return sched_setaffinity(0, sizeof one, &one) == 0;
}

static bool fix_addresses(void)
{
	return personality(ADDR_NO_RANDOMIZE) >= 0;
}

static bool be_killed_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, "500", 3) == 3;
	(void)close(fd);
	return good;
}

/* Everything is allowed: what counts is that there is a filter. */
static bool filter_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool give_groups_up(void)
{
	gid_t group = 12345;
	return setgroups(1, &group) == 0;
}

static bool lead_a_group(void)
{
	return setpgid(0, 0) == 0;
}

static bool change_the_name(void)
{
	return unshare(CLONE_NEWUTS) == 0 && sethostname("elsewhere", 9) == 0;
}

static bool leave_the_network(void)
{
	return unshare(CLONE_NEWNET) == 0;
}

static bool leave_the_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

static bool change_nothing(void)
{
	return true;
}

struct inheritance {
	const char *what;
	bool (*change)(void); /* false: cannot be done here */
	const char *command, *expected;
	bool is_still_used;
};

static const struct inheritance rows[] = {
	{"nothing", change_nothing, "echo fine", "fine\n", true},
	{"file mask", mask_files, "umask", "0077\n", false},
	{"limits", lower_descriptors, "ulimit -n", "100\n", false},
	{"priority", be_nice, "nice", "7\n", false},
	{"processors", stay_on_one_processor, "nproc", "1\n", false},
	{"personality", fix_addresses, "cat /proc/self/personality", "00040000\n", false},
	{"memory killer", be_killed_first, "cat /proc/self/oom_score_adj", "500\n", false},
	{"call filter", filter_calls, "grep -c Seccomp_filters /proc/self/status", "1\n", false},
	{"groups", give_groups_up, "true", NULL, false},
	{"process group", lead_a_group, "true", NULL, false},
	{"host name", change_the_name, "uname -n", "elsewhere\n", false},
	{"network namespace", leave_the_network, "true", NULL, false},
	{"mount namespace", leave_the_mounts, "true", NULL, false},
};

/* In a process of its own, for most of it cannot be taken back. 0: as expected; 77: cannot be done here. */
static int try_row(const struct inheritance *row)
{
	struct airlock_prestart *p = airlock_prestart_new();
	struct outcome o = {0};
	for (int i = 0; i < (row->is_still_used ? TRIES : 1) && !o.whole; i++) {
		if (begin_for(p, NULL, NULL) != 1 || !row->change())
			return 77;
		o = run(p, row->command, NULL, NULL);
	}
	airlock_prestart_free(p);
	if (o.whole == row->is_still_used && (!row->expected || strcmp(o.out, row->expected) == 0))
		return 0;
	print_error("%s: %s, %s", row->what, o.whole ? "used" : "new", o.out);
	return 1;
}

static void a_child_started_then_is_like_one_started_now_or_not_used(void **state)
{
	int tried = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0)
			_exit(try_row(&rows[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 77)
			fail_msg("%s", rows[i].what);
		tried += WEXITSTATUS(status) == 0;
	}
	assert_true(tried >= 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_used_once),
		cmocka_unit_test(it_serves_every_way_of_keeping_changes),
		cmocka_unit_test(nothing_is_left_of_those_nobody_used),
		cmocka_unit_test(for_some_jobs_there_is_nothing_to_prepare),
		cmocka_unit_test(a_caller_that_ignores_its_children_is_fine),
		cmocka_unit_test(what_was_begun_serves_every_way_of_keeping_changes),
		cmocka_unit_test(plans_that_begin_otherwise_get_a_new_sandbox),
		cmocka_unit_test(what_is_mounted_meanwhile_is_seen),
		cmocka_unit_test(nothing_is_left_of_what_was_begun),
		cmocka_unit_test(a_child_started_then_is_like_one_started_now_or_not_used),
	};
	return cmocka_run_group_tests(tests, make_place, remove_place);
}
