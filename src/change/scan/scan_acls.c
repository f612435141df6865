/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ACLs that got lost. Whoever is not known inside cannot be named there: a program that writes a new file and renames it over the
 * old one, or moves a directory entry by entry, cannot give the new one the entries of other users. A file that is written in
 * place, or renamed by itself, keeps them. What is lost is named in the report. */
#include "change/scan/scan_parts.h"

#include "base/text.h"
#include "fs/beneath.h"
#include "layer/xattrs.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>

#define ACL_HEAD 4
#define ACL_ENTRY 8
#define ACL_USER 0x02 /* entries that name somebody */
#define ACL_GROUP 0x08

static const char *const kinds[] = {"system.posix_acl_access", "system.posix_acl_default"};

static bool names_somebody(int fd, const char *name, const char *kind, struct buf *value)
{
	if (xattrs_get(fd, name, kind, value) < 0)
		return false;
	for (size_t at = ACL_HEAD; at + ACL_ENTRY <= value->len; at += ACL_ENTRY) {
		uint16_t tag;
		memcpy(&tag, value->data + at, sizeof tag);
		if (le16toh(tag) == ACL_USER || le16toh(tag) == ACL_GROUP)
			return true;
	}
	return false;
}

/* Did the first name somebody, and does the second, which is the same entry later, name nobody? */
static bool has_lost(struct scan *s, int before, const char *before_name, int after, const char *after_name)
{
	struct buf *value = &s->compare.values[0];
	for (size_t i = 0; i < AL_ARRAY_LEN(kinds); i++)
		if (names_somebody(before, before_name, kinds[i], value) &&
		    !names_somebody(after, after_name, kinds[i], value))
			return true;
	return false;
}

static void tell(struct scan *s, const char *path)
{
	if (!notes_has(s->notes, AIRLOCK_NOTE_ACL_LOST, path) && s->n_notes++ < SCAN_NOTES_MAX)
		NOTE(s->notes, ACL_LOST, .subject = path);
}

void scan_note_acl(struct scan *s, const char *path)
{
	const char *name = s->upper.name;
	if (!s->in_place && has_lost(s, scan_top(s)->live_fd, name, fs_walk_dirfd(&s->upper), name))
		tell(s, path);
}

/* A directory that was moved entry by entry: its files are renamed, it is gone, and the one they are in is new. */
static void look_at_move(struct scan *s, int upper, const char *from, const char *to)
{
	struct stat st;
	_cleanup_close_ int before = fs_open_beneath(s->live_root, from, O_PATH | O_DIRECTORY);
	_cleanup_close_ int after = before < 0 ? -EBADF : fs_open_beneath(upper, to, O_PATH | O_DIRECTORY);
	bool stays = fs_stat_beneath(upper, from, &st) == 0 && S_ISDIR(st.st_mode);
	bool was_there = fs_stat_beneath(s->live_root, to, &st) == 0;
	if (before >= 0 && after >= 0 && !stays && !was_there && has_lost(s, before, NULL, after, NULL))
		tell(s, to);
}

/* The directories that a file was and is in, and those above them for as long as they have the same names. Changes both. */
static void look_at_moves(struct scan *s, int upper, char *from, char *to)
{
	for (;;) {
		char *from_slash = strrchr(from, '/'), *to_slash = strrchr(to, '/');
		if (!from_slash || !to_slash || strcmp(from_slash, to_slash) != 0)
			return; /* also at the root, which is never moved */
		*from_slash = *to_slash = '\0';
		if (strcmp(from, to) == 0)
			return;
		look_at_move(s, upper, from, to);
	}
}

int scan_note_moved_acls(struct scan *s)
{
	_cleanup_close_ int upper = -EBADF;
	for (size_t i = s->first; i < s->set->n; i++) {
		const struct change *c = &s->set->v[i];
		if (c->kind != CHANGE_RENAMED)
			continue;
		_cleanup_free_ char *from = strdup(c->from), *to = strdup(c->path);
		if (!from || !to)
			return base_oom(s->err);
		if (upper < 0)
			upper = open(change_root_after(&s->set->roots[s->root]), O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (upper >= 0)
			look_at_moves(s, upper, from, to);
	}
	return 0;
}
