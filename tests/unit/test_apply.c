/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applying, undoing and applying again: the trees in full. */
#include "apply_world.h"

int __wrap_fsync(int fd)
{
	return 0;
}

int __wrap_syncfs(int fd)
{
	return 0;
}

/* ── Every type to every type ── */

/* What may be at "x" before or after, with what belongs to it. */
static const struct node shapes[][5] = {
	{{0}},
	{{'f', "x", "some text"}, {0}},
	{{'f', "x", "some other text", 0755, "value"}, {0}},
	{{'d', "x"}, {0}},
	{{'d', "x", NULL, 0700, "dir"}, {0}},
	{{'d', "x"}, {'f', "x/a", "a"}, {'d', "x/sub"}, {'f', "x/sub/b", "b"}, {0}},
	{{'d', "x"}, {'f', "x/a", "changed a"}, {'l', "x/sub", "a"}, {'f', "x/c", "c"}, {0}},
	{{'l', "x", "target"}, {0}},
	{{'l', "x", "elsewhere"}, {0}},
	{{'d', "x", NULL, 0555}, {'f', "x/a", "in a locked directory", 0444}, {'d', "x/e", NULL, 0500}, {0}},
};

static void surround(struct node *out, const struct node *shape)
{
	static const struct node always[] = {{'d', "keep"}, {'f', "keep/y", "y"}, {'f', "z", "z"}, {0}};
	size_t n = 0;
	for (const struct node *a = always; a->type; a++)
		out[n++] = *a;
	for (; shape->type; shape++)
		out[n++] = *shape;
	out[n] = (struct node){0};
}

static const char *there_and_back(struct world *w)
{
	EXPECT_OK(w, world_apply(w, false));
	EXPECT_SAME(w->project, w->expected);
	EXPECT(world_is_empty_dir(w->journal));
	EXPECT_OK(w, world_apply(w, true));
	EXPECT_SAME(w->project, w->original);
	EXPECT_OK(w, world_apply(w, false));
	EXPECT_SAME(w->project, w->expected);
	EXPECT_OK(w, world_reload(w));
	EXPECT_OK(w, world_apply(w, true));
	EXPECT_SAME(w->project, w->original);
	EXPECT(world_is_empty_dir(w->journal));
	return NULL;
}

static const char *every_pair(const char *dir, const char *state_base)
{
	for (size_t b = 0; b < sizeof shapes / sizeof *shapes; b++) {
		for (size_t a = 0; a < sizeof shapes / sizeof *shapes; a++) {
			static char text[3000];
			struct node before[10], after[10];
			struct world w;
			char here[600], state[600];
			(void)snprintf(here, sizeof here, "%s/%zu-%zu", dir, b, a);
			(void)snprintf(state, sizeof state, "%s/s%zu-%zu", state_base, b, a);
			EXPECT(mkdir(here, 0755) == 0 && mkdir(state, 0700) == 0);
			surround(before, shapes[b]);
			surround(after, shapes[a]);
			EXPECT(world_make_at(&w, here, state, before, after) == 0);
			const char *wrong = there_and_back(&w);
			world_done(&w);
			if (!wrong)
				continue;
			(void)snprintf(text, sizeof text, "from %zu to %zu: %s", b, a, wrong);
			return text;
		}
	}
	return NULL;
}

static const char *every_pair_on_one_fs(const char *dir)
{
	return every_pair(dir, dir);
}

static void every_type_becomes_every_type(void **state)
{
	world_as_everyone(every_pair_on_one_fs);
}

/* dir is in memory; the other side gets a directory of its own in /tmp. */
static const char *every_pair_across(const char *dir, bool state_in_memory)
{
	char disk[] = "/tmp/airlock-test-XXXXXX";
	EXPECT(mkdtemp(disk));
	const char *bad = state_in_memory ? every_pair(disk, dir) : every_pair(dir, disk);
	(void)nftw(disk, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return bad;
}

static const char *every_pair_from_disk(const char *dir)
{
	return every_pair_across(dir, false);
}

static const char *every_pair_from_memory(const char *dir)
{
	return every_pair_across(dir, true);
}

static void every_type_becomes_every_type_across_file_systems(void **state)
{
	if (!world_has_memory()) {
		print_message("needs: " WORLD_MEMORY " on another file system than /tmp\n");
		skip();
	}
	world_as_everyone(every_pair_from_disk);
	world_as_everyone(every_pair_from_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_becomes_every_type),
		cmocka_unit_test(every_type_becomes_every_type_across_file_systems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
