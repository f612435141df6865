/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A change of the file API in a project, as a run of its own. */
#pragma once

#include "files/files.h"
#include "run/job.h"

enum stage_what { STAGE_WRITE, STAGE_EDIT, STAGE_DELETE };

struct stage_request {
	enum stage_what what;
	const char *path;
	const void *content; /* STAGE_WRITE */
	size_t size;
	const char *old_text, *new_text; /* STAGE_EDIT */
	bool all;
};

/* job: from job_open; its plan is made here. */
int stage_change(struct airlock_job *job, const struct files_place *p, const struct stage_request *request,
		 struct airlock_files **ret, struct airlock_error *err);
