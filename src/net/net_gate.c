/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One epoll for everything of the gate: listeners, connections, queries, the resolver's sockets, questions and a timer. The
 * supervisor watches that epoll as one descriptor among its own. What ends while events are handed out is freed after them,
 * because a later event of the same batch may still point to it. */
#include "net/net_gate_state.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

#define DNS_PORT 53
#define KEEP_FDS 128 /* descriptors that the gate leaves to everything else */
#define MAX_EVENTS 64
#define ACCEPT_BATCH 64
#define DISPATCH_ROUNDS 4

int64_t net_now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void net_watch_set(struct net_gate *g, struct net_watch *w, unsigned events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};
	if (w->events == events || w->fd < 0)
		return;
	int op = !w->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
	if (epoll_ctl(g->epoll_fd, op, w->fd, &e) == 0 || op == EPOLL_CTL_DEL)
		w->events = events;
}

/* The nearest of all times that were asked for; whoever wakes too early looks and asks again. */
void net_gate_arm(struct net_gate *g, int64_t at_ms)
{
	if (g->armed_ms && g->armed_ms <= at_ms)
		return;
	g->armed_ms = at_ms;
	struct itimerspec when = {.it_value = {at_ms / 1000, at_ms % 1000 * 1000000}};
	(void)timerfd_settime(g->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ── What happened ── */

struct net_seen *net_gate_see(struct net_gate *g, const struct net_target *t, bool allowed, enum net_by by,
			      const struct airlock_origin *origin, size_t *ret_index)
{
	_cleanup_buf_ struct buf host = BUF_INIT;
	struct net_seen *s = NULL;
	net_target_host(t, &host);
	for (size_t i = 0; i < g->n_seen; i++)
		if (g->seen[i].port == t->port && strcmp(g->seen[i].host, buf_str(&host)) == 0)
			s = &g->seen[i];
	if (!s && g->n_seen < NET_MAX_SEEN && ARRAY_ROOM(g->seen, g->n_seen, g->cap_seen, 8)) {
		struct net_seen new = {.host = buf_take(&host), .port = t->port};
		if (new.host) {
			s = &g->seen[g->n_seen++];
			*s = new;
		}
	}
	*ret_index = s ? (size_t)(s - g->seen) : NET_MAX_SEEN;
	if (s) {
		s->allowed = allowed;
		s->by = by;
		s->origin = *origin;
	}
	return s;
}

const struct net_seen *net_gate_seen(const struct net_gate *g, size_t *ret_n)
{
	*ret_n = g->n_seen;
	return g->seen;
}

/* ── Questions ── */

static void drop_question(struct net_gate *g, size_t i)
{
	struct net_open_question *q = g->questions[i];
	net_watch_set(g, &q->watch, 0);
	if (q->handle)
		g->asker->close(g->asker->data, q->handle);
	free(q->host);
	free(q);
	g->questions[i] = g->questions[--g->n_questions];
}

static struct net_open_question *add_question(struct net_gate *g, const char *host, unsigned port)
{
	struct net_open_question *q = g->asker && g->n_questions < NET_MAX_QUESTIONS ? calloc(1, sizeof *q) : NULL;
	if (!q)
		return NULL;
	*q = (struct net_open_question){.watch = {NET_ON_QUESTION, -1, 0, q}, .host = strdup(host), .port = port};
	if (!q->host) {
		free(q);
		return NULL;
	}
	g->questions[g->n_questions++] = q;
	return q;
}

/* The question is put at the end of the dispatch, when every connection that came with this one is counted. */
bool net_gate_ask(struct net_gate *g, struct net_connection *c, const char *host)
{
	struct net_open_question *q = NULL;
	for (size_t i = 0; i < g->n_questions && !q; i++)
		if (g->questions[i]->port == c->port && strcmp(g->questions[i]->host, host) == 0)
			q = g->questions[i];
	if (!q)
		q = add_question(g, host, c->port);
	c->question = q;
	if (q)
		q->waiting++;
	return q != NULL;
}

static void take_reply(struct net_gate *g, size_t i, enum net_reply reply)
{
	net_connection_decided(g, g->questions[i], reply == NET_REPLY_ALLOW,
			       reply == NET_REPLY_NOBODY ? NET_BY_NOBODY : NET_BY_PERSON);
	drop_question(g, i);
}

static void put_questions(struct net_gate *g)
{
	for (size_t i = 0; i < g->n_questions;) {
		struct net_open_question *q = g->questions[i];
		unsigned waiting = q->waiting;
		enum net_reply reply = NET_REPLY_LATER;
		if (waiting == 0) {
			drop_question(g, i);
			continue;
		}
		if (!q->is_asked) {
			struct net_question asked = {q->host, q->port, waiting};
			q->is_asked = true;
			reply = g->asker->ask(g->asker->data, &asked, &q->handle, &q->watch.fd);
			if (reply == NET_REPLY_LATER)
				net_watch_set(g, &q->watch, EPOLLIN);
		} else if (waiting != q->told) {
			g->asker->count(g->asker->data, q->handle, waiting);
		}
		q->told = waiting;
		if (reply == NET_REPLY_LATER)
			i++;
		else
			take_reply(g, i, reply);
	}
}

static void on_question(struct net_gate *g, struct net_open_question *q)
{
	for (size_t i = 0; i < g->n_questions; i++)
		if (g->questions[i] == q) {
			enum net_reply reply = g->asker->poll(g->asker->data, q->handle);
			if (reply != NET_REPLY_LATER)
				take_reply(g, i, reply);
			return;
		}
}

/* ── Listeners ── */

static void watch_listeners(struct net_gate *g)
{
	for (size_t i = 0; i < g->n_listeners; i++) {
		struct net_watch *w = &g->listeners[i]->watch;
		bool is_stopped = g->paused && w->kind != NET_ON_DATAGRAM;
		net_watch_set(g, w, is_stopped ? 0 : EPOLLIN);
	}
}

void net_gate_resume(struct net_gate *g)
{
	if (!g->paused || g->is_over)
		return;
	g->paused = false;
	watch_listeners(g);
}

static void pause_listeners(struct net_gate *g)
{
	g->paused = true;
	watch_listeners(g);
}

static unsigned port_of(int fd)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	struct net_address a;
	unsigned port = 0;
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 || !net_address_from(&sa, &a, &port))
		return 0;
	return port;
}

