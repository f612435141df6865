/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses of the internet as values. An IPv4 address in IPv6 clothes (::ffff:10.0.0.1) is a different value than the
 * IPv4 address itself until net_address_unmap; guard.h judges both. */
#pragma once

#include "base/buf.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct net_address {
	uint8_t family; /* 4 or 6; 0: none */
	uint8_t bytes[16];
};

/* "192.0.2.1" or "2001:db8::1". */
bool net_address_parse(const char *text, struct net_address *ret);
/* Also every form that inet_aton(3) takes: "0x7f.1", "2130706433", "017700000001". Programs give these to connect(2) as
 * addresses, so a rule or a name that looks like one must mean the same. */
bool net_address_parse_numeric(const char *text, struct net_address *ret);

bool net_address_is_same(const struct net_address *a, const struct net_address *b);
/* True if the first `prefix` bits are those of net, which has the same family. */
bool net_address_is_within(const struct net_address *a, const struct net_address *net, unsigned prefix);
/* ::ffff:a.b.c.d becomes a.b.c.d; others stay. */
struct net_address net_address_unmap(struct net_address a);

void net_address_add(struct buf *out, const struct net_address *a);

/* To and from what the kernel has. from: false for other families. */
bool net_address_from(const struct sockaddr_storage *sa, struct net_address *ret, unsigned *ret_port);
socklen_t net_address_to(const struct net_address *a, unsigned port, struct sockaddr_storage *ret);
