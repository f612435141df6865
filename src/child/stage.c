/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stage: overlays over the roots, in namespaces of their own, before the backend runs.
 *
 * | namespaces              | uid          | capabilities           | root       | cwd |
 * | new user + mount (root: | the caller's | all, in the new user   | the host's | any |
 * | new mount); in a        |              | namespace, until exec  |            |     |
 * | session net, ipc, uts   |              |                        |            |     |
 * | of its holder           |              |                        |            |     |
 *
 * Paths are opened once and then named by descriptor (/proc/self/fd/N): nothing in a path is ever parsed as an option,
 * whatever characters it has, and nobody can swap a directory between two looks. Freestanding.
 */
#include "child/stage.h"

#include "child/child_job.h"
#include "child/gate_sockets.h"
#include "child/mounts.h"
#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <asm/statfs.h>

/* ── Namespaces ── */

/* Those of a session's holder. The commands there are hostile, and this process still sees the host: so it stays out of their pid
 * namespace. bwrap enters it, with capabilities that they do not have, and leaves its monitor outside. */
static void join_holder(uint32_t flags)
{
	mounts_progress.subject = ~0u; /* no layer's fault */
	if (flags & CHILD_STAGE_USER) {
		int around = (int)mounts_check(CHILD_OP_JOIN, r_ioctl(CHILD_FD_HOLDER_USER, NS_GET_PARENT, 0));
		mounts_check(CHILD_OP_JOIN, raw_call2(__NR_setns, around, CLONE_NEWUSER));
		(void)r_close(around);
	}
	unsigned which = CLONE_NEWIPC | CLONE_NEWUTS | (flags & CHILD_STAGE_JOIN_NETWORK ? CLONE_NEWNET : 0);
	mounts_check(CHILD_OP_JOIN, raw_call2(__NR_setns, CHILD_FD_HOLDER, which));
	(void)r_close(CHILD_FD_HOLDER);
}

static void enter_namespaces(const struct child_stage_job *job)
{
	int joins = job->flags & CHILD_STAGE_JOIN, gate = job->flags & CHILD_STAGE_GATE;
	int user = !joins && job->flags & CHILD_STAGE_USER, entered = job->flags & CHILD_STAGE_ENTER_USER;
	int network = gate && !(job->flags & CHILD_STAGE_JOIN_NETWORK);
	if (joins)
		join_holder(job->flags);
	if (entered) {
		mounts_check(CHILD_OP_UNSHARE, raw_call2(__NR_setns, CHILD_FD_USER_NS, CLONE_NEWUSER));
		(void)r_close(CHILD_FD_USER_NS);
	}
	mounts_check(CHILD_OP_UNSHARE,
		     raw_call1(__NR_unshare, CLONE_NEWNS | (user ? CLONE_NEWUSER : 0) | (network ? CLONE_NEWNET : 0)));
	int proc = mounts_open_directory(CHILD_OP_MAP, "/proc");
	if (user)
		mounts_map_user(proc, job->uid, job->gid);
	if (user || entered)
		mounts_leave_some_to_the_user(proc);
	if (network)
		gate_bring_loopback_up();
	if (gate)
		gate_open(proc);
	(void)r_close(proc);
	mounts_make_private();
}

/* ── Pins ──
 *
 * bwrap follows symlinks on its way to where it mounts, and makes missing directories: one that an earlier command put in the session's
 * /tmp could lead it to the host's files. So nothing on the way may be a symlink, and each directory is bound to itself: a
 * mount point cannot be renamed or removed by those who have it mounted, as all commands of the session do. */

