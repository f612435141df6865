/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first process's program as a sealed memory file, and the job it is given. */
#pragma once

#include "child/job.h"

#include <stddef.h>

/* Hidden: found without the loader, which may not have been at work yet (ahead.c). */
extern const unsigned char child_init_bytes[] __attribute__((visibility("hidden")));
extern const unsigned long child_init_size __attribute__((visibility("hidden")));

struct sock_filter;

/* What goes into a job; everything is copied. */
struct child_job_spec {
	struct child_job head; /* flags, limits, terminal size; offsets are filled in */
	const char *cwd;
	const char *const *argv, *const *envp;
	const struct sock_filter *filter;	 /* head.filter_len of them, or NULL */
	const struct child_region_spec *regions; /* head.n_regions of them, or NULL */
	const char *const *tmpfs;		 /* head.n_tmpfs of them, or NULL */
};

/* As struct child_region. */
struct child_region_spec {
	const char *path;
	uint32_t refuses;
};

/* What was being done, after "cannot ": "open the project". */
const char *child_op_name(enum child_op op);

/* The program in a memory file, executable through /proc/self/fd: nothing on disk to find, replace or chmod.
 * Returns a CLOEXEC descriptor or -errno. */
int child_program_fd(void);

/* The job in a sealed memory file. Returns a CLOEXEC descriptor, or -errno (-E2BIG beyond 64 MiB). */
int child_job_fd(const struct child_job_spec *spec);

struct child_stage_entry {
	const char *name, *text; /* text: of a symlink, or where a mount comes from */
	enum child_entry_kind kind;
};

struct child_stage_rebuild {
	const char *dir;
	const struct child_stage_entry *entries;
	size_t n_entries;
};

struct child_stage_spec {
	uint32_t flags, uid, gid;
	const char *file;
	const char *const *argv;
	const struct child_stage_layer {
		const char *root, *upper, *work;
	} * layers;
	size_t n_layers;
	const struct child_stage_rebuild *rebuilds;
	size_t n_rebuilds;
	const struct child_stage_cover {
		const char *path;
		int is_dir;
	} * covers;
	size_t n_covers;
	const char *const *screens, *const *kept;
	size_t n_screens, n_kept;
	const char *aside;
	const char *empty; /* path of an empty file */
};

/* The stage's job, likewise. -E2BIG beyond CHILD_MAX_LAYERS or CHILD_MAX_KEPT. */
int child_stage_fd(const struct child_stage_spec *spec);

/* A mount of a plan; unused strings are NULL. */
struct child_mount_spec {
	enum child_mount_kind kind;
	const char *source, *target, *upper, *work;
	unsigned mode;
	int64_t size;
	int optional, inside;
	const char *screen;
	enum child_when late;
	struct child_identity source_is, place_is;
};

struct child_plan_spec {
	uint32_t flags, uid, gid;
	uint32_t first_id, n_ids; /* as struct child_plan has them */
	const struct child_mount_spec *mounts;
	size_t n_mounts;
};

/* The native backend's plan, likewise; and as bytes, owned by the caller, which are the same for the same plan. */
int child_plan_fd(const struct child_plan_spec *spec);
int child_plan_bytes(const struct child_plan_spec *spec, void **ret, size_t *ret_len);
int child_plan_memory(const void *bytes, size_t len);
