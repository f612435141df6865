/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daily backup: edited/{id}-{YY-MM-DD}-{basename} holds a file as it was before the first change of that day.
 *
 * Made of the before-image that applying leaves, by a hard link: no byte is copied. Undoing moves the before-image back
 * into the project, where somebody may write into it; so a backup that shares its inode is made a copy first.
 */
#pragma once

#include "change/apply/apply.h"
#include "settings/host.h"
#include "store/projects.h"

#define BACKUPS_DIR "edited"

/* apply_execute, with the backups and records of a project that has them. When a backup cannot be made nothing stays
 * applied: the error says why. project_dir: the project with the records, or NULL: the root that is one, if any. */
int backups_execute(const struct host *host, const char *project_dir, const struct apply_request *request,
		    struct notes *notes, struct airlock_error *err);

/* The same for changes that were applied already, without a transaction (copies.h). */
int backups_adopt(const struct host *host, const struct apply_request *request, struct notes *notes,
		  struct airlock_error *err);

/* "{id}-{date}-{basename}", the end of the basename cut off where it would be too long for a name. */
void backups_name(char out[256], int64_t id, const char *date, const char *basename);
/* The day of a time as YY-MM-DD, by the clock on the wall. */
void backups_date(int64_t ns, char out[16]);
