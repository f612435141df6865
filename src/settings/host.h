/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where this user's things are, from the environment the caller gave. */
#pragma once

#include "settings/settings.h"

struct host {
	char *home; /* absolute and normal; need not exist */
	char *cwd;
	char *state_dir;   /* $XDG_STATE_HOME/airlock */
	char *data_dir;	   /* $XDG_DATA_HOME/airlock */
	char *config_dir;  /* $XDG_CONFIG_HOME/airlock */
	char *user_file;   /* config_dir/config.toml */
	char *trust_dir;   /* state_dir/trust */
	char *playground;  /* data_dir/playground */
	char *runtime_dir; /* $XDG_RUNTIME_DIR, or NULL */
	const char *system_file;
	const char *path_env; /* "" when unset */
	struct strs git_env;  /* XDG_CONFIG_HOME and GIT_*, as "NAME=value": what may steer git */
};

int host_init(const struct airlock_settings *s, struct host *ret, struct airlock_error *err);
void host_done(struct host *h);

/* Directories of journals and locks. The caller frees the path; NULL: out of memory. */
char *host_journal_dir(const struct host *host);
char *host_lock_dir(const struct host *host);
