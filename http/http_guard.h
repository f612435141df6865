/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides whether a request may come from where its headers say. A page of another site may not talk to a server on this machine,
 * neither under its own name nor under a name that it made point here. Pure. */
#pragma once

#include <stdbool.h>

/* Is that a name of this machine's loopback with our port? "localhost:8080", "127.0.0.1:8080", "[::1]:8080"; without a port for port
 * 80. NULL, what HTTP/1.0 may leave out, is not. */
bool http_guard_host(const char *host, unsigned port);
/* Browsers send Origin with everything that could do harm. It must be the page's own server: the scheme and the host of this request.
 * NULL: not a page of another site. */
bool http_guard_origin(const char *origin, const char *host, bool is_tls);
