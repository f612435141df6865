/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Some paths only, held ones, somebody else's changes, and force: in both directions. */
#include "apply_world.h"

#include "change/apply/lock.h"

int __wrap_fsync(int fd)
{
	return 0;
}

int __wrap_syncfs(int fd)
{
	return 0;
}

static const struct node before[] = {
	{'f', "a", "old a"},   {'d', "d"}, {'f', "d/x", "x"},	  {'f', "d/y", "y"},
	{'f', "keep", "keep"}, {'d', "m"}, {'f', "m/f", "old f"}, {0},
};
static const struct node after[] = {
	{'f', "a", "new a"}, {'f', "keep", "keep"}, {'d', "m"}, {'f', "m/f", "new f"}, {'d', "n"}, {'d', "n/o"},
	{'f', "n/o/p", "p"}, {'f', "n/q", "q"},	    {0},
};

static bool has(const struct world *w, const char *path)
{
	struct stat st;
	return lstat(in_dir(w->project, path), &st) == 0;
}

static bool holds(const struct world *w, const char *path, const char *text)
{
	char data[256] = "";
	int fd = open(in_dir(w->project, path), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof data - 1);
	if (fd >= 0)
		(void)close(fd);
	return n >= 0 && strcmp(data, text) == 0;
}

static int execute_paths(struct world *w, bool undo, bool force, const char *const *paths)
{
	_cleanup_free_ bool *selected = NULL;
	w->err = (struct airlock_error){0};
	int rc = apply_select(w->set, paths, undo, &selected, &w->err);
	return rc < 0 ? rc : world_execute(w, selected, undo, force);
}

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

static enum change_state state_of(struct world *w, const char *path)
{
	return change_set_find(w->set, 0, path)->state;
}

/* ── Selections ── */

static const char *takes_what_paths_need(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT_OK(&w, execute_paths(&w, false, false, PATHS("n/o/p")));
	EXPECT(has(&w, "n/o/p") && !has(&w, "n/q") && holds(&w, "a", "old a") && has(&w, "d/x"));
	EXPECT(state_of(&w, "n") == CHANGE_APPLIED && state_of(&w, "n/q") == CHANGE_HELD);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, execute_paths(&w, true, false, PATHS("d/y")));
	EXPECT(has(&w, "d/y") && !has(&w, "d/x") && holds(&w, "a", "new a"));
	EXPECT_OK(&w, execute_paths(&w, true, false, PATHS("a", "m")));
	EXPECT(holds(&w, "a", "old a") && holds(&w, "m/f", "old f") && has(&w, "n/q"));
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static const char *knows_its_paths(const char *dir)
{
	struct world w;
	bool *selected = NULL;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT(apply_select(w.set, PATHS("keep"), false, &selected, &w.err) == AIRLOCK_ERR_NOT_FOUND);
	EXPECT(strstr(w.err.message, "keep"));
	EXPECT(execute_paths(&w, false, false, PATHS("/etc")) == AIRLOCK_ERR_NOT_FOUND);
	EXPECT(execute_paths(&w, false, false, PATHS("mm")) == AIRLOCK_ERR_NOT_FOUND);
	EXPECT_OK(&w, execute_paths(&w, false, false, PATHS(in_dir(w.project, "m"))));
	EXPECT(holds(&w, "m/f", "new f") && holds(&w, "a", "old a"));
	EXPECT(execute_paths(&w, false, false, PATHS("m")) == 0); /* nothing is left to do there */
	world_done(&w);
	return NULL;
}

