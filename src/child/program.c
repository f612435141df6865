/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs in the supervisor, before anything is spawned: builds the memory files that the child reads (its program, the
 * job, the stage's job, the native plan).
 *
 * Each is laid out twice by the same function: once without a base to measure it, once to write it. Strings and arrays
 * are referred to by offsets, which the child turns into pointers. */
#include "child/program.h"

#include "child/memory.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdbool.h>
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
		[CHILD_OP_GATE] = "set up the network",
		[CHILD_OP_JOIN] = "enter the session's namespaces",
	};
	return op < sizeof names / sizeof *names && names[op] ? names[op] : "prepare";
}

int child_program_fd(void)
{
	return memory_sealed("airlock-init", MFD_EXEC, child_init_bytes, child_init_size);
}

/* Written twice: without a base it is only measured. */
struct layout {
	char *base;
	size_t at;
};

/* Reserves room, aligned, and returns its offset. */
static size_t reserve(struct layout *l, size_t bytes)
{
	size_t at = (l->at + 7) & ~(size_t)7;
	l->at = at + bytes;
	return at;
}

static void put_at(struct layout *l, size_t at, const void *data, size_t len)
{
	if (l->base && len > 0)
		memcpy(l->base + at, data, len);
}

static uint64_t put_string(struct layout *l, const char *s)
{
	size_t n = strlen(s) + 1, at = l->at;
	put_at(l, at, s, n);
	l->at += n;
	return at;
}

static void pack(struct layout *l, union child_text *t)
{
	const char *text = t->text;
	t->at = text ? put_string(l, text) : 0;
}

static void pack_list(struct layout *l, union child_texts *t, size_t n)
{
	size_t array = reserve(l, n * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++) {
		uint64_t at = put_string(l, t->v[i]);
		put_at(l, array + i * sizeof at, &at, sizeof at);
	}
	t->at = array;
}

/* One free slot before the array (see exec_file in command.c), the offsets, a zero. */
static void pack_argv(struct layout *l, union child_texts *t)
{
	size_t n = 0;
	while (t->v[n])
		n++;
	size_t slot = reserve(l, (n + 2) * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++) {
		uint64_t at = put_string(l, t->v[i]);
		put_at(l, slot + (i + 1) * sizeof at, &at, sizeof at);
	}
	t->at = slot + sizeof(uint64_t);
}

/* One function for each job: what it points to goes behind it, and offsets take the place of the pointers. */

static const char *path_value(const char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return NULL;
}

static void pack_job(struct layout *l, void *head)
{
	struct child_job *job = head;
	const char *path = path_value(job->envp.v);
	size_t filter = reserve(l, job->filter_len * sizeof *job->filter.v);
	put_at(l, filter, job->filter.v, job->filter_len * sizeof *job->filter.v);
	job->filter.at = filter;
	size_t regions = reserve(l, job->n_regions * sizeof *job->regions.v);
	for (uint32_t i = 0; i < job->n_regions; i++) {
		struct child_region region = job->regions.v[i];
		pack(l, &region.path);
		put_at(l, regions + i * sizeof region, &region, sizeof region);
	}
	job->regions.at = regions;
	pack(l, &job->cwd);
	job->path = path ? put_string(l, path) : 0;
	pack_argv(l, &job->argv);
	pack_argv(l, &job->envp);
	pack_list(l, &job->tmpfs, job->n_tmpfs);
}

static void pack_rebuild(struct layout *l, struct child_rebuild *r)
{
	size_t entries = reserve(l, r->n_entries * sizeof *r->entries.v);
	for (size_t i = 0; i < r->n_entries; i++) {
		struct child_entry entry = r->entries.v[i];
		pack(l, &entry.name);
		pack(l, &entry.text);
		put_at(l, entries + i * sizeof entry, &entry, sizeof entry);
	}
	r->entries.at = entries;
	pack(l, &r->dir);
}

