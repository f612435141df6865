/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/net_resolve.h"

#include <ares.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define MAX_ADDRESSES 16
#define TIMEOUT_MS 2500
#define TRIES 3

struct net_resolver {
	bool is_ready;
	ares_channel channel;
	size_t running;
	struct net_resolver_calls calls;
};

struct request {
	struct net_resolver *r;
	void *name;
};

static void on_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	struct net_resolver *r = data;
	r->calls.watch(r->calls.data, fd, readable, writable);
}

/* Without a list of domains: a name means what it says, and nothing is looked up that no rule was asked about. */
static int open_channel(struct net_resolver *r)
{
	struct ares_options options = {.flags = ARES_FLAG_NOSEARCH,
				       .timeout = TIMEOUT_MS,
				       .tries = TRIES,
				       .sock_state_cb = on_socket,
				       .sock_state_cb_data = r};
	int rc = r->is_ready ? ARES_SUCCESS : ares_library_init(ARES_LIB_INIT_ALL);
	r->is_ready = rc == ARES_SUCCESS;
	return rc == ARES_SUCCESS ? ares_init_options(&r->channel, &options,
						      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
							      ARES_OPT_SOCK_STATE_CB)
				  : rc;
}

int net_resolver_new(const struct net_resolver_calls *calls, struct net_resolver **ret, struct airlock_error *err)
{
	struct net_resolver *r = calloc(1, sizeof *r);
	if (!r)
		return base_oom(err);
	r->calls = *calls;
	*ret = r;
	return 0;
}

static void on_done(void *data, int status, int timeouts, struct ares_addrinfo *list)
{
	struct request *q = data;
	struct net_resolver *r = q->r;
	struct net_address v[MAX_ADDRESSES];
	size_t n = 0;
	for (const struct ares_addrinfo_node *a = list ? list->nodes : NULL; a && n < MAX_ADDRESSES; a = a->ai_next) {
		struct sockaddr_storage sa = {0};
		if (a->ai_addrlen > sizeof sa)
			continue;
		memcpy(&sa, a->ai_addr, a->ai_addrlen);
		/* Not as net_address_from: a mapped address must be seen as what it is. */
		v[n] = (struct net_address){.family = sa.ss_family == AF_INET ? 4 : 6};
		if (sa.ss_family == AF_INET)
			memcpy(v[n++].bytes, &((struct sockaddr_in *)&sa)->sin_addr, 4);
		else if (sa.ss_family == AF_INET6)
			memcpy(v[n++].bytes, &((struct sockaddr_in6 *)&sa)->sin6_addr, 16);
	}
	enum net_resolved how = status == ARES_SUCCESS && n > 0			     ? NET_RESOLVED
				: status == ARES_ENOTFOUND || status == ARES_ENODATA ? NET_RESOLVED_MISSING
										     : NET_RESOLVED_FAILED;
	if (list)
		ares_freeaddrinfo(list);
	void *name = q->name;
	free(q);
	r->running--;
	r->calls.done(r->calls.data, name, how, v, n);
}

void net_resolver_start(struct net_resolver *r, const char *host, void *name)
{
	struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct request *q = r->channel || open_channel(r) == ARES_SUCCESS ? malloc(sizeof *q) : NULL;
	if (!q) {
		r->calls.done(r->calls.data, name, NET_RESOLVED_FAILED, NULL, 0);
		return;
	}
	*q = (struct request){r, name};
	r->running++;
	ares_getaddrinfo(r->channel, host, NULL, &hints, on_done, q);
}

void net_resolver_ready(struct net_resolver *r, int fd, bool readable, bool writable)
{
	ares_process_fd(r->channel, readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
}

int net_resolver_timeout(struct net_resolver *r)
{
	struct timeval tv;
	const struct timeval *next = r->running ? ares_timeout(r->channel, NULL, &tv) : NULL;
	return next ? (int)(next->tv_sec * 1000 + next->tv_usec / 1000 + 1) : -1;
}

void net_resolver_tick(struct net_resolver *r)
{
	if (r->channel)
		ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void net_resolver_free(struct net_resolver *r)
{
	if (!r)
		return;
	if (r->channel)
		ares_destroy(r->channel);
	if (r->is_ready)
		ares_library_cleanup();
	free(r);
}
