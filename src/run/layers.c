/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/layers.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "change/apply/apply.h"
#include "change/reason.h"
#include "fs/fs.h"
#include "history/backups.h"
#include "run/aliases.h"
#include "run/copies.h"
#include "run/run_session.h"
#include "layer/empty_layers.h"
#include "history/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define XATTR_NAMES_MAX 65536
#define XATTR_VALUE_MAX 65536

bool layers_wanted(const struct airlock_job *job)
{
	return job->config->policy.changes != POLICY_CHANGES_DIRECT && !job->backend->in_place;
}

enum airlock_capture layers_capture(const struct airlock_job *job)
{
	if (copies_wanted(job) || (layers_wanted(job) && job->mirrors))
		return AIRLOCK_CAPTURE_COPY;
	return layers_wanted(job) ? AIRLOCK_CAPTURE_OVERLAY : AIRLOCK_CAPTURE_NONE;
}

/* ── Before ── */

static int cannot(const char *root, const char *why, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "capture", root, "changes in %s cannot be captured: %s", root, why);
	return base_hint(err, "--changes direct lets the command write straight to the project");
}

/* An overlay shows what lies below a mount point inside it, not what is mounted there, and may not be mounted at all. */
static int check_mounts(const char *root, const struct strs *mount_points, struct airlock_error *err)
{
	for (size_t i = 0; i < mount_points->n; i++) {
		const char *rest = path_rest(mount_points->v[i], root);
		if (!rest || !*rest)
			continue;
		char why[PATH_MAX + 64];
		(void)snprintf(why, sizeof why, "something else is mounted inside it, at %s", mount_points->v[i]);
		return cannot(root, why, err);
	}
	return 0;
}

static int check_root(const struct airlock_job *job, const char *root, struct airlock_error *err)
{
	struct stat st;
	if (stat(root, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "stat", root);
	if (!S_ISDIR(st.st_mode))
		return cannot(root, "it is not a directory", err);
	_cleanup_free_ char *state = realpath(job->host.state_dir, NULL);
	if (!state && !base_is_absent(errno))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "realpath", job->host.state_dir);
	const char *state_dir = state ? state : job->host.state_dir;
	if (path_is_beneath(state_dir, root) || path_is_beneath(root, state_dir))
		return cannot(root, "airlock's own state is in it; set XDG_STATE_HOME to another directory", err);
	return 0;
}

int layers_preflight(const struct airlock_job *job, const struct strs *mount_points, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_strs_ struct strs own = STRS_INIT;
	int rc = mount_points ? 0 : aliases_read_mounts(&text, &own, err);
	for (size_t i = 0; rc == 0 && i < job->plan->roots.n; i++)
		rc = check_root(job, job->plan->roots.v[i], err);
	mount_points = mount_points ? mount_points : &own;
	for (size_t i = 0; rc == 0 && i < job->plan->roots.n; i++)
		rc = check_mounts(job->plan->roots.v[i], mount_points, err);
	return rc;
}

/* The overlay's top directory shows the attributes of the upper one: make them those of the root. */
static void copy_attributes(const char *root, const char *upper)
{
	struct stat st;
	_cleanup_free_ char *names = malloc(XATTR_NAMES_MAX), *value = malloc(XATTR_VALUE_MAX);
	ssize_t n = names ? llistxattr(root, names, XATTR_NAMES_MAX) : -1;
	for (ssize_t at = 0; value && at < n; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;
		bool wanted = (strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0) ||
			      strncmp(name, "system.posix_acl_", 17) == 0;
		ssize_t len = wanted ? lgetxattr(root, name, value, XATTR_VALUE_MAX) : -1;
		if (len >= 0)
			(void)lsetxattr(upper, name, value, (size_t)len, 0);
	}
	if (lstat(root, &st) < 0)
		return;
	struct timespec times[2] = {st.st_atim, st.st_mtim};
	if (st.st_gid != getegid()) /* one of our groups, or it stays as it is */
		(void)lchown(upper, (uid_t)-1, st.st_gid);
	(void)chmod(upper, st.st_mode & 07777);
	(void)utimensat(AT_FDCWD, upper, times, AT_SYMLINK_NOFOLLOW);
}

