/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs in the supervisor, before anything is spawned. */
#include "child/program.h"

#include "child/memory.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JOB_BYTES (64u << 20)

const char *child_op_name(enum child_op op)
{
	static const char *const names[] = {
		[CHILD_OP_READ_JOB] = "read the job",
		[CHILD_OP_UNSHARE] = "make namespaces",
		[CHILD_OP_MAP] = "map the user",
		[CHILD_OP_PRIVATE] = "detach mounts",
		[CHILD_OP_OPEN_LOWER] = "open the project",
		[CHILD_OP_OPEN_UPPER] = "open the layer",
		[CHILD_OP_OPEN_WORK] = "open the layer",
		[CHILD_OP_FSOPEN] = "use the file system",
		[CHILD_OP_OPTION] = "set up the file system",
		[CHILD_OP_CREATE] = "create the file system",
		[CHILD_OP_MOUNT] = "mount it",
		[CHILD_OP_REBUILD] = "rebuild a directory",
		[CHILD_OP_COVER] = "hide a path",
		[CHILD_OP_EXEC] = "execute the backend",
		[CHILD_OP_PLACE] = "make a place",
		[CHILD_OP_OPEN_SOURCE] = "open the source",
		[CHILD_OP_RESTRICT] = "restrict the mount",
		[CHILD_OP_LINK] = "make a link",
		[CHILD_OP_DEVICE] = "make a device",
		[CHILD_OP_PROC] = "mount proc",
		[CHILD_OP_LOOPBACK] = "bring the loopback up",
		[CHILD_OP_PIVOT] = "change the root",
		[CHILD_OP_PRIVILEGES] = "drop privileges",
	};
	return op < sizeof names / sizeof *names && names[op] ? names[op] : "prepare";
}

int child_program_fd(void)
{
	return memory_sealed("airlock-init", MFD_EXEC, child_init_bytes, child_init_size);
}

struct layout {
	char *base;
	size_t at;
};

static uint32_t put_string(struct layout *l, const char *s)
{
	size_t n = strlen(s) + 1, at = l->at;
	if (l->base)
		memcpy(l->base + at, s, n);
	l->at += n;
	return (uint32_t)at;
}

static size_t count(const char *const *v)
{
	size_t n = 0;
	while (v[n])
		n++;
	return n;
}

/* One free slot before the array (see exec_file in init.c), the offsets, a zero. */
static uint32_t put_strings(struct layout *l, const char *const *v)
{
	l->at = (l->at + 7) & ~(size_t)7;
	size_t n = count(v), slots = l->at + sizeof(int64_t);
	l->at = slots + (n + 1) * sizeof(int64_t);
	for (size_t i = 0; i < n; i++) {
		int64_t offset = put_string(l, v[i]);
		if (l->base)
			memcpy(l->base + slots + i * sizeof offset, &offset, sizeof offset);
	}
	return (uint32_t)slots;
}

static const char *path_value(const char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return NULL;
}

/* Reserves room for an array, aligned, and returns its offset. */
static uint32_t put_room(struct layout *l, size_t bytes)
{
	l->at = (l->at + 7) & ~(size_t)7;
	uint32_t at = (uint32_t)l->at;
	l->at += bytes;
	return at;
}

static void put_at(struct layout *l, size_t at, const void *data, size_t len)
{
	if (l->base && len > 0)
		memcpy(l->base + at, data, len);
}

static uint32_t put_filter(struct layout *l, const struct child_job_spec *spec)
{
	size_t bytes = spec->head.filter_len * sizeof *spec->filter;
	uint32_t at = put_room(l, bytes);
	put_at(l, at, spec->filter, bytes);
	return at;
}

static uint32_t put_regions(struct layout *l, const struct child_job_spec *spec)
{
	uint32_t array = put_room(l, spec->head.n_regions * sizeof(struct child_region));
	for (uint32_t i = 0; i < spec->head.n_regions; i++) {
		struct child_region region = {put_string(l, spec->regions[i].path), spec->regions[i].refuses};
		put_at(l, array + i * sizeof region, &region, sizeof region);
	}
	return array;
}