/* What is accepted there has the same option. */
static void set_up_listener(struct net_listener *l)
{
	static const uint8_t every[16];
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	struct net_address a;
	unsigned port;
	int one = 1;
	if (getsockname(l->watch.fd, (struct sockaddr *)&sa, &len) < 0 || !net_address_from(&sa, &a, &port))
		return;
	l->is_dns = l->watch.kind == NET_ON_LISTENER && port == DNS_PORT;
	l->is_for_one = l->watch.kind == NET_ON_LISTENER && memcmp(a.bytes, every, sizeof every) != 0;
	if (l->watch.kind != NET_ON_DATAGRAM)
		(void)setsockopt(l->watch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* The descriptors of the process bound the connections: two for each, beside those of listeners and pipes. */
static bool has_room(const struct net_gate *g)
{
	size_t others = KEEP_FDS + g->n_listeners + 2 * NET_MAX_PIPES;
	size_t most = g->max_fds > others + 32 ? (g->max_fds - others) / 2 : 16;
	return g->n_connections < most;
}

/* Level-triggered: what a batch leaves is reported again. */
static void accept_some(struct net_gate *g, struct net_listener *l)
{
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		if (!has_room(g)) {
			pause_listeners(g);
			return;
		}
		int fd = accept4(l->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			pause_listeners(g); /* until a connection ends, or for a moment */
			net_gate_arm(g, net_now_ms() + 100);
			return;
		}
		if (fd < 0)
			return;
		if (l->watch.kind == NET_ON_PUBLISHED)
			net_connection_accept_published(g, fd, l->publish);
		else if (l->is_dns)
			net_dns_accept(g, fd);
		else
			net_connection_accept(g, fd);
	}
}

/* The oldest that is open for one address. Who connects there again has it opened again. */
static void close_oldest(struct net_gate *g)
{
	for (size_t i = 0; i < g->n_listeners; i++) {
		struct net_listener *l = g->listeners[i];
		if (!l->is_for_one)
			continue;
		accept_some(g, l); /* who is connected already stays so */
		net_watch_set(g, &l->watch, 0);
		base_closep(&l->watch.fd);
		l->next_dead = g->dead_listeners;
		g->dead_listeners = l;
		g->n_listeners--;
		memmove(&g->listeners[i], &g->listeners[i + 1], (g->n_listeners - i) * sizeof *g->listeners);
		return;
	}
}

static bool add_listener(struct net_gate *g, int fd, enum net_watch_kind kind, size_t publish)
{
	if (g->n_listeners == NET_MAX_LISTENERS)
		close_oldest(g);
	struct net_listener *l = g->n_listeners < NET_MAX_LISTENERS && !g->is_over ? calloc(1, sizeof *l) : NULL;
	if (!l) {
		(void)close(fd); /* what connects there is refused */
		return false;
	}
	*l = (struct net_listener){.watch = {kind, fd, 0, l}, .publish = publish};
	set_up_listener(l);
	g->listeners[g->n_listeners++] = l;
	net_watch_set(g, &l->watch, g->paused && kind != NET_ON_DATAGRAM ? 0 : EPOLLIN);
	return true;
}

void net_gate_take(struct net_gate *g, int fd)
{
	int type = 0;
	socklen_t len = sizeof type;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0) {
		(void)close(fd);
		return;
	}
	(void)add_listener(g, fd, type == SOCK_DGRAM ? NET_ON_DATAGRAM : NET_ON_LISTENER, 0);
}

