/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/layers.h"
#include "session/job.h"
#include "supervise/supervise.h"

struct airlock_run {
	struct airlock_job *job; /* borrowed: the caller frees it after the run */
	struct supervise *supervise;
	struct session_layers layers;
	struct monitor *monitor; /* NULL until somebody asks for progress */
	bool finished;		 /* the changes have been looked at */
	char id[48];
	char *dir;
	char *json, *text, *changes_text;
};
