/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What would allow something that was refused. */
#pragma once

#include "denial/denial.h"

/* Fills remedy, value and is_to_make of a denial whose attempt, rule and path are there. False: out of memory. */
bool advice_find(const struct denial_scene *scene, const struct denial_verdict *v, struct airlock_denial *d);
/* Gives refusals in one tree of the home the same directory: the deepest common one. */
void advice_join(const struct denial_scene *scene, struct denials *list);
