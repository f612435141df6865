/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as Landlock rules, over a real tree. */
#include "tests.h"

#include "backend/landlock_rules.h"
#include "base/buf.h"
#include "fs/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MOUNTS 8

struct world {
	char dir[32];
	struct plan plan;
	struct plan_mount mounts[MAX_MOUNTS];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	strcpy(w->dir, "/tmp/airlock-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(chdir(w->dir), 0);
	assert_int_equal(system("mkdir -p home/u/.ssh/keys home/u/docs home/u/project/.git home/other usr/bin; "
				"touch home/u/.netrc home/u/plain; ln -s usr/bin bin"),
			 0);
	w->plan.mounts = w->mounts;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[64];
	for (size_t i = 0; i < w->plan.n_mounts; i++) {
		free(w->mounts[i].source);
		free(w->mounts[i].target);
	}
	(void)snprintf(command, sizeof command, "rm -r %s", w->dir);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static char *inside(const struct world *w, const char *name)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s%s%s", w->dir, *name ? "/" : "", name);
	return strdup(path);
}

static void mount(struct world *w, enum plan_mount_kind kind, const char *name, const char *source)
{
	bool has_source = kind == PLAN_READ || kind == PLAN_WRITE || kind == PLAN_LAYER;
	assert_true(w->plan.n_mounts < MAX_MOUNTS);
	w->mounts[w->plan.n_mounts++] =
		(struct plan_mount){.kind = kind,
				    .target = inside(w, name),
				    .source = has_source ? inside(w, source ? source : name) : NULL};
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "r name\n" or "w name\n" for each rule, sorted. */
static void assert_rules(struct world *w, const char *expected)
{
	struct landlock_rules rules = {0};
	char *lines[64];
	_cleanup_buf_ struct buf found = BUF_INIT;
	assert_int_equal(landlock_rules_make(&w->plan, &rules, NULL), 0);
	assert_true(rules.n < 64);
	for (size_t i = 0; i < rules.n; i++) {
		const char *name = rules.v[i].path + strlen(w->dir);
		assert_true(asprintf(&lines[i], "%c %s\n", rules.v[i].write ? 'w' : 'r', *name ? name + 1 : ".") > 0);
	}
	qsort(lines, rules.n, sizeof *lines, compare);
	for (size_t i = 0; i < rules.n; i++) {
		buf_adds(&found, lines[i]);
		free(lines[i]);
	}
	assert_string_equal(buf_str(&found), expected);
	landlock_rules_done(&rules);
}

static void a_whole_tree_is_one_rule(void **state)
{
	struct world *w = *state;
	mount(w, PLAN_READ, "", NULL);
	mount(w, PLAN_WRITE, "home/u/project", NULL);
	assert_rules(w, "r .\nw home/u/project\n");
}

static void around_what_is_hidden_each_entry_is_granted(void **state)
{
	struct world *w = *state;
	mount(w, PLAN_READ, "", NULL);
	mount(w, PLAN_EMPTY_DIR, "home/u/.ssh", NULL);
	mount(w, PLAN_EMPTY_FILE, "home/u/.netrc", NULL);
	mount(w, PLAN_LAYER, "home/u/project", NULL);
	assert_rules(w, "r home/other\nr home/u/docs\nr home/u/plain\nr usr\nw home/u/project\n");
}

static void a_hidden_directory_gives_back_what_is_shown_in_it(void **state)
{
	struct world *w = *state;
	mount(w, PLAN_READ, "", NULL);
	mount(w, PLAN_EMPTY_DIR, "home", NULL);
	mount(w, PLAN_READ, "home/u", NULL);
	mount(w, PLAN_TMPFS, "home/u/docs", NULL);
	assert_rules(w, "r home/u/.netrc\nr home/u/.ssh\nr home/u/plain\nr home/u/project\nr usr\n");
}

static void what_may_only_be_read_is_taken_out_of_what_may_be_written(void **state)
{
	struct world *w = *state;
	mount(w, PLAN_WRITE, "home/u", NULL);
	mount(w, PLAN_READ, "home/u/docs", NULL);
	assert_rules(w, "r home/u/docs\nw home/u/.netrc\nw home/u/.ssh\nw home/u/plain\nw home/u/project\n");
}

static void what_would_be_mounted_elsewhere_is_granted_where_it_is(void **state)
{
	struct world *w = *state;
	mount(w, PLAN_WRITE, "home/u/playground", "home/other");
	mount(w, PLAN_SYMLINK, "bin", NULL);
	mount(w, PLAN_SEAL, "home/u", NULL);
	assert_rules(w, "w home/other\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_whole_tree_is_one_rule),
		TEST(around_what_is_hidden_each_entry_is_granted),
		TEST(a_hidden_directory_gives_back_what_is_shown_in_it),
		TEST(what_may_only_be_read_is_taken_out_of_what_may_be_written),
		TEST(what_would_be_mounted_elsewhere_is_granted_where_it_is),
	};
	return cmocka_run_group_tests_name("landlock", tests, NULL, NULL);
}