/* ── Published ports ── */

static int publish_one(struct net_gate *g, size_t i, struct airlock_error *err)
{
	struct net_address loopback = {.family = 4, .bytes = {127, 0, 0, 1}};
	struct sockaddr_storage sa;
	socklen_t len = net_address_to(&loopback, g->publish[i].host_port, &sa);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, 128) < 0) {
		int errnum = errno;
		char subject[32];
		(void)snprintf(subject, sizeof subject, "127.0.0.1:%u", g->publish[i].host_port);
		if (fd >= 0)
			(void)close(fd);
		base_error(err, errnum == EADDRINUSE ? AIRLOCK_ERR_BUSY : AIRLOCK_ERR_UNAVAILABLE, "publish", subject,
			   "port %u cannot be published at %s: %s", g->publish[i].port, subject,
			   strerrordesc_np(errnum));
		return base_hint(err, "choose another port of the host: --publish HOSTPORT:%u", g->publish[i].port);
	}
	g->publish[i].host_port = port_of(fd);
	return add_listener(g, fd, NET_ON_PUBLISHED, i) ? 0 : base_oom(err);
}

unsigned net_gate_host_port(const struct net_gate *g, size_t i)
{
	return g->publish[i].host_port;
}

void net_gate_take_sockets(struct net_gate *g, int v4, int v6)
{
	if (g->n_spare == AL_ARRAY_LEN(g->spare_v4)) {
		base_closep(&v4);
		base_closep(&v6);
		return;
	}
	g->spare_v4[g->n_spare] = v4;
	g->spare_v6[g->n_spare++] = v6;
	net_connection_sockets_came(g);
}

/* ── The resolver ── */

static void on_resolver_socket(void *data, int fd, bool readable, bool writable)
{
	struct net_gate *g = data;
	unsigned events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
	struct net_watch *found = NULL;
	for (size_t i = 0; i < AL_ARRAY_LEN(g->resolver_watch); i++) {
		struct net_watch *w = &g->resolver_watch[i];
		if (w->events && w->fd == fd) {
			found = w;
			break;
		}
		if (!w->events && !found)
			found = w;
	}
	if (!found) /* its timer looks after it */
		return;
	if (!found->events)
		*found = (struct net_watch){NET_ON_RESOLVER, fd, 0, NULL};
	net_watch_set(g, found, events);
}

static void on_resolved(void *data, void *name, enum net_resolved how, const struct net_address *v, size_t n)
{
	struct net_gate *g = data;
	struct net_name *entry = name;
	entry->state = how == NET_RESOLVED	     ? NET_NAME_RESOLVED
		       : how == NET_RESOLVED_MISSING ? NET_NAME_MISSING
						     : NET_NAME_FAILED;
	entry->n_addresses = AL_MIN(n, (size_t)NET_MAX_ADDRESSES);
	if (entry->n_addresses > 0)
		memcpy(entry->addresses, v, entry->n_addresses * sizeof *v);
	entry->resolved_ms = net_now_ms();
	entry->is_unreachable = false;
	g->n_resolving--;
	if (g->is_over)
		return;
	net_dns_resolved(g, entry);
	net_connection_resolved(g, entry);
}

/* ── The loop ── */

static void on_timer(struct net_gate *g)
{
	uint64_t expirations;
	int64_t now = net_now_ms();
	(void)!read(g->timer.fd, &expirations, sizeof expirations);
	g->armed_ms = 0;
	net_resolver_tick(g->resolver);
	net_connection_expire(g, now);
	net_dns_expire(g, now);
	if (has_room(g))
		net_gate_resume(g);
}

static void hand_out(struct net_gate *g, struct net_watch *w, unsigned events)
{
	switch (w->kind) {
	case NET_ON_LISTENER:
	case NET_ON_PUBLISHED:
		accept_some(g, w->owner);
		break;
	case NET_ON_DATAGRAM:
		net_dns_datagram(g, w->fd);
		break;
	case NET_ON_DNS_STREAM:
		net_dns_stream_ready(g, w->owner);
		break;
	case NET_ON_CLIENT:
	case NET_ON_SERVER:
		net_connection_ready(g, w->owner, w, events);
		break;
	case NET_ON_QUESTION:
		on_question(g, w->owner);
		break;
	case NET_ON_RESOLVER:
		net_resolver_ready(g->resolver, w->fd, events & (EPOLLIN | EPOLLERR | EPOLLHUP),
				   events & (EPOLLOUT | EPOLLERR | EPOLLHUP));
		break;
	case NET_ON_TIMER:
		on_timer(g);
		break;
	}
}

