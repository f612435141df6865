/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/copies.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "change/apply/apply.h"
#include "fs/fs.h"
#include "history/backups.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEFT_HINT "what the command changed is in the project; `airlock recover` tries again to put it back"

bool copies_wanted(const struct airlock_job *job)
{
	bool captured = job->config->policy.changes != POLICY_CHANGES_DIRECT;
	return captured && job->backend->copies;
}

/* ── Before ── */

/* The state directory, or the nearest above it that is there: both are on one file system, mostly. */
static char *existing(const char *dir)
{
	char *path = strdup(dir);
	struct stat st;
	while (path && strcmp(path, "/") != 0 && stat(path, &st) < 0) {
		char *above = path_dirname(path);
		free(path);
		path = above;
	}
	return path;
}

int copies_too_large(const struct config *config, const char *root, const struct copy_size *size,
		     struct airlock_error *err)
{
	_cleanup_buf_ struct buf bytes = BUF_INIT, limit = BUF_INIT;
	text_add_size(&bytes, (int64_t)size->bytes);
	text_add_size(&limit, config->copy_size);
	bool many = size->entries > (uint64_t)config->copy_files;
	base_error(err, AIRLOCK_ERR_LIMIT, "capture", root,
		   "changes in %s can only be found by comparing with a copy, and that is too large: %" PRIu64
		   " entries, %s to copy",
		   root, size->entries, buf_str(&bytes));
	if (many)
		return base_hint(
			err,
			"at most %" PRId64
			" are copied: raise copy_files in [capture], or use --changes direct: the command writes straight to the project",
			config->copy_files);
	return base_hint(
		err,
		"at most %s is copied: raise copy_size in [capture], or use --changes direct: the command writes straight to the project",
		buf_str(&limit));
}

static bool fits(const struct config *config, const struct copy_size *size)
{
	return size->bytes <= (uint64_t)config->copy_size && size->entries <= (uint64_t)config->copy_files;
}

int copies_preflight(const struct airlock_job *job, struct airlock_error *err)
{
	struct copy_size size = {0};
	_cleanup_free_ char *state = existing(job->host.state_dir);
	int rc = state ? layers_preflight(job, NULL, err) : base_oom(err);
	for (size_t i = 0; rc == 0 && i < job->plan->roots.n; i++)
		rc = copy_measure(job->plan->roots.v[i], state, &size, err);
	if (rc < 0 || fits(job->config, &size))
		return rc;
	return copies_too_large(job->config, job->plan->roots.v[0], &size, err);
}

/* Two runs that write to the same directory would capture and revert each other's changes. */
static int lock(struct run_layers *c, const struct host *host, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, "copy-locks");
	_cleanup_free_ const char **paths = calloc(c->set->n_roots + 1, sizeof *paths);
	if (!dir || !paths)
		return base_oom(err);
	for (size_t i = 0; i < c->set->n_roots; i++)
		paths[i] = c->set->roots[i].path;
	int rc = lock_roots(&c->lock, dir, paths, c->set->n_roots, 0, err);
	if (rc == AIRLOCK_ERR_BUSY)
		base_hint(err,
			  "changes are found here by comparing with a copy, and only one run at a time can do that");
	return rc;
}

static int copy_roots(struct run_layers *c, const struct config *config, struct airlock_error *err)
{
	struct copy_limits limits = {.bytes = (uint64_t)config->copy_size, .entries = (uint64_t)config->copy_files};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->set->n_roots; i++) {
		const struct change_root *r = &c->set->roots[i];
		rc = fs_make_private_dir(r->copy, err);
		rc = rc < 0 ? rc : copy_take(r->path, r->copy, &limits, &c->origins, err);
		if (rc == AIRLOCK_ERR_LIMIT) { /* it grew since it was measured */
			struct copy_size size = {.bytes = c->origins.bytes, .entries = c->origins.n};
			base_error_clear(err);
			rc = copies_too_large(config, r->path, &size, err);
		} else if (rc < 0)
			base_hint(
				err,
				"changes can only be found by comparing with a copy here; --changes direct lets the command write straight to the project");
	}
	return rc;
}

/* Sync the copy before the command starts: after a power cut it is the only copy of the old content (I4). */
static int write_down(struct run_layers *c, const struct host *host, const char *run_dir, struct airlock_error *err)
{
	_cleanup_free_ char *origins = path_join(run_dir, "origins"), *capture = path_join(run_dir, "capture"),
			    *marker = copied_run_marker(host, path_basename(run_dir));
	if (!origins || !capture || !marker)
		return base_oom(err);
	int rc = copy_save(&c->origins, origins, err);
	rc = rc < 0 ? rc : change_set_save(c->set, capture, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "syncfs", run_dir);
	return fs_write_private_file(marker, "", 0, err);
}

static void remove_run(const char *run_dir)
{
	copied_run_remove_copies(run_dir);
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		(void)fs_remove_tree_at(fd, "upper", NULL, NULL);
}

static void note_outside(struct run_layers *c)
{
	if (c->origins.outside > 0)
		NOTE(&c->notes, OUTSIDE_NAMES, .number = (int64_t)c->origins.outside, .subject = c->origins.outside_of);
}

int copies_begin(struct run_layers *c, const struct airlock_job *job, const char *run_dir, struct airlock_error *err)
{
	c->set->origins = &c->origins;
	int rc = lock(c, &job->host, err);
	rc = rc < 0 ? rc : copied_run_name_roots(c->set, run_dir, err);
	rc = rc < 0 ? rc : copy_roots(c, job->config, err);
	rc = rc < 0 ? rc : write_down(c, &job->host, run_dir, err);
	if (rc < 0)
		remove_run(run_dir);
	else
		note_outside(c);
	return rc;
}

/* ── After ── */

static bool all_may_stay(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].verdict != CHANGE_APPLY || set->v[i].setid_dropped)
			return false;
	return true;
}

static int keep(struct run_layers *c, const struct host *host, const char *run_dir)
{
	_cleanup_free_ char *journal = host_journal_dir(host), *locks = host_lock_dir(host);
	if (!journal || !locks)
		return base_oom(&c->error);
	struct apply_request request = {.set = c->set, .run_dir = run_dir, .journal_dir = journal, .lock_dir = locks};
	return backups_adopt(host, &request, &c->notes, &c->error);
}

/* Report what is in the project as applied, whatever was planned for it (I7). */
static int leave(struct run_layers *c, int rc)
{
	c->unsettled = true;
	for (size_t i = 0; i < c->set->n; i++)
		c->set->v[i].state = CHANGE_APPLIED;
	base_hint(&c->error, LEFT_HINT);
	return rc;
}

int copies_settle(struct run_layers *c, const struct host *host, const char *run_dir, int rc, bool may_stay)
{
	_cleanup_free_ char *marker = copied_run_marker(host, path_basename(run_dir));
	if (!marker)
		rc = base_oom(&c->error);
	bool stay = may_stay && all_may_stay(c->set);
	rc = rc < 0 ? rc : copied_run_adopt(c->set, run_dir, &c->error);
	if (rc == 0 && !stay && c->set->n > 0)
		rc = copied_run_put_back(c->set, host, run_dir, &c->notes, &c->error);
	if (rc < 0)
		return leave(c, rc);
	assert(marker); /* base_oom fails */
	if (unlink(marker) < 0 && errno != ENOENT)
		return leave(c, base_errno(&c->error, AIRLOCK_ERR_IO, errno, "unlink", marker));
	lock_release(&c->lock);
	if (!stay || c->set->n == 0)
		return 0;
	rc = keep(c, host, run_dir);
	return rc < 0 ? rc : 1;
}
