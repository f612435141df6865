/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times and sizes alone decide nothing here: a command can set every time back, so equal is what has equal bytes. */
#include "change/scan/compare.h"

#include "layer/open.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define CHUNK ((size_t)128 << 10)

void compare_done(struct compare *c)
{
	base_freep(&c->chunks);
	for (size_t i = 0; i < 2; i++) {
		buf_done(&c->names[i]);
		buf_done(&c->values[i]);
	}
}

/* ── Content ── */

/* Where the next data begins, size when only a hole is left. A file system that knows no holes has data everywhere; what
 * is read in one go is not worth asking about. */
static uint64_t next_data(int fd, uint64_t at, uint64_t size)
{
	if (size <= CHUNK)
		return at;
	off_t found = lseek(fd, (off_t)at, SEEK_DATA);
	if (found >= 0)
		return AL_MIN((uint64_t)found, size);
	return errno == ENXIO ? size : at;
}

/* Reads len bytes; fewer mean the file ended. */
static ssize_t read_chunk(int fd, char *to, size_t len, uint64_t at)
{
	size_t done = 0;
	while (done < len) {
		ssize_t n = pread(fd, to + done, len - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int compare_chunk(struct compare *c, int a, int b, uint64_t at, size_t len, int *ret_errno)
{
	char *x = c->chunks, *y = c->chunks + CHUNK;
	ssize_t n = read_chunk(a, x, len, at);
	if (n < 0)
		return (int)n;
	ssize_t m = read_chunk(b, y, len, at);
	if (m < 0)
		*ret_errno = (int)-m;
	return n == m && memcmp(x, y, (size_t)n) == 0;
}

static int make_chunks(struct compare *c)
{
	if (!c->chunks)
		c->chunks = malloc(2 * CHUNK);
	return c->chunks ? 0 : -ENOMEM;
}

int compare_files(struct compare *c, int a, int b, uint64_t size, int *ret_errno)
{
	int rc = make_chunks(c);
	if (rc < 0)
		return rc;
	for (uint64_t at = 0; at < size;) {
		at = AL_MIN(next_data(a, at, size), next_data(b, at, size));
		size_t len = (size_t)AL_MIN(size - at, (uint64_t)CHUNK);
		rc = len ? compare_chunk(c, a, b, at, len, ret_errno) : 1;
		if (rc <= 0)
			return rc;
		at += len;
	}
	return 1;
}

/* ── Fingerprints ── */

/* Quick, and not meant to withstand anybody: equal fingerprints are followed by a comparison. */
static uint64_t mix(uint64_t h, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i += sizeof h) {
		uint64_t word = 0;
		memcpy(&word, data + i, AL_MIN(len - i, sizeof word));
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h;
}

static bool is_zero(const char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Mixes the part of the file in; a part of zeros counts like a hole, which is skipped. */
static int mix_part(struct compare *c, int fd, uint64_t at, size_t len, uint64_t *h)
{
	ssize_t n = read_chunk(fd, c->chunks, len, at);
	if (n < 0)
		return (int)n;
	if (!is_zero(c->chunks, (size_t)n)) {
		*h = mix(*h, (const char *)&at, sizeof at);
		*h = mix(*h, c->chunks, (size_t)n);
	}
	return 0;
}

int compare_fingerprint(struct compare *c, int fd, uint64_t size, bool whole, uint64_t *ret)
{
	uint64_t h = size;
	int rc = make_chunks(c);
	if (rc == 0 && !whole) {
		size_t len = (size_t)AL_MIN(size, (uint64_t)COMPARE_END_SIZE);
		rc = mix_part(c, fd, 0, len, &h);
		rc = rc < 0 || size == len ? rc : mix_part(c, fd, size - len, len, &h);
	}
	for (uint64_t at = 0; rc == 0 && whole && at < size; at += CHUNK) {
		at = next_data(fd, at, size) & ~(uint64_t)(CHUNK - 1); /* whole chunks, wherever a hole ends */
		rc = at < size ? mix_part(c, fd, at, (size_t)AL_MIN(size - at, (uint64_t)CHUNK), &h) : 0;
	}
	*ret = h;
	return rc;
}

/* ── Entries ── */

static int file_content(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
			struct comparison *ret)
{
	if (upper->st->st_size != live->st->st_size) {
		ret->differs |= DIFFERS_CONTENT;
		return 0;
	}
	if (upper->st->st_size == 0)
		return 0;
	_cleanup_close_ int b = open_known_at(live->dirfd, live->name, live->st);
	if (b == -EMFILE || b == -ENFILE || b == -ENOMEM)
		return b; /* our own lack says nothing about the file */
	if (b < 0) {
		ret->live_errno = -b;
		ret->differs |= DIFFERS_CONTENT;
		return 0;
	}
	_cleanup_close_ int a = upper_open_known(upper->dirfd, upper->name, upper->st);
	if (a < 0)
		return a;
	int same = compare_files(c, a, b, (uint64_t)upper->st->st_size, &ret->live_errno);
	if (same == 0)
		ret->differs |= DIFFERS_CONTENT;
	return AL_MIN(same, 0);
}

static int link_content(const struct compare_side *upper, const struct compare_side *live, struct comparison *ret)
{
	char x[PATH_MAX], y[PATH_MAX];
	ssize_t n = readlinkat(upper->dirfd, upper->name, x, sizeof x);
	if (n < 0)
		return -errno;
	ssize_t m = readlinkat(live->dirfd, live->name, y, sizeof y);
	if (m < 0)
		ret->live_errno = errno;
	if (n != m || memcmp(x, y, (size_t)n) != 0)
		ret->differs |= DIFFERS_CONTENT;
	return 0;
}

static int content(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
		   struct comparison *ret)
{
	if (S_ISREG(upper->st->st_mode))
		return file_content(c, upper, live, ret);
	return S_ISLNK(upper->st->st_mode) ? link_content(upper, live, ret) : 0;
}

/* ── Attributes ── */

/* Those that survive an apply; security.* and trusted.* are the system's. */
static bool counts(const char *attribute)
{
	if (strncmp(attribute, "user.", 5) == 0)
		return !upper_owns_xattr(attribute);
	return strcmp(attribute, "system.posix_acl_access") == 0 || strcmp(attribute, "system.posix_acl_default") == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keeps in the list only the names that count. Returns how many. */
static size_t keep_counting(struct buf *list)
{
	size_t n = 0, kept = 0;
	for (size_t at = 0, len; at < list->len; at += len) {
		len = strlen(list->data + at) + 1;
		if (!counts(list->data + at))
			continue;
		memmove(list->data + kept, list->data + at, len);
		kept += len;
		n++;
	}
	list->len = kept;
	return n;
}

/* The names of a list in order. NULL on out of memory; the caller frees. */
static const char **sorted(const struct buf *list, size_t n)
{
	const char **v = calloc(n, sizeof *v);
	size_t i = 0;
	for (size_t at = 0; v && at < list->len; at += strlen(list->data + at) + 1)
		v[i++] = list->data + at;
	if (v)
		qsort(v, n, sizeof *v, compare_names);
	return v;
}

/* 1: same. */
static int same_value(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
		      const char *attribute, struct comparison *ret)
{
	int rc = xattrs_get(upper->dirfd, upper->name, attribute, &c->values[0]);
	if (rc < 0)
		return rc;
	rc = xattrs_get(live->dirfd, live->name, attribute, &c->values[1]);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		ret->live_errno = -rc;
		return 0;
	}
	return c->values[0].len == c->values[1].len &&
	       memcmp(c->values[0].data, c->values[1].data, c->values[0].len) == 0;
}

/* Both lists have n names. 1: all are the same, with the same values. */
static int same_attributes(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
			   size_t n, struct comparison *ret)
{
	_cleanup_free_ const char **a = sorted(&c->names[0], n), **b = sorted(&c->names[1], n);
	if (!a || !b)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int rc = strcmp(a[i], b[i]) == 0 ? same_value(c, upper, live, a[i], ret) : 0;
		if (rc <= 0)
			return rc;
	}
	return 1;
}

static int attributes(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
		      struct comparison *ret)
{
	if (!S_ISREG(upper->st->st_mode) && !S_ISDIR(upper->st->st_mode))
		return 0; /* nothing else can have any that count */
	int rc = xattrs_list(upper->dirfd, upper->name, &c->names[0]);
	if (rc < 0)
		return rc;
	rc = xattrs_list(live->dirfd, live->name, &c->names[1]);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		ret->live_errno = -rc;
	size_t n = keep_counting(&c->names[0]), m = keep_counting(&c->names[1]);
	rc = n == m && rc == 0 ? (n ? same_attributes(c, upper, live, n, ret) : 1) : 0;
	if (rc == 0)
		ret->differs |= DIFFERS_XATTR;
	return AL_MIN(rc, 0);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int compare_entries(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
		    struct comparison *ret)
{
	*ret = (struct comparison){0};
	if (!S_ISLNK(upper->st->st_mode) && (upper->st->st_mode & 07777) != (live->st->st_mode & 07777))
		ret->differs |= DIFFERS_MODE;
	if (!same_time(upper->st->st_mtim, live->st->st_mtim))
		ret->differs |= DIFFERS_MTIME;
	if (c->owners && (upper->st->st_uid != live->st->st_uid || upper->st->st_gid != live->st->st_gid))
		ret->differs |= DIFFERS_OWNER;
	int rc = content(c, upper, live, ret);
	/* Attributes can only add to what is known, but for a directory whose time may be a mere consequence. */
	bool decided = ret->differs & (S_ISDIR(upper->st->st_mode) ? DIFFERS_MODE | DIFFERS_OWNER : ~0u);
	return rc < 0 || decided ? rc : attributes(c, upper, live, ret);
}
