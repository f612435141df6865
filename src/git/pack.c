/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pack files, with their version 2 index. An index that lies leads to an object whose hash does not match, or to none.
 *
 * A delta names its base by offset in the same pack, always before it, or by object. Chains are followed to their end
 * first and unpacked backwards, so that only two objects are in memory at a time, whatever the depth; an offset that
 * does not decrease or a chain that is too long counts as damaged. Files are read, not mapped: a file that is
 * truncated in the meantime is an error and not a SIGBUS. */
#include "git/objects.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDX_MAGIC 0xff744f63u
#define IDX_FANOUT 8 /* where it begins */
#define IDX_NAMES (IDX_FANOUT + 256 * 4)
#define MAX_CHAIN 5000 /* git makes at most 4095 */

static uint32_t big32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* 0, -EBADMSG when the file ends before. */
static int read_at(int fd, uint64_t at, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t part = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return part < 0 ? -errno : -EBADMSG;
		done += (size_t)part;
	}
	return 0;
}

/* ── Which packs there are ── */

static void pack_done(struct git_pack *p)
{
	base_closep(&p->idx_fd);
	base_closep(&p->pack_fd);
	free(p->stem);
}

void git_packs_done(struct git_objects *o)
{
	for (size_t i = 0; i < o->n_packs; i++)
		pack_done(&o->packs[i]);
	free(o->packs);
	o->packs = NULL;
	o->n_packs = 0;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);
	return n > k && strcmp(name + n - k, end) == 0;
}

static int add_pack(struct git_objects *o, const char *name)
{
	_cleanup_buf_ struct buf stem = BUF_INIT;
	struct git_pack *v = reallocarray(o->packs, o->n_packs + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	o->packs = v;
	buf_adds(&stem, "objects/pack/");
	buf_add(&stem, name, strlen(name) - 3); /* with its dot */
	v[o->n_packs] = (struct git_pack){.stem = buf_take(&stem), .idx_fd = -EBADF, .pack_fd = -EBADF};
	if (!v[o->n_packs].stem)
		return -ENOMEM;
	o->n_packs++;
	return 0;
}

static int list_packs(struct git_objects *o)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	if (o->is_listed)
		return 0;
	int rc = o->files->list(o->files->context, "objects/pack", &names);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	rc = names.failed ? -ENOMEM : 0;
	for (size_t i = 0; rc == 0 && i < names.n; i++)
		if (ends_in(names.v[i], ".idx"))
			rc = o->n_packs < GIT_MAX_PACKS ? add_pack(o, names.v[i]) : -EDQUOT;
	o->is_listed = rc == 0;
	return rc;
}

static int open_file(struct git_objects *o, const struct git_pack *p, const char *end, uint64_t *ret_size)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	struct stat st;
	buf_printf(&path, "%s%s", p->stem, end);
	if (path.failed)
		return -ENOMEM;
	int fd = o->files->open(o->files->context, path.data);
	if (fd >= 0 && fstat(fd, &st) == 0)
		*ret_size = (uint64_t)st.st_size;
	return fd;
}

/* Opens both files of it. A malformed pack has no objects. */
static int open_pack(struct git_objects *o, struct git_pack *p)
{
	unsigned char head[IDX_NAMES], magic[8];
	if (p->is_bad || p->idx_fd >= 0)
		return p->is_bad ? -ENOENT : 0;
	p->is_bad = true;
	p->idx_fd = open_file(o, p, "idx", &p->idx_size);
	p->pack_fd = p->idx_fd < 0 ? -EBADF : open_file(o, p, "pack", &p->pack_size);
	if (p->pack_fd < 0 || read_at(p->idx_fd, 0, head, sizeof head) < 0 ||
	    read_at(p->pack_fd, 0, magic, sizeof magic) < 0)
		return -ENOENT;
	uint32_t version = big32(magic + 4);
	if (big32(head) != IDX_MAGIC || big32(head + 4) != 2 || memcmp(magic, "PACK", 4) != 0 || version < 2 ||
	    version > 3)
		return -ENOENT;
	for (size_t i = 0; i < 256; i++) {
		p->fanout[i] = big32(head + IDX_FANOUT + 4 * i);
		if (i > 0 && p->fanout[i] < p->fanout[i - 1])
			return -ENOENT;
	}
	p->is_bad = false;
	return 0;
}

/* ── Where an object is ── */

