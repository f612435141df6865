/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Renders the model of the list of changes as the lines of a screen. Pure. */
#pragma once

#include "review_model.h"

/* As many lines as the terminal has, none wider than it, each but the last followed by '\n'; the only escapes are
 * colours. NULL: out of memory. The caller frees it. */
char *review_draw(const struct review_model *m);
