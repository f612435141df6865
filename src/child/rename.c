/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/rename.h"

#include "child/caller.h"
#include "child/missing.h"
#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

#define OVERFLOW_ID 65534 /* the id that stands for every id unknown to the sandbox */
#define MAX_DEPTH 400	  /* nested directories moved in one call */
#define LIST_BYTES 4096
#define DIRECTORY_TYPE 4  /* DT_DIR */
#define XATTR_BYTES 65536 /* the most there can be */

/* ── The call, as the command made it ── */

struct call {
	int old_dir, new_dir; /* opened; AT_FDCWD if the path is absolute; one descriptor if they are the same */
	char old_path[PATH_MAX], new_path[PATH_MAX];
	unsigned flags;
};

/* Where the two paths begin. Opening a directory through /proc costs as much as a rename: never more than needed. */
static long open_bases(int pid, struct call *c, int old_fd, int new_fd)
{
	int old_is_absolute = c->old_path[0] == '/', new_is_absolute = c->new_path[0] == '/';
	c->old_dir = old_is_absolute ? AT_FDCWD : (int)caller_open_base(pid, old_fd);
	if (new_is_absolute)
		c->new_dir = AT_FDCWD;
	else if (!old_is_absolute && old_fd == new_fd)
		c->new_dir = c->old_dir;
	else
		c->new_dir = (int)caller_open_base(pid, new_fd);
	if (c->old_dir < 0 && !old_is_absolute)
		return c->old_dir;
	return c->new_dir < 0 && !new_is_absolute ? c->new_dir : 0;
}

static void close_bases(const struct call *c)
{
	if (c->old_dir >= 0)
		(void)r_close(c->old_dir);
	if (c->new_dir >= 0 && c->new_dir != c->old_dir)
		(void)r_close(c->new_dir);
}

/* rename, renameat and renameat2 in one form. Returns -errno if the call cannot be read: then the kernel does it. */
static long read_call(const struct seccomp_notif *n, int nested, struct call *c)
{
	const __u64 *a = n->data.args;
	int pid = (int)n->pid, at = n->data.nr == __NR_renameat || n->data.nr == __NR_renameat2;
	const uint64_t address[2] = {at ? a[1] : a[0], at ? a[3] : a[1]};
	char *paths[2] = {c->old_path, c->new_path};
	c->flags = n->data.nr == __NR_renameat2 ? (unsigned)a[4] : 0;
	c->old_dir = c->new_dir = -1;
	if (nested && !caller_shares_mounts(pid))
		return -EXDEV;
	long rc = caller_read_strings(pid, address, paths);
	return rc < 0 ? rc : open_bases(pid, c, at ? (int)a[0] : AT_FDCWD, at ? (int)a[2] : AT_FDCWD);
}

static long rename_at(int old_dir, const char *old, int new_dir, const char *new, unsigned flags)
{
	return raw_call5(__NR_renameat2, old_dir, old, new_dir, new, flags);
}

/* ── Moving a directory entry by entry ── */

struct renamed_entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* A new directory inherits its parent's default ACLs; a renamed one does not. */
static void copy_xattrs(int from, int to)
{
	static char names[XATTR_BYTES], value[XATTR_BYTES]; /* not on the stack of a deep tree */
	(void)raw_call2(__NR_fremovexattr, to, "system.posix_acl_access");
	(void)raw_call2(__NR_fremovexattr, to, "system.posix_acl_default");
	long n = raw_call3(__NR_flistxattr, from, names, sizeof names);
	for (long at = 0; at < n;) {
		const char *name = names + at;
		long len = raw_call4(__NR_fgetxattr, from, name, value, sizeof value);
		if (len >= 0)
			(void)raw_call5(__NR_fsetxattr, to, name, value, len, 0);
		while (names[at++])
			;
	}
}

static long move_directory(int old_dir, const char *old, int new_dir, const char *new, int depth);

/* A second name instead of a rename: for a rename ext4 makes an inode for each whiteout that the overlay leaves, and removes it
 * with the directory; for a deletion the overlay links all whiteouts to one. Inodes are what takes long on a disk where many
 * were made and removed lately. Refused where the file belongs to another user. */
static long move_by_link(int old_dir, int new_dir, const char *name)
{
	long rc = raw_call5(__NR_linkat, old_dir, name, new_dir, name, 0);
	if (rc < 0)
		return rc;
	rc = raw_call3(__NR_unlinkat, old_dir, name, 0);
	if (rc < 0)
		(void)raw_call3(__NR_unlinkat, new_dir, name, 0);
	return rc;
}

