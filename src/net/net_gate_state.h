/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the gate share. */
#pragma once

#include "net/dns_message.h"
#include "net/net_gate.h"
#include "net/net_resolve.h"

#define NET_MAX_ADDRESSES 16
#define NET_MAX_LISTENERS 288 /* beside the usual ones more than the 256 that the first process knows to be open */
#define NET_MAX_NAMES 65536
#define NET_MAX_OTHER_NAMES 57344 /* the rest is for names that rules allow */
#define NET_MAX_SEEN 4096
#define NET_NAME_BUCKETS 1024
#define NET_SCRATCH (256 << 10)
#define NET_MAX_KEPT (16 << 20) /* bytes for slow readers; beyond it little is read at a time */
#define NET_LITTLE 4096
#define NET_MAX_DNS_STREAMS 64
#define NET_MAX_PENDING_DNS 512
#define NET_MAX_QUESTIONS 64
#define NET_MAX_RESOLVING 128 /* names at once; others wait */
#define NET_MAX_PIPES 32

enum net_watch_kind {
	NET_ON_LISTENER,
	NET_ON_DATAGRAM,
	NET_ON_DNS_STREAM,
	NET_ON_CLIENT,
	NET_ON_SERVER,
	NET_ON_QUESTION,
	NET_ON_RESOLVER,
	NET_ON_PUBLISHED,
	NET_ON_TIMER,
};

/* What epoll points to. It lies in the object it is about, which stays until the end of a dispatch. */
struct net_watch {
	enum net_watch_kind kind;
	int fd;
	unsigned events; /* 0: epoll does not know it */
	void *owner;
};

struct net_listener {
	struct net_watch watch;
	size_t publish;	 /* NET_ON_PUBLISHED: which one */
	bool is_for_one; /* a port of one address, opened because somebody connects to it */
	bool is_dns;
	struct net_listener *next_dead;
};

enum net_name_state { NET_NAME_NEW, NET_NAME_RESOLVING, NET_NAME_RESOLVED, NET_NAME_MISSING, NET_NAME_FAILED };

/* A name has one address inside for the whole run. Once it is resolved it keeps what it was resolved to, as long as that can
 * be reached. */
struct net_name {
	char *name;
	uint32_t number; /* its address is 198.18.0.0 plus this */
	uint32_t next;	 /* in its bucket; 0: the last */
	enum net_name_state state;
	bool is_unreachable; /* none of its addresses could be connected to */
	int64_t resolved_ms;
	struct net_name *later; /* the next that waits until fewer are being resolved */
	struct net_address addresses[NET_MAX_ADDRESSES];
	size_t n_addresses;
};

/* Bytes from one end of a connection to the other. */
struct net_half {
	char *left; /* what could not be written yet; NULL: nothing */
	size_t at, len;
	int pipe_r, pipe_w; /* of a busy half, whose bytes are not copied; -EBADF: none */
	size_t piped;	    /* bytes in it */
	bool at_end;	    /* the reader has seen the end */
	bool finished;	    /* the writer has told it */
	uint64_t bytes;
};

enum net_phase { NET_ASKING, NET_RESOLVING, NET_CONNECTING, NET_RELAYING, NET_DEAD };

struct net_connection {
	struct net_watch client, server;
	enum net_phase phase;
	struct net_name *name;	    /* NULL: by address */
	struct net_address address; /* without a name */
	unsigned port;
	struct net_open_question *question; /* NET_ASKING: the one that this waits for */
	size_t seen;			    /* NET_MAX_SEEN: none */
	size_t publish;			    /* of a published port: which one, plus 1; 0: it goes out */
	int inside_v4, inside_v6;	    /* of a published port: sockets made inside and not used yet */
	struct net_address to[NET_MAX_ADDRESSES];
	size_t n_to, next_to;
	int64_t deadline_ms; /* of connecting, or of being idle */
	struct net_half out, in;
	struct net_connection *prev, *next;
};

struct net_open_question {
	struct net_watch watch;
	char *host;
	unsigned port;
	void *handle;
	bool is_asked;
	unsigned waiting, told; /* connections, and how many of them the asker knows of */
};

struct net_dns_stream {
	struct net_watch watch;
	uint8_t in[2 + 1024];
	size_t len;
	int64_t deadline_ms;
	unsigned pending; /* queries that wait for a name */
	struct net_dns_stream *next;
};

