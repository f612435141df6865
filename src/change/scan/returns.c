/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runs/<run>/returns: "file FROM_INODE FROM_CTIME TO_INODE TO_CTIME ." or "directory FROM_INODE 0 TO_INODE BIRTH ."; the
 * point makes a line that was cut short tell so. */
#include "change/scan/returns.h"

#include "base/array.h"
#include "change/fields.h"
#include "fs/fs.h"
#include "fs/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "returns"
#define FILE_MAX ((size_t)1 << 30)

static const char *const words[] = {"file", "directory", NULL};

void returns_done(struct returns *r)
{
	base_freep(&r->v);
	r->n = r->cap = 0;
}

int returns_add(struct returns *r, const struct returned *one)
{
	if (!ARRAY_ROOM(r->v, r->n, r->cap, 16))
		return -ENOMEM;
	r->v[r->n++] = *one;
	return 0;
}

int64_t returns_birth(int fd)
{
	struct statx stx;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) < 0 || !(stx.stx_mask & STATX_BTIME))
		return 0;
	return (int64_t)stx.stx_btime.tv_sec * 1000000000 + stx.stx_btime.tv_nsec;
}

/* ── The files ── */

void returns_save(const struct returns *r, int run_fd)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	for (size_t i = 0; i < r->n; i++) {
		const struct returned *x = &r->v[i];
		buf_printf(&b, "%s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 " .\n", words[x->directory],
			   x->from_inode, x->from_ns, x->to_inode, x->to_ns);
	}
	if (b.len == 0 || b.failed)
		return;
	_cleanup_close_ int fd =
		openat(run_fd, FILE_NAME, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	bool whole = fd >= 0 && fstat(fd, &st) == 0 && (st.st_size > 0 || fchmod(fd, 0600) == 0);
	if (whole)
		(void)fs_write_all(fd, b.data, b.len);
}

static int take_line(struct returns *r, const char *line, size_t len)
{
	struct fields f = fields_of(line, len);
	struct returned one = {0};
	unsigned word = 0;
	int rc = fields_take_name(&f, words, "what it is", &word);
	rc = rc < 0 ? rc : fields_take_number(&f, &one.from_inode);
	rc = rc < 0 ? rc : fields_take_signed(&f, &one.from_ns);
	rc = rc < 0 ? rc : fields_take_number(&f, &one.to_inode);
	rc = rc < 0 ? rc : fields_take_signed(&f, &one.to_ns);
	rc = rc < 0 ? rc : fields_take_literal(&f, ".");
	rc = rc < 0 ? rc : fields_end(&f);
	one.directory = word == 1;
	return rc < 0 ? 0 : returns_add(r, &one);
}

static int load_file(struct returns *r, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (fs_read_file(path, FILE_MAX, &text, NULL) < 0)
		return 0;
	for (size_t at = 0; at < text.len;) {
		const char *line = text.data + at, *newline = memchr(line, '\n', text.len - at);
		size_t len = newline ? (size_t)(newline - line) : text.len - at;
		if (take_line(r, line, len) < 0)
			return -ENOMEM;
		at += len + 1;
	}
	return 0;
}

static int compare_from(const void *x, const void *y)
{
	const struct returned *a = x, *b = y;
	if (a->directory != b->directory)
		return a->directory - b->directory;
	if (a->from_inode != b->from_inode)
		return a->from_inode < b->from_inode ? -1 : 1;
	return a->from_ns == b->from_ns ? 0 : a->from_ns < b->from_ns ? -1 : 1;
}

static int compare(const void *x, const void *y)
{
	const struct returned *a = x, *b = y;
	int order = compare_from(a, b);
	return order ? order : a->to_ns == b->to_ns ? 0 : a->to_ns < b->to_ns ? -1 : 1;
}

/* Without memory nothing is known, and that is a conflict. */
static void load(struct returns *r)
{
	r->loaded = true;
	DIR *dir = r->runs_dir ? opendir(r->runs_dir) : NULL;
	int rc = 0;
	for (const struct dirent *d; dir && rc == 0 && (d = readdir(dir));) {
		_cleanup_buf_ struct buf path = BUF_INIT;
		if (d->d_name[0] == '.')
			continue;
		buf_printf(&path, "%s/%s/" FILE_NAME, r->runs_dir, d->d_name);
		rc = path.failed ? -ENOMEM : load_file(r, buf_str(&path));
	}
	if (dir)
		(void)closedir(dir);
	if (rc < 0)
		returns_done(r);
	if (r->n > 1)
		qsort(r->v, r->n, sizeof *r->v, compare);
}

/* ── Asking ── */

/* The latest return of what at names that made another of it. */
static const struct returned *next_of(const struct returns *r, const struct returned *at)
{
	const struct returned *found = bsearch(at, r->v, r->n, sizeof *at, compare_from), *end = r->v + r->n;
	const struct returned *latest = NULL;
	while (found && found > r->v && compare_from(found - 1, at) == 0)
		found--;
	for (; found && found < end && compare_from(found, at) == 0; found++)
		if (!found->directory || found->to_inode != found->from_inode)
			latest = found;
	return latest;
}

/* From one return to the next, as often as there are any. A directory may come round to where it was. */
static bool leads_to(const struct returns *r, struct returned at, uint64_t inode, int64_t ns)
{
	for (size_t steps = 0; steps < r->n; steps++) {
		const struct returned *next = next_of(r, &at);
		if (!next)
			return false;
		if (next->to_inode == inode && (at.directory || next->to_ns == ns))
			return true;
		at.from_inode = next->to_inode;
		at.from_ns = at.directory ? 0 : next->to_ns;
	}
	return false;
}

static bool is_otherwise_same(const struct change_stat *a, const struct change_stat *b)
{
	if (a->type != b->type || a->type == CHANGE_NOTHING || a->mode != b->mode)
		return false;
	return a->type == CHANGE_DIRECTORY || (a->mtime_ns == b->mtime_ns && a->size == b->size);
}

bool returns_is_same(struct returns *r, const struct change_stat *was, const struct change_stat *live)
{
	bool directory = was->type == CHANGE_DIRECTORY;
	struct returned at = {
		.directory = directory, .from_inode = was->inode, .from_ns = directory ? 0 : was->ctime_ns};
	if (!is_otherwise_same(was, live))
		return false;
	if (!r->loaded)
		load(r);
	return r->n > 0 && leads_to(r, at, live->inode, live->ctime_ns);
}

bool returns_has_made(struct returns *r, uint64_t inode, int64_t made_ns)
{
	if (!r->loaded)
		load(r);
	for (size_t i = 0; made_ns && i < r->n; i++) {
		const struct returned *x = &r->v[i];
		if (x->directory && x->to_inode == inode && x->to_ns == made_ns)
			return true;
	}
	return false;
}
