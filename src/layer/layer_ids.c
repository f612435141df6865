/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ids of a sandbox of root in its layer: the owner of an entry, and the users in its ACLs. The kernel has stored them
 * shifted (base/other_ids.h). Here they become the ids that the command used. */
#include "layer/upper.h"

#include "base/other_ids.h"
#include "layer/xattrs.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

/* An ACL as an attribute: this version, then entries of eight bytes. */
#define ACL_VERSION 2
#define ACL_HEAD 4
#define ACL_ENTRY 8
#define ACL_ID_AT 4 /* in an entry; entries without a user or group have id -1, which is not shifted */

/* True if the value contained a shifted id; it is converted now. */
static bool settle_acl(struct buf *acl)
{
	bool changed = false;
	uint32_t version = 0;
	if (acl->len < ACL_HEAD)
		return false;
	memcpy(&version, acl->data, sizeof version);
	if (le32toh(version) != ACL_VERSION)
		return false;
	for (size_t at = ACL_HEAD; at + ACL_ENTRY <= acl->len; at += ACL_ENTRY) {
		uint32_t id;
		memcpy(&id, acl->data + at + ACL_ID_AT, sizeof id);
		if (!ids_is_shifted(le32toh(id)))
			continue;
		id = htole32(ids_meant(le32toh(id)));
		memcpy(acl->data + at + ACL_ID_AT, &id, sizeof id);
		changed = true;
	}
	return changed;
}

static int settle_acls(int dirfd, const char *name)
{
	static const char *const kinds[] = {"system.posix_acl_access", "system.posix_acl_default"};
	_cleanup_buf_ struct buf acl = BUF_INIT;
	_cleanup_close_ int pinned = -EBADF;
	for (size_t i = 0; i < AL_ARRAY_LEN(kinds); i++) {
		int rc = xattrs_get(dirfd, name, kinds[i], &acl);
		if (rc == -ENODATA || rc == -EOPNOTSUPP || (rc == 0 && !settle_acl(&acl)))
			continue;
		if (rc == 0 && pinned < 0)
			pinned = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		rc = rc < 0 ? rc : pinned < 0 ? -errno : xattrs_set(pinned, kinds[i], acl.data, acl.len);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int settle_owner(int dirfd, const char *name, struct stat *st)
{
	mode_t setid = st->st_mode & (S_ISUID | S_ISGID);
	if (fchownat(dirfd, name, ids_meant(st->st_uid), ids_meant(st->st_gid), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st->st_mode))
		st->st_mode |= setid; /* chown(2) removes them, and the report says so */
	return 1;
}

int upper_settle_ids(int dirfd, const char *name, struct stat *st)
{
	if (geteuid() != 0)
		return 0; /* no other user has such a sandbox */
	bool is_given = ids_is_shifted(st->st_uid) || ids_is_shifted(st->st_gid);
	int rc = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ? settle_acls(dirfd, name) : 0;
	return rc < 0 || !is_given ? rc : settle_owner(dirfd, name, st);
}
