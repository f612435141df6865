/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's side of the network gate (docs/design/network.md): an empty network namespace in which every address is
 * local, and listening sockets in it that the supervisor gets and accepts from outside. Freestanding.
 *
 * A socket belongs to the namespace it was made in, whoever holds it. So nothing of ours has to stay inside. */
#pragma once

#include <stdint.h>

struct seccomp_notif;

/* Both with CAP_NET_ADMIN in the network namespace; failures end the process (mounts.h). */
void gate_bring_loopback_up(void);
/* Makes every address local, and passes on the sockets for DNS and the usual ports. proc_fd: a proc file system. */
void gate_open(int proc_fd);

/* In the first process, before it lets a connect(2) or sendto(2) of the command go on: sees to it that somebody listens on
 * the port. Decides nothing: the supervisor decides about the connection it accepts. */
void gate_before_connect(const struct seccomp_notif *n);
/* Passes on sockets that are not connected: whoever connects them reaches what listens inside. */
void gate_send_sockets(void);
/* For kernels on which calls cannot be listened to: opens these ports on every address. Ports below 1024 are open already,
 * or never will be. */
void gate_open_ports(const uint16_t *ports, uint32_t n);
