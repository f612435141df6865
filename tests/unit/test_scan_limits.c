/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan where it could break: very deep, very many, very large, and where it must give up.
 * AIRLOCK_TEST_LONG=1 makes the many a million. */
#include "scan_world.h"

#include "fs/fs.h"

#include <sys/resource.h>

/* ── Depth ── */

#define LEVELS 3000
#define LEVEL_NAME "level"

/* In the working directory, LEVELS below each other, with a file at the bottom. The path is far longer than PATH_MAX. */
static int make_deep(const void *arg)
{
	const char *content = arg;
	int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < LEVELS; i++) {
		if (mkdirat(at, LEVEL_NAME, 0755) < 0 && errno != EEXIST)
			return 1;
		int next = openat(at, LEVEL_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	int fd = openat(at, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int rc = fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content) ? 0 : 1;
	(void)close(fd);
	(void)close(at);
	return rc;
}

static int make_deep_in(const char *dir, const char *content)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(chdir(dir) < 0 ? 96 : make_deep(content));
	return world_wait(pid);
}

static int remove_deep(const void *arg)
{
	int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fs_remove_tree_at(at, LEVEL_NAME, NULL, NULL) < 0;
}

/* nftw cannot remove such trees. */
static void clean_up(const char *dir)
{
	static const char *const tops[] = {"lower", "upper", "work", "merged", "after"};
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < AL_ARRAY_LEN(tops); i++)
		(void)fs_remove_tree_at(at, tops[i], NULL, NULL);
	(void)close(at);
}

/* Depth must cost neither stack nor descriptors. */
static void be_poor(void)
{
	const struct rlimit stack = {512 << 10, 512 << 10}, files = {128, 128};
	(void)setrlimit(RLIMIT_STACK, &stack);
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* The directories from this level on and the file at the bottom, all of this kind. */
static const char *expect_deep(const char *dir, size_t from, enum change_kind kind)
{
	size_t n = LEVELS - from + 1;
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == n);
	for (size_t i = 0; i + 1 < n; i++) {
		EXPECT(set->v[i].kind == kind && set->v[i].type == CHANGE_DIRECTORY);
		EXPECT(strlen(set->v[i].path) == (from + i + 1) * sizeof LEVEL_NAME - 1);
	}
	EXPECT(set->v[n - 1].kind == kind && set->v[n - 1].type == CHANGE_FILE);
	EXPECT(strlen(set->v[n - 1].path) == LEVELS * sizeof LEVEL_NAME + strlen("file"));
	return NULL;
}

static const char *check_deep(const char *dir)
{
	be_poor();
	EXPECT(world_make(dir, "mkdir -p level/level/level; echo 1 >level/level/f") == 0);
	EXPECT(world_call(dir, make_deep, "new") == 0);
	const char *wrong = expect_deep(dir, 3, CHANGE_ADDED);
	clean_up(dir);
	if (wrong)
		return wrong;
	EXPECT(world_make(dir, ":") == 0 && make_deep_in(in_dir(dir, "lower"), "old") == 0);
	EXPECT(world_call(dir, make_deep, "newer") == 0);
	wrong = expect_deep(dir, LEVELS, CHANGE_MODIFIED);
	EXPECT(!wrong && world_call(dir, remove_deep, NULL) == 0);
	wrong = expect_deep(dir, 0, CHANGE_DELETED);
	clean_up(dir);
	return wrong;
}

static void three_thousand_levels(void **state)
{
	as_everyone(check_deep);
}

/* ── Many ── */

static size_t many(void)
{
	return getenv("AIRLOCK_TEST_LONG") ? 1000000 : 4000;
}

static int touch_at(int at, const char *prefix, size_t i)
{
	char name[32], text[32];
	(void)snprintf(name, sizeof name, "%s%zu", prefix, i);
	int n = snprintf(text, sizeof text, "%012zu", i);
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int rc = fd >= 0 && write(fd, text, (size_t)n) == n ? 0 : 1;
	(void)close(fd);
	return rc;
}