/* A held deletion keeps its directory; everything else goes. */
static const char *leaves_what_is_held(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	change_set_find(w.set, 0, "d/y")->verdict = CHANGE_HOLD;
	change_set_find(w.set, 0, "n")->verdict = CHANGE_HOLD;
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(!has(&w, "d/x") && has(&w, "d/y") && !has(&w, "n") && holds(&w, "a", "new a"));
	EXPECT(state_of(&w, "d") == CHANGE_HELD && state_of(&w, "d/x") == CHANGE_APPLIED);
	EXPECT(state_of(&w, "n/q") == CHANGE_HELD && state_of(&w, "n/o/p") == CHANGE_HELD);
	EXPECT_OK(&w, execute_paths(&w, false, false, PATHS("d", "n")));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static void paths_are_applied_and_undone_alone(void **state)
{
	world_as_everyone(takes_what_paths_need);
	world_as_everyone(knows_its_paths);
	world_as_everyone(leaves_what_is_held);
}

/* ── Somebody else ── */

static const char *refuses(struct world *w, bool undo, const char *path)
{
	char copy[1024];
	_cleanup_strs_ struct strs was = STRS_INIT, is = STRS_INIT;
	world_print(w->project, &was);
	EXPECT(world_apply(w, undo) == AIRLOCK_ERR_CONFLICT);
	world_print(w->project, &is);
	(void)snprintf(copy, sizeof copy, "%s", w->err.subject);
	EXPECT(strcmp(copy, path) == 0);
	EXPECT(was.n == is.n);
	for (size_t i = 0; i < was.n; i++)
		EXPECT(strcmp(was.v[i], is.v[i]) == 0);
	EXPECT(change_set_find(w->set, 0, path)->n_reasons > 0);
	EXPECT(world_is_empty_dir(w->journal));
	return NULL;
}

#define EXPECT_REFUSED(w, undo, path)                                                                                  \
	do {                                                                                                           \
		const char *refused_ = refuses(w, undo, path);                                                         \
		if (refused_)                                                                                          \
			return refused_;                                                                               \
	} while (0)

static const char *keeps_an_edit(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	world_tick();
	EXPECT(put_file(in_dir(w.project, "m/f"), "theirs", 0644) == 0);
	EXPECT_REFUSED(&w, false, "m/f");
	/* the others can be taken; and ours by force, which keeps theirs */
	EXPECT_OK(&w, execute_paths(&w, false, false, PATHS("a")));
	EXPECT(holds(&w, "a", "new a") && holds(&w, "m/f", "theirs"));
	EXPECT_OK(&w, execute_paths(&w, false, true, PATHS("m/f")));
	EXPECT(holds(&w, "m/f", "new f"));
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT(holds(&w, "m/f", "theirs") && holds(&w, "a", "old a"));
	world_done(&w);
	return NULL;
}

static const char *keeps_an_edit_after_apply(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	world_tick();
	EXPECT(put_file(in_dir(w.project, "m/f"), "theirs", 0644) == 0);
	EXPECT_REFUSED(&w, true, "m/f");
	EXPECT(state_of(&w, "m/f") == CHANGE_APPLIED);
	EXPECT_OK(&w, world_execute(&w, NULL, true, true));
	EXPECT_SAME(w.project, w.original);
	/* what they had made of it is what the layer has now */
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(holds(&w, "m/f", "theirs"));
	world_done(&w);
	return NULL;
}

static const char *keeps_a_new_file_in_a_new_directory(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(put_file(in_dir(w.project, "n/theirs"), "theirs", 0644) == 0);
	EXPECT_REFUSED(&w, true, "n");
	EXPECT_OK(&w, world_execute(&w, NULL, true, true));
	EXPECT_SAME(w.project, w.original);
	bool told = false;
	for (size_t i = 0; i < w.notes.n; i++)
		told |= w.notes.v[i].code == AIRLOCK_NOTE_KEPT_ASIDE && w.notes.v[i].other[0] == 'k';
	EXPECT(told);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	world_done(&w);
	return NULL;
}

static const char *keeps_a_file_where_one_was_deleted(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(put_file(in_dir(w.project, "d"), "theirs", 0644) == 0);
	EXPECT_REFUSED(&w, true, "d");
	EXPECT_OK(&w, world_execute(&w, NULL, true, true));
	EXPECT(holds(&w, "d/x", "x") && holds(&w, "a", "old a") && !has(&w, "n"));
	world_done(&w);
	return NULL;
}

static const char *keeps_a_file_in_a_directory_to_be_deleted(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT(put_file(in_dir(w.project, "d/theirs"), "theirs", 0644) == 0);
	EXPECT_REFUSED(&w, false, "d");
	EXPECT_OK(&w, world_execute(&w, NULL, false, true));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT(holds(&w, "d/theirs", "theirs") && holds(&w, "d/x", "x"));
	world_done(&w);
	return NULL;
}

static void nothing_of_somebody_else_is_overwritten(void **state)
{
	world_as_everyone(keeps_an_edit);
	world_as_everyone(keeps_an_edit_after_apply);
	world_as_everyone(keeps_a_new_file_in_a_new_directory);
	world_as_everyone(keeps_a_file_where_one_was_deleted);
	world_as_everyone(keeps_a_file_in_a_directory_to_be_deleted);
}

/* ── Somebody hostile ── */

static const char *does_not_follow_a_parent(const char *dir)
{
	struct world w;
	const char *outside = in_dir(dir, "outside");
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT(mkdir(outside, 0755) == 0 && put_file(in_dir(outside, "f"), "outside", 0644) == 0);
	EXPECT(rename(in_dir(w.project, "m"), in_dir(dir, "moved")) == 0);
	EXPECT(symlink(outside, in_dir(w.project, "m")) == 0);
	EXPECT(world_apply(&w, false) == AIRLOCK_ERR_CONFLICT);
	EXPECT(world_execute(&w, NULL, false, true) == AIRLOCK_ERR_CONFLICT);
	EXPECT(execute_paths(&w, false, true, PATHS("m")) == AIRLOCK_ERR_CONFLICT);
	char data[16] = "";
	int fd = open(in_dir(outside, "f"), O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && read(fd, data, sizeof data - 1) == 7 && strcmp(data, "outside") == 0);
	(void)close(fd);
	EXPECT(holds(&w, "a", "old a"));
	world_done(&w);
	return NULL;
}

static const char *knows_its_root(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	EXPECT(rename(w.project, in_dir(dir, "moved")) == 0 && mkdir(w.project, 0755) == 0);
	EXPECT(world_apply(&w, false) == AIRLOCK_ERR_CONFLICT);
	EXPECT(world_is_empty_dir(w.project));
	EXPECT(rmdir(w.project) == 0 && symlink(in_dir(dir, "moved"), w.project) == 0);
	EXPECT(world_apply(&w, false) == AIRLOCK_ERR_CONFLICT);
	EXPECT(unlink(w.project) == 0 && rename(in_dir(dir, "moved"), w.project) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	world_done(&w);
	return NULL;
}

static void the_way_to_a_path_is_not_followed_elsewhere(void **state)
{
	world_as_everyone(does_not_follow_a_parent);
	world_as_everyone(knows_its_root);
}

/* ── Two at once ── */

static const char *waits_for_another(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, before, after) == 0);
	int ready[2], status = 0;
	EXPECT(pipe2(ready, O_CLOEXEC) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		_cleanup_lock_ struct lock lock = LOCK_INIT;
		int rc = lock_roots(&lock, w.locks, &w.project, 1, 0, NULL);
		struct timespec t = {.tv_nsec = 100000000};
		if (rc < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)nanosleep(&t, NULL);
		_exit(0);
	}
	char x;
	EXPECT(read(ready[0], &x, 1) == 1);
	_cleanup_lock_ struct lock lock = LOCK_INIT;
	EXPECT(lock_roots(&lock, w.locks, &w.project, 1, 20, &w.err) == AIRLOCK_ERR_BUSY);
	EXPECT(strstr(w.err.message, w.project));
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT_SAME(w.project, w.expected);
	world_done(&w);
	return NULL;
}

/* Both have read the record before either applied. */
static const char *applies_once(const char *dir)
{
	struct world w;
	int status = 0;
	EXPECT(world_make(&w, dir, before, after) == 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(world_apply(&w, false) < 0);
	int rc = world_apply(&w, false);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(rc >= 0);
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_reload(&w));
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static void one_applies_at_a_time(void **state)
{
	world_as_everyone(waits_for_another);
	world_as_everyone(applies_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_applied_and_undone_alone),
		cmocka_unit_test(nothing_of_somebody_else_is_overwritten),
		cmocka_unit_test(the_way_to_a_path_is_not_followed_elsewhere),
		cmocka_unit_test(one_applies_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
