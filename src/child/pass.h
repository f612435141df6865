/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors from one process to another. Freestanding. */
#pragma once

#include "child/job.h"

/* What one message carries at the most. */
#define PASS_MAX_FDS CHILD_TAKEN_FDS

/* Sends a message of that type with a descriptor. 0 or more, or -errno. */
long pass_fd(int socket, uint32_t type, int fd);
/* Takes the next message and up to n (PASS_MAX_FDS) descriptors, which an exec closes. How many came; -1 when there is no
 * message. */
int pass_take(int socket, struct child_message *ret, int *ret_fds, unsigned n);
/* The one descriptor of the next message. -1: it has none, and why; EMFILE when it had one that we could not take, ESRCH
 * when there is no message. */
int pass_receive(int socket, int *ret_why);
