/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A place: directories of this machine at the paths a command knows them by, and nothing else.
 *
 *   struct files_place p = FILES_PLACE_INIT;
 *   files_place_mount(&p, "/", "/srv/thread-7", NULL, false, err)        a workspace
 *   files_place_mount(&p, "/home/u/p", "/home/u/p", NULL, false, err)    a project: the same path inside and outside
 *
 * Every look-up starts from a descriptor taken here (I6).
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct change_set;

struct files_mount {
	char *inside;  /* absolute and normal */
	char *outside; /* for messages; the descriptors count */
	int lower_fd;
	int upper_fd; /* a held run's layer over it, or -EBADF */
	size_t root;  /* with a layer: which root of the set it is */
	bool read_only;
};

/* Below a mount: paths that must not be seen or changed. The deepest counts, the last of equals. */
enum files_access { FILES_WRITABLE, FILES_READABLE, FILES_HIDDEN };
struct files_rule {
	char *inside;
	enum files_access access;
};

struct files_place {
	bool workspace; /* "/" is the directory itself: ".." and links stay below it */
	char *base;	/* inside: where relative paths start */
	struct files_mount *mounts;
	size_t n_mounts;
	struct files_rule *rules;
	size_t n_rules;
	struct change_set *set; /* of the run whose layer is seen; owned */
};
#define FILES_PLACE_INIT                                                                                               \
	{                                                                                                              \
		0                                                                                                      \
	}

/* upper: a layer's directory or NULL. */
int files_place_mount(struct files_place *p, const char *inside, const char *outside, const char *upper, bool read_only,
		      struct airlock_error *err);
/* Ignored if it is not strictly below a mount. */
int files_place_rule(struct files_place *p, const char *inside, enum files_access access, struct airlock_error *err);
/* Considers the rules only. */
enum files_access files_place_access(const struct files_place *p, const char *inside);
void files_place_done(struct files_place *p);

/* The mount at exactly this path inside, or NULL; and whether there is one below it. */
const struct files_mount *files_place_at(const struct files_place *p, const char *inside);
bool files_place_leads_to(const struct files_place *p, const char *inside);

/* How a path is shown: "/a/b" in a workspace, "a/b" in a project ("." for the project), absolute elsewhere. Lexical.
 * Owned by the caller. */
char *files_place_shown(const struct files_place *p, const char *path);