/* below: the directory that the command sees where the layer has nothing: the root, or the topmost layer of a session. */
static int make_layer(struct run_layers *c, const char *root, const char *below, const char *run_dir, size_t number,
		      struct airlock_error *err)
{
	size_t at = c->paths.n;
	strs_add(&c->paths, root);
	strs_addf(&c->paths, "%s/upper/overlay%zu", run_dir, number);
	strs_addf(&c->paths, "%s/work/work%zu", run_dir, number);
	if (c->paths.failed)
		return base_oom(err);
	const char *upper = c->paths.v[at + 1], *work = c->paths.v[at + 2];
	int rc = fs_make_private_dir(upper, err);
	if (rc == 0)
		rc = fs_make_private_dir(work, err);
	if (rc == 0)
		rc = change_set_add_root(c->set, root, upper, err);
	if (rc < 0)
		return rc;
	copy_attributes(below, upper);
	struct stat st;
	if (stat(root, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "stat", root);
	(void)chmod(work, 0700);
	struct change_root *r = &c->set->roots[c->set->n_roots - 1];
	r->device = st.st_dev;
	r->inode = st.st_ino;
	if (stat(work, &st) == 0) /* changed just now: its ctime is the clock of the start */
		c->set->started_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	return 0;
}

/* The root that is the project, or that the project lies in, comes first whatever its name: paths are relative to it. The
 * others follow in the order of the plan. */
static const char *ordered_root(const struct airlock_job *job, size_t i)
{
	const struct strs *roots = &job->plan->roots;
	size_t own = 0;
	while (own < roots->n && !path_is_beneath(job->project->dir, roots->v[own]))
		own++;
	if (own == roots->n)
		return roots->v[i];
	return roots->v[i == 0 ? own : i <= own ? i - 1 : i];
}

/* ctime of the work directory, changed just now, is the clock that the layer's entries get theirs from. */
static int64_t layer_clock_ns(const struct run_layers *c)
{
	struct stat st;
	const char *work = c->paths.v[2];
	if (chmod(work, 0700) < 0 || stat(work, &st) < 0)
		return 0; /* then everything counts as touched, and is compared */
	return change_stat_of(&st).ctime_ns;
}

/* What was copied last has the time of now, and so has what the command may do next: they can be told apart from the next tick
 * of the file system's clock on, some milliseconds. Where the clock is coarser what is of the same tick is compared. */
static int64_t wait_for_tick(const struct run_layers *c)
{
	int64_t first = layer_clock_ns(c), now = first;
	for (int tries = 0; tries < 50 && now == first; tries++) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
		now = layer_clock_ns(c);
	}
	return now;
}

static void note_unread(struct run_layers *c)
{
	if (c->origins.unread > 0)
		NOTE(&c->notes, NOT_COPIED, .number = (int64_t)c->origins.unread, .subject = c->origins.unread_of);
}

/* Each layer becomes a whole copy of its root (change/scan/mirror.c). */
static int fill_mirrors(struct run_layers *c, const struct config *config, struct airlock_error *err)
{
	struct copy_limits limits = {.bytes = (uint64_t)config->copy_size, .entries = (uint64_t)config->copy_files};
	c->set->origins = &c->origins;
	for (size_t i = 0; i < c->set->n_roots; i++) {
		struct change_root *r = &c->set->roots[i];
		struct stat st;
		bool closed = stat(r->upper, &st) == 0 && (st.st_mode & 0700) != 0700;
		if (closed)
			(void)chmod(r->upper, (st.st_mode & 07777) | 0700);
		int rc = copy_take_mirror(r->path, r->upper, i, &limits, &c->origins, err);
		if (closed)
			(void)chmod(r->upper, st.st_mode & 07777);
		if (rc == AIRLOCK_ERR_LIMIT) { /* it grew since it was measured */
			struct copy_size size = {.bytes = c->origins.bytes, .entries = c->origins.n};
			base_error_clear(err);
			rc = copies_too_large(config, r->path, &size, err);
		}
		if (rc < 0) {
			base_hint(err, "--changes direct lets the command write straight to the project");
			return rc;
		}
		r->mirror = true;
		c->layers[i].work.text = "";
	}
	note_unread(c);
	c->set->mirrored_ns = wait_for_tick(c);
	return 0;
}

