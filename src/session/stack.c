/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layers of a session: what a command sees below its own, and several as one. */
#include "session/session_parts.h"

#include "base/path.h"
#include "change/fold/fold.h"
#include "fs/fs.h"
#include "history/run_id.h"
#include "sys/overlay_view.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

void session_lowers(const struct session *s, const char *root, struct strs *ret)
{
	for (size_t i = s->n_layers; i > 0; i--) {
		const struct session_layer *l = &s->layers[i - 1];
		for (size_t k = 0; k < l->roots.n; k++)
			if (strcmp(l->roots.v[k], root) == 0)
				strs_add(ret, l->uppers.v[k]);
	}
}

int session_view(const struct strs *lowers, const char *root, int user_ns)
{
	_cleanup_free_ const char **dirs = calloc(lowers->n + 1, sizeof *dirs);
	if (!dirs)
		return -ENOMEM;
	for (size_t i = 0; i < lowers->n; i++)
		dirs[i] = lowers->v[i];
	dirs[lowers->n] = root;
	return sys_overlay_view(dirs, lowers->n + 1, user_ns);
}

int session_make_layer_dir(const struct host *host, char **ret, struct airlock_error *err)
{
	char id[48];
	_cleanup_free_ char *layers = path_join(host->state_dir, LAYERS_DIR);
	int rc = layers ? fs_make_private_dir(layers, err) : base_oom(err);
	return rc < 0 ? rc : run_id_claim(layers, id, sizeof id, ret, err);
}

int session_claim_run(const char *runs, char *id, size_t size, char **ret_dir, int *ret_lock, struct airlock_error *err)
{
	int rc = run_id_claim(runs, id, size, ret_dir, err);
	if (rc < 0)
		return rc;
	*ret_lock = open(*ret_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_lock < 0 || flock(*ret_lock, LOCK_EX | LOCK_NB) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "lock", *ret_dir);
	return 0;
}

static bool is_checkpoint(const char *dir)
{
	_cleanup_free_ char *mark = path_join(dir, SESSION_CHECKPOINT);
	return mark && access(mark, F_OK) == 0;
}

int session_put_layer(struct session *s, const char *dir, const struct change_set *set, uint64_t first, uint64_t last,
		      const char *of, struct airlock_error *err)
{
	struct session_layer *l = session_push_layer(s);
	if (!l)
		return base_oom(err);
	*l = (struct session_layer){.first = first, .last = last, .dir = strdup(dir), .of = of ? strdup(of) : NULL};
	for (size_t i = 0; i < set->n_roots; i++) {
		strs_add(&l->roots, set->roots[i].path);
		strs_add(&l->uppers, set->roots[i].upper);
	}
	if (!is_checkpoint(dir)) /* whose files are counted with the layer of the running command */
		l->bytes = session_uppers_bytes(&l->uppers);
	return l->dir && (!of || l->of) && !l->roots.failed && !l->uppers.failed ? 0 : base_oom(err);
}

/* ── Several as one ── */

/* The roots of these layers, and a layer for each below dir. */
static int collect_roots(const struct session *s, size_t from, size_t to, const char *dir, struct session_layer *ret,
			 struct airlock_error *err)
{
	for (size_t i = from; i < to; i++)
		for (size_t k = 0; k < s->layers[i].roots.n; k++)
			if (!strs_has(&ret->roots, s->layers[i].roots.v[k]))
				strs_add(&ret->roots, s->layers[i].roots.v[k]);
	for (size_t i = 0; i < ret->roots.n; i++) {
		_cleanup_free_ char *upper = fold_upper_path(dir, i);
		int rc = upper ? fs_make_private_dir(upper, err) : base_oom(err);
		if (rc < 0)
			return rc;
		strs_add(&ret->uppers, upper);
	}
	return ret->roots.failed || ret->uppers.failed ? base_oom(err) : 0;
}

int session_merge_layers(const struct session *s, size_t from, size_t to, const char *dir, enum fold_files how,
			 struct session_layer *ret, struct airlock_error *err)
{
	int rc = collect_roots(s, from, to, dir, ret, err);
	for (size_t r = 0; rc == 0 && r < ret->roots.n; r++) {
		const char *root = ret->roots.v[r];
		_cleanup_strs_ struct strs below = STRS_INIT;
		strs_add(&below, root);
		for (size_t i = 0; rc == 0 && i < to; i++)
			for (size_t k = 0; rc == 0 && k < s->layers[i].roots.n; k++) {
				if (strcmp(s->layers[i].roots.v[k], root) != 0)
					continue;
				if (i < from)
					strs_add(&below, s->layers[i].uppers.v[k]);
				else
					rc = fold_layer(ret->uppers.v[r], s->layers[i].uppers.v[k], how, &below, err);
			}
		if (rc == 0 && below.failed)
			rc = base_oom(err);
	}
	return rc;
}

int session_load_bases(const struct session *s, size_t from, size_t to, struct fold_bases *ret,
		       struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = from; rc == 0 && i < to; i++)
		rc = fold_bases_load(ret, s->layers[i].dir, err);
	fold_bases_sort(ret);
	return rc;
}

/* The rest of a decision stays by itself: steps can be taken back one by one, it cannot. */
int session_squash(struct session *s, const struct host *host, struct airlock_error *err)
{
	if (s->n_layers < SESSION_DEEP)
		return 0;
	size_t from = s->layers[0].of ? 1 : 0, to = s->n_layers - SESSION_DEEP / 4;
	_cleanup_free_ char *dir = NULL;
	_cleanup_bases_ struct fold_bases bases = FOLD_BASES_INIT;
	struct session_layer merged = {.first = s->layers[from].first, .last = s->layers[to - 1].last};
	int rc = session_make_layer_dir(host, &dir, err);
	if (rc == 0)
		rc = session_merge_layers(s, from, to, dir, FOLD_LINK, &merged, err);
	if (rc == 0)
		rc = session_load_bases(s, from, to, &bases, err);
	if (rc == 0)
		rc = fold_bases_save(&bases, dir, err);
	merged.dir = TAKE_PTR(dir);
	if (rc < 0) {
		session_layer_done(&merged);
		return rc;
	}
	for (size_t i = from; i < to; i++) {
		merged.bytes +=
			s->layers[i].bytes; /* the layers of the steps stay, and the merged one links their files */
		session_layer_done(&s->layers[i]);
	}
	s->layers[from] = merged;
	memmove(&s->layers[from + 1], &s->layers[to], (s->n_layers - to) * sizeof *s->layers);
	s->n_layers -= to - from - 1;
	return session_save(s, err);
}
