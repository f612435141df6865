/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_guard.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool http_guard_host(const char *host, unsigned port)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]", NULL};
	char wanted[64];
	for (const char *const *name = names; host && *name; name++) {
		(void)snprintf(wanted, sizeof wanted, "%s:%u", *name, port);
		if (strcasecmp(host, wanted) == 0 || (port == 80 && strcasecmp(host, *name) == 0))
			return true;
	}
	return false;
}

bool http_guard_origin(const char *origin, const char *host, bool is_tls)
{
	const char *scheme = is_tls ? "https://" : "http://";
	if (!origin)
		return true;
	return host && strncasecmp(origin, scheme, strlen(scheme)) == 0 &&
	       strcasecmp(origin + strlen(scheme), host) == 0;
}
