/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One connection of the command: decide, ask, resolve, check the addresses, connect outside, relay. Most that are
 * refused hear so before they connect (net_gate_before_connect); whoever gets here nevertheless is reset. */
#include "net/net_gate_state.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#define CONNECT_MS 15000
#define IDLE_MS (2 * 60 * 60 * 1000)
#define OWN_MS 2000 /* the list of this machine's addresses is not older */
#define BUSY_BYTES (1 << 20)
#define PIPE_BYTES (1 << 20)
#define PIPE_ROUNDS 8
#define ROUNDS 8 /* of one half before the others have their turn */

static struct net_target target_of(const struct net_connection *c)
{
	return (struct net_target){c->name ? c->name->name : NULL, c->address, c->port};
}

/* ── The end ── */

static void drop_left(struct net_gate *g, struct net_half *h)
{
	if (h->left)
		g->kept -= h->len;
	base_freep(&h->left);
}

static void half_done(struct net_gate *g, struct net_half *h)
{
	drop_left(g, h);
	g->n_pipes -= h->pipe_r >= 0;
	base_closep(&h->pipe_r);
	base_closep(&h->pipe_w);
}

void net_connection_close(struct net_gate *g, struct net_connection *c, bool reset)
{
	const struct linger now = {1, 0};
	if (c->phase == NET_DEAD)
		return;
	c->phase = NET_DEAD;
	struct net_watch *ends[] = {&c->client, &c->server};
	for (size_t i = 0; i < AL_ARRAY_LEN(ends); i++) {
		if (ends[i]->fd < 0)
			continue;
		if (reset)
			(void)setsockopt(ends[i]->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
		net_watch_set(g, ends[i], 0);
		base_closep(&ends[i]->fd);
		ends[i]->events = 0;
	}
	if (c->seen < g->n_seen) {
		g->seen[c->seen].bytes_out += c->out.bytes;
		g->seen[c->seen].bytes_in += c->in.bytes;
	}
	base_closep(&c->inside_v4);
	base_closep(&c->inside_v6);
	half_done(g, &c->out);
	half_done(g, &c->in);
	if (c->question)
		c->question->waiting--;
	c->question = NULL;
	*(c->prev ? &c->prev->next : &g->connections) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->next = g->dead;
	g->dead = c;
	g->n_connections--;
	net_gate_resume(g);
}

static void refuse(struct net_gate *g, struct net_connection *c)
{
	net_connection_close(g, c, true);
}

/* ── Relaying ── */

/* 0: goes on; -1: the connection is broken. */
static int write_left(struct net_gate *g, struct net_half *h, int to)
{
	while (h->left && h->at < h->len) {
		ssize_t n = send(to, h->left + h->at, h->len - h->at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		h->at += (size_t)n;
	}
	drop_left(g, h);
	return 0;
}

static int keep_left(struct net_gate *g, struct net_half *h, const char *bytes, size_t n)
{
	h->left = malloc(n);
	if (!h->left)
		return -1;
	memcpy(h->left, bytes, n);
	h->at = 0;
	h->len = n;
	g->kept += n;
	return 0;
}

static bool has_left(const struct net_half *h)
{
	return h->left || h->piped > 0;
}

static int pump_copies(struct net_gate *g, struct net_half *h, int from, int to)
{
	size_t most = g->kept < NET_MAX_KEPT ? NET_SCRATCH : NET_LITTLE;
	if (!g->scratch && !(g->scratch = malloc(NET_SCRATCH)))
		return -1;
	if (write_left(g, h, to) < 0)
		return -1;
	for (int i = 0; i < ROUNDS && !h->left && !h->at_end; i++) {
		ssize_t n = recv(from, g->scratch, most, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -1;
		h->at_end = n == 0;
		h->bytes += (uint64_t)n;
		ssize_t sent = n > 0 ? send(to, g->scratch, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
		if (sent < 0 && errno != EAGAIN)
			return -1;
		sent = AL_MAX(sent, 0);
		if (sent < n && keep_left(g, h, g->scratch + sent, (size_t)(n - sent)) < 0)
			return -1;
	}
	return 0;
}

static int pump_pipe(struct net_half *h, int from, int to)
{
	for (int i = 0; i < PIPE_ROUNDS; i++) {
		if (h->piped == 0 && !h->at_end) {
			ssize_t n = splice(from, NULL, h->pipe_w, NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
			if (n < 0)
				return errno == EAGAIN ? 0 : -1;
			h->at_end = n == 0;
			h->bytes += (uint64_t)n;
			h->piped = (size_t)n;
		}
		if (h->piped == 0)
			return 0;
		ssize_t n = splice(h->pipe_r, NULL, to, NULL, h->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		h->piped -= (size_t)n;
	}
	return 0;
}

/* splice(2) has no way to say that a closed connection must not end the process by SIGPIPE, and whose process it is we do not
 * know: the signal is held back, and taken if it was ours. */
static int pump_quietly(struct net_half *h, int from, int to)
{
	const struct timespec now = {0, 0};
	sigset_t set, before, pending;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	int rc = pump_pipe(h, from, to);
	if (rc < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&set, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* True if the half has a pipe now. Short connections do without, and so do others when there are many. */
static bool is_busy(struct net_gate *g, struct net_half *h)
{
	int fds[2];
	if (h->pipe_r < 0 && h->bytes > BUSY_BYTES && !h->left && !h->at_end && g->n_pipes < NET_MAX_PIPES &&
	    pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0) {
		h->pipe_r = fds[0];
		h->pipe_w = fds[1];
		g->n_pipes++;
		(void)fcntl(h->pipe_w, F_SETPIPE_SZ, PIPE_BYTES);
	}
	return h->pipe_r >= 0;
}

static int pump(struct net_gate *g, struct net_half *h, int from, int to)
{
	int rc = is_busy(g, h) ? pump_quietly(h, from, to) : pump_copies(g, h, from, to);
	if (rc == 0 && h->at_end && !has_left(h) && !h->finished) {
		h->finished = true;
		(void)shutdown(to, SHUT_WR);
	}
	return rc;
}

static void watch_both(struct net_gate *g, struct net_connection *c)
{
	net_watch_set(g, &c->client,
		      (!has_left(&c->out) && !c->out.at_end ? EPOLLIN : 0) | (has_left(&c->in) ? EPOLLOUT : 0));
	net_watch_set(g, &c->server,
		      (!has_left(&c->in) && !c->in.at_end ? EPOLLIN : 0) | (has_left(&c->out) ? EPOLLOUT : 0));
}

static int error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof error;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

static void relay(struct net_gate *g, struct net_connection *c, const struct net_watch *w, unsigned events)
{
	c->deadline_ms = net_now_ms() + IDLE_MS;
	bool is_broken = events & EPOLLERR && error_of(w->fd) != 0;
	if (!is_broken)
		is_broken = pump(g, &c->out, c->client.fd, c->server.fd) < 0 ||
			    pump(g, &c->in, c->server.fd, c->client.fd) < 0;
	if (is_broken)
		net_connection_close(g, c, true);
	else if (c->out.finished && c->in.finished)
		net_connection_close(g, c, false);
	else if (events & EPOLLHUP && (w == &c->client ? c->out.at_end : c->in.at_end))
		net_connection_close(g, c, true); /* it is closed in both directions, and somebody still writes to it */
	else
		watch_both(g, c);
}

static void begin_relaying(struct net_gate *g, struct net_connection *c)
{
	int one = 1;
	(void)setsockopt(c->server.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->phase = NET_RELAYING;
	if (c->seen < g->n_seen)
		g->seen[c->seen].connections++;
	relay(g, c, &c->server, 0);
}

/* ── Connecting ── */

static void connect_next(struct net_gate *g, struct net_connection *c);

static void take_server(struct net_gate *g, struct net_connection *c, int fd)
{
	c->server = (struct net_watch){NET_ON_SERVER, fd, 0, c};
	c->deadline_ms = net_now_ms() + CONNECT_MS;
	net_gate_arm(g, c->deadline_ms);
	net_watch_set(g, &c->server, EPOLLOUT);
}

static int open_server(struct net_connection *c)
{
	if (c->publish)
		return c->to[c->next_to].family == 4 ? TAKE_FD(c->inside_v4) : TAKE_FD(c->inside_v6);
	return socket(c->to[c->next_to].family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		      0);
}

static void connect_next(struct net_gate *g, struct net_connection *c)
{
	c->phase = NET_CONNECTING;
	while (c->next_to < c->n_to) {
		struct sockaddr_storage sa;
		unsigned port = c->publish ? g->publish[c->publish - 1].port : c->port;
		socklen_t len = net_address_to(&c->to[c->next_to], port, &sa);
		int fd = open_server(c);
		c->next_to++;
		if (fd >= 0 && (connect(fd, (struct sockaddr *)&sa, len) == 0 || errno == EINPROGRESS)) {
			take_server(g, c, fd);
			return;
		}
		if (fd >= 0)
			(void)close(fd);
	}
	if (c->name)
		c->name->is_unreachable = true;
	refuse(g, c);
}

static void refuse_by_guard(struct net_gate *g, struct net_connection *c, enum guard_verdict v)
{
	struct net_target t = target_of(c);
	struct net_seen *s = net_gate_see(g, &t, false, NET_BY_GUARD, &(struct airlock_origin){0}, &c->seen);
	if (s)
		s->guard = v;
	refuse(g, c);
}

/* A route of this machine may make addresses local that no interface has: both ends have the same address then. */
static enum guard_verdict check_connected(const struct net_gate *g, const struct net_connection *c)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	struct net_address local;
	unsigned port;
	struct net_target t = target_of(c);
	if (c->publish)
		return GUARD_PUBLIC;
	if (getsockname(c->server.fd, (struct sockaddr *)&sa, &len) < 0 || !net_address_from(&sa, &local, &port))
		return GUARD_OWN;
	return net_guard(g->rules, &t, &c->to[c->next_to - 1], &local, 1);
}

static void on_connected(struct net_gate *g, struct net_connection *c)
{
	if (error_of(c->server.fd) == 0) {
		enum guard_verdict v = check_connected(g, c);
		if (v == GUARD_PUBLIC)
			begin_relaying(g, c);
		else
			refuse_by_guard(g, c, v);
		return;
	}
	net_watch_set(g, &c->server, 0);
	base_closep(&c->server.fd);
	connect_next(g, c);
}

/* ── Deciding ── */

static void list_own(struct net_gate *g)
{
	int64_t now = net_now_ms();
	struct net_address *own = NULL;
	size_t n = 0;
	if (g->own && now - g->own_at_ms < OWN_MS)
		return;
	if (guard_list_own(&own, &n) < 0)
		return; /* the last list still counts */
	free(g->own);
	g->own = own;
	g->n_own = n;
	g->own_at_ms = now;
}

/* Every address must pass, not only the one that is tried: a name that leads to a private address as well is not to be
 * trusted with any. Without a list of our own addresses nothing passes. */
static enum guard_verdict check_addresses(struct net_gate *g, const char *name, const struct net_address *v_to,
					  size_t n, unsigned port)
{
	list_own(g);
	if (!g->own)
		return GUARD_OWN;
	for (size_t i = 0; i < n; i++) {
		const struct net_target t = {name, v_to[i], port};
		enum guard_verdict v = net_guard(g->rules, &t, &v_to[i], g->own, g->n_own);
		if (v != GUARD_PUBLIC)
			return v;
	}
	return GUARD_PUBLIC;
}

static void connect_out(struct net_gate *g, struct net_connection *c)
{
	if (c->name) {
		memcpy(c->to, c->name->addresses, sizeof c->to);
		c->n_to = c->name->n_addresses;
	} else {
		c->to[0] = c->address;
		c->n_to = 1;
	}
	enum guard_verdict v = check_addresses(g, c->name ? c->name->name : NULL, c->to, c->n_to, c->port);
	if (v == GUARD_PUBLIC)
		connect_next(g, c);
	else
		refuse_by_guard(g, c, v);
}

/* Ends this connection at most. With a name, resolve_for goes on. */
static void go_on(struct net_gate *g, struct net_connection *c, const struct net_decision *d)
{
	struct net_target t = target_of(c);
	(void)net_gate_see(g, &t, d->verdict == NET_ALLOW, d->by, &d->origin, &c->seen);
	if (d->verdict != NET_ALLOW)
		refuse(g, c);
	else if (c->name)
		c->phase = NET_RESOLVING;
	else
		connect_out(g, c);
}

static void resolve_for(struct net_gate *g, struct net_name *n)
{
	net_name_resolve(g, n); /* may call net_connection_resolved */
	if (n->state != NET_NAME_RESOLVING)
		net_connection_resolved(g, n);
}

void net_connection_resolved(struct net_gate *g, struct net_name *n)
{
	for (struct net_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		if (c->phase != NET_RESOLVING || c->name != n)
			continue;
		if (n->state == NET_NAME_RESOLVED)
			connect_out(g, c);
		else
			refuse(g, c);
	}
}

static struct net_connection *add_connection(struct net_gate *g, int fd)
{
	struct net_connection *c = calloc(1, sizeof *c);
	if (!c) {
		(void)close(fd);
		return NULL;
	}
	*c = (struct net_connection){.client = {NET_ON_CLIENT, fd, 0, c},
				     .server = {NET_ON_SERVER, -1, 0, c},
				     .seen = NET_MAX_SEEN,
				     .inside_v4 = -EBADF,
				     .inside_v6 = -EBADF,
				     .out = {.pipe_r = -EBADF, .pipe_w = -EBADF},
				     .in = {.pipe_r = -EBADF, .pipe_w = -EBADF}};
	c->next = g->connections;
	if (c->next)
		c->next->prev = c;
	g->connections = c;
	g->n_connections++;
	return c;
}

static bool is_loopback(const struct net_address *a)
{
	enum guard_verdict v = guard_judge(a, NULL, 0);
	return v == GUARD_LOOPBACK || v == GUARD_UNSPECIFIED;
}

void net_connection_accept(struct net_gate *g, int fd)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	struct net_address to;
	unsigned port;
	struct net_connection *c = add_connection(g, fd);
	if (!c)
		return;
	/* Its own loopback, where nothing of its own listens: nobody's business but its own. */
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 || !net_address_from(&sa, &to, &port) ||
	    is_loopback(&to)) {
		refuse(g, c);
		return;
	}
	c->name = net_names_by_address(g, &to);
	c->address = to;
	c->port = port;
	struct net_target t = target_of(c);
	struct net_decision d = net_decide(g->rules, &t);
	_cleanup_buf_ struct buf host = BUF_INIT;
	if (d.verdict == NET_ASK)
		net_target_host(&t, &host);
	if (d.verdict == NET_ASK && net_gate_ask(g, c, buf_str(&host))) {
		c->phase = NET_ASKING;
		return;
	}
	struct net_name *name = c->name;
	go_on(g, c, &d); /* what nobody can be asked about is denied */
	if (name && d.verdict == NET_ALLOW)
		resolve_for(g, name);
}

/* All connections of a question go to the same name, or to the same address. */
void net_connection_decided(struct net_gate *g, const struct net_open_question *q, bool allowed, enum net_by by)
{
	const struct net_decision d = {allowed ? NET_ALLOW : NET_DENY, by, {0}};
	struct net_name *name = NULL;
	bool is_kept = false;
	for (struct net_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		if (c->question != q)
			continue;
		struct net_target t = target_of(c);
		if (!is_kept) /* asked once for each host and port of a run, also where nobody answered */
			(void)net_rules_answer(g->rules, &t, allowed, by);
		is_kept = true;
		c->question->waiting--;
		c->question = NULL;
		name = c->name;
		go_on(g, c, &d);
	}
	if (name && allowed)
		resolve_for(g, name);
}

/* ── Before it connects ── */

static enum net_opening see_refused(struct net_gate *g, const struct net_target *t, enum net_by by,
				    const struct airlock_origin *origin, enum guard_verdict v)
{
	size_t index;
	struct net_seen *s = net_gate_see(g, t, false, by, origin, &index);
	if (s)
		s->guard = v;
	return NET_REFUSES;
}

enum net_opening net_gate_before_connect(struct net_gate *g, const struct net_address *to, unsigned port)
{
	const struct net_name *name = net_names_by_address(g, to);
	const struct net_target t = {name ? name->name : NULL, *to, port};
	struct net_decision d = net_decide(g->rules, &t);
	if (d.verdict == NET_ASK)
		return g->asker ? NET_OPENS_ONCE : see_refused(g, &t, NET_BY_NOBODY, &d.origin, GUARD_PUBLIC);
	if (d.verdict == NET_DENY)
		return see_refused(g, &t, d.by, &d.origin, GUARD_PUBLIC);
	if (name && name->state != NET_NAME_RESOLVED)
		return NET_OPENS_ONCE;
	enum guard_verdict v = name ? check_addresses(g, name->name, name->addresses, name->n_addresses, port)
				    : check_addresses(g, NULL, to, 1, port);
	return v == GUARD_PUBLIC ? NET_OPENS : see_refused(g, &t, NET_BY_GUARD, &(struct airlock_origin){0}, v);
}

/* ── Published ports ── */

static void connect_in(struct net_gate *g, struct net_connection *c)
{
	c->to[0] = (struct net_address){.family = 4, .bytes = {127, 0, 0, 1}};
	c->to[1] = (struct net_address){.family = 6, .bytes = {[15] = 1}};
	c->n_to = 2;
	c->inside_v4 = g->spare_v4[--g->n_spare];
	c->inside_v6 = g->spare_v6[g->n_spare];
	connect_next(g, c);
	if (g->n_spare < 3 && g->want_sockets)
		g->want_sockets(g->data);
}

void net_connection_accept_published(struct net_gate *g, int fd, size_t publish)
{
	struct net_connection *c = add_connection(g, fd);
	if (!c)
		return;
	c->publish = publish + 1;
	c->phase = NET_RESOLVING; /* until a socket comes */
	if (g->n_spare > 0)
		connect_in(g, c);
	else if (g->want_sockets)
		g->want_sockets(g->data);
}

void net_connection_sockets_came(struct net_gate *g)
{
	for (struct net_connection *c = g->connections, *next; c && g->n_spare > 0; c = next) {
		next = c->next;
		if (c->publish && c->phase == NET_RESOLVING)
			connect_in(g, c);
	}
}

/* ── Events ── */

void net_connection_ready(struct net_gate *g, struct net_connection *c, struct net_watch *w, unsigned events)
{
	if (c->phase == NET_RELAYING)
		relay(g, c, w, events);
	else if (c->phase == NET_CONNECTING && w == &c->server)
		on_connected(g, c);
}

void net_connection_expire(struct net_gate *g, int64_t now_ms)
{
	for (struct net_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		if (!c->deadline_ms)
			continue;
		if (now_ms < c->deadline_ms) {
			net_gate_arm(g, c->deadline_ms);
		} else if (c->phase == NET_CONNECTING) {
			net_watch_set(g, &c->server, 0);
			base_closep(&c->server.fd);
			connect_next(g, c);
		} else {
			net_connection_close(g, c, true);
		}
	}
}