/* A query that waits until its name is resolved. */
struct net_dns_pending {
	struct dns_query query;
	struct net_name *name;
	int fd;			       /* of the datagram socket; -1: stream */
	struct net_dns_stream *stream; /* NULL: datagram */
	struct sockaddr_storage from;
	struct net_address to;
};

struct net_gate {
	struct net_rules *rules;
	const struct net_asker *asker;
	int epoll_fd;
	struct net_watch timer, resolver_watch[64];
	int64_t armed_ms; /* 0: the timer is not set */
	struct net_resolver *resolver;
	struct net_listener *listeners[NET_MAX_LISTENERS], *dead_listeners; /* in the order in which they came */
	size_t n_listeners;
	bool paused; /* no more connections are accepted until one ends */
	size_t n_connections, max_fds, n_pipes;
	size_t kept; /* bytes that wait in memory until somebody takes them */
	struct net_connection *connections, *dead;
	struct net_name *names[NET_MAX_NAMES / 256]; /* blocks of 256, so that pointers to names stay valid */
	uint32_t n_names, buckets[NET_NAME_BUCKETS];
	size_t n_resolving;
	struct net_name *first_later, *last_later;
	struct net_open_question *questions[NET_MAX_QUESTIONS];
	size_t n_questions;
	struct net_dns_stream *streams, *dead_streams;
	size_t n_streams;
	struct net_dns_pending *pending;
	size_t n_pending, cap_pending;
	struct net_seen *seen;
	size_t n_seen, cap_seen;
	struct net_address *own;
	size_t n_own;
	int64_t own_at_ms;
	char *scratch;
	struct net_publish publish[NET_MAX_PUBLISH];
	size_t n_publish;
	int spare_v4[8], spare_v6[8]; /* sockets made inside, for published ports */
	size_t n_spare;
	void (*want_sockets)(void *data);
	void *data;
	bool is_over; /* nothing new is accepted */
};

int64_t net_now_ms(void);
/* Keeps epoll in line; events 0 removes it. */
void net_watch_set(struct net_gate *g, struct net_watch *w, unsigned events);
void net_gate_arm(struct net_gate *g, int64_t at_ms);

/* net_names.c */
/* most: how many there may be with a new one. NULL: there are, or no memory. */
struct net_name *net_names_get(struct net_gate *g, const char *name, uint32_t most);
struct net_name *net_names_by_address(const struct net_gate *g, const struct net_address *a);
struct net_address net_name_address(const struct net_name *n);
void net_names_done(struct net_gate *g);
/* Starts to resolve a name that is new, or that it is time to look up again; net_dns_resolved and net_connection_resolved are
 * called when it is done, perhaps at once. */
void net_name_resolve(struct net_gate *g, struct net_name *n);
/* Goes on with those that wait, as far as there is room. */
void net_names_resolve_later(struct net_gate *g);

/* net_dns.c */
void net_dns_datagram(struct net_gate *g, int fd);
void net_dns_accept(struct net_gate *g, int fd); /* takes it */
void net_dns_stream_ready(struct net_gate *g, struct net_dns_stream *s);
void net_dns_resolved(struct net_gate *g, struct net_name *n);
void net_dns_expire(struct net_gate *g, int64_t now_ms);
void net_dns_done(struct net_gate *g);

/* net_connection.c */
void net_connection_accept(struct net_gate *g, int fd); /* takes it */
void net_connection_accept_published(struct net_gate *g, int fd, size_t publish);
void net_connection_ready(struct net_gate *g, struct net_connection *c, struct net_watch *w, unsigned events);
void net_connection_resolved(struct net_gate *g, struct net_name *n);
void net_connection_decided(struct net_gate *g, const struct net_open_question *q, bool allowed, enum net_by by);
void net_connection_sockets_came(struct net_gate *g);
void net_connection_expire(struct net_gate *g, int64_t now_ms);
void net_connection_close(struct net_gate *g, struct net_connection *c, bool reset);

/* net_gate.c */
/* Has the connection wait for an answer. False: nobody can be asked. */
bool net_gate_ask(struct net_gate *g, struct net_connection *c, const char *host);
struct net_seen *net_gate_see(struct net_gate *g, const struct net_target *t, bool allowed, enum net_by by,
			      const struct airlock_origin *origin, size_t *ret_index);
void net_gate_resume(struct net_gate *g);
