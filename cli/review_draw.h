/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the list of changes looks like: the model as the lines of a screen. Pure. */
#pragma once

#include "review_model.h"

/* As many lines as the terminal has, none wider than it is, each but the last with '\n' behind it; the only escapes are
 * colours. NULL: out of memory. Freed by the caller. */
char *review_draw(const struct review_model *m);
