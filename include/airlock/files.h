/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of a workspace or a project, the way the commands that run there see them.
 *
 *   struct airlock_place *place = NULL;
 *   struct airlock_files *r = NULL;
 *
 *   airlock_settings_set(s, "workspace", "/srv/thread-7", "my program", &err); // or "project", or neither: found from here
 *   if (airlock_place_open(s, NULL, &place, &err) < 0 || airlock_files_read(place, "/a.txt", 0, -1, &r, &err) < 0)
 *           return err.code; // AIRLOCK_ERR_NOT_FOUND, AIRLOCK_ERR_BLOCKED (it leads out of the place), …
 *   puts(airlock_files_json(r)); // or airlock_files_content(r)->bytes
 *   airlock_files_free(r);
 *   airlock_place_free(place);
 *
 * In a workspace "/x", "x" and "./x" are the same file: the one a command run with that workspace calls /x. In a project
 * paths are relative to the project, or absolute inside it or one of its other roots. No path leads out of the place, by
 * "..", by a symlink or by a race with whoever changes the tree meanwhile: a link that stays inside is followed, one that
 * leads out is AIRLOCK_ERR_BLOCKED. FIFOs and devices are never waited for or opened.
 *
 * In a workspace, writing, editing and deleting happen at once. In a project they are a run of their own: captured, judged,
 * applied or held as the "changes" setting says, with before-images, so that they can be undone.
 *
 * A place is used by one thread at a time. Everything a result hands out lives as long as the result.
 */
#ifndef AIRLOCK_FILES_H
#define AIRLOCK_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>
#include <airlock/changes.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct airlock_place;
struct airlock_files; /* the result of one call */

/* The setting "workspace", else the project as for a run. run: NULL for the files as they are, or a run (an id, the
 * beginning of one, "last") whose held changes are to be seen as if they were applied; nothing can be changed then. */
int airlock_place_open(const struct airlock_settings *s, const char *run, struct airlock_place **ret,
		       struct airlock_error *err);
void airlock_place_free(struct airlock_place *place);
int airlock_place_is_workspace(const struct airlock_place *place);
const char *airlock_place_dir(const struct airlock_place *place); /* on this machine, a real path */

/* ── Looking ── */

/* path NULL or "" is the place itself. A file is listed as itself. */
int airlock_files_ls(struct airlock_place *place, const char *path, struct airlock_files **ret,
		     struct airlock_error *err);

/* limit lines from line offset (0: the first) on; limit < 0: all. At most 16 MiB, whole lines unless a single one is longer:
 * next_offset says where to go on. */
int airlock_files_read(struct airlock_place *place, const char *path, int64_t offset, int64_t limit,
		       struct airlock_files **ret, struct airlock_error *err);

/* *, ?, [a-z], {a,b} and ** for any directories. Without a slash it is held against the base names at any depth, with one
 * against the path below `path`. At most max results (<= 0: 10000). Links are found and not followed. */
int airlock_files_glob(struct airlock_place *place, const char *pattern, const char *path, int64_t max,
		       struct airlock_files **ret, struct airlock_error *err);

/* Lines that hold the text, literally, in files at or below path whose names match glob (NULL: all). At most max matches
 * altogether (<= 0: 1000). Binary files are passed over. */
int airlock_files_grep(struct airlock_place *place, const char *text, const char *path, const char *glob, int64_t max,
		       struct airlock_files **ret, struct airlock_error *err);

/* ── Changing ── */

/* Replaces the file as a whole, or makes it and the directories above it. */
int airlock_files_write(struct airlock_place *place, const char *path, const void *content, size_t size,
			struct airlock_files **ret, struct airlock_error *err);

/* Puts new_text in the place of old_text, which must be there exactly once unless all is set.
 * AIRLOCK_ERR_NOT_FOUND: it is not there; AIRLOCK_ERR_INVALID: more than once. */
