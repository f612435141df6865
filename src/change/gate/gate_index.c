/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's index: a list of paths that `git checkout .` writes without looking at where they lead, because nobody but git
 * writes the index. A made-up one with the path .git/hooks/post-checkout has been seen to install that hook and run it. So
 * the paths are read here as git reads them, from versions 2 to 4, one entry at a time: an index can be long.
 */
#include "change/gate/gate_name.h"
#include "change/gate/gate_repo.h"

#include "fs/beneath.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <string.h>

#define MAX_NAME ((size_t)64 << 10)
#define NAME_LENGTH_MASK 0xfffu
#define EXTENDED 0x4000u

struct index_stream {
	int fd;
	uint64_t at, size; /* of the file */
	size_t used, filled;
	bool is_marking; /* what is taken goes into mark, FNV-1a */
	uint64_t mark;
	unsigned char chunk[65536];
};

static void add_to_mark(struct index_stream *s, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->mark = (s->mark ^ p[i]) * UINT64_C(0x100000001b3);
}

static bool fill(struct index_stream *s)
{
	ssize_t n;
	do
		n = read(s->fd, s->chunk, sizeof s->chunk);
	while (n < 0 && errno == EINTR);
	s->used = 0;
	s->filled = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool take(struct index_stream *s, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		if (s->used == s->filled && !fill(s))
			return false;
		size_t part = AL_MIN(n - done, s->filled - s->used);
		memcpy((char *)to + done, s->chunk + s->used, part);
		if (s->is_marking)
			add_to_mark(s, s->chunk + s->used, part);
		s->used += part;
		done += part;
	}
	s->at += n;
	return true;
}

static bool skip(struct index_stream *s, uint64_t n)
{
	char ignored[512];
	for (; n > 0; n -= AL_MIN(n, sizeof ignored))
		if (!take(s, ignored, AL_MIN(n, sizeof ignored)))
			return false;
	return true;
}

static bool take_number(struct index_stream *s, size_t bytes, uint32_t *ret)
{
	unsigned char b[4];
	if (!take(s, b, bytes))
		return false;
	*ret = 0;
	for (size_t i = 0; i < bytes; i++)
		*ret = *ret << 8 | b[i];
	return true;
}

/* ── Names ── */

/* n more bytes; a NUL among them would hide the rest from whoever prints it. */
static bool take_bytes(struct index_stream *s, struct buf *name, size_t n)
{
	char part[NAME_LENGTH_MASK];
	if (n > sizeof part || !take(s, part, n) || memchr(part, '\0', n))
		return false;
	buf_add(name, part, n);
	return true;
}

/* Up to a NUL, which is taken, too. */
static bool take_string(struct index_stream *s, struct buf *name)
{
	char c;
	while (take(s, &c, 1) && name->len < MAX_NAME) {
		if (c == '\0')
			return true;
		buf_addc(name, c);
	}
	return false;
}

/* How much of the name before it is cut off, in the numbers of pack files. */
static bool take_cut(struct index_stream *s, size_t *ret)
{
	unsigned char c;
	if (!take(s, &c, 1))
		return false;
	size_t value = c & 127;
	while (c & 128) {
		if (value > MAX_NAME || !take(s, &c, 1))
			return false;
		value = ((value + 1) << 7) + (c & 127);
	}
	*ret = value;
	return true;
}

/* Version 4: the name before it without its end, and a new end. */
static bool take_compressed(struct index_stream *s, struct buf *name, uint32_t length)
{
	size_t cut;
	char nul;
	if (!take_cut(s, &cut) || cut > name->len)
		return false;
	name->len -= cut;
	if (length == NAME_LENGTH_MASK)
		return take_string(s, name);
	return length >= name->len && take_bytes(s, name, length - name->len) && take(s, &nul, 1) && nul == '\0';
}

/* Versions 2 and 3: filled up with at least one NUL to eight bytes. */
static bool take_padded(struct index_stream *s, struct buf *name, uint32_t length, size_t header)
{
	buf_reset(name);
	if (length < NAME_LENGTH_MASK)
		return take_bytes(s, name, length) && skip(s, 8 - (header + length) % 8);
	return take_string(s, name) && skip(s, 7 - (header + name->len) % 8);
}

/* ── Entries ── */