static void pack_stage(struct layout *l, void *head)
{
	struct child_stage_job *job = head;
	size_t layers = reserve(l, job->n_layers * sizeof *job->layers.v);
	for (size_t i = 0; i < job->n_layers; i++) {
		struct child_layer layer = job->layers.v[i];
		pack(l, &layer.root);
		pack(l, &layer.upper);
		pack(l, &layer.work);
		pack_list(l, &layer.lowers, layer.n_lowers);
		put_at(l, layers + i * sizeof layer, &layer, sizeof layer);
	}
	job->layers.at = layers;
	size_t rebuilds = reserve(l, job->n_rebuilds * sizeof *job->rebuilds.v);
	for (size_t i = 0; i < job->n_rebuilds; i++) {
		struct child_rebuild rebuild = job->rebuilds.v[i];
		pack_rebuild(l, &rebuild);
		put_at(l, rebuilds + i * sizeof rebuild, &rebuild, sizeof rebuild);
	}
	job->rebuilds.at = rebuilds;
	size_t covers = reserve(l, job->n_covers * sizeof *job->covers.v);
	for (size_t i = 0; i < job->n_covers; i++) {
		struct child_cover cover = job->covers.v[i];
		pack(l, &cover.path);
		put_at(l, covers + i * sizeof cover, &cover, sizeof cover);
	}
	job->covers.at = covers;
	size_t pins = reserve(l, job->n_pins * sizeof *job->pins.v);
	for (size_t i = 0; i < job->n_pins; i++) {
		struct child_pin p = job->pins.v[i];
		pack(l, &p.dir);
		pack(l, &p.rest);
		put_at(l, pins + i * sizeof p, &p, sizeof p);
	}
	job->pins.at = pins;
	pack_list(l, &job->screens, job->n_screens);
	pack_list(l, &job->kept, job->n_kept);
	pack_list(l, &job->asides, job->n_asides);
	pack(l, &job->empty);
	pack(l, &job->file);
	pack_argv(l, &job->argv);
}

static void pack_plan(struct layout *l, void *head)
{
	struct child_plan *plan = head;
	size_t mounts = reserve(l, plan->n_mounts * sizeof *plan->mounts.v);
	for (size_t i = 0; i < plan->n_mounts; i++) {
		struct child_mount mount = plan->mounts.v[i];
		pack(l, &mount.target);
		pack(l, &mount.source);
		pack(l, &mount.upper);
		pack(l, &mount.work);
		pack_list(l, &mount.lowers, mount.n_lowers);
		pack(l, &mount.screen);
		put_at(l, mounts + i * sizeof mount, &mount, sizeof mount);
	}
	plan->mounts.at = mounts;
}

/* The header of every job. */
struct job_head {
	uint32_t magic, size;
};
_Static_assert(offsetof(struct child_job, size) == offsetof(struct job_head, size), "a job begins alike");
_Static_assert(offsetof(struct child_stage_job, size) == offsetof(struct job_head, size), "a job begins alike");
_Static_assert(offsetof(struct child_plan, size) == offsetof(struct job_head, size), "a job begins alike");

typedef void packer(struct layout *l, void *head);

static int pack_bytes(packer *pack_head, const void *job, size_t job_size, void **ret, size_t *ret_len)
{
	struct layout l = {.at = job_size};
	union {
		struct child_job job;
		struct child_stage_job stage;
		struct child_plan plan;
	} measured;
	memcpy(&measured, job, job_size);
	pack_head(&l, &measured);
	if (l.at > MAX_JOB_BYTES)
		return -E2BIG;
	l.base = calloc(1, l.at);
	if (!l.base)
		return -ENOMEM;
	struct job_head head = {CHILD_JOB_MAGIC, (uint32_t)l.at};
	l.at = job_size;
	memcpy(l.base, job, job_size);
	memcpy(l.base, &head, sizeof head);
	pack_head(&l, l.base);
	*ret = l.base;
	*ret_len = l.at;
	return 0;
}

static int pack_fd(const char *name, packer *pack_head, const void *job, size_t job_size)
{
	void *bytes = NULL;
	size_t len = 0;
	int rc = pack_bytes(pack_head, job, job_size, &bytes, &len);
	int fd = rc < 0 ? rc : memory_sealed(name, MFD_NOEXEC_SEAL, bytes, len);
	free(bytes);
	return fd;
}

int child_job_fd(const struct child_job *job)
{
	return pack_fd("airlock-job", pack_job, job, sizeof *job);
}

int child_stage_fd(const struct child_stage_job *job)
{
	bool fits = job->n_layers <= CHILD_MAX_LAYERS && job->n_kept <= CHILD_MAX_KEPT;
	return fits ? pack_fd("airlock-stage", pack_stage, job, sizeof *job) : -E2BIG;
}

int child_plan_fd(const struct child_plan *plan)
{
	return pack_fd("airlock-plan", pack_plan, plan, sizeof *plan);
}

int child_plan_bytes(const struct child_plan *plan, void **ret, size_t *ret_len)
{
	return pack_bytes(pack_plan, plan, sizeof *plan, ret, ret_len);
}

int child_plan_memory(const void *bytes, size_t len)
{
	return memory_sealed("airlock-plan", MFD_NOEXEC_SEAL, bytes, len);
}
