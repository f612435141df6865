/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file:
 *
 *   airlock-journal 1
 *   run 20261115-193012.482731-7f3a
 *   do apply
 *   locks /home/u/.local/state/airlock/locks
 *   started 1794771012482731000
 *   root DEVICE INODE COPY /home/u/p /home/u/.local/state/airlock/runs/…/upper/overlay0
 *   dir ROOT FLAGS MODE MODE MTIME MTIME WITHOUT WITH src
 *   ready SHA-256
 *   op exchange ROOT CHANGE FLAGS SLOT STAGED OLD WANT src/a.c
 *   op install ROOT CHANGE n SLOT STAGED OLD WANT src/c.c src/a.c       (another name of the last one; undoing: -)
 *   commit SHA-256
 *   back SHA-256
 */
#include "change/apply/journal.h"

#include "base/hash.h"
#include "change/apply/apply_tx.h"
#include "change/fields.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define MAGIC "airlock-journal 1\n"

static const char *const step_names[] = {"none", "remove", "install", "exchange", "meta", NULL};

/* ── The file ── */

static int open_dir(struct journal *j, const char *dir, struct airlock_error *err)
{
	j->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return j->dir_fd < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir) : 0;
}

/* A recovering process may have found the file empty and removed it before we locked it. 1: it is ours. */
static int try_create(struct journal *j)
{
	struct stat st;
	j->fd = openat(j->dir_fd, j->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fchmod(j->fd, 0600) < 0 || flock(j->fd, LOCK_EX) < 0 || fstat(j->fd, &st) < 0)
		return -errno;
	if (st.st_nlink > 0)
		return 1;
	base_closep(&j->fd);
	return 0;
}

int journal_create(struct journal *j, const char *dir, const char *run, struct airlock_error *err)
{
	int rc = fs_make_private_dir(dir, err);
	rc = rc < 0 ? rc : open_dir(j, dir, err);
	if (rc < 0)
		return rc;
	for (unsigned n = 0; n < 1000; n++) {
		(void)snprintf(j->name, sizeof j->name, "%s.%d-%03u", run, (int)getpid(), n);
		rc = try_create(j);
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_IO, rc, "open", j->name);
		if (rc > 0)
			return 0;
	}
	return base_error(err, AIRLOCK_ERR_BUSY, "open", dir, "cannot make a new journal in %s", dir);
}

int journal_write(struct journal *j, struct airlock_error *err)
{
	if (j->text.failed)
		return base_oom(err);
	bool first = j->written == 0;
	while (j->written < j->text.len) {
		/* over whatever of a part that was cut short lies there: its checksum cannot be right any more */
		ssize_t n = pwrite(j->fd, j->text.data + j->written, j->text.len - j->written, (off_t)j->written);
		if (n < 0 && errno != EINTR)
			return base_errno(err, AIRLOCK_ERR_IO, errno, "write", j->name);
		j->written += n > 0 ? (size_t)n : 0;
	}
	if (fsync(j->fd) < 0 || (first && fsync(j->dir_fd) < 0 && errno != EINVAL))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fsync", j->name);
	return 0;
}

int journal_remove(struct journal *j, struct airlock_error *err)
{
	if (unlinkat(j->dir_fd, j->name, 0) < 0 && errno != ENOENT)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", j->name);
	return 0;
}

void journal_close(struct journal *j)
{
	base_closep(&j->fd);
	base_closep(&j->dir_fd);
	buf_done(&j->text);
}

/* ── Writing ── */

/* Booleans as letters, "-" for none of them. */
static void add_flags(struct buf *b, const char *letters, const bool *flags)
{
	size_t before = b->len;
	for (size_t i = 0; letters[i]; i++)
		if (flags[i])
			buf_addc(b, letters[i]);
	if (b->len == before)
		buf_addc(b, '-');
}

static void end_part(struct journal *j, const char *word)
{
	char sum[65];
	hash_sha256_hex(buf_str(&j->text), j->text.len, sum);
	buf_printf(&j->text, "%s %s\n", word, sum);
}

static void add_dir(struct buf *b, const struct apply_dir *d)
{
	buf_printf(b, "dir %zu ", d->root);
	add_flags(b, "bao", (bool[]){d->exists_before, d->exists_after, d->open});
	buf_printf(b, " %o %o %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, d->mode_before, d->mode_after,
		   d->mtime_before, d->mtime_after, d->without_ns, d->with_ns);
	fields_add_string(b, d->path);
	buf_addc(b, '\n');
}

static int64_t now_ns(void)
{
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

void journal_add_head(struct journal *j, const struct apply_tx *tx)
{
	struct buf *b = &j->text;
	buf_adds(b, MAGIC "run");
	fields_add_string(b, tx->run);
	buf_printf(b, "\ndo %s\nlocks", tx->undo ? "undo" : "apply");
	fields_add_string(b, tx->lock_dir);
	buf_printf(b, "\nstarted %" PRId64 "\n", now_ns());
	for (size_t i = 0; i < tx->n_roots; i++) {
		const struct apply_root *r = &tx->roots[i];
		buf_printf(b, "root %" PRIu64 " %" PRIu64 " %d", r->device, r->inode, r->copy);
		fields_add_string(b, r->path);
		fields_add_string(b, r->upper);
		buf_addc(b, '\n');
	}
	for (size_t i = 0; i < tx->n_dirs; i++)
		add_dir(b, &tx->dirs[i]);
	end_part(j, "ready");
}

static void add_op(struct buf *b, const struct apply_op *op)
{
	buf_adds(b, "op ");
	buf_adds(b, step_names[op->step]);
	fields_add_number(b, op->root);
	fields_add_number(b, op->change);
	buf_addc(b, ' ');
	add_flags(b, "rfulpkn",
		  (bool[]){op->from, op->foreign, op->full, op->in_layer, op->plain, op->links, op->linked});
	fields_add_number(b, op->slot);
	fields_add_number(b, op->staged);
	fields_add_stat(b, &op->old);
	fields_add_stat(b, &op->want);
	fields_add_string(b, op->path);
	if (op->linked)
		fields_add_string(b, op->link);
	buf_addc(b, '\n');
}

void journal_add_ops(struct journal *j, const struct apply_tx *tx)
{
	for (size_t i = 0; i < tx->n_ops; i++)
		add_op(&j->text, &tx->ops[i]);
	end_part(j, "commit");
}

void journal_add_back(struct journal *j)
{
	end_part(j, "back");
}
