/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DIR/base: what the paths that a command changed were in the project when it ended, one a line:
 *
 *   airlock-base 1
 *   started 1794771012482731000
 *   root 2049 131 /home/u/p
 *   base 0 src/a.c file 644 120 77 1 MTIME CTIME 1
 *   end 1 SHA-256
 *
 * base: root, path, what was there, the number of its content in DIR/bases or 0. A path that somebody else changed while the command
 * ran has a ctime that no file has: it can never be taken for unchanged (I3).
 */
#include "change/fold/fold.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/path.h"
#include "change/fields.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "airlock-base 1"
#define BASES_MAX ((size_t)2 << 30)
#define KEPT_BYTES ((uint64_t)4 << 20) /* a larger file is hardly text that somebody wants merged */

void fold_bases_done(struct fold_bases *b)
{
	for (size_t i = 0; i < b->n_roots; i++)
		free(b->roots[i].path);
	for (size_t i = 0; i < b->n; i++)
		free(b->v[i].path);
	free(b->roots);
	free(b->v);
	strs_done(&b->dirs);
	*b = (struct fold_bases)FOLD_BASES_INIT;
}

static struct fold_base *add_base(struct fold_bases *b, size_t root, const char *path)
{
	char *copy = strdup(path);
	if (!copy || !ARRAY_ROOM(b->v, b->n, b->cap, 64)) {
		free(copy);
		return NULL;
	}
	struct fold_base *made = &b->v[b->n];
	*made = (struct fold_base){.root = root, .path = copy, .place = b->n++};
	return made;
}

/* The index of a root, which is added when it is new; -1: out of memory. */
static ssize_t root_index(struct fold_bases *b, const char *path, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < b->n_roots; i++)
		if (strcmp(b->roots[i].path, path) == 0)
			return (ssize_t)i;
	struct fold_root *v = reallocarray(b->roots, b->n_roots + 1, sizeof *v);
	char *copy = v ? strdup(path) : NULL;
	b->roots = v ? v : b->roots;
	if (!copy)
		return -1;
	b->roots[b->n_roots] = (struct fold_root){copy, device, inode};
	return (ssize_t)b->n_roots++;
}

/* ── Order ── */

static int compare_keys(const void *a, const void *b)
{
	const struct fold_base *x = a, *y = b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return path_compare(x->path, y->path);
}

/* Of several with one path the one that was added first comes first. */
static int compare_bases(const void *a, const void *b)
{
	int order = compare_keys(a, b);
	const struct fold_base *x = a, *y = b;
	return order ? order : (x->place > y->place) - (x->place < y->place);
}

void fold_bases_sort(struct fold_bases *b)
{
	size_t kept = 0;
	if (b->n > 1)
		qsort(b->v, b->n, sizeof *b->v, compare_bases);
	for (size_t i = 0; i < b->n; i++) {
		if (kept > 0 && compare_keys(&b->v[kept - 1], &b->v[i]) == 0)
			free(b->v[i].path);
		else
			b->v[kept++] = b->v[i];
	}
	b->n = kept;
}

const struct fold_base *fold_bases_find(const struct fold_bases *b, const char *root, const char *path)
{
	for (size_t i = 0; i < b->n_roots; i++)
		if (strcmp(b->roots[i].path, root) == 0) {
			struct fold_base key = {.root = i, .path = (char *)path};
			return b->n ? bsearch(&key, b->v, b->n, sizeof key, compare_keys) : NULL;
		}
	return NULL;
}

/* ── Writing ── */

struct bases_writer {
	struct buf text;
	size_t n;
	const char *dir;
	int kept_fd; /* of DIR/bases; -EBADF: not made yet */
	struct airlock_error *err;
};

static void begin(struct bases_writer *w, int64_t started_ns)
{
	buf_printf(&w->text, MAGIC "\nstarted %" PRId64 "\n", started_ns);
}