static uint32_t put_paths(struct layout *l, const char *const *paths, size_t n)
{
	uint32_t array = put_room(l, n * sizeof(uint32_t));
	for (size_t i = 0; i < n; i++) {
		uint32_t at = put_string(l, paths[i]);
		put_at(l, array + i * sizeof at, &at, sizeof at);
	}
	return array;
}

/* Run twice: without a base it only measures. */
static void lay_out(struct layout *l, const struct child_job_spec *spec, struct child_job *head)
{
	const char *path = path_value(spec->envp);
	l->at = sizeof *head;
	head->cwd = put_string(l, spec->cwd);
	head->path = path ? put_string(l, path) : 0;
	head->argv = put_strings(l, spec->argv);
	head->envp = put_strings(l, spec->envp);
	head->filter = put_filter(l, spec);
	head->regions = put_regions(l, spec);
	head->tmpfs = put_paths(l, spec->tmpfs, head->n_tmpfs);
	head->size = (uint32_t)l->at;
	head->magic = CHILD_JOB_MAGIC;
}

int child_job_fd(const struct child_job_spec *spec)
{
	struct child_job head = spec->head;
	struct layout l = {0};
	lay_out(&l, spec, &head);
	if (l.at > MAX_JOB_BYTES)
		return -E2BIG;
	l.base = calloc(1, l.at);
	if (!l.base)
		return -ENOMEM;
	lay_out(&l, spec, &head);
	memcpy(l.base, &head, sizeof head);
	int fd = memory_sealed("airlock-job", MFD_NOEXEC_SEAL, l.base, l.at);
	free(l.base);
	return fd;
}

static uint32_t put_layers(struct layout *l, const struct child_stage_spec *spec)
{
	uint32_t array = put_room(l, spec->n_layers * sizeof(struct child_layer));
	for (size_t i = 0; i < spec->n_layers; i++) {
		struct child_layer layer = {.lower = put_string(l, spec->layers[i].root),
					    .upper = put_string(l, spec->layers[i].upper),
					    .work = put_string(l, spec->layers[i].work)};
		put_at(l, array + i * sizeof layer, &layer, sizeof layer);
	}
	return array;
}

static uint32_t put_entries(struct layout *l, const struct child_stage_rebuild *r)
{
	uint32_t array = put_room(l, r->n_entries * sizeof(struct child_entry));
	for (size_t i = 0; i < r->n_entries; i++) {
		const struct child_stage_entry *e = &r->entries[i];
		struct child_entry entry = {
			.name = put_string(l, e->name), .kind = e->kind, .text = e->text ? put_string(l, e->text) : 0};
		put_at(l, array + i * sizeof entry, &entry, sizeof entry);
	}
	return array;
}

static uint32_t put_rebuilds(struct layout *l, const struct child_stage_spec *spec)
{
	uint32_t array = put_room(l, spec->n_rebuilds * sizeof(struct child_rebuild));
	for (size_t i = 0; i < spec->n_rebuilds; i++) {
		const struct child_stage_rebuild *r = &spec->rebuilds[i];
		struct child_rebuild rebuild = {.dir = put_string(l, r->dir),
						.entries = put_entries(l, r),
						.n_entries = (uint32_t)r->n_entries};
		put_at(l, array + i * sizeof rebuild, &rebuild, sizeof rebuild);
	}
	return array;
}

static uint32_t put_covers(struct layout *l, const struct child_stage_spec *spec)
{
	uint32_t array = put_room(l, spec->n_covers * sizeof(struct child_cover));
	for (size_t i = 0; i < spec->n_covers; i++) {
		struct child_cover cover = {.path = put_string(l, spec->covers[i].path),
					    .is_dir = (uint32_t)spec->covers[i].is_dir};
		put_at(l, array + i * sizeof cover, &cover, sizeof cover);
	}
	return array;
}

