/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capture by copy: what was written straight into a root becomes an applied set, can be undone and applied again, and a copy
 * that was adopted halfway is adopted once more. */
#include "apply_world.h"

#include "change/scan/copy.h"

int __wrap_fsync(int fd)
{
	return 0;
}

int __wrap_syncfs(int fd)
{
	return 0;
}

static const struct copy_limits no_limits = {.bytes = UINT64_MAX, .entries = UINT64_MAX};

static const struct node before[] = {
	{'f', "a", "old a", 0600, "attribute"},
	{'d', "closed", NULL, 0500},
	{'f', "closed/f", "in closed", 0400},
	{'d', "d"},
	{'f', "d/x", "x"},
	{'f', "d/y", "moved to another place"},
	{'h', "d/z", "d/x"},
	{'f', "file-to-dir", "f"},
	{'d', "gone"},
	{'d', "gone/deep"},
	{'f', "gone/deep/f", "f"},
	{'l', "link", "a"},
	{'f', "same", "same"},
	{0},
};
static const struct node after[] = {
	{'f', "a", "new a", 0644, "other"},
	{'d', "closed", NULL, 0500},
	{'f', "closed/f", "changed", 0400},
	{'d', "d", NULL, 0700},
	{'f', "d/x", "x"},
	{'h', "d/z", "d/x"},
	{'d', "file-to-dir"},
	{'f', "file-to-dir/f", "f"},
	{'l', "link", "same"},
	{'d', "new"},
	{'f', "new/f", "f"},
	{'p', "new/pipe"},
	{'f', "new/y", "moved to another place"},
	{'f', "same", "same"},
	{0},
};

/* Everything is made anew: whatever is the same must be found to be. */
static int child_exec(const char *project, const struct node *was, const struct node *is)
{
	for (const struct node *n = was; n->type; n++)
		if (n->type == 'd')
			(void)chmod(in_dir(project, n->path), 0700);
	for (size_t i = world_count(was); i-- > 0;)
		if (remove(in_dir(project, was[i].path)) < 0)
			return -1;
	return world_make_expected(project, was, is);
}

struct captured {
	struct world w;
	struct copy_origins origins;
};

static int begin(struct captured *c, const char *dir, const struct copy_limits *limits)
{
	struct world *w = &c->w;
	*c = (struct captured){0};
	world_paths(w, dir, dir);
	if (world_make_twins(w, before, after) < 0 || world_make_dirs(w) < 0 || world_make_tree(w->project, before) < 0)
		return -1;
	world_tick();
	w->set = change_set_new(WORLD_RUN);
	const char *copies = world_path(w, w->run, "copy"), *copy = world_path(w, copies, "1");
	if (!w->set || change_set_add_root(w->set, w->project, w->upper, &w->err) < 0 || mkdir(copies, 0700) < 0 ||
	    mkdir(copy, 0700) < 0)
		return -1;
	w->set->started_ns = world_now(w->dir);
	w->set->roots[0].copy = strdup(copy);
	w->set->origins = &c->origins;
	return copy_take(w->project, copy, limits, &c->origins, &w->err);
}

static int let_go(struct captured *c)
{
	struct world *w = &c->w;
	base_freep(&w->set->roots[0].copy);
	w->set->origins = NULL;
	_cleanup_close_ int fd = open(w->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fs_remove_tree_at(fd, "copy", NULL, &w->err);
	copy_settle_images(w->set, w->run);
	return rc < 0 ? rc : change_set_save(w->set, w->record, &w->err);
}

static void end(struct captured *c)
{
	copy_origins_done(&c->origins);
	world_done(&c->w);
}

static const char *there_and_back(const char *dir)
{
	struct captured c;
	struct world *w = &c.w;
	EXPECT_OK(w, begin(&c, dir, &no_limits));
	EXPECT(child_exec(w->project, before, after) == 0);
	EXPECT_OK(w, change_scan(w->set, &w->notes, &w->err));
	EXPECT(change_set_find(w->set, 0, "same") == NULL);
	EXPECT(change_set_find(w->set, 0, "new/y")->kind == CHANGE_RENAMED);
	EXPECT_OK(w, copy_adopt(w->set, w->run, &w->err));
	EXPECT_SAME(w->project, w->expected);
	/* Killed before its record was saved: once more. */
	for (size_t i = 0; i < w->set->n; i++)
		w->set->v[i].state = CHANGE_HELD;
	EXPECT_OK(w, copy_adopt(w->set, w->run, &w->err));
	EXPECT_OK(w, let_go(&c));
	EXPECT_OK(w, world_apply(w, true));
	EXPECT_SAME(w->project, w->original);
	for (size_t i = 0; i < w->set->n; i++)
		w->set->v[i].verdict = CHANGE_APPLY;
	EXPECT_OK(w, world_apply(w, false));
	EXPECT_SAME(w->project, w->expected);
	EXPECT_OK(w, world_apply(w, true));
	EXPECT_SAME(w->project, w->original);
	end(&c);
	return NULL;
}

static void what_was_written_in_place_is_undone_and_applied(void **state)
{
	world_as_everyone(there_and_back);
}

static const char *untouched(const char *dir)
{
	struct captured c;
	struct world *w = &c.w;
	EXPECT_OK(w, begin(&c, dir, &no_limits));
	EXPECT_OK(w, change_scan(w->set, &w->notes, &w->err));
	EXPECT(w->set->n == 0);
	EXPECT_SAME(w->project, w->original);
	end(&c);
	return NULL;
}

static void copying_and_scanning_change_nothing(void **state)
{
	world_as_everyone(untouched);
}

static const char *limited(const char *dir)
{
	struct captured c;
	struct world *w = &c.w;
	struct copy_limits few = {.bytes = UINT64_MAX, .entries = 5};
	EXPECT(begin(&c, dir, &few) == AIRLOCK_ERR_LIMIT);
	EXPECT_SAME(w->project, w->original); /* what was opened up is closed again */
	struct copy_size size = {0};
	EXPECT_OK(w, copy_measure(w->project, w->state, &size, &w->err));
	EXPECT(size.entries == world_count(before));
	end(&c);
	return NULL;
}

static void copies_have_limits(void **state)
{
	world_as_everyone(limited);
}

static const char *kept(const char *dir)
{
	struct captured c;
	struct world *w = &c.w;
	_cleanup_origins_ struct copy_origins again = COPY_ORIGINS_INIT;
	EXPECT_OK(w, begin(&c, dir, &no_limits));
	const char *file = world_path(w, w->run, "origins");
	EXPECT_OK(w, copy_save(&c.origins, file, &w->err));
	EXPECT_OK(w, copy_load(&again, file, &w->err));
	EXPECT(again.n == c.origins.n && memcmp(again.v, c.origins.v, again.n * sizeof *again.v) == 0);
	EXPECT(truncate(file, 7) == 0);
	copy_origins_done(&again);
	EXPECT(copy_load(&again, file, &w->err) == AIRLOCK_ERR_CORRUPT);
	end(&c);
	return NULL;
}

static void what_was_copied_is_remembered(void **state)
{
	world_as_everyone(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_in_place_is_undone_and_applied),
		cmocka_unit_test(copying_and_scanning_change_nothing),
		cmocka_unit_test(copies_have_limits),
		cmocka_unit_test(what_was_copied_is_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
