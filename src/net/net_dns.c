/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The name server inside: every name that may be asked about has an address of its own (net_names.c). A name that is allowed
 * without a question is resolved first, so that a program is told at once when there is no such name. A name that is not
 * allowed is never looked up outside: who knows the name server of a domain could send data in the names. */
#include "net/net_gate_state.h"

#include "base/array.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>

#define TTL_S 30
#define TYPE_PTR 12
#define TYPE_SRV 33
#define STREAM_IDLE_MS 10000
#define DATAGRAM_BATCH 64

struct reply {
	enum dns_code code;
	bool has_address;
	struct net_address address;
	struct net_name *wait; /* answer when this name is resolved */
};

static struct reply reply_of_name(const struct net_name *n, bool is_a)
{
	if (n->state == NET_NAME_MISSING)
		return (struct reply){.code = DNS_NO_NAME};
	if (n->state == NET_NAME_FAILED)
		return (struct reply){.code = DNS_FAILURE};
	return (struct reply){.has_address = is_a, .address = net_name_address(n)};
}

static bool is_localhost(const char *name)
{
	size_t n = strlen(name), m = strlen("localhost");
	return n >= m && strcmp(name + n - m, "localhost") == 0 && (n == m || name[n - m - 1] == '.');
}

static struct reply decide(struct net_gate *g, const struct dns_query *q)
{
	_cleanup_buf_ struct buf name = BUF_INIT;
	struct net_address numeric;
	bool is_a = q->type == DNS_A;
	if (!q->name_is_plain || !host_name_normalize(q->name, strlen(q->name), &name) || q->type == TYPE_PTR ||
	    q->type == TYPE_SRV)
		return (struct reply){.code = DNS_NO_NAME};
	if (is_localhost(buf_str(&name)))
		return (struct reply){.has_address = is_a, .address = {.family = 4, .bytes = {127, 0, 0, 1}}};
	if (net_address_parse_numeric(buf_str(&name), &numeric)) /* the connection is judged by the address */
		return (struct reply){.has_address = is_a && numeric.family == 4, .address = numeric};
	if (q->type != DNS_A && q->type != DNS_AAAA)
		return (struct reply){0};
	bool is_allowed = net_allows_name(g->rules, buf_str(&name));
	struct net_name *n = net_names_get(g, buf_str(&name), is_allowed ? NET_MAX_NAMES : NET_MAX_OTHER_NAMES);
	if (!n)
		return (struct reply){.code = DNS_FAILURE};
	if (is_allowed)
		net_name_resolve(g, n);
	struct reply r = reply_of_name(n, is_a);
	r.wait = n->state == NET_NAME_RESOLVING ? n : NULL;
	return r;
}

/* ── Datagrams ── */

static void send_datagram(int fd, const struct sockaddr_storage *to, const struct net_address *from,
			  const uint8_t *bytes, size_t len)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = {0};
	struct iovec iov = {(void *)bytes, len};
	bool is_v4 = to->ss_family == AF_INET;
	struct msghdr m = {.msg_name = (void *)to,
			   .msg_namelen = is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6),
			   .msg_iov = &iov,
			   .msg_iovlen = 1};
	if (from->family) {
		m.msg_control = control;
		m.msg_controllen =
			is_v4 ? CMSG_SPACE(sizeof(struct in_pktinfo)) : CMSG_SPACE(sizeof(struct in6_pktinfo));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
		c->cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(is_v4 ? sizeof(struct in_pktinfo) : sizeof(struct in6_pktinfo));
		if (is_v4)
			memcpy(CMSG_DATA(c) + offsetof(struct in_pktinfo, ipi_spec_dst), from->bytes, 4);
		else
			memcpy(CMSG_DATA(c) + offsetof(struct in6_pktinfo, ipi6_addr), from->bytes, 16);
	}
	(void)sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL); /* who hears nothing asks again */
}

static struct net_address asked_address(struct msghdr *m)
{
	struct net_address a = {0};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			a.family = 4;
			memcpy(a.bytes, CMSG_DATA(c) + offsetof(struct in_pktinfo, ipi_addr), 4);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			a.family = 6;
			memcpy(a.bytes, CMSG_DATA(c) + offsetof(struct in6_pktinfo, ipi6_addr), 16);
		}
	}
	return a;
}

/* False: there is no room, and the answer must be given now. */
static bool put_off(struct net_gate *g, const struct net_dns_pending *p)
{
	if (g->n_pending >= NET_MAX_PENDING_DNS || !ARRAY_ROOM(g->pending, g->n_pending, g->cap_pending, 16))
		return false;
	if (p->stream)
		p->stream->pending++;
	g->pending[g->n_pending++] = *p;
	return true;
}

