/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan, the look for conflicts, and the copy of a project, when memory runs out or a call fails, at every place where that can happen: an error
 * or a note, every mode put back, every descriptor closed; never half a truth. */
#include "scan_world.h"

#include "change/scan/copy.h"
#include "fs/fs.h"

#include <sys/xattr.h>

/* The call to fail: the countdown-th of this kind from now. 0: none. */
enum kind { MEMORY, LOOK, OPEN, READ, LIST, LOOK_OPEN, BIRTH, KINDS };
static enum kind failing;
static long countdown;

static bool fails(enum kind kind, int errnum)
{
	if (kind != failing || countdown == 0 || --countdown > 0)
		return false;
	errno = errnum;
	return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __real_openat64(int fd, const char *name, int flags, mode_t mode);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __real_getdents64(int fd, void *to, size_t n);
int __real_fstat64(int fd, struct stat *st);
int __real_statx(int fd, const char *name, int flags, unsigned mask, struct statx *stx);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_openat64(int fd, const char *name, int flags, mode_t mode);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_getdents64(int fd, void *to, size_t n);
int __wrap_fstat64(int fd, struct stat *st);
int __wrap_statx(int fd, const char *name, int flags, unsigned mask, struct statx *stx);

void *__wrap_malloc(size_t n)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails(MEMORY, ENOMEM) ? NULL : __real_strndup(s, n);
}

int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags)
{
	return fails(LOOK, EIO) ? -1 : __real_fstatat64(fd, name, st, flags);
}

int __wrap_openat64(int fd, const char *name, int flags, mode_t mode)
{
	return fails(OPEN, EMFILE) ? -1 : __real_openat64(fd, name, flags, mode);
}

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
	return fails(READ, EIO) ? -1 : __real_pread64(fd, to, n, at);
}

ssize_t __wrap_getdents64(int fd, void *to, size_t n)
{
	return fails(LIST, EIO) ? -1 : __real_getdents64(fd, to, n);
}

int __wrap_fstat64(int fd, struct stat *st)
{
	return fails(LOOK_OPEN, EIO) ? -1 : __real_fstat64(fd, st);
}

int __wrap_statx(int fd, const char *name, int flags, unsigned mask, struct statx *stx)
{
	return fails(BIRTH, EIO) ? -1 : __real_statx(fd, name, flags, mask, stx);
}

/* ── A layer with something of everything ── */

static int make_layer(const char *dir)
{
	int rc = world_make(dir,
			    "umask 022; mkdir -p same opaque/in gone/deep locked; echo 1 >same/a; echo 2 >same/b; "
			    "echo 3 >opaque/in/f; echo 4 >gone/deep/f; echo moved >gone/m; echo moved >gone/n; "
			    "ln -s t gone/l; echo 5 >locked/f; ln -s t same/l; mkdir -p same/x/y; echo 1 >same/x/y/z");
	if (rc != 0 || setxattr(in_dir(dir, "lower/same/a"), "user.x", "1", 1, 0) < 0)
		return -1;
	return world_shell(dir,
			   "echo 9 >same/a; touch same/b; chmod 600 same/x/y; rm -r opaque gone; mkdir opaque new; "
			   "echo moved >new/m; echo moved >new/o; ln -s t new/l; echo 6 >locked/f; chmod 0 locked/f "
			   "locked; ln -sfn u same/l; mkdir -p new/p/q; echo 7 >new/p/q/r; chmod 0 new/p; mkfifo fifo");
}

static size_t count_fds(void)
{
	size_t n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static bool is_locked(const char *dir)
{
	struct stat a, b;
	return lstat(in_dir(dir, "upper/locked"), &a) == 0 && lstat(in_dir(dir, "upper/new/p"), &b) == 0 &&
	       (a.st_mode & 07777) == 0 && (b.st_mode & 07777) == 0;
}

static struct change_set *new_set(const char *dir)
{
	struct change_set *set = change_set_new("run");
	return change_set_add_root(set, in_dir(dir, "lower"), in_dir(dir, "upper"), NULL) == 0 ? set : NULL;
}

/* One scan with one fault. 1: there was none left to make. */
static int scan_with_fault(const char *dir, enum kind kind, long at, size_t whole, const char **wrong)
{
	_cleanup_changes_ struct change_set *set = new_set(dir);
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	struct airlock_error err = {0};
	size_t fds = count_fds();
	failing = kind;
	countdown = at;
	int rc = change_scan(set, &notes, &err);
	bool spent = countdown == 0;
	countdown = 0;
	/* Putting a mode back may be what fails; then that is the error. */
	bool excused =
		rc < 0 && strcmp(err.op, "chmod") == 0 && world_host(dir, "chmod 0 upper/locked upper/new/p") == 0;
	if (count_fds() != fds)
		*wrong = "a descriptor is left open";
	else if (!excused && !is_locked(dir))
		*wrong = "a mode was not put back";
	else if (rc < 0 && err.code != rc)
		*wrong = "an error without words";
	else if (rc < 0 && rc != (kind == MEMORY ? AIRLOCK_ERR_INTERNAL : AIRLOCK_ERR_IO))
		*wrong = "another error than expected";
	else if (rc == 0 && spent && (kind == MEMORY || kind == OPEN) && set->n != whole)
		*wrong = "less was found, and nothing said";
	return !spent;
}

static const char *check_faults(const char *dir)
{
	static char text[256];
	EXPECT(make_layer(dir) == 0 && is_locked(dir));
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n > 15);
	for (enum kind kind = MEMORY; kind <= LIST; kind++) {
		long at = 1;
		const char *wrong = NULL;
		while (!wrong && scan_with_fault(dir, kind, at, set->n, &wrong) == 0)
			at++;
		(void)snprintf(text, sizeof text, "%s (kind %d, call %ld)", wrong ? wrong : "", (int)kind, at);
		if (wrong)
			return text;
		EXPECT(at > 5);
	}
	EXPECT(world_host(dir, "chmod -R u+rwx upper") == 0);
	return NULL;
}

