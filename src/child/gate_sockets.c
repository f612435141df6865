/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/gate_sockets.h"

#include "child/caller.h"
#include "child/mounts.h"
#include "child/pass.h"
#include "child/raw_calls.h"

#include <asm/socket.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>

#define INET 2
#define INET6 10
#define STREAM 1
#define DATAGRAM 2
#define LOOPBACK_INDEX 1
#define LOOPBACK_UP 0x9 /* IFF_UP | IFF_LOOPBACK */
#define BACKLOG 4096	/* the kernel lowers it to net.core.somaxconn */
#define DNS_PORT 53
#define KNOWN_MAX 256 /* fewer than the supervisor keeps open (NET_MAX_LISTENERS) */
#define WAITING_MAX 64

/* Opened on every address at once: the command has no servers of its own there. */
static const uint16_t usual_ports[] = {DNS_PORT, 22, 80, 443};
#define N_USUAL (sizeof usual_ports / sizeof *usual_ports)
_Static_assert(N_USUAL + 1 <= PASS_MAX_FDS, "they go with one message");

/* An address as the kernel has it, of either family. */
union any_address {
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	unsigned char bytes[28];
};

static uint16_t swap16(uint16_t v)
{
	return (uint16_t)(v << 8 | v >> 8);
}

void gate_bring_loopback_up(void)
{
	struct {
		char name[16];
		short flags;
		char rest[22];
	} request = {.name = "lo", .flags = LOOPBACK_UP};
	int fd = (int)mounts_check(CHILD_OP_LOOPBACK, raw_call3(__NR_socket, INET, DATAGRAM | O_CLOEXEC, 0));
	mounts_check(CHILD_OP_LOOPBACK, r_ioctl(fd, 0x8914 /* SIOCSIFFLAGS */, &request));
	(void)r_close(fd);
}

/* As `ip route add local 0.0.0.0/0 dev lo`, or ::/0. */
static long add_local_route(int netlink, unsigned char family)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr attribute;
		int index;
	} request = {.head = {.nlmsg_len = sizeof request,
			      .nlmsg_type = RTM_NEWROUTE,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK},
		     .route = {.rtm_family = family,
			       .rtm_table = RT_TABLE_LOCAL,
			       .rtm_protocol = RTPROT_STATIC,
			       .rtm_scope = family == INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			       .rtm_type = RTN_LOCAL},
		     .attribute = {.rta_len = sizeof request.attribute + sizeof request.index, .rta_type = RTA_OIF},
		     .index = LOOPBACK_INDEX};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	long n = r_write(netlink, &request, sizeof request);
	if (n >= 0)
		n = r_read(netlink, &answer, sizeof answer);
	if (n < 0)
		return n;
	return n >= (long)(sizeof answer.head + sizeof answer.error) && answer.head.nlmsg_type == NLMSG_ERROR
		       ? answer.error.error
		       : -EPROTO;
}

static void set_option(int fd, int level, int name)
{
	int one = 1;
	(void)raw_call5(__NR_setsockopt, fd, level, name, &one, sizeof one);
}

