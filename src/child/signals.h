/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals, where nothing else keeps them from the host's processes: Landlock does from version 6 on (Linux 6.12), a pid
 * namespace always.
 *
 * The first process is asked (notify.h), looks whether the signal stays inside, and sends it itself. It does not let the
 * kernel carry the call out after a look: a command can make its own call wait until the number that was looked at means a
 * process of the host. Only who signals itself may continue. Inside is what descends from the first process, which everything
 * inside has above itself because it is a subreaper. Freestanding.
 */
#pragma once

#include <stddef.h>

struct seccomp_notif;
struct seccomp_notif_resp;
struct sock_filter;

#define SIGNALS_RULES_MAX 32

/* The calls to ask about, and refusals of rarer ways to send a signal. The number must be loaded before and is
 * afterwards. Returns how many instructions. */
size_t signals_rules(struct sock_filter *code);
int signals_is(int nr);
void signals_answer(const struct seccomp_notif *request, struct seccomp_notif_resp *answer);
