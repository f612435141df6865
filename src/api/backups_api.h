/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/projects_api.h"

/* How a path of the caller's is spelt in the records of the project; the caller's, NULL: out of memory. */
char *files_record_path(const struct project_view *v, const char *path);
/* The project whose records may have the path: the one the caller is in, or another. id 0: none. */
int files_open_project_of(struct project_view *v, const struct airlock_settings *s, const char *path,
			  struct airlock_error *err);
