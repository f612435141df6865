/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves the inbox into the database.
 *
 * Locks the database first, then the inbox: whoever waits for the database does not stop runs from appending, and
 * nobody who holds the inbox waits for anything. The inbox is emptied after the commit. If we are killed in between,
 * the same lines are read again, which changes nothing:
 *
 * - an existing run is changed only by its end, and only while it is running;
 *
 * - later decisions about its changes follow in their order;
 *
 * - the end of the audit file only moves forward. */
#include "base/path.h"
#include "fs/io.h"
#include "store/inbox.h"
#include "store/inbox_file.h"
#include "store/sql.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* After a power cut the last transactions may be missing. From here on that would be more than the last few, most of
 * which have long been on the disk: so wait for the disk. */
#define MANY (32 << 10)
#define READ_MAX ((size_t)INBOX_MAX * 4)

static const char put_run[] =
	"INSERT INTO run(id, project, command, asked_by, working_dir, started, status, exit_code, changes_state,"
	" changes_count, detail) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	" ON CONFLICT(id) DO UPDATE SET status = excluded.status, exit_code = excluded.exit_code,"
	" changes_state = excluded.changes_state, changes_count = excluded.changes_count, detail = excluded.detail"
	" WHERE status = 'running' AND excluded.status <> 'running'";
static const char put_changes[] = "UPDATE run SET changes_state = ?, changes_count = ? WHERE id = ?";
static const char put_audit_end[] =
	"INSERT INTO audit(id, number, hash) VALUES(1, ?, ?)"
	" ON CONFLICT(id) DO UPDATE SET number = excluded.number, hash = excluded.hash WHERE excluded.number > number";

/* ── One line ── */

struct taking {
	struct sql run, changes, audit_end;
	const char *file;
	struct airlock_error *err;
};

static int bind_run(struct sql *q, const struct store_run *run)
{
	sql_bind_text(q, run->id);
	sql_bind_blob(q, run->project);
	sql_bind_blob(q, run->command);
	sql_bind_text(q, run->asked_by);
	sql_bind_blob(q, run->working_dir);
	sql_bind_int(q, run->started);
	sql_bind_text(q, run->status);
	sql_bind_int(q, run->exit_code);
	sql_bind_text(q, run->changes_state);
	sql_bind_int(q, run->changes_count);
	sql_bind_blob(q, run->detail);
	int rc = sql_run(q);
	sql_reset(q);
	return rc;
}

/* No string may be NULL. */
static int take_strings(struct fields *f, const char **const *fields, size_t n)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		char *s = NULL;
		rc = fields_take_string(f, &s);
		*fields[i] = s;
		rc = rc == 0 && !s ? -EINVAL : rc;
	}
	return rc;
}

static int read_run(struct fields *f, struct store_run *ret)
{
	const char **const first[] = {&ret->id, &ret->project, &ret->command, &ret->asked_by, &ret->working_dir};
	const char **const status[] = {&ret->status}, **const changes[] = {&ret->changes_state};
	const char **const detail[] = {&ret->detail};
	int rc = take_strings(f, first, AL_ARRAY_LEN(first));
	rc = rc < 0 ? rc : fields_take_signed(f, &ret->started);
	rc = rc < 0 ? rc : take_strings(f, status, 1);
	rc = rc < 0 ? rc : fields_take_signed(f, &ret->exit_code);
	rc = rc < 0 ? rc : take_strings(f, changes, 1);
	rc = rc < 0 ? rc : fields_take_signed(f, &ret->changes_count);
	rc = rc < 0 ? rc : take_strings(f, detail, 1);
	return rc < 0 ? rc : fields_end(f);
}

/* -errno if the line cannot be read; 0 with the database's answer in *ret. */
static int take_run(struct taking *t, struct fields *f, int *ret)
{
	struct store_run run = {0};
	int rc = read_run(f, &run);
	if (rc == 0)
		*ret = bind_run(&t->run, &run);
	store_run_done(&run);
	return rc;
}

