/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "airlock/airlock.h"
#include "backend/backend_prestart.h"

struct airlock_prestart {
	struct backend_prestart *sandbox; /* NULL: none */
};

/* Begins the job's prestart in the namespaces of its session, if somebody holds them and the caller gave one. */
struct airlock_job;
void prestart_begin_in_session(const struct airlock_job *job);
