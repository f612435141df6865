/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An object is loose (its own file) or in a pack. Git looks into the packs first; here the order does not matter,
 * because an object whose content does not match its name is rejected. */
#include "git/objects.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_BYTES ((uint64_t)192 << 20)
#define MAX_OBJECTS 200000 /* each link of a delta chain counts */
#define LOOSE_HEAD 64	   /* bytes of "commit 123\0" */

void git_objects_init(struct git_objects *o, const struct git_files *files, size_t hash)
{
	*o = (struct git_objects){.files = files, .hash = hash, .bytes_left = MAX_BYTES, .objects_left = MAX_OBJECTS};
}

void git_objects_done(struct git_objects *o)
{
	git_packs_done(o);
}

static const char *const words[] = {"", "commit", "tree", "blob", "tag"};

/* Parses "commit 123" and NUL. Returns its length, 0 if it is not a header. */
static size_t parse_head(const struct buf *head, enum git_type *ret_type, size_t *ret_size)
{
	const char *nul = memchr(buf_str(head), '\0', head->len);
	const char *blank = nul ? memchr(head->data, ' ', (size_t)(nul - head->data)) : NULL;
	if (!blank || blank + 1 == nul || nul - blank > 12)
		return 0;
	*ret_size = 0;
	for (const char *p = blank + 1; p < nul; p++) {
		if (*p < '0' || *p > '9')
			return 0;
		*ret_size = *ret_size * 10 + (size_t)(*p - '0');
	}
	for (unsigned type = GIT_COMMIT; type <= GIT_TAG; type++)
		if (strlen(words[type]) == (size_t)(blank - head->data) &&
		    memcmp(words[type], head->data, (size_t)(blank - head->data)) == 0) {
			*ret_type = (enum git_type)type;
			return (size_t)(nul - head->data) + 1;
		}
	return 0;
}

static int open_loose(struct git_objects *o, const struct git_oid *oid)
{
	char hex[2 * GIT_SHA256 + 1], path[96];
	git_oid_hex(oid, o->hash, hex);
	(void)snprintf(path, sizeof path, "objects/%.2s/%s", hex, hex + 2);
	return o->files->open(o->files->context, path);
}

static int read_loose(struct git_objects *o, const struct git_oid *oid, enum git_type *ret_type, struct buf *ret)
{
	_cleanup_buf_ struct buf head = BUF_INIT;
	size_t size = 0;
	_cleanup_close_ int fd = open_loose(o, oid);
	if (fd < 0)
		return fd;
	const struct git_stream from = {.fd = fd};
	int rc = git_inflate_some(&from, LOOSE_HEAD, &head);
	if (rc < 0)
		return rc;
	size_t n = parse_head(&head, ret_type, &size);
	if (n == 0)
		return -EBADMSG;
	rc = git_inflate(o, &from, n + size, ret);
	if (rc == 0) {
		memmove(ret->data, ret->data + n, size + 1);
		ret->len = size;
	}
	return rc;
}

bool git_object_is(enum git_type type, const struct buf *text, size_t hash, const struct git_oid *oid)
{
	struct git_oid is;
	git_oid_of(words[type], buf_str(text), text->len, hash, &is);
	return git_oid_compare(&is, oid) == 0;
}

bool git_object_is_there(struct git_objects *o, const struct git_oid *oid)
{
	if (git_packs_with(o, oid) > 0)
		return true;
	_cleanup_close_ int fd = open_loose(o, oid);
	return fd >= 0;
}

int git_object_check_loose(struct git_objects *o, const struct git_oid *oid)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	enum git_type type = GIT_ANY;
	int rc = read_loose(o, oid, &type, &text);
	return rc < 0 ? rc : git_object_is(type, &text, o->hash, oid) ? 0 : -EBADMSG;
}

static int read_any(struct git_objects *o, const struct git_oid *oid, enum git_type *ret_type, struct buf *ret)
{
	int rc = read_loose(o, oid, ret_type, ret);
	if (rc == -ENOENT) {
		buf_reset(ret);
		rc = git_pack_read(o, oid, ret_type, ret);
	}
	if (rc < 0)
		return rc;
	return git_object_is(*ret_type, ret, o->hash, oid) ? 0 : -EBADMSG;
}

int git_object_read(struct git_objects *o, const struct git_oid *oid, enum git_type type, enum git_type *ret_type,
		    struct buf *ret)
{
	enum git_type is = GIT_ANY;
	buf_reset(ret);
	if (o->objects_left == 0)
		return -EDQUOT;
	o->objects_left--;
	int rc = read_any(o, oid, &is, ret);
	if (rc == 0 && type != GIT_ANY && is != type)
		rc = -EBADMSG;
	if (ret_type)
		*ret_type = is;
	return ret->failed ? -ENOMEM : rc;
}
