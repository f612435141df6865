/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/inodes.h"

#include <stdint.h>

/* The slot of an inode, used or free. Inode numbers are consecutive: the multiplication spreads them. */
static struct fs_inode *find(struct fs_inode *slots, size_t cap, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(h >> 20) & (cap - 1);
	while (slots[i].used && (slots[i].ino != ino || slots[i].dev != dev))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static bool grow(struct fs_inodes *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct fs_inode *slots = calloc(cap, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < s->cap; i++)
		if (s->slots[i].used)
			*find(slots, cap, s->slots[i].dev, s->slots[i].ino) = s->slots[i];
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
	return true;
}

bool fs_inodes_has(const struct fs_inodes *s, dev_t dev, ino_t ino)
{
	return s->cap > 0 && find(s->slots, s->cap, dev, ino)->used;
}

bool fs_inodes_add(struct fs_inodes *s, dev_t dev, ino_t ino)
{
	if (fs_inodes_has(s, dev, ino))
		return false;
	if (s->n >= s->cap / 2 && !grow(s)) {
		s->failed = true;
		return true;
	}
	*find(s->slots, s->cap, dev, ino) = (struct fs_inode){.dev = dev, .ino = ino, .used = true};
	s->n++;
	return true;
}

void fs_inodes_done(struct fs_inodes *s)
{
	base_freep(&s->slots);
	*s = (struct fs_inodes)FS_INODES_INIT;
}