int airlock_files_edit(struct airlock_place *place, const char *path, const char *old_text, const char *new_text,
		       int all, struct airlock_files **ret, struct airlock_error *err);

/* A file, a link itself, or a directory with everything in it. */
int airlock_files_delete(struct airlock_place *place, const char *path, struct airlock_files **ret,
			 struct airlock_error *err);

/* ── Large files ── */

/* A regular file, for reading; the caller's to close. AIRLOCK_ERR_INVALID: it is a directory, or neither. */
int airlock_files_open(struct airlock_place *place, const char *path, int *ret_fd, struct airlock_error *err);

/* A file of a workspace that is written piece by piece. Nobody sees anything of it until commit, which replaces the file as a whole, as
 * airlock_files_write does; without commit nothing remains but the directories above it. The place must stay until it is freed. */
struct airlock_upload;
int airlock_upload_begin(struct airlock_place *place, const char *path, struct airlock_upload **ret,
			 struct airlock_error *err);
int airlock_upload_write(struct airlock_upload *u, const void *bytes, size_t size, struct airlock_error *err);
/* Once. */
int airlock_upload_commit(struct airlock_upload *u, struct airlock_files **ret, struct airlock_error *err);
void airlock_upload_free(struct airlock_upload *u);

/* ── Results ── */

struct airlock_files_entry {
	const char *path; /* "/a/b" in a workspace, "a/b" in a project; bytes */
	const char *type; /* "file", "directory", "symlink", "other" */
	int is_dir;	  /* also of a link to a directory in the place */
	uint64_t size;
	int64_t modified_ns; /* since 1970 */
};

struct airlock_files_match {
	const char *path;
	int64_t line; /* 1 is the first */
	const char *text;
	size_t text_size;
	int cut; /* the line is longer than text */
};

struct airlock_files_content {
	const char *bytes; /* followed by a NUL that does not count */
	size_t size;
	int is_text;			  /* valid UTF-8 without NUL; otherwise the JSON has it in base64 */
	int64_t start_line, end_line;	  /* 1 is the first; both 0: no line was returned */
	int64_t total_lines, next_offset; /* next_offset -1: that was the end */
	int cut;			  /* the last line is longer than what was returned of it */
};

enum airlock_files_action {
	AIRLOCK_FILES_CREATED,
	AIRLOCK_FILES_REPLACED,
	AIRLOCK_FILES_EDITED,
	AIRLOCK_FILES_DELETED,
	AIRLOCK_FILES_UNCHANGED,
};
const char *airlock_files_action_name(enum airlock_files_action action); /* "created" */

struct airlock_files_change {
	const char *path;
	enum airlock_files_action action;
	uint64_t count;	 /* texts replaced by edit, entries removed by delete, bytes written by write */
	const char *run; /* a project: the run that holds the change; NULL in a workspace */
	enum airlock_changes_state state;    /* AIRLOCK_CHANGES_DIRECT in a workspace */
	const struct airlock_reason *reason; /* why it is held, or NULL */
};

/* What `airlock fs --json` prints for the call; ends with a newline. */
const char *airlock_files_json(struct airlock_files *r);
/* The same for people and models: one line an entry, "path:line:text", the content itself, or a sentence. Content that is
 * not text is only described. */
const char *airlock_files_text(struct airlock_files *r);

size_t airlock_files_entry_count(const struct airlock_files *r);
const struct airlock_files_entry *airlock_files_entry_at(const struct airlock_files *r, size_t i); /* NULL: no such */
size_t airlock_files_match_count(const struct airlock_files *r);
const struct airlock_files_match *airlock_files_match_at(const struct airlock_files *r, size_t i);
int airlock_files_truncated(const struct airlock_files *r); /* there is more than was asked for */
const struct airlock_files_content *airlock_files_content(const struct airlock_files *r); /* NULL: not of read */
const struct airlock_files_change *airlock_files_change(const struct airlock_files *r);	  /* NULL: not of write… */
void airlock_files_free(struct airlock_files *r);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