static void add_root(struct bases_writer *w, const char *path, uint64_t device, uint64_t inode)
{
	buf_printf(&w->text, "root %" PRIu64 " %" PRIu64, device, inode);
	fields_add_string(&w->text, path);
	buf_addc(&w->text, '\n');
}

static void add_line(struct bases_writer *w, size_t root, const char *path, const struct change_stat *st, uint64_t slot)
{
	buf_adds(&w->text, "base");
	fields_add_number(&w->text, root);
	fields_add_string(&w->text, path);
	fields_add_stat(&w->text, st);
	fields_add_number(&w->text, slot);
	buf_addc(&w->text, '\n');
	w->n++;
}

static int finish(struct bases_writer *w)
{
	char sum[65];
	_cleanup_free_ char *file = path_join(w->dir, "base");
	hash_sha256_hex(buf_str(&w->text), w->text.len, sum);
	buf_printf(&w->text, "end %zu %s\n", w->n, sum);
	if (!file || w->text.failed)
		return base_oom(w->err);
	return fs_write_private_file(file, w->text.data, w->text.len, w->err);
}

static void writer_done(struct bases_writer *w)
{
	buf_done(&w->text);
	base_closep(&w->kept_fd);
}

static int open_kept(struct bases_writer *w)
{
	_cleanup_free_ char *dir = w->kept_fd < 0 ? path_join(w->dir, "bases") : NULL;
	if (w->kept_fd >= 0)
		return 0;
	int rc = dir ? fs_make_private_dir(dir, w->err) : base_oom(w->err);
	if (rc < 0)
		return rc;
	w->kept_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return w->kept_fd < 0 ? base_errno(w->err, AIRLOCK_ERR_IO, errno, "open", dir) : 0;
}

struct number {
	char text[24];
};

static struct number number_of(uint64_t slot)
{
	struct number n;
	(void)snprintf(n.text, sizeof n.text, "%" PRIu64, slot);
	return n;
}

/* Without its content a path can still be applied, only not merged: so failing to keep it is no failure. */
static uint64_t keep_content(struct bases_writer *w, int dir, const char *name, const struct change_stat *st)
{
	bool shared;
	if (st->type != CHANGE_FILE || st->size > KEPT_BYTES || open_kept(w) < 0)
		return 0;
	struct number slot = number_of(w->n + 1);
	(void)unlinkat(w->kept_fd, slot.text, 0);
	int rc = transfer_copy_quickly((struct transfer_place){dir, name},
				       (struct transfer_place){w->kept_fd, slot.text}, 0600, &shared);
	return rc < 0 ? 0 : w->n + 1;
}

/* What the project has at the path now. seen: what the command saw there, CHANGE_NOTHING for nothing. */
static int write_path(struct bases_writer *w, const struct change_set *set, int live, size_t root, const char *path,
		      const struct change_stat *seen, bool settled)
{
	struct change_stat st = {0};
	const char *name = NULL;
	_cleanup_close_ int dir = fs_open_parent(live, path, &name);
	int rc = dir < 0 ? dir : change_stat_fresh(dir, name, &st);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR && rc != -ELOOP && rc != -EACCES)
		return base_errno(w->err, AIRLOCK_ERR_IO, rc, "look at", path);
	/* Where it is the very file that the command saw, no earlier command of the work has touched it. */
	bool is_first = seen->type == st.type && seen->inode == st.inode;
	uint64_t slot = is_first ? keep_content(w, dir, name, &st) : 0;
	if (st.type != CHANGE_NOTHING && st.type != CHANGE_DIRECTORY && st.ctime_ns > set->started_ns && !settled)
		st.ctime_ns = INT64_MAX;
	add_line(w, root, path, &st, slot);
	return 0;
}

