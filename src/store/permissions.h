/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembered answers. */
#pragma once

#include "store/store.h"

/* The key is kind, command, working_dir, project and profile, all exact bytes and never NULL. Arguments are borrowed;
 * results are owned by the caller (store_permission_done). */
struct store_permission {
	int64_t id;
	const char *kind;    /* "run", "network"… */
	const char *command; /* as one shell line */
	const char *working_dir;
	const char *project;
	const char *profile;
	const char *decision; /* "allow", "deny" */
	const char *scope;    /* "always", "session" */
	int64_t created;
};

struct store_permissions {
	struct store_permission *v;
	size_t n;
};

/* Stores it in place of an earlier answer to the same question; ignores id and created (created is now). */
int store_permission_add(struct store *s, const struct store_permission *p, int64_t *ret_id, struct airlock_error *err);
/* 1 and *ret (store_permission_done) if there is an answer with this key, else 0. */
int store_permission_find(struct store *s, const struct store_permission *key, struct store_permission *ret,
			  struct airlock_error *err);
/* Newest first. project: only its answers, or NULL for all. */
int store_permission_list(struct store *s, const char *project, struct store_permissions *ret,
			  struct airlock_error *err);
/* AIRLOCK_ERR_NOT_FOUND when there is no such id. */
int store_permission_remove(struct store *s, int64_t id, struct airlock_error *err);
int store_permission_clear(struct store *s, uint64_t *ret_count, struct airlock_error *err);

void store_permission_done(struct store_permission *p);
void store_permissions_done(struct store_permissions *l);
#define _cleanup_permissions_ _cleanup_(store_permissions_done)