/* A disk may be full of them. */
static void remove_half_mirrors(const char *run_dir)
{
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	(void)fs_remove_tree_at(fd, "upper", NULL, NULL);
	(void)fs_remove_tree_at(fd, "work", NULL, NULL);
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec now = {0};
	(void)clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whoever edited a file after the clock had been set back gave it a time from before the run's start, which is how an
 * edit is known from an old file (I3). So the start moves back as far as the clock was: a file that was new when the run
 * began may then be taken for a conflict, an edit is never overlooked. A clock that only goes slower, by less than a
 * thousandth as the kernel lets it, still goes forward. */
static void allow_for_clock(struct run_layers *c)
{
	int64_t elapsed = clock_ns(CLOCK_BOOTTIME) - c->boot_ns;
	int64_t back = elapsed - (clock_ns(CLOCK_REALTIME) - c->real_ns);
	if (back <= elapsed / 1000 + 5000000)
		return;
	c->set->started_ns -= back;
	NOTE(&c->notes, CLOCK_BACK, .number = back / 1000000000);
}

int layers_begin(struct run_layers *c, const struct airlock_job *job, const char *run, const char *run_dir,
		 struct airlock_error *err)
{
	c->by_copy = copies_wanted(job);
	c->enabled = c->by_copy || layers_wanted(job);
	if (!c->enabled)
		return 0;
	const struct strs *roots = &job->plan->roots;
	c->real_ns = clock_ns(CLOCK_REALTIME);
	c->boot_ns = clock_ns(CLOCK_BOOTTIME);
	c->set = change_set_new(run);
	c->layers = calloc(roots->n + 1, sizeof *c->layers);
	if (!c->set || !c->layers)
		return base_oom(err);
	int rc = spare_check(run_dir, err);
	c->mirrored = job->mirrors;
	if (roots->n == 1 && !c->mirrored)
		empty_layers_take(job->host.state_dir, run_dir);
	for (size_t i = 0; rc == 0 && i < roots->n; i++) {
		const char *root = ordered_root(job, i);
		const struct strs *lowers = run_session_lowers(job, root);
		rc = make_layer(c, root, lowers && lowers->n ? lowers->v[0] : root, run_dir, i + 1, err);
	}
	for (size_t i = 0; rc == 0 && i < roots->n; i++) {
		const struct strs *lowers = run_session_lowers(job, c->paths.v[i * 3]);
		c->layers[i] =
			(struct child_layer){{c->paths.v[i * 3]}, {c->paths.v[i * 3 + 1]}, {c->paths.v[i * 3 + 2]}};
		if (lowers) {
			c->layers[i].lowers.v = (const char *const *)lowers->v;
			c->layers[i].n_lowers = lowers->n;
		}
	}
	c->n_layers = roots->n;
	if (rc == 0 && c->mirrored) {
		rc = fill_mirrors(c, job->config, err);
		if (rc < 0)
			remove_half_mirrors(run_dir);
	}
	if (rc == 0 && c->by_copy) {
		c->n_layers = 0; /* nothing is mounted */
		rc = copies_begin(c, job, run_dir, err);
	}
	return rc;
}

/* ── After ── */

static void discard_all(struct run_layers *c)
{
	for (size_t i = 0; i < c->set->n; i++)
		if (c->set->v[i].state == CHANGE_HELD)
			c->set->v[i].state = CHANGE_DISCARDED;
	c->discarded = true;
}

static int apply_all(struct run_layers *c, const struct airlock_job *job, const char *run_dir,
		     const struct gate_rules *rules)
{
	_cleanup_free_ char *journal = host_journal_dir(&job->host), *lock = host_lock_dir(&job->host);
	if (!journal || !lock)
		return base_oom(&c->error);
	struct apply_request request = {
		.set = c->set, .run_dir = run_dir, .journal_dir = journal, .lock_dir = lock, .rules = rules};
	int rc = backups_execute(&job->host, NULL, &request, &c->notes, &c->error);
	if (rc == AIRLOCK_ERR_CONFLICT) { /* told by the states; not a failure of the run */
		base_error_clear(&c->error);
		(void)change_set_wait(c->set, AIRLOCK_REASON_OTHER_CONFLICT);
	} else if (rc < 0) {
		(void)change_set_wait(c->set, AIRLOCK_REASON_NOT_APPLIED);
		base_hint(&c->error, "its changes are held; once this is fixed, run: airlock apply %s",
			  path_basename(run_dir));
	}
	return rc;
}

/* Why the changes of a run that did not end by itself stay where they are. */
static enum airlock_reason_code unfinished(const struct supervise_result *r)
{
	switch (r->status) {
	case AIRLOCK_TIMED_OUT:
		return AIRLOCK_REASON_TIMED_OUT;
	case AIRLOCK_SIGNALED:
		return AIRLOCK_REASON_KILLED;
	case AIRLOCK_FAILED:
		return r->error.code == AIRLOCK_ERR_CONFLICT ? AIRLOCK_REASON_ENDED : AIRLOCK_REASON_NOT_RUN;
	case AIRLOCK_EXITED:
	case AIRLOCK_RUNNING:
		break;
	}
	return AIRLOCK_REASON_NONE;
}

/* Half a list would be half a truth, and applied, a state nobody has seen. */
static void forget_half(struct run_layers *c, const char *run_dir)
{
	change_set_free(c->set);
	c->set = NULL;
	NOTE(&c->notes, CHANGES_UNREAD, .cause = c->error.message, .subject = run_dir);
}

static bool is_full(const struct airlock_error *why)
{
	return why->errnum == ENOSPC || why->errnum == EDQUOT;
}

/* A command of a session that holds its changes: they are decided about with the session. What could not become a step is a run of
 * its own, held like any other. */
static int make_step(struct run_layers *c, struct airlock_job *job, const char *run_dir,
		     const struct supervise_result *result)
{
	int rc = run_session_see_below(job, c, &c->error);
	if (rc == 0)
		rc = change_scan(c->set, &c->notes, &c->error);
	if (rc < 0) {
		forget_half(c, run_dir);
		return rc;
	}
	if (c->set->n == 0) {
		run_session_changed_nothing(job, run_dir);
		return 0;
	}
	rc = run_session_add_step(job, run_dir, result, c->set, &c->error);
	if (rc < 0 && is_full(&c->error)) {
		c->try_again = true;
		base_hint(&c->error, "once there is room, its changes become a step of session %s", job->work.name);
		return rc;
	}
	if (rc < 0) {
		c->set->part = CHANGE_PART_APART;
		base_hint(&c->error,
			  "its changes are held by themselves, and session %s does not show them: airlock changes %s",
			  job->work.name, path_basename(run_dir));
		return rc;
	}
	return 1;
}

/* Returns more than 0 when the record has been saved, too. */
static int decide(struct run_layers *c, struct airlock_job *job, const char *run_dir,
		  const struct supervise_result *result)
{
	struct gate_rules rules = {.hold = &job->config->gate_hold,
				   .allow = &job->config->gate_allow,
				   .home = job->host.home,
				   .environ = &job->host.git_env};
	enum policy_changes mode = job->config->policy.changes;
	if (run_session_holds(job))
		return make_step(c, job, run_dir, result);
	int rc = 0;
	if (job->work.name && job->work.holds) /* thrown away, but seen as the command saw it */
		rc = run_session_see_below(job, c, &c->error);
	rc = rc < 0 ? rc : change_scan(c->set, &c->notes, &c->error);
	if (rc == 0 && c->mirrored)
		rc = mirror_prune(c->set, &c->error);
	if (rc < 0 && !c->by_copy) {
		forget_half(c, run_dir);
		return rc;
	}
	if (rc == 0)
		rc = gate_judge(c->set, &rules, &c->error);
	if (c->by_copy) {
		bool stay = mode == POLICY_CHANGES_APPLY && !unfinished(result);
		rc = copies_settle(c, &job->host, run_dir, rc, stay);
		if (rc > 0)
			return 0;
		/* Now that they are in a layer, what kept the gate from reading can be opened up. */
		rc = rc < 0 ? rc : gate_judge(c->set, &rules, &c->error);
	}
	if (rc < 0 || c->set->n == 0)
		return rc < 0 ? rc : 0;
	if (mode == POLICY_CHANGES_DISCARD)
		discard_all(c);
	else if (unfinished(result))
		(void)change_set_wait(c->set, unfinished(result));
	else if (mode == POLICY_CHANGES_APPLY)
		return apply_all(c, job, run_dir, &rules);
	return 0;
}

/* A run that changed nothing leaves no layer; and the kernel's own directory, which has no permissions at all and would
 * keep a person from removing ours, goes in any case. */
static void remove_leftovers(const char *state_dir, const char *run_dir, bool changed_nothing, bool reusable)
{
	if (changed_nothing && reusable && empty_layers_give(state_dir, run_dir))
		return;
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	(void)fs_remove_tree_at(fd, "work", NULL, NULL);
	if (changed_nothing)
		(void)fs_remove_tree_at(fd, "upper", NULL, NULL);
}

/* A run that wrote straight to the project is a run all the same, and found as one. */
static void record_direct(const struct airlock_job *job, const char *run_dir, int prepared)
{
	_cleanup_close_ int unused = prepared;
	_cleanup_changes_ struct change_set *set = change_set_new(path_basename(run_dir));
	_cleanup_free_ char *record = path_join(run_dir, "changes"), *upper = path_join(run_dir, "upper");
	int rc = set && record && upper ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < job->plan->roots.n; i++)
		rc = change_set_add_root(set, ordered_root(job, i), upper, NULL);
	if (rc < 0)
		return;
	set->direct = true;
	(void)change_set_save_first(set, record, TAKE_FD(unused), NULL);
}