static void send_stream(struct net_dns_stream *s, const uint8_t *bytes, size_t len)
{
	uint8_t out[2 + DNS_ANSWER_MAX] = {(uint8_t)(len >> 8), (uint8_t)len};
	memcpy(out + 2, bytes, len);
	(void)send(s->watch.fd, out, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(const struct net_dns_pending *p, const struct reply *r)
{
	uint8_t out[DNS_ANSWER_MAX];
	size_t len = dns_answer_write(&p->query, r->code, r->has_address ? &r->address : NULL, TTL_S, out, sizeof out);
	if (len && p->stream)
		send_stream(p->stream, out, len);
	else if (len)
		send_datagram(p->fd, &p->from, &p->to, out, len);
}

static void handle_query(struct net_gate *g, const uint8_t *bytes, size_t len, struct net_dns_pending *p)
{
	struct reply r = {0};
	switch (dns_query_read(bytes, len, &p->query)) {
	case DNS_IGNORE:
		return;
	case DNS_MALFORMED:
		r.code = DNS_FORMAT_ERROR;
		break;
	case DNS_UNSUPPORTED:
		r.code = DNS_NOT_IMPLEMENTED;
		break;
	case DNS_FINE:
		r = decide(g, &p->query);
		break;
	}
	p->name = r.wait;
	if (!r.wait || !put_off(g, p))
		answer(p, &r);
}

void net_dns_datagram(struct net_gate *g, int fd)
{
	for (int i = 0; i < DATAGRAM_BATCH; i++) {
		uint8_t bytes[1500];
		_Alignas(struct cmsghdr) char control[128];
		struct net_dns_pending p = {.fd = fd};
		struct iovec iov = {bytes, sizeof bytes};
		struct msghdr m = {.msg_name = &p.from,
				   .msg_namelen = sizeof p.from,
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof control};
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
		if (n < 0)
			return;
		p.to = asked_address(&m);
		handle_query(g, bytes, (size_t)n, &p);
	}
}

/* ── Streams ── */

static void end_stream(struct net_gate *g, struct net_dns_stream *s)
{
	struct net_dns_stream **at = &g->streams;
	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	g->n_streams--;
	for (size_t i = 0; i < g->n_pending;)
		if (g->pending[i].stream == s)
			g->pending[i] = g->pending[--g->n_pending];
		else
			i++;
	net_watch_set(g, &s->watch, 0);
	base_closep(&s->watch.fd);
	s->next = g->dead_streams;
	g->dead_streams = s;
}

void net_dns_accept(struct net_gate *g, int fd)
{
	struct net_dns_stream *s = g->n_streams < NET_MAX_DNS_STREAMS ? calloc(1, sizeof *s) : NULL;
	if (!s) {
		(void)close(fd);
		return;
	}
	*s = (struct net_dns_stream){.watch = {NET_ON_DNS_STREAM, fd, 0, s},
				     .deadline_ms = net_now_ms() + STREAM_IDLE_MS,
				     .next = g->streams};
	g->streams = s;
	g->n_streams++;
	net_watch_set(g, &s->watch, EPOLLIN);
	net_gate_arm(g, s->deadline_ms);
}

void net_dns_stream_ready(struct net_gate *g, struct net_dns_stream *s)
{
	ssize_t n = recv(s->watch.fd, s->in + s->len, sizeof s->in - s->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		end_stream(g, s);
		return;
	}
	s->len += (size_t)n;
	s->deadline_ms = net_now_ms() + STREAM_IDLE_MS;
	while (s->len >= 2) {
		size_t want = (size_t)(s->in[0] << 8 | s->in[1]);
		if (want > sizeof s->in - 2) {
			end_stream(g, s);
			return;
		}
		if (s->len < want + 2)
			return;
		struct net_dns_pending p = {.fd = -1, .stream = s};
		handle_query(g, s->in + 2, want, &p);
		memmove(s->in, s->in + want + 2, s->len - want - 2);
		s->len -= want + 2;
	}
}

void net_dns_resolved(struct net_gate *g, struct net_name *n)
{
	for (size_t i = 0; i < g->n_pending;) {
		if (g->pending[i].name != n) {
			i++;
			continue;
		}
		struct net_dns_pending p = g->pending[i];
		g->pending[i] = g->pending[--g->n_pending];
		struct reply r = reply_of_name(n, p.query.type == DNS_A);
		answer(&p, &r);
	}
}

void net_dns_expire(struct net_gate *g, int64_t now_ms)
{
	for (struct net_dns_stream *s = g->streams, *next; s; s = next) {
		next = s->next;
		if (now_ms >= s->deadline_ms)
			end_stream(g, s);
		else
			net_gate_arm(g, s->deadline_ms);
	}
}

void net_dns_done(struct net_gate *g)
{
	while (g->streams)
		end_stream(g, g->streams);
}
