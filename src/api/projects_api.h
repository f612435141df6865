/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A project somebody asks about, and its records. */
#pragma once

#include "project/project.h"
#include "settings/host.h"
#include "store/projects.h"

struct project_view {
	struct host host;
	char *dir;
	struct store *store; /* NULL: there is no database yet */
	int64_t id;	     /* 0: it has no records */
};

/* dir: NULL is the option "project", or the project found from here. */
int project_view_open(struct project_view *v, const struct airlock_settings *s, const char *dir,
		      struct airlock_error *err);
void project_view_done(struct project_view *v);
/* AIRLOCK_ERR_NOT_FOUND, and how to get records. */
int project_view_need(const struct project_view *v, struct airlock_error *err);

/* Links as they are handed out; the caller's, and because holds words of theirs. NULL: out of memory. */
struct airlock_link *link_values(const struct project_link *from, size_t n, struct strs *because);
