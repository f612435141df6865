/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening, and transactions.
 *
 * Uses WAL, so that readers and a writer do not wait for each other. The end of a transaction does not wait for the
 * disk (synchronous=NORMAL): after a power cut the last transactions may be missing, but the database is intact, and
 * its rows describe files that were synced separately. The last process to close does not checkpoint the log either,
 * which would make every run wait for the disk twice; that happens once in a thousand pages.
 *
 * Every writing transaction takes the lock when it begins. A transaction that begins by reading and then wants to
 * write can be refused at once, whatever the busy timeout: that is how "database is locked" reaches users elsewhere. */
#include "base/path.h"
#include "fs/fs.h"
#include "store/sql.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_FILE "airlock.db-lock"

int64_t store_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	(void)sqlite3_finalize(s->put_file);
	(void)sqlite3_finalize(s->put_files);
	(void)sqlite3_close(s->db);
	free(s->file);
	free(s);
}

void store_closep(struct store **s)
{
	store_close(*s);
	*s = NULL;
}

/* ── Transactions ── */

int store_begin(struct store *s, struct airlock_error *err)
{
	int rc = sql_exec(s, "BEGIN IMMEDIATE", err);
	s->in_transaction = rc == 0;
	return rc;
}

int store_commit(struct store *s, struct airlock_error *err)
{
	int rc = sql_exec(s, "COMMIT", err);
	if (rc < 0)
		store_rollback(s);
	s->in_transaction = false;
	return rc;
}

void store_rollback(struct store *s)
{
	if (s->in_transaction)
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->in_transaction = false;
}

/* The first process to open the database reads the whole log, and most of our processes are the first: so the log is
 * kept short. A checkpoint waits for the disk, so while one process inserts many rows the log may grow to some
 * megabytes. */
#define LOG_PAGES 100
#define LOG_PAGES_BULK 4000

void store_bulk(struct store *s, bool on)
{
	(void)sqlite3_wal_autocheckpoint(s->db, on ? LOG_PAGES_BULK : LOG_PAGES);
}

/* ── Opening ── */

/* Created before SQLite does it: private whatever the umask is, and never through a symlink. */
static int make_file(const char *file, struct airlock_error *err)
{
	_cleanup_close_ int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST) {
		int rc = base_errno(err, AIRLOCK_ERR_IO, errno, "open", file);
		base_hint(err, "point XDG_STATE_HOME to a directory you can write to");
		return rc;
	}
	if (fd >= 0 && fchmod(fd, 0600) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fchmod", file);
	return 0;
}

/* One process at a time creates or upgrades: switching to WAL does not wait for others, it fails. */
static int lock_upgrades(const char *dir, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(dir, LOCK_FILE);
	if (!file)
		return base_oom(err);
	int fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", file);
	while (flock(fd, LOCK_EX) < 0) {
		if (errno == EINTR)
			continue;
		int errnum = errno;
		(void)close(fd);
		return base_errno(err, AIRLOCK_ERR_IO, errnum, "flock", file);
	}
	return fd;
}

static int upgrade(struct store *s, const char *dir, struct airlock_error *err)
{
	_cleanup_close_ int lock = lock_upgrades(dir, err);
	if (lock < 0)
		return lock;
	int rc = sql_exec(s, "PRAGMA journal_mode = WAL", err);
	rc = rc < 0 ? rc : store_begin(s, err);
	if (rc < 0)
		return rc;
	rc = store_schema_upgrade(s, err);
	if (rc == 0)
		return store_commit(s, err);
	store_rollback(s);
	return rc;
}

static int newer(struct store *s, int version, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_INVALID, "open", s->file,
		   "the database %s was written by a newer airlock (its version is %d, this airlock reads up to %d)",
		   s->file, version, store_schema_latest());
	return base_hint(err, "use the newer airlock, or point XDG_STATE_HOME to another directory");
}

static int none_yet(struct store *s, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "open", s->file, "there is no database yet");
}

static int configure(struct store *s, const char *dir, bool make, struct airlock_error *err)
{
	int version;
	(void)sqlite3_extended_result_codes(s->db, 1);
	(void)sqlite3_busy_timeout(s->db, s->wait_ms);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_wal_autocheckpoint(s->db, LOG_PAGES);
	int rc = sql_exec(s, "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY", err);
	rc = rc < 0 ? rc : store_schema_version(s, &version, err);
	if (rc < 0)
		return rc;
	if (version > store_schema_latest())
		return newer(s, version, err);
	if (version == 0 && !make) { /* whoever began it did not finish, perhaps because the disk was full */
		rc = store_schema_check_empty(s, err);
		return rc < 0 ? rc : none_yet(s, err);
	}
	return version < store_schema_latest() ? upgrade(s, dir, err) : 0;
}

/* While another process recreates the log, SQLite refuses at moments without waiting. */
static int configure_patiently(struct store *s, const char *dir, bool make, struct airlock_error *err)
{
	struct airlock_error why = {0};
	const struct timespec pause = {.tv_nsec = 2000000};
	int64_t end = store_now() + (int64_t)s->wait_ms * 1000000;
	int rc = configure(s, dir, make, &why);
	while (rc == AIRLOCK_ERR_BUSY && store_now() < end) {
		why = (struct airlock_error){0};
		(void)nanosleep(&pause, NULL);
		rc = configure(s, dir, make, &why);
	}
	if (rc < 0 && err && !err->code)
		*err = why;
	return rc;
}

static int open_in(const char *dir, int wait_ms, bool make, struct store **ret, struct airlock_error *err)
{
	_cleanup_store_ struct store *s = calloc(1, sizeof *s);
	if (!s || !(s->file = path_join(dir, STORE_FILE)))
		return base_oom(err);
	s->wait_ms = wait_ms;
	int rc = 0;
	if (make)
		rc = make_file(s->file, err);
	else if (access(s->file, F_OK) < 0 && errno == ENOENT)
		rc = none_yet(s, err);
	if (rc < 0)
		return rc;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	if (sqlite3_open_v2(s->file, &s->db, flags, NULL) != SQLITE_OK)
		return s->db ? sql_error(s, "open", err) : base_oom(err);
	rc = configure_patiently(s, dir, make, err);
	if (rc == 0)
		*ret = TAKE_PTR(s);
	return rc;
}

/* SQLite refuses a symlink anywhere in the path; the user's own path to the directory may have some. */
static int open_store(const char *state_dir, int wait_ms, bool make, struct store **ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = NULL;
	int rc = make ? fs_make_private_dir(state_dir, err) : 0;
	rc = rc < 0 ? rc : fs_real_path(state_dir, &dir, err);
	return rc < 0 ? rc : open_in(dir, wait_ms, make, ret, err);
}

void store_set_wait(struct store *s, int wait_ms)
{
	s->wait_ms = wait_ms;
	(void)sqlite3_busy_timeout(s->db, wait_ms);
}

int store_open(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err)
{
	return open_store(state_dir, wait_ms, true, ret, err);
}

int store_open_existing(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err)
{
	return open_store(state_dir, wait_ms, false, ret, err);
}
