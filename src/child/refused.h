/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that the filter refuses and that somebody may want to know of: a debugger that traces, a browser that makes namespaces.
 *
 * A filter's refusal is seen by nobody. So where the first process listens (notify.h), its filter hands these calls to it, and
 * the filter of calls.txt leaves exactly the same ones alone, because of two verdicts the stricter counts and a plain refusal is
 * stricter than asking. Both get their rules from refused_rules, so no call can fall between them. The answer is always EPERM,
 * as the filter's own, and never depends on anything in the command's memory; a listener that is gone means ENOSYS. Freestanding.
 */
#pragma once

#include "child/observe.h"

#include <stddef.h>

#define REFUSED_RULES_MAX 160

/* Appends to code, which has room for REFUSED_RULES_MAX, a program that returns the verdict for each of these calls
 * and continues after its end for all others. nested: leaves out the calls that such a profile allows. Returns its
 * number of instructions. */
struct sock_filter;
size_t refused_rules(struct sock_filter *code, unsigned verdict, int nested);

/* True if this number is one of them. The listener never lets such a call through. */
int refused_is(int nr);

struct seccomp_notif;
/* Records which program tried which call; makes the file for the first record if there is none. */
void refused_note(struct observer *o, int listener, const struct seccomp_notif *request);
