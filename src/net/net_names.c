/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names and the addresses that stand for them inside: 198.18.0.0/15, which is nobody's (RFC 2544). A connection to such an
 * address says exactly which name was meant. */
#include "net/net_gate_state.h"

#include <string.h>

#define FIRST_NUMBER 256 /* 198.18.1.0 */
#define BLOCK 256
#define AGAIN_MISSING_MS 30000
#define AGAIN_FAILED_MS 5000

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h % NET_NAME_BUCKETS;
}

static struct net_name *at(const struct net_gate *g, uint32_t i)
{
	return &g->names[i / BLOCK][i % BLOCK];
}

struct net_name *net_names_get(struct net_gate *g, const char *name, uint32_t most)
{
	uint32_t *bucket = &g->buckets[hash(name)]; /* the index plus 1 */
	for (uint32_t i = *bucket; i; i = at(g, i - 1)->next)
		if (strcmp(at(g, i - 1)->name, name) == 0)
			return at(g, i - 1);
	uint32_t i = g->n_names;
	if (i >= most)
		return NULL;
	if (!g->names[i / BLOCK] && !(g->names[i / BLOCK] = calloc(BLOCK, sizeof(struct net_name))))
		return NULL;
	struct net_name *n = at(g, i);
	*n = (struct net_name){.name = strdup(name), .number = FIRST_NUMBER + i, .next = *bucket};
	if (!n->name)
		return NULL;
	g->n_names++;
	*bucket = i + 1;
	return n;
}

struct net_name *net_names_by_address(const struct net_gate *g, const struct net_address *a)
{
	static const struct net_address net = {.family = 4, .bytes = {198, 18, 0, 0}};
	if (!net_address_is_within(a, &net, 15))
		return NULL;
	uint32_t number = (uint32_t)(a->bytes[1] - 18) << 16 | (uint32_t)a->bytes[2] << 8 | a->bytes[3];
	return number >= FIRST_NUMBER && number - FIRST_NUMBER < g->n_names ? at(g, number - FIRST_NUMBER) : NULL;
}

struct net_address net_name_address(const struct net_name *n)
{
	return (struct net_address){
		.family = 4,
		.bytes = {198, (uint8_t)(18 + (n->number >> 16)), (uint8_t)(n->number >> 8), (uint8_t)n->number}};
}

void net_names_done(struct net_gate *g)
{
	for (uint32_t i = 0; i < g->n_names; i++)
		free(at(g, i)->name);
	for (size_t i = 0; i < AL_ARRAY_LEN(g->names); i++)
		free(g->names[i]);
}

/* A run may last for hours: what failed is tried again, and what cannot be reached is looked up again. Whatever comes of it
 * is judged as the first answer was. */
static bool is_due(const struct net_name *n)
{
	int64_t age = net_now_ms() - n->resolved_ms;
	switch (n->state) {
	case NET_NAME_NEW:
		return true;
	case NET_NAME_RESOLVING:
		return false;
	case NET_NAME_RESOLVED:
		return n->is_unreachable && age > AGAIN_MISSING_MS;
	case NET_NAME_MISSING:
		return age > AGAIN_MISSING_MS;
	case NET_NAME_FAILED:
		return age > AGAIN_FAILED_MS;
	}
	return false;
}

static void start(struct net_gate *g, struct net_name *n)
{
	g->n_resolving++;
	net_resolver_start(g->resolver, n->name, n);
}

void net_name_resolve(struct net_gate *g, struct net_name *n)
{
	if (!is_due(n))
		return;
	n->state = NET_NAME_RESOLVING;
	if (g->n_resolving < NET_MAX_RESOLVING) {
		start(g, n);
		return;
	}
	n->later = NULL;
	*(g->first_later ? &g->last_later->later : &g->first_later) = n;
	g->last_later = n;
}

void net_names_resolve_later(struct net_gate *g)
{
	while (g->first_later && g->n_resolving < NET_MAX_RESOLVING) {
		struct net_name *n = g->first_later;
		g->first_later = n->later;
		start(g, n);
	}
}