static bool is_bad_component(const char *p)
{
	return *p == '\0' || *p == '/' || gate_first_is(p, ".git") || gate_first_is(p, "..") || gate_first_is(p, ".");
}

/* Most names need no folding to be seen as harmless. */
static bool is_plain(const struct buf *name)
{
	for (size_t i = 0; i < name->len; i++) {
		unsigned char c = (unsigned char)name->data[i];
		bool g = (c == 'g' || c == 'G') && i + 2 < name->len && (name->data[i + 1] | 0x20) == 'i';
		if (c >= 0x80 || g || (c == '.' && (i == 0 || name->data[i - 1] == '/')) ||
		    (c == '/' && (i == 0 || name->data[i - 1] == '/')))
			return false;
	}
	return name->len > 0;
}

static bool is_bad_name(const struct buf *name)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	if (is_plain(name))
		return false;
	gate_fold(buf_str(name), &folded);
	for (const char *p = buf_str(&folded); p; p = gate_rest(p))
		if (is_bad_component(p))
			return true;
	return folded.failed;
}

enum verdict { NOT_AN_INDEX, GOOD_INDEX, BAD_INDEX };

struct index_entry {
	uint32_t mode;
	struct git_oid oid;
	struct buf name;
};

static void entry_done(struct index_entry *e)
{
	buf_done(&e->name);
}

/* The mark covers mode, object, flags and name. The rest is what git remembers of the file in the work tree. */
static bool take_entry(struct index_stream *s, uint32_t version, size_t hash, struct index_entry *e)
{
	uint32_t flags, more;
	size_t header = 40 + hash + 2; /* times, numbers, mode and size; the object; flags */
	s->is_marking = false;
	if (!skip(s, 24))
		return false;
	s->is_marking = true;
	if (!take_number(s, 4, &e->mode))
		return false;
	s->is_marking = false;
	if (!skip(s, 12))
		return false;
	s->is_marking = true;
	e->oid = (struct git_oid){{0}};
	if (!take(s, e->oid.b, hash) || !take_number(s, 2, &flags))
		return false;
	if (flags & EXTENDED) {
		if (version < 3 || !take_number(s, 2, &more))
			return false;
		header += 2;
	}
	uint32_t length = flags & NAME_LENGTH_MASK;
	return (version == 4 ? take_compressed(s, &e->name, length) : take_padded(s, &e->name, length, header)) &&
	       !e->name.failed;
}

static bool take_head(struct index_stream *s, uint32_t *ret_version, uint32_t *ret_entries)
{
	char magic[4];
	return take(s, magic, 4) && memcmp(magic, "DIRC", 4) == 0 && take_number(s, 4, ret_version) &&
	       *ret_version >= 2 && *ret_version <= 4 && take_number(s, 4, ret_entries);
}

/* Extensions, each with its length, and the checksum: if they fit, the entries were read rightly. */
static bool ends_well(struct index_stream *s, size_t hash)
{
	uint32_t length;
	while (s->size - s->at > hash)
		if (!skip(s, 4) || !take_number(s, 4, &length) || length > s->size - s->at || !skip(s, length))
			return false;
	return s->size - s->at == hash;
}

/* data: gets the names of files that are not programs; NULL when nobody asks. */
static enum verdict read_index(struct index_stream *s, size_t hash, struct strs *data)
{
	_cleanup_(entry_done) struct index_entry e = {.name = BUF_INIT};
	uint32_t version, entries;
	bool bad = false;
	if (!take_head(s, &version, &entries))
		return NOT_AN_INDEX;
	for (; entries > 0; entries--) {
		if (!take_entry(s, version, hash, &e))
			return NOT_AN_INDEX;
		bad |= is_bad_name(&e.name);
		if (data && e.mode == (S_IFREG | 0644))
			strs_add(data, buf_str(&e.name));
	}
	s->is_marking = false;
	if (!ends_well(s, hash))
		return NOT_AN_INDEX;
	return bad ? BAD_INDEX : GOOD_INDEX;
}

static void begin(struct index_stream *s, int fd, uint64_t size)
{
	s->fd = fd;
	s->size = size;
	s->at = s->used = s->filled = 0;
	s->is_marking = false;
	s->mark = UINT64_C(0xcbf29ce484222325);
}