static void bury(struct net_gate *g)
{
	for (struct net_connection *c = g->dead, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	g->dead = NULL;
	for (struct net_dns_stream *s = g->dead_streams, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	g->dead_streams = NULL;
	for (struct net_listener *l = g->dead_listeners, *next; l; l = next) {
		next = l->next_dead;
		free(l);
	}
	g->dead_listeners = NULL;
}

static int dispatch(struct net_gate *g, int timeout_ms)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(g->epoll_fd, events, MAX_EVENTS, timeout_ms);
	for (int i = 0; i < n; i++) {
		struct net_watch *w = events[i].data.ptr;
		if (w->events) /* else it was closed by an event before this one */
			hand_out(g, w, events[i].events);
	}
	net_names_resolve_later(g);
	put_questions(g);
	int wait = net_resolver_timeout(g->resolver);
	if (wait >= 0)
		net_gate_arm(g, net_now_ms() + wait);
	bury(g);
	return n;
}

int net_gate_fd(const struct net_gate *g)
{
	return g->epoll_fd;
}

/* What is done for one event often makes the next one ready; to wait for it would cost more than to look. */
void net_gate_dispatch(struct net_gate *g)
{
	for (int i = 0; i < DISPATCH_ROUNDS && dispatch(g, 0) > 0; i++)
		;
}

static bool still_sends(const struct net_gate *g)
{
	for (const struct net_connection *c = g->connections; c; c = c->next)
		if (c->phase == NET_RELAYING && !c->publish && !c->out.finished)
			return true;
	return false;
}

void net_gate_finish(struct net_gate *g, int timeout_ms)
{
	int64_t end = net_now_ms() + timeout_ms;
	g->is_over = true;
	for (size_t i = 0; i < g->n_listeners; i++)
		net_watch_set(g, &g->listeners[i]->watch, 0);
	for (struct net_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		if (c->phase == NET_ASKING) {
			struct net_target t = {c->name ? c->name->name : NULL, c->address, c->port};
			(void)net_gate_see(g, &t, false, NET_BY_NOBODY, &(struct airlock_origin){0}, &c->seen);
		}
		if (c->phase < NET_CONNECTING || c->publish)
			net_connection_close(g, c, true);
	}
	while (g->n_questions > 0)
		drop_question(g, 0);
	for (int64_t now = net_now_ms(); still_sends(g) && now < end; now = net_now_ms())
		(void)dispatch(g, (int)(end - now));
	while (g->connections)
		net_connection_close(g, g->connections, false);
	bury(g);
}

/* ── From the beginning to the end ── */

static size_t fds_max(void)
{
	struct rlimit limit = {1024, 1024};
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > 65536 ? 65536 : (size_t)limit.rlim_cur;
}

int net_gate_new(const struct net_gate_spec *spec, struct net_gate **ret, struct airlock_error *err)
{
	struct net_gate *g = calloc(1, sizeof *g);
	if (!g)
		return base_oom(err);
	g->rules = spec->rules;
	g->asker = spec->asker;
	g->want_sockets = spec->want_sockets;
	g->data = spec->data;
	g->max_fds = fds_max();
	g->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	g->timer = (struct net_watch){NET_ON_TIMER, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), 0, g};
	int rc = g->epoll_fd < 0 || g->timer.fd < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "epoll_create", "") : 0;
	const struct net_resolver_calls calls = {on_resolver_socket, on_resolved, g};
	if (rc == 0)
		rc = net_resolver_new(&calls, &g->resolver, err);
	if (rc == 0)
		net_watch_set(g, &g->timer, EPOLLIN);
	for (size_t i = 0; rc == 0 && i < spec->n_publish && i < NET_MAX_PUBLISH; i++) {
		g->publish[g->n_publish++] = spec->publish[i];
		rc = publish_one(g, i, err);
	}
	if (rc < 0)
		net_gate_free(g);
	else
		*ret = g;
	return rc;
}

void net_gate_free(struct net_gate *g)
{
	if (!g)
		return;
	g->is_over = true;
	while (g->n_questions > 0)
		drop_question(g, 0);
	while (g->connections)
		net_connection_close(g, g->connections, true);
	net_dns_done(g);
	net_resolver_free(g->resolver);
	bury(g);
	for (size_t i = 0; i < g->n_listeners; i++) {
		base_closep(&g->listeners[i]->watch.fd);
		free(g->listeners[i]);
	}
	for (size_t i = 0; i < g->n_spare; i++) {
		base_closep(&g->spare_v4[i]);
		base_closep(&g->spare_v6[i]);
	}
	for (size_t i = 0; i < g->n_seen; i++)
		free(g->seen[i].host);
	free(g->seen);
	free(g->own);
	free(g->pending);
	free(g->scratch);
	net_names_done(g);
	base_closep(&g->timer.fd);
	base_closep(&g->epoll_fd);
	free(g);
}
