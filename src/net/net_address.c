/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/net_address.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_BYTES 4
#define V6_BYTES 16

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool net_address_parse(const char *text, struct net_address *ret)
{
	struct net_address a = {0};
	if (inet_pton(AF_INET, text, a.bytes) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, text, a.bytes) == 1)
		a.family = 6;
	else
		return false;
	*ret = a;
	return true;
}

bool net_address_parse_numeric(const char *text, struct net_address *ret)
{
	struct in_addr in;
	if (net_address_parse(text, ret))
		return true;
	/* inet_aton stops at a space and ignores the rest. */
	if (text[strspn(text, "0123456789abcdefABCDEFxX.")] != '\0' || inet_aton(text, &in) == 0)
		return false;
	*ret = (struct net_address){.family = 4};
	memcpy(ret->bytes, &in, V4_BYTES);
	return true;
}

bool net_address_is_same(const struct net_address *a, const struct net_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, a->family == 4 ? V4_BYTES : V6_BYTES) == 0;
}

bool net_address_is_within(const struct net_address *a, const struct net_address *net, unsigned prefix)
{
	unsigned whole = prefix / 8, rest = prefix % 8;
	if (a->family != net->family || memcmp(a->bytes, net->bytes, whole) != 0)
		return false;
	return rest == 0 || (a->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}

struct net_address net_address_unmap(struct net_address a)
{
	if (a.family != 6 || memcmp(a.bytes, mapped_prefix, sizeof mapped_prefix) != 0)
		return a;
	struct net_address v4 = {.family = 4};
	memcpy(v4.bytes, a.bytes + sizeof mapped_prefix, V4_BYTES);
	return v4;
}

void net_address_add(struct buf *out, const struct net_address *a)
{
	char text[INET6_ADDRSTRLEN];
	if (inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, text, sizeof text))
		buf_adds(out, text);
}

bool net_address_from(const struct sockaddr_storage *sa, struct net_address *ret, unsigned *ret_port)
{
	struct net_address a = {0};
	if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;
		a.family = 4;
		memcpy(a.bytes, &in->sin_addr, V4_BYTES);
		*ret_port = ntohs(in->sin_port);
	} else if (sa->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;
		a.family = 6;
		memcpy(a.bytes, &in6->sin6_addr, V6_BYTES);
		*ret_port = ntohs(in6->sin6_port);
	} else {
		return false;
	}
	*ret = net_address_unmap(a);
	return true;
}

socklen_t net_address_to(const struct net_address *a, unsigned port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof *ret);
	if (a->family == 4) {
		struct sockaddr_in *in = (void *)ret;
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		memcpy(&in->sin_addr, a->bytes, V4_BYTES);
		return sizeof *in;
	}
	struct sockaddr_in6 *in6 = (void *)ret;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	memcpy(&in6->sin6_addr, a->bytes, V6_BYTES);
	return sizeof *in6;
}
