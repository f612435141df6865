/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that are still running: what one has changed so far, as a step.
 *
 * An agent works for hours. Whoever looks at its session meanwhile sees its layer as it is at this moment: a checkpoint, a step that
 * is made when somebody asks and replaced by the next one, and by the command's own step when it has ended. To look, its files are links into
 * the layer; to apply, copies, because the command goes on writing. What was applied is the project's then, and the scan at the
 * end finds no change there.
 *
 * The layer of a command is its whole difference to what lay below it when it began. So, where only checkpoints of the same command came
 * since and nothing lay below, the newest one takes the place of all layers: a file that the command has removed again must not
 * come back from an older one.
 */
#include "session/session_parts.h"

#include "base/error.h"
#include "base/path.h"
#include "change/fold/fold.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "history/begun.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char *run_path(const struct host *host, const char *run)
{
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs");
	return runs ? path_join(runs, run) : NULL;
}

bool session_is_checkpoint(const struct host *host, const char *step_run, const char *run)
{
	_cleanup_free_ char *dir = run_path(host, step_run), *file = dir ? path_join(dir, SESSION_CHECKPOINT) : NULL;
	_cleanup_buf_ struct buf of = BUF_INIT;
	return file && fs_read_file(file, 256, &of, NULL) == 0 && strcmp(buf_str(&of), run) == 0;
}

/* ── Replacing ── */

static bool is_last_layer_of(const struct session *s, const struct session_step *step)
{
	const struct session_layer *l = s->n_layers ? &s->layers[s->n_layers - 1] : NULL;
	return l && !l->of && l->first == step->number && l->last == step->number;
}

static bool came_only_from(const struct session *s, const struct host *host, const struct session_begun *begun,
			   const char *run)
{
	for (size_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].number > begun->last_step && !session_is_checkpoint(host, s->steps[i].run, run))
			return false;
	return !begun->had_layers;
}

bool session_drop_checkpoints(struct session *s, const struct host *host, const struct session_begun *begun,
			      const char *run)
{
	bool has_own = false;
	for (size_t i = 0; i < s->n_steps; i++)
		has_own |= s->steps[i].number > begun->last_step && session_is_checkpoint(host, s->steps[i].run, run);
	if (!has_own)
		return false;
	while (s->n_steps > 0) {
		const struct session_step *last = &s->steps[s->n_steps - 1];
		if (last->state != SESSION_STEP_HELD || !session_is_checkpoint(host, last->run, run) ||
		    !is_last_layer_of(s, last))
			break;
		session_keep_steps(s, s->n_steps - 1);
		session_keep_layers(s, s->n_layers - 1);
	}
	if (came_only_from(s, host, begun, run))
		session_keep_layers(s, 0);
	session_forget_whole(s);
	return true;
}

/* ── What the session itself has applied ── */

