/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a journal that a dead process left. What no checksum covers was never decided, and is ignored (I4). */
#include "change/apply/journal.h"

#include "base/hash.h"
#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "change/fields.h"
#include "change/names.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

struct journal_reader {
	struct journal *j;
	struct apply_tx *tx;
	int64_t started;
	size_t at;
	const char *fault;
};

static const char *const words[] = {"airlock-journal", "run", "do", "locks", "started", "root", "dir", "op", NULL};
static const char *const step_words[] = {"none", "remove", "install", "exchange", "meta", NULL};
static const char *const verbs[] = {"apply", "undo", NULL};

/* ── Parts ── */

/* The end of the part that a line "<word> <checksum of all before it>" closes, or 0 when there is none. */
static size_t part_end(const struct buf *text, size_t from, const char *word)
{
	size_t n = strlen(word);
	for (size_t at = from; at < text->len;) {
		const char *line = text->data + at, *newline = memchr(line, '\n', text->len - at);
		if (!newline)
			return 0;
		size_t len = (size_t)(newline - line);
		if (len == n + 65 && memcmp(line, word, n) == 0 && line[n] == ' ') {
			char sum[65];
			hash_sha256_hex(text->data, at, sum);
			return memcmp(line + n + 1, sum, 64) == 0 ? at + len + 1 : 0;
		}
		at += len + 1;
	}
	return 0;
}

/* ── Lines ── */

static bool is_inside(const char *path)
{
	_cleanup_free_ char *absolute = path ? path_join("/", path) : NULL;
	return absolute && path[0] && path_is_normal(absolute);
}

static int take_flags(struct fields *f, const char *letters, bool *flags)
{
	const char *w;
	size_t len;
	int rc = fields_take_word(f, &w, &len);
	for (size_t i = 0; rc == 0 && letters[i]; i++)
		flags[i] = memchr(w, letters[i], len) != NULL;
	return rc;
}

static int take_root(struct journal_reader *r, struct fields *f)
{
	_cleanup_free_ char *path = NULL, *upper = NULL;
	struct apply_root root = {0};
	uint64_t copy = 0;
	int rc = fields_take_number(f, &root.device);
	rc = rc < 0 ? rc : fields_take_number(f, &root.inode);
	rc = rc < 0 ? rc : fields_take_number(f, &copy);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_take_string(f, &upper);
	if (rc < 0 || !path || !upper)
		return rc < 0 ? rc : -EINVAL;
	root.copy = copy != 0;
	root.path = path;
	root.upper = upper;
	return apply_tx_add_root(r->tx, &root);
}

static int take_dir(struct journal_reader *r, struct fields *f)
{
	struct apply_dir d = {0};
	bool flags[3] = {0};
	uint64_t root = 0;
	int rc = fields_take_number(f, &root);
	rc = rc < 0 ? rc : take_flags(f, "bao", flags);
	rc = rc < 0 ? rc : fields_take_mode(f, &d.mode_before);
	rc = rc < 0 ? rc : fields_take_mode(f, &d.mode_after);
	rc = rc < 0 ? rc : fields_take_signed(f, &d.mtime_before);
	rc = rc < 0 ? rc : fields_take_signed(f, &d.mtime_after);
	rc = rc < 0 ? rc : fields_take_signed(f, &d.without_ns);
	rc = rc < 0 ? rc : fields_take_signed(f, &d.with_ns);
	rc = rc < 0 ? rc : fields_take_string(f, &d.path);
	if (rc < 0 || root >= r->tx->n_roots || !d.path || (d.path[0] && !is_inside(d.path))) {
		free(d.path);
		return rc < 0 ? rc : -EINVAL;
	}
	d.root = (size_t)root;
	d.exists_before = flags[0];
	d.exists_after = flags[1];
	d.open = flags[2];
	return apply_tx_add_dir(r->tx, &d) ? 0 : -ENOMEM;
}