static int take_changes(struct taking *t, struct fields *f, int *ret)
{
	_cleanup_free_ char *id = NULL, *state = NULL;
	int64_t count = 0;
	int rc = fields_take_string(f, &id);
	rc = rc < 0 ? rc : fields_take_string(f, &state);
	rc = rc < 0 ? rc : fields_take_signed(f, &count);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0 || !id || !state)
		return rc < 0 ? rc : -EINVAL;
	sql_bind_text(&t->changes, state);
	sql_bind_int(&t->changes, count);
	sql_bind_text(&t->changes, id);
	*ret = sql_run(&t->changes);
	sql_reset(&t->changes);
	return 0;
}

static int take_audit_end(struct taking *t, struct fields *f, int *ret)
{
	_cleanup_free_ char *hash = NULL;
	int64_t number = 0;
	int rc = fields_take_signed(f, &number);
	rc = rc < 0 ? rc : fields_take_string(f, &hash);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0 || !hash)
		return rc < 0 ? rc : -EINVAL;
	sql_bind_int(&t->audit_end, number);
	sql_bind_text(&t->audit_end, hash);
	*ret = sql_run(&t->audit_end);
	sql_reset(&t->audit_end);
	return 0;
}

static int newer(const struct taking *t)
{
	base_error(t->err, AIRLOCK_ERR_INVALID, "read", t->file, "%s was written by a newer airlock", t->file);
	(void)base_hint(t->err, "use the newer airlock, or point XDG_STATE_HOME to another directory");
	return AIRLOCK_ERR_INVALID;
}

/* An incomplete line counts as none. A complete line that we do not know was written by a newer version. */
static int take_line(struct taking *t, const char *line, size_t len)
{
	static const char *const kinds[] = {INBOX_RUN, INBOX_CHANGES, INBOX_AUDIT, NULL};
	static int (*const take[])(struct taking *, struct fields *, int *) = {take_run, take_changes, take_audit_end};
	struct fields f;
	unsigned kind = 0;
	int put = 0;
	if (!inbox_read_line(line, len, &f))
		return 0;
	int rc = fields_take_name(&f, kinds, "a kind", &kind);
	rc = rc < 0 ? rc : take[kind](t, &f, &put);
	return rc == -ENOMEM ? base_oom(t->err) : rc < 0 ? newer(t) : put;
}

static int take_lines(struct store *s, const char *file, const struct buf *text, struct airlock_error *err)
{
	struct taking t = {.run = sql_begin(s, put_run, err),
			   .changes = sql_begin(s, put_changes, err),
			   .audit_end = sql_begin(s, put_audit_end, err),
			   .file = file,
			   .err = err};
	int rc = t.run.rc < 0 ? t.run.rc : t.changes.rc < 0 ? t.changes.rc : t.audit_end.rc;
	const char *at = buf_str(text), *end = at + text->len;
	while (rc == 0 && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		rc = take_line(&t, at, (size_t)(stop - at));
		at = stop + 1;
	}
	sql_done(&t.run);
	sql_done(&t.changes);
	sql_done(&t.audit_end);
	return rc;
}

/* ── All of it ── */

static int read_inbox(int fd, const char *file, struct buf *ret, struct airlock_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return inbox_error(err, errno, "fstat", file);
	if (!S_ISREG(st.st_mode))
		return inbox_error(err, EINVAL, "open", file);
	int rc = fs_read_all(fd, READ_MAX, ret);
	return rc < 0 ? inbox_error(err, rc, "read", file) : 0;
}

static int open_inbox(const char *file, int flags, struct airlock_error *err)
{
	int fd = open(file, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? inbox_error(err, errno, "open", file) : fd;
}

/* Runs between store_begin and its end. */
static int take_locked(struct store *s, int fd, const char *file, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	int rc = inbox_lock(fd, LOCK_EX, s->wait_ms);
	if (rc < 0)
		return inbox_error(err, rc, "flock", file);
	rc = read_inbox(fd, file, &text, err);
	rc = rc < 0 ? rc : take_lines(s, file, &text, err);
	rc = rc < 0 ? rc : store_commit(s, err);
	if (rc == 0)
		(void)ftruncate(fd, 0); /* otherwise it is read again */
	(void)flock(fd, LOCK_UN);
	return rc;
}

static int take(struct store *s, const char *file, struct airlock_error *err)
{
	struct stat st;
	_cleanup_close_ int fd = open_inbox(file, O_RDWR, err);
	if (fd < 0)
		return fd;
	bool is_large = fstat(fd, &st) == 0 && st.st_size >= MANY;
	int rc = is_large ? sql_exec(s, "PRAGMA synchronous = FULL", err) : 0;
	rc = rc < 0 ? rc : store_begin(s, err);
	rc = rc < 0 ? rc : take_locked(s, fd, file, err);
	store_rollback(s);
	if (is_large)
		(void)sql_exec(s, "PRAGMA synchronous = NORMAL", NULL);
	return rc;
}

static bool has_news(const char *file)
{
	struct stat st;
	return lstat(file, &st) == 0 && (st.st_size > 0 || !S_ISREG(st.st_mode));
}

int inbox_take_over(const char *state_dir, int wait_ms, struct airlock_error *err)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_free_ char *file = inbox_path(state_dir);
	if (!file)
		return base_oom(err);
	int rc = store_open(state_dir, wait_ms, &s, err);
	return rc < 0 ? rc : take(s, file, err);
}

