/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader of git's files. The first byte says what the rest is: a loose object, a pack with its index, a commit, a tree, a
 * tag, a delta, a configuration, an index. Whatever it is, reading it ends within its budget. */
#include "change/change.h"
#include "change/gate/gate_config.h"
#include "git/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *idx, *pack, *loose;
	size_t n_idx, n_pack, n_loose;
};

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd >= 0 && size > 0 && write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static int open_file(void *context, const char *path)
{
	const struct input *in = context;
	const char *end = strrchr(path, '.');
	if (!end)
		return in->n_loose ? file_of(in->loose, in->n_loose) : -ENOENT;
	return strcmp(end, ".idx") == 0 ? file_of(in->idx, in->n_idx) : file_of(in->pack, in->n_pack);
}

static int list(void *context, const char *dir, struct strs *ret)
{
	const struct input *in = context;
	if (in->n_idx)
		strs_add(ret, "pack-1.idx");
	return 0;
}

static bool all_matter(void *context, const struct git_oid *oid)
{
	return true;
}

static void read_objects(struct input *in, size_t hash)
{
	const struct git_files files = {in, open_file, list};
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct git_objects o;
	git_objects_init(&o, &files, hash);
	for (size_t i = 0; i < 8; i++) {
		struct git_oid oid = {{0}};
		if (in->n_idx >= 1032 + (i + 1) * hash)
			memcpy(oid.b, in->idx + 1032 + i * hash, hash);
		(void)git_object_read(&o, &oid, GIT_ANY, NULL, &text);
		(void)git_object_check_loose(&o, &oid);
		(void)git_packs_with(&o, &oid);
	}
	(void)git_packs_check(&o, all_matter, NULL);
	git_objects_done(&o);
}

static int ignore(void *context, const char *name, const char *value)
{
	return strchr(name, '.') ? 0 : 1;
}

static void read_text(const uint8_t *data, size_t size, size_t hash)
{
	_cleanup_buf_ struct buf text = BUF_INIT, delta = BUF_INIT, out = BUF_INIT;
	struct git_commit commit;
	struct git_entry entry;
	struct git_oid oid;
	size_t at = 0;
	buf_add(&text, data, size);
	(void)git_commit_parse(&text, hash, &commit);
	(void)git_tag_parse(&text, hash, &oid);
	while (git_tree_next(&text, hash, &at, &entry) == 1)
		if (entry.name_len == 0 || memchr(entry.name, '/', entry.name_len))
			__builtin_trap();
	buf_add(&delta, data + size / 2, size - size / 2);
	text.len = size / 2;
	(void)git_delta_apply(&text, &delta, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	size_t hash = data[0] & 1 ? GIT_SHA256 : GIT_SHA1, split = (size_t)data[1] << 4;
	const uint8_t *rest = data + 2;
	size_t n = size - 2;
	struct input in = {0};
	switch (data[0] >> 1 & 3) {
	case 0:
		in.loose = rest;
		in.n_loose = n;
		read_objects(&in, hash);
		break;
	case 1:
		split = split < n ? split : n;
		in.idx = rest;
		in.n_idx = split;
		in.pack = rest + split;
		in.n_pack = n - split;
		read_objects(&in, hash);
		break;
	case 2:
		read_text(rest, n, hash);
		break;
	default: {
		char *copy = malloc(n);
		memcpy(copy, rest, n);
		(void)gitconfig_read(copy, n, ignore, NULL);
		free(copy);
		int fd = file_of(rest, n);
		(void)gate_index_mark(fd);
		struct git_files files = {&in, open_file, list};
		struct git_objects o;
		git_objects_init(&o, &files, hash);
		(void)git_graph_check(&o, fd);
		git_objects_done(&o);
		(void)close(fd);
	}
	}
	return 0;
}
