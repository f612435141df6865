/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A journal says what was decided, or that nothing was: never something else. */
#include "apply_world.h"

#include "change/apply/apply_tx.h"
#include "change/apply/journal.h"

#include <sys/file.h>

static int fill(struct apply_tx *tx)
{
	struct apply_root root = {
		.path = (char *)"/p q", .upper = (char *)"/u\n", .device = 3, .inode = 4, .copy = true};
	struct apply_dir d = {.path = strdup(""),
			      .exists_before = true,
			      .open = true,
			      .mode_before = 0555,
			      .mode_after = 0755,
			      .mtime_before = -5,
			      .mtime_after = APPLY_NO_TIME,
			      .without_ns = 7,
			      .with_ns = INT64_MAX};
	struct apply_op op = {.step = APPLY_EXCHANGE,
			      .change = 9,
			      .from = true,
			      .full = true,
			      .in_layer = true,
			      .slot = 11,
			      .staged = UINT64_MAX,
			      .old = {.type = CHANGE_FILE, .mode = 0644, .inode = 12, .ctime_ns = 13},
			      .want = {.type = CHANGE_SYMLINK, .mode = 0777, .links = 2},
			      .path = strdup("a/\xff %\n-")};
	tx->run = strdup("run-1");
	tx->lock_dir = strdup("/locks");
	tx->undo = true;
	return apply_tx_add_root(tx, &root) < 0 || !apply_tx_add_dir(tx, &d) || !apply_tx_add_op(tx, &op) ? -1 : 0;
}

static int write_journal(const char *dir, bool back, char name[256])
{
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	if (fill(&tx) < 0 || journal_create(&j, dir, tx.run, NULL) < 0)
		return -1;
	journal_add_head(&j, &tx);
	if (journal_write(&j, NULL) < 0)
		return -1;
	journal_add_ops(&j, &tx);
	if (back)
		journal_add_back(&j);
	(void)snprintf(name, 256, "%s", j.name);
	return journal_write(&j, NULL);
}

static const char *same_op(const struct apply_op *a, const struct apply_op *b)
{
	EXPECT(a->step == b->step && a->root == b->root && a->change == b->change && a->from == b->from);
	EXPECT(a->foreign == b->foreign && a->full == b->full && a->in_layer == b->in_layer && a->slot == b->slot &&
	       a->staged == b->staged);
	EXPECT(memcmp(&a->old, &b->old, sizeof a->old) == 0 && memcmp(&a->want, &b->want, sizeof a->want) == 0);
	EXPECT(strcmp(a->path, b->path) == 0);
	return NULL;
}

static const char *same_dir(const struct apply_dir *a, const struct apply_dir *b)
{
	EXPECT(a->root == b->root && strcmp(a->path, b->path) == 0 && a->open == b->open);
	EXPECT(a->exists_before == b->exists_before && a->exists_after == b->exists_after);
	EXPECT(a->mode_before == b->mode_before && a->mode_after == b->mode_after);
	EXPECT(a->mtime_before == b->mtime_before && a->mtime_after == b->mtime_after);
	EXPECT(a->without_ns == b->without_ns && a->with_ns == b->with_ns);
	return NULL;
}

static const char *comes_back(const char *dir)
{
	_cleanup_tx_ struct apply_tx was = APPLY_TX_INIT, is = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	enum journal_part part;
	int64_t started;
	char name[256];
	EXPECT(fill(&was) == 0 && write_journal(dir, false, name) == 0);
	EXPECT(journal_open(&j, dir, name, NULL) == 1);
	EXPECT(journal_read(&j, &is, &part, &started, NULL) == 0 && part == JOURNAL_COMMIT);
	EXPECT(is.undo && strcmp(is.run, "run-1") == 0 && strcmp(is.lock_dir, "/locks") == 0);
	EXPECT(is.n_roots == 1 && is.roots[0].copy && is.roots[0].device == 3 && is.roots[0].inode == 4);
	EXPECT(strcmp(is.roots[0].path, "/p q") == 0 && strcmp(is.roots[0].upper, "/u\n") == 0);
	EXPECT(is.n_ops == 1 && is.n_dirs == 1);
	const char *bad = same_op(&is.ops[0], &was.ops[0]);
	return bad ? bad : same_dir(&is.dirs[0], &was.dirs[0]);
}

