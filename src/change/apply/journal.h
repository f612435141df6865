/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The journal of one transaction: a text file that exists, locked, while its process is at work, and is found unlocked when
 * that process has died (I4).
 *
 *   journal_create(&j, dir, run, err)
 *   journal_add_head(&j, tx), journal_write(&j, err)     "ready": things of ours may lie about in the roots
 *   journal_add_ops(&j, tx), journal_write(&j, err)      "commit": from here on it goes forward
 *   journal_add_back(&j), journal_write(&j, err)         "back": no, back; written before the first step back
 *   journal_remove(&j, err)
 *
 * Each part ends with a checksum of everything before it: a part that was cut short was never there. A journal without
 * its first part means that nothing was done.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct apply_tx;

struct journal {
	int dir_fd, fd;
	char name[256];
	struct buf text; /* not yet written beyond `written` */
	size_t written;
};
#define JOURNAL_INIT                                                                                                   \
	{                                                                                                              \
		.dir_fd = -EBADF, .fd = -EBADF                                                                         \
	}

int journal_create(struct journal *j, const char *dir, const char *run, struct airlock_error *err);
void journal_add_head(struct journal *j, const struct apply_tx *tx);
void journal_add_ops(struct journal *j, const struct apply_tx *tx);
void journal_add_back(struct journal *j);
int journal_write(struct journal *j, struct airlock_error *err); /* durable when it returns */
int journal_remove(struct journal *j, struct airlock_error *err);
void journal_close(struct journal *j); /* the file stays */
#define _cleanup_journal_ _cleanup_(journal_close)

enum journal_part { JOURNAL_TORN, JOURNAL_READY, JOURNAL_COMMIT, JOURNAL_BACK };

/* Opens and locks an existing one. 1; 0: its process is alive, or it is gone; or an error. */
int journal_open(struct journal *j, const char *dir, const char *name, struct airlock_error *err);
/* The same without the lock, to look only. */
int journal_peek(struct journal *j, const char *dir, const char *name, struct airlock_error *err);
/* How far it came, and with that what tx is. ret_started: when the roots were looked at. */
int journal_read(struct journal *j, struct apply_tx *tx, enum journal_part *ret, int64_t *ret_started,
		 struct airlock_error *err);
