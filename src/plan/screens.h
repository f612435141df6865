/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories of the host are shown through a screen; see screens.c. */
#pragma once

#include "plan/nodes.h"

/* Adds nodes for the directories of the root, and rebuilt directories if something is mounted below. Call it after
 * room was made. */
void screens_add(struct nodes *t, const struct plan_inputs *in, struct notes *notes);

/* Sets the screen of the plan's last mount, which was made for this node. False: out of memory. */
bool screens_settle(struct nodes *t, struct node *n, const struct plan_inputs *in, struct plan *p);

/* The directory whose screen shows a directory without mounts below it: the highest possible one, so that many entries
 * of a home share one screen. Owned by the caller; NULL: out of memory. */
char *screens_dir(const struct plan_inputs *in, const char *source);
