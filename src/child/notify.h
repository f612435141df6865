/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of the command that the first process is told of before the kernel carries them out (seccomp user notification).
 *
 * A process can have one such filter only, so it serves all purposes: renames that an overlay refuses are made for the
 * command (rename.h), calls that the plan may refuse are looked at and always let go on (observe.h), deleting what does not
 * exist is answered (missing.h), signals are sent to processes inside only (signals.h), calls that are refused are
 * noted (refused.h), and the port of a connection is opened (gate_sockets.h). The first process holds the listener, and everything the filter is on ends with it: nobody is ever left with the ENOSYS that
 * the kernel answers for a listener that is gone. Freestanding.
 */
#pragma once

struct child_message;
struct observer;

/* In the command's process, before exec. flags: CHILD_RENAMES, CHILD_OBSERVE, CHILD_REFUSED, CHILD_SIGNALS,
 * CHILD_GATE, CHILD_NESTED. Returns the listener, or -errno if the kernel does not support it. */
long notify_install(unsigned flags);

/* In the first process, once. */
void notify_prepare(int listener);
/* The supervisor's answer to CHILD_CONNECT. */
void notify_connect(int listener, const struct child_message *m);
/* The supervisor will answer no more: whoever waits for it is refused. */
void notify_refuse_waiting(int listener);
/* Answers one waiting call, or asks the supervisor about it. */
void notify_serve(int listener, unsigned flags, struct observer *observer);