int fold_bases_write(const struct change_set *set, const char *dir, struct airlock_error *err)
{
	static const struct change_stat nothing = {0};
	_cleanup_(writer_done) struct bases_writer w = {.dir = dir, .kept_fd = -EBADF, .err = err};
	begin(&w, set->started_ns);
	for (size_t i = 0; i < set->n_roots; i++)
		add_root(&w, set->roots[i].path, set->roots[i].device, set->roots[i].inode);
	int rc = 0;
	_cleanup_close_ int live = -EBADF;
	for (size_t i = 0, root = SIZE_MAX; rc == 0 && i < set->n; i++) {
		const struct change *c = &set->v[i];
		if (c->root != root) {
			root = c->root;
			base_closep(&live);
			live = open(set->roots[root].path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (live < 0)
				return base_errno(err, AIRLOCK_ERR_IO, errno, "open", set->roots[root].path);
		}
		rc = write_path(&w, set, live, root, c->path, c->from ? &nothing : &c->before, c->settled);
		if (rc == 0 && c->from)
			rc = write_path(&w, set, live, root, c->from, &c->before, false);
	}
	return rc < 0 ? rc : finish(&w);
}

static int keep_again(struct bases_writer *w, const struct fold_base *b, uint64_t *ret_slot)
{
	*ret_slot = 0;
	if (!b->slot)
		return 0;
	int rc = open_kept(w);
	_cleanup_free_ char *dir = path_join(b->dir, "bases");
	_cleanup_close_ int from = rc == 0 && dir ? open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
	if (rc < 0 || !dir)
		return rc < 0 ? rc : base_oom(w->err);
	struct number old = number_of(b->slot), new = number_of(w->n + 1);
	if (from >= 0 && linkat(from, old.text, w->kept_fd, new.text, 0) == 0)
		*ret_slot = w->n + 1;
	return 0;
}

int fold_bases_save(const struct fold_bases *b, const char *dir, struct airlock_error *err)
{
	_cleanup_(writer_done) struct bases_writer w = {.dir = dir, .kept_fd = -EBADF, .err = err};
	begin(&w, b->started_ns);
	for (size_t i = 0; i < b->n_roots; i++)
		add_root(&w, b->roots[i].path, b->roots[i].device, b->roots[i].inode);
	for (size_t i = 0; i < b->n; i++) {
		uint64_t slot = 0;
		int rc = keep_again(&w, &b->v[i], &slot);
		if (rc < 0)
			return rc;
		add_line(&w, b->v[i].root, b->v[i].path, &b->v[i].stat, slot);
	}
	return finish(&w);
}

static int keep_path(struct bases_writer *w, const struct fold_bases *b, const struct change_set *set, size_t root,
		     const char *path, const struct change_stat *st)
{
	const struct fold_base *old = fold_bases_find(b, set->roots[root].path, path);
	uint64_t slot = 0;
	int rc = old ? keep_again(w, old, &slot) : 0;
	if (rc == 0)
		add_line(w, root, path, st, slot);
	return rc;
}

int fold_bases_keep(const struct fold_bases *b, const struct change_set *set, const char *dir,
		    struct airlock_error *err)
{
	static const struct change_stat nothing = {0};
	_cleanup_(writer_done) struct bases_writer w = {.dir = dir, .kept_fd = -EBADF, .err = err};
	begin(&w, AL_MAX(b->started_ns, set->started_ns));
	for (size_t i = 0; i < set->n_roots; i++)
		add_root(&w, set->roots[i].path, set->roots[i].device, set->roots[i].inode);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		const struct change *c = &set->v[i];
		if (c->state != CHANGE_HELD && c->state != CHANGE_CONFLICT)
			continue;
		rc = keep_path(&w, b, set, c->root, c->path, c->from ? &nothing : &c->before);
		if (rc == 0 && c->from)
			rc = keep_path(&w, b, set, c->root, c->from, &c->before);
	}
	return rc < 0 ? rc : finish(&w);
}

