/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What our own transactions brought back, and what must not be taken for it. */
#include "identities.h"

#include "base/macros.h"
#include "change/scan/returns.h"

static const struct change_stat was = {
	.type = CHANGE_FILE, .mode = 0644, .size = 5, .inode = 10, .links = 1, .mtime_ns = 100, .ctime_ns = 200};

static struct change_stat with(uint64_t inode, int64_t ctime_ns)
{
	struct change_stat s = was;
	s.inode = inode;
	s.ctime_ns = ctime_ns;
	return s;
}

static struct change_stat directory(uint64_t inode, int64_t ctime_ns)
{
	struct change_stat s = with(inode, ctime_ns);
	s.type = CHANGE_DIRECTORY;
	s.mode = 0755;
	return s;
}

/* runs/<run>, open. */
static int run_fd(const char *runs, const char *run)
{
	(void)mkdir(in_dir(runs, run), 0700);
	return open(in_dir(runs, run), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void save(const char *runs, const char *run, const struct returned *v, size_t n)
{
	struct returns r = RETURNS_INIT(NULL);
	_cleanup_close_ int fd = run_fd(runs, run);
	for (size_t i = 0; i < n; i++)
		(void)returns_add(&r, &v[i]);
	returns_save(&r, fd);
	returns_done(&r);
}

#define SAVE(runs, run, ...)                                                                                           \
	do {                                                                                                           \
		const struct returned saved[] = {__VA_ARGS__};                                                         \
		save(runs, run, saved, AL_ARRAY_LEN(saved));                                                           \
	} while (0)

static bool same(const char *runs, struct change_stat before, struct change_stat live)
{
	_cleanup_returns_ struct returns r = RETURNS_INIT(runs);
	return returns_is_same(&r, &before, &live);
}

static bool made(const char *runs, uint64_t inode, int64_t birth)
{
	_cleanup_returns_ struct returns r = RETURNS_INIT(runs);
	return returns_has_made(&r, inode, birth);
}

static const char *knows_nothing(const char *dir)
{
	EXPECT(!same(NULL, was, with(10, 300)));
	EXPECT(!same(in_dir(dir, "missing"), was, with(10, 300)));
	EXPECT(!same(dir, was, was)); /* nothing to ask */
	EXPECT(!made(NULL, 10, 5));
	save(dir, "empty", NULL, 0);
	EXPECT(access(in_dir(dir, "empty/returns"), F_OK) < 0);
	return NULL;
}

static void without_files_nothing_is_known(void **state)
{
	as_everyone(knows_nothing);
}

static const char *knows_a_file(const char *dir)
{
	struct change_stat live = with(10, 300), other;
	SAVE(dir, "a", {.from_inode = 10, .from_ns = 200, .to_inode = 10, .to_ns = 300});
	EXPECT(same(dir, was, live));
	EXPECT(!same(dir, was, with(10, 301))); /* touched since */
	EXPECT(!same(dir, was, with(11, 300)));
	EXPECT(!same(dir, with(10, 201), live)); /* another one went away */
	other = live, other.size++;
	EXPECT(!same(dir, was, other));
	other = live, other.mode = 0600;
	EXPECT(!same(dir, was, other));
	other = live, other.mtime_ns++;
	EXPECT(!same(dir, was, other));
	other = live, other.type = CHANGE_SYMLINK;
	EXPECT(!same(dir, was, other));
	EXPECT(!same(dir, (struct change_stat){0}, (struct change_stat){0}));
	return NULL;
}

static void only_what_is_otherwise_the_same(void **state)
{
	as_everyone(knows_a_file);
}

static const char *follows_chains(const char *dir)
{
	SAVE(dir, "a", {.from_inode = 10, .from_ns = 200, .to_inode = 11, .to_ns = 300},
	     {.from_inode = 12, .from_ns = 400, .to_inode = 13, .to_ns = 500});
	SAVE(dir, "b", {.from_inode = 11, .from_ns = 300, .to_inode = 12, .to_ns = 400});
	EXPECT(same(dir, was, with(11, 300)));
	EXPECT(same(dir, was, with(12, 400)));
	EXPECT(same(dir, was, with(13, 500)));
	EXPECT(!same(dir, with(13, 500), was)); /* not backwards */
	/* What was brought back twice is where it came to last. */
	SAVE(dir, "c", {.from_inode = 10, .from_ns = 200, .to_inode = 20, .to_ns = 600});
	EXPECT(same(dir, was, with(20, 600)));
	EXPECT(!same(dir, was, with(13, 500)));
	return NULL;
}

static void from_one_return_to_the_next(void **state)
{
	as_everyone(follows_chains);
}

static const char *follows_directories(const char *dir)
{
	SAVE(dir, "a", {.directory = true, .from_inode = 10, .to_inode = 11, .to_ns = 1000},
	     {.directory = true, .from_inode = 11, .to_inode = 10, .to_ns = 2000},
	     {.directory = true, .from_inode = 30, .to_inode = 30, .to_ns = 3000});
	/* Their ctime says nothing: it changes with what is in them. */
	EXPECT(same(dir, directory(10, 1), directory(11, 77)));
	EXPECT(same(dir, directory(10, 1), directory(10, 78))); /* round to where it was */
	EXPECT(!same(dir, directory(10, 1), directory(12, 1)));
	EXPECT(!same(dir, directory(30, 1), directory(31, 1))); /* not made anew */
	EXPECT(!same(dir, with(10, 0), with(11, 1000)));	/* a file is no directory */
	EXPECT(made(dir, 11, 1000));
	EXPECT(!made(dir, 11, 1001));
	EXPECT(!made(dir, 12, 1000));
	EXPECT(!made(dir, 11, 0)); /* the file system does not tell */
	return NULL;
}

static void directories_by_inode_and_birth(void **state)
{
	as_everyone(follows_directories);
}

static const char *survives_damage(const char *dir)
{
	(void)mkdir(in_dir(dir, "a"), 0700);
	(void)mkdir(in_dir(dir, ".hidden"), 0700);
	EXPECT(put_file(in_dir(dir, "a/returns"),
			"file 10 200 10 300\n" /* cut short, before the point */
			"\n"
			"folder 10 200 10 301 .\n"
			"file 10 200 10 302 . more\n"
			"file -1 200 10 303 .\n"
			"file 10 200 18446744073709551616 304 .\n"
			"file 10 200 10 305 .\n"
			"file 10 200 10 30",
			0600) == 0);
	EXPECT(put_file(in_dir(dir, ".hidden/returns"), "file 10 200 10 306 .\n", 0600) == 0);
	for (int64_t ns = 300; ns <= 306; ns++)
		EXPECT(same(dir, was, with(10, ns)) == (ns == 305));
	/* What is written behind a line that was cut is lost with it, and no more than that. */
	SAVE(dir, "a", {.from_inode = 10, .from_ns = 200, .to_inode = 40, .to_ns = 400},
	     {.from_inode = 10, .from_ns = 200, .to_inode = 41, .to_ns = 500});
	EXPECT(!same(dir, was, with(40, 400)));
	EXPECT(same(dir, was, with(41, 500)));
	return NULL;
}

static void damaged_lines_are_left_out(void **state)
{
	as_everyone(survives_damage);
}

static const char *follows_no_link(const char *dir)
{
	struct stat st;
	char runs[256];
	(void)snprintf(runs, sizeof runs, "%s/runs", dir);
	(void)mkdir(runs, 0700);
	(void)mkdir(in_dir(runs, "a"), 0700);
	EXPECT(put_file(in_dir(dir, "elsewhere"), "", 0600) == 0);
	EXPECT(symlink(in_dir(dir, "elsewhere"), in_dir(runs, "a/returns")) == 0);
	SAVE(runs, "a", {.from_inode = 10, .from_ns = 200, .to_inode = 10, .to_ns = 300});
	EXPECT(stat(in_dir(dir, "elsewhere"), &st) == 0 && st.st_size == 0);
	SAVE(runs, "b", {.from_inode = 10, .from_ns = 200, .to_inode = 10, .to_ns = 300});
	EXPECT(stat(in_dir(runs, "b/returns"), &st) == 0 && (st.st_mode & 07777) == 0600);
	return NULL;
}

static void its_file_is_ours_alone(void **state)
{
	as_everyone(follows_no_link);
}

static const char *tells_births(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	EXPECT(fstat(fd, &st) == 0);
	int64_t birth = returns_birth(fd);
	EXPECT(birth == 0 || birth <= (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
	EXPECT(returns_birth(-1) == 0);
	return NULL;
}

static void births_are_told_or_not(void **state)
{
	as_everyone(tells_births);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_files_nothing_is_known), cmocka_unit_test(only_what_is_otherwise_the_same),
		cmocka_unit_test(from_one_return_to_the_next),	  cmocka_unit_test(directories_by_inode_and_birth),
		cmocka_unit_test(damaged_lines_are_left_out),	  cmocka_unit_test(its_file_is_ours_alone),
		cmocka_unit_test(births_are_told_or_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