/* The record of an apply is written when all of it is in the project: what is older than that and was applied is our own. */
static void mark_own(struct change_set *set, const struct change_set *applied, int64_t applied_ns)
{
	for (size_t i = 0; i < set->n; i++) {
		struct change *c = &set->v[i];
		struct stat st;
		const struct change *a = NULL;
		for (size_t k = 0; k < applied->n && !a; k++)
			if (applied->v[k].state == CHANGE_APPLIED && strcmp(applied->v[k].path, c->path) == 0 &&
			    strcmp(applied->roots[applied->v[k].root].path, set->roots[c->root].path) == 0)
				a = &applied->v[k];
		_cleanup_close_ int root =
			a ? open(set->roots[c->root].path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
		if (root >= 0 && fs_stat_beneath(root, c->path, &st) == 0 &&
		    (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec <= applied_ns)
			c->settled = true;
	}
}

void session_mark_applied(const struct session *s, const struct host *host, struct change_set *set)
{
	for (size_t i = 0; i < s->applies.n; i++) {
		_cleanup_changes_ struct change_set *applied = NULL;
		_cleanup_free_ char *dir = run_path(host, s->applies.v[i]),
				    *record = dir ? path_join(dir, "changes") : NULL;
		struct stat st;
		if (record && stat(record, &st) == 0 && change_set_load(record, &applied, NULL) == 0)
			mark_own(set, applied, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	}
}

/* ── Making one ── */

static bool is_running(const struct host *host, const char *run)
{
	_cleanup_free_ char *record = begun_path(host, run);
	_cleanup_close_ int fd = record ? open(record, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void add_lowers(const struct begun *b, const char *root, struct strs *ret)
{
	for (size_t k = 0; k < b->lowers.n; k++)
		if (strcmp(b->lower_roots.v[k], root) == 0)
			strs_add(ret, b->lowers.v[k]);
}

static int see_below(const struct begun *b, struct change_root *root, struct airlock_error *err)
{
	_cleanup_strs_ struct strs lowers = STRS_INIT;
	add_lowers(b, root->path, &lowers);
	if (lowers.failed)
		return base_oom(err);
	int fd = lowers.n ? session_view(&lowers, root->path, -EBADF) : 0;
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, fd, "see the session's layers over", root->path);
	root->below_fd = fd;
	return 0;
}

/* The layers as they are now, below dir. */
static int take_layers(const struct begun *b, const char *dir, enum fold_files how, struct change_set *set,
		       struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < b->set->n_roots; i++) {
		const struct change_root *root = &b->set->roots[i];
		_cleanup_free_ char *upper = fold_upper_path(dir, i);
		_cleanup_strs_ struct strs below = STRS_INIT;
		strs_add(&below, root->path);
		add_lowers(b, root->path, &below);
		rc = upper && !below.failed ? fs_make_private_dir(upper, err) : base_oom(err);
		if (rc == 0)
			rc = fold_layer(upper, root->upper, how, &below, err);
		if (rc == 0 &&
		    change_set_take_root(set, strdup(root->path), strdup(upper), root->device, root->inode) < 0)
			rc = base_oom(err);
		if (rc == 0)
			rc = see_below(b, &set->roots[set->n_roots - 1], err);
	}
	set->started_ns = b->set->started_ns;
	return rc;
}

static int record_step(struct session *s, const struct host *host, const struct begun *b, const char *dir,
		       struct change_set *set, struct airlock_error *err)
{
	_cleanup_free_ char *record = path_join(dir, "changes"), *mark = path_join(dir, SESSION_CHECKPOINT);
	const struct session_command command = {.run = path_basename(dir), .run_dir = dir, .command = b->command};
	set->part = CHANGE_PART_STEP;
	if (!record || !mark || !(set->session = strdup(s->name)))
		return base_oom(err);
	session_mark_applied(s, host, set);
	int rc = fs_create_private_file(mark, b->run, strlen(b->run), err);
	if (rc == 0)
		rc = fold_bases_write(set, dir, err);
	if (rc == 0)
		rc = change_set_save(set, record, err);
	return rc < 0 ? rc : session_append_step(s, &command, set, err);
}

static void remove_dir(const char *dir)
{
	_cleanup_free_ char *parent = path_dirname(dir);
	_cleanup_close_ int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	if (fd >= 0)
		(void)fs_remove_tree_at(fd, path_basename(dir), NULL, NULL);
}

static int take_checkpoint(struct session *s, const struct host *host, const struct begun *b, enum fold_files how,
			   struct airlock_error *err)
{
	char id[48];
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs"), *dir = NULL;
	_cleanup_close_ int making = -EBADF;
	_cleanup_changes_ struct change_set *set = NULL;
	const struct session_begun begun = {b->turns, b->last_step, b->lowers.n > 0};
	if (s->turns != b->turns) /* it will stand apart when it ends */
		return 0;
	int rc = runs ? session_claim_run(runs, id, sizeof id, &dir, &making, err) : base_oom(err);
	if (rc < 0)
		return rc;
	set = change_set_new(id);
	rc = set ? take_layers(b, dir, how, set, err) : base_oom(err);
	if (rc == 0)
		rc = change_scan(set, NULL, err);
	bool is_dropped = rc == 0 && session_drop_checkpoints(s, host, &begun, b->run);
	if (rc == 0 && set->n > 0)
		rc = record_step(s, host, b, dir, set, err);
	else if (rc == 0 && is_dropped)
		rc = session_save(s, err);
	if (rc < 0 || set->n == 0)
		remove_dir(dir);
	return rc;
}

static bool is_ours(const struct session *s, const struct host *host, const char *run, struct begun *ret)
{
	return is_running(host, run) && begun_load(host, run, ret, NULL) == 0 && ret->session && !ret->mirrored &&
	       strcmp(ret->session, s->name) == 0 && strcmp(ret->project, s->project) == 0;
}

int session_checkpoint(struct session *s, const struct host *host, bool for_good, struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	int rc = s->holds ? begun_list(host, &runs, err) : 0;
	for (size_t i = 0; rc == 0 && i < runs.n; i++) {
		_cleanup_begun_ struct begun b = BEGUN_INIT;
		if (is_ours(s, host, runs.v[i], &b))
			rc = take_checkpoint(s, host, &b, for_good ? FOLD_COPY : FOLD_LINK, err);
	}
	return rc;
}

bool session_is_running(const struct session *s, const struct host *host, char **ret_command)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	if (!s->holds || begun_list(host, &runs, NULL) < 0)
		return false;
	for (size_t i = 0; i < runs.n; i++) {
		_cleanup_begun_ struct begun b = BEGUN_INIT;
		if (!is_ours(s, host, runs.v[i], &b))
			continue;
		if (ret_command)
			*ret_command = strdup(b.command);
		return true;
	}
	return false;
}

int session_end_checkpoints(const struct session_place *at, const char *name, const struct session_begun *begun,
			    const char *run, struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	int rc = session_open(&s, at, name, SESSION_LOCK, err);
	if (rc < 0 || !session_drop_checkpoints(&s, at->host, begun, run))
		return rc;
	return session_save(&s, err);
}
