/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "denial/denial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Only a process with a capability can listen below this, and nobody inside has one. */
#define FIRST_FREE_PORT 1024
#define V4_BYTES offsetof(struct sockaddr_in, sin_zero)
#define V6_BYTES offsetof(struct sockaddr_in6, sin6_scope_id)

static sa_family_t family_of(const void *address, size_t len)
{
	sa_family_t family = AF_UNSPEC;
	if (len > sizeof family)
		memcpy(&family, address, sizeof family);
	return family;
}

static void add_abstract(const char *name, size_t len, struct buf *out)
{
	buf_addc(out, '@');
	for (size_t i = 1; i < len; i++)
		buf_addc(out, name[i] ? name[i] : '@'); /* in the usual notation */
}

bool denial_add_address(const void *address, size_t len, struct buf *out)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in v4 = {0};
	struct sockaddr_in6 v6 = {0};
	const char *name = (const char *)address + offsetof(struct sockaddr_un, sun_path);
	switch (family_of(address, len)) {
	case AF_INET:
		if (len < V4_BYTES)
			return false;
		memcpy(&v4, address, V4_BYTES);
		buf_adds(out, inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text));
		if (v4.sin_port)
			buf_printf(out, ":%u", ntohs(v4.sin_port));
		return true;
	case AF_INET6:
		if (len < V6_BYTES)
			return false;
		memcpy(&v6, address, V6_BYTES);
		inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
		if (v6.sin6_port)
			buf_printf(out, "[%s]:%u", text, ntohs(v6.sin6_port));
		else
			buf_adds(out, text);
		return true;
	case AF_UNIX:
		if (*name)
			return false;
		add_abstract(name, len - offsetof(struct sockaddr_un, sun_path), out);
		return true;
	default:
		return false;
	}
}

bool denial_is_own_address(const void *address, size_t len)
{
	struct sockaddr_in v4 = {0};
	struct sockaddr_in6 v6 = {0};
	bool is_loopback = false;
	in_port_t port = 0;
	if (family_of(address, len) == AF_INET && len >= V4_BYTES) {
		memcpy(&v4, address, V4_BYTES);
		/* Linux connects 0.0.0.0 to itself too. */
		is_loopback = ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET || v4.sin_addr.s_addr == INADDR_ANY;
		port = ntohs(v4.sin_port);
	} else if (family_of(address, len) == AF_INET6 && len >= V6_BYTES) {
		memcpy(&v6, address, V6_BYTES);
		const uint8_t *b = v6.sin6_addr.s6_addr;
		is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) ||
			      (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && b[12] == IN_LOOPBACKNET);
		port = ntohs(v6.sin6_port);
	}
	return is_loopback && (port == 0 || port >= FIRST_FREE_PORT);
}
