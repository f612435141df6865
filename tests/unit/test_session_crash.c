/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* I4 for sessions: killed before any system call that changes something, recording a step, squash, rewind, fork, merge, apply, discard,
 * undo and end leave the session and the project as they were or as they should be, never between; and what is held can be applied.
 *
 * Each trial makes a world of its own: a project and a session with some steps, whose layers are made by hand as the kernel leaves
 * them. A child does the operation and dies at the n-th call; then everything is looked at through the public interface. */
#include "identities.h"

#include "base/buf.h"
#include "base/path.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "history/begun.h"
#include "history/run_id.h"
#include "session/session_parts.h"

#include <airlock/history.h>
#include <airlock/session.h>

#include <dirent.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <time.h>

#define KILLED 77
#define MANY_STEPS SESSION_DEEP
#define STRIDE 9 /* `make session-crash` tries every call */

/* ── Faults ── */

static struct {
	long at;    /* the call to die at, from 1; 0: none */
	long calls; /* so far */
} fault;

static void strike(void)
{
	if (++fault.calls == fault.at)
		_exit(KILLED);
}

#define WRAP(type, name, params, args)                                                                                 \
	type __real_##name params;                                                                                     \
	type __wrap_##name params;                                                                                     \
	type __wrap_##name params                                                                                      \
	{                                                                                                              \
		strike();                                                                                              \
		return __real_##name args;                                                                             \
	}

WRAP(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
WRAP(int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e))
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
WRAP(int, mkdirat, (int a, const char *b, mode_t c), (a, b, c))
WRAP(int, mkdir, (const char *a, mode_t b), (a, b))
WRAP(int, rmdir, (const char *a), (a))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, unlinkat, (int a, const char *b, int c), (a, b, c))
WRAP(int, symlinkat, (const char *a, int b, const char *c), (a, b, c))
WRAP(int, mknodat, (int a, const char *b, mode_t c, dev_t d), (a, b, c, d))
WRAP(int, chmod, (const char *a, mode_t b), (a, b))
WRAP(int, fchmod, (int a, mode_t b), (a, b))
WRAP(int, utimensat, (int a, const char *b, const struct timespec *c, int d), (a, b, c, d))
WRAP(int, setxattr, (const char *a, const char *b, const void *c, size_t d, int e), (a, b, c, d, e))
WRAP(int, ftruncate64, (int a, off_t b), (a, b))
WRAP(ssize_t, pwrite64, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, write, (int a, const void *b, size_t c), (a, b, c))
WRAP(ssize_t, copy_file_range, (int a, off_t *b, int c, off_t *d, size_t e, unsigned f), (a, b, c, d, e, f))

/* Not carried out: they cost most of the time and change nothing that a process can see. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	strike();
	return 0;
}

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
	strike();
	return 0;
}

#define MODE_OF(flags, mode)                                                                                           \
	if ((flags)&O_CREAT) {                                                                                         \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		mode = va_arg(ap, mode_t);                                                                             \
		va_end(ap);                                                                                            \
		strike();                                                                                              \
	}

int __real_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode)
	return __real_openat64(dirfd, path, flags, mode);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode)
	return __real_open64(path, flags, mode);
}

/* ── The world ── */

static const char *home; /* not in /dev, which every sandbox has its own of */

struct world {
	char dir[600], project[640], state[700];
	struct host host;
	struct airlock_settings *settings;
	struct airlock_error err;
	/* A layer that is about to become a step. */
	struct change_set *set;
	char *run_dir;
};

/* A file of a layer. text NULL: a whiteout; "/": a directory, "//": one that replaces what was there. */
struct entry {
	const char *path, *text;
};

static const struct entry project_files[] = {{"a", "a"},
					     {"b", "b"},
					     {"dir", "/"},
					     {"dir/c", "c"},
					     {"dir/d", "d"},
					     {"gone", "/"},
					     {"gone/e", "e"},
					     {"text", "1\n2\n3\n4\n5\n6\n7\n"},
					     {0}};
static const struct entry first[] = {
	{"n1", "new 1"}, {"text", "one\n2\n3\n4\n5\n6\n7\n"}, {"dir", "/"}, {"dir/d", NULL}, {0}};
static const struct entry second[] = {{"gone", NULL}, {"dir", "/"}, {"dir/c", "changed c"}, {"n1", "newer 1"}, {0}};
static const struct entry third[] = {{"n3", "new 3"}, {"b", NULL},    {"a", "changed a"},
				     {"new", "//"},   {"new/f", "f"}, {0}};
