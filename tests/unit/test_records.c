/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scanner's rule over all its cases, the names of backups, and that the questions to the database use its indexes. */
#include "tests.h"

#include "base/path.h"
#include "fs/fs.h"
#include "history/backups.h"
#include "history/records.h"
#include "store/audit.h"
#include "store/inbox.h"
#include "store/sql.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

static void the_scanners_rule(void **state)
{
	static const struct {
		bool on_disk, is_deleted, has_backup;
		enum record_fate fate;
	} rows[] = {
		{true, false, false, RECORD_KEEP},    {true, false, true, RECORD_KEEP},
		{true, true, false, RECORD_RETURNED}, {true, true, true, RECORD_RETURNED},
		{false, false, false, RECORD_REMOVE}, {false, false, true, RECORD_KEEP},
		{false, true, false, RECORD_REMOVE},  {false, true, true, RECORD_KEEP},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		assert_int_equal(records_decide(rows[i].on_disk, rows[i].is_deleted, rows[i].has_backup), rows[i].fate);
}

static void names_of_backups(void **state)
{
	char name[256], base[256];
	backups_name(name, 42, "26-11-15", "a.c");
	assert_string_equal(name, "42-26-11-15-a.c");
	memset(base, 'x', 255);
	base[255] = '\0';
	backups_name(name, INT64_MAX, "26-11-15", base);
	assert_int_equal(strlen(name), 255);
	for (size_t i = 0; i + 1 < 255; i += 2) /* two bytes a character: never half of one */
		memcpy(base + i, "\xc3\xa4", 2);
	backups_name(name, 12, "26-11-15", base);
	assert_int_equal(strlen(name), strlen("12-26-11-15-") + 242);
	assert_memory_equal(name + strlen(name) - 2, "\xc3\xa4", 2);
	memset(base, 0xff, 255); /* bytes that are no text */
	backups_name(name, 12, "26-11-15", base);
	assert_int_equal(strlen(name), 255);
}

/* ── A database ── */

static char dir[64];

static int make_dir(void **state)
{
	(void)strcpy(dir, "/tmp/airlock-records-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	int rc = fs_remove_tree_at(fd, dir + strlen("/tmp/"), NULL, NULL);
	(void)close(fd);
	return rc;
}

static void the_indexes_are_used(void **state)
{
	static const char *const questions[] = {
		"SELECT * FROM run WHERE project = x'2f' ORDER BY id DESC LIMIT 10",
		"SELECT * FROM run ORDER BY id DESC LIMIT 10",
		"SELECT id FROM run WHERE id >= '2' AND id < '2' || '~' ORDER BY id LIMIT 2",
		"SELECT * FROM file WHERE project_id = 1 AND path = x'61'",
		"SELECT * FROM file WHERE project_id = 1 ORDER BY path",
		"SELECT * FROM backup JOIN file ON file.id = file_id JOIN project ON project.id = project_id"
		" WHERE file_id = 1 ORDER BY date DESC",
		"SELECT * FROM backup WHERE date < '26-01-01'",
		"SELECT id FROM project WHERE path = x'2f'",
		"SELECT * FROM permission WHERE kind = 'a' AND command = x'61' AND working_dir = x'61' AND project = "
		"x'61'"
		" AND profile = 'm'",
	};
	struct store *s = NULL;
	assert_int_equal(store_open(dir, 1000, &s, NULL), 0);
	for (size_t i = 0; i < AL_ARRAY_LEN(questions); i++) {
		char text[512];
		(void)snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", questions[i]);
		struct sql q = sql_begin(s, text, NULL);
		while (sql_next(&q)) {
			_cleanup_free_ char *step = sql_text(&q, 3);
			bool walks = strncmp(step, "SCAN", 4) == 0 && !strstr(step, "SCAN run");
			if (walks || strstr(step, "TEMP B-TREE"))
				fail_msg("%s: %s", questions[i], step);
		}
		assert_int_equal(q.rc, 0);
		sql_done(&q);
	}
	store_close(s);
}

static int collect(const struct store_file *f, void *data, struct airlock_error *err)
{
	buf_printf(data, "%s%s ", f->path, f->is_deleted ? "!" : "");
	return 0;
}

static void a_backup_that_goes_takes_its_deleted_file_along(void **state)
{
	struct store *s = NULL;
	int64_t project = 0, kept = 0, gone = 0;
	struct store_file f = {.path = "kept", .type = "file"};
	_cleanup_backups_ struct store_backups l = {0};
	_cleanup_buf_ struct buf names = BUF_INIT;
	assert_int_equal(store_open(dir, 1000, &s, NULL), 0);
	assert_int_equal(store_project_add(s, "/p", &project, NULL), 0);
	assert_int_equal(store_file_put(s, project, &f, &kept, NULL), 0);
	f.path = "gone";
	assert_int_equal(store_file_put(s, project, &f, &gone, NULL), 0);
	assert_int_equal(store_backup_add(s, kept, "26-11-01", "1", "r", "/e/1", NULL), 0);
	assert_int_equal(store_backup_add(s, gone, "26-11-01", "2", "r", "/e/2", NULL), 0);
	assert_int_equal(store_backup_add(s, gone, "26-11-02", "3", "r", "/e/3", NULL), 0);
	assert_int_equal(store_file_mark_deleted(s, gone, NULL), 0);
	assert_int_equal(store_backup_before(s, "26-11-02", &l, NULL), 0);
	assert_int_equal(l.n, 2);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(store_backup_remove(s, &l.v[i], i == 0 ? "/e/1" : "/e/2", NULL), 0);
	assert_int_equal(store_file_each(s, project, collect, &names, NULL), 0);
	assert_string_equal(names.data, "gone! kept ");
	store_backups_done(&l);
	assert_int_equal(store_backup_of_file(s, gone, &l, NULL), 0);
	assert_int_equal(store_backup_remove(s, &l.v[0], "/e/3", NULL), 0);
	buf_reset(&names);
	assert_int_equal(store_file_each(s, project, collect, &names, NULL), 0);
	assert_string_equal(names.data, "kept ");
	store_close(s);
}

static void only_what_is_unknown_and_unchanged_becomes_text(void **state)
{
	struct store *s = NULL;
	int64_t project = 0, id = 0;
	struct store_file f = {.path = "f", .type = "file", .ctime = 7, .is_text = STORE_TEXT_UNKNOWN}, now;
	assert_int_equal(store_open(dir, 1000, &s, NULL), 0);
	assert_int_equal(store_project_add(s, "/p", &project, NULL), 0);
	assert_int_equal(store_file_put(s, project, &f, &id, NULL), 0);
	static const struct {
		int64_t ctime;
		bool is_text;
		int after;
	} steps[] = {{6, true, STORE_TEXT_UNKNOWN}, {7, true, 1}, {7, false, 1}};
	for (size_t i = 0; i < AL_ARRAY_LEN(steps); i++) {
		assert_int_equal(store_file_set_text(s, id, steps[i].ctime, steps[i].is_text, NULL), 0);
		assert_int_equal(store_file_find(s, project, "f", &now, NULL), 1);
		assert_int_equal(now.id, id);
		assert_int_equal(now.is_text, steps[i].after);
		store_file_done(&now);
	}
	store_close(s);
}

/* ── The audit file ── */

static int verify(struct store *s)
{
	_cleanup_report_ struct audit_report report = {0};
	assert_int_equal(audit_verify(dir, s, &report, NULL), 0);
	return (int)report.n;
}

static void the_chain_goes_on_across_files(void **state)
{
	struct store *s = NULL;
	_cleanup_buf_ struct buf news = BUF_INIT;
	for (int i = 0; i < 40; i++) {
		char members[64];
		(void)snprintf(members, sizeof members, "\"event\":\"run\",\"n\":%d", i);
		assert_int_equal(audit_append_rotating(dir, members, &news, 1000, NULL), 0);
	}
	assert_int_equal(inbox_put(dir, &news, 1000, NULL), 0);
	assert_int_equal(store_open_history(dir, 1000, &s, NULL), 0);
	assert_int_equal(verify(s), 0);
	_cleanup_free_ char *pattern = NULL, *live = NULL;
	glob_t put_away;
	assert_true(asprintf(&pattern, "%s/audit/audit-*.jsonl", dir) > 0);
	assert_true(asprintf(&live, "%s/audit/audit.jsonl", dir) > 0);
	assert_int_equal(glob(pattern, 0, NULL, &put_away), 0);
	assert_true(put_away.gl_pathc >= 3);
	assert_int_equal(unlink(put_away.gl_pathv[0]), 0);
	globfree(&put_away);
	assert_true(verify(s) > 0);
	assert_int_equal(unlink(live), 0);
	assert_true(verify(s) > 1);
	store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_what_is_unknown_and_unchanged_becomes_text),
		cmocka_unit_test(the_scanners_rule),
		cmocka_unit_test(names_of_backups),
		TEST(the_indexes_are_used),
		TEST(a_backup_that_goes_takes_its_deleted_file_along),
		TEST(the_chain_goes_on_across_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
