/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What airlock_job_plan hands out. */
#pragma once

#include "run/job.h"

#include <airlock/job.h>

void explained_free(struct explained *e);