static void every_call_may_fail(void **state)
{
	as_everyone(check_faults);
}

/* Reading a record back, out of memory everywhere. */
static const char *check_record(const char *dir)
{
	char file[128];
	(void)snprintf(file, sizeof file, "%s/changes", dir);
	EXPECT(make_layer(dir) == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && change_set_save(set, file, NULL) == 0);
	long at = 0;
	int rc = -1;
	while (rc < 0) {
		_cleanup_changes_ struct change_set *back = NULL;
		struct airlock_error err = {0};
		failing = MEMORY;
		countdown = ++at;
		rc = change_set_load(file, &back, &err);
		bool spent = countdown == 0;
		countdown = 0;
		EXPECT(rc == 0 ? !spent && back->n == set->n : rc == AIRLOCK_ERR_INTERNAL && !back);
	}
	EXPECT(at > 20 && world_host(dir, "chmod -R u+rwx upper") == 0);
	return NULL;
}

static void a_record_is_read_whole_or_not(void **state)
{
	as_everyone(check_record);
}

/* What the machine cannot say is nobody's change. */
static const char *check_conflicts(const char *dir)
{
	EXPECT(make_layer(dir) == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && world_host(dir, "chmod -R u+rwx upper") == 0);
	set->started_ns = INT64_MAX;
	EXPECT(conflict_check(set, NULL, NULL) == 0);
	for (enum kind kind = MEMORY; kind < KINDS; kind++) {
		bool spent = true;
		for (long at = 1; spent; at++) {
			struct airlock_error err = {0};
			failing = kind;
			countdown = at;
			int rc = conflict_check(set, NULL, &err);
			spent = countdown == 0;
			countdown = 0;
			EXPECT(rc <= 0 && err.code == rc);
			EXPECT(rc == 0 || rc == (kind == MEMORY ? AIRLOCK_ERR_INTERNAL : AIRLOCK_ERR_IO));
			EXPECT(rc < 0 || !spent || (kind != LOOK && kind != BIRTH));
		}
	}
	return NULL;
}

static void an_error_is_no_conflict(void **state)
{
	as_everyone(check_conflicts);
}

/* ── A copy of the project, for want of a layer ── */

static int copy_with_fault(const char *dir, enum kind kind, long at, bool *ret_spent, struct airlock_error *err)
{
	char root[128], to[128];
	struct copy_limits limits = {.bytes = 1 << 20, .entries = 1000};
	struct copy_origins origins = {0};
	(void)snprintf(root, sizeof root, "%s/lower", dir);
	(void)snprintf(to, sizeof to, "%s/copy", dir);
	if (mkdir(to, 0700) < 0)
		return -1;
	failing = kind;
	countdown = at;
	int rc = copy_take(root, to, &limits, &origins, err);
	*ret_spent = countdown == 0;
	countdown = 0;
	copy_origins_done(&origins);
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int removed = fs_remove_tree_at(dir_fd, "copy", NULL, NULL);
	(void)close(dir_fd);
	return removed < 0 ? removed : rc;
}

static bool has_mode(const char *dir, const char *path, mode_t mode)
{
	struct stat st;
	return lstat(in_dir(dir, path), &st) == 0 && (st.st_mode & 07777) == mode;
}

static const char *check_copy(const char *dir)
{
	static char text[256];
	EXPECT(make_layer(dir) == 0 &&
	       world_host(dir, "chmod 500 lower/gone; chmod 0 lower/gone/deep lower/locked") == 0);
	for (enum kind kind = MEMORY; kind < KINDS; kind++) {
		bool spent = true;
		for (long at = 1; spent; at++) {
			struct airlock_error err = {0};
			size_t fds = count_fds();
			int rc = copy_with_fault(dir, kind, at, &spent, &err);
			const char *wrong = rc != err.code	 ? "an error without words"
					    : !spent && rc != 0	 ? "it cannot be copied at all"
					    : count_fds() != fds ? "a descriptor is left open"
					    : rc < 0 && rc != (kind == MEMORY ? AIRLOCK_ERR_INTERNAL : AIRLOCK_ERR_IO)
						    ? "another error than expected"
						    : NULL;
			(void)snprintf(text, sizeof text, "%s (kind %d, call %ld: %.100s)", wrong ? wrong : "",
				       (int)kind, at, err.message);
			if (wrong)
				return text;
			EXPECT(has_mode(dir, "lower/gone", 0500));
			EXPECT(has_mode(dir, "lower/locked", 0));
		}
	}
	EXPECT(world_host(dir, "chmod -R u+rwx lower upper") == 0);
	return NULL;
}

static void a_copy_is_whole_or_an_error(void **state)
{
	as_everyone(check_copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_may_fail),
		cmocka_unit_test(a_record_is_read_whole_or_not),
		cmocka_unit_test(an_error_is_no_conflict),
		cmocka_unit_test(a_copy_is_whole_or_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
