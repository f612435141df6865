/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tests of `project` each have a home directory of their own:
 *   home/            $HOME; home/.ssh, home/.aws and home/.config/gh are secrets
 *   home/work/p      the project
 *   state            airlock's state directory
 */
#pragma once

#include "origins.h"

#include "base/path.h"
#include "fs/fs.h"
#include "project/project.h"

#include <stdio.h>
#include <sys/stat.h>

struct place {
	char top[64];
	char home[128], project[128], state[128];
	char ssh[160], aws[160], gh[160];
	const char *secrets[4];
	size_t progress_calls;
};

static struct place *place;

static inline const char *at(const char *rel)
{
	static char paths[4][512];
	static unsigned turn;
	char *path = paths[turn++ % 4];
	(void)snprintf(path, sizeof paths[0], "%s/%s", place->top, rel);
	return path;
}

static inline void shell(const char *fmt, ...) AL_PRINTF(1, 2);

/* Runs in the test's directory, with a home and a git of its own. */
static inline void shell(const char *fmt, ...)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	buf_printf(&b,
		   "cd %s && export HOME=%s GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
		   "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && unset GIT_DIR GIT_WORK_TREE && exec >/dev/null "
		   "2>&1\n",
		   place->top, place->home);
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (system(buf_str(&b)) != 0)
		fail_msg("failed: %s", buf_str(&b));
}

static inline void make_dir(const char *rel)
{
	assert_int_equal(fs_make_private_dir(at(rel), NULL), 0);
}

static inline void make_file(const char *rel, const char *content)
{
	assert_int_equal(fs_write_private_file(at(rel), content, strlen(content), NULL), 0);
}

static inline void make_link(const char *target, const char *rel)
{
	assert_int_equal(symlink(target, at(rel)), 0);
}

/* To something in the test's directory. */
static inline void link_to(const char *target, const char *rel)
{
	make_link(at(target), rel);
}

static inline int setup(void **state)
{
	place = calloc(1, sizeof *place);
	strcpy(place->top, "/tmp/airlock-test-project-XXXXXX");
	assert_non_null(mkdtemp(place->top));
	strcpy(place->home, at("home"));
	strcpy(place->project, at("home/work/p"));
	strcpy(place->state, at("state"));
	strcpy(place->ssh, at("home/.ssh"));
	strcpy(place->aws, at("home/.aws"));
	strcpy(place->gh, at("home/.config/gh"));
	place->secrets[0] = place->ssh;
	place->secrets[1] = place->aws;
	place->secrets[2] = place->gh;
	make_dir("home/work/p/src");
	make_dir("home/.ssh/keys");
	return 0;
}

static inline int teardown(void **state)
{
	shell("chmod -R u+rwx . ; cd / && rm -rf '%s'", place->top);
	free(place);
	return 0;
}

static inline void count_progress(size_t entries, void *data)
{
	(void)entries;
	(*(size_t *)data)++;
}

static inline void list_place_secrets(const void *data, struct strs *out)
{
	for (const char *const *path = data; *path; path++)
		strs_add(out, *path);
}

/* Links that nobody has answered count for this run: which ones could is what most tests ask. */
static inline struct project_query query(void)
{
	return (struct project_query){.dir = place->project,
				      .home = place->home,
				      .grant_all = true,
				      .state_dir = place->state,
				      .list_secrets = list_place_secrets,
				      .secrets_data = place->secrets,
				      .progress = count_progress,
				      .progress_data = &place->progress_calls};
}

static inline struct project *open_query(const struct project_query *q)
{
	struct airlock_error err = {0};
	struct project *p = NULL;
	if (project_open(q, &p, &err) < 0)
		fail_msg("project_open: %s", err.message);
	assert_string_equal(p->dir, q->dir);
	assert_string_equal(p->roots[0].path, q->dir);
	assert_int_equal(p->roots[0].because.kind, AIRLOCK_ORIGIN_PROJECT);
	return p;
}

static inline struct project *open_project(void)
{
	struct project_query q = query();
	return open_query(&q);
}

static inline struct project *rescan_project(void)
{
	struct project_query q = query();
	q.rescan = true;
	return open_query(&q);
}

/* A person's answer to a link of the project, named as a list shows it. */
static inline void answer_link(const char *path, enum airlock_link_state answer)
{
	struct project_query q = query();
	struct project *p = open_query(&q);
	struct project_link l = {0};
	struct airlock_error err = {0};
	if (project_look_at_link(&q, p, path, &l, &err) < 0 || project_answer(&q, &l, 1, answer, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	project_link_done(&l);
	project_free(p);
}

/* As a run without --yes. */
static inline struct project *open_ungranted(void)
{
	struct project_query q = query();
	q.grant_all = false;
	return open_query(&q);
}

static inline void project_freep(struct project **p)
{
	project_free(*p);
}
#define _cleanup_project_ _cleanup_(project_freep)

static inline bool note_has(const struct project *p, const char *a, const char *b)
{
	for (size_t i = 0; i < p->notes.n; i++) {
		_cleanup_buf_ struct buf line = BUF_INIT;
		notes_add_text(&line, &p->notes.v[i]);
		if (strstr(buf_str(&line), a) && strstr(buf_str(&line), b))
			return true;
	}
	return false;
}

/* The roots besides the project are these, in this order; the list ends with NULL. */
static inline void assert_roots(const struct project *p, const char *const *expected)
{
	size_t n = 0;
	for (; expected[n]; n++) {
		assert_true(n + 1 < p->n_roots);
		assert_string_equal(p->roots[n + 1].path, at(expected[n]));
	}
	assert_int_equal(p->n_roots, n + 1);
}
#define ROOTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ROOTS ((const char *const[]){NULL})

static const char *const odd_names[] AL_UNUSED = {"new\nline", "com,ma:colon", "q'u\"o`te\\", "\xff\xfe\x80", " ",
						  "-p"};

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