static void lay_out_stage(struct layout *l, const struct child_stage_spec *spec, struct child_stage_job *head)
{
	l->at = sizeof *head;
	head->layers = put_layers(l, spec);
	head->rebuilds = put_rebuilds(l, spec);
	head->covers = put_covers(l, spec);
	head->screens = put_paths(l, spec->screens, spec->n_screens);
	head->kept = put_paths(l, spec->kept, spec->n_kept);
	head->aside = spec->aside ? put_string(l, spec->aside) : 0;
	head->empty = spec->empty ? put_string(l, spec->empty) : 0;
	head->file = put_string(l, spec->file);
	head->argv = put_strings(l, spec->argv);
	head->size = (uint32_t)l->at;
	head->magic = CHILD_JOB_MAGIC;
}

int child_stage_fd(const struct child_stage_spec *spec)
{
	struct child_stage_job head = {.flags = spec->flags,
				       .uid = spec->uid,
				       .gid = spec->gid,
				       .n_layers = (uint32_t)spec->n_layers,
				       .n_rebuilds = (uint32_t)spec->n_rebuilds,
				       .n_covers = (uint32_t)spec->n_covers,
				       .n_screens = (uint32_t)spec->n_screens,
				       .n_kept = (uint32_t)spec->n_kept};
	struct layout l = {0};
	lay_out_stage(&l, spec, &head);
	if (spec->n_layers > CHILD_MAX_LAYERS || spec->n_kept > CHILD_MAX_KEPT || l.at > MAX_JOB_BYTES)
		return -E2BIG;
	l.base = calloc(1, l.at);
	if (!l.base)
		return -ENOMEM;
	lay_out_stage(&l, spec, &head);
	memcpy(l.base, &head, sizeof head);
	int fd = memory_sealed("airlock-stage", MFD_NOEXEC_SEAL, l.base, l.at);
	free(l.base);
	return fd;
}

static uint32_t put_optional(struct layout *l, const char *s)
{
	return s ? put_string(l, s) : 0;
}

static void lay_out_plan(struct layout *l, const struct child_mount_spec *mounts, struct child_plan *head)
{
	l->at = sizeof *head;
	head->mounts = put_room(l, head->n_mounts * sizeof(struct child_mount));
	for (size_t i = 0; i < head->n_mounts; i++) {
		const struct child_mount_spec *m = &mounts[i];
		struct child_mount mount = {.kind = m->kind,
					    .target = put_string(l, m->target),
					    .source = put_optional(l, m->source),
					    .upper = put_optional(l, m->upper),
					    .work = put_optional(l, m->work),
					    .mode = m->mode,
					    .size = m->size,
					    .optional = (uint32_t)m->optional,
					    .inside = (uint32_t)m->inside,
					    .screen = put_optional(l, m->screen),
					    .late = (uint32_t)m->late,
					    .source_is = m->source_is,
					    .place_is = m->place_is};
		put_at(l, head->mounts + i * sizeof mount, &mount, sizeof mount);
	}
	head->size = (uint32_t)l->at;
	head->magic = CHILD_JOB_MAGIC;
}

int child_plan_bytes(const struct child_plan_spec *spec, void **ret, size_t *ret_len)
{
	struct child_plan head = {.flags = spec->flags,
				  .uid = spec->uid,
				  .gid = spec->gid,
				  .first_id = spec->first_id,
				  .n_ids = spec->n_ids,
				  .n_mounts = (uint32_t)spec->n_mounts};
	struct layout l = {0};
	lay_out_plan(&l, spec->mounts, &head);
	if (l.at > MAX_JOB_BYTES)
		return -E2BIG;
	l.base = calloc(1, l.at);
	if (!l.base)
		return -ENOMEM;
	lay_out_plan(&l, spec->mounts, &head);
	memcpy(l.base, &head, sizeof head);
	*ret = l.base;
	*ret_len = l.at;
	return 0;
}

int child_plan_memory(const void *bytes, size_t len)
{
	return memory_sealed("airlock-plan", MFD_NOEXEC_SEAL, bytes, len);
}

int child_plan_fd(const struct child_plan_spec *spec)
{
	void *bytes = NULL;
	size_t len = 0;
	int rc = child_plan_bytes(spec, &bytes, &len);
	int fd = rc < 0 ? rc : child_plan_memory(bytes, len);
	free(bytes);
	return fd;
}
