/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first process's program as a sealed memory file, and its job. */
#pragma once

#include "child/child_job.h"

#include <stddef.h>

extern const unsigned char child_init_bytes[];
extern const unsigned long child_init_size;

/* The words for an operation, to follow "cannot ": "open the project". */
const char *child_op_name(enum child_op op);

/* The program in a memory file, executable through /proc/self/fd: nothing on disk to find, replace or chmod. Returns a
 * CLOEXEC descriptor or -errno. */
int child_program_fd(void);

/* A job in a sealed memory file, with everything it points to; magic, size and path are filled in. Returns a CLOEXEC descriptor, or -errno (-E2BIG beyond 64 MiB). */
int child_job_fd(const struct child_job *job);

/* The same for the stage's job. -E2BIG beyond CHILD_MAX_LAYERS or CHILD_MAX_KEPT. */
int child_stage_fd(const struct child_stage_job *job);

/* The same for the native backend's plan; and as bytes, owned by the caller, which are equal for equal plans. */
int child_plan_fd(const struct child_plan *plan);
int child_plan_bytes(const struct child_plan *plan, void **ret, size_t *ret_len);
int child_plan_memory(const void *bytes, size_t len);
