/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All layers of a session as one run, and what is left of them once some of it was decided. */
#include "session/session_parts.h"

#include "base/hash.h"
#include "base/path.h"
#include "change/fold/fold.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the directory of a whole run: its files are links into the layers, so it can only be looked at. */
#define LINKED "linked"
/* In the directory of a session: the record of the run that is decided about, as it was. */
#define BEFORE "before"

static char *run_path(const struct host *host, const char *run)
{
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs");
	return runs ? path_join(runs, run) : NULL;
}

static bool is_linked(const char *run_dir)
{
	_cleanup_free_ char *mark = path_join(run_dir, LINKED);
	return mark && access(mark, F_OK) == 0;
}

static void remove_dir(const char *dir)
{
	_cleanup_free_ char *parent = path_dirname(dir);
	_cleanup_close_ int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	if (fd >= 0)
		(void)fs_remove_tree_at(fd, path_basename(dir), NULL, NULL);
}

/* s->dir is <state>/sessions/<key>/<name>. */
char *session_runs_dir(const struct session *s)
{
	_cleanup_free_ char *key = path_dirname(s->dir), *sessions = key ? path_dirname(key) : NULL;
	_cleanup_free_ char *state = sessions ? path_dirname(sessions) : NULL;
	return state ? path_join(state, "runs") : NULL;
}

void session_forget_whole(struct session *s)
{
	_cleanup_free_ char *runs = session_runs_dir(s);
	_cleanup_free_ char *dir = runs && s->whole ? path_join(runs, s->whole) : NULL;
	if (dir && is_linked(dir)) /* nothing was decided in it */
		strs_take(&s->stale, TAKE_PTR(dir));
	base_freep(&s->whole);
	s->settled = 0;
	s->held_stamp = 0;
}

/* A layer that is not removed now, for lack of memory or because we were killed, is found by gc. */
void session_remove_stale(struct session *s)
{
	for (size_t i = 0; i < s->stale.n; i++)
		remove_dir(s->stale.v[i]);
	strs_done(&s->stale);
	s->stale = (struct strs)STRS_INIT;
}

/* ── Making it ── */

static int add_roots(struct change_set *set, const struct session_layer *l, const struct fold_bases *bases,
		     struct airlock_error *err)
{
	for (size_t i = 0; i < l->roots.n; i++) {
		const struct fold_root *base = NULL;
		for (size_t k = 0; k < bases->n_roots; k++)
			if (strcmp(bases->roots[k].path, l->roots.v[i]) == 0)
				base = &bases->roots[k];
		if (!base)
			return base_error(err, AIRLOCK_ERR_CORRUPT, "session", l->roots.v[i],
					  "no record says what %s was when the session began", l->roots.v[i]);
		if (change_set_take_root(set, strdup(l->roots.v[i]), strdup(l->uppers.v[i]), base->device,
					 base->inode) < 0)
			return base_oom(err);
	}
	return 0;
}

static int mark_linked(const char *run_dir, struct airlock_error *err)
{
	_cleanup_free_ char *mark = path_join(run_dir, LINKED);
	return mark ? fs_create_private_file(mark, "", 0, err) : base_oom(err);
}

static int build(const struct session *s, const char *run, const char *dir, const struct gate_rules *rules,
		 enum fold_files how, struct airlock_error *err)
{
	_cleanup_bases_ struct fold_bases bases = FOLD_BASES_INIT;
	_cleanup_changes_ struct change_set *set = change_set_new(run);
	_cleanup_free_ char *record = path_join(dir, "changes");
	struct session_layer merged = {0};
	int rc = set && record && (set->session = strdup(s->name)) ? 0 : base_oom(err);
	if (rc == 0) {
		set->part = CHANGE_PART_WHOLE;
		rc = session_load_bases(s, 0, s->n_layers, &bases, err);
	}
	if (rc == 0 && how == FOLD_LINK)
		rc = mark_linked(dir, err);
	if (rc == 0)
		rc = session_merge_layers(s, 0, s->n_layers, dir, how, &merged, err);
	if (rc == 0)
		rc = add_roots(set, &merged, &bases, err);
	session_layer_done(&merged);
	if (rc == 0) {
		set->started_ns = bases.started_ns;
		rc = change_scan(set, NULL, err);
	}
	if (rc == 0)
		rc = fold_rebase(set, &bases, err);
	if (rc == 0)
		rc = gate_judge(set, rules, err);
	return rc < 0 ? rc : change_set_save(set, record, err);
}

