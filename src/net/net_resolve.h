/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names resolved outside with the machine's own settings, without blocking (c-ares). The only includer of ares.h. */
#pragma once

#include "base/error.h"
#include "net/net_address.h"

enum net_resolved { NET_RESOLVED, NET_RESOLVED_MISSING /* there is no such name */, NET_RESOLVED_FAILED };

struct net_resolver_calls {
	/* Watch this descriptor for reading, writing, or neither. */
	void (*watch)(void *data, int fd, bool readable, bool writable);
	void (*done)(void *data, void *name, enum net_resolved how, const struct net_address *v, size_t n);
	void *data;
};

struct net_resolver;
/* Reads the machine's settings when the first name is looked up: most commands look up none. */
int net_resolver_new(const struct net_resolver_calls *calls, struct net_resolver **ret, struct airlock_error *err);
/* calls->done(…, name, …) is called once for it, perhaps before this returns; also when the resolver is freed. */
void net_resolver_start(struct net_resolver *r, const char *host, void *name);
void net_resolver_ready(struct net_resolver *r, int fd, bool readable, bool writable);
/* Milliseconds until net_resolver_tick must be called; -1: nothing waits. */
int net_resolver_timeout(struct net_resolver *r);
void net_resolver_tick(struct net_resolver *r);
void net_resolver_free(struct net_resolver *r);
