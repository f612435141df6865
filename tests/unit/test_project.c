/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directory is the project, and which symlinks make roots. */
#include "project_place.h"

#include "project/link_search.h"
#include "project/link_memory.h"
#include "project/roots.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* ---- detection ---- */

static int detect(const char *wanted, const char *cwd, char **ret, struct airlock_error *err)
{
	return project_detect(wanted, cwd, place->home, ret, err);
}

static void assert_detected(const char *wanted, const char *cwd, const char *expected)
{
	_cleanup_free_ char *dir = NULL;
	struct airlock_error err = {0};
	if (detect(wanted, cwd, &dir, &err) < 0)
		fail_msg("project_detect: %s", err.message);
	assert_string_equal(dir, expected);
}

static void the_wanted_directory_is_taken(void **state)
{
	assert_detected(place->project, "/", place->project);
	assert_detected("../p", place->project, place->project);
	assert_detected(".", place->home, place->home);
	assert_detected("/", place->home, "/");
	link_to("home/work/p/src", "l");
	assert_detected("l/..", place->top, place->project);
}

static void a_wanted_directory_must_be_one(void **state)
{
	struct airlock_error err = {0};
	char *dir = NULL;
	make_file("f", "");
	assert_int_equal(detect(at("f"), "/", &dir, &err), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(err.message, "is not a directory"));
	base_error_clear(&err);
	assert_int_equal(detect("none", place->top, &dir, &err), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(err.subject, at("none"));
	assert_int_equal(detect("f/x", place->top, &dir, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(detect("", place->top, &dir, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(detect("x", NULL, &dir, NULL), AIRLOCK_ERR_NOT_FOUND);
	make_link("loop", "loop");
	assert_int_equal(detect("loop", place->top, &dir, NULL), AIRLOCK_ERR_INVALID);
	assert_null(dir);
}

static void the_nearest_marker_is_taken(void **state)
{
	make_dir("home/work/p/src/deep");
	assert_detected(NULL, at("home/work/p/src/deep"), at("home/work/p/src/deep"));
	make_dir("home/work/.git");
	assert_detected(NULL, at("home/work/p/src/deep"), at("home/work"));
	make_file("home/work/p/.airlock.toml", "");
	assert_detected(NULL, at("home/work/p/src/deep"), place->project);
	make_file("home/work/p/src/.git", "gitdir: x");
	assert_detected(NULL, at("home/work/p/src/deep"), at("home/work/p/src"));
}

static void a_marker_in_home_does_not_count(void **state)
{
	make_dir("home/.git");
	make_dir(".git"); /* above home: would take home along */
	assert_detected(NULL, at("home/work/p/src"), at("home/work/p/src"));
	make_dir("elsewhere/x");
	make_dir("elsewhere/.git");
	assert_detected(NULL, at("elsewhere/x"), at("elsewhere"));
}

static void home_and_root_must_be_named(void **state)
{
	struct airlock_error err = {0};
	char *dir = NULL;
	make_dir("home/.git");
	assert_int_equal(detect(NULL, place->home, &dir, &err), AIRLOCK_ERR_INVALID);
	assert_string_equal(err.subject, place->home);
	assert_string_equal(err.hint, "name it: airlock run -p . …");
	assert_int_equal(detect(NULL, "/", &dir, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(detect(NULL, place->top, &dir, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(detect(NULL, at("gone"), &dir, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(detect(NULL, NULL, &dir, NULL), AIRLOCK_ERR_NOT_FOUND);
	assert_null(dir);
}

static void home_may_be_a_symlink_or_missing(void **state)
{
	_cleanup_free_ char *dir = NULL;
	char *none = NULL;
	link_to("home", "link-home");
	make_dir("home/.git");
	assert_int_equal(project_detect(NULL, place->home, at("link-home"), &none, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(project_detect(NULL, at("link-home"), at("link-home"), &none, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(project_detect(NULL, at("home/work"), NULL, &dir, NULL), 0);
	assert_string_equal(dir, place->home);
	assert_int_equal(project_detect(NULL, "/", NULL, &none, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(project_detect(NULL, "/", "", &none, NULL), AIRLOCK_ERR_INVALID);
}

static void project_paths_may_be_any_bytes(void **state)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(odd_names); i++) {
		char rel[64];
		(void)snprintf(rel, sizeof rel, "home/%s", odd_names[i]);
		make_dir(rel);
		assert_detected(at(rel), "/", at(rel));
		assert_detected(NULL, at(rel), at(rel));
		struct project_query q = query();
		q.dir = at(rel);
		project_free(open_query(&q));
		_cleanup_project_ struct project *again = open_query(&q);
		assert_int_equal(again->notes.n, 0);
	}
}

/* ---- decisions ---- */

static void targets_are_judged(void **state)
{
	static const struct {
		const char *target;
		enum roots_verdict verdict;
	} rows[] = {
		{"/h/lib", ROOTS_OK},
		{"/h/w/p/x", ROOTS_INSIDE},
		{"/h/w/p", ROOTS_INSIDE},
		{"/h", ROOTS_HOME},
		{"/", ROOTS_HOME},
		{"/h/w", ROOTS_ABOVE_PROJECT},
		{"/h/.ssh", ROOTS_SECRET},
		{"/h/.ssh/keys", ROOTS_SECRET},
		{"/h/.sshx", ROOTS_OK},
		{"/h/.config", ROOTS_ABOVE_SECRET},
		{"/h/.config/other", ROOTS_OK},
		{"/etc", ROOTS_OUTSIDE_HOME},
		{"/hh", ROOTS_OUTSIDE_HOME},
	};
	struct roots_rules rules = {.project = "/h/w/p", .home = "/h"};
	strs_add(&rules.secrets, "/h/.ssh");
	strs_add(&rules.secrets, "/h/.config/gh");
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		assert_int_equal(roots_judge(&rules, rows[i].target, NULL), rows[i].verdict);
	const char *secret = NULL;
	(void)roots_judge(&rules, "/h/.config", &secret);
	assert_string_equal(secret, "/h/.config/gh");
	rules.home = NULL;
	assert_int_equal(roots_judge(&rules, "/h/lib", NULL), ROOTS_NO_HOME);
	roots_rules_done(&rules);
}

/* /home is hidden for the other homes in it. */
static void what_hides_other_homes_does_not_mean_this_one(void **state)
{
	struct roots_rules rules = {.project = "/home/ann/p", .home = "/home/ann"};
	strs_add(&rules.secrets, "/home");
	strs_add(&rules.secrets, "/home/ann/.ssh");
	assert_int_equal(roots_judge(&rules, "/home/ann/lib", NULL), ROOTS_OK);
	assert_int_equal(roots_judge(&rules, "/home/ann/.ssh/x", NULL), ROOTS_SECRET);
	assert_int_equal(roots_judge(&rules, "/home/bob/lib", NULL), ROOTS_SECRET);
	strs_add(&rules.secrets, "/home/ann"); /* somebody hides the home itself */
	assert_int_equal(roots_judge(&rules, "/home/ann/lib", NULL), ROOTS_SECRET);
	roots_rules_done(&rules);
}

static void nested_roots_are_removed(void **state)
{
	struct roots l = ROOTS_INIT;
	static const char *const given[] = {"/h/p", "/h/b/c", "/h/a-b", "/h/b", "/h/a", "/h/b/c/d", "/h/a/x", "/h/p/y"};
	for (size_t i = 0; i < AL_ARRAY_LEN(given); i++)
		roots_add(&l, given[i], RULE_ORIGIN(PROJECT));
	roots_add(&l, "/h/a", RULE_ORIGIN(WORKTREE));
	roots_prune(&l);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.v[0].path, "/h/p");
	assert_string_equal(l.v[1].path, "/h/a");
	assert_int_equal(l.v[1].because.kind, AIRLOCK_ORIGIN_PROJECT);
	assert_string_equal(l.v[2].path, "/h/a-b");
	assert_string_equal(l.v[3].path, "/h/b");
	assert_true(roots_cover(&l, "/h/b/c"));
	assert_false(roots_cover(&l, "/h/c"));
	roots_done(&l);
}

/* ---- symlinked roots ---- */

static void a_link_to_a_sibling_makes_a_root(void **state)
{
	make_dir("home/lib");
	make_dir("home/work/q");
	make_dir("home/work/p/a/b");
	link_to("home/lib", "home/work/p/a/b/deep");
	make_link("../q", "home/work/p/q");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib", "home/work/q"));
	assert_origin(&p->roots[1].because, "symlink a/b/deep in the project, allowed for this run");
	assert_int_equal(p->notes.n, 0);
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, ROOTS("home/lib", "home/work/q"));
	assert_origin(&again->roots[1].because, "symlink a/b/deep in the project, allowed for this run");
	assert_int_equal(again->notes.n, 0);
}

static void nested_targets_make_one_root(void **state)
{
	make_dir("home/lib/sub/deep");
	link_to("home/lib/sub/deep", "home/work/p/1");
	link_to("home/lib", "home/work/p/2");
	link_to("home/lib/sub", "home/work/p/3");
	link_to("home/work/p/src", "home/work/p/4");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	/* The outer one goes: the inner ones are still led to. */
	assert_int_equal(unlink(at("home/work/p/2")), 0);
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, ROOTS("home/lib/sub"));
}

static void refused_links_are_noted(void **state)
{
	make_dir("home/.config/gh");
	make_dir("home/.config/other");
	/* Relative ones are in the test's directory. */
	static const char *const rows[][2] = {
		{"home/.ssh", "content is hidden"}, {"home/.ssh/keys", "content is hidden"},
		{"home/.config", "contains"},	    {"/", "home directory"},
		{"/etc", "outside the home"},	    {"home", "the home directory"},
		{"home/work", "the project lies"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		const char *target = rows[i][0][0] == '/' ? rows[i][0] : at(rows[i][0]);
		make_link(target, "home/work/p/link");
		_cleanup_project_ struct project *p = rescan_project();
		assert_roots(p, NO_ROOTS);
		assert_int_equal(p->notes.n, 1);
		assert_true(note_has(p, "the symlink link leads to", rows[i][1]));
		assert_true(note_has(p, target, "not made writable"));
		assert_int_equal(unlink(at("home/work/p/link")), 0);
	}
	link_to("home/.config/other", "home/work/p/link");
	_cleanup_project_ struct project *p = rescan_project();
	assert_roots(p, ROOTS("home/.config/other"));
}

static void a_secret_is_known_under_all_its_names(void **state)
{
	/* ~/.aws is kept elsewhere and ~/.config is a symlink in whose target gh does not exist yet. */
	make_dir("home/dotfiles/aws/deep");
	make_dir("home/dotfiles/config");
	link_to("home/dotfiles/aws", "home/.aws");
	link_to("home/dotfiles/config", "home/.config");
	link_to("home/dotfiles/aws/deep", "home/work/p/1");
	link_to("home/dotfiles/config", "home/work/p/2");
	link_to("home/.config", "home/work/p/3");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 3);
	assert_true(note_has(p, "symlink 1", "home/dotfiles/aws"));
	assert_true(note_has(p, "symlink 2", "home/dotfiles/config/gh"));
}

static void our_own_state_is_a_secret(void **state)
{
	make_dir("home/.local/state/airlock");
	strcpy(place->state, at("home/.local/state/airlock"));
	link_to("home/.local", "home/work/p/1");
	link_to("home/.local/state/airlock", "home/work/p/2");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 2);
}

static void harmless_links_are_passed_over(void **state)
{
	make_file("home/file", "x");
	link_to("home/file", "home/work/p/to-file");
	make_link("nowhere", "home/work/p/dangling");
	make_link("/nowhere/at/all", "home/work/p/dangling-too");
	make_link("self", "home/work/p/self");
	make_link("pong", "home/work/p/ping");
	make_link("ping", "home/work/p/pong");
	make_link(".", "home/work/p/src/here");
	make_link("..", "home/work/p/src/up");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 0);
}

static void linked_roots_are_searched_too(void **state)
{
	make_dir("home/a/in");
	make_dir("home/b");
	make_dir("home/c");
	link_to("home/a", "home/work/p/a");
	link_to("home/b", "home/a/in/b");
	link_to("home/c", "home/b/c");
	link_to("home/a", "home/c/back-to-a"); /* a loop through three directories */
	link_to("home/work/p", "home/c/back-to-p");
	link_to("home/.ssh", "home/c/ssh");
	/* The target of a link is not searched before a person has allowed the link. */
	_cleanup_project_ struct project *unsearched = open_project();
	assert_roots(unsearched, ROOTS("home/a"));
	answer_link("a", AIRLOCK_LINK_ALLOWED);
	project_free(rescan_project());
	answer_link(at("home/a/in/b"), AIRLOCK_LINK_ALLOWED);
	project_free(rescan_project());
	answer_link(at("home/b/c"), AIRLOCK_LINK_ALLOWED);
	_cleanup_project_ struct project *p = rescan_project();
	assert_roots(p, ROOTS("home/a", "home/b", "home/c"));
	char because[600];
	(void)snprintf(because, sizeof because, "symlink %s, allowed by a person", at("home/a/in/b"));
	assert_origin(&p->roots[2].because, because);
	assert_int_equal(p->notes.n, 1);
	assert_true(note_has(p, at("home/c/ssh"), "content is hidden"));
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, ROOTS("home/a", "home/b", "home/c"));
	/* Without the first link nothing leads to the others. */
	assert_int_equal(unlink(at("home/work/p/a")), 0);
	_cleanup_project_ struct project *cut = open_project();
	assert_roots(cut, NO_ROOTS);
	assert_int_equal(cut->notes.n, 0);
}

static void links_in_git_directories_are_not_followed(void **state)
{
	make_dir("home/lib");
	make_dir("home/other/.git");
	make_dir("home/work/p/.git/x");
	make_dir("home/work/p/sub/.git");
	link_to("home/lib", "home/work/p/.git/x/l");
	link_to("home/lib", "home/work/p/sub/.git/l");
	link_to("home/other/.git", "home/work/p/sub/dot-git");
	link_to("home/lib", "home/other/.git/l");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/other/.git"));
}

static void odd_names_are_remembered(void **state)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(odd_names); i++) {
		char dir[64], link[64];
		(void)snprintf(dir, sizeof dir, "home/lib%s", odd_names[i]);
		(void)snprintf(link, sizeof link, "home/work/p/%s", odd_names[i]);
		make_dir(dir);
		link_to(dir, link);
	}
	_cleanup_project_ struct project *p = open_project();
	assert_int_equal(p->n_roots, AL_ARRAY_LEN(odd_names) + 1);
	_cleanup_project_ struct project *again = open_project();
	assert_int_equal(again->n_roots, p->n_roots);
	for (size_t i = 0; i < p->n_roots; i++) {
		assert_string_equal(again->roots[i].path, p->roots[i].path);
		assert_true(rule_origin_is_same(&again->roots[i].because, &p->roots[i].because));
	}
}

static void assert_link(const struct project *p, const char *path, const char *target, enum airlock_link_state state,
			const char *before)
{
	for (size_t i = 0; i < p->n_links; i++) {
		const struct project_link *l = &p->links[i];
		if (strcmp(l->path, path) != 0)
			continue;
		assert_string_equal(l->target, target);
		assert_int_equal(l->state, state);
		if (before)
			assert_string_equal(l->before, before);
		else
			assert_null(l->before);
		return;
	}
	fail_msg("no link %s", path);
}

static void turn(const char *link, const char *target)
{
	assert_int_equal(unlink(at(link)), 0);
	link_to(target, link);
}

static void a_link_makes_no_root_before_a_person_said_yes(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	_cleanup_project_ struct project *first = open_ungranted();
	assert_roots(first, NO_ROOTS);
	assert_link(first, "l", at("home/lib"), AIRLOCK_LINK_UNANSWERED, NULL);
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	_cleanup_project_ struct project *allowed = open_ungranted();
	assert_roots(allowed, ROOTS("home/lib"));
	assert_origin(&allowed->roots[1].because, "symlink l in the project, allowed by a person");
	answer_link("l", AIRLOCK_LINK_DENIED);
	_cleanup_project_ struct project *denied = open_project(); /* --yes does not undo a no */
	assert_roots(denied, NO_ROOTS);
	assert_link(denied, "l", at("home/lib"), AIRLOCK_LINK_DENIED, NULL);
	_cleanup_project_ struct project *scanned = rescan_project();
	assert_roots(scanned, NO_ROOTS);
	assert_link(scanned, "l", at("home/lib"), AIRLOCK_LINK_DENIED, NULL);
}

static void a_grant_is_for_this_link_and_this_target(void **state)
{
	make_dir("home/lib");
	make_dir("home/other");
	link_to("home/lib", "home/work/p/l");
	link_to("home/other", "home/work/p/m");
	struct project_link grants[] = {{.path = (char *)"l", .target = (char *)at("home/lib")}};
	struct project_query q = query();
	q.grant_all = false;
	q.grants = grants;
	q.n_grants = 1;
	_cleanup_project_ struct project *p = open_query(&q);
	assert_roots(p, ROOTS("home/lib"));
	turn("home/work/p/l", "home/other");
	_cleanup_project_ struct project *turned = open_query(&q);
	assert_roots(turned, NO_ROOTS);
}

static void a_link_that_was_turned_is_a_new_one(void **state)
{
	make_dir("home/lib");
	make_dir("home/other");
	link_to("home/lib", "home/work/p/l");
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	turn("home/work/p/l", "home/other");
	_cleanup_project_ struct project *turned = open_ungranted();
	assert_roots(turned, NO_ROOTS);
	assert_link(turned, "l", at("home/other"), AIRLOCK_LINK_UNANSWERED, at("home/lib"));
	_cleanup_project_ struct project *scanned = rescan_project();
	assert_link(scanned, "l", at("home/other"), AIRLOCK_LINK_UNANSWERED, at("home/lib"));
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	_cleanup_project_ struct project *both = open_ungranted();
	assert_roots(both, ROOTS("home/other"));
	turn("home/work/p/l", "home/lib");
	_cleanup_project_ struct project *back = open_ungranted();
	assert_roots(back, ROOTS("home/lib"));
	/* A no to the link takes back every yes to it. */
	answer_link("l", AIRLOCK_LINK_DENIED);
	turn("home/work/p/l", "home/other");
	_cleanup_project_ struct project *denied = open_project();
	assert_roots(denied, NO_ROOTS);
	assert_link(denied, "l", at("home/other"), AIRLOCK_LINK_DENIED, NULL);
}

/* The link stays as it is; a link further along the way is turned. */
static void a_change_behind_the_link_is_seen(void **state)
{
	make_dir("home/v1");
	make_dir("home/v2");
	make_link("v1", "home/current");
	link_to("home/current", "home/work/p/l");
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	_cleanup_project_ struct project *first = open_ungranted();
	assert_roots(first, ROOTS("home/v1"));
	assert_int_equal(unlink(at("home/current")), 0);
	make_link("v2", "home/current");
	_cleanup_project_ struct project *changed = open_ungranted();
	assert_roots(changed, NO_ROOTS);
	assert_link(changed, "l", at("home/v2"), AIRLOCK_LINK_UNANSWERED, at("home/v1"));
}

static void what_a_target_becomes_counts(void **state)
{
	make_dir("home/lib");
	make_dir("home/other");
	link_to("home/lib", "home/work/p/l");
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	/* Renamed, with a link in its place: the real path is another one now. */
	assert_int_equal(rename(at("home/lib"), at("home/moved")), 0);
	link_to("home/.ssh", "home/lib");
	_cleanup_project_ struct project *swapped = open_project();
	assert_roots(swapped, NO_ROOTS);
	assert_link(swapped, "l", at("home/.ssh"), AIRLOCK_LINK_REFUSED, NULL);
	/* A file. */
	assert_int_equal(unlink(at("home/lib")), 0);
	make_file("home/lib", "");
	_cleanup_project_ struct project *file = open_project();
	assert_roots(file, NO_ROOTS);
	assert_int_equal(file->n_links, 0);
}

static int look(const char *path, struct airlock_error *err)
{
	struct project_query q = query();
	struct project_link l = {0};
	_cleanup_project_ struct project *p = open_query(&q);
	base_error_clear(err);
	int rc = project_look_at_link(&q, p, path, &l, err);
	project_link_done(&l);
	return rc;
}

static void what_cannot_be_allowed_is_said(void **state)
{
	struct airlock_error err = {0};
	make_dir("home/lib");
	make_file("home/file", "");
	link_to("home/lib", "home/work/p/good");
	link_to("home/file", "home/work/p/file");
	link_to("home/.ssh", "home/work/p/secret");
	link_to("home", "home/work/p/home");
	make_link("/etc", "home/work/p/etc");
	make_link("src", "home/work/p/inside");
	make_link("nowhere", "home/work/p/dangling");
	link_to("home/lib", "home/elsewhere");
	assert_int_equal(look("good", &err), 0);
	assert_int_equal(look("file", &err), AIRLOCK_ERR_INVALID);
	assert_int_equal(look("src", &err), AIRLOCK_ERR_INVALID);
	assert_int_equal(look("inside", &err), AIRLOCK_ERR_INVALID);
	assert_int_equal(look(at("home/elsewhere"), &err), AIRLOCK_ERR_INVALID);
	assert_int_equal(look("../../elsewhere", &err), AIRLOCK_ERR_INVALID);
	assert_int_equal(look("none", &err), AIRLOCK_ERR_NOT_FOUND);
	assert_int_equal(look("dangling", &err), AIRLOCK_ERR_NOT_FOUND);
	static const char *const blocked[] = {"secret", "home", "etc"};
	for (size_t i = 0; i < AL_ARRAY_LEN(blocked); i++) {
		assert_int_equal(look(blocked[i], &err), AIRLOCK_ERR_BLOCKED);
		assert_string_equal(err.subject, blocked[i]);
	}
}

static void what_is_gone_is_dropped_silently(void **state)
{
	make_dir("home/a");
	make_dir("home/b");
	make_dir("home/c");
	link_to("home/a", "home/work/p/a");
	link_to("home/b", "home/work/p/b");
	link_to("home/c", "home/work/p/c");
	_cleanup_project_ struct project *first = open_project();
	assert_roots(first, ROOTS("home/a", "home/b", "home/c"));
	assert_int_equal(unlink(at("home/work/p/a")), 0);
	make_dir("home/work/p/a");
	assert_int_equal(rmdir(at("home/b")), 0);
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, ROOTS("home/c"));
	assert_int_equal(again->notes.n, 0);
}

static void a_new_link_waits_for_a_scan(void **state)
{
	make_dir("home/lib");
	project_free(open_project());
	link_to("home/lib", "home/work/p/l");
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, NO_ROOTS);
	_cleanup_project_ struct project *scanned = rescan_project();
	assert_roots(scanned, ROOTS("home/lib"));
}

static void a_target_that_became_a_secret_is_dropped(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	_cleanup_project_ struct project *first = open_project();
	assert_roots(first, ROOTS("home/lib"));
	strcpy(place->aws, at("home/lib/keys"));
	_cleanup_project_ struct project *again = open_project();
	assert_roots(again, NO_ROOTS);
	assert_true(note_has(again, "not made writable", place->aws));
}

static void without_home_no_link_makes_a_root(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	struct project_query q = query();
	q.home = NULL;
	_cleanup_project_ struct project *p = open_query(&q);
	assert_roots(p, NO_ROOTS);
}

static void the_home_directory_as_project_is_not_searched(void **state)
{
	shell("mkdir home/many && cd home/many && seq 1 5000 | xargs touch");
	struct project_query q = query();
	q.dir = place->home;
	_cleanup_project_ struct project *p = open_query(&q);
	assert_roots(p, NO_ROOTS);
	assert_int_equal(place->progress_calls, 0);
}

/* The secrets come spelt through the symlink, everything else as real paths. */
static void home_may_be_a_symlink(void **state)
{
	make_dir("home/lib");
	link_to("home", "link-home");
	link_to("link-home/lib", "home/work/p/l");
	link_to("link-home/.ssh", "home/work/p/ssh");
	strcpy(place->ssh, at("link-home/.ssh"));
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	assert_int_equal(p->notes.n, 1);
}

static void a_project_outside_home_may_link_into_it(void **state)
{
	make_dir("srv/p");
	make_dir("srv/q");
	make_dir("home/lib");
	strcpy(place->project, at("srv/p"));
	link_to("home/lib", "srv/p/l");
	link_to("srv/q", "srv/p/q");
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	assert_true(note_has(p, "symlink q", "outside the home"));
}

static void unreadable_directories_are_noted(void **state)
{
	make_dir("home/lib");
	make_dir("home/work/p/locked");
	make_dir("home/work/p/unsearchable/x");
	link_to("home/lib", "home/work/p/z");
	assert_int_equal(chmod(at("home/work/p/locked"), 0), 0);
	assert_int_equal(chmod(at("home/work/p/unsearchable"), 0400), 0);
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	if (geteuid() == 0) /* may read everything */
		return;
	assert_int_equal(p->notes.n, 2);
	assert_true(note_has(p, at("home/work/p/locked"), "Permission denied"));
	assert_true(note_has(p, at("home/work/p/unsearchable/x"), "Permission denied"));
}

/* In a mount namespace of its own. The project may be on any mount, but nothing mounted in it is looked into. */
static int open_with_mount_inside(void)
{
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(at("share"), at("home/work/p/mnt"), NULL, MS_BIND, NULL) < 0)
		return 1;
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->notes.n, 1);
	return note_has(p, at("home/work/p/mnt"), "mounted from elsewhere") ? 0 : 2;
}

static void mounts_in_the_project_are_not_searched(void **state)
{
	int status = -1;
	make_dir("share");
	make_dir("home/lib");
	make_dir("home/work/p/mnt");
	link_to("home/lib", "share/l");
	pid_t child = fork();
	if (child == 0)
		_exit(open_with_mount_inside());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void many_refused_links_make_few_notes(void **state)
{
	for (int i = 0; i < 100; i++) {
		char rel[64];
		(void)snprintf(rel, sizeof rel, "home/work/p/l%02d", i);
		make_link("/etc", rel);
	}
	_cleanup_project_ struct project *p = open_project();
	assert_int_equal(p->notes.n, 33);
	assert_true(note_has(p, "68 more", ""));
}

static void many_targets_are_bounded(void **state)
{
	shell("cd home && for i in $(seq 1 300); do mkdir lib$i; ln -s ../../lib$i work/p/l$i; done");
	shell("cd home/work/p && for i in $(seq 1 50); do ln -s ../../lib1 again$i; done");
	_cleanup_project_ struct project *p = open_project();
	assert_int_equal(p->n_roots, 257);
	assert_true(note_has(p, "more than 256", ""));
	_cleanup_links_ struct links l = LINKS_INIT;
	assert_int_equal(memory_load(place->state, place->project, &l, NULL), 0);
	assert_true(l.n <= 256 + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_wanted_directory_is_taken),
		TEST(a_wanted_directory_must_be_one),
		TEST(the_nearest_marker_is_taken),
		TEST(a_marker_in_home_does_not_count),
		TEST(home_and_root_must_be_named),
		TEST(home_may_be_a_symlink_or_missing),
		TEST(project_paths_may_be_any_bytes),
		TEST(targets_are_judged),
		TEST(nested_roots_are_removed),
		TEST(a_link_to_a_sibling_makes_a_root),
		TEST(nested_targets_make_one_root),
		TEST(refused_links_are_noted),
		TEST(what_hides_other_homes_does_not_mean_this_one),
		TEST(a_secret_is_known_under_all_its_names),
		TEST(our_own_state_is_a_secret),
		TEST(harmless_links_are_passed_over),
		TEST(linked_roots_are_searched_too),
		TEST(links_in_git_directories_are_not_followed),
		TEST(odd_names_are_remembered),
		TEST(a_link_makes_no_root_before_a_person_said_yes),
		TEST(a_grant_is_for_this_link_and_this_target),
		TEST(a_link_that_was_turned_is_a_new_one),
		TEST(what_a_target_becomes_counts),
		TEST(what_cannot_be_allowed_is_said),
		TEST(a_change_behind_the_link_is_seen),
		TEST(what_is_gone_is_dropped_silently),
		TEST(a_new_link_waits_for_a_scan),
		TEST(a_target_that_became_a_secret_is_dropped),
		TEST(without_home_no_link_makes_a_root),
		TEST(the_home_directory_as_project_is_not_searched),
		TEST(home_may_be_a_symlink),
		TEST(a_project_outside_home_may_link_into_it),
		TEST(unreadable_directories_are_noted),
		TEST(mounts_in_the_project_are_not_searched),
		TEST(many_refused_links_make_few_notes),
		TEST(many_targets_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