/* The same run with files of its own, under the same id: a person may have been asked about it. Without its record it would be made
 * anew, so that goes first. */
static int copy_files(const struct session *s, const char *dir, const struct gate_rules *rules,
		      struct airlock_error *err)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || unlinkat(fd, "changes", 0) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", dir);
	int rc = fs_remove_tree_at(fd, "upper", NULL, err);
	if (rc == 0)
		rc = build(s, s->whole, dir, rules, FOLD_COPY, err);
	if (rc == 0 && unlinkat(fd, LINKED, 0) < 0)
		rc = base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", dir);
	return rc;
}

int session_whole(struct session *s, const struct host *host, const struct gate_rules *rules, bool for_good,
		  char **ret_run, struct airlock_error *err)
{
	*ret_run = NULL;
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs"),
			    *old = s->whole ? run_path(host, s->whole) : NULL;
	_cleanup_free_ char *record = old ? path_join(old, "changes") : NULL;
	if (!runs || (s->whole && !record))
		return base_oom(err);
	if (record && access(record, F_OK) == 0) {
		int rc = for_good && is_linked(old) ? copy_files(s, old, rules, err) : 0;
		if (rc < 0)
			return rc;
		*ret_run = strdup(s->whole);
		return *ret_run ? 0 : base_oom(err);
	}
	session_forget_whole(s);
	if (s->n_layers == 0)
		return 0;
	char id[48];
	_cleanup_free_ char *dir = NULL;
	_cleanup_close_ int making = -EBADF;
	int rc = fs_make_private_dir(runs, err);
	if (rc == 0)
		rc = session_claim_run(runs, id, sizeof id, &dir, &making, err);
	if (rc < 0)
		return rc;
	rc = build(s, id, dir, rules, for_good ? FOLD_COPY : FOLD_LINK, err);
	if (rc < 0) {
		remove_dir(dir);
		return rc;
	}
	s->whole = strdup(id);
	*ret_run = strdup(id);
	return s->whole && *ret_run ? session_save(s, err) : base_oom(err);
}

/* ── How many changes wait ── */

/* When the record of the whole was written; 0: there is none. Every decision writes it anew. */
static int64_t whole_stamp(const struct session *s, const struct host *host)
{
	_cleanup_free_ char *dir = s->whole ? run_path(host, s->whole) : NULL,
			    *record = dir ? path_join(dir, "changes") : NULL;
	struct stat st;
	return record && stat(record, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

bool session_known_held(const struct session *s, const struct host *host, uint64_t *ret)
{
	*ret = s->n_layers == 0 ? 0 : s->held;
	return s->n_layers == 0 || (s->held_stamp && !s->deciding && s->held_stamp == whole_stamp(s, host));
}

int session_remember_held(struct session *s, const struct host *host, uint64_t held, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(s->dir, SESSION_RECORD);
	uint64_t known = 0;
	if (session_known_held(s, host, &known) && known == held)
		return 0;
	s->held = held;
	s->held_stamp = whole_stamp(s, host);
	int rc = !file ? base_oom(err) : s->held_stamp ? session_save(s, err) : 0;
	const struct timespec used = {s->used_ns / 1000000000, s->used_ns % 1000000000};
	if (rc == 0)
		(void)utimensat(AT_FDCWD, file, (const struct timespec[]){used, used}, AT_SYMLINK_NOFOLLOW);
	return rc;
}

/* ── What is left ── */

static bool is_decided(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_APPLIED || set->v[i].state == CHANGE_DISCARDED || set->v[i].undone)
			return true;
	return false;
}

static bool is_applied(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_APPLIED)
			return true;
	return false;
}

