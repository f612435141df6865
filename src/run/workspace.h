/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --workspace DIR and --bind-ro SRC[:DST], read and checked. */
#pragma once

#include "settings/settings.h"

struct workspace_bind {
	char *source; /* real path */
	char *target; /* inside; absolute and normal */
	bool is_dir;
};

struct workspace {
	char *dir;		      /* real path; NULL: there is none */
	struct workspace_bind *binds; /* by target; parents first */
	size_t n_binds;
};

/* Without the setting dir stays NULL, and --bind-ro is AIRLOCK_ERR_USAGE. */
int workspace_open(struct workspace *w, const struct settings_view *v, const char *cwd, struct airlock_error *err);
void workspace_done(struct workspace *w);