static void what_is_written_is_read(void **state)
{
	world_as_everyone(comes_back);
}

static int read_part(const char *dir, const char *name, enum journal_part *ret)
{
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	int64_t started;
	int rc = journal_open(&j, dir, name, NULL);
	return rc == 1 ? journal_read(&j, &tx, ret, &started, NULL) : -1;
}

/* Cut anywhere, each part is there as a whole or not at all. */
static const char *cut_anywhere(const char *dir)
{
	char name[256], text[8192];
	EXPECT(write_journal(dir, true, name) == 0);
	int fd = open(in_dir(dir, name), O_RDWR | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof text - 1);
	EXPECT(len > 0);
	text[len] = '\0';
	ssize_t ready = strstr(text, "\nready ") - text + 7 + 65, commit = strstr(text, "\ncommit ") - text + 8 + 65;
	for (ssize_t n = len; n >= 0; n--) {
		enum journal_part part = JOURNAL_TORN, should = n >= len      ? JOURNAL_BACK
								: n >= commit ? JOURNAL_COMMIT
								: n >= ready  ? JOURNAL_READY
									      : JOURNAL_TORN;
		EXPECT(ftruncate(fd, n) == 0 && read_part(dir, name, &part) == 0);
		EXPECT(part == should);
	}
	(void)close(fd);
	return NULL;
}

/* Any byte that is another: the part it is in and all later ones do not count. */
static const char *altered_anywhere(const char *dir)
{
	char name[256], text[8192];
	EXPECT(write_journal(dir, true, name) == 0);
	int fd = open(in_dir(dir, name), O_RDWR | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof text - 1);
	EXPECT(len > 0);
	text[len] = '\0';
	ssize_t ready = strstr(text, "\nready ") - text + 7 + 65;
	for (ssize_t i = 0; i < len; i++) {
		enum journal_part part = JOURNAL_TORN;
		char other = text[i] ^ 1;
		EXPECT(pwrite(fd, &other, 1, i) == 1);
		int rc = read_part(dir, name, &part);
		EXPECT(rc < 0 || (i < ready ? part == JOURNAL_TORN : part < JOURNAL_BACK));
		EXPECT(pwrite(fd, &text[i], 1, i) == 1);
	}
	(void)close(fd);
	return NULL;
}

static void a_damaged_part_was_never_there(void **state)
{
	world_as_everyone(cut_anywhere);
	world_as_everyone(altered_anywhere);
}

/* ── Whose it is ── */

static const char *leaves_the_living_alone(const char *dir)
{
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	const char *journals = in_dir(dir, "journal"), *runs = in_dir(dir, "runs");
	size_t n = 9;
	EXPECT(apply_recover(journals, runs, &n, &notes, NULL) == 0 && n == 0);
	EXPECT(fill(&tx) == 0 && journal_create(&j, journals, tx.run, NULL) == 0);
	journal_add_head(&j, &tx);
	EXPECT(journal_write(&j, NULL) == 0);
	EXPECT(apply_recover(journals, runs, &n, &notes, NULL) == 0 && n == 0 && !world_is_empty_dir(journals));
	EXPECT(ftruncate(j.fd, 20) == 0);
	journal_close(&j);
	EXPECT(apply_recover(journals, runs, &n, &notes, NULL) == 0 && n == 1 && world_is_empty_dir(journals));
	EXPECT(apply_recover(journals, runs, &n, &notes, NULL) == 0 && n == 0);
	return NULL;
}

/* One that cannot be finished is said and kept. */
static const char *keeps_what_it_cannot_finish(const char *dir)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	const char *journals = in_dir(dir, "journal");
	char name[256];
	size_t n = 9;
	EXPECT(write_journal(journals, false, name) == 0);
	EXPECT(apply_recover(journals, dir, &n, &notes, NULL) == 0 && n == 0);
	EXPECT(notes.n == 1 && notes.v[0].code == AIRLOCK_NOTE_NOT_RECOVERED);
	EXPECT(!world_is_empty_dir(journals));
	return NULL;
}

static void recovery_knows_whose_a_journal_is(void **state)
{
	world_as_everyone(leaves_the_living_alone);
	world_as_everyone(keeps_what_it_cannot_finish);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_damaged_part_was_never_there),
		cmocka_unit_test(recovery_knows_whose_a_journal_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
