/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories of the host are shown through a screen; see screens.c. */
#pragma once

#include "plan/nodes.h"

/* Nodes for the directories of the root, and rebuilt directories where something is mounted below. After room was made. */
void screens_add(struct nodes *t, const struct plan_inputs *in, struct strs *notes);

/* Says of the plan's last mount, which was made for this node, through which screen it is shown. -ENOMEM. */
int screens_settle(struct nodes *t, struct node *n, const struct plan_inputs *in, struct plan *p);

/* The directory whose screen shows a directory that nothing is mounted below: the highest one of which that can be said,
 * so that many entries of a home share one screen. Owned by the caller; NULL: memory is short. */
char *screens_dir(const struct plan_inputs *in, const char *source);