static enum verdict read_marked(int fd, uint64_t size, size_t hash, struct strs *data, uint64_t *ret_mark)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return NOT_AN_INDEX;
	struct index_stream *s = malloc(sizeof *s);
	if (!s)
		return NOT_AN_INDEX;
	begin(s, fd, size);
	enum verdict v = read_index(s, hash, data);
	*ret_mark = s->mark;
	free(s);
	return v;
}

static enum verdict read_again(int fd, uint64_t size, size_t hash, struct strs *data)
{
	uint64_t ignored;
	return read_marked(fd, size, hash, data, &ignored);
}

uint64_t gate_index_mark(int fd)
{
	struct stat st;
	uint64_t mark = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	if (read_marked(fd, (uint64_t)st.st_size, 20, NULL, &mark) != NOT_AN_INDEX)
		return mark;
	return read_marked(fd, (uint64_t)st.st_size, 32, NULL, &mark) != NOT_AN_INDEX ? mark : 0;
}

static int open_live(struct gate *g, const struct change *c)
{
	const char *name;
	_cleanup_close_ int dir =
		g->roots[c->root].live < 0 ? -ENOENT : fs_open_parent(g->roots[c->root].live, c->path, &name);
	return dir < 0 ? dir : open_regular_at(dir, name);
}

static int open_after(struct gate *g, const struct change *c)
{
	const char *name;
	_cleanup_close_ int dir = gate_open_parent_after(g, c, &name);
	return dir < 0 ? dir : c->after.type == CHANGE_FILE ? upper_open_file(dir, name) : -ENOENT;
}

static uint64_t mark_live(struct gate *g, const struct change *c)
{
	struct stat st;
	_cleanup_close_ int fd = open_live(g, c);
	/* Only while it is what the scan saw. */
	bool is_base = fd >= 0 && fstat(fd, &st) == 0 && change_stat_of(&st).ctime_ns == c->before.ctime_ns &&
		       st.st_ino == c->before.inode;
	return is_base ? gate_index_mark(fd) : 0;
}

void gate_mark_index(struct gate *g, struct change *c)
{
	if (!c->index_mark && c->before.type == CHANGE_FILE)
		c->index_mark = mark_live(g, c);
	_cleanup_close_ int fd = open_after(g, c);
	if (fd >= 0)
		c->index_mark_after = gate_index_mark(fd);
}

/* The repository's configuration says whether its objects are named by SHA-1 or SHA-256. It is not asked: an index that
 * can be read both ways must be good both ways. */
const struct airlock_reason *gate_judge_index(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	struct stat st;
	_cleanup_close_ int fd = open_after(g, c);
	if (fd < 0 || fstat(fd, &st) < 0)
		return change_reason_of(AIRLOCK_REASON_UNREADABLE);
	if (st.st_size == 0)
		return NULL; /* git takes it for no index at all */
	enum verdict sha1 = read_again(fd, (uint64_t)st.st_size, 20, NULL);
	enum verdict sha256 = read_again(fd, (uint64_t)st.st_size, 32, NULL);
	bool is_good = sha1 != BAD_INDEX && sha256 != BAD_INDEX && (sha1 == GOOD_INDEX || sha256 == GOOD_INDEX);
	return is_good ? NULL : &rule->reason;
}

/* ── What is staged ── */

struct index_reader {
	int fd;
	struct index_stream *s;
	uint32_t version, left;
	struct index_entry e;
};

static void reader_done(struct index_reader *r)
{
	base_closep(&r->fd);
	free(r->s);
	entry_done(&r->e);
}

/* Takes fd; one below zero, and an empty file, is an index without entries. */
static int reader_open(struct index_reader *r, int fd)
{
	struct stat st;
	*r = (struct index_reader){.fd = fd, .e = {.name = BUF_INIT}};
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
	r->s = malloc(sizeof *r->s);
	if (!r->s)
		return -ENOMEM;
	if (fstat(fd, &st) < 0)
		return -errno;
	begin(r->s, fd, (uint64_t)st.st_size);
	return st.st_size == 0 || take_head(r->s, &r->version, &r->left) ? 0 : -EBADMSG;
}

/* 1, 0 at the end, -EBADMSG. */
static int reader_next(struct index_reader *r, size_t hash)
{
	if (r->left == 0)
		return 0;
	r->left--;
	return take_entry(r->s, r->version, hash, &r->e) ? 1 : -EBADMSG;
}

