/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the entries of an overlay's upper directory mean.
 *
 *   struct upper_dir dir;
 *   struct upper_entry entry;
 *   upper_dir_read(fd, NULL, &dir);                    once per directory
 *   upper_entry_read(fd, name, &st, &dir, &entry);     for each entry that is not a directory
 *   if (entry.whiteout) …the live entry of that name is deleted…
 *
 * The upper directory was filled by a hostile command through the kernel's overlay: the kernel's marks in it are the
 * kernel's (a command cannot make them through the overlay), everything else is the command's.
 * All return ≥ 0 or -errno: the caller knows the words.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct upper_dir {
	bool opaque;	/* hides everything in the live directory */
	bool whiteouts; /* empty files in it with overlay's whiteout xattr are whiteouts */
	bool copied_up; /* made from a live directory */
};

/* Reads the directory name in fd, or fd itself (also O_PATH) if name is NULL; it must be readable (see upper_unlock).
 */
int upper_dir_read(int fd, const char *name, struct upper_dir *ret);

struct upper_entry {
	bool whiteout;	/* deleted; the other fields mean nothing then */
	bool copied_up; /* copied up from a live entry, under this name or an earlier one */
};

/* st is the entry's own; dir describes its directory. */
int upper_entry_read(int dirfd, const char *name, const struct stat *st, const struct upper_dir *dir,
		     struct upper_entry *ret);

/* ── Overlay's own xattrs ── */

/* user.overlay.* and trusted.overlay.*: never compared, never applied. */
bool upper_owns_xattr(const char *attribute);

/* Removes them from an entry that leaves the layer; fd may be O_PATH. Keeps mode and mtime. Returns how many there
 * were. */
int upper_strip_xattrs(int fd);

/* ── Ids ── */

/* Gives an entry, and the users in its ACLs, the ids that root's command used (base/other_ids.h). 1: its owner was changed,
 * and st is updated; 0: nothing to do. */
int upper_settle_ids(int dirfd, const char *name, struct stat *st);

/* ── Access ── */

/* An entry of ours may have any mode; its owner may change that. If it cannot be read (and, for a directory,
 * searched), gives its owner these bits and returns 1: upper_relock restores the mode of st. 0: not needed. */
int upper_unlock(int dirfd, const char *name, const struct stat *st);
int upper_relock(int dirfd, const char *name, const struct stat *st);
/* For a caller that must restore the mode even if resources run out: exactly this entry, O_PATH, and its mode. */
int upper_pin(int dirfd, const char *name, const struct stat *st);
int upper_chmod(int pinned_fd, mode_t mode);

/* The directory of the upper that holds path, like fs_open_parent, whatever the modes on the way: closed directories
 * are opened up and stay so. Only after the scan, which has recorded the real modes. */
int upper_open_parent(int upper_fd, const char *path, const char **ret_name);

/* Opens a regular file of the upper for reading, whatever its mode, which stays the same. -EINVAL: not a regular file.
 */
int upper_open_file(int dirfd, const char *name);
int upper_open_known(int dirfd, const char *name, const struct stat *known); /* as open_known_at */
