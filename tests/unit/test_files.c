/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file API against a hostile tree: nothing leads out, with openat2 and without it, also while links are swapped. */
#include "tests.h"

#include "base/path.h"
#include "files/files.h"
#include "files/pattern.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

struct world {
	char top[64];
	struct files_place place;
};

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

/* top/secret is outside, top/ws is the workspace. */
static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	char command[2048];
	(void)snprintf(w->top, sizeof w->top, "/tmp/airlock-files-XXXXXX");
	assert_non_null(mkdtemp(w->top));
	(void)snprintf(
		command, sizeof command,
		"cd %s && mkdir -p ws/dir/sub ws/etc outside && echo secret >secret && echo secret >outside/file && cd "
		"ws && "
		"echo inside >file && echo deep >dir/sub/deep && echo shadow >etc/passwd && "
		"ln -s ../secret up && ln -s %s/secret absolute && ln -s /dir/sub/deep rooted && ln -s ../../../.. "
		"climb && "
		"ln -s %s/outside out && ln -s dir/sub in && ln -s loop loop && ln -s /proc/self/root procroot && "
		"ln -s /proc/self/cwd proccwd && ln -s /etc/passwd users && ln ../secret hard && mkfifo fifo",
		w->top, w->top, w->top);
	run(command);
	(void)snprintf(command, sizeof command, "%s/ws", w->top);
	w->place.workspace = true;
	w->place.base = strdup("/");
	assert_int_equal(files_place_mount(&w->place, "/", command, NULL, false, NULL), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[128];
	files_place_done(&w->place);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->top);
	run(command);
	free(w);
	return 0;
}

/* Reads a path; the code, and the content up to its line end. */
static int read_path(const struct world *w, const char *path, char *out, size_t size)
{
	struct airlock_error err = {0};
	_cleanup_files_result_ struct airlock_files *r = NULL;
	out[0] = '\0';
	int rc = files_read(&w->place, path, 0, -1, &r, &err);
	if (rc == 0)
		(void)snprintf(out, size, "%.*s", (int)strcspn(r->content.bytes, "\n"), r->content.bytes);
	assert_int_equal(err.code, rc);
	return rc;
}

static void expect(const struct world *w, const char *path, int code, const char *text)
{
	char found[64];
	int rc = read_path(w, path, found, sizeof found);
	if (rc != code || (code == 0 && strcmp(found, text) != 0))
		fail_msg("%s: expected %d %s, got %d %s", path, code, text, rc, found);
}

/* What a path means, in one table for both ways of finding out. */
static void check_paths(const struct world *w)
{
	static const struct {
		const char *path;
		int code;
		const char *text;
	} rows[] = {
		{"/file", 0, "inside"},
		{"dir/../file", 0, "inside"},
		{"/rooted", 0, "deep"},
		{"in/deep", 0, "deep"},
		{"in/../../file", 0, "inside"},
		{"users", 0, "shadow"}, /* what a command whose root this is would find */
		{"../secret", AIRLOCK_ERR_BLOCKED, ""},
		{"/../secret", AIRLOCK_ERR_BLOCKED, ""},
		{"dir/../../secret", AIRLOCK_ERR_BLOCKED, ""},
		{"up", AIRLOCK_ERR_BLOCKED, ""},
		{"absolute", AIRLOCK_ERR_BLOCKED, ""},
		{"out/file", AIRLOCK_ERR_BLOCKED, ""},
		{"climb/secret", AIRLOCK_ERR_BLOCKED, ""},
		{"climb/file", 0, "inside"},
		{"procroot/etc/passwd", AIRLOCK_ERR_BLOCKED, ""},
		{"proccwd/secret", AIRLOCK_ERR_BLOCKED, ""},
		{"/proc/self/root/etc/passwd", AIRLOCK_ERR_NOT_FOUND, ""},
		{"none", AIRLOCK_ERR_NOT_FOUND, ""},
		{"none/../file", AIRLOCK_ERR_NOT_FOUND, ""},
		{"file/x", AIRLOCK_ERR_NOT_FOUND, ""},
		{"loop", AIRLOCK_ERR_INVALID, ""},
		{"dir", AIRLOCK_ERR_INVALID, ""},
		{"fifo", AIRLOCK_ERR_INVALID, ""},
		{"", AIRLOCK_ERR_INVALID, ""},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		expect(w, rows[i].path, rows[i].code, rows[i].text);
}

static void paths_stay_inside(void **state)
{
	check_paths(*state);
}

static int try_write(const struct world *w, const char *path)
{
	_cleanup_files_result_ struct airlock_files *r = NULL;
	return files_write(&w->place, path, "new\n", 4, &r, NULL);
}

static void assert_secret_is_safe(const struct world *w)
{
	char path[128], text[32] = "";
	(void)snprintf(path, sizeof path, "%s/secret", w->top);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof text - 1) > 0);
	assert_string_equal(text, "secret\n");
}

