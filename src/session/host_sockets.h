/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets that programs of the host listen on in a directory that the command writes to directly. There is no overlay that
 * would cut them off, so those that are there when the run begins are covered one by one. The kernel lists them by the
 * names they were bound to, so nothing has to be searched. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Absolute paths below dir, in the order of the kernel. */
int host_sockets_find(const char *dir, struct strs *ret, struct airlock_error *err);
/* The same over a list in the form of /proc/net/unix; -ENOMEM. */
int host_sockets_find_in(const char *list, const char *dir, struct strs *ret);