/* Both lists are sorted by name, so that one walk finds what is in the second only. In one that is not sorted everything is
 * new, which only holds too much. */
static int each_new(struct index_reader *before, struct index_reader *after, size_t hash, gate_staged *tell,
		    void *context)
{
	int had = reader_next(before, hash), rc;
	while ((rc = reader_next(after, hash)) == 1) {
		const char *name = buf_str(&after->e.name);
		while (had == 1 && strcmp(buf_str(&before->e.name), name) < 0)
			had = reader_next(before, hash);
		bool same_name = had == 1 && strcmp(buf_str(&before->e.name), name) == 0;
		if (same_name && before->e.mode == after->e.mode && git_oid_compare(&before->e.oid, &after->e.oid) == 0)
			continue;
		rc = tell(context, name, after->e.mode, &after->e.oid, same_name ? &before->e.oid : NULL);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return rc;
}

int gate_index_each_new(struct gate *g, const struct change *c, size_t hash, gate_staged *tell, void *context)
{
	struct index_reader before, after;
	int rc = reader_open(&before, c->before.type == CHANGE_FILE ? open_live(g, c) : -ENOENT);
	if (rc == -EBADMSG) { /* git had none that it could read: everything is new */
		before.left = 0;
		rc = 0;
	}
	int other = reader_open(&after, open_after(g, c));
	rc = rc < 0 ? rc : other;
	rc = rc < 0 ? rc : each_new(&before, &after, hash, tell, context);
	reader_done(&before);
	reader_done(&after);
	return rc;
}

/* ── What git tracks ── */

/* Fills in t->data; false when there is an index that cannot be understood. */
static bool read_tracked(struct gate *g, struct gate_tracked *t)
{
	struct stat st;
	buf_adds(&t->dir, ".git/index");
	int top = g->roots[t->root].live;
	_cleanup_close_ int fd = top < 0 ? -ENOENT : fs_open_beneath(top, buf_str(&t->dir), O_RDONLY | O_NONBLOCK);
	t->dir.len -= sizeof ".git/index" - 1;
	if (fd == -ENOENT)
		return true;
	if (t->dir.failed || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (read_again(fd, (uint64_t)st.st_size, 20, &t->data) == NOT_AN_INDEX) {
		strs_done(&t->data);
		t->data = (struct strs)STRS_INIT;
		if (st.st_size > 0 && read_again(fd, (uint64_t)st.st_size, 32, &t->data) == NOT_AN_INDEX)
			return false;
	}
	strs_sort(&t->data);
	return !t->data.failed;
}

/* Of the repository whose directory is the first n bytes of path, which end in a slash. Read once: `chmod -R` over a large
 * project asks for each of its files. */
static const struct gate_tracked *tracked_of(struct gate *g, size_t root, const char *path, size_t n)
{
	struct gate_tracked *t = &g->tracked;
	if (t->known && t->root == root && t->dir.len == n && memcmp(buf_str(&t->dir), path, n) == 0)
		return t;
	buf_reset(&t->dir);
	buf_add(&t->dir, path, n);
	strs_done(&t->data);
	t->data = (struct strs)STRS_INIT;
	t->root = root;
	t->known = true;
	t->is_readable = read_tracked(g, t);
	return t;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, *(char *const *)b);
}

bool gate_is_tracked_data(struct gate *g, const struct change *c)
{
	_cleanup_buf_ struct buf at = BUF_INIT;
	for (size_t n = strlen(c->path) + 1; n > 0;) {
		for (n--; n > 0 && c->path[n - 1] != '/'; n--)
			;
		buf_reset(&at);
		buf_add(&at, c->path, n);
		buf_adds(&at, ".git");
		enum change_type type = at.failed ? CHANGE_OTHER : gate_type_before(g, c->root, buf_str(&at));
		if (type == CHANGE_NOTHING)
			continue;
		if (type != CHANGE_DIRECTORY)
			return true; /* of a work tree whose index is elsewhere */
		const struct gate_tracked *t = tracked_of(g, c->root, c->path, n);
		const char *name = c->path + n;
		return !t->is_readable ||
		       (t->data.n && bsearch(name, t->data.v, t->data.n, sizeof *t->data.v, compare_names));
	}
	return false;
}