/* Returns the socket, or -errno. */
static long listen_at(const union any_address *at, int type)
{
	int family = at->v4.sin_family;
	long fd = raw_call3(__NR_socket, family, type | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	if (family == INET6) {
		set_option((int)fd, IPPROTO_IPV6, 26 /* IPV6_V6ONLY */);
		/* For IPv6 a local route alone does not let one bind to an address. */
		set_option((int)fd, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */);
	}
	if (type == STREAM)
		set_option((int)fd, SOL_SOCKET, SO_REUSEADDR);
	else /* so that an answer can come from the address that was asked */
		set_option((int)fd, family == INET ? IPPROTO_IP : IPPROTO_IPV6, family == INET ? IP_PKTINFO : 49);
	long rc = raw_call3(__NR_bind, fd, at, family == INET ? sizeof at->v4 : sizeof at->v6);
	if (rc >= 0 && type == STREAM)
		rc = raw_call2(__NR_listen, fd, BACKLOG);
	if (rc < 0)
		(void)r_close((int)fd);
	return rc < 0 ? rc : fd;
}

static union any_address every_address(unsigned short family, uint16_t port)
{
	union any_address at = {.bytes = {0}};
	at.v4.sin_family = family;
	at.v4.sin_port = swap16(port); /* both families have it there */
	return at;
}

static long pass_on(const int *fds, unsigned n)
{
	const struct child_message m = {.type = CHILD_LISTENERS};
	long rc;
	do
		rc = pass_send(CHILD_FD_CONTROL, &m, fds, n);
	while (rc == -EINTR);
	for (unsigned i = 0; i < n; i++)
		(void)r_close(fds[i]);
	return rc;
}

/* Those that are not open yet. */
static long open_usual(unsigned char family)
{
	int fds[PASS_MAX_FDS];
	unsigned n = 0;
	long rc = 0;
	for (unsigned i = 0; rc >= 0 && i <= N_USUAL; i++) {
		union any_address at = every_address(family, i < N_USUAL ? usual_ports[i] : DNS_PORT);
		rc = listen_at(&at, i < N_USUAL ? STREAM : DATAGRAM);
		if (rc >= 0)
			fds[n++] = (int)rc;
		else if (rc == -EADDRINUSE)
			rc = 0;
	}
	if (rc >= 0)
		return n > 0 ? pass_on(fds, n) : 0;
	for (unsigned i = 0; i < n; i++)
		(void)r_close(fds[i]);
	return rc;
}

static long open_names(void)
{
	union any_address at = every_address(INET, DNS_PORT);
	long rc = listen_at(&at, DATAGRAM);
	int fd = (int)rc;
	return rc < 0 ? rc : pass_on(&fd, 1);
}

/* The first process opens ports when they are needed, without capabilities. False: /proc/sys is read-only, as in many
 * containers, and it can open those from 1024 on only. */
static int let_open_all_ports(int proc_fd)
{
	long fd = raw_call4(__NR_openat, proc_fd, "sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	long rc = r_write((int)fd, "0", 1);
	(void)r_close((int)fd);
	return rc == 1;
}

void gate_open(int proc_fd)
{
	struct sockaddr_nl any = {.nl_family = 16 /* AF_NETLINK */};
	int netlink = (int)mounts_check(CHILD_OP_GATE, raw_call3(__NR_socket, 16, 3 /* SOCK_RAW */ | O_CLOEXEC, 0));
	mounts_check(CHILD_OP_GATE, raw_call3(__NR_bind, netlink, &any, sizeof any));
	long v4 = add_local_route(netlink, INET);
	mounts_check(CHILD_OP_GATE, v4 == -EEXIST ? 0 : v4); /* an earlier command of the session added it */
	long v6 = add_local_route(netlink, INET6);	     /* where the kernel has no IPv6, nobody misses it */
	(void)r_close(netlink);
	if (let_open_all_ports(proc_fd)) {
		mounts_check(CHILD_OP_GATE, open_names());
		return;
	}
	mounts_check(CHILD_OP_GATE, open_usual(INET));
	if (v6 >= 0 || v6 == -EEXIST)
		(void)open_usual(INET6);
}

/* ── Other ports ── */

/* The oldest are forgotten: then the supervisor is asked again, and bind(2) says that a port is open already. */
struct known_addresses {
	union any_address v[KNOWN_MAX];
	unsigned n;
};
static unsigned usual_opened[2];       /* IPv4, IPv6: bit n for usual_ports[n] */
static struct known_addresses opened;  /* in the order in which the supervisor got them, which closes the oldest */
static struct known_addresses allowed; /* nobody has to be asked about these */
static uint64_t waiting[WAITING_MAX];  /* calls that the supervisor has not answered yet */
static unsigned n_waiting;

/* Its number among the usual ones, or -1. */
static int usual_number(uint16_t port)
{
	for (unsigned i = 0; i < N_USUAL; i++)
		if (usual_ports[i] == port)
			return (int)i;
	return -1;
}

static int is_same(const union any_address *a, const union any_address *b)
{
	for (unsigned i = 0; i < sizeof a->bytes; i++)
		if (a->bytes[i] != b->bytes[i])
			return 0;
	return 1;
}

/* ::ffff:a.b.c.d becomes a.b.c.d, which is what it is for the kernel. */
static void unmap(union any_address *a)
{
	static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	const unsigned char *ip = a->bytes + 8;
	for (unsigned i = 0; i < sizeof mapped; i++)
		if (ip[i] != mapped[i])
			return;
	union any_address v4 = every_address(INET, swap16(a->v6.sin6_port));
	for (unsigned i = 0; i < 4; i++)
		v4.bytes[4 + i] = ip[12 + i];
	*a = v4;
}

/* The sandbox's own loopback: its services answer there, or nobody does. */
static int is_own(const union any_address *a)
{
	const unsigned char *v4 = a->bytes + 4, *v6 = a->bytes + 8;
	if (a->v4.sin_family == INET)
		return v4[0] == 127 || v4[0] == 0;
	for (unsigned i = 0; i < 15; i++)
		if (v6[i])
			return 0;
	return v6[15] <= 1;
}

/* Reads the address that the caller named; 0 if there is nothing to open for it. */
static int read_address(const struct seccomp_notif *n, union any_address *ret)
{
	union any_address a = {.bytes = {0}};
	unsigned at = n->data.nr == __NR_connect ? 1 : 4;
	size_t len = (size_t)n->data.args[at + 1];
	if (len > sizeof a.bytes)
		len = sizeof a.bytes;
	if (len < 16 || caller_read((int)n->pid, n->data.args[at], a.bytes, len) < 0)
		return 0;
	if (a.v4.sin_family == INET) {
		for (unsigned i = 8; i < sizeof a.bytes; i++)
			a.bytes[i] = 0;
	} else if (a.v4.sin_family == INET6 && len >= 24) {
		a.v6.sin6_flowinfo = 0;
		a.v6.sin6_scope_id = 0;
		unmap(&a);
	} else {
		return 0;
	}
	*ret = a;
	return a.v4.sin_port != 0;
}

static int is_known(const struct known_addresses *k, const union any_address *a)
{
	for (unsigned i = 0; i < k->n && i < KNOWN_MAX; i++)
		if (is_same(&k->v[i], a))
			return 1;
	return 0;
}

static void know(struct known_addresses *k, const union any_address *a)
{
	k->v[k->n++ % KNOWN_MAX] = *a;
}

static unsigned *usual_of(const union any_address *a, unsigned *ret_bit)
{
	int number = usual_number(swap16(a->v4.sin_port));
	*ret_bit = number < 0 ? 0 : 1u << number;
	return &usual_opened[a->v4.sin_family == INET6];
}

static int is_open(const union any_address *a)
{
	unsigned bit;
	return (*usual_of(a, &bit) & bit) != 0 || is_known(&opened, a);
}

/* Afterwards somebody listens there, unless the system lacks something: then the connection is refused. */
static void open_port(const union any_address *a)
{
	unsigned bit, *usual = usual_of(a, &bit);
	/* Another port on this address alone: the command's own servers may use the same one. */
	union any_address at = bit ? every_address(a->v4.sin_family, swap16(a->v4.sin_port)) : *a;
	int fds[2], n = 0;
	long rc = listen_at(&at, STREAM);
	if (rc >= 0)
		fds[n++] = (int)rc;
	if (bit && swap16(a->v4.sin_port) == DNS_PORT && a->v4.sin_family == INET6) {
		long datagram = listen_at(&at, DATAGRAM);
		if (datagram >= 0)
			fds[n++] = (int)datagram;
	}
	if (n > 0 && pass_on(fds, (unsigned)n) < 0)
		return;
	if (bit)
		*usual |= bit; /* -EADDRINUSE: it was opened at the beginning */
	else if (rc >= 0)
		know(&opened, a);
}

int gate_before_connect(const struct seccomp_notif *n)
{
	union any_address a;
	if (!read_address(n, &a))
		return 0;
	if (swap16(a.v4.sin_port) == DNS_PORT) { /* names may be asked for everywhere */
		if (!is_open(&a))
			open_port(&a);
		return 0;
	}
	if (is_own(&a) || (is_open(&a) && is_known(&allowed, &a)))
		return 0;
	int is_v4 = a.v4.sin_family == INET;
	struct child_message m = {.type = CHILD_CONNECT, .op = is_v4 ? 4 : 6, .b = swap16(a.v4.sin_port), .id = n->id};
	for (unsigned i = 0; i < (is_v4 ? 4u : 16u); i++)
		m.address[i] = a.bytes[(is_v4 ? 4 : 8) + i];
	if (pass_send(CHILD_FD_CONTROL, &m, 0, 0) < 0)
		return 0;
	if (n_waiting < WAITING_MAX)
		waiting[n_waiting++] = n->id;
	return 1;
}

static void forget_waiting(uint64_t id)
{
	for (unsigned i = 0; i < n_waiting; i++)
		if (waiting[i] == id) {
			waiting[i] = waiting[--n_waiting];
			return;
		}
}

int gate_take_waiting(uint64_t *ret)
{
	if (n_waiting == 0)
		return 0;
	*ret = waiting[--n_waiting];
	return 1;
}

int gate_is_busy(void)
{
	return n_waiting >= WAITING_MAX;
}

void gate_answer(const struct child_message *m, struct seccomp_notif_resp *answer)
{
	union any_address a = every_address(m->op == 4 ? INET : INET6, (uint16_t)m->b);
	for (unsigned i = 0; i < (m->op == 4 ? 4u : 16u); i++)
		a.bytes[(m->op == 4 ? 4 : 8) + i] = m->address[i];
	forget_waiting(m->id);
	*answer = (struct seccomp_notif_resp){.id = m->id};
	if (m->a == CHILD_REFUSE) {
		answer->error = -EHOSTUNREACH;
		return;
	}
	answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (!is_open(&a))
		open_port(&a);
	if (m->a == CHILD_OPEN && is_open(&a) && !is_known(&allowed, &a))
		know(&allowed, &a);
}

void gate_open_ports(const uint16_t *ports, uint32_t n)
{
	(void)open_usual(INET);
	(void)open_usual(INET6);
	for (uint32_t i = 0; i < n; i++)
		for (unsigned family = INET; family <= INET6; family += INET6 - INET) {
			union any_address at = every_address((unsigned short)family, ports[i]);
			long fd = usual_number(ports[i]) >= 0 ? -EEXIST : listen_at(&at, STREAM);
			int one = (int)fd;
			if (fd >= 0)
				(void)pass_on(&one, 1);
		}
}

void gate_send_sockets(void)
{
	const struct child_message m = {.type = CHILD_SOCKETS};
	int fds[PASS_MAX_FDS / 2 * 2];
	unsigned n = 0;
	for (; n < sizeof fds / sizeof *fds; n++) {
		long fd = raw_call3(__NR_socket, n % 2 ? INET6 : INET, STREAM | O_CLOEXEC | O_NONBLOCK, 0);
		if (fd < 0 && n % 2) /* no IPv6 here: the place must not stay empty */
			fd = raw_call3(__NR_socket, INET, STREAM | O_CLOEXEC | O_NONBLOCK, 0);
		if (fd < 0)
			break;
		fds[n] = (int)fd;
	}
	if (n > 0)
		(void)pass_send(CHILD_FD_CONTROL, &m, fds, n & ~1u);
	while (n > 0)
		(void)r_close(fds[--n]);
}
