/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TCP knows no users, but the kernel knows who made each socket of this machine, and tells everybody (sock_diag(7)). So a token that another
 * user has got hold of, from a list of processes or a shoulder's distance, lets nobody in. */
#include "ui_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

struct diag_question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

static void put_address(const struct sockaddr *sa, __be16 *port, __be32 address[4])
{
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;
		*port = in->sin_port;
		memcpy(address, &in->sin_addr, sizeof in->sin_addr);
	} else {
		const struct sockaddr_in6 *in6 = (const void *)sa;
		*port = in6->sin6_port;
		memcpy(address, &in6->sin6_addr, sizeof in6->sin6_addr);
	}
}

/* The one socket of these two ends, seen from the peer's side. */
static bool ask(int fd, const struct diag_question *q, uid_t *ret)
{
	_Alignas(struct nlmsghdr) char reply[4096];
	if (send(fd, q, sizeof *q, 0) != (ssize_t)sizeof *q)
		return false;
	ssize_t n = recv(fd, reply, sizeof reply, 0);
	const struct nlmsghdr *header = (const void *)reply;
	if (n < 0 || !NLMSG_OK(header, (size_t)n) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return false;
	const struct inet_diag_msg *m = NLMSG_DATA(header);
	if (m->idiag_inode == 0)
		return false; /* nobody has it open any more: the uid would be root's */
	*ret = m->idiag_uid;
	return true;
}

bool ui_peer_uid(const struct sockaddr *peer, const struct sockaddr *own, uid_t *ret)
{
	struct diag_question q = {
		.header = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = (__u8)peer->sa_family,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = ~0U,
			    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
	put_address(peer, &q.request.id.idiag_sport, q.request.id.idiag_src);
	put_address(own, &q.request.id.idiag_dport, q.request.id.idiag_dst);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool is_known = fd >= 0 && ask(fd, &q, ret);
	if (fd >= 0)
		(void)close(fd);
	return is_known;
}
