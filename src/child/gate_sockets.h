/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's side of the network gate (docs/design/network.md): an empty network namespace in which every address is
 * local, and listening sockets in it that the supervisor gets and accepts from outside. Freestanding.
 *
 * A socket belongs to the namespace it was made in, whoever holds it. So nothing of ours has to stay inside. */
#pragma once

#include <stdint.h>

struct child_message;
struct seccomp_notif;
struct seccomp_notif_resp;

/* Both with CAP_NET_ADMIN in the network namespace; failures end the process (mounts.h). */
void gate_bring_loopback_up(void);
/* Makes every address local, and passes on a socket for DNS; those for the usual ports too, where they cannot be opened later
 * when they are needed. proc_fd: a proc file system. */
void gate_open(int proc_fd);

/* In the first process, before it lets a connect(2) or sendto(2) of the command go on. 1: the supervisor was asked, and the
 * caller waits until its answer comes (gate_answer). 0: nothing to do. Decides nothing: the address may change after it was
 * read, and the supervisor decides again about the connection it accepts. This only lets a refused program hear of it at
 * once, and sees to it that somebody listens on the port. */
int gate_before_connect(const struct seccomp_notif *n);
void gate_answer(const struct child_message *m, struct seccomp_notif_resp *answer);
/* One that waits, and waits no longer for gate_answer. 0: there is none. */
int gate_take_waiting(uint64_t *ret);
/* True if so many callers wait that no more may be asked about: the sockets' buffers must hold all answers. */
int gate_is_busy(void);
/* Passes on sockets that are not connected: whoever connects them reaches what listens inside. */
void gate_send_sockets(void);
/* For kernels on which calls cannot be listened to: opens the usual ports and these on every address. */
void gate_open_ports(const uint16_t *ports, uint32_t n);
