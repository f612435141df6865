/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* I4: killed before any system call that changes something, or refused by it, applying and undoing leave the old tree or the
 * new one once the next start has recovered, and nothing else. Every such call of the library goes through here. */
#include "apply_world.h"

#include "base/hash.h"

#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#define KILLED 77
#define PLAIN_STEPS 230 /* about here the steps of a transaction without flags begin */
#define PLAIN_STEPS_END 320

/* ── Faults ── */

static struct {
	long at;       /* the call to strike, from 1; 0: none */
	long calls;    /* so far */
	int errnum;    /* what it fails with; 0: the process dies */
	bool for_good; /* all later ones fail too */
} fault;

static bool strikes(void)
{
	fault.calls++;
	if (fault.at == 0 || fault.calls < fault.at || (fault.calls > fault.at && !fault.for_good))
		return false;
	if (fault.errnum == 0)
		_exit(KILLED);
	errno = fault.errnum;
	return true;
}

#define WRAP(type, name, params, args)                                                                                 \
	type __real_##name params;                                                                                     \
	type __wrap_##name params;                                                                                     \
	type __wrap_##name params                                                                                      \
	{                                                                                                              \
		return strikes() ? (type)-1 : __real_##name args;                                                      \
	}

WRAP(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
WRAP(int, mkdirat, (int a, const char *b, mode_t c), (a, b, c))
WRAP(int, mkdir, (const char *a, mode_t b), (a, b))
WRAP(int, unlinkat, (int a, const char *b, int c), (a, b, c))
WRAP(int, symlinkat, (const char *a, int b, const char *c), (a, b, c))
WRAP(int, mknodat, (int a, const char *b, mode_t c, dev_t d), (a, b, c, d))
WRAP(int, chmod, (const char *a, mode_t b), (a, b))
WRAP(int, fchmod, (int a, mode_t b), (a, b))
WRAP(int, fchownat, (int a, const char *b, uid_t c, gid_t d, int e), (a, b, c, d, e))
WRAP(int, utimensat, (int a, const char *b, const struct timespec *c, int d), (a, b, c, d))
WRAP(int, setxattr, (const char *a, const char *b, const void *c, size_t d, int e), (a, b, c, d, e))
WRAP(int, removexattr, (const char *a, const char *b), (a, b))
WRAP(int, ftruncate64, (int a, off_t b), (a, b))
WRAP(ssize_t, pwrite64, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, write, (int a, const void *b, size_t c), (a, b, c))
WRAP(ssize_t, copy_file_range, (int a, off_t *b, int c, off_t *d, size_t e, unsigned f), (a, b, c, d, e, f))

/* Those that the C library has no function for. */
#define NR_REMOVEXATTRAT 466
long __real_syscall(long n, ...);
long __wrap_syscall(long n, ...);
long __wrap_syscall(long n, ...)
{
	long v[6];
	va_list ap;
	va_start(ap, n);
	for (size_t i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	if (n == NR_REMOVEXATTRAT && strikes())
		return -1;
	return __real_syscall(n, v[0], v[1], v[2], v[3], v[4], v[5]);
}

/* A file system whose renames take no flags, as NFS and most of FUSE; some have no hard links either. */
static struct {
	bool on, no_links, elsewhere;
} plain;

/* Directories that cannot be renamed, as those of an overlay's lower layer. */
static struct {
	bool on;
	ino_t v[64];
	size_t n;
} fixed;

static bool is_fixed(int dirfd, const char *name)
{
	struct stat st;
	if (!fixed.on || fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	for (size_t i = 0; i < fixed.n; i++)
		if (fixed.v[i] == st.st_ino)
			return true;
	return false;
}

int __real_renameat2(int a, const char *b, int c, const char *d, unsigned e);
int __wrap_renameat2(int a, const char *b, int c, const char *d, unsigned e);
int __wrap_renameat2(int a, const char *b, int c, const char *d, unsigned e)
{
	if (strikes())
		return -1;
	if (plain.on && e != 0) {
		bool asks = strcmp(b, "nothing") == 0; /* whether both are on one file system */
		errno = asks && plain.elsewhere ? EXDEV : EINVAL;
		return -1;
	}
	if (!is_fixed(a, b) && !is_fixed(c, d))
		return __real_renameat2(a, b, c, d, e);
	errno = EXDEV;
	return -1;
}

int __real_linkat(int a, const char *b, int c, const char *d, int e);
int __wrap_linkat(int a, const char *b, int c, const char *d, int e);
int __wrap_linkat(int a, const char *b, int c, const char *d, int e)
{
	if (strikes())
		return -1;
	if (!plain.no_links)
		return __real_linkat(a, b, c, d, e);
	errno = EPERM;
	return -1;
}

/* Not carried out: they cost most of the time and change nothing that a process can see. */
int __wrap_fsync(int fd)
{
	return strikes() ? -1 : 0;
}

int __wrap_syncfs(int fd)
{
	return strikes() ? -1 : 0;
}

int __real_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	if (flags & O_CREAT) {
		va_list ap;
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
		if (strikes())
			return -1;
	}
	return __real_openat64(dirfd, path, flags, mode);
}

static void arm(long at, int errnum)
{
	fault.at = at;
	fault.errnum = errnum;
	fault.calls = 0;
	fault.for_good = false;
}

/* ── Scenarios ── */

struct scenario {
	const char *name;
	const struct node *before, *after;
};

static const struct node one_before[] = {{'f', "a", "old"}, {'f', "b", "other"}, {0}};
static const struct node one_after[] = {{'f', "a", "new"}, {'f', "b", "other"}, {0}};

static const struct node all_before[] = {
	{'f', "modified", "old text"},
	{'f', "mode", "text", 0600},
	{'f', "renamed from", "a text that is long enough to be told from others"},
	{'d', "gone"},
	{'f', "gone/a", "a"},
	{'d', "gone/deep", NULL, 0555},
	{'f', "gone/deep/b", "b"},
	{'d', "dir to file"},
	{'f', "dir to file/c", "c"},
	{'f', "file to dir", "text"},
	{'l', "link to dir", "gone"},
	{'d', "meta", NULL, 0755, "old"},
	{'f', "meta/d", "d"},
	{'d', "locked", NULL, 0555},
	{'f', "locked/e", "e"},
	{'l', "link", "old target"},
	{'d', "untouched"},
	{'f', "untouched/f", "f"},
	{0},
};
static const struct node all_after[] = {
	{'f', "modified", "new text, longer than the old one"},
	{'f', "mode", "text", 0755},
	{'f', "renamed to", "a text that is long enough to be told from others"},
	{'f', "dir to file", "now a file"},
	{'d', "file to dir", NULL, 0700, "new"},
	{'f', "file to dir/g", "g"},
	{'d', "link to dir"},
	{'f', "link to dir/h", "h", 0444},
	{'d', "meta", NULL, 0750, "new"},
	{'f', "meta/d", "changed d"},
	{'d', "locked", NULL, 0555},
	{'f', "locked/e", "changed e"},
	{'f', "locked/new", "new"},
	{'l', "link", "new target"},
	{'d', "untouched"},
	{'f', "untouched/f", "f"},
	{'d', "added"},
	{'d', "added/sub", NULL, 0500},
	{'f', "added/sub/i", "i", 0400, "value"},
	{'l', "added/j", "sub/i"},
	{0},
};

/* New names of files that stay as they are. */
static const struct node names_before[] = {
	{'f', "a", "a text"}, {'d', "dir"}, {'f', "dir/b", "", 0400}, {'f', "changed", "old"}, {0}};
static const struct node names_after[] = {{'f', "a", "a text"},
					  {'d', "dir"},
					  {'f', "dir/b", "", 0400},
					  {'h', "dir/too", "a"},
					  {'h', "again", "a"},
					  {'d', "new"},
					  {'h', "new/b", "dir/b"},
					  {'f', "changed", "new"},
					  {0}};

static const struct scenario names = {"names", names_before, names_after};
static const struct scenario one_file = {"one file", one_before, one_after};
static const struct scenario everything = {"everything", all_before, all_after};

/* ── One trial ── */

struct trial {
	const struct scenario *scenario;
	const char *dir, *state_base;
	bool undo;
	bool older;  /* the journal is one of an airlock that did not know stages in the layer */
	long stride; /* every so many calls: disks are slow */
	long first;  /* so many calls are left out before the first */
	int number;
	struct world twins; /* made once */
	struct world w;
};

static char report[8000];

static const char *wrong(const struct trial *t, long at, const char *what)
{
	(void)snprintf(report, sizeof report, "%s, %s, call %ld: %s %s", t->scenario->name, t->undo ? "undo" : "apply",
		       at, what, t->w.err.message);
	return report;
}

/* The project is as an image of a container has it. */
static void fix_directories(const char *project)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	fixed.n = 0;
	int event = fs_walk_start(&w, open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (event >= 0 && (event = fs_walk_next(&w)) > 0)
		if (event == FS_WALK_DIR && fs_walk_enter(&w) == 0)
			fixed.v[fixed.n++ % 64] = fs_walk_dir(&w)->ino;
}

/* A world in which the transaction is about to begin. */
static int set_up(struct trial *t)
{
	char here[600], state[600];
	arm(0, 0);
	t->number++;
	(void)snprintf(here, sizeof here, "%.500s/%d", t->dir, t->number);
	(void)snprintf(state, sizeof state, "%.500s/s%d", t->state_base, t->number);
	if (mkdir(here, 0755) < 0 || mkdir(state, 0700) < 0)
		return -1;
	world_paths(&t->w, here, state);
	if (!t->twins.dir) {
		world_paths(&t->twins, t->dir, t->dir);
		if (world_make_twins(&t->twins, t->scenario->before, t->scenario->after) < 0)
			return -1;
	}
	t->w.original = t->twins.original;
	t->w.expected = t->twins.expected;
	if (world_make_live(&t->w, t->scenario->before, t->scenario->after) < 0)
		return -1;
	fix_directories(t->w.project);
	return t->undo ? world_apply(&t->w, false) : 0;
}

static void unlock_all(const char *path)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int event = fs_walk_start(&w, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		if (event != FS_WALK_DIR)
			continue;
		(void)fchmodat(fs_walk_dirfd(&w), w.name, 0700, 0);
		(void)fs_walk_enter(&w);
	}
}

static void tear_down(struct trial *t)
{
	char here[600], state[600];
	(void)snprintf(here, sizeof here, "%.500s/%d", t->dir, t->number);
	(void)snprintf(state, sizeof state, "%.500s/s%d", t->state_base, t->number);
	arm(0, 0);
	world_done(&t->w);
	const char *both[] = {here, state};
	for (int i = 0; i < 2; i++) {
		if (geteuid() != 0)
			unlock_all(both[i]);
		(void)nftw(both[i], identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
}

/* Runs it in a child that dies at a call. 1: it died, 0: it came to its end. */
static int run_killed(struct trial *t, long at, bool recover)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		arm(at, 0);
		int rc = recover ? world_recover(&t->w, NULL) : world_apply(&t->w, t->undo);
		_exit(rc < 0 ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == KILLED ? 1 : WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* The flags of an operation are its fifth word. */
static void forget_layer(char *line)
{
	char *flags = line;
	for (int i = 0; i < 4 && flags; i++)
		flags = strchr(flags + 1, ' ');
	if (flags && strcspn(flags + 1, " ") == 1 && flags[1] == 'l')
		flags[1] = '-';
}

static bool begins_part(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0 && line[strlen(word)] == ' ';
}

/* Each part's sum is that of everything before it. */
static int make_older(const char *dir, const char *name)
{
	_cleanup_buf_ struct buf old = BUF_INIT, new = BUF_INIT;
	const char *path = in_dir(dir, name);
	if (fs_read_file(path, 1 << 20, &old, NULL) < 0)
		return -1;
	for (char *line = old.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		char sum[65];
		*end = '\0';
		bool closes = begins_part(line, "ready") || begins_part(line, "commit") || begins_part(line, "back");
		hash_sha256_hex(buf_str(&new), new.len, sum);
		if (begins_part(line, "op"))
			forget_layer(line);
		buf_add(&new, line, closes ? strcspn(line, " ") + 1 : strlen(line));
		buf_adds(&new, closes ? sum : "");
		buf_addc(&new, '\n');
	}
	return new.failed ? -1 : fs_write_private_file(path, new.data, new.len, NULL);
}

static int make_all_older(const char *dir)
{
	int rc = 0;
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && rc == 0 && (e = readdir(d));)
		rc = e->d_name[0] == '.' ? 0 : make_older(dir, e->d_name);
	if (d)
		(void)closedir(d);
	return rc;
}

/* One of the two trees, the record says which, and both ways are open from there. */
static const char *check_settled(struct trial *t, long at)
{
	struct world *w = &t->w;
	const char *not_old = world_differs(w->project, w->original);
	_cleanup_free_ char *old_text = not_old ? strdup(not_old) : NULL;
	const char *not_new = world_differs(w->project, w->expected);
	if (not_old && not_new) {
		char text[2500];
		(void)snprintf(text, sizeof text, "neither old (%s) nor new (%s)", old_text, not_new);
		return wrong(t, at, text);
	}
	if (!world_is_empty_dir(w->journal))
		return wrong(t, at, "a journal is left");
	if (world_reload(w) < 0)
		return wrong(t, at, "no record");
	enum change_state all = not_new ? CHANGE_HELD : CHANGE_APPLIED;
	for (size_t i = 0; i < w->set->n; i++)
		if (w->set->v[i].state != all)
			return wrong(t, at, w->set->v[i].path);
	if (world_apply(w, !not_new) < 0)
		return wrong(t, at, "it cannot go on");
	const char *differs = world_differs(w->project, not_new ? w->expected : w->original);
	return differs ? wrong(t, at, differs) : NULL;
}

static long points; /* how many faults were tried */

/* ── Killed ── */

static const char *kill_at_every_call(struct trial *t)
{
	for (long at = 1 + t->first;; at += t->stride) {
		size_t recovered = 0;
		if (set_up(t) < 0)
			return wrong(t, at, "no world");
		int died = run_killed(t, at, false);
		if (died < 0)
			return wrong(t, at, "failed without a fault");
		points += died;
		if (t->older && make_all_older(t->w.journal) < 0)
			return wrong(t, at, "no older journal");
		if (world_recover(&t->w, &recovered) < 0)
			return wrong(t, at, "no recovery");
		const char *bad = check_settled(t, at);
		tear_down(t);
		if (bad || !died)
			return bad;
	}
}

/* The same while recovering; once more what was recovered is left alone. */
static const char *kill_recovery_at_every_call(struct trial *t, long at)
{
	for (long again = 1;; again += 2) {
		size_t recovered = 1;
		if (set_up(t) < 0 || run_killed(t, at, false) < 0)
			return wrong(t, at, "no world");
		int died = run_killed(t, again, true);
		if (died < 0)
			return wrong(t, again, "recovery failed without a fault");
		points += died;
		if (world_recover(&t->w, NULL) < 0 || world_recover(&t->w, &recovered) < 0 || recovered != 0)
			return wrong(t, again, "no recovery");
		const char *bad = check_settled(t, again);
		tear_down(t);
		if (bad || !died)
			return bad;
	}
}

/* In the middle of the steps; on one file system that is about there. */
static const char *kill_some_recoveries(struct trial *t)
{
	const char *bad = kill_recovery_at_every_call(t, 25);
	return bad ? bad : kill_recovery_at_every_call(t, 40);
}

/* ── Refused ── */

/* An error is one, or it did not matter. What is not settled then the next start settles. */
static const char *fail_at_every_call(struct trial *t, bool for_good)
{
	static const int errors[] = {EIO, ENOSPC, EACCES, EDQUOT, EROFS};
	for (long at = 1 + t->first;; at += t->stride) {
		if (set_up(t) < 0)
			return wrong(t, at, "no world");
		arm(at, errors[at % 5]);
		fault.for_good = for_good;
		int rc = world_apply(&t->w, t->undo);
		bool struck = fault.calls >= at;
		arm(0, 0);
		points += struck;
		const char *new = t->undo ? t->w.original : t->w.expected,
			   *old = t->undo ? t->w.expected : t->w.original;
		if (world_is_empty_dir(t->w.journal)) {
			const char *differs = world_differs(t->w.project, rc < 0 ? old : new);
			if (differs)
				return wrong(t, at, differs);
		}
		if (world_recover(&t->w, NULL) < 0)
			return wrong(t, at, "no recovery");
		const char *bad = check_settled(t, at);
		tear_down(t);
		if (bad || !struck)
			return bad;
	}
}

/* Each call is refused once; and some of them, and everything from then on. */
static const char *fail_in_every_way(struct trial *t)
{
	const char *bad = fail_at_every_call(t, false);
	t->stride *= 3;
	bad = bad ? bad : fail_at_every_call(t, true);
	t->stride /= 3;
	return bad;
}

/* ── Places ── */

static const char *both_directions(struct trial *t, const char *(*check)(struct trial *))
{
	points = 0;
	t->undo = false;
	const char *bad = check(t);
	t->undo = true;
	bad = bad ? bad : check(t);
	(void)fprintf(stderr, "# %s: %ld faults, uid %u\n", t->scenario->name, points, geteuid());
	return bad;
}

static const char *on_one_fs(const char *dir, const struct scenario *s, const char *(*check)(struct trial *))
{
	/* an image is tried twice, renaming and copying: most calls are those of the other tests */
	long stride = fixed.on && !getenv("AIRLOCK_TEST_LONG") ? 5 : 1;
	struct trial t = {.scenario = s, .dir = dir, .state_base = dir, .stride = stride};
	return both_directions(&t, check);
}

/* dir is in memory; root has the project there, everybody else the state. */
static const char *across(const char *dir, const char *(*check)(struct trial *))
{
	char disk[] = "/tmp/airlock-test-XXXXXX";
	EXPECT(mkdtemp(disk));
	bool project_in_memory = geteuid() == 0;
	struct trial t = {.scenario = &everything,
			  .dir = project_in_memory ? dir : disk,
			  .state_base = project_in_memory ? disk : dir,
			  .stride = getenv("AIRLOCK_TEST_LONG") ? 1 : 13};
	const char *bad = both_directions(&t, check);
	(void)nftw(disk, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return bad;
}

static const char *killed_with_one_file(const char *dir)
{
	return on_one_fs(dir, &one_file, kill_at_every_call);
}

static const char *killed_with_everything(const char *dir)
{
	return on_one_fs(dir, &everything, kill_at_every_call);
}

static const char *killed_with_names(const char *dir)
{
	return on_one_fs(dir, &names, kill_at_every_call);
}

static const char *killed_in_recovery_with_names(const char *dir)
{
	return on_one_fs(dir, &names, kill_some_recoveries);
}

static const char *refused_with_names(const char *dir)
{
	return on_one_fs(dir, &names, fail_in_every_way);
}

static const char *killed_as_older(const char *dir)
{
	struct trial t = {.scenario = &everything, .dir = dir, .state_base = dir, .stride = 3, .older = true};
	return both_directions(&t, kill_at_every_call);
}

static const char *killed_across(const char *dir)
{
	return across(dir, kill_at_every_call);
}

static const char *killed_in_recovery(const char *dir)
{
	return on_one_fs(dir, &everything, kill_some_recoveries);
}

static const char *killed_in_an_image(const char *dir)
{
	fixed.on = true;
	return on_one_fs(dir, &everything, kill_at_every_call);
}

static const char *refused_in_an_image(const char *dir)
{
	fixed.on = true;
	return on_one_fs(dir, &everything, fail_in_every_way);
}

/* With hard links the state is elsewhere, so every call is one of the plain way. Without them it is on the same file system,
 * and the first attempt, with flags, fails. */
static struct trial plain_trial(const char *dir, bool links, long stride)
{
	plain.on = plain.elsewhere = true;
	if (!links) {
		plain.no_links = true;
		plain.elsewhere = false;
	}
	return (struct trial){.scenario = &everything,
			      .dir = dir,
			      .state_base = dir,
			      .stride = getenv("AIRLOCK_TEST_LONG") ? 1 : stride,
			      .first = geteuid() != 0}; /* the two identities take turns */
}

static const char *killed_in_plain(const char *dir)
{
	struct trial t = plain_trial(dir, true, 2);
	return both_directions(&t, kill_at_every_call);
}

static const char *killed_in_plain_with_names(const char *dir)
{
	struct trial t = plain_trial(dir, true, 2);
	t.scenario = &names;
	return both_directions(&t, kill_at_every_call);
}

static const char *killed_in_plain_without_links(const char *dir)
{
	struct trial t = plain_trial(dir, false, 6);
	return both_directions(&t, kill_at_every_call);
}

static const char *kill_plain_recoveries(struct trial *t)
{
	const char *bad = NULL;
	for (long at = PLAIN_STEPS; at < PLAIN_STEPS_END && !bad; at += t->stride)
		bad = kill_recovery_at_every_call(t, at);
	return bad;
}

static const char *killed_in_plain_recovery(const char *dir)
{
	struct trial t = plain_trial(dir, true, 45);
	return both_directions(&t, kill_plain_recoveries);
}

static const char *refused_in_plain(const char *dir)
{
	struct trial t = plain_trial(dir, true, 8);
	return both_directions(&t, fail_in_every_way);
}

static const char *refused_in_plain_without_links(const char *dir)
{
	struct trial t = plain_trial(dir, false, 20);
	return both_directions(&t, fail_in_every_way);
}

static const char *refused_with_one_file(const char *dir)
{
	return on_one_fs(dir, &one_file, fail_in_every_way);
}

static const char *refused_with_everything(const char *dir)
{
	return on_one_fs(dir, &everything, fail_in_every_way);
}

static const char *refused_across(const char *dir)
{
	return across(dir, fail_in_every_way);
}

static void a_killed_apply_is_recovered(void **state)
{
	world_as_everyone(killed_with_one_file);
	world_as_everyone(killed_with_everything);
}

static void new_names_of_live_files_are_recovered(void **state)
{
	world_as_everyone(killed_with_names);
	world_as_everyone(killed_in_recovery_with_names);
	world_as_everyone(refused_with_names);
	world_as_everyone(killed_in_plain_with_names);
}

static void a_killed_recovery_is_recovered(void **state)
{
	world_as_everyone(killed_in_recovery);
}

static void a_journal_of_an_older_version_is_recovered(void **state)
{
	world_as_everyone(killed_as_older);
}

static void a_refused_call_changes_nothing(void **state)
{
	world_as_everyone(refused_with_one_file);
	world_as_everyone(refused_with_everything);
}

static void directories_that_cannot_be_renamed_are_recovered(void **state)
{
	world_as_everyone(killed_in_an_image);
	world_as_everyone(refused_in_an_image);
}

static void renames_without_flags_are_recovered(void **state)
{
	world_as_everyone(killed_in_plain);
	world_as_everyone(killed_in_plain_without_links);
	world_as_everyone(killed_in_plain_recovery);
	world_as_everyone(refused_in_plain);
	world_as_everyone(refused_in_plain_without_links);
}

static void need_two_file_systems(void)
{
	if (world_has_memory())
		return;
	print_message("needs: " WORLD_MEMORY " on another file system than /tmp\n");
	skip();
}

static void a_killed_apply_across_file_systems_is_recovered(void **state)
{
	need_two_file_systems();
	world_as_everyone(killed_across);
}

static void a_refused_call_across_file_systems_changes_nothing(void **state)
{
	need_two_file_systems();
	world_as_everyone(refused_across);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_apply_is_recovered),
		cmocka_unit_test(new_names_of_live_files_are_recovered),
		cmocka_unit_test(a_killed_recovery_is_recovered),
		cmocka_unit_test(a_journal_of_an_older_version_is_recovered),
		cmocka_unit_test(a_refused_call_changes_nothing),
		cmocka_unit_test(directories_that_cannot_be_renamed_are_recovered),
		cmocka_unit_test(renames_without_flags_are_recovered),
		cmocka_unit_test(a_killed_apply_across_file_systems_is_recovered),
		cmocka_unit_test(a_refused_call_across_file_systems_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
