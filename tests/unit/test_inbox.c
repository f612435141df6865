/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inbox of the history: nothing lost, nothing twice, in order, whatever is cut off, killed or in the way. */
#include "tests.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "store/audit.h"
#include "store/inbox.h"
#include "store/inbox_file.h"
#include "store/sql.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], *inbox, *database;

static int make_dir(void **state)
{
	(void)strcpy(dir, "/tmp/airlock-inbox-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	inbox = inbox_path(dir);
	database = path_join(dir, STORE_FILE);
	return inbox && database ? 0 : -1;
}

static int remove_dir(void **state)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	int rc = fs_remove_tree_at(fd, dir + strlen("/tmp/"), NULL, NULL);
	(void)close(fd);
	free(inbox);
	free(database);
	return rc;
}

static struct store_run row(const char *id, const char *status)
{
	return (struct store_run){.id = id,
				  .project = "/p",
				  .command = "make test",
				  .asked_by = "cli",
				  .working_dir = "/p/src",
				  .started = 5,
				  .status = status,
				  .exit_code = strcmp(status, "running") == 0 ? -1 : 0,
				  .changes_state = strcmp(status, "running") == 0 ? "none" : "held",
				  .changes_count = strcmp(status, "running") == 0 ? 0 : 2,
				  .detail = ""};
}

static void add(struct buf *news, const char *id, const char *status)
{
	struct store_run r = row(id, status);
	inbox_add_run(news, &r);
}

static void put(const struct buf *news)
{
	struct airlock_error err = {0};
	if (inbox_put(dir, news, STORE_WAIT_MS, &err) < 0)
		fail_msg("put: %s", err.message);
}

static void put_run(const char *id, const char *status)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	add(&news, id, status);
	put(&news);
}

static void put_changes(const char *id, const char *state)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	inbox_add_changes(&news, id, state, 2);
	put(&news);
}

static struct store *open_history(void)
{
	struct airlock_error err = {0};
	struct store *s = NULL;
	if (store_open_history(dir, STORE_WAIT_MS, &s, &err) < 0)
		fail_msg("open: %s", err.message);
	return s;
}

/* "exited held", or "" when there is no such run. */
static const char *look(struct store *s, const char *id)
{
	static char text[64];
	struct store_run r = {0};
	text[0] = '\0';
	if (store_run_get(s, id, &r, NULL) == 1)
		(void)snprintf(text, sizeof text, "%s %s", r.status, r.changes_state);
	store_run_done(&r);
	return text;
}

static const char *history(const char *id)
{
	struct store *s = open_history();
	const char *text = look(s, id);
	store_close(s);
	return text;
}

static off_t inbox_size(void)
{
	struct stat st;
	return lstat(inbox, &st) == 0 ? st.st_size : -1;
}

static void write_inbox(const char *data, size_t len)
{
	assert_int_equal(fs_write_private_file(inbox, data, len, NULL), 0);
}

static void read_inbox(struct buf *ret)
{
	assert_int_equal(fs_read_file(inbox, 1 << 20, ret, NULL), 0);
}

/* ── As it was put in ── */