/* An apply writes the record before it begins, so that it can be recovered: then what is held can be found. Without memory,
 * which may be what there is none of. */
static bool has_record(const char *run_dir)
{
	char record[PATH_MAX];
	int n = snprintf(record, sizeof record, "%s/changes", run_dir);
	return n > 0 && (size_t)n < sizeof record && access(record, F_OK) == 0;
}

/* Held changes without a record cannot be found again: nobody is told to apply them. What could not be applied has such a
 * hint already. */
static void give_up_held(struct run_layers *c, const char *run_dir, const struct airlock_error *why)
{
	size_t lost = 0;
	for (size_t i = 0; i < c->set->n; i++) {
		struct change *ch = &c->set->v[i];
		if (ch->state != CHANGE_HELD && ch->state != CHANGE_CONFLICT)
			continue;
		ch->state = CHANGE_DISCARDED;
		(void)change_reason_set(
			ch, &(struct airlock_reason){.code = AIRLOCK_REASON_NOT_KEPT, .what = why->message});
		lost++;
	}
	if (lost == 0)
		return;
	c->try_again = true;
	NOTE(&c->notes, CHANGES_NOT_KEPT, .cause = why->message, .subject = run_dir);
	c->error.hint[0] = '\0';
	base_hint(
		&c->error,
		"the changes could not be recorded: the project does not have them, and they cannot be applied now; once this is fixed, `airlock log` finds them%s%s%s",
		c->notes.failed ? "; what it wrote is in " : "", c->notes.failed ? run_dir : "",
		c->notes.failed ? "/upper until then" : "");
}