/* Straight into the upper directory, which is how the overlay would leave it. */
static const char *check_many(const char *dir)
{
	EXPECT(world_host(dir, "mkdir lower upper") == 0);
	_cleanup_close_ int upper = open(in_dir(dir, "upper"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < many(); i++)
		EXPECT(touch_at(upper, "new", i) == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == many());
	for (size_t i = 1; i < set->n; i++)
		EXPECT(set->v[i].kind == CHANGE_ADDED && path_compare(set->v[i - 1].path, set->v[i].path) < 0);
	char file[128];
	_cleanup_changes_ struct change_set *back = NULL;
	(void)snprintf(file, sizeof file, "%s/changes", dir);
	EXPECT(change_set_save(set, file, NULL) == 0 && change_set_load(file, &back, NULL) == 0);
	EXPECT(back->n == set->n);
	clean_up(dir);
	return NULL;
}

static void very_many_entries(void **state)
{
	as_everyone(check_many);
}

/* All of one size: the deleted ones in lower, the same bytes under other names, in another order, in upper. */
static const char *check_many_renames(const char *dir)
{
	size_t n = many() / 10;
	EXPECT(world_host(dir, "mkdir lower upper") == 0);
	_cleanup_close_ int lower = open(in_dir(dir, "lower"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int upper = open(in_dir(dir, "upper"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < n; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "old%zu", i);
		EXPECT(touch_at(lower, "old", i) == 0 && touch_at(upper, "new", n - 1 - i) == 0);
		EXPECT(mknodat(upper, name, S_IFCHR, 0) == 0);
	}
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == n);
	for (size_t i = 0; i < n; i++) {
		EXPECT(set->v[i].kind == CHANGE_RENAMED);
		EXPECT(strcmp(set->v[i].path + 3, set->v[i].from + 3) == 0);
	}
	clean_up(dir);
	return NULL;
}

static void very_many_renames(void **state)
{
	as_everyone(check_many_renames);
}

/* The same bytes everywhere: partners by name first, then in order; who is left over stays what it was. */
static const char *check_equal_files(const char *dir)
{
	EXPECT(world_make(dir, "mkdir a; for i in $(seq 300); do echo same >a/$i; done") == 0);
	EXPECT(world_shell(dir, "rm a/*; mkdir b; for i in $(seq 200 400); do echo same >b/$i; done; "
				"for i in $(seq 100); do echo same >c$i; done") == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	size_t renamed = 0, kept_name = 0, added = 0;
	EXPECT(set);
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		renamed += c->kind == CHANGE_RENAMED;
		kept_name += c->kind == CHANGE_RENAMED && strcmp(path_basename(c->path), path_basename(c->from)) == 0;
		added += c->kind == CHANGE_ADDED && c->type == CHANGE_FILE;
		EXPECT(c->kind != CHANGE_DELETED);
	}
	EXPECT(renamed == 300 && kept_name == 101 && added == 1);
	return NULL;
}

static void equal_files_find_partners(void **state)
{
	as_everyone(check_equal_files);
}

/* ── Size ── */

static int put_at(const char *path, const char *text, off_t at, off_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	int rc = fd >= 0 && ftruncate(fd, size) == 0 && pwrite(fd, text, strlen(text), at) == (ssize_t)strlen(text);
	(void)close(fd);
	return rc ? 0 : 1;
}

#define HUGE_SIZE ((off_t)5 << 30)

static const char *check_sparse(const char *dir)
{
	EXPECT(world_make(dir, ":") == 0);
	EXPECT(put_at(in_dir(dir, "lower/touched"), "x", HUGE_SIZE - 10, HUGE_SIZE) == 0);
	EXPECT(put_at(in_dir(dir, "lower/moved"), "y", HUGE_SIZE / 2, HUGE_SIZE) == 0);
	EXPECT(put_at(in_dir(dir, "lower/other"), "z", 0, HUGE_SIZE) == 0);
	EXPECT(put_at(in_dir(dir, "lower/changed"), "1", HUGE_SIZE / 3, HUGE_SIZE) == 0);
	EXPECT(world_host(dir, "touch -d 2001-01-01 lower/*") == 0);
	EXPECT(world_shell(dir, "touch touched; mv moved here; rm other; echo 2 | dd of=changed bs=1 seek=1789569706 "
				"conv=notrunc status=none") == 0);
	EXPECT(strcmp(world_found(dir), "Mf changed\nRf here <- moved\nDf other\nmf touched") == 0);
	return NULL;
}

static void holes_cost_nothing(void **state)
{
	as_everyone(check_sparse);
}

/* One file of each size on both sides, with one byte different at each of these places, or none. */
static const char *check_every_byte(const char *dir)
{
	static const off_t sizes[] = {1, 4095, 4096, 4097, 131071, 131072, 131073, 400000};
	static const struct timespec old[2] = {{1000000000, 5}, {1000000000, 5}};
	EXPECT(world_host(dir, "mkdir lower upper") == 0);
	for (size_t i = 0; i < AL_ARRAY_LEN(sizes); i++) {
		const off_t places[] = {-1, 0, sizes[i] / 2, sizes[i] - 1, 131071, 131072};
		for (size_t j = 0; j < AL_ARRAY_LEN(places); j++) {
			char lower[128], upper[128];
			if (places[j] >= sizes[i])
				continue;
			(void)snprintf(lower, sizeof lower, "%s/lower/%zu-%zu", dir, i, j);
			(void)snprintf(upper, sizeof upper, "%s/upper/%zu-%zu", dir, i, j);
			EXPECT(put_at(lower, "", 0, sizes[i]) == 0);
			EXPECT(put_at(upper, j ? "!" : "", j ? places[j] : 0, sizes[i]) == 0);
			EXPECT(utimensat(AT_FDCWD, lower, old, 0) == 0 && utimensat(AT_FDCWD, upper, old, 0) == 0);
			_cleanup_changes_ struct change_set *set = world_scan(dir);
			EXPECT(set && set->n == (j ? 1 : 0));
			EXPECT(!j || set->v[0].kind == CHANGE_MODIFIED);
			EXPECT(unlink(lower) == 0 && unlink(upper) == 0);
		}
	}
	return NULL;
}

static void every_byte_counts(void **state)
{
	as_everyone(check_every_byte);
}

/* Zeros that are written and zeros that are a hole are the same bytes. */
static const char *check_zeros(const char *dir)
{
	EXPECT(world_host(dir, "mkdir lower upper; truncate -s 300000 lower/a lower/b lower/gone lower/gone2; "
			       "for f in lower/a lower/gone; do echo x | dd of=$f bs=1 seek=200000 conv=notrunc "
			       "status=none; done; for f in a b; do cat lower/$f >upper/$f; done; cat lower/gone "
			       ">upper/here; cat lower/gone2 >upper/here2; touch -d 2001-01-01 lower/* upper/*") == 0);
	EXPECT(mknod(in_dir(dir, "upper/gone"), S_IFCHR, 0) == 0);
	EXPECT(mknod(in_dir(dir, "upper/gone2"), S_IFCHR, 0) == 0);
	EXPECT(strcmp(world_found(dir), "Rf here <- gone\nRf here2 <- gone2") == 0);
	return NULL;
}

static void a_hole_is_zeros(void **state)
{
	as_everyone(check_zeros);
}

/* ── Roots ── */

static const char *check_two_roots(const char *dir)
{
	char one[128], two[128];
	(void)snprintf(one, sizeof one, "%s/one", dir);
	(void)snprintf(two, sizeof two, "%s/two", dir);
	EXPECT(world_make(one, "echo 1 >f") == 0 && world_make(two, "echo 2 >g") == 0);
	EXPECT(world_shell(one, "rm f; echo 2 >g") == 0 && world_shell(two, "rm g; echo 1 >f") == 0);
	_cleanup_changes_ struct change_set *set = change_set_new("run");
	EXPECT(change_set_add_root(set, in_dir(one, "lower"), in_dir(one, "upper"), NULL) == 0);
	EXPECT(change_set_add_root(set, in_dir(two, "lower"), in_dir(two, "upper"), NULL) == 0);
	EXPECT(change_scan(set, NULL, NULL) == 0 && set->n == 4); /* no rename from one root to the other */
	EXPECT(change_set_find(set, 0, "f")->kind == CHANGE_DELETED);
	EXPECT(change_set_find(set, 0, "g")->kind == CHANGE_ADDED);
	EXPECT(change_set_find(set, 1, "f")->kind == CHANGE_ADDED);
	EXPECT(change_set_find(set, 1, "g")->kind == CHANGE_DELETED);
	return NULL;
}

static void roots_are_scanned_one_by_one(void **state)
{
	as_everyone(check_two_roots);
}

static int scan_code(struct change_set *set, struct airlock_error *err)
{
	*err = (struct airlock_error){0};
	return change_scan(set, NULL, err);
}

static const char *check_root_replaced(const char *dir)
{
	struct airlock_error err = {0};
	_cleanup_changes_ struct change_set *set = change_set_new("run");
	EXPECT(world_make(dir, "echo 1 >f") == 0 && world_shell(dir, "rm f") == 0);
	EXPECT(change_set_add_root(set, in_dir(dir, "lower"), in_dir(dir, "upper"), NULL) == 0);
	EXPECT(world_host(dir, "mv lower aside") == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_CONFLICT);
	EXPECT(world_host(dir, "ln -s aside lower") == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_CONFLICT);
	EXPECT(world_host(dir, "rm lower; mkdir lower") == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_CONFLICT);
	EXPECT(strcmp(err.subject, in_dir(dir, "lower")) == 0 && set->n == 0);
	EXPECT(world_host(dir, "rmdir lower; mv aside lower") == 0);
	EXPECT(scan_code(set, &err) == 0 && set->n == 1);
	return NULL;
}

static void a_root_that_was_replaced_is_a_conflict(void **state)
{
	as_everyone(check_root_replaced);
}

static const char *check_no_upper(const char *dir)
{
	struct airlock_error err = {0};
	_cleanup_changes_ struct change_set *set = change_set_new("run");
	EXPECT(world_make(dir, ":") == 0);
	EXPECT(change_set_add_root(set, in_dir(dir, "lower"), in_dir(dir, "upper"), NULL) == 0);
	EXPECT(world_host(dir, "rmdir upper") == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_IO && err.errnum == ENOENT);
	EXPECT(world_host(dir, "mkdir other; ln -s other upper") == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_IO);
	EXPECT(strstr(err.subject, "upper"));
	return NULL;
}

static void a_missing_layer_is_an_error(void **state)
{
	as_everyone(check_no_upper);
}

/* Deep inside locked directories something of another user: the scan gives up, and every mode is as it was. */
static const char *check_given_up(const char *dir)
{
	struct airlock_error err = {0};
	struct stat st;
	_cleanup_changes_ struct change_set *set = change_set_new("run");
	EXPECT(change_set_add_root(set, in_dir(dir, "lower"), in_dir(dir, "upper"), NULL) == 0);
	EXPECT(scan_code(set, &err) == AIRLOCK_ERR_IO && strstr(err.subject, "upper/a/b/foreign"));
	EXPECT(lstat(in_dir(dir, "upper/a"), &st) == 0 && (st.st_mode & 07777) == 0);
	EXPECT(chmod(in_dir(dir, "upper/a"), 0700) == 0 && lstat(in_dir(dir, "upper/a/b"), &st) == 0);
	EXPECT((st.st_mode & 07777) == 0100);
	return NULL;
}

static void modes_are_put_back_after_a_failure(void **state)
{
	char dir[] = "/tmp/airlock-test-XXXXXX";
	if (geteuid() != 0)
		return; /* only root can make what is another user's */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(world_host(dir, "mkdir -p lower upper/a/b/foreign; chmod 0 upper/a/b/foreign; chmod 100 "
					 "upper/a/b; chmod 0 upper/a; chown 54321 . lower upper upper/a upper/a/b"),
			 0);
	identities_run(check_given_up, dir, ORDINARY_ID);
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static size_t count_fds(void)
{
	size_t n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static const char *check_fds(const char *dir)
{
	EXPECT(world_make(dir, "mkdir -p a/b c; echo 1 >a/b/f; echo 1 >c/g") == 0);
	EXPECT(world_shell(dir, "echo 2 >a/b/f; rm -r c; mkdir c d; echo 1 >d/g; echo 3 >d/h") == 0);
	size_t before = count_fds();
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == 4 && count_fds() == before);
	return NULL;
}

static void no_descriptor_is_left_open(void **state)
{
	as_everyone(check_fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_thousand_levels),
		cmocka_unit_test(very_many_entries),
		cmocka_unit_test(very_many_renames),
		cmocka_unit_test(equal_files_find_partners),
		cmocka_unit_test(holes_cost_nothing),
		cmocka_unit_test(every_byte_counts),
		cmocka_unit_test(a_hole_is_zeros),
		cmocka_unit_test(roots_are_scanned_one_by_one),
		cmocka_unit_test(a_root_that_was_replaced_is_a_conflict),
		cmocka_unit_test(a_missing_layer_is_an_error),
		cmocka_unit_test(modes_are_put_back_after_a_failure),
		cmocka_unit_test(no_descriptor_is_left_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
