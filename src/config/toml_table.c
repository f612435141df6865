/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory and containers.
 *
 * Everything in a document is allocated from chunks that are freed together. Arrays that grow leave their old copy
 * behind; doubling keeps that below the size of the last copy.
 *
 * A document may come from a stranger's project, so an attacker may choose its keys. They are found through a balanced
 * tree: unlike a hash table, no choice of keys makes it slow. It is an AA tree (Andersson 1993), a red-black tree with
 * two repairs, skew and split, done bottom-up along the path of an insertion. */
#include "config/toml_internal.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)16384)
#define MAX_HEIGHT (2 * 8 * sizeof(size_t)) /* an AA tree of n nodes is at most 2 log2(n + 1) high */

/* With AddressSanitizer every allocation gets its own chunk, so that reading past its end is noticed. */
#if defined(__SANITIZE_ADDRESS__)
#define CHUNK_SHARED false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHUNK_SHARED false
#endif
#endif
#ifndef CHUNK_SHARED
#define CHUNK_SHARED true
#endif

struct toml_chunk {
	struct toml_chunk *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

struct toml_index {
	struct toml_index *left, *right;
	unsigned level;
	size_t entry;
};

static struct toml_chunk *chunk_new(struct toml_doc *doc, size_t size)
{
	struct toml_chunk *c = calloc(1, sizeof *c + size);
	if (!c)
		return NULL;
	c->size = size;
	c->next = doc->chunks;
	doc->chunks = c;
	return c;
}

void *toml_alloc(struct toml_doc *doc, size_t size)
{
	size_t align = alignof(max_align_t);
	if (size > SIZE_MAX / 2)
		return NULL;
	size_t rounded = CHUNK_SHARED ? (size + align - 1) / align * align : size;
	struct toml_chunk *c = doc->chunks;
	if (!c || c->size - c->used < rounded || !CHUNK_SHARED)
		c = chunk_new(doc, CHUNK_SHARED ? AL_MAX(rounded, CHUNK_SIZE) : rounded);
	if (!c)
		return NULL;
	void *p = c->data + c->used;
	c->used += rounded;
	return p;
}

char *toml_copy(struct toml_doc *doc, const char *s, size_t len)
{
	char *p = toml_alloc(doc, len + 1);
	if (p)
		memcpy(p, s, len);
	return p;
}

/* Doubles the array and keeps its content. */
static void *grow(struct toml_doc *doc, const void *old, size_t *cap, size_t item)
{
	size_t n = *cap ? *cap * 2 : 4, size;
	void *p = __builtin_mul_overflow(n, item, &size) ? NULL : toml_alloc(doc, size);
	if (!p)
		return NULL;
	if (*cap)
		memcpy(p, old, *cap * item);
	*cap = n;
	return p;
}

/* All values are made here, so this is the only place that counts them and checks their depth. */
static int new_value(struct toml_parser *ps, size_t size, struct toml_place at, size_t depth, void **ret)
{
	if (depth > ps->limits.max_depth)
		return toml_limit(ps, at, "nested deeper than %zu levels", ps->limits.max_depth);
	if (ps->values == ps->limits.max_values)
		return toml_limit(ps, at, "more than %zu values", ps->limits.max_values);
	struct toml_value *v = toml_alloc(ps->doc, size);
	if (!v)
		return base_oom(ps->err);
	ps->values += depth > 0;
	v->line = at.line;
	v->column = at.column;
	*ret = v;
	return 0;
}

int toml_value_new(struct toml_parser *ps, enum toml_type type, struct toml_place at, size_t depth,
		   struct toml_value **ret)
{
	void *p = NULL;
	int rc = new_value(ps, sizeof **ret, at, depth, &p);
	if (rc < 0)
		return rc;
	assert(p); /* new_value succeeded */
	*ret = p;
	(*ret)->type = type;
	return 0;
}

int toml_table_new(struct toml_parser *ps, enum toml_origin origin, struct toml_place at, size_t depth,
		   struct toml_table **ret)
{
	void *p = NULL;
	int rc = new_value(ps, sizeof **ret, at, depth, &p);
	if (rc < 0)
		return rc;
	assert(p); /* new_value succeeded */
	*ret = p;
	(*ret)->value.type = TOML_TABLE;
	(*ret)->origin = origin;
	(*ret)->depth = depth;
	return 0;
}

int toml_array_new(struct toml_parser *ps, struct toml_place at, size_t depth, struct toml_array **ret)
{
	void *p = NULL;
	int rc = new_value(ps, sizeof **ret, at, depth, &p);
	if (rc < 0)
		return rc;
	assert(p); /* new_value succeeded */
	*ret = p;
	(*ret)->value.type = TOML_ARRAY;
	(*ret)->depth = depth;
	return 0;
}

int toml_array_push(struct toml_parser *ps, struct toml_array *a, const struct toml_value *v)
{
	size_t n = a->value.u.array.n;
	if (n == a->cap) {
		const struct toml_value **items = grow(ps->doc, a->items, &a->cap, sizeof *items);
		if (!items)
			return base_oom(ps->err);
		a->items = items;
		a->value.u.array.items = items;
	}
	a->items[n] = v;
	a->value.u.array.n = n + 1;
	return 0;
}

static int compare(const char *key, size_t len, const struct toml_entry *e)
{
	int d = memcmp(key, e->key, AL_MIN(len, e->key_len));
	return d != 0 ? d : (len > e->key_len) - (len < e->key_len);
}

const struct toml_entry *toml_table_find(const struct toml_table *t, const char *key, size_t len)
{
	for (const struct toml_index *n = t->index; n;) {
		int d = compare(key, len, &t->entries[n->entry]);
		if (d == 0)
			return &t->entries[n->entry];
		n = d < 0 ? n->left : n->right;
	}
	return NULL;
}

/* Rotates right: a left child is on the level of its parent. */
static void skew(struct toml_index **at)
{
	struct toml_index *n = *at, *l = n->left;
	if (!l || l->level != n->level)
		return;
	n->left = l->right;
	l->right = n;
	*at = l;
}

/* Two right children in a row on one level: moves the middle one up. */
static void split(struct toml_index **at)
{
	struct toml_index *n = *at, *r = n->right;
	if (!r || !r->right || r->right->level != n->level)
		return;
	n->right = r->left;
	r->left = n;
	r->level++;
	*at = r;
}

/* The newest entry, which is in no tree yet and has a unique key. */
static void index_insert(struct toml_table *t, struct toml_index *node)
{
	struct toml_index **path[MAX_HEIGHT], **at = &t->index;
	const struct toml_entry *e = &t->entries[node->entry];
	size_t n = 0;
	while (*at) {
		path[n++] = at;
		at = compare(e->key, e->key_len, &t->entries[(*at)->entry]) < 0 ? &(*at)->left : &(*at)->right;
	}
	*at = node;
	while (n-- > 0) {
		skew(path[n]);
		split(path[n]);
	}
}

int toml_table_add(struct toml_parser *ps, struct toml_table *t, const struct toml_key *key, const struct toml_value *v)
{
	size_t n = t->value.u.table.n;
	if (n == t->cap) {
		struct toml_entry *entries = grow(ps->doc, t->entries, &t->cap, sizeof *entries);
		if (!entries)
			return base_oom(ps->err);
		t->entries = entries;
		t->value.u.table.entries = entries;
	}
	struct toml_index *node = toml_alloc(ps->doc, sizeof *node);
	if (!node)
		return base_oom(ps->err);
	t->entries[n] = (struct toml_entry){key->s, key->len, key->at.line, key->at.column, v};
	t->value.u.table.n = n + 1;
	node->level = 1;
	node->entry = n;
	index_insert(t, node);
	return 0;
}

void toml_free(struct toml_doc *doc)
{
	if (!doc)
		return;
	for (struct toml_chunk *c = doc->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(doc);
}
