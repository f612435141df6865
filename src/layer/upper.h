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
	bool opaque;	/* hides everything the live directory has */
	bool whiteouts; /* empty files with overlay's whiteout xattr in it are whiteouts */
	bool copied_up; /* made from a live directory */
};

/* The directory name in fd, or with NULL fd itself, also O_PATH; it must be readable (see upper_unlock). */
int upper_dir_read(int fd, const char *name, struct upper_dir *ret);

struct upper_entry {
	bool whiteout;	/* deleted; nothing else holds then */
	bool copied_up; /* made from a live entry, of this name or of another it had before */
};

/* st is the entry's own; dir is what its directory says. */
int upper_entry_read(int dirfd, const char *name, const struct stat *st, const struct upper_dir *dir,
		     struct upper_entry *ret);

/* ── Overlay's own xattrs ── */

/* user.overlay.* and trusted.overlay.*: never compared, never applied. */
bool upper_owns_xattr(const char *attribute);

/* Removes them from what is to leave the layer; fd may be O_PATH. Mode and mtime stay. Returns how many there were. */
int upper_strip_xattrs(int fd);

/* ── Ids ── */

/* Gives an entry, and those its ACLs name, the ids that the command of root's meant (base/ids.h). 1: its owner was changed, and
 * st is what it is now; 0: nothing was to be done to it. */
int upper_settle_ids(int dirfd, const char *name, struct stat *st);

/* ── Access ── */

/* An entry of ours may have any mode; its owner may change that. When it cannot be read (and searched, a directory) gives
 * its owner these bits and returns 1: upper_relock puts st's mode back. 0: nothing was needed. */
int upper_unlock(int dirfd, const char *name, const struct stat *st);
int upper_relock(int dirfd, const char *name, const struct stat *st);
/* For who must put the mode back whatever has run out by then: the very entry that was looked at, O_PATH, and its mode. */
int upper_pin(int dirfd, const char *name, const struct stat *st);
int upper_chmod(int pinned_fd, mode_t mode);

/* The directory of the upper that holds path, as fs_open_parent, whatever the modes on the way: those that keep us out are
 * opened up and stay so. Only after the scan, whose set has the modes that count. */
int upper_open_parent(int upper_fd, const char *path, const char **ret_name);

/* Opens a regular file of the upper for reading, whatever its mode, which stays. -EINVAL: not a regular file. */
int upper_open_file(int dirfd, const char *name);
int upper_open_known(int dirfd, const char *name, const struct stat *known); /* as open_known_at */