/* Writing through a link that leads out is refused; a hard link is replaced, not written through. */
static void writes_stay_inside(void **state)
{
	struct world *w = *state;
	static const char *const refused[] = {"../secret", "out/file", "out/new", "climb/../secret/x",
					      "procroot/tmp/x"};
	for (size_t i = 0; i < AL_ARRAY_LEN(refused); i++)
		assert_int_equal(try_write(w, refused[i]), AIRLOCK_ERR_BLOCKED);
	assert_int_equal(try_write(w, "hard"), 0);
	assert_int_equal(try_write(w, "rooted"), 0);
	expect(w, "dir/sub/deep", 0, "new");
	expect(w, "hard", 0, "new");
	assert_secret_is_safe(w);
	_cleanup_files_result_ struct airlock_files *r = NULL;
	assert_int_equal(files_delete(&w->place, "out", &r, NULL), 0);
	char path[128];
	(void)snprintf(path, sizeof path, "%s/outside/file", w->top);
	assert_int_equal(access(path, F_OK), 0);
}

/* ── Without openat2 ── */

static void forbid_openat2(int errnum)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {AL_ARRAY_LEN(filter), filter};
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	assert_int_equal(syscall(SYS_openat2, -1, NULL, NULL, 0), -1);
	assert_int_equal(errno, errnum);
}