static long move_entry(int old_dir, int new_dir, const char *name, int is_dir, int depth)
{
	if (!is_dir && move_by_link(old_dir, new_dir, name) == 0)
		return 0;
	long rc = rename_at(old_dir, name, new_dir, name, RENAME_NOREPLACE);
	/* EACCES: a directory that gets another parent must be writable, but as part of a tree it need not be. */
	if (rc != -EXDEV && rc != -EACCES)
		return rc;
	long by_hand = move_directory(old_dir, name, new_dir, name, depth + 1);
	return by_hand == -EXDEV ? rc : by_hand;
}

/* Reads the directory once and moves what it lists. Returns how many, or -errno. */
static long move_listed(int old_dir, int new_dir, int depth)
{
	char list[LIST_BYTES] __attribute__((aligned(8)));
	long moved = 0, n;
	if (raw_call3(__NR_lseek, old_dir, 0, 0) < 0)
		return -EIO;
	while ((n = raw_call3(__NR_getdents64, old_dir, list, sizeof list)) > 0) {
		for (long at = 0; at < n;) {
			const struct renamed_entry *e = (const void *)(list + at);
			at += e->reclen;
			if (is_dots(e->name))
				continue;
			long rc = move_entry(old_dir, new_dir, e->name, e->type == DIRECTORY_TYPE, depth);
			if (rc < 0)
				return rc;
			moved++;
		}
	}
	return n < 0 ? n : moved;
}

static long move_content(int from, int to, int depth)
{
	long n;
	do /* again until nothing is left: the list may be outdated */
		n = move_listed(from, to, depth);
	while (n > 0);
	return n;
}

static void give_times(int fd, const struct statx *st)
{
	struct {
		int64_t sec, nsec;
	} times[2] = {{st->stx_atime.tv_sec, st->stx_atime.tv_nsec}, {st->stx_mtime.tv_sec, st->stx_mtime.tv_nsec}};
	(void)raw_call4(__NR_utimensat, fd, 0, times, 0);
}

/* Only ids of the sandbox, and only if they are not ours anyway. */
static void give_owner(int fd, const struct statx *st)
{
	struct statx now;
	if (st->stx_uid == OVERFLOW_ID || st->stx_gid == OVERFLOW_ID ||
	    raw_call5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &now) < 0)
		return;
	if (now.stx_uid != st->stx_uid || now.stx_gid != st->stx_gid)
		(void)raw_call3(__NR_fchown, fd, st->stx_uid, st->stx_gid);
}

