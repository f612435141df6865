/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers that hold for longer than one run: what the store knows about a job's question. */
#pragma once

#include "run/job.h"
#include "store/permissions.h"

/* 1: it was answered before, *ret_answer says how and *ret_id under which number; 0: it was not, or may not be. A store
 * that cannot be read has no answers. */
int remember_find(const struct airlock_job *job, enum airlock_answer *ret_answer, int64_t *ret_id);

/* Keeps the answer when it is one to keep. Answers of sessions that are over are swept on the occasion. */
int remember_keep(const struct airlock_job *job, enum airlock_answer answer, struct airlock_error *err);

/* The decision of a remembered answer, and whether its session is over. */
enum airlock_answer remember_answer(const struct store_permission *p);
bool remember_is_over(const struct store_permission *p);