/* Which layers it was made of, and what is left of it takes the place of: all where it is the whole of now, else the rest it left
 * before, or none. */
static void find_replaced(const struct session *s, const char *run, size_t *ret_n)
{
	bool is_rest = s->n_layers > 0 && s->layers[0].of && strcmp(s->layers[0].of, run) == 0;
	*ret_n = s->whole && strcmp(s->whole, run) == 0 ? s->n_layers : is_rest ? 1 : 0;
}

static int make_rest(const struct session *s, const struct host *host, const struct change_set *set, size_t replaced,
		     struct session_layer *ret, struct airlock_error *err)
{
	_cleanup_bases_ struct fold_bases bases = FOLD_BASES_INIT;
	int rc = session_make_layer_dir(host, &ret->dir, err);
	int count = rc < 0 ? rc : fold_rest(set, ret->dir, err);
	if (count <= 0) {
		if (ret->dir)
			remove_dir(ret->dir);
		return count;
	}
	rc = session_load_bases(s, 0, replaced, &bases, err);
	if (rc == 0)
		rc = fold_bases_keep(&bases, set, ret->dir, err);
	ret->of = strdup(set->run);
	for (size_t i = 0; i < set->n_roots; i++) {
		strs_add(&ret->roots, set->roots[i].path);
		strs_take(&ret->uppers, fold_upper_path(ret->dir, i));
	}
	ret->bytes = session_uppers_bytes(&ret->uppers);
	if (rc == 0 && (!ret->of || ret->roots.failed || ret->uppers.failed))
		rc = base_oom(err);
	return rc < 0 ? rc : count;
}

/* Of a run of the past that is not the whole of now only what is undone just now comes back to the session. The rest of it was decided
 * in a later run or waits there, unless the session still has it as what this very run left. So the record of before is kept, as
 * another name of its file: records are replaced and never written to. */
static int leave_out_past(const struct session *s, bool is_rest, struct change_set *set, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(s->dir, BEFORE);
	_cleanup_changes_ struct change_set *before = NULL;
	_cleanup_bases_ struct fold_bases rest = FOLD_BASES_INIT;
	int rc = file ? change_set_load(file, &before, err) : base_oom(err);
	if (rc == 0)
		rc = session_load_bases(s, 0, is_rest ? 1 : 0, &rest, err);
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		struct change *c = &set->v[i];
		const struct change *was = change_set_find(before, c->root, c->path);
		bool comes_back = was && was->state == CHANGE_APPLIED;
		if (!comes_back && !fold_bases_find(&rest, set->roots[c->root].path, c->path) &&
		    (c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT))
			c->state = CHANGE_SKIPPED;
	}
	return rc;
}

/* The whole of now is looked at each time anyway. */
int session_begin_deciding(struct session *s, const char *run, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(s->dir, BEFORE), *runs = session_runs_dir(s);
	_cleanup_free_ char *dir = runs ? path_join(runs, run) : NULL, *record = dir ? path_join(dir, "changes") : NULL;
	if (s->whole && strcmp(s->whole, run) == 0)
		return 0;
	if (!file || !record)
		return base_oom(err);
	if ((unlink(file) < 0 && errno != ENOENT) || link(record, file) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "link", file);
	free(s->deciding);
	s->deciding = strdup(run);
	return s->deciding ? session_save(s, err) : base_oom(err);
}

int session_finish_deciding(struct session *s, const struct host *host, struct airlock_error *err)
{
	_cleanup_free_ char *run = TAKE_PTR(s->deciding);
	int rc = s->whole ? session_settle(s, host, s->whole, err) : 0;
	if (rc < 0 || !run)
		return rc;
	rc = session_settle(s, host, run, err);
	return rc < 0 ? rc : session_save(s, err); /* it may have had nothing to settle */
}

static uint64_t sum_of(const char *file)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	return fs_read_file(file, SIZE_MAX / 2, &text, NULL) < 0 ? 0 : hash_checksum(buf_str(&text), text.len);
}

