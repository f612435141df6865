/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/image.h"

#include "layer/upper.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct change_slot change_slot_name(uint64_t slot)
{
	struct change_slot n;
	(void)snprintf(n.text, sizeof n.text, "%llu", (unsigned long long)slot);
	return n;
}

bool change_is_image(const struct change_stat *there, const struct change *c)
{
	return there->type != CHANGE_NOTHING && there->type != CHANGE_DIRECTORY && there->type == c->before.type &&
	       there->inode == c->before.inode;
}

int change_stat_at(int dirfd, const char *name, struct change_stat *ret)
{
	struct stat st;
	*ret = (struct change_stat){0};
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	*ret = change_stat_of(&st);
	return 0;
}

static int find_in_layer(int layer_fd, const struct change *c, struct change_image *ret)
{
	struct change_stat there = {0};
	int rc = layer_fd < 0 || c->from ? -ENOENT : upper_open_parent(layer_fd, c->path, &ret->name);
	_cleanup_close_ int dir = rc;
	rc = dir < 0 ? dir : change_stat_at(dir, ret->name, &there);
	if (rc < 0 || !change_is_image(&there, c))
		return rc < 0 ? rc : -ENOENT;
	ret->dir_fd = TAKE_FD(dir);
	return 0;
}

int change_find_image(int before_fd, int layer_fd, const struct change *c, struct change_image *ret)
{
	struct change_stat there = {0};
	*ret = (struct change_image){.dir_fd = -EBADF};
	if (c->state != CHANGE_APPLIED || !c->slot || c->before.type == CHANGE_NOTHING)
		return -ENOENT;
	ret->slot = change_slot_name(c->slot + (c->from != NULL));
	int rc = before_fd < 0 ? 0 : change_stat_at(before_fd, ret->slot.text, &there);
	if (rc < 0 || there.type == CHANGE_NOTHING)
		return rc < 0 ? rc : find_in_layer(layer_fd, c, ret);
	ret->name = ret->slot.text;
	ret->dir_fd = fcntl(before_fd, F_DUPFD_CLOEXEC, 3);
	return ret->dir_fd < 0 ? -errno : 0;
}
