/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Projects, the records of their files, and the daily backups. */
#pragma once

#include "store/store.h"

struct store_project {
	int64_t id;
	char *path;
	int64_t files; /* number of records of existing files */
	int64_t added, scanned;
};

struct store_projects {
	struct store_project *v;
	size_t n;
};

/* The id of the project; adds it if it is new. */
int store_project_add(struct store *s, const char *path, int64_t *ret_id, struct airlock_error *err);
/* 1 and its id, or 0. */
int store_project_find(struct store *s, const char *path, int64_t *ret_id, struct airlock_error *err);
/* 1, or 0. Without its number of files, which must be counted, and without its path. */
int store_project_get(struct store *s, const char *path, struct store_project *ret, struct airlock_error *err);
int store_project_scanned(struct store *s, int64_t id, int64_t when, struct airlock_error *err);
int store_project_list(struct store *s, struct store_projects *ret, struct airlock_error *err); /* by path */
int store_project_remove(struct store *s, int64_t id, struct airlock_error *err);		/* with its records */
void store_projects_done(struct store_projects *l);
#define _cleanup_projects_ _cleanup_(store_projects_done)

#define STORE_TEXT_UNKNOWN (-1)

/* Arguments are borrowed; results are owned by the caller (store_file_done). */
struct store_file {
	int64_t id;
	const char *path;   /* relative to the project; absolute in another root of it */
	const char *type;   /* "file", "directory", "symlink", "other" */
	const char *target; /* of a symlink, or NULL */
	int64_t size, mtime, ctime, inode;
	int is_text; /* 0, 1, or STORE_TEXT_UNKNOWN: nobody has checked yet */
	bool is_ignored, is_deleted;
	const char *last_approved_copy_path; /* "" when there is no backup */
	int64_t first_seen, last_seen;
};

void store_file_done(struct store_file *f);

/* Stores what is on the disk now: adds or updates the record and clears is_deleted. Keeps id, first_seen and the copy.
 */
int store_file_put(struct store *s, int64_t project, const struct store_file *f, int64_t *ret_id,
		   struct airlock_error *err);
/* The same; fastest with this many at once. */
#define STORE_FILES_AT_ONCE 32
int store_file_put_many(struct store *s, int64_t project, const struct store_file *v, size_t n,
			struct airlock_error *err);
int store_file_count(struct store *s, int64_t project, int64_t *ret, struct airlock_error *err); /* not deleted */
int store_file_find(struct store *s, int64_t project, const char *path, struct store_file *ret,
		    struct airlock_error *err); /* 1 or 0 */
int store_file_mark_deleted(struct store *s, int64_t id, struct airlock_error *err);
/* Only if it is unknown, and the ctime is still the same. */
int store_file_set_text(struct store *s, int64_t id, int64_t ctime, bool is_text, struct airlock_error *err);
int store_file_rename(struct store *s, int64_t id, const char *path, struct airlock_error *err);
int store_file_remove(struct store *s, int64_t id, struct airlock_error *err);
/* In the order of their paths. each returns 0 to continue. The file is valid only during the call. */
typedef int store_file_function(const struct store_file *f, void *data, struct airlock_error *err);
int store_file_each(struct store *s, int64_t project, store_file_function *each, void *data, struct airlock_error *err);
int store_file_each_deleted(struct store *s, int64_t project, store_file_function *each, void *data,
			    struct airlock_error *err);

struct store_backup {
	int64_t id, file;
	char *project, *path;
	char *date; /* "26-11-15" */
	char *name; /* in edited/ */
	char *run;
};

struct store_backups {
	struct store_backup *v;
	size_t n;
};

/* Also sets the file's last_approved_copy_path. */
int store_backup_add(struct store *s, int64_t file, const char *date, const char *name, const char *run,
		     const char *copy_path, struct airlock_error *err);
/* Newest first. project 0: all projects; path NULL: all files. */
int store_backup_list(struct store *s, int64_t project, const char *path, struct store_backups *ret,
		      struct airlock_error *err);
int store_backup_of_file(struct store *s, int64_t file, struct store_backups *ret, struct airlock_error *err);
/* Those of days before this one. */
int store_backup_before(struct store *s, const char *date, struct store_backups *ret, struct airlock_error *err);
/* Removes the record of the backup; the record of a deleted file without other backups goes with it. copy_path is the
 * value of the file's field if it names this backup. */
int store_backup_remove(struct store *s, const struct store_backup *b, const char *copy_path,
			struct airlock_error *err);
void store_backups_done(struct store_backups *l);
#define _cleanup_backups_ _cleanup_(store_backups_done)