/* Fills the new directory from the old one, and copies the old one's attributes last. */
static long fill_directory(int from, int new_dir, const char *new, const struct statx *st, int depth)
{
	long rc = raw_call3(__NR_mkdirat, new_dir, new, 0700);
	long to =
		rc < 0 ? rc : raw_call4(__NR_openat, new_dir, new, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (to < 0)
		return to;
	copy_xattrs(from, (int)to);
	(void)raw_call2(__NR_fchmod, to, 0700); /* a copied ACL may have removed that permission */
	rc = move_content(from, (int)to, depth);
	if (rc < 0) { /* all or nothing, as far as possible */
		(void)move_content((int)to, from, depth);
		(void)r_close((int)to);
		(void)raw_call3(__NR_unlinkat, new_dir, new, 0x200);
		return rc;
	}
	give_owner((int)to, st);
	(void)raw_call2(__NR_fchmod, to, st->stx_mode & 07777);
	give_times((int)to, st);
	(void)r_close((int)to);
	return rc;
}

/* rename(2) needs no permission on the directory itself, but taking its entries out does: its owner gets it for a
 * moment. */
static long move_directory(int old_dir, const char *old, int new_dir, const char *new, int depth)
{
	struct statx st;
	if (depth > MAX_DEPTH)
		return -EXDEV;
	long rc = raw_call5(__NR_statx, old_dir, old, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
	if (rc < 0)
		return rc;
	if ((st.stx_mode & S_IFMT) != S_IFDIR)
		return -EXDEV;
	int given = st.stx_uid != OVERFLOW_ID && st.stx_uid != (uint32_t)raw_call0(__NR_geteuid);
	int closed = (st.stx_mode & 0700) != 0700;
	if (given) /* given away by root's command: root takes it back, which it may, while it is moved */
		(void)raw_call5(__NR_fchownat, old_dir, old, 0, -1, AT_SYMLINK_NOFOLLOW);
	if (closed)
		(void)raw_call3(__NR_fchmodat, old_dir, old, (st.stx_mode & 07777) | 0700);
	long from = raw_call4(__NR_openat, old_dir, old, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	rc = from < 0 ? from : fill_directory((int)from, new_dir, new, &st, depth);
	if (from >= 0)
		(void)r_close((int)from);
	if (rc == 0)
		return raw_call3(__NR_unlinkat, old_dir, old, 0x200 /* AT_REMOVEDIR */);
	if (given)
		(void)raw_call5(__NR_fchownat, old_dir, old, st.stx_uid, -1, AT_SYMLINK_NOFOLLOW);
	if (closed)
		(void)raw_call3(__NR_fchmodat, old_dir, old, st.stx_mode & 07777);
	return rc;
}

/* rename(2)'s own rules, in cases where the overlay gives up before it checks them. */
static long move_by_hand(struct call *c)
{
	struct statx old, new;
	if (c->flags & ~(unsigned)RENAME_NOREPLACE)
		return -EXDEV;
	if (raw_call5(__NR_statx, c->old_dir, c->old_path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &old) < 0 ||
	    (old.stx_mode & S_IFMT) != S_IFDIR)
		return -EXDEV;
	long rc = raw_call5(__NR_statx, c->new_dir, c->new_path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &new);
	if (rc == 0) {
		if (c->flags & RENAME_NOREPLACE)
			return -EEXIST;
		rc = raw_call3(__NR_unlinkat, c->new_dir, c->new_path, 0x200);
		if (rc < 0)
			return rc; /* not empty, or not a directory */
	} else if (rc != -ENOENT)
		return rc;
	return move_directory(c->old_dir, c->old_path, c->new_dir, c->new_path, 0);
}

#define OMIT_TIME ((1L << 30) - 2)

static long set_atime(int dir, const char *path, int64_t sec, int64_t nsec)
{
	struct {
		int64_t sec, nsec;
	} times[2] = {{sec, nsec}, {0, OMIT_TIME}};
	return raw_call4(__NR_utimensat, dir, path, times, AT_SYMLINK_NOFOLLOW);
}

static long stat_at(int dir, const char *path, struct statx *ret)
{
	return raw_call5(__NR_statx, dir, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, ret);
}

/* Renaming one name of a file over another name of it: rename(2) does nothing, but an overlay that shows two inodes
 * for the file returns ESTALE. The access time tells whether it is one file: set it here, see it there. */
static long over_itself(const struct call *c)
{
	struct statx old, new, again;
	if (c->flags || stat_at(c->old_dir, c->old_path, &old) < 0 || stat_at(c->new_dir, c->new_path, &new) < 0 ||
	    (old.stx_mode & S_IFMT) == S_IFDIR || old.stx_nlink < 2 || old.stx_nlink != new.stx_nlink)
		return -ESTALE;
	int64_t mark = new.stx_atime.tv_sec + 1, nsec = (new.stx_atime.tv_nsec + 1) % 1000000000;
	if (set_atime(c->old_dir, c->old_path, mark, nsec) < 0)
		return -ESTALE;
	int same = stat_at(c->new_dir, c->new_path, &again) == 0 && again.stx_atime.tv_sec == mark &&
		   (int64_t)again.stx_atime.tv_nsec == nsec;
	(void)set_atime(c->old_dir, c->old_path, old.stx_atime.tv_sec, old.stx_atime.tv_nsec);
	return same ? 0 : -ESTALE;
}

void rename_answer(const struct seccomp_notif *request, int nested, struct seccomp_notif_resp *answer)
{
	struct call c;
	long rc = read_call(request, nested, &c);
	if (rc < 0)
		answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE; /* not ours to read: the kernel decides */
	else {
		rc = rename_at(c.old_dir, c.old_path, c.new_dir, c.new_path, c.flags);
		if (rc == -EXDEV)
			rc = move_by_hand(&c);
		if (rc == -ESTALE)
			rc = over_itself(&c);
		if (rc == -EROFS && missing_name(c.old_dir, c.old_path))
			rc = -ENOENT; /* as outside, see missing.h */
		answer->error = (int32_t)rc;
	}
	close_bases(&c);
}