static const struct entry others[] = {{"m", "m"}, {"text", "1\n2\n3\n4\n5\n6\nseven\n"}, {0}};

static int put_entries(const char *dir, const struct entry *e)
{
	for (; e->path; e++) {
		const char *path = in_dir(dir, e->path);
		int rc;
		if (!e->text)
			rc = mknod(path, S_IFCHR | 0600, 0);
		else if (e->text[0] == '/')
			rc = mkdir(path, 0755);
		else
			rc = put_file(path, e->text, 0644);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* The layer of a command, scanned against the project. A run scans it against the session's view, but mounting that takes most of the
 * time, and nothing here depends on it. */
static int make_layer(struct world *w, const struct entry *entries)
{
	char id[48];
	const char *runs = in_dir(w->state, "runs");
	struct stat st;
	change_set_free(w->set);
	w->set = NULL;
	base_freep(&w->run_dir);
	if (fs_make_private_dir(runs, &w->err) < 0 || run_id_claim(runs, id, sizeof id, &w->run_dir, &w->err) < 0)
		return -1;
	_cleanup_free_ char *upper = strdup(in_dir(w->run_dir, "upper/overlay1"));
	w->set = change_set_new(id);
	if (!upper || !w->set || fs_make_private_dir(upper, &w->err) < 0 || stat(upper, &st) < 0 ||
	    change_set_add_root(w->set, w->project, upper, &w->err) < 0)
		return -1;
	w->set->started_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	return put_entries(upper, entries) < 0 ? -1 : change_scan(w->set, NULL, &w->err);
}

static int add_step(struct world *w, const char *session, const struct entry *entries)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {&w->host, w->project};
	uint64_t step = 0;
	if (make_layer(w, entries) < 0 || session_open(&s, &at, session, SESSION_LOOK, &w->err) < 0)
		return -1;
	const struct session_begun begun = {s.turns, s.n_steps};
	const struct session_command command = {w->set->run, w->run_dir, "command", 0};
	int rc = session_add_step(&at, session, &begun, &command, w->set, &step, &w->err);
	return rc < 0 || step == 0 ? -1 : 0;
}

static int new_session(struct world *w, const char *name)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	return session_create(&s, &(struct session_place){&w->host, w->project}, name, true, &w->err);
}

static int world_make(struct world *w, const char *dir)
{
	*w = (struct world){0};
	(void)snprintf(w->dir, sizeof w->dir, "%.500s", dir);
	(void)snprintf(w->project, sizeof w->project, "%s/project", w->dir);
	char environment[3][800];
	(void)snprintf(w->state, sizeof w->state, "%s/state/airlock", w->dir);
	(void)snprintf(environment[0], sizeof environment[0], "HOME=%s", home);
	(void)snprintf(environment[1], sizeof environment[1], "XDG_STATE_HOME=%s/state", w->dir);
	(void)snprintf(environment[2], sizeof environment[2], "PATH=/usr/bin:/bin");
	char *const envp[] = {environment[0], environment[1], environment[2], NULL};
	w->settings = airlock_settings_new();
	if (mkdir(w->dir, 0755) < 0 || mkdir(w->project, 0755) < 0 || !w->settings ||
	    airlock_settings_set_environ(w->settings, envp, &w->err) < 0 ||
	    airlock_settings_set(w->settings, "project", w->project, "test", &w->err) < 0 ||
	    host_init(w->settings, &w->host, &w->err) < 0)
		return -1;
	if (put_entries(w->project, project_files) < 0)
		return -1;
	/* The layers are made in a later tick of the clock: what changes after that is somebody else's. */
	(void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	return new_session(w, "s") < 0 || add_step(w, "s", first) < 0 || add_step(w, "s", second) < 0 ? -1 : 0;
}

static void world_done(struct world *w)
{
	change_set_free(w->set);
	base_freep(&w->run_dir);
	host_done(&w->host);
	airlock_settings_free(w->settings);
	(void)nftw(w->dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ── What is there ── */

static void describe_tree(const char *dir, struct buf *out)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = path_join(dir, names[i]->d_name);
		struct stat st;
		_cleanup_buf_ struct buf text = BUF_INIT;
		if (names[i]->d_name[0] != '.' && path && lstat(path, &st) == 0) {
			buf_printf(out, " %s", names[i]->d_name);
			if (S_ISDIR(st.st_mode)) {
				buf_adds(out, "(");
				describe_tree(path, out);
				buf_adds(out, ")");
			} else if (fs_read_file(path, 1000, &text, NULL) == 0)
				buf_printf(out, "=%s", buf_str(&text));
		}
		free(names[i]);
	}
	free(names);
}

/* What the next command sees over the project. */
static int describe_layers(struct world *w, const char *name, struct buf *out)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {&w->host, w->project};
	struct session_layer merged = {0};
	static int number;
	char dir[700];
	(void)snprintf(dir, sizeof dir, "%s/merged.%d", w->dir, ++number);
	int rc = session_open(&s, &at, name, SESSION_LOOK, &w->err);
	if (rc == 0)
		rc = session_merge_layers(&s, 0, s.n_layers, dir, FOLD_LINK, &merged, &w->err);
	buf_adds(out, "\n  layers:");
	if (rc == 0 && merged.uppers.n > 0)
		describe_tree(merged.uppers.v[0], out);
	session_layer_done(&merged);
	return rc;
}

