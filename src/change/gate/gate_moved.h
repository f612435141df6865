/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The paths that renames took away: they are in the set only as where a change came from. */
#pragma once

#include "change/change.h"

struct moved {
	const struct change **v; /* by root and old path; borrowed from the set */
	size_t n;
};

int moved_collect(struct moved *m, const struct change_set *set); /* 0 or -ENOMEM */
const struct change *moved_find(const struct moved *m, size_t root, const char *path);
void moved_done(struct moved *m);
