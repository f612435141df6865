/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate between a command's own network and the hosts it may reach. docs/design/network.md tells the whole story.
 *
 *   net_gate_new(&spec, &g, err);
 *   net_gate_take(g, fd) …                  sockets from inside the sandbox, as they come
 *   while (…) { poll net_gate_fd(g); net_gate_dispatch(g); }
 *   net_gate_finish(g, 2000);               what the command has sent still goes out
 *   net_gate_seen(g, &n) …; net_gate_free(g);
 *
 * It never blocks, except in net_gate_finish and where the asker does. It has no thread and no global state. */
#pragma once

#include "base/error.h"
#include "net/net_decide.h"

/* ── Questions ── */

struct net_question {
	const char *host; /* as net_target_host writes it */
	unsigned port;
	unsigned connections; /* how many wait for the answer */
};

enum net_reply {
	NET_REPLY_LATER,
	NET_REPLY_ALLOW,
	NET_REPLY_DENY,
	NET_REPLY_NOBODY, /* there is nobody to ask, or nobody answered */
};

/* Whoever asks a person. All functions must be there. */
struct net_asker {
	void *data;
	/* Begins to ask. NET_REPLY_LATER: *ret_handle is given to the others, and *ret_fd is readable when `poll` has news. */
	enum net_reply (*ask)(void *data, const struct net_question *q, void **ret_handle, int *ret_fd);
	enum net_reply (*poll)(void *data, void *handle);
	void (*count)(void *data, void *handle, unsigned connections); /* so many wait by now */
	/* The answer is there, or nobody waits for it any more. */
	void (*close)(void *data, void *handle);
};

/* ── The gate ── */

/* A port of the command on the host's loopback. */
struct net_publish {
	unsigned host_port; /* 0: any that is free */
	unsigned port;
};
#define NET_MAX_PUBLISH 16

struct net_gate_spec {
	struct net_rules *rules;       /* borrowed; answers are added to it */
	const struct net_asker *asker; /* borrowed; NULL: nobody */
	const struct net_publish *publish;
	size_t n_publish;
	/* Asks for sockets that were made inside (net_gate_take_sockets). Only with publish. */
	void (*want_sockets)(void *data);
	void *data;
};

struct net_gate;

/* AIRLOCK_ERR_BUSY: a host port is taken; AIRLOCK_ERR_UNAVAILABLE: it cannot be opened. */
int net_gate_new(const struct net_gate_spec *spec, struct net_gate **ret, struct airlock_error *err);
/* The host port of a published one. */
unsigned net_gate_host_port(const struct net_gate *g, size_t i);
int net_gate_fd(const struct net_gate *g);
void net_gate_dispatch(struct net_gate *g);
/* Takes the descriptor: a listening socket, or one that receives DNS queries, made inside. */
void net_gate_take(struct net_gate *g, int fd);
/* A program inside waits in connect(2). What is said here is advice, so that a program that is refused hears of it at once:
 * the connection itself is judged when it is accepted. */
enum net_opening { NET_OPENS, NET_OPENS_ONCE /* ask again next time */, NET_REFUSES };
enum net_opening net_gate_before_connect(struct net_gate *g, const struct net_address *to, unsigned port);
/* Takes the descriptors: sockets made inside and not connected, the first for IPv4, the second for IPv6 (-1: none). */
void net_gate_take_sockets(struct net_gate *g, int v4, int v6);
/* The command has ended: relays what it has sent, for at most so long, and closes everything. */
void net_gate_finish(struct net_gate *g, int timeout_ms);
void net_gate_free(struct net_gate *g);

/* ── What happened ── */

struct net_seen {
	char *host;
	unsigned port;
	bool allowed;
	enum net_by by;
	struct airlock_origin origin; /* of the rule; its name is borrowed from the rules */
	enum guard_verdict guard;     /* why, with NET_BY_GUARD */
	uint64_t connections, bytes_out, bytes_in;
};
const struct net_seen *net_gate_seen(const struct net_gate *g, size_t *ret_n);