/* By its own changes: of the session's some may have been applied and others thrown away. */
static enum session_step_state what_became_of(const struct session *s, const struct session_step *step,
					      struct change_set *decided)
{
	_cleanup_changes_ struct change_set *own = NULL;
	_cleanup_free_ char *runs = session_runs_dir(s), *dir = runs ? path_join(runs, step->run) : NULL;
	_cleanup_free_ char *record = dir ? path_join(dir, "changes") : NULL;
	bool has_discarded = false;
	if (!record || change_set_load(record, &own, NULL) < 0)
		return SESSION_STEP_DECIDED;
	for (size_t i = 0; i < own->n; i++)
		for (size_t root = 0; root < decided->n_roots; root++) {
			if (strcmp(decided->roots[root].path, own->roots[own->v[i].root].path) != 0)
				continue;
			const struct change *c = change_set_find(decided, root, own->v[i].path);
			if (c && c->state != CHANGE_DISCARDED)
				return SESSION_STEP_DECIDED;
			has_discarded |= c != NULL;
		}
	return has_discarded ? SESSION_STEP_DISCARDED : SESSION_STEP_DECIDED;
}

int session_settle(struct session *s, const struct host *host, const char *run, struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *dir = run_path(host, run), *record = dir ? path_join(dir, "changes") : NULL;
	size_t replaced = 0;
	struct airlock_error why = {0};
	bool is_whole = s->whole && strcmp(s->whole, run) == 0;
	uint64_t sum = record && is_whole ? sum_of(record) : 0;
	if (sum && sum == s->settled)
		return 0;
	int rc = record ? change_set_load(record, &set, &why) : base_oom(err);
	if (rc == AIRLOCK_ERR_NOT_FOUND && is_whole)
		return 0; /* killed while it was made: nothing was decided in it, and it is made anew */
	if (rc < 0)
		return record ? base_pass(err, &why) : rc;
	if (is_whole && !s->settled && !is_decided(set)) /* nobody has decided about it yet */
		return 0;
	find_replaced(s, run, &replaced);
	struct session_layer rest = {.first = s->n_layers && replaced ? s->layers[0].first : 0,
				     .last = replaced ? s->layers[replaced - 1].last : 0};
	uint64_t from = rest.first, upto = rest.last;
	if (!is_whole)
		rc = leave_out_past(s, replaced > 0, set, err);
	if (rc < 0)
		return rc;
	base_freep(&s->deciding);
	int count = make_rest(s, host, set, replaced, &rest, err);
	if (count < 0) {
		session_layer_done(&rest);
		return count;
	}
	/* A command that runs now was made on what was there; it goes on top of what is left, unless something was thrown away. */
	for (size_t i = 0; i < set->n && s->n_layers; i++)
		if (set->v[i].state == CHANGE_DISCARDED) {
			s->turns++;
			break;
		}
	for (size_t i = 0; i < replaced; i++)
		session_layer_done(&s->layers[i]);
	if (replaced > 0)
		memmove(s->layers, s->layers + replaced, (s->n_layers - replaced) * sizeof *s->layers);
	s->n_layers -= replaced;
	if (count > 0) {
		if (!session_push_layer(s)) {
			session_layer_done(&rest);
			return base_oom(err);
		}
		memmove(s->layers + 1, s->layers, (s->n_layers - 1) * sizeof *s->layers);
		s->layers[0] = rest;
	} else
		session_layer_done(&rest);
	for (size_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].number <= upto &&
		    (s->steps[i].number >= from || s->steps[i].state == SESSION_STEP_HELD))
			s->steps[i].state = what_became_of(s, &s->steps[i], set);
	if (s->whole && strcmp(s->whole, run) != 0) /* it was made of other layers */
		session_forget_whole(s);
	if (is_whole)
		s->settled = sum;
	bool is_new = is_applied(set) && !strs_has(&s->applies, run);
	if (is_new)
		strs_add(&s->applies, run);
	return s->applies.failed ? base_oom(err) : session_save(s, err);
}
