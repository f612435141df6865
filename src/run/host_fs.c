/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/host_fs.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* Above this many lookups in one directory, reading the directory is cheaper. */
#define QUESTIONS 8
/* A directory this full is asked entry by entry. */
#define MAX_ENTRIES 2048
#define XFS_MAGIC 0x58465342
#define BCACHEFS_MAGIC 0xca451a4e

struct entry {
	size_t name;	    /* where it is in `names` */
	uint32_t hash;	    /* of the name as if all letters were small */
	unsigned char type; /* DT_*, of the file system below: something may be mounted over a file */
};

/* The answer for an entry that was looked up by itself. */
struct answer {
	char *name;
	enum plan_type type;
};

enum standing { UNKNOWN, MISSING, ASKED_SINGLY, READ };

struct host_fs_dir {
	char *path;
	size_t len;
	enum standing standing;
	unsigned questions;
	size_t next;	       /* in the same bucket; as there */
	struct entry *entries; /* READ */
	size_t n, cap;
	struct buf names;
	bool foreign[256];  /* first bytes, in small letters, of names that are not ASCII */
	bool foreign_first; /* one of those bytes is not ASCII itself */
	struct answer *answers;
	size_t n_answers, cap_answers;
};

static void forget_entries(struct host_fs_dir *d)
{
	free(d->entries);
	d->entries = NULL;
	d->n = d->cap = 0;
	buf_done(&d->names);
}

void host_fs_done(struct host_fs *w)
{
	for (size_t i = 0; i < w->n; i++) {
		forget_entries(&w->dirs[i]);
		for (size_t k = 0; k < w->dirs[i].n_answers; k++)
			free(w->dirs[i].answers[k].name);
		free(w->dirs[i].answers);
		free(w->dirs[i].path);
	}
	free(w->dirs);
	*w = (struct host_fs)HOST_FS_INIT;
}

/* ── One entry by itself ── */

static enum plan_type look(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return base_is_absent(errno) ? PLAN_MISSING : PLAN_UNKNOWN;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return PLAN_FILE;
	case S_IFDIR:
		return PLAN_DIRECTORY;
	case S_IFLNK:
		return PLAN_LINK;
	case S_IFSOCK:
		return PLAN_SOCKET;
	default:
		return PLAN_OTHER;
	}
}

/* ── Whole directories ── */

/* File systems whose directories list everything that can be found in them. Elsewhere (automounts, network and FUSE file
 * systems) a name may be found that is not listed. */
