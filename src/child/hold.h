/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The holder of a session: process 1 of the namespaces that its commands share. Its end is the end of them all. */
#pragma once

#include <stdint.h>

/* Its descriptors beside the socket and the plan. */
#define HOLD_FD_LOCK 4	   /* a lock that it holds as long as it lives; it does nothing else with it */
#define HOLD_FD_BUSY 6	   /* whoever runs a command in the session has a shared lock on this file */
#define HOLD_FD_LIFELINE 8 /* of a program that the session ends with: a pipe or its pidfd; else a file */

/* Says HELLO and closes the socket. Ends when nobody has run a command for idle_ms, when the lifeline does, or when the session was
 * removed. */
__attribute__((noreturn)) void hold_be(int64_t idle_ms);
