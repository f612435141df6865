/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/files_stage.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "change/reason.h"
#include "fs/fs.h"
#include "history/history.h"
#include "run/run_record.h"
#include "run/run.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

/* ── The layer, as a command would have left it ── */

/* The directories above the last component of path, in the layer. Those that live ones have get their attributes; the others
 * are new. Returns a descriptor of the last, and the name to be made in it. */
static int stage_parents(int upper_root, int live_root, const char *path, const char **ret_name)
{
	_cleanup_close_ int upper = fcntl(upper_root, F_DUPFD_CLOEXEC, 3), live = fcntl(live_root, F_DUPFD_CLOEXEC, 3);
	if (upper < 0)
		return -errno;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		struct stat st;
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
		if (!name)
			return -ENOMEM;
		bool lives = live >= 0 && fstatat(live, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		if (mkdirat(upper, name, lives ? 0700 : 0777) < 0)
			return -errno;
		int next = openat(upper, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		base_closep(&upper);
		upper = next;
		if (lives)
			files_make_alike(live, name, &st, upper);
		int below = lives ? openat(live, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
		base_closep(&live);
		live = below;
	}
	*ret_name = path;
	return TAKE_FD(upper);
}

/* Directories that were only passed through keep their live times: they did not change. Only the last one on the path
 * did. */
static void settle_times(int upper_root, int live_root, const char *path)
{
	_cleanup_close_ int upper = fcntl(upper_root, F_DUPFD_CLOEXEC, 3), live = fcntl(live_root, F_DUPFD_CLOEXEC, 3);
	struct stat above;
	bool have_above = false; /* upper is a directory below the root, above is its live one */
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		struct stat st;
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
		if (!name || fstatat(live, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			return;
		if (have_above) {
			struct timespec times[2] = {above.st_atim, above.st_mtim};
			(void)futimens(upper, times);
		}
		int next = openat(upper, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int below = openat(live, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		base_closep(&upper);
		base_closep(&live);
		upper = next;
		live = below;
		above = st;
		have_above = true;
	}
}

/* at's path below its root, and what was missing of it. "a/./b" is "a/b". */
static char *path_in_root(const struct files_at *at)
{
	_cleanup_free_ char *whole = path_join(at->inside, at->name);
	_cleanup_free_ char *all = whole && *at->rest ? path_join(whole, at->rest) : TAKE_PTR(whole);
	_cleanup_free_ char *normal = all ? path_normalize("/", all) : NULL;
	const char *rest = normal ? path_rest(normal, at->mount->inside) : NULL;
	return rest && *rest ? strdup(rest) : NULL;
}

struct staging {
	const struct stage_request *request;
	struct files_at at;
	struct buf content; /* of an edit */
	enum airlock_files_action action;
	uint64_t count;
};

static int look_first(struct staging *s, const struct files_place *p, struct airlock_error *err)
{
	const struct stage_request *q = s->request;
	if (q->what == STAGE_DELETE) {
		s->action = AIRLOCK_FILES_DELETED;
		s->count = 1;
		return files_resolve_removal(p, q->path, &s->at, err);
	}
	int rc = files_resolve_target(p, q->path, &s->at, err);
	if (rc < 0)
		return rc;
	if (q->what == STAGE_WRITE) {
		s->action = s->at.found ? AIRLOCK_FILES_REPLACED : AIRLOCK_FILES_CREATED;
		s->count = q->size;
		return 0;
	}
	s->action = AIRLOCK_FILES_EDITED;
	if (!s->at.found)
		return base_error(err, s->at.detour ? AIRLOCK_ERR_BLOCKED : AIRLOCK_ERR_NOT_FOUND, "edit", q->path,
				  "%s does not exist", q->path);
	rc = files_slurp(&s->at, q->path, &s->content, err);
	int64_t n = rc < 0 ? rc : files_replace(&s->content, q->path, q->old_text, q->new_text, q->all, err);
	s->count = n < 0 ? 0 : (uint64_t)n;
	return n < 0 ? (int)n : 0;
}

/* The new file with the attributes of the live one. */
static int put_file(struct staging *s, int dir_fd, const char *name)
{
	bool edit = s->request->what == STAGE_EDIT;
	int rc = files_put(dir_fd, name, edit ? buf_str(&s->content) : s->request->content,
			   edit ? s->content.len : s->request->size, NULL);
	if (rc < 0 || !s->at.found)
		return rc;
	_cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	files_make_alike(s->at.lower_fd, s->at.name, &s->at.st, fd);
	return 0;
}

static int put_into_layer(struct staging *s, const char *upper, struct airlock_error *err)
{
	const char *shown = s->request->path, *name = NULL;
	_cleanup_close_ int upper_root = open(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *path = path_in_root(&s->at);
	if (!path)
		return base_oom(err);
	if (upper_root < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", upper);
	_cleanup_close_ int dir = stage_parents(upper_root, s->at.mount->lower_fd, path, &name);
	int rc = dir;
	/* stage_parents names it */
	assert(rc < 0 || name);
	if (rc >= 0 && s->request->what == STAGE_DELETE) /* a whiteout, as overlay makes it */
		rc = mknodat(dir, name, S_IFCHR, 0) < 0 ? -errno : 0;
	else if (rc >= 0)
		rc = put_file(s, dir, name);
	if (rc >= 0)
		settle_times(upper_root, s->at.mount->lower_fd, path);
	return rc < 0 ? base_errno(err, rc == -ENAMETOOLONG ? AIRLOCK_ERR_INVALID : AIRLOCK_ERR_IO, rc, "write", shown)
		      : 0;
}

/* ── The run ── */

/* Nothing is run: the layer is filled by ourselves. */
static const struct backend no_backend = {.name = "none"};

/* Only what the layers need: the roots. */
static int make_plan(struct airlock_job *job, struct airlock_error *err)
{
	job->backend = &no_backend;
	plan_free(job->plan);
	job->plan = calloc(1, sizeof *job->plan);
	if (!job->plan)
		return base_oom(err);
	job->plan->cwd = strdup(job->project->dir);
	job->plan->profile = strdup(job->config->policy.profile);
	if (!job->plan->cwd || !job->plan->profile)
		return base_oom(err);
	for (size_t i = 0; i < job->project->n_roots; i++)
		strs_add(&job->plan->roots, job->project->roots[i].path);
	return job->plan->roots.failed ? base_oom(err) : layers_preflight(job, NULL, err);
}

/* The first change that waits says why. */
static const struct airlock_reason *reason_of(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state != CHANGE_APPLIED && set->v[i].n_reasons > 0)
			return set->v[i].reasons;
	return NULL;
}

/* Describes the file, not the directories that were made for it. */
static enum airlock_changes_state state_of(const struct run_layers *l, const struct staging *s)
{
	enum airlock_changes_state state = layers_state(l);
	bool waits = s->request->what != STAGE_DELETE && state == AIRLOCK_CHANGES_PARTIAL;
	return waits ? AIRLOCK_CHANGES_HELD : state;
}

static int report(const struct airlock_run *run, const struct staging *s, const struct files_place *p,
		  struct airlock_files **ret, struct airlock_error *err)
{
	const struct run_layers *l = &run->layers;
	_cleanup_files_result_ struct airlock_files *r = files_result_new(FILES_CHANGE);
	if (!r)
		return base_oom(err);
	bool same = l->set->n == 0;
	uint64_t count = s->request->what == STAGE_DELETE ? l->set->n : s->count;
	files_result_set_change(r, files_place_shown(p, s->request->path), same ? AIRLOCK_FILES_UNCHANGED : s->action,
				count);
	const struct airlock_reason *reason = reason_of(l->set);
	r->run = strdup(run->id);
	if (r->failed || !r->run || (reason && change_reason_copy(reason, &r->reason) < 0))
		return base_oom(err);
	r->change.run = r->run;
	r->change.state = state_of(l, s);
	r->change.reason = reason ? &r->reason : NULL;
	*ret = TAKE_PTR(r);
	return 0;
}

static int carry_out(struct airlock_run *run, struct staging *s, const struct files_place *p,
		     struct airlock_files **ret, struct airlock_error *err)
{
	static const struct supervise_result ended = {.status = AIRLOCK_EXITED};
	/* Look at the file only after the run's start time was taken, so that a concurrent change is a conflict (I3). */
	int rc = run_begin(run, err);
	if (rc == 0)
		rc = look_first(s, p, err);
	if (rc == 0)
		rc = put_into_layer(s, run->layers.layers[s->at.mount->root].upper.text, err);
	if (rc < 0)
		return rc;
	layers_end(&run->layers, run->job, run->dir, &ended, -1);
	layers_tidy(&run->layers, run->job, run->dir);
	run_record_files(run);
	if (run->layers.error.code) {
		if (err && err->code == 0)
			*err = run->layers.error;
		return run->layers.error.code;
	}
	return report(run, s, p, ret, err);
}

/* Its name in the history: the command line that does the same. */
static int name_command(struct airlock_job *job, const struct stage_request *request, struct airlock_error *err)
{
	static const char *const verbs[] = {[STAGE_WRITE] = "write", [STAGE_EDIT] = "edit", [STAGE_DELETE] = "delete"};
	struct buf line = BUF_INIT;
	buf_printf(&line, "airlock fs %s ", verbs[request->what]);
	text_add_shell_word(&line, request->path);
	free(job->command_line);
	job->command_line = buf_take(&line);
	return job->command_line ? 0 : base_oom(err);
}

/* Nothing was captured: no trace of the attempt stays. */
static void remove_run(const char *dir)
{
	_cleanup_free_ char *parent = path_dirname(dir);
	_cleanup_close_ int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	if (fd >= 0)
		(void)fs_remove_tree_at(fd, path_basename(dir), NULL, NULL);
}

int stage_change(struct airlock_job *job, const struct files_place *p, const struct stage_request *request,
		 struct airlock_files **ret, struct airlock_error *err)
{
	struct staging s = {.request = request, .at = FILES_AT_INIT};
	/* Refuse early, without making a run. The same checks are made again later, beneath descriptors. */
	int rc = look_first(&s, p, err);
	files_at_done(&s.at);
	buf_done(&s.content);
	if (rc == 0)
		rc = make_plan(job, err);
	struct airlock_run *run = rc == 0 ? run_new(job) : NULL;
	if (rc == 0 && !run)
		rc = base_oom(err);
	if (rc < 0)
		return rc;
	assert(run); /* base_oom fails */
	run->files_only = true;
	rc = name_command(job, request, err);
	if (rc == 0)
		rc = carry_out(run, &s, p, ret, err);
	bool empty = rc < 0 && run->dir && (!run->layers.set || run->layers.set->n == 0);
	if (empty)
		remove_run(run->dir);
	airlock_run_free(run);
	files_at_done(&s.at);
	buf_done(&s.content);
	return rc;
}