/* The filter holds for the rest of a process: a child's. */
static void in_child(void (*function)(const struct world *w), const struct world *w, int errnum)
{
	pid_t pid = fork();
	if (pid == 0) {
		forbid_openat2(errnum);
		function(w);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void search(const struct world *w)
{
	_cleanup_files_result_ struct airlock_files *r = NULL;
	assert_int_equal(files_glob(&w->place, "deep", NULL, 0, &r, NULL), 0);
	assert_int_equal(r->n, 1);
	assert_string_equal(r->entries[0].path, "/dir/sub/deep");
	files_result_freep(&r);
	assert_int_equal(files_grep(&w->place, "secret", NULL, NULL, 0, &r, NULL), 0);
	assert_int_equal(r->n, 1); /* the hard link; no symlink is followed */
	assert_string_equal(r->matches[0].path, "/hard");
}

static void without_openat2(void **state)
{
	in_child(check_paths, *state, ENOSYS);
	in_child(check_paths, *state, EPERM);
	in_child(search, *state, ENOSYS);
	search(*state);
}

/* ── Races ── */

static pid_t start_swapping(const char *command_dir)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	assert_int_equal(chdir(command_dir), 0);
	/* A directory and a link that leads out, a file and such a link, in turn at the same names. */
	for (;;) {
		(void)renameat2(AT_FDCWD, "swap", AT_FDCWD, "swap-link", RENAME_EXCHANGE);
		(void)renameat2(AT_FDCWD, "leaf", AT_FDCWD, "leaf-link", RENAME_EXCHANGE);
	}
}

static double now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Every answer is one of those that were true at some moment; never what lies outside. */
static void race(const struct world *w)
{
	double end = now() + 1.0;
	size_t inside = 0;
	for (size_t i = 0; i < 200 || now() < end; i++) {
		static const char *const paths[] = {"swap/file", "leaf", "swap/../leaf"};
		char text[64];
		int rc = read_path(w, paths[i % 3], text, sizeof text);
		if (strcmp(text, "secret") == 0)
			fail_msg("%s was read from outside", paths[i % 3]);
		inside += rc == 0;
		if (i % 10 == 0) {
			rc = try_write(w, "swap/written");
			assert_true(rc == 0 || rc == AIRLOCK_ERR_BLOCKED || rc == AIRLOCK_ERR_CONFLICT ||
				    rc == AIRLOCK_ERR_IO || rc == AIRLOCK_ERR_NOT_FOUND);
			(void)try_write(w, "leaf-link");
		}
	}
	assert_true(inside > 0);
}

static void swapped_links(void **state)
{
	struct world *w = *state;
	char command[512], dir[128];
	(void)snprintf(dir, sizeof dir, "%s/ws", w->top);
	(void)snprintf(command, sizeof command,
		       "cd %s && mkdir swap && echo inside >swap/file && ln -s ../outside swap-link && echo inside "
		       ">leaf && ln -s "
		       "../secret leaf-link",
		       dir);
	run(command);
	pid_t swapper = start_swapping(dir);
	race(w);
	in_child(race, w, ENOSYS);
	(void)kill(swapper, SIGKILL);
	(void)waitpid(swapper, NULL, 0);
	assert_secret_is_safe(w);
	(void)snprintf(dir, sizeof dir, "%s/outside/written", w->top);
	assert_int_equal(access(dir, F_OK), -1);
}

/* ── Patterns ── */

static bool matches(const char *pattern, const char *path)
{
	_cleanup_pattern_ struct files_pattern p = {0};
	assert_int_equal(files_pattern_parse(&p, pattern), 0);
	return files_pattern_matches(&p, path);
}

static void patterns(void **state)
{
	static const char *const yes[][2] = {{"*.c", "a.c"},
					     {"*.c", "x/y/a.c"},
					     {"/*.c", "a.c"},
					     {"**/*.c", "a.c"},
					     {"**/*.c", "x/y/a.c"},
					     {"src/**", "src/a/b"},
					     {"src/**/b", "src/b"},
					     {"a/**/b/**/c", "a/x/b/c"},
					     {"{a,b}.c", "b.c"},
					     {"{a,{b,c}d}", "cd"},
					     {"[a-c]x", "bx"},
					     {"[!a-c]x", "dx"},
					     {"?", "x"},
					     {"a{,.b}", "a"},
					     {"\\*", "*"},
					     {"[", "["},
					     {"*", ".hidden"},
					     {"./x/*", "x/y"},
					     {"[]]", "]"},
					     {"a**b", "axyb"}};
	static const char *const no[][2] = {{"/*.c", "x/a.c"}, {"src/*.c", "src/x/a.c"}, {"src/*.c", "a.c"},
					    {"*.c", "a.ch"},   {"[a-c]x", "dx"},	 {"a?c", "a/c"},
					    {"a**b", "ax/yb"}, {"**/x", "ax"},		 {"{a,b}", "{a,b}"}};
	for (size_t i = 0; i < AL_ARRAY_LEN(yes); i++)
		if (!matches(yes[i][0], yes[i][1]))
			fail_msg("%s should match %s", yes[i][0], yes[i][1]);
	for (size_t i = 0; i < AL_ARRAY_LEN(no); i++)
		if (matches(no[i][0], no[i][1]))
			fail_msg("%s should not match %s", no[i][0], no[i][1]);
	struct files_pattern p;
	assert_int_equal(files_pattern_parse(&p, ""), -EINVAL);
	files_pattern_done(&p);
	assert_int_equal(files_pattern_parse(&p, "{a"), -EINVAL);
	files_pattern_done(&p);
	assert_int_equal(files_pattern_parse(&p, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), -E2BIG);
	files_pattern_done(&p);
	/* Exponential work is given up. */
	assert_false(matches("*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void a_line_across_the_window(void **state)
{
	struct world *w = *state;
	_cleanup_files_result_ struct airlock_files *r = NULL;
	size_t size = 3 * 1024 * 1024, at = 1024 * 1024 - 3;
	_cleanup_free_ char *text = malloc(size + 1);
	memset(text, 'x', size);
	text[size] = '\0';
	memcpy(text + at, "needle", 6); /* the border of what is read at once lies within it */
	memcpy(text + size - 8, "\nneedle\n", 8);
	char dir[128];
	(void)snprintf(dir, sizeof dir, "%s/ws", w->top);
	put(dir, "long", text);
	assert_int_equal(files_grep(&w->place, "needle", "long", NULL, 0, &r, NULL), 0);
	assert_int_equal(r->n, 2);
	assert_int_equal(r->matches[0].line, 1);
	assert_true(r->matches[0].cut);
	assert_int_equal(r->matches[1].line, 2);
	assert_string_equal(r->matches[1].text, "needle");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(paths_stay_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(writes_stay_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_openat2, set_up, tear_down),
		cmocka_unit_test_setup_teardown(swapped_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_across_the_window, set_up, tear_down),
		cmocka_unit_test(patterns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
