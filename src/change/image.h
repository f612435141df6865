/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Before-images: the entries that an apply replaced or removed, kept in before/ or in the layer. */
#pragma once

#include "change/change.h"

/* The name of an entry in before/. */
struct change_slot {
	char text[48];
};
struct change_slot change_slot_name(uint64_t slot);

/* True if this entry of the layer is the one that the change found in the live tree. */
bool change_is_image(const struct change_stat *there, const struct change *c);
/* lstat of one component. The type is CHANGE_NOTHING when nothing is there. Returns 0 or -errno. */
int change_stat_at(int dirfd, const char *name, struct change_stat *ret);

/* The before-image of an applied change: a name in a directory. */
struct change_image {
	int dir_fd; /* the caller's */
	struct change_slot slot;
	const char *name; /* in slot, or the change's own */
};
/* Looks in before/, then in the layer, where an apply may leave it. Returns 0 or -errno; -ENOENT: there is none. */
int change_find_image(int before_fd, int layer_fd, const struct change *c, struct change_image *ret);