static bool save_record(struct run_layers *c, const struct airlock_job *job, const char *run_dir, int prepared)
{
	_cleanup_close_ int unused = prepared;
	struct airlock_error why = {0};
	_cleanup_free_ char *record = path_join(run_dir, "changes");
	int rc = record ? change_set_save_first(c->set, record, TAKE_FD(unused), &why) : base_oom(&why);
	if (rc < 0 && is_full(&why) && spare_spend(job->host.state_dir)) {
		base_error_clear(&why);
		rc = change_set_save(c->set, record, &why);
	}
	if (rc < 0)
		base_pass(&c->error, &why);
	if (rc < 0 && !has_record(run_dir))
		give_up_held(c, run_dir, &why);
	return rc == 0;
}

void layers_end(struct run_layers *c, struct airlock_job *job, const char *run_dir,
		const struct supervise_result *result, int prepared)
{
	_cleanup_close_ int unused = prepared;
	if (!c->enabled) {
		record_direct(job, run_dir, TAKE_FD(unused));
		return;
	}
	allow_for_clock(c);
	c->recorded = decide(c, job, run_dir, result) > 0;
	if (!c->unsettled && !c->recorded && !c->try_again)
		c->recorded = c->set && save_record(c, job, run_dir, TAKE_FD(unused));
	struct airlock_error why = {0};
	if (job->work.name && !job->work.holds && run_session_note_step(job, run_dir, result, c->set, &why) < 0)
		NOTE(&c->notes, STEP_NOT_TOLD, .subject = job->work.name, .cause = why.message);
}

void layers_tidy(struct run_layers *c, const struct airlock_job *job, const char *run_dir)
{
	if (c->enabled && !c->unsettled)
		remove_leftovers(job->host.state_dir, run_dir, c->recorded && c->set->n == 0 && c->error.code == 0,
				 !c->mirrored);
}

void layers_done(struct run_layers *c)
{
	change_set_free(c->set);
	strs_done(&c->paths);
	notes_done(&c->notes);
	free(c->layers);
	copy_origins_done(&c->origins);
	lock_release(&c->lock);
	*c = (struct run_layers){0};
}

enum airlock_changes_state layers_state(const struct run_layers *c)
{
	if (!c->enabled)
		return AIRLOCK_CHANGES_DIRECT;
	return c->set ? change_set_state(c->set) : AIRLOCK_CHANGES_NONE;
}