/* Nothing that is different each time: no run, no time. */
static int describe_session(struct world *w, const char *name, struct buf *out)
{
	struct airlock_session *s = NULL;
	buf_printf(out, "\nsession %s:", name);
	if (!airlock_session_exists(w->settings, name)) {
		buf_adds(out, " none");
		return 0;
	}
	int rc = airlock_session_open(w->settings, name, &s, &w->err);
	if (rc < 0)
		return rc;
	const struct airlock_changes *changes = airlock_session_changes(s);
	buf_printf(out, " %s", airlock_session_state_name(airlock_session_info(s)->state));
	for (size_t i = 0; i < airlock_session_step_count(s); i++) {
		const struct airlock_session_step *step = airlock_session_step_at(s, i);
		buf_printf(out, " step %llu (%zu)", (unsigned long long)step->number, (size_t)step->count);
	}
	for (size_t i = 0; i < airlock_changes_count(changes); i++) {
		const struct airlock_change *c = airlock_changes_at(changes, i);
		buf_printf(out, "\n  %s %s %s", airlock_change_kind_name(c->kind), c->path,
			   airlock_change_state_name(c->state));
	}
	airlock_session_free(s);
	return describe_layers(w, name, out);
}

static int describe(struct world *w, struct buf *out)
{
	static const char *const names[] = {"s", "t", "fork"};
	buf_adds(out, "project:");
	describe_tree(w->project, out);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(names); i++)
		rc = describe_session(w, names[i], out);
	return rc;
}

/* What a person gets who applies what is held then. */
static int describe_end(struct world *w, long at, struct buf *out)
{
	struct airlock_gc *garbage = NULL;
	struct airlock_changes *changes = NULL;
	/* Not each time: it waits for the database on the disk. */
	int rc = at % 16 ? 0 : airlock_gc_run(w->settings, 0, &garbage, &w->err);
	airlock_gc_free(garbage);
	if (rc == 0)
		rc = airlock_changes_apply_merged(w->settings, "s", NULL, &changes, &w->err);
	airlock_changes_free(changes);
	buf_adds(out, "\nin the end:");
	describe_tree(w->project, out);
	return rc == AIRLOCK_ERR_NOT_FOUND ? 0 : rc;
}

/* ── Operations ── */

static int nothing(struct world *w)
{
	return 0;
}

static int with_layer(struct world *w)
{
	return make_layer(w, third);
}

/* As a run does it, but for the command: the record of the beginning leads to the layer if airlock dies. */
static int record_step(struct world *w)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {&w->host, w->project};
	const struct session_command command = {w->set->run, w->run_dir, "command", 0};
	const struct session_begun begun = {0, 2};
	struct begun b = {.run = w->set->run,
			  .command = "command",
			  .project = w->project,
			  .working_dir = w->project,
			  .asked_by = "test",
			  .started_ns = w->set->started_ns,
			  .session = "s",
			  .last_step = 2};
	uint64_t step = 0;
	struct change_set empty = {.run = w->set->run,
				   .roots = w->set->roots,
				   .n_roots = w->set->n_roots,
				   .started_ns = w->set->started_ns};
	b.set = &empty;
	b.boot_ns = INT64_MAX / 2; /* the clock was not set back */
	long at_call = fault.at;
	fault.at = 0; /* without the record it would be lost, and the command has not begun yet */
	if (session_open(&s, &at, "s", SESSION_LOOK, &w->err) < 0)
		return -1;
	session_lowers(&s, w->project, &b.lowers);
	for (size_t i = 0; i < b.lowers.n; i++)
		strs_add(&b.lower_roots, w->project);
	int fd = begun_write(&w->host, &b, &w->err);
	strs_done(&b.lowers);
	strs_done(&b.lower_roots);
	if (fd < 0)
		return -1;
	fault.at = at_call;
	fault.calls = 0;
	int rc = session_add_step(&at, "s", &begun, &command, w->set, &step, &w->err);
	begun_remove(&w->host, w->set->run);
	(void)close(fd);
	return rc < 0 || step != 3 ? -1 : 0;
}

