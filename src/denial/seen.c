/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns what was observed into what was refused. */
#include "denial/denial.h"

#include "base/array.h"
#include "base/path.h"
#include "denial/advice.h"

#include <stdlib.h>
#include <string.h>

static void free_denial(struct airlock_denial *d)
{
	free((char *)d->path);
	free((char *)d->address);
	free((char *)d->program);
	free((char *)d->region);
	free((char *)d->value);
}

void denials_done(struct denials *d)
{
	for (size_t i = 0; i < d->n; i++)
		free_denial(&d->v[i]);
	free(d->v);
	*d = (struct denials){0};
}

/* ── One record ── */

static struct airlock_denial *append(struct denials *l)
{
	if (!ARRAY_ROOM(l->v, l->n, l->cap, 16))
		return NULL;
	l->v[l->n] = (struct airlock_denial){0};
	return &l->v[l->n++];
}

/* The same path seen in two ways, first missing and later there, is one refusal. */
static struct airlock_denial *find(struct denials *l, enum airlock_denial_rule rule, const struct denial_try *t)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_denial *d = &l->v[i];
		const char *known = t->program ? d->program : d->path, *text = t->program ? t->program : t->path;
		if (d->attempt == (enum airlock_attempt)t->op && d->rule == rule && known && text &&
		    strcmp(known, text) == 0)
			return &l->v[i];
	}
	return NULL;
}

static bool add_refused(const struct denial_scene *scene, const struct denial_try *t, uint32_t count,
			struct denials *list)
{
	struct denial_verdict v = denial_decide(scene, t);
	struct buf address = BUF_INIT;
	if (v.rule == AIRLOCK_DENIAL_NONE ||
	    (t->address && !denial_add_address(t->address, t->address_bytes, &address)))
		return true;
	struct airlock_denial *d = find(list, v.rule, t);
	if (d) {
		d->count += count;
		return true;
	}
	d = append(list);
	if (!d) {
		buf_done(&address);
		return false;
	}
	*d = (struct airlock_denial){.attempt = (enum airlock_attempt)t->op,
				     .rule = v.rule,
				     .path = t->path ? strdup(t->path) : NULL,
				     .address = t->address ? buf_take(&address) : NULL,
				     .program = t->program ? strdup(t->program) : NULL,
				     .origin = v.origin,
				     .region = v.region ? strdup(v.region) : NULL,
				     .count = count};
	if ((t->path && !d->path) || (t->program && !d->program) || (t->address && !d->address) ||
	    (v.region && !d->region))
		return false;
	return advice_find(scene, &v, d);
}

static bool read_record(const struct denial_scene *scene, const struct child_seen *r, const char *text,
			struct denials *list)
{
	struct denial_try t = {.op = (enum child_seen_op)r->op, .flags = r->flags};
	if (r->op == 0 || r->op >= CHILD_SEEN_OPS)
		return true;
	if (r->flags & CHILD_SEEN_ADDRESS) {
		t.address = text;
		t.address_bytes = r->length;
		return add_refused(scene, &t, r->count, list);
	}
	_cleanup_free_ char *raw = strndup(text, r->length);
	if (raw && r->flags & CHILD_SEEN_CALL) {
		t.program = raw;
		return add_refused(scene, &t, r->count, list);
	}
	_cleanup_free_ char *path = raw ? path_normalize("/", raw) : NULL;
	if (!path)
		return false;
	t.path = path;
	return add_refused(scene, &t, r->count, list);
}

int denials_read(const struct denial_scene *scene, const void *bytes, size_t len, struct denials *ret,
		 struct airlock_error *err)
{
	struct denials list = {0};
	struct child_seen_head head;
	bool ok = true;
	*ret = list;
	if (len < sizeof head)
		return 0;
	memcpy(&head, bytes, sizeof head);
	if (head.magic != CHILD_SEEN_MAGIC)
		return 0;
	list.lost = head.lost;
	size_t end = AL_MIN((size_t)head.used, len);
	for (size_t at = sizeof head; ok && end > at && end - at >= sizeof(struct child_seen);) {
		struct child_seen r;
		memcpy(&r, (const char *)bytes + at, sizeof r);
		if (r.size > end - at || r.size < sizeof r || r.length > r.size - sizeof r)
			break;
		ok = read_record(scene, &r, (const char *)bytes + at + sizeof r, &list);
		at += r.size;
	}
	if (!ok) {
		denials_done(&list);
		return base_oom(err);
	}
	advice_join(scene, &list);
	*ret = list;
	return 0;
}
