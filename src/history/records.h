/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records of a project's files: found by a scan, kept up to date after each apply and undo. */
#pragma once

#include "change/change.h"
#include "project/project.h"
#include "settings/host.h"
#include "store/projects.h"

/* The scanner's rule, apart from all doing. */
enum record_fate { RECORD_KEEP, RECORD_RETURNED, RECORD_REMOVE };
enum record_fate records_decide(bool on_disk, bool is_deleted, bool has_backup);

/* The files of the project and of its other roots into the database; what is unchanged is not written again. ret_files: how
 * many there are. */
int records_scan(struct store *store, const struct project *project, int64_t *ret_files,
		 void (*progress)(size_t seen, void *data), void *data, struct airlock_error *err);

/* Looks at the live paths of the selected changes (NULL: all) and makes the records say what is there. */
int records_refresh(struct store *store, int64_t project, const char *project_dir, const struct change_set *set,
		    const bool *selected, struct airlock_error *err);

/* How a path of a change is spelt in the records; the caller's. NULL: out of memory. */
char *records_path(const char *project_dir, const struct change_set *set, size_t root, const char *path);
bool records_has_backup(const char *copy_path);
