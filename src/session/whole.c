/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All layers of a session as one run, and what is left of them once some of it was decided. */
#include "session/session_parts.h"

#include "base/path.h"
#include "change/fold/fold.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* In the directory of a whole run: its files are links into the layers, so it can only be looked at. */
#define LINKED "linked"

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
void session_forget_whole(struct session *s)
{
	_cleanup_free_ char *key = path_dirname(s->dir), *sessions = key ? path_dirname(key) : NULL;
	_cleanup_free_ char *state = sessions ? path_dirname(sessions) : NULL;
	_cleanup_free_ char *runs = state ? path_join(state, "runs") : NULL;
	_cleanup_free_ char *dir = runs && s->whole ? path_join(runs, s->whole) : NULL;
	if (dir && is_linked(dir)) /* nothing was decided in it */
		remove_dir(dir);
	base_freep(&s->whole);
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
	if (rc == 0 && (!ret->of || ret->roots.failed || ret->uppers.failed))
		rc = base_oom(err);
	return rc < 0 ? rc : count;
}

int session_settle(struct session *s, const struct host *host, const char *run, struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *dir = run_path(host, run), *record = dir ? path_join(dir, "changes") : NULL;
	size_t replaced = 0;
	int rc = record ? change_set_load(record, &set, err) : base_oom(err);
	if (rc < 0 || !is_decided(set))
		return rc;
	find_replaced(s, run, &replaced);
	struct session_layer rest = {.first = s->n_layers && replaced ? s->layers[0].first : 0,
				     .last = replaced ? s->layers[replaced - 1].last : 0};
	uint64_t upto = rest.last;
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
		if (s->steps[i].number <= upto)
			s->steps[i].state = SESSION_STEP_DECIDED;
	if (s->whole && strcmp(s->whole, run) != 0) /* it was made of other layers */
		session_forget_whole(s);
	bool is_new = is_applied(set) && !strs_has(&s->applies, run);
	if (is_new)
		strs_add(&s->applies, run);
	return s->applies.failed ? base_oom(err) : session_save(s, err);
}