static bool lists_everything(int fd)
{
	static const uint32_t known[] = {EXT4_SUPER_MAGIC,     BTRFS_SUPER_MAGIC, XFS_MAGIC,
					 TMPFS_MAGIC,	       F2FS_SUPER_MAGIC,  BCACHEFS_MAGIC,
					 OVERLAYFS_SUPER_MAGIC};
	struct statfs st;
	if (fstatfs(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < AL_ARRAY_LEN(known); i++)
		if ((uint32_t)st.f_type == known[i])
			return true;
	return false;
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

static unsigned char small(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static uint32_t hash_small(const char *name)
{
	uint32_t h = 2166136261u;
	for (; *name; name++)
		h = (h ^ small(*name)) * 16777619u;
	return h;
}

static bool add_entry(struct host_fs_dir *d, const char *name, unsigned char type)
{
	if (d->n == MAX_ENTRIES || !ARRAY_ROOM(d->entries, d->n, d->cap, 64))
		return false;
	d->entries[d->n++] = (struct entry){d->names.len, hash_small(name), type};
	buf_add(&d->names, name, strlen(name) + 1);
	if (!is_ascii(name)) {
		d->foreign[small(name[0])] = true;
		d->foreign_first |= (unsigned char)name[0] >= 0x80;
	}
	return !d->names.failed;
}

/* As the kernel lays it out; readdir(3) would ask it for more than we need to know. */
struct kernel_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* False: not all of them. */
static bool add_entries(struct host_fs_dir *d, int fd)
{
	_Alignas(8) char bytes[16384];
	ssize_t n;
	while ((n = getdents64(fd, bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct kernel_entry *e = (const void *)(bytes + at);
			at += e->len;
			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0 && !add_entry(d, e->name, e->type))
				return false;
		}
	return n == 0;
}

static void read_dir(struct host_fs_dir *d)
{
	_cleanup_close_ int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->standing = ASKED_SINGLY;
	if (fd < 0 || !lists_everything(fd))
		return;
	if (add_entries(d, fd))
		d->standing = READ;
	else
		forget_entries(d);
}

/* Some directories ignore case, not only for ASCII. If the list has any name that could match, return false: the
 * caller asks the file system. */
static bool ask_list(const struct host_fs_dir *d, const char *name, enum plan_type *ret)
{
	uint32_t hash = hash_small(name);
	const struct entry *found = NULL;
	for (const struct entry *e = d->entries; e < d->entries + d->n; e++) {
		if (e->hash != hash)
			continue;
		if (found) /* names that differ in their case only, or a coincidence */
			return false;
		found = e;
	}
	*ret = PLAN_MISSING;
	if (!found)
		return !d->foreign[small(name[0])] && !d->foreign_first;
	if (strcmp(d->names.data + found->name, name) != 0 || (found->type != DT_DIR && found->type != DT_LNK))
		return false;
	*ret = found->type == DT_DIR ? PLAN_DIRECTORY : PLAN_LINK;
	return true;
}

static size_t bucket_of(const char *path, size_t len)
{
	size_t h = len;
	for (size_t i = len > 8 ? len - 8 : 0; i < len; i++) /* paths differ at their ends */
		h = h * 31 + (unsigned char)path[i];
	return h % HOST_FS_BUCKETS;
}

static struct host_fs_dir *find_dir(struct host_fs *w, const char *path, size_t len)
{
	size_t bucket = bucket_of(path, len);
	for (size_t i = w->buckets[bucket]; i; i = w->dirs[i - 1].next)
		if (w->dirs[i - 1].len == len && memcmp(w->dirs[i - 1].path, path, len) == 0)
			return &w->dirs[i - 1];
	if (!ARRAY_ROOM(w->dirs, w->n, w->cap, 64))
		return NULL;
	char *copy = strndup(path, len);
	if (!copy)
		return NULL;
	w->dirs[w->n] = (struct host_fs_dir){.path = copy, .len = len, .next = w->buckets[bucket]};
	w->buckets[bucket] = ++w->n;
	return &w->dirs[w->n - 1];
}

/* Remember what exists: several rules ask about it. Do not remember what is missing: it may appear. */
static enum plan_type look_once(struct host_fs_dir *d, const char *path, const char *name)
{
	for (size_t i = d->n_answers; i-- > 0;)
		if (strcmp(d->answers[i].name, name) == 0)
			return d->answers[i].type;
	enum plan_type found = look(path);
	if (found == PLAN_MISSING || found == PLAN_UNKNOWN)
		return found;
	char *copy = ARRAY_ROOM(d->answers, d->n_answers, d->cap_answers, 16) ? strdup(name) : NULL;
	if (copy) /* else it is asked again */
		d->answers[d->n_answers++] = (struct answer){copy, found};
	return found;
}

static enum plan_type type(const char *path, void *data)
{
	struct host_fs *w = data;
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : (size_t)(slash - path);
	struct host_fs_dir *d = path[1] ? find_dir(w, path, len) : NULL;
	enum plan_type found;
	if (!d) /* the root, or no memory to remember anything */
		return look(path);
	if (d->standing == UNKNOWN && d->questions == 0 && d->len > 1) {
		size_t i = (size_t)(d - w->dirs); /* the answer may move the table */
		bool missing = type(d->path, w) == PLAN_MISSING;
		d = &w->dirs[i];
		d->standing = missing ? MISSING : UNKNOWN;
	}
	if (d->standing == UNKNOWN && ++d->questions >= QUESTIONS)
		read_dir(d);
	if (d->standing == MISSING)
		return PLAN_MISSING;
	return d->standing == READ && ask_list(d, slash + 1, &found) ? found : look_once(d, path, slash + 1);
}

/* Without symlinks on the way a path is its own real path, and most of its components have been looked up before. */
static char *real(const char *path, void *data)
{
	_cleanup_free_ char *part = strdup(path);
	bool plain = part && path_is_normal(path);
	for (size_t len = plain ? strlen(part) : 0; plain && len > 1; len = (size_t)(strrchr(part, '/') - part)) {
		part[len] = '\0';
		enum plan_type t = type(part, data);
		plain = t == PLAN_DIRECTORY ||
			(strlen(path) == len && t != PLAN_LINK && t != PLAN_MISSING && t != PLAN_UNKNOWN);
	}
	return plain ? strdup(path) : realpath(path, NULL);
}

static char *read_link(const char *path, void *data)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof text);
	return n > 0 && n < (ssize_t)sizeof text ? strndup(text, (size_t)n) : NULL;
}

static int list(const char *path, struct strs *ret, void *data)
{
	struct host_fs_dir *d = find_dir(data, path, strlen(path));
	if (d && d->standing == READ) {
		for (size_t i = 0; i < d->n; i++)
			strs_add(ret, d->names.data + d->entries[i].name);
		return 0;
	}
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	errno = 0;
	for (struct dirent *e; (e = readdir(dir)); errno = 0)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strs_add(ret, e->d_name);
	int rc = -errno;
	(void)closedir(dir);
	return rc;
}

struct plan_world host_fs_view(struct host_fs *w)
{
	return (struct plan_world){.type = type, .real = real, .link = read_link, .list = list, .data = w};
}

/* ── The kernel ── */

static long read_setting(const char *path, long otherwise)
{
	char text[16] = {0};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strtol(text, NULL, 10) : otherwise;
}

/* As kallsyms_show_value() of the kernel, for who has no capabilities. */
bool host_fs_shows_kernel_addresses(void)
{
	return read_setting("/proc/sys/kernel/perf_event_paranoid", 2) <= 1 &&
	       read_setting("/proc/sys/kernel/kptr_restrict", 1) == 0;
}