static int with_many_steps(struct world *w)
{
	static char texts[MANY_STEPS][8];
	for (int i = 2; i < MANY_STEPS; i++) {
		(void)snprintf(texts[i], sizeof texts[i], "%d", i);
		const struct entry entries[] = {{"n1", texts[i]}, {i % 2 ? "odd" : "even", texts[i]}, {0}};
		if (add_step(w, "s", entries) < 0)
			return -1;
	}
	return 0;
}

static int squash(struct world *w)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = {&w->host, w->project};
	int rc = session_open(&s, &at, "s", SESSION_LOCK, &w->err);
	return rc < 0 ? rc : session_squash(&s, &w->host, &w->err);
}

static int with_squashed(struct world *w)
{
	return with_many_steps(w) < 0 || squash(w) < 0 ? -1 : 0;
}

static int rewind_one(struct world *w)
{
	return airlock_session_rewind(w->settings, "s", 1, &w->err);
}

static int rewind_into_squashed(struct world *w)
{
	return airlock_session_rewind(w->settings, "s", 5, &w->err);
}

static int fork_it(struct world *w)
{
	return airlock_session_fork(w->settings, "s", "fork", &w->err);
}

static int end_it(struct world *w)
{
	return airlock_session_end(w->settings, "s", &w->err);
}

static int with_other(struct world *w)
{
	return new_session(w, "t") < 0 || add_step(w, "t", others) < 0 ? -1 : 0;
}

static int merge(struct world *w)
{
	uint64_t step = 0;
	_cleanup_free_ char *conflicts = NULL;
	return airlock_session_merge(w->settings, "t", "s", &step, &conflicts, &w->err);
}

static int look(struct world *w)
{
	struct airlock_session *s = NULL;
	int rc = airlock_session_open(w->settings, "s", &s, &w->err);
	airlock_session_free(s);
	return rc;
}

static const char *const some_paths[] = {"text", "gone", NULL};

static int apply_paths(struct world *w, const char *const *paths)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_apply(w->settings, "s", paths, 0, &changes, &w->err);
	airlock_changes_free(changes);
	return rc;
}

static int apply_all(struct world *w)
{
	return apply_paths(w, NULL);
}

static int apply_some(struct world *w)
{
	return apply_paths(w, some_paths);
}

static int apply_merged(struct world *w)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_apply_merged(w->settings, "s", NULL, &changes, &w->err);
	airlock_changes_free(changes);
	return rc;
}

static int with_edit(struct world *w)
{
	return put_file(in_dir(w->project, "text"), "1\n2\n3\n4\n5\n6\nmine\n", 0644);
}

static int discard_some(struct world *w)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_discard(w->settings, "s", some_paths, &changes, &w->err);
	airlock_changes_free(changes);
	return rc;
}

static int undo(struct world *w)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_undo(w->settings, "s", NULL, 0, &changes, &w->err);
	airlock_changes_free(changes);
	return rc;
}

static int apply_and_step(struct world *w)
{
	return apply_some(w) < 0 || add_step(w, "s", third) < 0 ? -1 : 0;
}

static const struct operation {
	const char *name;
	int (*prepare)(struct world *w);
	int (*act)(struct world *w);
	bool must_be_new; /* nothing may be lost: the command had run */
} operations[] = {{"record a step", with_layer, record_step, true},
		  {"look", nothing, look},
		  {"squash", with_many_steps, squash},
		  {"rewind", nothing, rewind_one},
		  {"rewind into squashed layers", with_squashed, rewind_into_squashed},
		  {"fork", nothing, fork_it},
		  {"end", nothing, end_it},
		  {"merge", with_other, merge},
		  {"apply", nothing, apply_all},
		  {"apply some", nothing, apply_some},
		  {"apply what was looked at", look, apply_all},
		  {"apply with edits", with_edit, apply_merged},
		  {"discard", nothing, discard_some},
		  {"undo", apply_all, undo},
		  {"undo with newer steps", apply_and_step, undo}};

/* ── Trials ── */

static char report[8000];

