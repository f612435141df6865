/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/world.h"

#include "base/array.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* So many questions about one directory cost more than to read it. */
#define QUESTIONS 8
/* A directory this full is asked entry by entry. */
#define MAX_ENTRIES 2048
#define XFS_MAGIC 0x58465342
#define BCACHEFS_MAGIC 0xca451a4e

struct entry {
	char *name;
	unsigned char type; /* DT_*, of the file system below: something may be mounted over a file */
};

/* What was found when an entry was asked about by itself. */
struct answer {
	char *name;
	enum plan_type type;
};

enum standing { UNKNOWN, MISSING, ASKED_SINGLY, READ };

struct world_dir {
	char *path;
	size_t len;
	enum standing standing;
	unsigned questions;
	struct entry *entries; /* READ: sorted, as if all letters were small */
	size_t n, cap;
	bool foreign[256]; /* first bytes, in small letters, of names that are not ASCII */
	struct answer *answers;
	size_t n_answers, cap_answers;
};

static void forget_entries(struct world_dir *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->entries[i].name);
	free(d->entries);
	d->entries = NULL;
	d->n = d->cap = 0;
}

void world_done(struct world *w)
{
	for (size_t i = 0; i < w->n; i++) {
		forget_entries(&w->dirs[i]);
		for (size_t k = 0; k < w->dirs[i].n_answers; k++)
			free(w->dirs[i].answers[k].name);
		free(w->dirs[i].answers);
		free(w->dirs[i].path);
	}
	free(w->dirs);
	*w = (struct world)WORLD_INIT;
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

static int by_name(const void *a, const void *b)
{
	return strcasecmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool add_entry(struct world_dir *d, const struct dirent *e)
{
	if (d->n == MAX_ENTRIES)
		return false;
	if (!ARRAY_ROOM(d->entries, d->n, d->cap, 64))
		return false;
	char *name = strdup(e->d_name);
	if (!name)
		return false;
	d->entries[d->n++] = (struct entry){name, e->d_type};
	if (!is_ascii(name))
		d->foreign[small(name[0])] = true;
	return true;
}

static void read_dir(struct world_dir *d)
{
	bool whole = true;
	int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 && lists_everything(fd) ? fdopendir(fd) : NULL;
	d->standing = ASKED_SINGLY;
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	errno = 0;
	for (struct dirent *e; whole && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			whole = add_entry(d, e);
	whole = whole && errno == 0;
	(void)closedir(dir);
	if (!whole) {
		forget_entries(d);
		return;
	}
	if (d->n > 1)
		qsort(d->entries, d->n, sizeof *d->entries, by_name);
	d->standing = READ;
}

/* In some directories letters of either case are the same name, and not only those of ASCII: where the list has anything
 * that may be meant, the file system is asked. Returns false then. */
static bool ask_list(const struct world_dir *d, const char *name, enum plan_type *ret)
{
	struct entry key = {.name = (char *)(uintptr_t)name};
	const struct entry *e = d->n ? bsearch(&key, d->entries, d->n, sizeof key, by_name) : NULL;
	if (!e) {
		bool meant = d->foreign[small(name[0])];
		for (size_t i = 0x80; i < AL_ARRAY_LEN(d->foreign); i++)
			meant |= d->foreign[i];
		*ret = PLAN_MISSING;
		return !meant;
	}
	if (strcmp(e->name, name) != 0 || (e->type != DT_DIR && e->type != DT_LNK))
		return false;
	*ret = e->type == DT_DIR ? PLAN_DIRECTORY : PLAN_LINK;
	return true;
}

static struct world_dir *find_dir(struct world *w, const char *path, size_t len)
{
	for (size_t k = 0; k < w->n; k++) {
		size_t i = (w->last + w->n - k) % w->n;
		struct world_dir *d = &w->dirs[i];
		if (d->len == len && memcmp(d->path, path, len) == 0) {
			w->last = i;
			return d;
		}
	}
	if (!ARRAY_ROOM(w->dirs, w->n, w->cap, 64))
		return NULL;
	char *copy = strndup(path, len);
	if (!copy)
		return NULL;
	w->dirs[w->n] = (struct world_dir){.path = copy, .len = len};
	w->last = w->n++;
	return &w->dirs[w->last];
}

/* What is there is asked about once, though several rules are about it; what is not may come to be and is asked about again. */
static enum plan_type look_once(struct world_dir *d, const char *path, const char *name)
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
	struct world *w = data;
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : (size_t)(slash - path);
	struct world_dir *d = path[1] ? find_dir(w, path, len) : NULL;
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

/* Where no symlink is on the way a path is its own real path; what is on the way has mostly been looked at before. */
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
	struct world_dir *d = find_dir(data, path, strlen(path));
	if (d && d->standing == READ) {
		for (size_t i = 0; i < d->n; i++)
			strs_add(ret, d->entries[i].name);
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

struct plan_world world_view(struct world *w)
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
bool world_shows_kernel_addresses(void)
{
	return read_setting("/proc/sys/kernel/perf_event_paranoid", 2) <= 1 &&
	       read_setting("/proc/sys/kernel/kptr_restrict", 1) == 0;
}
