/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors from one process to another. Freestanding. */
#pragma once

#include "child/job.h"

/* Sends a message of that type with a descriptor. 0 or more, or -errno. */
long pass_fd(int socket, uint32_t type, int fd);
/* The descriptor of the next message. -1: it has none, and why; EMFILE when it had one that we could not take, ESRCH when
 * there is no message. */
int pass_receive(int socket, int *ret_why);
