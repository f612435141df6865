/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/guard.h"

#include <errno.h>
#include <ifaddrs.h>
#include <string.h>

/* The first row that fits decides: the metadata addresses lie in ranges that come later. */
static const struct range {
	const char *net;
	unsigned prefix;
	enum guard_verdict verdict;
} ranges[] = {
	{"0.0.0.0", 8, GUARD_UNSPECIFIED},
	{"127.0.0.0", 8, GUARD_LOOPBACK},
	{"169.254.169.254", 32, GUARD_METADATA},
	{"169.254.170.2", 32, GUARD_METADATA},
	{"169.254.0.0", 16, GUARD_LINK_LOCAL},
	{"100.100.100.200", 32, GUARD_METADATA},
	{"10.0.0.0", 8, GUARD_PRIVATE},
	{"172.16.0.0", 12, GUARD_PRIVATE},
	{"192.168.0.0", 16, GUARD_PRIVATE},
	{"100.64.0.0", 10, GUARD_PRIVATE},
	{"192.0.0.0", 24, GUARD_RESERVED},
	{"198.18.0.0", 15, GUARD_RESERVED},
	{"224.0.0.0", 4, GUARD_MULTICAST},
	{"255.255.255.255", 32, GUARD_MULTICAST},
	{"240.0.0.0", 4, GUARD_RESERVED},
	{"::", 128, GUARD_UNSPECIFIED},
	{"::1", 128, GUARD_LOOPBACK},
	{"fd00:ec2::254", 128, GUARD_METADATA},
	{"fd20:ce::254", 128, GUARD_METADATA},
	{"fe80::", 10, GUARD_LINK_LOCAL},
	{"fec0::", 10, GUARD_PRIVATE},
	{"fc00::", 7, GUARD_PRIVATE},
	{"ff00::", 8, GUARD_MULTICAST},
	{"::", 96, GUARD_TRANSLATED},
	{"::ffff:0:0", 96, GUARD_TRANSLATED},
	{"::ffff:0:0:0", 96, GUARD_TRANSLATED},
	{"64:ff9b::", 96, GUARD_TRANSLATED},
	{"64:ff9b:1::", 48, GUARD_TRANSLATED},
	{"2001::", 32, GUARD_TRANSLATED},
	{"2002::", 16, GUARD_TRANSLATED},
};

enum guard_verdict guard_judge(const struct net_address *a, const struct net_address *own, size_t n_own)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(ranges); i++) {
		struct net_address net;
		if (net_address_parse(ranges[i].net, &net) && net_address_is_within(a, &net, ranges[i].prefix))
			return ranges[i].verdict;
	}
	if (a->family != 4 && (a->family != 6 || a->bytes[0] >> 5 != 1)) /* 2000::/3 is what is given out */
		return GUARD_RESERVED;
	for (size_t i = 0; i < n_own; i++)
		if (net_address_is_same(a, &own[i]))
			return GUARD_OWN;
	return GUARD_PUBLIC;
}

const char *guard_verdict_name(enum guard_verdict v)
{
	static const char *const names[] = {
		[GUARD_PUBLIC] = "a public address",	     [GUARD_UNSPECIFIED] = "an address of no host",
		[GUARD_LOOPBACK] = "a loopback address",     [GUARD_METADATA] = "a cloud's metadata server",
		[GUARD_LINK_LOCAL] = "a link-local address", [GUARD_PRIVATE] = "a private address",
		[GUARD_MULTICAST] = "a multicast address",   [GUARD_TRANSLATED] = "an IPv4 address written as IPv6",
		[GUARD_RESERVED] = "a reserved address",     [GUARD_OWN] = "this machine's own address",
	};
	return names[v];
}

int guard_list_own(struct net_address **ret, size_t *ret_n)
{
	struct ifaddrs *all = NULL;
	size_t n = 0, max = 0;
	if (getifaddrs(&all) < 0)
		return -errno;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		max++;
	struct net_address *list = calloc(max + 1, sizeof *list);
	for (const struct ifaddrs *i = all; list && i; i = i->ifa_next) {
		struct sockaddr_storage sa;
		unsigned port;
		if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		memcpy(&sa, i->ifa_addr,
		       i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		if (net_address_from(&sa, &list[n], &port))
			n++;
	}
	freeifaddrs(all);
	*ret = list;
	*ret_n = n;
	return list ? 0 : -ENOMEM;
}