static const char *wrong(const struct operation *o, long at, const char *what, const struct world *w, const char *a,
			 const char *b)
{
	(void)snprintf(report, sizeof report, "%s, call %ld: %s %s\n%s\n%s", o->name, at, what, w->err.message, a, b);
	return report;
}

/* In a world of its own, killed at that call; 0: never. *ret_killed says whether it was. */
static const char *try(const struct operation *o, const char *dir, long at, bool act, bool *ret_killed, struct buf *ret,
		       struct buf *ret_end)
{
	struct world w;
	char here[600];
	static int number;
	struct airlock_recovery *recovery = NULL;
	(void)snprintf(here, sizeof here, "%.500s/%d", dir, ++number);
	fault.at = 0;
	if (world_make(&w, here) < 0 || o->prepare(&w) < 0)
		return wrong(o, at, "the world could not be made:", &w, "", "");
	pid_t pid = act ? fork() : -1;
	int status = 0;
	if (pid == 0) {
		fault.calls = 0;
		fault.at = at;
		int rc = o->act(&w);
		_exit(rc < 0 ? 1 : 0);
	}
	if (act && (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != KILLED)))
		return wrong(o, at, "the operation failed", &w, "", "");
	*ret_killed = act && WEXITSTATUS(status) == KILLED;
	int rc = airlock_recover(w.settings, &recovery, &w.err);
	airlock_recovery_free(recovery);
	if (rc < 0 || describe(&w, ret) < 0)
		return wrong(o, at, "cannot be looked at afterwards:", &w, buf_str(ret), "");
	if (describe_end(&w, at, ret_end) < 0)
		return wrong(o, at, "cannot be applied afterwards:", &w, buf_str(ret), buf_str(ret_end));
	world_done(&w);
	return NULL;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return strcmp(buf_str(a), buf_str(b)) == 0;
}

static long points;

static const char *kill_at_every_call(const struct operation *o, const char *dir)
{
	_cleanup_buf_ struct buf old = BUF_INIT, old_end = BUF_INIT, new = BUF_INIT, new_end = BUF_INIT;
	bool killed = false;
	const char *fault_text = try(o, dir, 0, false, &killed, &old, &old_end);
	if (!fault_text)
		fault_text = try(o, dir, 0, true, &killed, &new, &new_end);
	if (!fault_text && strcmp(o->name, "look") != 0 && strcmp(o->name, "squash") != 0 && same(&old, &new))
		return wrong(o, 0, "it does nothing", &(struct world){0}, buf_str(&old), "");
	/* Root and an ordinary user begin at different calls. */
	long stride = getenv("EVERY_CALL") ? 1 : STRIDE;
	for (long at = stride == 1 ? 1 : geteuid() ? 3 : 1; !fault_text; at += stride) {
		_cleanup_buf_ struct buf now = BUF_INIT, end = BUF_INIT;
		fault_text = try(o, dir, at, true, &killed, &now, &end);
		if (fault_text)
			break;
		points++;
		bool is_old = same(&now, &old) && same(&end, &old_end) && !o->must_be_new;
		bool is_new = same(&now, &new) && same(&end, &new_end);
		if (!is_old && !is_new) {
			(void)printf("# old: %s%s\n# new: %s%s\n", buf_str(&old), buf_str(&old_end), buf_str(&new),
				     buf_str(&new_end));
			fault_text =
				wrong(o, at, "neither old nor new:", &(struct world){0}, buf_str(&now), buf_str(&end));
		}
		if (!killed)
			break;
	}
	return fault_text;
}

static const char *kill_all_in(const char *dir)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(operations); i++) {
		long before = points;
		const char *fault_text = kill_at_every_call(&operations[i], dir);
		if (fault_text)
			return fault_text;
		(void)printf("# %s: %ld points\n", operations[i].name, points - before);
		(void)fflush(stdout);
	}
	return NULL;
}

/* In memory where that can hold layers: on a disk most of the time goes into making and removing directories. */
static const char *kill_all(const char *dir)
{
	char fast[] = "/dev/shm/airlock-test-XXXXXX";
	bool is_fast = mkdtemp(fast) && setxattr(fast, "user.test", "x", 1, 0) == 0;
	home = dir;
	const char *fault_text = kill_all_in(is_fast ? fast : dir);
	(void)nftw(fast, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return fault_text;
}

static void a_killed_operation_leaves_the_old_or_the_new_session(void **state)
{
	as_everyone(kill_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_killed_operation_leaves_the_old_or_the_new_session)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
