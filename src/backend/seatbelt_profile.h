/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as a profile for macOS's sandbox-exec (SBPL). Pure: the same plan gives the same text everywhere. */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

void seatbelt_profile(const struct plan *plan, struct buf *out);
