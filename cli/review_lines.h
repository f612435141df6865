/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as questions in lines, for a terminal that can do no more or a person who wants no more. */
#pragma once

#include "review_act.h"

void review_lines(struct review *r);
