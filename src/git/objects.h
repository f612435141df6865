/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's objects, read without git, out of a repository that somebody hostile may have filled.
 *
 *   struct git_objects o;
 *   git_objects_init(&o, &files, GIT_SHA1);
 *   if (git_object_read(&o, &oid, GIT_COMMIT, &text) == 0 && git_commit_parse(&text, …) == 0) …
 *   git_objects_done(&o);
 *
 * Every object is checked against its name, so it does not matter who put it where. The reader allocates no more than a
 * few objects of GIT_MAX_OBJECT at a time, and stops with -EDQUOT when it has unpacked budget bytes or objects in all.
 *
 * Errors: -ENOENT not there, -EBADMSG damaged or another type, -EFBIG one object is too large, -EDQUOT all together,
 * -ENOMEM, or what open said.
 */
#pragma once

#include "base/buf.h"
#include "git/oid.h"

#define GIT_MAX_OBJECT ((size_t)16 << 20)
#define GIT_MAX_PACKS 1024

enum git_type { GIT_COMMIT = 1, GIT_TREE = 2, GIT_BLOB = 3, GIT_TAG = 4, GIT_ANY = 0 };

/* Access to the files of one repository. Paths are relative to its git directory: "objects/pack/pack-….idx". */
struct git_files {
	void *context;
	int (*open)(void *context, const char *path); /* a regular file for reading, or -errno */
	/* The names in the directory, each once; -ENOENT if it does not exist. */
	int (*list)(void *context, const char *dir, struct strs *ret);
};

struct git_pack {
	char *stem; /* "objects/pack/pack-…." */
	int idx_fd, pack_fd;
	uint32_t fanout[256];
	uint64_t idx_size, pack_size;
	bool is_bad;
};

struct git_objects {
	const struct git_files *files; /* borrowed */
	size_t hash;		       /* bytes of a name: GIT_SHA1 or GIT_SHA256 */
	uint64_t bytes_left, objects_left;
	struct git_pack *packs;
	size_t n_packs;
	bool is_listed; /* packs are known */
};

void git_objects_init(struct git_objects *o, const struct git_files *files, size_t hash);
void git_objects_done(struct git_objects *o);

/* Replaces the content of ret. type GIT_ANY: any type; ret_type may be NULL. */
int git_object_read(struct git_objects *o, const struct git_oid *oid, enum git_type type, enum git_type *ret_type,
		    struct buf *ret);

/* ── What git itself believes unread ──
 * Git does not hold an object against its name when it reads it. So whoever writes object files can give an object that is
 * known another content, and a graph can say of a commit what is not so. */

bool git_object_is(enum git_type type, const struct buf *text, size_t hash, const struct git_oid *oid);
/* Some file has it under this name, whatever is in it. */
bool git_object_is_there(struct git_objects *o, const struct git_oid *oid);
/* 0: the loose object is what its name says; -EBADMSG: it is not; or as git_object_read. */
int git_object_check_loose(struct git_objects *o, const struct git_oid *oid);
/* The same for those objects in all packs that matter. A pack that cannot be read is -EBADMSG. */
typedef bool git_matters(void *context, const struct git_oid *oid);
int git_packs_check(struct git_objects *o, git_matters *matters, void *context);
/* In how many packs it is; SIZE_MAX: there are too many of them to know. */
size_t git_packs_with(struct git_objects *o, const struct git_oid *oid);
/* 0: the commit graph says of every commit in it what the commit says; -EBADMSG: it does not; -EOPNOTSUPP: it is a part of a
 * chain. graph.c. */
int git_graph_check(struct git_objects *o, int fd);

/* ── What is in them: git_parse.c ── */

#define GIT_MAX_PARENTS 64

struct git_commit {
	struct git_oid tree, parents[GIT_MAX_PARENTS];
	size_t n_parents;
	int64_t time; /* of the committer; 0 if it makes no sense */
};
int git_commit_parse(const struct buf *text, size_t hash, struct git_commit *ret); /* 0 or -EBADMSG */
/* The object a tag names. */
int git_tag_parse(const struct buf *text, size_t hash, struct git_oid *ret);

struct git_entry {
	const char *name; /* borrowed from the tree, not terminated */
	size_t name_len;
	uint32_t mode;
	struct git_oid oid;
};
#define GIT_MODE_TREE 0040000u
#define GIT_MODE_LINK 0120000u
#define GIT_MODE_MODULE 0160000u
/* The entry at *at; moves *at on. 1, 0 at the end, -EBADMSG. */
int git_tree_next(const struct buf *tree, size_t hash, size_t *at, struct git_entry *ret);

/* ── Packs: pack.c ── */

/* Like git_object_read, but does not check the hash. */
int git_pack_read(struct git_objects *o, const struct git_oid *oid, enum git_type *ret_type, struct buf *ret);
void git_packs_done(struct git_objects *o);

/* ── Compression: inflate.c ── */

struct git_stream {
	int fd;
	uint64_t at; /* where the compressed bytes begin */
};
/* Appends exactly size bytes to out, or fails; never unpacks more. */
int git_inflate(struct git_objects *o, const struct git_stream *from, size_t size, struct buf *out);
/* Unpacks while out has room for limit bytes. Returns 1 if the stream ended there. */
int git_inflate_some(const struct git_stream *from, size_t limit, struct buf *out);

/* Applies delta to base. 0, -EBADMSG, -EFBIG, -ENOMEM. */
int git_delta_apply(const struct buf *base, const struct buf *delta, struct buf *out);
