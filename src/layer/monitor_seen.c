/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/monitor_seen.h"

#include "base/macros.h"

#define FREE 0
#define REMOVED 1

uint64_t monitor_seen_key(size_t root, const char *path)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + root;
	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	h ^= h >> 29;
	return h > REMOVED ? h : h + 2;
}

/* The slot of key, used or free. The table always has a free slot. */
static uint64_t *find(const struct monitor_seen *s, uint64_t key)
{
	uint64_t *removed = NULL;
	for (size_t i = key & (s->cap - 1);; i = (i + 1) & (s->cap - 1)) {
		uint64_t *slot = &s->slots[i];
		if (*slot == key)
			return slot;
		if (*slot == FREE)
			return removed ? removed : slot;
		if (*slot == REMOVED && !removed)
			removed = slot;
	}
}

/* Also drops the removed ones. */
static int rebuild(struct monitor_seen *s, size_t cap)
{
	struct monitor_seen fresh = {.slots = calloc(cap, sizeof *fresh.slots), .cap = cap};
	if (!fresh.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->cap; i++)
		if (s->slots[i] > REMOVED)
			*find(&fresh, s->slots[i]) = s->slots[i];
	fresh.n = fresh.used = s->n;
	free(s->slots);
	*s = fresh;
	return 0;
}

int monitor_seen_add(struct monitor_seen *s, uint64_t key)
{
	if (s->used * 2 >= s->cap) {
		int rc = rebuild(s, s->n * 4 > s->cap || !s->cap ? AL_MAX(s->cap * 2, (size_t)256) : s->cap);
		if (rc < 0)
			return rc;
	}
	uint64_t *slot = find(s, key);
	if (*slot == key)
		return 0;
	if (s->n >= MONITOR_SEEN_MAX)
		return -ENOSPC;
	s->used += *slot == FREE;
	s->n++;
	*slot = key;
	return 1;
}

void monitor_seen_remove(struct monitor_seen *s, uint64_t key)
{
	uint64_t *slot = s->cap ? find(s, key) : NULL;
	if (!slot || *slot != key)
		return;
	*slot = REMOVED;
	s->n--;
}

void monitor_seen_done(struct monitor_seen *s)
{
	base_freep(&s->slots);
	*s = (struct monitor_seen){0};
}
