/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories may be roots, and the list of those that are. Pure: looks at paths, never at the machine.
 *
 *   struct roots_rules rules = {.project = dir, .home = home, .secrets = …};
 *   if (roots_judge(&rules, target, &secret) == ROOTS_OK)
 *           roots_add(&list, target, RULE_ORIGIN(LINK_ALLOWED, "lib"));
 *   roots_prune(&list);
 *
 * All paths are real: absolute, normal, without symlinks.
 */
#pragma once

#include "project/project.h"

struct roots_rules {
	const char *project;
	const char *home;    /* or NULL */
	struct strs secrets; /* real paths and spellings through symlinks, both; owned */
};

enum roots_verdict {
	ROOTS_OK,
	ROOTS_INSIDE,	     /* in the project already: nothing to widen */
	ROOTS_HOME,	     /* $HOME, or a directory that contains it */
	ROOTS_ABOVE_PROJECT, /* contains the project */
	ROOTS_SECRET,	     /* a secret or inside one */
	ROOTS_ABOVE_SECRET,  /* contains a secret */
	ROOTS_OUTSIDE_HOME,
	ROOTS_NO_HOME, /* outside the project, and there is no home directory to stay in */
};

/* The first reason that applies, in the order above: only the last two depend on the home and may be waived for a
 * directory that is proved otherwise. ret_secret (may be NULL) is borrowed from the rules. */
enum roots_verdict roots_judge(const struct roots_rules *r, const char *target, const char **ret_secret);

/* The same for the public API. */
enum airlock_link_reason roots_reason(enum roots_verdict verdict);

/* The rest of a sentence: "because it is outside the home directory". */
void roots_add_reason(struct buf *out, enum roots_verdict verdict, const char *secret);

void roots_rules_done(struct roots_rules *r);

struct roots {
	struct project_root *v;
	size_t n, cap;
	bool failed;
};
#define ROOTS_INIT                                                                                                     \
	{                                                                                                              \
		0                                                                                                      \
	}

/* Copies path, borrows the name of because. A path that is in the list already keeps its first reason. */
void roots_add(struct roots *l, const char *path, struct airlock_origin because);
bool roots_cover(const struct roots *l, const char *path); /* path is one of them or inside one */
/* Keeps the first one in place, sorts the others and removes those inside another. */
void roots_prune(struct roots *l);
void roots_done(struct roots *l);
