/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as questions in lines, for a terminal that cannot show the list or a person who prefers it. */
#pragma once

#include "review_act.h"

void review_lines(struct review *r);