/* ── For readers, if nothing can be written ── */

/* Temporary tables of the same names, which SQLite finds before the originals. */
static int cover_tables(struct store *s, struct airlock_error *err)
{
	return sql_exec(s,
			"CREATE TEMP TABLE run AS SELECT * FROM main.run;"
			"CREATE UNIQUE INDEX temp.run_by_id ON run(id);"
			"CREATE TEMP TABLE audit AS SELECT * FROM main.audit;"
			"CREATE UNIQUE INDEX temp.audit_by_id ON audit(id)",
			err);
}

static int look_into(struct store *s, const char *file, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_close_ int fd = open_inbox(file, O_RDONLY, err);
	if (fd < 0)
		return fd;
	int rc = inbox_lock(fd, LOCK_SH, s->wait_ms);
	if (rc < 0)
		return inbox_error(err, rc, "flock", file);
	rc = read_inbox(fd, file, &text, err);
	rc = rc < 0 ? rc : cover_tables(s, err); /* before anyone else moves what we have read */
	(void)flock(fd, LOCK_UN);
	return rc < 0 ? rc : take_lines(s, file, &text, err);
}

/* A database that root makes in an ordinary user's directory would be useless to that user. */
static bool is_ours(const char *state_dir)
{
	struct stat st;
	return stat(state_dir, &st) == 0 && st.st_uid == geteuid();
}

/* There is none, and none can be made. */
static int open_in_memory(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err)
{
	_cleanup_store_ struct store *s = calloc(1, sizeof *s);
	if (!s || !(s->file = path_join(state_dir, STORE_FILE)))
		return base_oom(err);
	s->wait_ms = wait_ms;
	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return s->db ? sql_error(s, "open", err) : base_oom(err);
	int rc = store_schema_create(s, store_schema_latest(), err);
	if (rc == 0)
		*ret = TAKE_PTR(s);
	return rc;
}

/* How long readers wait for a writer: they can do without. */
#define LOOK_WAIT_MS 500

static int take_or_look(struct store *s, const char *file, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int wait_ms = s->wait_ms;
	store_set_wait(s, AL_MIN(wait_ms, LOOK_WAIT_MS));
	int rc = take(s, file, &why);
	store_set_wait(s, wait_ms);
	if (rc == AIRLOCK_ERR_IO || rc == AIRLOCK_ERR_BUSY)
		return look_into(s, file, err);
	return rc < 0 ? base_pass(err, &why) : 0;
}

static int open_with_news(const char *state_dir, int wait_ms, const char *file, struct store **ret,
			  struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = store_open_existing(state_dir, wait_ms, ret, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		rc = is_ours(state_dir) ? store_open(state_dir, wait_ms, ret, NULL) : rc;
	else if (rc < 0)
		return base_pass(err, &why);
	if (rc == 0)
		return take_or_look(*ret, file, err);
	rc = open_in_memory(state_dir, wait_ms, ret, err);
	return rc < 0 ? rc : look_into(*ret, file, err); /* never move it: the data would be lost */
}

int store_open_history(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_free_ char *file = inbox_path(state_dir);
	if (!file)
		return base_oom(err);
	int rc = has_news(file) ? open_with_news(state_dir, wait_ms, file, &s, err)
				: store_open_existing(state_dir, wait_ms, &s, err);
	if (rc == 0)
		*ret = TAKE_PTR(s);
	return rc;
}
