/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages of child/child_job.h, and the descriptors that come with them, over a SOCK_SEQPACKET socket: both ends use these.
 * Freestanding: the first process, and the supervisor's library.
 *
 *   struct pass_received in;
 *   long rc = pass_receive(socket, PASS_NO_WAIT, &in);
 *   if (rc > 0) {
 *           int fd = pass_take_fd(&in, 0);      the caller's; -1: there is none
 *           pass_close(&in);                    closes those that nobody took
 *   }
 */
#pragma once

#include "child/child_job.h"

/* The most descriptors that one message carries. */
#define PASS_MAX_FDS CHILD_KEPT_FDS

enum pass_wait { PASS_WAIT, PASS_NO_WAIT };

struct pass_received {
	struct child_message m;
	int pid; /* of the sender, in our pid namespace; 0: the socket has no SO_PASSCRED */
	unsigned n_fds;
	int fds[PASS_MAX_FDS]; /* close on exec; -1: taken */
};

/* Returns 0 or more, or -errno. No SIGPIPE. */
long pass_send(int socket, const struct child_message *m, const int *fds, unsigned n_fds);
/* A message that is nothing but a type and a descriptor. */
long pass_send_fd(int socket, uint32_t type, int fd);

/* 1: there is a message. 0: the other end is closed. Otherwise -errno, and nothing is open: -EAGAIN with PASS_NO_WAIT when there
 * is no message, -EBADMSG when it is not one of ours. */
long pass_receive(int socket, enum pass_wait wait, struct pass_received *ret);
int pass_take_fd(struct pass_received *in, unsigned i);
void pass_close(struct pass_received *in);