static int take_op(struct journal_reader *r, struct fields *f)
{
	struct apply_op op = {0};
	bool flags[7] = {0};
	unsigned step = 0;
	uint64_t root = 0, change = 0;
	int rc = fields_take_name(f, step_words, "a step", &step);
	rc = rc < 0 ? rc : fields_take_number(f, &root);
	rc = rc < 0 ? rc : fields_take_number(f, &change);
	rc = rc < 0 ? rc : take_flags(f, "rfulpkn", flags);
	rc = rc < 0 ? rc : fields_take_number(f, &op.slot);
	rc = rc < 0 ? rc : fields_take_number(f, &op.staged);
	rc = rc < 0 ? rc : fields_take_stat(f, &op.old);
	rc = rc < 0 ? rc : fields_take_stat(f, &op.want);
	rc = rc < 0 ? rc : fields_take_string(f, &op.path);
	rc = rc < 0 || !flags[6] ? rc : fields_take_string(f, &op.link);
	bool linked = flags[6] && !r->tx->undo;
	if (rc < 0 || root >= r->tx->n_roots || !is_inside(op.path) || (linked && !is_inside(op.link))) {
		free(op.path);
		free(op.link);
		return rc < 0 ? rc : -EINVAL;
	}
	op.step = (enum apply_step)step;
	op.root = (size_t)root;
	op.change = (size_t)change;
	op.from = flags[0];
	op.foreign = flags[1];
	op.full = flags[2];
	op.in_layer = flags[3];
	op.plain = flags[4];
	op.links = flags[5];
	op.linked = flags[6];
	return apply_tx_add_op(r->tx, &op) ? 0 : -ENOMEM;
}

static int take_verb(struct journal_reader *r, struct fields *f)
{
	unsigned verb = 0;
	int rc = fields_take_name(f, verbs, "apply or undo", &verb);
	r->tx->undo = verb == 1;
	return rc;
}

static int take_line(struct journal_reader *r, struct fields *f)
{
	unsigned word = 0;
	int rc = fields_take_name(f, words, "a word", &word);
	if (rc < 0)
		return rc;
	switch (word) {
	case 0:
		return fields_take_literal(f, "1");
	case 1:
		return fields_take_string(f, &r->tx->run);
	case 2:
		return take_verb(r, f);
	case 3:
		return fields_take_string(f, &r->tx->lock_dir);
	case 4:
		return fields_take_signed(f, &r->started);
	case 5:
		return take_root(r, f);
	case 6:
		return take_dir(r, f);
	default:
		return take_op(r, f);
	}
}

/* All lines from `from` up to the one that closes the part. */
static int take_part(struct journal_reader *r, size_t from, size_t end)
{
	const struct buf *text = &r->j->text;
	for (size_t at = from; at < end;) {
		const char *line = text->data + at, *newline = memchr(line, '\n', end - at);
		size_t len = (size_t)(newline - line);
		struct fields f = fields_of(line, len);
		at += len + 1;
		if (at == end)
			return 0;
		int rc = take_line(r, &f);
		rc = rc < 0 ? rc : fields_end(&f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load(struct journal *j)
{
	char chunk[16384];
	for (;;) {
		ssize_t n = pread(j->fd, chunk, sizeof chunk, (off_t)j->text.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : j->text.failed ? -ENOMEM : 0;
		buf_add(&j->text, chunk, (size_t)n);
		if (j->text.failed)
			return -ENOMEM;
	}
}

int journal_read(struct journal *j, struct apply_tx *tx, enum journal_part *ret, int64_t *ret_started,
		 struct airlock_error *err)
{
	struct journal_reader r = {.j = j, .tx = tx};
	int rc = load(j);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "read", j->name);
	size_t ready = part_end(&j->text, 0, "ready");
	size_t commit = ready ? part_end(&j->text, ready, "commit") : 0;
	rc = ready ? take_part(&r, 0, ready) : 0;
	rc = rc == 0 && commit ? take_part(&r, ready, commit) : rc;
	if (rc == -ENOMEM)
		return base_oom(err);
	if (rc < 0 || (ready && (!tx->run || strchr(tx->run, '/') || !tx->lock_dir)))
		return base_error(err, AIRLOCK_ERR_CORRUPT, "read", j->name, "the journal %s cannot be understood",
				  j->name);
	size_t back = commit ? part_end(&j->text, commit, "back") : 0;
	*ret = back ? JOURNAL_BACK : commit ? JOURNAL_COMMIT : ready ? JOURNAL_READY : JOURNAL_TORN;
	*ret_started = r.started;
	/* more can be appended to what counts */
	j->text.len = j->written = back ? back : commit ? commit : ready;
	return 0;
}

int journal_peek(struct journal *j, const char *dir, const char *name, struct airlock_error *err)
{
	if (strlen(name) >= sizeof j->name)
		return 0;
	memcpy(j->name, name, strlen(name) + 1);
	j->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	j->fd = j->dir_fd < 0 ? -1 : openat(j->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (j->fd < 0)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", name);
	return 1;
}

int journal_open(struct journal *j, const char *dir, const char *name, struct airlock_error *err)
{
	struct stat st;
	int rc = journal_peek(j, dir, name, err);
	if (rc <= 0)
		return rc;
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "flock", name);
	if (fstat(j->fd, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fstat", name);
	return st.st_nlink > 0 && S_ISREG(st.st_mode);
}
