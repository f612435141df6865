/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/seen_record.h"

#include "child/raw_calls.h"

#include <linux/ioctl.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <linux/seccomp.h>

#define MAX_MISSING (CHILD_SEEN_RECORDS / 2)
#define MAX_COUNT UINT32_MAX

/* Linux 6.3; older kernels refuse unknown flags. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static long make_file(void)
{
	long fd = raw_call2(__NR_memfd_create, "airlock-seen", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	return fd >= 0 ? fd : raw_call2(__NR_memfd_create, "airlock-seen", MFD_CLOEXEC);
}

long observe_begin(struct observer *o, const struct child_job *job)
{
	o->job = job;
	o->seen = 0;
	o->missing = 0;
	long fd = make_file();
	long rc = fd < 0 ? fd : raw_call2(__NR_ftruncate, fd, CHILD_SEEN_BYTES);
	if (rc >= 0)
		rc = raw_call6(__NR_mmap, 0, CHILD_SEEN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rc < 0 && rc > -4096) {
		if (fd >= 0)
			(void)r_close((int)fd);
		return rc;
	}
	o->seen = (struct child_seen_head *)rc;
	o->seen->used = sizeof *o->seen;
	o->seen->magic = CHILD_SEEN_MAGIC;
	return fd;
}

static uint64_t hash_of(const struct record *r)
{
	uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)r->op << 8 ^ r->flags;
	for (size_t i = 0; i < r->len; i++)
		h = (h ^ (unsigned char)r->text[i]) * 0x100000001b3u;
	return h;
}

static int is_same(const struct child_seen *s, const struct record *r)
{
	if (s->op != r->op || s->flags != r->flags || s->length != r->len)
		return 0;
	for (size_t i = 0; i < r->len; i++)
		if (s->text[i] != r->text[i])
			return 0;
	return 1;
}

static struct child_seen *find(const struct observer *o, const struct record *r, uint64_t hash)
{
	char *base = (char *)o->seen;
	for (uint32_t at = sizeof *o->seen; at < o->seen->used;) {
		struct child_seen *s = (void *)(base + at);
		if (s->hash == hash && is_same(s, r))
			return s;
		at += s->size;
	}
	return 0;
}

static void append(struct observer *o, const struct record *r, uint64_t hash)
{
	size_t size = (sizeof(struct child_seen) + r->len + 7) & ~(size_t)7;
	int missing = r->flags == (CHILD_SEEN_LOOKED | CHILD_SEEN_MISSING);
	/* Most missing files are missing everywhere: they must not displace records of refusals. */
	if (missing && o->missing >= MAX_MISSING)
		return;
	if (o->seen->records >= CHILD_SEEN_RECORDS || o->seen->used + size > CHILD_SEEN_BYTES) {
		o->seen->lost++;
		return;
	}
	struct child_seen *s = (void *)((char *)o->seen + o->seen->used);
	s->size = (uint32_t)size;
	s->op = (uint16_t)r->op;
	s->flags = (uint16_t)r->flags;
	s->count = 1;
	s->length = (uint32_t)r->len;
	s->hash = hash;
	for (size_t i = 0; i < r->len; i++)
		s->text[i] = r->text[i];
	o->seen->used += (uint32_t)size;
	o->seen->records++;
	o->missing += (unsigned)missing;
}

void record_note(struct observer *o, int listener, uint64_t id, struct record r)
{
	if (r_ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return;
	uint64_t hash = hash_of(&r);
	struct child_seen *s = find(o, &r, hash);
	if (!s)
		append(o, &r, hash);
	else if (s->count < MAX_COUNT)
		s->count++;
}
