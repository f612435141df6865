/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An overlay as a run would mount it: by the same function (raw_overlay.h), with the same privileges.
 *
 *   dir/.airlock-probe-XXXXXX/      made and removed by the parent
 *       lower/kept gone old/file    before
 *       upper/                      after: kept with more in it, gone and old as whiteouts
 *       work/
 *       over/ over-work/            upper and work directory over a directory of the caller's, which is only mounted
 * To remove a directory of the lower layer, overlayfs marks a new one as opaque with an extended attribute. A file system that has
 * none for users (tmpfs before Linux 6.6) lets the overlay be mounted and answers EIO only then, hence `old`.
 */
#include "sys/probe.h"

#include "sys/probe_child.h"
#include "sys/raw_overlay.h"

#include "base/macros.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Value of the report: the failure concerns the caller's directory. */
enum { OVER_OURS, OVER_CALLERS };

struct overlay_arg {
	bool new_user; /* as runs do if the caller has no privileges */
	struct probe_id_maps maps;
	char dir[PATH_MAX];
	const char *over; /* may be NULL */
};

static long open_directory(const char *path)
{
	return raw_call4(__NR_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* The root of the mounted overlay as a descriptor (it never appears in the tree), or -1. */
static long mount_overlay(const char *over, const char *upper, const char *work, struct probe_report *r)
{
	static const char *const steps[] = {[RAW_OVERLAY_OPEN] = "fsopen(overlay)",
					    [RAW_OVERLAY_OPTION] = "fsconfig(overlay)",
					    [RAW_OVERLAY_CREATE] = "creating the overlay",
					    [RAW_OVERLAY_MOUNT] = "fsmount(overlay)",
					    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text */
					    [RAW_OVERLAY_WORKDIR] = "chdir(" RAW_OVERLAY_FDS ")"};
	int lower = (int)open_directory(over);
	struct raw_overlay o = {
		.lower = &lower, .n_lower = 1, .upper = (int)open_directory(upper), .work = (int)open_directory(work)};
	enum raw_overlay_step step = RAW_OVERLAY_OPEN;
	if (lower < 0 || o.upper < 0 || o.work < 0)
		return probe_stop(r, "opening the layers", lower < 0 ? lower : o.upper < 0 ? o.upper : o.work);
	long root = raw_overlay_mount(&o, &step);
	return root < 0 ? probe_stop(r, steps[step], root) : root;
}

/* Does what commands do to files of the lower directory: write, rename, remove. */
static int change_files(long root, struct probe_report *r)
{
	long fd = raw_call4(__NR_openat, root, "kept", O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd < 0)
		return probe_stop(r, "opening a lower file for writing", fd);
	long rc = raw_call3(__NR_write, fd, "new", 3);
	if (rc < 0)
		return probe_stop(r, "writing to a lower file", rc);
	rc = raw_call3(__NR_unlinkat, root, "gone", 0);
	if (rc < 0)
		return probe_stop(r, "removing a lower file", rc);
	rc = raw_call3(__NR_unlinkat, root, "old/file", 0);
	if (rc == 0)
		rc = raw_call3(__NR_unlinkat, root, "old", AT_REMOVEDIR);
	return rc < 0 ? probe_stop(r, "removing a lower directory", rc) : 0;
}

static int try_overlay(const void *arg, struct probe_report *r)
{
	const struct overlay_arg *a = arg;
	if (a->new_user && probe_write_id_maps(&a->maps, r) < 0)
		return -1;
	long rc = raw_call1(__NR_chdir, a->dir);
	if (rc < 0)
		return probe_stop(r, "chdir", rc);
	long root = mount_overlay("lower", "upper", "work", r);
	if (root < 0 || change_files(root, r) < 0)
		return -1;
	if (!a->over)
		return 0;
	r->value = OVER_CALLERS;
	return mount_overlay(a->over, "over", "over-work", r) < 0 ? -1 : 0;
}

static int make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int rc = write(fd, "old", 3) == 3 ? 0 : -EIO;
	(void)close(fd);
	return rc;
}

/* Makes the directory of the picture above. Returns 0 or -errno; what was made so far must be removed in either case.
 */
static int make_layers(int dir)
{
	static const char *const dirs[] = {"lower", "lower/old", "upper", "work", "over", "over-work"};
	static const char *const files[] = {"lower/kept", "lower/gone", "lower/old/file"};
	for (size_t i = 0; i < AL_ARRAY_LEN(dirs); i++)
		if (mkdirat(dir, dirs[i], 0700) < 0)
			return -errno;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(files); i++)
		rc = make_file(dir, files[i]);
	return rc;
}

static void remove_children(int parent, const char *name, int depth);

/* Only we can write here (0700), so names are safe; the kernel's work/work has mode 000. */
static void remove_entry(int dir, const char *name, int depth)
{
	if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0 || depth == 0)
		return;
	(void)fchmodat(dir, name, 0700, 0);
	remove_children(dir, name, depth - 1);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

static void remove_children(int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		base_closep(&fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_entry(dirfd(d), e->d_name, depth);
	(void)closedir(d);
}

static bool is_whiteout(int dir, const char *path)
{
	struct stat st;
	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0;
}

/* Checks what a run would read afterwards; returns the wrong step, or NULL. */
static const char *look_at_upper(int dir)
{
	struct stat st;
	if (fstatat(dir, "upper/kept", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_size != 6)
		return "the changed file is not in the upper directory";
	if (fstatat(dir, "lower/kept", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size != 3)
		return "the lower file was changed";
	if (!is_whiteout(dir, "upper/gone"))
		return "the removed file left no whiteout";
	return is_whiteout(dir, "upper/old") ? NULL : "the removed directory left no whiteout";
}

static void overlay_in(const char *path, int dir, const char *over, struct probe_report *r)
{
	struct overlay_arg arg = {.new_user = !raw_may_mount(), .maps = probe_id_maps(), .over = over};
	int rc = make_layers(dir);
	if (rc < 0) {
		*r = (struct probe_report){.step = "making the layers", .errnum = -rc};
		return;
	}
	(void)snprintf(arg.dir, sizeof arg.dir, "%s", path);
	probe_try(CLONE_NEWNS | (arg.new_user ? CLONE_NEWUSER : 0), try_overlay, &arg, r);
	const char *wrong = r->step ? NULL : look_at_upper(dir);
	if (wrong)
		*r = (struct probe_report){.step = wrong, .errnum = EIO};
}

static void overlay_probe(const char *in, const char *over, struct probe_report *r)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/.airlock-probe-XXXXXX", in);
	bool fits = n > 0 && (size_t)n < sizeof path;
	if (!fits || !mkdtemp(path)) {
		*r = (struct probe_report){.step = "making a temporary directory",
					   .errnum = fits ? errno : ENAMETOOLONG};
		return;
	}
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0) {
		*r = (struct probe_report){.step = "opening the temporary directory", .errnum = errno};
	} else {
		overlay_in(path, dir, over, r);
		remove_children(dir, ".", 5); /* work/work/incompat/volatile is the deepest */
	}
	(void)rmdir(path);
}

void sys_probe_overlay(const char *dir, const char *over, struct sys_probe *ret)
{
	struct probe_report r = {0};
	overlay_probe(dir, over, &r);
	probe_conclude(ret, &r, "mounted one, changed a file through it, removed a file and a directory");
	if (r.step && r.value == OVER_CALLERS)
		(void)snprintf(ret->detail, sizeof ret->detail, "%s over %.150s: %s", r.step, over,
			       strerrordesc_np(r.errnum));
}
