/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes descriptors from one process to another. Freestanding. */
#pragma once

#include "child/job.h"

/* Maximum number in one message. */
#define PASS_MAX_FDS CHILD_TAKEN_FDS

/* Sends a message of that type with a descriptor. 0 or more, or -errno. */
long pass_fd(int socket, uint32_t type, int fd);
/* Receives the next message and up to n (PASS_MAX_FDS) descriptors, CLOEXEC. Returns how many came; -1 if there is no
 * message. */
int pass_take(int socket, struct child_message *ret, int *ret_fds, unsigned n);
/* The only descriptor of the next message. -1: it has none, and errno: EMFILE if it had one that we could not take,
 * ESRCH if there is no message. */
int pass_receive(int socket, int *ret_why);
