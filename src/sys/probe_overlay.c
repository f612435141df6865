/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An overlay as a run would mount it: in its own user and mount namespace, with userxattr, through the new mount API.
 *
 *   dir/.airlock-probe-XXXXXX/   made and removed by the parent
 *       lower/kept lower/gone    before
 *       upper/                   after: kept with more in it, gone as a whiteout
 *       work/
 * The child has that directory as its working directory and names everything relative to it: fsconfig takes strings of
 * at most 255 bytes, a state directory may have a longer name.
 */
#include "sys/probe.h"

#include "sys/probe_child.h"

#include "base/macros.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* linux/mount.h and sys/mount.h disagree in some C libraries; the numbers are kernel interface. */
#define FS_SET_FLAG 0
#define FS_SET_STRING 1
#define FS_CMD_CREATE 6
#define FS_CLOEXEC 1

struct overlay_arg {
	struct probe_id_maps maps;
	char dir[PATH_MAX];
};

static long set_string(long fs, const char *key, const char *value)
{
	return raw_call5(__NR_fsconfig, fs, FS_SET_STRING, key, value, 0);
}

/* Sets the layers; r->value tells whether lowerdir+ was taken. */
static int set_layers(long fs, struct probe_report *r)
{
	long rc = set_string(fs, "lowerdir+", "lower");
	r->value = rc >= 0;
	if (rc < 0 && (rc = set_string(fs, "lowerdir", "lower")) < 0)
		return probe_stop(r, "fsconfig(lowerdir)", rc);
	if ((rc = set_string(fs, "upperdir", "upper")) < 0)
		return probe_stop(r, "fsconfig(upperdir)", rc);
	if ((rc = set_string(fs, "workdir", "work")) < 0)
		return probe_stop(r, "fsconfig(workdir)", rc);
	rc = raw_call5(__NR_fsconfig, fs, FS_SET_FLAG, "userxattr", NULL, 0);
	return rc < 0 ? probe_stop(r, "fsconfig(userxattr)", rc) : 0;
}

/* The mounted overlay's root as a descriptor (it never appears in the tree), or -1. */
static long mount_overlay(struct probe_report *r)
{
	long fs = raw_call2(__NR_fsopen, "overlay", FS_CLOEXEC);
	if (fs < 0)
		return probe_stop(r, "fsopen(overlay)", fs);
	if (set_layers(fs, r) < 0)
		return -1;
	long rc = raw_call5(__NR_fsconfig, fs, FS_CMD_CREATE, NULL, NULL, 0);
	if (rc < 0)
		return probe_stop(r, "creating the overlay", rc);
	rc = raw_call3(__NR_fsmount, fs, FS_CLOEXEC, 0);
	return rc < 0 ? probe_stop(r, "fsmount(overlay)", rc) : rc;
}

static int try_overlay(const void *arg, struct probe_report *r)
{
	const struct overlay_arg *a = arg;
	if (probe_write_id_maps(&a->maps, r) < 0)
		return -1;
	long rc = raw_call1(__NR_chdir, a->dir);
	if (rc < 0)
		return probe_stop(r, "chdir", rc);
	long root = mount_overlay(r);
	if (root < 0)
		return -1;
	long fd = raw_call4(__NR_openat, root, "kept", O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd < 0)
		return probe_stop(r, "opening a lower file for writing", fd);
	rc = raw_call3(__NR_write, fd, "new", 3);
	if (rc < 0)
		return probe_stop(r, "writing to a lower file", rc);
	rc = raw_call3(__NR_unlinkat, root, "gone", 0);
	return rc < 0 ? probe_stop(r, "removing a lower file", rc) : 0;
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

/* The directory of the picture above. 0 or -errno; what was made so far is there to be removed in either case. */
static int make_layers(int dir)
{
	static const char *const dirs[] = {"lower", "upper", "work"};
	for (size_t i = 0; i < AL_ARRAY_LEN(dirs); i++)
		if (mkdirat(dir, dirs[i], 0700) < 0)
			return -errno;
	int rc = make_file(dir, "lower/kept");
	return rc < 0 ? rc : make_file(dir, "lower/gone");
}

static void remove_children(int parent, const char *name, int depth);

/* Nobody but us can write here (0700), so names are safe to use; the kernel's work/work is mode 000. */
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

/* What the run would read afterwards; the step that is wrong, or NULL. */
static const char *look_at_upper(int dir)
{
	struct stat st;
	if (fstatat(dir, "upper/kept", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_size != 6)
		return "the changed file is not in the upper directory";
	if (fstatat(dir, "lower/kept", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size != 3)
		return "the lower file was changed";
	if (fstatat(dir, "upper/gone", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != 0)
		return "the removed file left no whiteout";
	return NULL;
}

static void overlay_in(const char *path, int dir, struct probe_report *r)
{
	struct overlay_arg arg = {.maps = probe_id_maps()};
	int rc = make_layers(dir);
	if (rc < 0) {
		*r = (struct probe_report){.step = "making the layers", .errnum = -rc};
		return;
	}
	(void)snprintf(arg.dir, sizeof arg.dir, "%s", path);
	probe_try(CLONE_NEWUSER | CLONE_NEWNS, try_overlay, &arg, r);
	const char *wrong = r->step ? NULL : look_at_upper(dir);
	if (wrong)
		*r = (struct probe_report){.step = wrong, .errnum = EIO};
}

static void overlay_probe(const char *in, struct probe_report *r)
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
		overlay_in(path, dir, r);
		remove_children(dir, ".", 3);
	}
	(void)rmdir(path);
}

void sys_probe_overlay(const char *dir, struct sys_overlay *ret)
{
	struct probe_report r = {0};
	overlay_probe(dir, &r);
	ret->lowerdir_append = !r.step && r.value;
	probe_conclude(&ret->probe, &r, "mounted one, changed and removed a file through it");
}
