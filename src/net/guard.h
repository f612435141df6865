/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses a command may be connected to although some rule allowed the name or address: public ones. Everything
 * else leads to this machine, to its neighbours, or to the cloud's metadata server, which gives credentials to whoever asks.
 * Pure: the addresses of this machine's interfaces are given. */
#pragma once

#include "net/net_address.h"

enum guard_verdict {
	GUARD_PUBLIC,
	GUARD_UNSPECIFIED, /* 0.0.0.0/8, :: */
	GUARD_LOOPBACK,
	GUARD_METADATA, /* 169.254.169.254, fd00:ec2::254 and the like */
	GUARD_LINK_LOCAL,
	GUARD_PRIVATE,	  /* 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, fec0::/10 */
	GUARD_MULTICAST,  /* and broadcast */
	GUARD_TRANSLATED, /* an IPv4 address in IPv6 clothes: mapped, NAT64, 6to4, Teredo */
	GUARD_RESERVED,	  /* nobody's: 240/4, 198.18/15, IPv6 outside 2000::/3 */
	GUARD_OWN,	  /* an interface of this machine has it */
};

enum guard_verdict guard_judge(const struct net_address *a, const struct net_address *own, size_t n_own);
const char *guard_verdict_name(enum guard_verdict v); /* "a private address" */

/* The addresses of this machine's interfaces. The caller frees *ret. -errno. */
int guard_list_own(struct net_address **ret, size_t *ret_n);