int fold_base_open(const struct fold_base *b)
{
	char path[4200];
	if (!b->slot)
		return -ENOENT;
	int n = snprintf(path, sizeof path, "%s/bases/%" PRIu64, b->dir, b->slot);
	if (n < 0 || (size_t)n >= sizeof path)
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ── Reading ── */

static int damaged(const char *file, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_CORRUPT, "parse", file, "%s is damaged", file);
}

static int read_root(struct fold_bases *b, struct fields *f, struct strs *ret_roots)
{
	uint64_t device = 0, inode = 0;
	_cleanup_free_ char *path = NULL;
	int rc = fields_take_number(f, &device);
	rc = rc < 0 ? rc : fields_take_number(f, &inode);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0 || !path)
		return rc < 0 ? rc : -EINVAL;
	strs_add(ret_roots, path);
	return root_index(b, path, device, inode) < 0 || ret_roots->failed ? -ENOMEM : 0;
}

static int read_base(struct fold_bases *b, struct fields *f, const struct strs *roots, const char *dir)
{
	uint64_t root = 0, slot = 0;
	_cleanup_free_ char *path = NULL;
	struct change_stat st = {0};
	int rc = fields_take_number(f, &root);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_take_stat(f, &st);
	rc = rc < 0 ? rc : fields_take_number(f, &slot);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0 || !path || root >= roots->n)
		return rc < 0 ? rc : -EINVAL;
	ssize_t index = root_index(b, roots->v[root], 0, 0);
	struct fold_base *made = index < 0 ? NULL : add_base(b, (size_t)index, path);
	if (!made)
		return -ENOMEM;
	made->stat = st;
	made->slot = slot;
	made->dir = dir;
	return 0;
}

/* 1: it was the last line. */
static int read_line(struct fold_bases *b, const struct buf *text, size_t start, size_t len, struct strs *roots,
		     const char *dir)
{
	static const char *const words[] = {MAGIC, "started", "root", "base", "end", NULL};
	struct fields f = fields_of(text->data + start, len);
	unsigned word = 0;
	int64_t started = 0;
	uint64_t n = 0;
	char sum[65];
	if (start == 0)
		return len == strlen(MAGIC) && memcmp(text->data, MAGIC, len) == 0 ? 0 : -EINVAL;
	int rc = fields_take_name(&f, words, "a line", &word);
	if (rc < 0)
		return rc;
	switch (word) {
	case 1:
		rc = fields_take_signed(&f, &started);
		b->started_ns = AL_MAX(b->started_ns, started);
		return rc < 0 ? rc : fields_end(&f);
	case 2:
		return read_root(b, &f, roots);
	case 3:
		return read_base(b, &f, roots, dir);
	case 4:
		hash_sha256_hex(text->data, start, sum);
		rc = fields_take_number(&f, &n);
		rc = rc < 0 ? rc : fields_take_literal(&f, sum);
		rc = rc < 0 ? rc : fields_end(&f);
		return rc < 0 ? rc : 1;
	default:
		return -EINVAL;
	}
}

int fold_bases_load(struct fold_bases *b, const char *dir, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(dir, "base");
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_strs_ struct strs roots = STRS_INIT;
	strs_add(&b->dirs, dir);
	if (!file || b->dirs.failed)
		return base_oom(err);
	int rc = fs_read_file(file, BASES_MAX, &text, err);
	if (rc < 0)
		return rc;
	for (size_t at = 0; at < text.len;) {
		const char *newline = memchr(text.data + at, '\n', text.len - at);
		if (!newline)
			return damaged(file, err);
		size_t len = (size_t)(newline - text.data) - at;
		rc = read_line(b, &text, at, len, &roots, b->dirs.v[b->dirs.n - 1]);
		if (rc == -ENOMEM)
			return base_oom(err);
		at += len + 1;
		if (rc == 1 && at == text.len)
			return 0;
		if (rc != 0)
			break;
	}
	return damaged(file, err);
}