static void every_byte_comes_back(void **state)
{
	char bytes[256], words[] = "- a  b%20%\n";
	for (int i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	struct store_run in = {.id = "1",
			       .project = bytes,
			       .command = words,
			       .asked_by = "",
			       .working_dir = "-",
			       .started = INT64_MAX,
			       .status = "signaled",
			       .exit_code = 137,
			       .changes_state = "partial",
			       .changes_count = INT64_MIN,
			       .detail = bytes},
			 out = {0};
	_cleanup_buf_ struct buf news = BUF_INIT;
	inbox_add_run(&news, &in);
	put(&news);
	struct store *s = open_history();
	assert_int_equal(store_run_get(s, "1", &out, NULL), 1);
	const char *const pairs[][2] = {{in.project, out.project},   {in.command, out.command},
					{in.asked_by, out.asked_by}, {in.working_dir, out.working_dir},
					{in.status, out.status},     {in.changes_state, out.changes_state},
					{in.detail, out.detail}};
	for (size_t i = 0; i < AL_ARRAY_LEN(pairs); i++)
		assert_string_equal(pairs[i][0], pairs[i][1]);
	assert_true(in.started == out.started && in.exit_code == out.exit_code &&
		    in.changes_count == out.changes_count);
	store_run_done(&out);
	store_close(s);
}

static void private_and_emptied_when_it_is_taken(void **state)
{
	struct stat st;
	mode_t before = umask(0777);
	put_run("1", "running");
	(void)umask(before);
	assert_int_equal(stat(inbox, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_string_equal(history("1"), "running none");
	assert_int_equal(inbox_size(), 0);
	assert_string_equal(history("1"), "running none");
}

static void an_inbox_alone_is_a_history(void **state)
{
	struct store *s = NULL;
	assert_int_equal(store_open_history(dir, 100, &s, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(access(database, F_OK), -1);
	put_run("1", "exited");
	assert_int_equal(access(database, F_OK), -1);
	assert_int_equal(store_open_existing(dir, 100, &s, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(history("1"), "exited held");
	assert_int_equal(access(database, F_OK), 0);
}

static void a_state_directory_is_made(void **state)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	_cleanup_free_ char *deep = path_join(dir, "a/b"), *file = inbox_path(deep);
	add(&news, "1", "exited");
	assert_int_equal(inbox_put(deep, &news, 100, NULL), 0);
	assert_int_equal(access(file, F_OK), 0);
}

/* ── Order ── */

static void an_end_stays_the_end(void **state)
{
	put_run("1", "running");
	assert_string_equal(history("1"), "running none");
	put_run("1", "exited");
	put_run("1", "running");
	assert_string_equal(history("1"), "exited held");
	put_changes("1", "applied");
	put_run("1", "running");
	put_run("1", "exited");
	assert_string_equal(history("1"), "exited applied");
	put_run("2", "exited");
	put_changes("2", "applied");
	put_changes("2", "undone");
	put_changes("3", "applied"); /* which nobody knows */
	assert_string_equal(history("2"), "exited undone");
	assert_string_equal(history("3"), "");
}

/* Killed between the commit and the emptying: the same lies there again, with what came after. */
static void taken_twice_is_taken_once(void **state)
{
	_cleanup_buf_ struct buf taken = BUF_INIT, more = BUF_INIT;
	put_run("1", "running");
	put_run("1", "exited");
	put_run("2", "exited");
	put_changes("2", "partial");
	read_inbox(&taken);
	assert_string_equal(history("2"), "exited partial");
	write_inbox(taken.data, taken.len);
	put_changes("1", "applied");
	put_changes("2", "applied");
	read_inbox(&more);
	assert_string_equal(history("1"), "exited applied");
	write_inbox(more.data, more.len);
	assert_string_equal(history("1"), "exited applied");
	assert_string_equal(history("2"), "exited applied");
	/* What is removed by somebody who opened the history is not brought back. */
	write_inbox(more.data, more.len);
	struct store *s = open_history();
	assert_int_equal(store_run_remove(s, "1", NULL), 0);
	store_close(s);
	assert_string_equal(history("1"), "");
}

static int64_t audit_end(void)
{
	struct store *s = open_history();
	int64_t number = 0;
	{
		_cleanup_sql_ struct sql q = sql_begin(s, "SELECT number FROM audit", NULL);
		assert_true(sql_next(&q));
		number = sql_int(&q, 0);
	}
	store_close(s);
	return number;
}

static void the_end_of_the_audit_file_only_moves_on(void **state)
{
	static const int64_t numbers[] = {2, 5, 4};
	_cleanup_buf_ struct buf news = BUF_INIT, late = BUF_INIT;
	for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++)
		inbox_add_audit_end(&news, numbers[i], "hash");
	put(&news);
	assert_int_equal(audit_end(), 5);
	inbox_add_audit_end(&late, 3, "hash");
	put(&late);
	assert_int_equal(audit_end(), 5);
}

static void a_line_cut_off_the_audit_file_is_missed(void **state)
{
	_cleanup_buf_ struct buf news = BUF_INIT, whole = BUF_INIT;
	_cleanup_report_ struct audit_report report = {0};
	_cleanup_free_ char *file = path_join(dir, "audit/audit.jsonl");
	for (int i = 0; i < 3; i++)
		assert_int_equal(audit_append(dir, "\"event\":\"run\"", &news, NULL), 0);
	put(&news);
	assert_int_equal(fs_read_file(file, 1 << 20, &whole, NULL), 0);
	size_t len = whole.len - 1;
	while (whole.data[len - 1] != '\n')
		len--;
	assert_int_equal(truncate(file, (off_t)len), 0);
	struct store *s = open_history();
	assert_int_equal(audit_verify(dir, s, &report, NULL), 0);
	assert_int_equal(report.n, 1);
	assert_int_equal(report.v[0].kind, AIRLOCK_AUDIT_MISSING);
	assert_int_equal(report.v[0].line, 3);
	store_close(s);
}

/* ── Damage ── */

/* Between two whole ones. */
static void only_the_middle_is_missing(const char *first, size_t first_len, const char *middle, size_t middle_len)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_add(&text, first, first_len);
	buf_add(&text, middle, middle_len);
	add(&text, "3", "exited");
	write_inbox(text.data, text.len);
	struct store *s = open_history();
	assert_string_equal(look(s, "1"), "exited held");
	assert_string_equal(look(s, "2"), "");
	assert_string_equal(look(s, "3"), "exited held");
	assert_int_equal(store_run_remove(s, "1", NULL), 0);
	assert_int_equal(store_run_remove(s, "3", NULL), 0);
	store_close(s);
	assert_int_equal(inbox_size(), 0);
}

static void what_is_torn_spoils_only_itself(void **state)
{
	_cleanup_buf_ struct buf first = BUF_INIT, middle = BUF_INIT;
	add(&first, "1", "exited");
	add(&middle, "2", "exited");
	for (size_t len = 0; len < middle.len - 1; len++)
		only_the_middle_is_missing(first.data, first.len, middle.data, len);
	char zeros[300] = {0}; /* as a power cut leaves them */
	only_the_middle_is_missing(first.data, first.len, zeros, sizeof zeros);
}

static void a_changed_byte_is_noticed(void **state)
{
	_cleanup_buf_ struct buf first = BUF_INIT, middle = BUF_INIT;
	add(&first, "1", "exited");
	add(&middle, "2", "exited");
	for (size_t i = 1; i < middle.len - 1; i++) {
		middle.data[i] ^= (char)(1 << i % 7);
		only_the_middle_is_missing(first.data, first.len, middle.data, middle.len);
		middle.data[i] ^= (char)(1 << i % 7);
	}
}

static void what_a_newer_one_wrote_is_left_alone(void **state)
{
	static const char *const lines[] = {"dream 1 2", "changes 1 held 2 more", "audit x y", "run 1"};
	for (size_t i = 0; i < AL_ARRAY_LEN(lines); i++) {
		_cleanup_buf_ struct buf text = BUF_INIT, after = BUF_INIT;
		struct airlock_error err = {0};
		struct store *s = NULL;
		add(&text, "1", "exited");
		buf_addc(&text, '\n');
		buf_adds(&text, lines[i]);
		fields_add_number(&text, hash_checksum(lines[i], strlen(lines[i])));
		write_inbox(text.data, text.len);
		assert_int_equal(store_open_history(dir, 100, &s, &err), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(err.message, "newer airlock"));
		assert_null(s);
		read_inbox(&after);
		assert_string_equal(after.data, text.data);
	}
	assert_int_equal(unlink(inbox), 0);
	assert_string_equal(history("1"), ""); /* nothing was half taken */
}

static void a_damaged_database_loses_nothing(void **state)
{
	char bytes[9000];
	struct airlock_error err = {0};
	struct store *s = NULL;
	memset(bytes, 0x5a, sizeof bytes);
	assert_int_equal(fs_write_private_file(database, bytes, sizeof bytes, NULL), 0);
	put_run("1", "exited");
	off_t size = inbox_size();
	assert_int_equal(inbox_take_over(dir, 100, &err), AIRLOCK_ERR_CORRUPT);
	assert_non_null(strstr(err.message, STORE_FILE));
	assert_int_equal(store_open_history(dir, 100, &s, NULL), AIRLOCK_ERR_CORRUPT);
	assert_int_equal(inbox_size(), size);
	assert_int_equal(unlink(database), 0);
	assert_string_equal(history("1"), "exited held");
}

/* ── No room ── */

/* A limit in the middle of what is written: the write is short, as on a disk that has become full. */
static void half_a_write_is_taken_back(void **state)
{
	put_run("1", "exited");
	off_t size = inbox_size();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {.rlim_cur = (rlim_t)size + 20, .rlim_max = (rlim_t)size + 20};
		_cleanup_buf_ struct buf news = BUF_INIT;
		struct airlock_error err = {0};
		(void)signal(SIGXFSZ, SIG_IGN);
		add(&news, "2", "exited");
		_exit(setrlimit(RLIMIT_FSIZE, &limit) < 0 || inbox_put(dir, &news, 100, &err) != AIRLOCK_ERR_IO ||
		      !strstr(err.message, INBOX_FILE));
	}
	int status = -1;
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	assert_int_equal(inbox_size(), size);
	put_run("3", "exited");
	assert_string_equal(history("1"), "exited held");
	assert_string_equal(history("2"), "");
	assert_string_equal(history("3"), "exited held");
}

static void it_says_when_it_is_large_and_when_it_is_full(void **state)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct airlock_error err = {0};
	add(&news, "1", "exited");
	assert_int_equal(inbox_put(dir, &news, 100, NULL), 0);
	assert_int_equal(truncate(inbox, INBOX_LARGE), 0);
	assert_int_equal(inbox_put(dir, &news, 100, NULL), 1);
	assert_int_equal(truncate(inbox, INBOX_MAX), 0);
	assert_int_equal(inbox_put(dir, &news, 100, &err), AIRLOCK_ERR_LIMIT);
	assert_int_equal(inbox_size(), INBOX_MAX);
	assert_int_equal(inbox_take_over(dir, 1000, NULL), 0);
	assert_int_equal(inbox_size(), 0);
	assert_string_equal(history("1"), "exited held");
}

static void something_else_in_its_place(void **state)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	_cleanup_free_ char *victim = path_join(dir, "victim");
	struct stat st;
	add(&news, "1", "exited");
	assert_int_equal(fs_write_private_file(victim, "", 0, NULL), 0);
	for (int i = 0; i < 3; i++) {
		struct airlock_error putting = {0}, looking = {0};
		struct store *s = NULL;
		assert_int_equal(i == 0	  ? symlink("victim", inbox)
				 : i == 1 ? mkdir(inbox, 0700)
					  : mkfifo(inbox, 0600),
				 0);
		assert_int_equal(inbox_put(dir, &news, 100, &putting), AIRLOCK_ERR_IO);
		assert_non_null(strstr(putting.message, INBOX_FILE));
		assert_int_equal(store_open_history(dir, 100, &s, &looking), AIRLOCK_ERR_IO);
		assert_non_null(strstr(looking.message, INBOX_FILE));
		assert_null(s);
		assert_int_equal(i == 1 ? rmdir(inbox) : unlink(inbox), 0);
	}
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
}

/* ── Many at once ── */

static void who_holds_it_is_not_waited_for_long(void **state)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct airlock_error err = {0};
	put_run("1", "exited");
	add(&news, "2", "exited");
	_cleanup_close_ int fd = open(inbox, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(inbox_put(dir, &news, 1, &err), AIRLOCK_ERR_BUSY);
	assert_int_equal(inbox_take_over(dir, 1, NULL), AIRLOCK_ERR_BUSY);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	assert_string_equal(history("1"), "exited held");
	assert_string_equal(history("2"), "");
}

static void who_looks_does_not_wait_for_a_writer(void **state)
{
	struct store *writer = NULL, *s = NULL;
	put_run("1", "running");
	assert_string_equal(history("1"), "running none");
	put_run("1", "exited");
	put_run("2", "exited");
	off_t size = inbox_size();
	assert_int_equal(store_open(dir, 100, &writer, NULL), 0);
	assert_int_equal(store_begin(writer, NULL), 0);
	assert_int_equal(store_open_history(dir, 50, &s, NULL), 0);
	assert_string_equal(look(s, "1"), "exited held");
	assert_string_equal(look(s, "2"), "exited held");
	store_close(s);
	assert_int_equal(inbox_size(), size);
	assert_string_equal(look(writer, "1"), "running none");
	assert_int_equal(store_commit(writer, NULL), 0);
	store_close(writer);
	assert_string_equal(history("2"), "exited held");
	assert_int_equal(inbox_size(), 0);
}

#define WRITERS 4
#define EACH 50

static int busy_writer(int number)
{
	for (int i = 0; i < EACH; i++) {
		char id[32];
		(void)snprintf(id, sizeof id, "%d-%03d", number, i);
		put_run(id, "running");
		put_run(id, "exited");
		put_changes(id, "applied");
	}
	return 0;
}

static size_t count_ended(void)
{
	struct store *s = open_history();
	_cleanup_runs_ struct store_runs l = {0};
	size_t n = 0;
	assert_int_equal(store_run_list(s, NULL, -1, &l, NULL), 0);
	for (size_t i = 0; i < l.n; i++)
		n += strcmp(l.v[i].status, "exited") == 0 && strcmp(l.v[i].changes_state, "applied") == 0;
	store_close(s);
	return n;
}

static void four_write_while_one_takes(void **state)
{
	put_run("before", "exited");
	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(busy_writer(i));
	}
	for (int left = WRITERS; left > 0;) {
		int status = 0;
		(void)count_ended();
		pid_t pid = waitpid(-1, &status, WNOHANG);
		assert_int_equal(status, 0);
		left -= pid > 0;
	}
	assert_int_equal(count_ended(), WRITERS * EACH);
	assert_int_equal(inbox_size(), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_byte_comes_back),
		TEST(private_and_emptied_when_it_is_taken),
		TEST(an_inbox_alone_is_a_history),
		TEST(a_state_directory_is_made),
		TEST(an_end_stays_the_end),
		TEST(taken_twice_is_taken_once),
		TEST(the_end_of_the_audit_file_only_moves_on),
		TEST(a_line_cut_off_the_audit_file_is_missed),
		TEST(what_is_torn_spoils_only_itself),
		TEST(a_changed_byte_is_noticed),
		TEST(what_a_newer_one_wrote_is_left_alone),
		TEST(a_damaged_database_loses_nothing),
		TEST(half_a_write_is_taken_back),
		TEST(it_says_when_it_is_large_and_when_it_is_full),
		TEST(something_else_in_its_place),
		TEST(who_holds_it_is_not_waited_for_long),
		TEST(who_looks_does_not_wait_for_a_writer),
		TEST(four_write_while_one_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
