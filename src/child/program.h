/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first process's program as a sealed memory file, and the job it is given. */
#pragma once

#include "child/job.h"

#include <stddef.h>

extern const unsigned char child_init_bytes[];
extern const unsigned long child_init_size;

struct sock_filter;

/* What goes into a job; everything is copied. */
struct child_job_spec {
	struct child_job head; /* flags, limits, terminal size; offsets are filled in */
	const char *cwd;
	const char *const *argv, *const *envp;
	const struct sock_filter *filter; /* head.filter_len of them, or NULL */
};

/* The program in a memory file, executable through /proc/self/fd: nothing on disk to find, replace or chmod.
 * Returns a CLOEXEC descriptor or -errno. */
int child_program_fd(void);

/* The job in a sealed memory file. Returns a CLOEXEC descriptor, or -errno (-E2BIG beyond 64 MiB). */
int child_job_fd(const struct child_job_spec *spec);

struct child_stage_entry {
	const char *name, *text; /* text: of a symlink */
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
	const char *empty; /* path of an empty file */
};

/* The stage's job, likewise. -E2BIG beyond CHILD_MAX_LAYERS. */
int child_stage_fd(const struct child_stage_spec *spec);