static int find_index(const struct git_objects *o, const struct git_pack *p, const struct git_oid *oid, uint32_t *ret)
{
	struct git_oid there = {{0}};
	uint32_t low = oid->b[0] ? p->fanout[oid->b[0] - 1] : 0, high = p->fanout[oid->b[0]];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int rc = read_at(p->idx_fd, IDX_NAMES + (uint64_t)middle * o->hash, there.b, o->hash);
		if (rc < 0)
			return rc;
		int order = git_oid_compare(oid, &there);
		if (order == 0) {
			*ret = middle;
			return 0;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -ENOENT;
}

/* Of the object that is number i in the index. */
static int offset_of(const struct git_objects *o, const struct git_pack *p, uint32_t i, uint64_t *ret)
{
	unsigned char four[4], eight[8];
	uint64_t n = p->fanout[255], offsets = IDX_NAMES + n * (o->hash + 4);
	int rc = read_at(p->idx_fd, offsets + (uint64_t)i * 4, four, sizeof four);
	*ret = big32(four);
	if (rc < 0 || !(*ret & 0x80000000u))
		return rc;
	rc = read_at(p->idx_fd, offsets + n * 4 + (*ret & 0x7fffffffu) * 8, eight, sizeof eight);
	*ret = (uint64_t)big32(eight) << 32 | big32(eight + 4);
	return rc;
}

static int find_offset(const struct git_objects *o, const struct git_pack *p, const struct git_oid *oid, uint64_t *ret)
{
	uint32_t i = 0;
	int rc = find_index(o, p, oid, &i);
	return rc < 0 ? rc : offset_of(o, p, i, ret);
}

/* ── One object ── */

enum packed { OFFSET_DELTA = 6, NAME_DELTA = 7 };

struct packed_entry {
	struct git_pack *pack;
	unsigned type;
	size_t size;
	uint64_t data;	      /* where its compressed bytes begin */
	uint64_t base;	      /* OFFSET_DELTA */
	struct git_oid named; /* NAME_DELTA */
};

static int read_entry(const struct git_objects *o, struct git_pack *p, uint64_t at, struct packed_entry *ret)
{
	unsigned char head[64];
	size_t n = 0, have = p->pack_size > at ? (size_t)AL_MIN(p->pack_size - at, sizeof head) : 0;
	*ret = (struct packed_entry){.pack = p};
	if (have == 0 || read_at(p->pack_fd, at, head, have) < 0)
		return -EBADMSG;
	ret->type = head[0] >> 4 & 7;
	uint64_t size = head[0] & 15;
	for (unsigned shift = 4; head[n++] & 128; shift += 7) {
		if (n == have || shift > 50)
			return -EBADMSG;
		size |= (uint64_t)(head[n] & 127) << shift;
	}
	if (size > GIT_MAX_OBJECT)
		return -EFBIG;
	ret->size = (size_t)size;
	if (ret->type == OFFSET_DELTA) {
		uint64_t back = 0;
		for (unsigned bytes = 0;; bytes++) {
			if (n == have || bytes > 8)
				return -EBADMSG;
			back = (back + (bytes > 0)) << 7 | (head[n] & 127);
			if (!(head[n++] & 128))
				break;
		}
		if (back == 0 || back >= at)
			return -EBADMSG;
		ret->base = at - back;
	} else if (ret->type == NAME_DELTA) {
		if (have - n < o->hash)
			return -EBADMSG;
		memcpy(ret->named.b, head + n, o->hash);
		n += o->hash;
	} else if (ret->type < GIT_COMMIT || ret->type > GIT_TAG)
		return -EBADMSG;
	ret->data = at + n;
	return 0;
}

static int inflate_entry(struct git_objects *o, const struct packed_entry *e, struct buf *ret)
{
	const struct git_stream from = {.fd = e->pack->pack_fd, .at = e->data};
	buf_reset(ret);
	return git_inflate(o, &from, e->size, ret);
}

struct chain {
	struct packed_entry *v;
	size_t n, cap;
};

static int find_packed(struct git_objects *o, const struct git_oid *oid, struct packed_entry *ret)
{
	int rc = list_packs(o);
	for (size_t i = 0; rc == 0 && i < o->n_packs; i++) {
		uint64_t at = 0;
		struct git_pack *p = &o->packs[i];
		if (i % 8 == 7 && o->objects_left-- == 0) { /* for example, a repository with a thousand packs */
			o->objects_left = 0;
			return -EDQUOT;
		}
		if (open_pack(o, p) < 0 || find_offset(o, p, oid, &at) < 0)
			continue;
		return read_entry(o, p, at, ret);
	}
	return rc < 0 ? rc : -ENOENT;
}

/* From e down to an object that is not a delta. */
static int follow_chain(struct git_objects *o, struct packed_entry e, struct chain *chain)
{
	for (;;) {
		if (chain->n == MAX_CHAIN)
			return -EBADMSG;
		if (o->objects_left == 0) /* each link costs about as much as an object */
			return -EDQUOT;
		o->objects_left--;
		if (!ARRAY_ROOM(chain->v, chain->n, chain->cap, 16))
			return -ENOMEM;
		chain->v[chain->n++] = e;
		int rc = 0;
		if (e.type == OFFSET_DELTA)
			rc = read_entry(o, e.pack, e.base, &e);
		else if (e.type == NAME_DELTA)
			rc = find_packed(o, &e.named, &e);
		else
			return 0;
		if (rc < 0)
			return rc == -ENOENT ? -EBADMSG : rc;
	}
}

static int unpack_chain(struct git_objects *o, const struct chain *chain, enum git_type *ret_type, struct buf *ret)
{
	_cleanup_buf_ struct buf delta = BUF_INIT, made = BUF_INIT;
	const struct packed_entry *base = &chain->v[chain->n - 1];
	*ret_type = (enum git_type)base->type;
	int rc = inflate_entry(o, base, ret);
	for (size_t i = chain->n - 1; rc == 0 && i-- > 0;) {
		rc = inflate_entry(o, &chain->v[i], &delta);
		rc = rc < 0 ? rc : git_delta_apply(ret, &delta, &made);
		if (rc == 0 && o->bytes_left < made.len)
			rc = -EDQUOT;
		if (rc < 0)
			break;
		o->bytes_left -= made.len;
		struct buf kept = *ret;
		*ret = made;
		made = kept;
	}
	return rc;
}

int git_pack_read(struct git_objects *o, const struct git_oid *oid, enum git_type *ret_type, struct buf *ret)
{
	struct packed_entry e;
	struct chain chain = {0};
	int rc = find_packed(o, oid, &e);
	rc = rc < 0 ? rc : follow_chain(o, e, &chain);
	rc = rc < 0 ? rc : unpack_chain(o, &chain, ret_type, ret);
	free(chain.v);
	return rc;
}

/* ── Packs as a whole ── */

size_t git_packs_with(struct git_objects *o, const struct git_oid *oid)
{
	size_t n = 0;
	uint32_t i;
	if (list_packs(o) < 0 || o->objects_left == 0)
		return SIZE_MAX; /* nobody knows */
	for (size_t k = 0; k < o->n_packs; k++) {
		o->objects_left -= k % 8 == 7 && o->objects_left > 0;
		n += open_pack(o, &o->packs[k]) == 0 && find_index(o, &o->packs[k], oid, &i) == 0;
	}
	return n;
}

static int check_object(struct git_objects *o, struct git_pack *p, uint32_t i, const struct git_oid *oid)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct packed_entry e;
	struct chain chain = {0};
	enum git_type type = GIT_ANY;
	uint64_t at = 0;
	int rc = offset_of(o, p, i, &at);
	rc = rc < 0 ? rc : read_entry(o, p, at, &e);
	rc = rc < 0 ? rc : follow_chain(o, e, &chain);
	rc = rc < 0 ? rc : unpack_chain(o, &chain, &type, &text);
	free(chain.v);
	if (rc < 0)
		return rc;
	return git_object_is(type, &text, o->hash, oid) ? 0 : -EBADMSG;
}

static int check_pack(struct git_objects *o, struct git_pack *p, git_matters *matters, void *context)
{
	int rc = open_pack(o, p) < 0 ? -EBADMSG : 0;
	for (uint32_t i = 0; rc == 0 && i < p->fanout[255]; i++) {
		struct git_oid oid = {{0}};
		if (i % 8 == 7 && o->objects_left-- == 0) {
			o->objects_left = 0;
			return -EDQUOT;
		}
		rc = read_at(p->idx_fd, IDX_NAMES + (uint64_t)i * o->hash, oid.b, o->hash);
		if (rc == 0 && matters(context, &oid))
			rc = check_object(o, p, i, &oid);
	}
	return rc;
}

int git_packs_check(struct git_objects *o, git_matters *matters, void *context)
{
	int rc = list_packs(o);
	for (size_t i = 0; rc == 0 && i < o->n_packs; i++)
		rc = check_pack(o, &o->packs[i], matters, context);
	return rc;
}
