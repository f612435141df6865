/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/same_root.h"

#include "base/macros.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	return clock_gettime(id, &t) < 0 ? 0 : t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Device numbers depend on the order in which disks are found, so they are valid only until the next boot. */
static bool restarted_since(int64_t ns)
{
	return ns < clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
}

static uint32_t type_of(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
}

/* File systems without a disk of this machine, which get another device number each time they are mounted. Others that do (btrfs,
 * tmpfs, overlay) are left out: the top directory of each has the same inode number, so it would not tell them apart. */
static bool is_remote(uint32_t type)
{
	static const uint32_t types[] = {
		NFS_SUPER_MAGIC,  FUSE_SUPER_MAGIC, CIFS_SUPER_MAGIC,
		SMB2_SUPER_MAGIC, V9FS_MAGIC,	    0x00C36400 /* Ceph */,
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(types); i++)
		if (types[i] == type)
			return true;
	return false;
}

bool has_made_up_inodes(int fd)
{
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	uint32_t node[2]; /* high half first; then comes the generation */
	struct stat st;
	int mount;
	if (type_of(fd) != FUSE_SUPER_MAGIC || fstat(fd, &st) < 0 ||
	    name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH) < 0 ||
	    handle.head.handle_bytes < sizeof node)
		return false;
	/* The kernel's handle is the number by which the library knows the path. Where the library has no number from
	 * below, it shows this one as the inode. */
	memcpy(node, handle.head.f_handle, sizeof node);
	return ((uint64_t)node[0] << 32 | node[1]) == st.st_ino;
}

bool same_root(int fd, const struct stat *st, const struct same_root_key *key)
{
	bool anonymous = major(st->st_dev) == 0 && major(key->device) == 0;
	if (st->st_ino != key->inode)
		return anonymous && has_made_up_inodes(fd);
	return st->st_dev == key->device || restarted_since(key->read_ns) || (anonymous && is_remote(type_of(fd)));
}
