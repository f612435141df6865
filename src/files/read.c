/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ls and read.
 *
 * read streams the file: it keeps the requested lines and counts all of them, so that the result can name the total.
 * Links are resolved by resolve.c before anything is opened. */
#include "files/files.h"

#include "base/text.h"
#include "files/tree.h"

#include <string.h>

#define CHUNK (256 * 1024)
#define CONTENT_MAX (16 * 1024 * 1024)
#define FILE_MAX ((off_t)1 << 30) /* all lines are counted, and counting a sparse file of terabytes takes hours */

/* ── ls ── */

/* A link to a directory in the place counts as a directory, as it does for whoever follows it. */
static bool is_directory(const struct files_place *p, const char *path, const struct stat *st)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	if (!S_ISLNK(st->st_mode))
		return S_ISDIR(st->st_mode);
	return files_resolve(p, path, 0, &at, NULL) == 0 && at.found && S_ISDIR(at.st.st_mode);
}

int files_ls(const struct files_place *p, const char *path, struct airlock_files **ret, struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	_cleanup_files_tree_ struct files_tree t = FILES_TREE_INIT;
	_cleanup_files_result_ struct airlock_files *r = files_result_new(FILES_ENTRIES);
	path = path ? path : "";
	_cleanup_free_ char *shown = files_place_shown(p, path);
	if (!r || !shown)
		return base_oom(err);
	int rc = files_find(p, path, 0, &at, err);
	if (rc == 0)
		rc = files_tree_start(&t, p, &at, shown, err);
	t.flat = true;
	while (rc == 0 && (rc = files_tree_next(&t, err)) > 0) {
		files_result_add_entry(r, strdup(t.path), &t.now.st, is_directory(p, t.path, &t.now.st));
		rc = r->failed ? base_oom(err) : 0;
	}
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(r);
	return 0;
}

/* ── read ── */

int files_open_error(const char *shown, int rc, struct airlock_error *err)
{
	if (rc == -EISDIR)
		return base_error(err, AIRLOCK_ERR_INVALID, "read", shown, "%s is a directory", shown);
	if (rc == -EINVAL)
		return base_error(err, AIRLOCK_ERR_INVALID, "read", shown, "%s is not a regular file", shown);
	if (rc == -ENOENT || rc == -ESTALE)
		return base_errno(err, AIRLOCK_ERR_NOT_FOUND, rc, "read", shown);
	return base_errno(err, AIRLOCK_ERR_IO, rc, "read", shown);
}

/* Streams lines: keeps the requested ones, counts all. */
struct line_reader {
	int64_t offset, limit; /* limit < 0: all */
	int64_t line;	       /* the line the next byte is in, 0 the first */
	bool in_line;	       /* that line has bytes already */
	bool full, cut;
	struct buf *out;
	int64_t lines_kept;
	size_t kept_end; /* out's length after the last whole line */
};

static bool is_wanted(const struct line_reader *r)
{
	return !r->full && r->line >= r->offset && (r->limit < 0 || r->line - r->offset < r->limit);
}

static void keep(struct line_reader *r, const char *data, size_t len)
{
	size_t room = CONTENT_MAX - r->out->len;
	if (len > room) {
		r->full = true;
		if (r->lines_kept > 0) { /* whole lines only; this one is for the next call */
			r->out->len = r->kept_end;
			r->out->data[r->kept_end] = '\0';
			return;
		}
		r->cut = true;
		r->lines_kept = 1;
		len = room;
	}
	buf_add(r->out, data, len);
}

static void take_line_end(struct line_reader *r, bool wanted)
{
	if (wanted && !r->full) {
		r->lines_kept++;
		r->kept_end = r->out->len;
	}
	r->line++;
	r->in_line = false;
}

static void take(struct line_reader *r, const char *data, size_t n)
{
	while (n > 0) {
		const char *newline = memchr(data, '\n', n);
		size_t len = newline ? (size_t)(newline - data) + 1 : n;
		bool wanted = is_wanted(r);
		if (wanted)
			keep(r, data, len);
		r->in_line = true;
		if (newline)
			take_line_end(r, wanted);
		data += len;
		n -= len;
	}
}

static int stream(int fd, const char *shown, struct line_reader *r, struct airlock_error *err)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	if (!chunk)
		return base_oom(err);
	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return base_errno(err, AIRLOCK_ERR_IO, errno, "read", shown);
		if (n == 0)
			break;
		take(r, chunk, (size_t)n);
		if (r->out->failed)
			return base_oom(err);
	}
	if (r->in_line) /* the last line has no newline */
		take_line_end(r, is_wanted(r));
	return 0;
}

/* A cut line must not end within a character. */
static void trim_to_character(struct buf *b)
{
	for (size_t back = 1; back <= 3 && back <= b->len; back++) {
		unsigned char c = (unsigned char)b->data[b->len - back];
		if ((c & 0xc0) == 0x80)
			continue;
		if (c >= 0xc0 && text_utf8_length((unsigned char *)b->data + b->len - back, back) == 0)
			b->len -= back;
		return;
	}
}

static void fill_content(struct airlock_files *f, const struct line_reader *r)
{
	if (r->cut)
		trim_to_character(&f->bytes);
	const char *bytes = buf_str(&f->bytes);
	size_t size = f->bytes.len;
	f->content = (struct airlock_files_content){
		.bytes = bytes,
		.size = size,
		.is_text = !memchr(bytes, '\0', size) && text_is_utf8(bytes, size),
		.start_line = r->lines_kept ? r->offset + 1 : 0,
		.end_line = r->lines_kept ? r->offset + r->lines_kept : 0,
		.total_lines = r->line,
		.next_offset = -1,
		.cut = r->cut,
	};
	if (r->lines_kept && f->content.end_line < r->line)
		f->content.next_offset = f->content.end_line;
}

int files_read(const struct files_place *p, const char *path, int64_t offset, int64_t limit, struct airlock_files **ret,
	       struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	_cleanup_files_result_ struct airlock_files *f = files_result_new(FILES_CONTENT);
	if (!f)
		return base_oom(err);
	int rc = files_find(p, path, 0, &at, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = files_open_file(&at);
	if (fd < 0)
		return files_open_error(path, fd, err);
	if (at.st.st_size > FILE_MAX) {
		rc = base_error(err, AIRLOCK_ERR_INVALID, "read", path, "%s is larger than 1 GiB", path);
		base_hint(err, "read a part of it with a command, such as head or sed");
		return rc;
	}
	struct line_reader r = {.offset = offset < 0 ? 0 : offset, .limit = limit, .out = &f->bytes};
	rc = stream(fd, path, &r, err);
	if (rc < 0)
		return rc;
	fill_content(f, &r);
	*ret = TAKE_PTR(f);
	return 0;
}

int files_slurp(const struct files_at *at, const char *shown, struct buf *ret, struct airlock_error *err)
{
	_cleanup_close_ int fd = files_open_file(at);
	if (fd < 0)
		return files_open_error(shown, fd, err);
	if (at->st.st_size > CONTENT_MAX)
		return base_error(err, AIRLOCK_ERR_LIMIT, "edit", shown, "%s is larger than %d MiB", shown,
				  CONTENT_MAX >> 20);
	struct line_reader r = {.limit = -1, .out = ret};
	int rc = stream(fd, shown, &r, err);
	if (rc == 0 && r.full)
		return base_error(err, AIRLOCK_ERR_LIMIT, "edit", shown, "%s is larger than %d MiB", shown,
				  CONTENT_MAX >> 20);
	return rc;
}
