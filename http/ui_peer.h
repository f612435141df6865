/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the user whose program is at the other end of a local connection. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Asks the kernel who owns the socket at `peer` that is connected to `own`. False: it does not say. */
bool ui_peer_uid(const struct sockaddr *peer, const struct sockaddr *own, uid_t *ret);
