/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that the filter refuses and that somebody may want to know of: a debugger that traces, a browser that makes namespaces.
 *
 * A filter's refusal is seen by nobody. So where the first process listens (notify.h), the one instruction of the filter that refuses these
 * calls hands them to it instead (confine.c). The answer is always EPERM, as the filter's own, and never depends on anything in
 * the command's memory; a listener that is gone means ENOSYS. Freestanding.
 */
#pragma once

#include "child/observe.h"

#include <stddef.h>

/* True if this number is one of them. The listener never lets such a call through. */
int refused_is(int nr);

struct seccomp_notif;
/* Records which program tried which call; makes the file for the first record if there is none. */
void refused_note(struct observer *o, int listener, const struct seccomp_notif *request);
