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

#include <stddef.h>

struct child_message;
struct observer;

#define NOTIFY_RULES_MAX 256

struct sock_filter;
/* The rules of its filter, into code, which has room for NOTIFY_RULES_MAX; they end in a verdict. flags: CHILD_RENAMES, CHILD_OBSERVE,
 * CHILD_SIGNALS, CHILD_GATE. is_alone: no other rules have looked at the architecture. Returns how many instructions. */
size_t notify_rules(struct sock_filter *code, unsigned flags, int is_alone);

/* In the first process, once. */
void notify_prepare(int listener);
/* The supervisor's answer to CHILD_CONNECT. */
void notify_connect(int listener, const struct child_message *m);
/* The supervisor will answer no more: whoever waits for it is refused. */
void notify_refuse_waiting(int listener);
/* Answers one waiting call, or asks the supervisor about it. */
void notify_serve(int listener, unsigned flags, struct observer *observer);