/* Takes parent, returns its entry; -1 if it is the last one and does not exist. */
static int pin_entry(int parent, const char *name, int is_last)
{
	struct statx st;
	long at = raw_call4(__NR_openat, parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	if (at == -ENOENT && is_last)
		return -1;
	if (at == -ENOENT) {
		(void)raw_call3(__NR_mkdirat, parent, name, 0755);
		at = raw_call4(__NR_openat, parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	}
	mounts_check(CHILD_OP_PLACE, at);
	mounts_check(CHILD_OP_PLACE, raw_call5(__NR_statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &st));
	if ((st.stx_mode & S_IFMT) == S_IFLNK)
		mounts_check(CHILD_OP_PLACE, -ELOOP);
	(void)r_close(parent);
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) /* another one begins the same */
		return (int)at;
	long tree = raw_call3(__NR_open_tree, at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	mounts_check(CHILD_OP_PLACE, tree);
	mounts_attach((int)tree, (int)at);
	(void)r_close((int)at);
	return (int)tree;
}

static void pin(const char *dir, char *rest)
{
	int at = mounts_open_directory(CHILD_OP_PLACE, dir);
	while (*rest && at >= 0) {
		char *end = rest;
		while (*end && *end != '/')
			end++;
		int is_last = !*end;
		*end = '\0'; /* in our own copy of the job */
		at = pin_entry(at, rest, is_last);
		rest = end + !is_last;
	}
	(void)r_close(at);
}

/* ── Layers and screens ──
 *
 * A screen is mounted over a directory that layers, writable directories and named sockets may lie in. So those are opened
 * first, while their names still lead to the host's own, and put in their places when the screens are there. */

static int place_of(const char *path)
{
	return (int)mounts_check(CHILD_OP_PLACE, r_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

static void attach(int mount, const char *path)
{
	int place = place_of(path);
	mounts_attach(mount, place);
	(void)r_close(mount);
	(void)r_close(place);
}

static int make_layer(const char *base, const struct child_layer *l)
{
	int lower = mounts_open_directory(CHILD_OP_OPEN_LOWER, base + l->root.at);
	const struct mounts_lowers lowers = {base, (const void *)(base + l->lowers.at), l->n_lowers};
	int mount = mounts_overlay(lower, &lowers, base + l->upper.at, base + l->work.at);
	(void)r_close(lower);
	return mount;
}

static void mount_screen(const char *dir)
{
	long mount = mounts_screen(dir);
	if (mount < 0)
		mounts_note_exposed(dir, mount);
	else
		attach((int)mount, dir);
}

static long open_host(const char *path)
{
	return mounts_check(CHILD_OP_OPEN_SOURCE,
			    raw_call3(__NR_open_tree, AT_FDCWD, path,
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW));
}

static void mount_layers(const struct child_stage_job *job)
{
	const char *base = (const char *)job;
	const struct child_layer *layers = (const void *)(base + job->layers.at);
	const uint64_t *screens = (const void *)(base + job->screens.at), *kept = (const void *)(base + job->kept.at);
	const uint32_t n_layers = job->n_layers, n_kept = job->n_kept;
	int layer_mounts[CHILD_MAX_LAYERS];
	long kept_mounts[CHILD_MAX_KEPT];
	for (uint32_t i = 0; i < n_layers; i++) {
		mounts_progress.subject = i;
		layer_mounts[i] = make_layer(base, &layers[i]);
	}
	mounts_progress.subject = n_layers; /* whatever fails from here on is no layer's fault */
	for (uint32_t i = 0; i < n_kept; i++)
		kept_mounts[i] = open_host(base + kept[i]);
	const uint64_t *asides = (const void *)(base + job->asides.at);
	long aside_mounts[CHILD_MAX_ASIDE] = {-1, -1};
	for (uint64_t i = 0; i < job->n_asides && i < CHILD_MAX_ASIDE; i++)
		aside_mounts[i] = open_host(base + asides[i]);
	for (uint32_t i = 0; i < job->n_screens; i++)
		mount_screen(base + screens[i]);
	for (uint32_t i = 0; i < n_layers; i++)
		attach(layer_mounts[i], base + layers[i].root.at);
	for (uint32_t i = 0; i < n_kept; i++)
		attach((int)kept_mounts[i], base + kept[i]);
	if (aside_mounts[0] >= 0)
		attach((int)aside_mounts[0], CHILD_ASIDE);
	if (aside_mounts[1] >= 0)
		attach((int)aside_mounts[1], CHILD_ASIDE_2);
	mounts_tell_exposed();
}

/* ── Rebuilding ── */

static void bind_entry(int old, int new, const char *name)
{
	long tree = raw_call3(__NR_open_tree, old, name,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	struct statx st;
	if (tree < 0 || raw_call5(__NR_statx, tree, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		return; /* gone since it was listed, or unreachable: leave it out */
	if ((st.stx_mode & S_IFMT) == S_IFDIR)
		mounts_check(CHILD_OP_REBUILD, raw_call3(__NR_mkdirat, new, name, 0755));
	else
		mounts_check(CHILD_OP_REBUILD, raw_call4(__NR_mknodat, new, name, S_IFREG | 0644, 0));
	mounts_check(CHILD_OP_REBUILD, raw_call5(__NR_move_mount, tree, "", new, name, MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close((int)tree);
}

/* mkdir -p: the mount may go deeper than anything that exists. The name is in our own copy of the job. */
static void make_place(int dir, char *name, int is_file)
{
	for (char *p = name; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		long rc = raw_call3(__NR_mkdirat, dir, name, 0755);
		*p = '/';
		if (rc != -EEXIST)
			mounts_check(CHILD_OP_REBUILD, rc);
	}
	mounts_check(CHILD_OP_REBUILD, is_file ? raw_call4(__NR_mknodat, dir, name, S_IFREG | 0644, 0)
					       : raw_call3(__NR_mkdirat, dir, name, 0755));
}

/* Opened now, because their sources may be hidden by the time they are mounted: airlock's own state is. */
static void open_sources(char *base, const struct child_stage_job *job)
{
	const struct child_rebuild *rebuilds = (const void *)(base + job->rebuilds.at);
	for (uint32_t i = 0; i < job->n_rebuilds; i++) {
		struct child_entry *e = (void *)(base + rebuilds[i].entries.at);
		for (uint32_t k = 0; k < rebuilds[i].n_entries; k++) {
			if (e[k].kind != CHILD_ENTRY_MOUNT)
				continue;
			long tree = raw_call3(__NR_open_tree, AT_FDCWD, base + e[k].text.at,
					      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
			e[k].fd = (uint32_t)mounts_check(CHILD_OP_REBUILD, tree);
		}
	}
}

static void mount_entry(int dir, const struct child_entry *e, char *name)
{
	struct statx st;
	mounts_check(CHILD_OP_REBUILD, raw_call5(__NR_statx, e->fd, "", AT_EMPTY_PATH, STATX_TYPE, &st));
	make_place(dir, name, (st.stx_mode & S_IFMT) != S_IFDIR);
	mounts_check(CHILD_OP_REBUILD, raw_call5(__NR_move_mount, e->fd, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close((int)e->fd);
}

/* The last name of dir if it is directly in above, else NULL. */
static const char *name_in(const char *dir, const char *above)
{
	while (*above && *above == *dir) {
		above++;
		dir++;
	}
	if (*above || *dir++ != '/')
		return 0;
	for (const char *p = dir; *p; p++)
		if (*p == '/')
			return 0;
	return dir;
}

static int is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Removes it from the directory above, which is rebuilt later, and returns 1; 0 if that is not rebuilt. */
static int leave_out(char *base, const struct child_stage_job *job, const char *dir)
{
	const struct child_rebuild *rebuilds = (const void *)(base + job->rebuilds.at);
	int found = 0;
	for (uint32_t i = 0; i < job->n_rebuilds; i++) {
		const char *name = name_in(dir, base + rebuilds[i].dir.at);
		struct child_entry *e = (void *)(base + rebuilds[i].entries.at);
		for (uint32_t k = 0; name && k < rebuilds[i].n_entries; k++)
			if (e[k].kind == CHILD_ENTRY_BIND && is_same(base + e[k].name.at, name)) {
				e[k].kind = CHILD_ENTRY_GONE;
				found = 1;
			}
	}
	return found;
}

static void rebuild(char *base, const struct child_stage_job *job, const struct child_rebuild *r)
{
	/* Another program may have removed it since the plan was made. If it comes back, it must not be visible as it
	 * is. */
	long old = r_open(base + r->dir.at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (old == -ENOENT && leave_out(base, job, base + r->dir.at))
		return;
	mounts_check(CHILD_OP_REBUILD, old);
	int new = mounts_tmpfs(CHILD_SMALL_TMPFS, 0755);
	mounts_attach(new, (int)old);
	const struct child_entry *e = (const void *)(base + r->entries.at);
	for (uint32_t i = 0; i < r->n_entries; i++) {
		char *name = base + e[i].name.at;
		if (e[i].kind == CHILD_ENTRY_BIND)
			bind_entry((int)old, new, name);
		else if (e[i].kind == CHILD_ENTRY_SYMLINK)
			mounts_check(CHILD_OP_REBUILD, raw_call3(__NR_symlinkat, base + e[i].text.at, new, name));
		else if (e[i].kind == CHILD_ENTRY_MOUNT)
			mount_entry(new, &e[i], name);
		else if (e[i].kind != CHILD_ENTRY_GONE)
			make_place(new, name, e[i].kind == CHILD_ENTRY_FILE);
	}
	(void)r_close(new);
	(void)r_close((int)old);
}

/* ── Hiding ── */

static void cover(const char *path, int is_dir, int empty)
{
	long over = r_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_dir ? O_DIRECTORY : 0));
	if (over == -ENOENT)
		return; /* gone in the meantime: nothing to hide */
	mounts_check(CHILD_OP_COVER, over);
	long with = is_dir ? mounts_tmpfs(CHILD_SMALL_TMPFS, 0755)
			   : raw_call3(__NR_open_tree, empty, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	mounts_check(CHILD_OP_COVER, with);
	mounts_attach((int)with, (int)over);
	(void)r_close((int)with);
	(void)r_close((int)over);
}

/* ── Devices ── */

/* For kernels before mount_setattr. */
static long remount_read_only(const char *path)
{
	struct statfs64 st;
	long rc = raw_call2(__NR_statfs, path, &st);
	/* The flags of a mount that is not the caller's own must not be removed; they have the same values here and
	 * there. */
	unsigned long keep =
		(unsigned long)st.f_flags & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME);
	return rc < 0 ? rc : raw_call5(__NR_mount, 0, path, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | keep, 0);
}

/* The backend binds these into the sandbox. They belong to root, whose chmod would reach the host's file; everybody's
 * touch does. A read-only mount protects their inodes and still lets everybody use the devices. */
static void guard_device(const char *path)
{
	long tree = raw_call3(__NR_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree == -ENOENT)
		return;
	mounts_check(CHILD_OP_COVER, tree);
	long rc = mounts_restrict((int)tree, MOUNT_ATTR_RDONLY, 0);
	mounts_check(CHILD_OP_COVER, raw_call5(__NR_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
	mounts_check(CHILD_OP_COVER, rc == -ENOSYS ? remount_read_only(path) : rc);
	(void)r_close((int)tree);
}

static void guard_devices(void)
{
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					      "/dev/random", "/dev/urandom", "/dev/tty"};
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		guard_device(devices[i]);
}

void stage_main(void)
{
	mounts_progress.stage = CHILD_STAGE_LAYER;
	struct child_stage_job *job = mounts_map_file(CHILD_FD_STAGE);
	char *base = (char *)job;
	enter_namespaces(job);
	guard_devices();
	const struct child_pin *pins = (const void *)(base + job->pins.at);
	mounts_progress.subject = ~0u; /* no layer's fault */
	for (uint64_t i = 0; i < job->n_pins; i++)
		pin(base + pins[i].dir.at, base + pins[i].rest.at);
	open_sources(base, job);
	/* Before a screen covers it. If it is missing, no file is covered. */
	int empty = job->empty.at ? (int)r_open(base + job->empty.at, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	mount_layers(job);
	const struct child_rebuild *rebuilds = (const void *)(base + job->rebuilds.at);
	const struct child_cover *covers = (const void *)(base + job->covers.at);
	for (uint32_t i = 0; i < job->n_covers; i++)
		cover(base + covers[i].path.at, (int)covers[i].is_dir, empty);
	/* The deepest first, so that those above bind the rebuilt directory and not what it covers. */
	for (uint32_t i = job->n_rebuilds; i > 0; i--)
		rebuild(base, job, &rebuilds[i - 1]);
	int64_t *argv = (void *)(base + job->argv.at);
	for (int64_t *a = argv; *a; a++)
		*a += (int64_t)(intptr_t)base;
	const char *no_environment[] = {0};
	mounts_check(CHILD_OP_EXEC, raw_call3(__NR_execve, base + job->file.at, argv, no_environment));
	r_exit(1);
}
