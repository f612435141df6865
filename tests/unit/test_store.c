/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The database itself: made, upgraded, shared, damaged; and the remembered answers in it. */
#include "tests.h"

#include "base/buf.h"
#include "base/path.h"
#include "fs/fs.h"
#include "store/permissions.h"
#include "store/sql.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64];

static int make_dir(void **state)
{
	(void)strcpy(dir, "/tmp/airlock-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	(void)chmod(dir, 0700);
	int rc = fs_remove_tree_at(fd, dir + strlen("/tmp/"), NULL, NULL);
	(void)close(fd);
	return rc;
}

static char *file_path(void)
{
	char *path = path_join(dir, STORE_FILE);
	assert_non_null(path);
	return path;
}

static struct store *open_store(void)
{
	struct airlock_error err = {0};
	struct store *s = NULL;
	if (store_open(dir, STORE_WAIT_MS, &s, &err) < 0)
		fail_msg("store_open: %s", err.message);
	return s;
}

static struct store_permission answer(const char *command)
{
	return (struct store_permission){.kind = "run",
					 .command = command,
					 .working_dir = "/home/u/p\xff",
					 .project = "/home/u/p\xff",
					 .profile = "moderate",
					 .decision = "allow",
					 .scope = "always"};
}

static void add(struct store *s, const char *command)
{
	struct store_permission p = answer(command);
	struct airlock_error err = {0};
	if (store_permission_add(s, &p, NULL, &err) < 0)
		fail_msg("add: %s", err.message);
}

static size_t count(struct store *s)
{
	_cleanup_permissions_ struct store_permissions l = {0};
	assert_int_equal(store_permission_list(s, NULL, &l, NULL), 0);
	return l.n;
}

/* ── Made and found again ── */

static void made_private_and_found_again(void **state)
{
	struct stat st;
	_cleanup_free_ char *file = file_path();
	mode_t before = umask(0777);
	struct store *s = open_store();
	add(s, "make test");
	store_close(s);
	(void)umask(before);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	s = open_store();
	assert_int_equal(count(s), 1);
	store_close(s);
}

static void looking_makes_nothing(void **state)
{
	struct store *s = NULL;
	_cleanup_free_ char *file = file_path();
	assert_int_equal(store_open_existing(dir, 100, &s, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_null(s);
	assert_int_equal(access(file, F_OK), -1);
}

static void a_state_directory_behind_a_symlink(void **state)
{
	_cleanup_free_ char *real = path_join(dir, "real"), *way = path_join(dir, "way");
	struct store *s = NULL;
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", way), 0);
	assert_int_equal(store_open(way, 1000, &s, NULL), 0);
	store_close(s);
	_cleanup_free_ char *file = path_join(real, STORE_FILE);
	assert_int_equal(access(file, F_OK), 0);
}

static void a_symlink_in_place_of_the_database_is_not_followed(void **state)
{
	_cleanup_free_ char *file = file_path(), *victim = path_join(dir, "victim");
	struct airlock_error err = {0};
	struct stat st;
	struct store *s = NULL;
	assert_int_equal(fs_write_private_file(victim, "", 0, NULL), 0);
	assert_int_equal(symlink("victim", file), 0);
	assert_int_equal(store_open(dir, 1000, &s, &err), AIRLOCK_ERR_IO);
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
}

/* ── Versions ── */

static void make_version(int version)
{
	struct store s = {.file = file_path()};
	assert_int_equal(sqlite3_open(s.file, &s.db), SQLITE_OK);
	assert_int_equal(store_schema_create(&s, version, NULL), 0);
	if (version >= 1) {
		assert_int_equal(sql_exec(&s,
					  "INSERT INTO project(path, added) VALUES(x'2f70', 1);"
					  "INSERT INTO permission(kind, command, working_dir, project, profile,"
					  " decision, scope, created) VALUES('run', x'6c73', x'2f70', x'2f70',"
					  " 'moderate', 'allow', 'always', 5)",
					  NULL),
				 0);
	}
	(void)sqlite3_close(s.db);
	free(s.file);
}

static void every_earlier_version_is_upgraded_with_what_is_in_it(void **state)
{
	for (int version = 0; version <= store_schema_latest(); version++) {
		int now = -1;
		make_version(version);
		struct store *s = open_store();
		assert_int_equal(store_schema_version(s, &now, NULL), 0);
		assert_int_equal(now, store_schema_latest());
		assert_int_equal(count(s), version >= 1 ? 1 : 0);
		store_close(s);
		assert_int_equal(remove_dir(NULL), 0);
		assert_int_equal(mkdir(dir, 0700), 0);
	}
}

static int try_open(struct airlock_error *err)
{
	struct store *s = NULL;
	*err = (struct airlock_error){0};
	int rc = store_open(dir, 2000, &s, err);
	if (rc == 0)
		rc = sql_exec(s, "PRAGMA quick_check; SELECT * FROM permission; SELECT * FROM run; SELECT * FROM file",
			      err);
	store_close(s);
	return rc;
}

static void a_newer_one_is_left_alone(void **state)
{
	struct airlock_error err;
	struct store *s = open_store();
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	_cleanup_free_ char *file = file_path();
	add(s, "ls");
	assert_int_equal(sql_exec(s, "PRAGMA user_version = 1000; PRAGMA wal_checkpoint(TRUNCATE)", NULL), 0);
	store_close(s);
	assert_int_equal(fs_read_file(file, 1 << 20, &before, NULL), 0);
	assert_int_equal(try_open(&err), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(err.message, "newer airlock"));
	assert_true(err.hint[0]);
	assert_int_equal(fs_read_file(file, 1 << 20, &after, NULL), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, after.len);
}

static void somebody_elses_database_is_refused(void **state)
{
	struct airlock_error err;
	struct store s = {.file = file_path()};
	assert_int_equal(sqlite3_open(s.file, &s.db), SQLITE_OK);
	assert_int_equal(sql_exec(&s, "CREATE TABLE theirs(x)", NULL), 0);
	(void)sqlite3_close(s.db);
	free(s.file);
	assert_int_equal(try_open(&err), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(err.message, "another program"));
}

/* ── Damage ── */

static void whole_database(struct buf *ret)
{
	_cleanup_free_ char *file = file_path();
	struct store *s = open_store();
	for (int i = 0; i < 50; i++) {
		char command[32];
		(void)snprintf(command, sizeof command, "command %d", i);
		add(s, command);
	}
	assert_int_equal(sql_exec(s, "PRAGMA wal_checkpoint(TRUNCATE)", NULL), 0);
	store_close(s);
	assert_int_equal(fs_read_file(file, 1 << 20, ret, NULL), 0);
}

/* Whatever it is, a person gets a sentence and the file stays what it was. */
static void damaged(const char *content, size_t len)
{
	struct airlock_error err;
	_cleanup_free_ char *file = file_path();
	_cleanup_buf_ struct buf after = BUF_INIT;
	assert_int_equal(fs_write_private_file(file, content, len, NULL), 0);
	int rc = try_open(&err);
	assert_true(rc == AIRLOCK_ERR_CORRUPT || rc == AIRLOCK_ERR_INVALID || rc == AIRLOCK_ERR_IO);
	assert_non_null(strstr(err.message, STORE_FILE));
	assert_int_equal(fs_read_file(file, 1 << 20, &after, NULL), 0);
	assert_int_equal(after.len, len);
}

static void a_database_cut_short_is_damaged(void **state)
{
	_cleanup_buf_ struct buf whole = BUF_INIT;
	whole_database(&whole);
	for (size_t len = 50; len < whole.len; len = len * 3 / 2)
		damaged(whole.data, len);
}

static void random_bytes_are_no_database(void **state)
{
	char bytes[8192];
	unsigned x = 1;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)((x = x * 1103515245 + 12345) >> 16);
	damaged(bytes, sizeof bytes);
}

static void a_damaged_page_is_told(void **state)
{
	_cleanup_buf_ struct buf whole = BUF_INIT;
	whole_database(&whole);
	memset(whole.data + 100, 0x5a, 400); /* the page the tables are listed on */
	damaged(whole.data, whole.len);
}

static void a_read_only_directory_is_told(void **state)
{
	struct airlock_error err;
	if (geteuid() == 0) { /* root may write anywhere: a directory in the place of the file instead */
		_cleanup_free_ char *file = file_path();
		assert_int_equal(mkdir(file, 0700), 0);
	} else {
		assert_int_equal(chmod(dir, 0500), 0);
	}
	assert_int_equal(try_open(&err), AIRLOCK_ERR_IO);
	assert_non_null(strstr(err.message, STORE_FILE));
}

/* ── Many at once ── */

#define PROCESSES 16
#define EACH 20

static int busy_child(int number)
{
	for (int i = 0; i < EACH; i++) {
		char command[48];
		struct store *s = NULL;
		struct airlock_error err = {0};
		(void)snprintf(command, sizeof command, "command %d of %d", i, number);
		struct store_permission p = answer(command);
		if (store_open(dir, STORE_WAIT_MS, &s, &err) < 0 || store_permission_add(s, &p, NULL, &err) < 0) {
			(void)fprintf(stderr, "# process %d: %s\n", number, err.message);
			return 1;
		}
		store_close(s);
	}
	return 0;
}

static void sixteen_processes_lose_nothing(void **state)
{
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(busy_child(i));
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	struct store *s = open_store();
	assert_int_equal(count(s), PROCESSES * EACH);
	store_close(s);
}

static void waiting_in_vain_is_busy(void **state)
{
	struct airlock_error err = {0};
	struct store *a = open_store(), *b = NULL;
	assert_int_equal(store_open(dir, 20, &b, NULL), 0);
	assert_int_equal(store_begin(a, NULL), 0);
	assert_int_equal(store_begin(b, &err), AIRLOCK_ERR_BUSY);
	assert_int_equal(store_commit(a, NULL), 0);
	assert_int_equal(store_begin(b, NULL), 0);
	store_close(b);
	store_close(a);
}

/* ── Answers ── */

static void an_answer_is_for_the_exact_question(void **state)
{
	struct store *s = open_store();
	struct store_permission key = answer("make test"), found = {0};
	add(s, "make test");
	assert_int_equal(store_permission_find(s, &key, &found, NULL), 1);
	assert_string_equal(found.working_dir, "/home/u/p\xff");
	assert_string_equal(found.decision, "allow");
	assert_true(found.created > 0);
	store_permission_done(&found);
	const char *const differing[] = {key.kind, key.command, key.working_dir, key.project, key.profile};
	for (size_t i = 0; i < AL_ARRAY_LEN(differing); i++) {
		struct store_permission other = key;
		const char **fields[] = {&other.kind, &other.command, &other.working_dir, &other.project,
					 &other.profile};
		*fields[i] = "other";
		assert_int_equal(store_permission_find(s, &other, &found, NULL), 0);
	}
	store_close(s);
}

static void a_later_answer_replaces_the_earlier(void **state)
{
	struct store *s = open_store();
	struct store_permission p = answer("make"), found = {0};
	int64_t first = 0, second = 0;
	assert_int_equal(store_permission_add(s, &p, &first, NULL), 0);
	p.decision = "deny";
	assert_int_equal(store_permission_add(s, &p, &second, NULL), 0);
	assert_true(second > first);
	assert_int_equal(count(s), 1);
	assert_int_equal(store_permission_find(s, &p, &found, NULL), 1);
	assert_string_equal(found.decision, "deny");
	store_permission_done(&found);
	store_close(s);
}

static void answers_are_removed(void **state)
{
	struct store *s = open_store();
	_cleanup_permissions_ struct store_permissions l = {0};
	struct airlock_error err = {0};
	uint64_t cleared = 0;
	add(s, "a");
	add(s, "b");
	add(s, "c");
	assert_int_equal(store_permission_list(s, "/home/u/p\xff", &l, NULL), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0].command, "c");
	assert_int_equal(store_permission_remove(s, l.v[1].id, NULL), 0);
	assert_int_equal(store_permission_remove(s, l.v[1].id, &err), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(count(s), 2);
	assert_int_equal(store_permission_clear(s, &cleared, NULL), 0);
	assert_int_equal(cleared, 2);
	assert_int_equal(count(s), 0);
	store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made_private_and_found_again),
		TEST(looking_makes_nothing),
		TEST(a_state_directory_behind_a_symlink),
		TEST(a_symlink_in_place_of_the_database_is_not_followed),
		TEST(every_earlier_version_is_upgraded_with_what_is_in_it),
		TEST(a_newer_one_is_left_alone),
		TEST(somebody_elses_database_is_refused),
		TEST(a_database_cut_short_is_damaged),
		TEST(random_bytes_are_no_database),
		TEST(a_damaged_page_is_told),
		TEST(a_read_only_directory_is_told),
		TEST(sixteen_processes_lose_nothing),
		TEST(waiting_in_vain_is_busy),
		TEST(an_answer_is_for_the_exact_question),
		TEST(a_later_answer_replaces_the_earlier),
		TEST(answers_are_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
