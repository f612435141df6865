/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The native backend's plan, carried out: what the command will see.
 *
 * | namespaces                   | uid          | capabilities             | root and cwd           |
 * | the plan's; the user one     | the caller's | all, in the user         | the host's, until      |
 * | last where the caller is     |              | namespace the mounts     | pivot_root; then the   |
 * | privileged                   |              | belong to; at the end 0, | sandbox's              |
 * |                              |              | or KEPT_WITH_IDS         |                        |
 *
 * Theory of operation. The sandbox's root is mounted over the host's "/". Whoever had the old root keeps seeing it, so
 * sources are found by their host paths and targets beneath the descriptor of the new root, with openat2 and as they will
 * resolve inside. Nothing is mounted by name, nothing in a path is parsed, and nothing is read back from the mount table.
 * At the end the root is exchanged and the old one detached. Every bind is nosuid and nodev with everything below it.
 *
 * A privileged caller makes the mounts first and enters its user namespace afterwards: an overlay made inside could not copy
 * up files of owners the namespace does not know. Freestanding.
 */
#include "child/view.h"

#include "child/mounts.h"
#include "child/child_prestart.h"
#include "child/gate_sockets.h"
#include "child/pass.h"
#include "child/raw_calls.h"

#include <asm/ioctls.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/stat.h>

#define UMOUNT_DETACH 2

static char *base; /* the plan: its offsets count from here */
static int root_fd;

/* ── Places ── */

/* As the path will resolve inside; the last component is not followed. */
static long find(const char *path, unsigned flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | flags,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd;
	do
		fd = raw_call4(__NR_openat2, root_fd, path, &how, sizeof how);
	while (fd == -EAGAIN);
	return fd;
}

static char *last_slash(char *path)
{
	char *last = path;
	for (char *p = path; *p; p++)
		if (*p == '/')
			last = p;
	return last;
}

/* Commands of a session have one /tmp: another one that starts now may have made the place. */
static void check_made(long rc)
{
	if (rc != -EEXIST)
		mounts_check(CHILD_OP_PLACE, rc);
}

static int make_directory(char *path);

/* The directory above a path, made if it is missing. *ret_name: the last component. */
static int parent_of(char *path, const char **ret_name)
{
	char *slash = last_slash(path);
	*ret_name = slash + 1;
	if (slash == path)
		return (int)mounts_check(CHILD_OP_PLACE, find("/", O_DIRECTORY));
	*slash = '\0';
	int fd = make_directory(path);
	*slash = '/';
	return fd;
}

static int make_directory(char *path)
{
	long fd = find(path, O_DIRECTORY);
	if (fd != -ENOENT)
		return (int)mounts_check(CHILD_OP_PLACE, fd);
	const char *name;
	int parent = parent_of(path, &name);
	check_made(raw_call3(__NR_mkdirat, parent, name, 0755));
	(void)r_close(parent);
	return (int)mounts_check(CHILD_OP_PLACE, find(path, O_DIRECTORY));
}

/* A prestarted sandbox is used only as long as names mean the same files: they must be those that the supervisor looked at. */
static void check_same(enum child_op op, int fd, const struct child_identity *id)
{
	struct statx st;
	if (id->inode == 0)
		return;
	mounts_check(op, raw_call5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &st));
	if (st.stx_ino != id->inode || st.stx_dev_major != id->major || st.stx_dev_minor != id->minor)
		mounts_check(op, -ESTALE);
}

static int is_directory(int fd)
{
	struct statx st;
	mounts_check(CHILD_OP_OPEN_SOURCE, raw_call5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st));
	if ((st.stx_mode & S_IFMT) == S_IFLNK) /* it was something else when we looked for the plan */
		mounts_check(CHILD_OP_OPEN_SOURCE, -ELOOP);
	return (st.stx_mode & S_IFMT) == S_IFDIR;
}

/* Where a mount goes. Missing directories are made, but only in the sandbox's own file systems: the host's are
 * read-only here or have their mount points. */
static int place_for(char *path, int mount)
{
	if (is_directory(mount))
		return make_directory(path);
	long fd = find(path, 0);
	if (fd != -ENOENT)
		return (int)mounts_check(CHILD_OP_PLACE, fd);
	const char *name;
	int parent = parent_of(path, &name);
	check_made(raw_call4(__NR_mknodat, parent, name, S_IFREG | 0444, 0));
	(void)r_close(parent);
	return (int)mounts_check(CHILD_OP_PLACE, find(path, 0));
}

/* Rooms: small file systems of ours that directories of the host are rebuilt in. What is made in one is nobody else's, and needs no path
 * through the whole sandbox. The plan is sorted, so we keep the last one and those around it. */
#define MAX_ROOMS 8

static struct {
	const char *path; /* in the plan */
	size_t len;
	long fd;
} rooms[MAX_ROOMS];
static size_t n_rooms;

static void leave_room(void)
{
	if (rooms[--n_rooms].fd >= 0)
		(void)r_close((int)rooms[n_rooms].fd);
}

static void forget_rooms(void)
{
	while (n_rooms > 0)
		leave_room();
}

/* The part of the path below the innermost room that it lies in; NULL: it lies in none. Leaves the others. */
static char *rest_in_room(char *path)
{
	for (; n_rooms > 0; leave_room()) {
		const char *room = rooms[n_rooms - 1].path;
		size_t i = 0, len = rooms[n_rooms - 1].len;
		while (i < len && path[i] == room[i])
			i++;
		if (i == len && path[len] == '/')
			return path + len + 1;
	}
	return 0;
}

static void remember_room(char *path)
{
	(void)rest_in_room(path);
	if (n_rooms == MAX_ROOMS)
		leave_room();
	rooms[n_rooms].path = path;
	for (rooms[n_rooms].len = 0; path[rooms[n_rooms].len]; rooms[n_rooms].len++)
		;
	rooms[n_rooms++].fd = find(path, O_DIRECTORY);
}

/* Makes one component of a path below a room. False if it is there already and it is the first: something may lie in the way then. Behind a
 * first one that we made a moment ago there is nothing. */
static int make_in_room(long room, const char *rest, int is_first, int as_directory)
{
	long rc = as_directory ? raw_call3(__NR_mkdirat, room, rest, 0755)
			       : raw_call4(__NR_mknodat, room, rest, S_IFREG | 0444, 0);
	if (is_first && rc == -EEXIST)
		return 0;
	mounts_check(CHILD_OP_PLACE, rc);
	return 1;
}

/* Mounts it if the path lies in a room and is new there; then returns 1. */
static int put_in_room(int mount, char *path)
{
	char *rest = rest_in_room(path);
	long room = rest ? rooms[n_rooms - 1].fd : -1;
	int is_first = 1;
	if (room < 0)
		return 0;
	for (char *p = rest; *p; p++)
		if (*p == '/') {
			*p = '\0';
			int made = make_in_room(room, rest, is_first, 1);
			*p = '/';
			if (!made)
				return 0;
			is_first = 0;
		}
	if (!make_in_room(room, rest, is_first, is_directory(mount)))
		return 0;
	mounts_check(CHILD_OP_MOUNT, raw_call5(__NR_move_mount, mount, "", room, rest, MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close(mount);
	return 1;
}

/* Takes the mount. The host may replace a file that is to be hidden between the look and the mount: passwd(1) and many
 * others write a new file and rename it. Then the new one must be hidden. */
static void put(int mount, char *path, const struct child_identity *place_is)
{
	long rc = -ENOENT;
	if (place_is->inode == 0 && put_in_room(mount, path))
		return;
	for (int tries = 0; tries < 100 && rc == -ENOENT; tries++) {
		int place = place_for(path, mount);
		check_same(CHILD_OP_PLACE, place, place_is);
		rc = mounts_try_attach(mount, place);
		(void)r_close(place);
	}
	mounts_check(CHILD_OP_MOUNT, rc);
	(void)r_close(mount);
}

/* ── Kinds of mounts ── */

static long open_source(const struct child_mount *m)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
	if (!m->inside)
		return raw_call3(__NR_open_tree, AT_FDCWD, base + m->source.at, flags | AT_SYMLINK_NOFOLLOW);
	long in = find(base + m->source.at, 0);
	if (in < 0)
		return in;
	long tree = raw_call3(__NR_open_tree, in, "", flags | AT_EMPTY_PATH);
	(void)r_close((int)in);
	return tree;
}

/* ── Screens ── */

#define MAX_SCREENS 64

static struct {
	const char *dir; /* in the plan */
	long mount;	 /* or -errno */
} screens[MAX_SCREENS];
static size_t n_screens;

static int is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* One for all mounts below the same directory. */
static long screen_of(const char *dir)
{
	for (size_t i = 0; i < n_screens; i++)
		if (is_same(screens[i].dir, dir))
			return screens[i].mount;
	long mount = mounts_screen(dir);
	if (n_screens < MAX_SCREENS) {
		screens[n_screens].dir = dir;
		screens[n_screens++].mount = mount;
	}
	return mount;
}

/* Most screens show one directory. A screen that others look into must have nothing mounted in it, so it is not itself mounted. */
static int is_for_one(const char *dir)
{
	const struct child_plan *plan = (const void *)base;
	const struct child_mount *mounts = (const void *)(base + plan->mounts.at);
	unsigned n = 0;
	for (uint32_t i = 0; i < plan->n_mounts; i++)
		n += mounts[i].screen.at && is_same(base + mounts[i].screen.at, dir);
	return n == 1;
}

static void drop_screens(void)
{
	for (; n_screens > 0; n_screens--)
		if (screens[n_screens - 1].mount >= 0)
			mounts_drop((int)screens[n_screens - 1].mount);
}

static int is_one_name(const char *path)
{
	if (!*path)
		return 0;
	while (*path && *path != '/')
		path++;
	return !*path;
}

/* The source as its screen shows it, already read-only; -errno if there is none. */
static long open_screened(const struct child_mount *m)
{
	const char *dir = base + m->screen.at, *rest = base + m->source.at;
	long host = m->source_is.inode ? r_open(base + m->source.at, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (host >= 0) { /* inode numbers differ behind a screen */
		check_same(CHILD_OP_OPEN_SOURCE, (int)host, &m->source_is);
		(void)r_close((int)host);
	}
	if (is_same(dir, rest) && is_for_one(dir))
		return mounts_screen(dir);
	long screen = screen_of(dir);
	if (screen < 0)
		return screen;
	for (; *dir; dir++)
		rest++;
	while (*rest == '/')
		rest++;
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	long tree = -EINVAL;
	if (is_one_name(rest))
		tree = raw_call3(__NR_open_tree, screen, rest, flags | AT_SYMLINK_NOFOLLOW);
	if (tree != -EINVAL) /* before 6.15, or if it is not one name */
		return tree;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
	long at = raw_call4(__NR_openat2, screen, *rest ? rest : ".", &how, sizeof how);
	if (at < 0)
		return at;
	tree = raw_call3(__NR_open_tree, at, "", flags | AT_EMPTY_PATH);
	if (tree == -EINVAL && mounts_set_aside((int)screen) == 0) /* before 6.15, if it is mounted nowhere */
		tree = raw_call3(__NR_open_tree, at, "", flags | AT_EMPTY_PATH);
	(void)r_close((int)at);
	return tree;
}

/* -1: it is optional and does not exist. */
static int bound(const struct child_mount *m)
{
	long screened = m->screen.at ? open_screened(m) : -1;
	/* Someone made or replaced the directory after the screen around it was made, for example another first run,
	 * and the kernel's overlay does not show that: it gets its own screen. */
	if (m->screen.at && (screened == -ENOENT || screened == -ESTALE))
		screened = mounts_screen(base + m->source.at);
	if (screened >= 0)
		return (int)screened;
	if (m->screen.at)
		mounts_note_exposed(base + m->source.at, screened);
	if (m->optional == CHILD_SHOWN_ABOVE)
		return -1;
	long tree = open_source(m);
	if (m->optional && ((tree == -ENOENT && m->source_is.inode == 0) || tree == -EACCES))
		return -1;
	mounts_check(CHILD_OP_OPEN_SOURCE, tree);
	check_same(CHILD_OP_OPEN_SOURCE, (int)tree, &m->source_is);
	unsigned attributes =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->kind == CHILD_MOUNT_READ ? MOUNT_ATTR_RDONLY : 0);
	mounts_check(CHILD_OP_RESTRICT, mounts_restrict((int)tree, attributes, 1));
	return (int)tree;
}

static int layered(const struct child_mount *m)
{
	int lower = mounts_open_directory(CHILD_OP_OPEN_LOWER, base + m->source.at);
	const struct mounts_lowers lowers = {base, (const void *)(base + m->lowers.at), m->n_lowers};
	int mount = mounts_overlay(lower, &lowers, base + m->upper.at, base + m->work.at);
	(void)r_close(lower);
	return mount;
}

/* A read-only mount protects the host's inode and still lets everybody use the device. */
static void add_device(int dev, const char *name, const char *host)
{
	long tree = raw_call3(__NR_open_tree, AT_FDCWD, host, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	mounts_check(CHILD_OP_DEVICE, tree);
	mounts_check(CHILD_OP_DEVICE, mounts_restrict((int)tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0));
	mounts_check(CHILD_OP_DEVICE, raw_call4(__NR_mknodat, dev, name, S_IFREG | 0444, 0));
	mounts_check(CHILD_OP_DEVICE, raw_call5(__NR_move_mount, tree, "", dev, name, MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close((int)tree);
}

static void add_terminals(int dev)
{
	mounts_check(CHILD_OP_DEVICE, raw_call3(__NR_mkdirat, dev, "pts", 0755));
	int fs = mounts_open_fs("devpts");
	mounts_check(CHILD_OP_DEVICE, mounts_set_string(fs, "ptmxmode", "0666"));
	mounts_check(CHILD_OP_DEVICE, mounts_set_string(fs, "mode", "0620"));
	int mount = mounts_fs(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	mounts_check(CHILD_OP_DEVICE, raw_call5(__NR_move_mount, mount, "", dev, "pts", MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close(mount);
}

/* Sealed at the end of the plan, like everything made here. */
static void add_dev(const struct child_mount *m)
{
	static const struct {
		const char *name, *text;
	} links[] = {{"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
		     {"fd", "/proc/self/fd"},	   {"core", "/proc/kcore"},	  {"ptmx", "pts/ptmx"}};
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					      "/dev/random", "/dev/urandom", "/dev/tty"};
	char *target = base + m->target.at;
	put(mounts_room(), target, &m->place_is);
	int dev = (int)mounts_check(CHILD_OP_DEVICE, find(target, O_DIRECTORY));
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		add_device(dev, devices[i] + sizeof "/dev/" - 1, devices[i]);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		mounts_check(CHILD_OP_DEVICE, raw_call3(__NR_symlinkat, links[i].text, dev, links[i].name));
	mounts_check(CHILD_OP_DEVICE, raw_call3(__NR_mkdirat, dev, "shm", 0755));
	add_terminals(dev);
	(void)r_close(dev);
}

/* The parts of /proc that control the machine and are guarded only by a uid that root has inside too. */
static void guard_proc(int proc)
{
	static const char *const names[] = {"sys", "sysrq-trigger", "irq", "bus"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		long rc = raw_call3(__NR_faccessat, proc, names[i], 2 /* W_OK */);
		if (rc == -ENOENT || rc == -EACCES || rc == -EROFS)
			continue;
		mounts_check(CHILD_OP_PROC, rc);
		long tree =
			raw_call3(__NR_open_tree, proc, names[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		mounts_check(CHILD_OP_PROC, tree);
		mounts_check(CHILD_OP_PROC, mounts_restrict((int)tree, MOUNT_ATTR_RDONLY, 1));
		mounts_check(CHILD_OP_PROC,
			     raw_call5(__NR_move_mount, tree, "", proc, names[i], MOVE_MOUNT_F_EMPTY_PATH));
		(void)r_close((int)tree);
	}
}

static void add_proc(const struct child_mount *m, uint32_t flags)
{
	char *target = base + m->target.at;
	unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	long mount;
	if (flags & CHILD_PLAN_OLD_PROC) {
		mount = raw_call3(__NR_open_tree, AT_FDCWD, "/proc",
				  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		mounts_check(CHILD_OP_PROC, mount);
		mounts_check(CHILD_OP_PROC, mounts_restrict((int)mount, attributes, 1));
	} else {
		int fs = (int)mounts_check(CHILD_OP_PROC, raw_call2(__NR_fsopen, "proc", FSOPEN_CLOEXEC));
		mounts_check(CHILD_OP_PROC, raw_call5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0));
		mount = mounts_check(CHILD_OP_PROC, raw_call3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
		(void)r_close(fs);
	}
	put((int)mount, target, &m->place_is);
	int proc = (int)mounts_check(CHILD_OP_PROC, find(target, O_DIRECTORY));
	guard_proc(proc);
	(void)r_close(proc);
}

static void add_symlink(const char *text, char *path)
{
	const char *name;
	int parent = parent_of(path, &name);
	mounts_check(CHILD_OP_LINK, raw_call3(__NR_symlinkat, text, parent, name));
	(void)r_close(parent);
}

static void seal(const char *path)
{
	int fd = (int)mounts_check(CHILD_OP_PLACE, find(path, 0));
	mounts_check(CHILD_OP_RESTRICT, mounts_restrict(fd, MOUNT_ATTR_RDONLY, 0));
	(void)r_close(fd);
}

static void carry_out(const struct child_mount *m, uint32_t flags)
{
	char *target = base + m->target.at;
	int mount;
	switch ((enum child_mount_kind)m->kind) {
	case CHILD_MOUNT_READ:
	case CHILD_MOUNT_WRITE:
		mount = bound(m);
		if (mount >= 0)
			put(mount, target, &m->place_is);
		break;
	case CHILD_MOUNT_LAYER:
		put(layered(m), target, &m->place_is);
		break;
	case CHILD_MOUNT_TMPFS:
		if (m->size != CHILD_SMALL_TMPFS || m->mode != 0755) {
			put(mounts_tmpfs(m->size, m->mode), target, &m->place_is);
			break;
		}
		put(mounts_room(), target, &m->place_is);
		remember_room(target);
		break;
	case CHILD_MOUNT_DEV:
		add_dev(m);
		break;
	case CHILD_MOUNT_PROC:
		add_proc(m, flags);
		break;
	case CHILD_MOUNT_SYMLINK:
		add_symlink(base + m->source.at, target);
		break;
	case CHILD_MOUNT_DIR:
		(void)r_close(make_directory(target));
		break;
	case CHILD_MOUNT_SEAL:
		seal(target);
		break;
	}
}

/* ── The root ── */

/* The plan's first mount may be the root itself; otherwise the root starts empty. Returns how many mounts were used. */
static uint32_t make_root(const struct child_mount *first, uint32_t n)
{
	uint32_t taken = n > 0 && base[first->target.at + 1] == '\0' && first->kind <= CHILD_MOUNT_TMPFS;
	if (!taken)
		root_fd = mounts_tmpfs(CHILD_SMALL_TMPFS, 0755);
	else if (first->kind == CHILD_MOUNT_LAYER)
		root_fd = layered(first);
	else if (first->kind == CHILD_MOUNT_TMPFS)
		root_fd = mounts_tmpfs(first->size, first->mode);
	else
		root_fd = bound(first);
	mounts_check(CHILD_OP_MOUNT, raw_call5(__NR_move_mount, root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH));
	return taken;
}

static void enter_root(void)
{
	mounts_check(CHILD_OP_PIVOT, raw_call1(__NR_fchdir, root_fd));
	mounts_check(CHILD_OP_PIVOT, raw_call2(__NR_pivot_root, ".", "."));
	mounts_check(CHILD_OP_PIVOT, raw_call2(__NR_umount2, ".", UMOUNT_DETACH));
	mounts_check(CHILD_OP_PIVOT, raw_call1(__NR_chdir, "/"));
	(void)r_close(root_fd);
}

/* ── The rest ── */

/* What root's command keeps if it has the ids of others: it may give its files away, become another user, and end what
 * it started as another user. These capabilities work on files only if owner and group are ids of the sandbox: root's
 * own, and ids that nobody has outside. CAP_DAC_OVERRIDE is not among them: it would open root's files that even their
 * owner may not read. All of them are below 32. */
#define KEPT_WITH_IDS                                                                                                  \
	(1u << CAP_CHOWN | 1u << CAP_FOWNER | 1u << CAP_FSETID | 1u << CAP_KILL | 1u << CAP_SETGID | 1u << CAP_SETUID)

static void drop_privileges(uint32_t kept)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct few[2] = {{kept, kept, 0}, {0, 0, 0}};
	long rc = 0;
	for (unsigned long cap = 0; rc == 0; cap++)
		rc = cap < 32 && kept & 1u << cap ? 0 : r_prctl(PR_CAPBSET_DROP, cap);
	if (rc != -EINVAL) /* which says that there are no more */
		mounts_check(CHILD_OP_PRIVILEGES, rc);
	mounts_check(CHILD_OP_PRIVILEGES, raw_call5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	mounts_check(CHILD_OP_PRIVILEGES, raw_call2(__NR_capset, &head, few));
	mounts_check(CHILD_OP_PRIVILEGES, raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	/* Checked, not assumed: the command would have whatever is left. */
	struct __user_cap_data_struct left[2];
	mounts_check(CHILD_OP_PRIVILEGES, raw_call2(__NR_capget, &head, left));
	if (left[0].effective != kept || left[0].permitted != kept || left[1].effective | left[1].permitted ||
	    r_prctl(PR_CAPBSET_READ, CAP_DAC_OVERRIDE) != 0)
		mounts_check(CHILD_OP_PRIVILEGES, -EPERM);
}

/* ── Prestart ── */

static const struct child_mount *map_plan(int fd, struct child_plan **ret)
{
	*ret = mounts_map_file(fd);
	base = (char *)*ret;
	return (const void *)(base + (*ret)->mounts.at);
}

/* A mount made above may be gone again: whoever removes the file on the host that it is mounted over takes it away. From
 * here on its absence would be noticed (child_prestart.c), so one look is enough. */
static void check_mounted(const struct child_mount *m)
{
	struct statx st;
	if (m->place_is.inode == 0)
		return;
	int fd = (int)mounts_check(CHILD_OP_PLACE, find(base + m->target.at, 0));
	mounts_check(CHILD_OP_PLACE, raw_call5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &st));
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		mounts_check(CHILD_OP_PLACE, -ESTALE);
	(void)r_close(fd);
}

/* Those that are made at this time or were to be made before; the first ones are there already. A layer that comes later has
 * its place now, while what is around it can still be written. */
static void make_mounts(const struct child_plan *plan, enum child_when from, enum child_when until)
{
	const struct child_mount *mounts = (const void *)(base + plan->mounts.at);
	uint32_t *i = &mounts_progress.subject;
	for (; *i < plan->n_mounts; ++*i)
		if (mounts[*i].late >= from && mounts[*i].late <= until)
			carry_out(&mounts[*i], plan->flags);
		else if (mounts[*i].late > until && mounts[*i].kind == CHILD_MOUNT_LAYER)
			(void)r_close(make_directory(base + mounts[*i].target.at));
}

static struct child_plan *exchange(struct child_plan *old, int plan_fd)
{
	struct child_plan *plan;
	drop_screens(); /* their names are in the old one */
	forget_rooms();
	(void)raw_call2(__NR_munmap, old, old->size);
	(void)map_plan(plan_fd, &plan);
	mounts_progress.subject = 0;
	return plan;
}

/* The rest of the real plan. */
static struct child_plan *finish(struct child_plan *begun, int plan_fd, enum child_when from)
{
	struct child_plan *plan = exchange(begun, plan_fd);
	mounts_progress.silent = 0;
	make_mounts(plan, from, CHILD_WITH_LAYERS);
	return plan;
}

static struct child_plan *wait_for_plan(struct child_plan *plan)
{
	enum child_when from = CHILD_WITH_PLAN;
	mounts_make_spare();
	int is_taken, fd = prestart_receive_plan(&is_taken);
	if (!is_taken) {
		plan = exchange(plan, fd);
		make_mounts(plan, CHILD_WITH_PLAN, CHILD_WITH_PLAN);
		fd = prestart_receive_plan(&is_taken);
		from = CHILD_WITH_LAYERS;
	}
	if (!is_taken)
		r_exit(0);
	plan = finish(plan, fd, from);
	mounts_drop_spare();
	return plan;
}

static struct child_plan *wait_for_command(struct child_plan *plan)
{
	const struct child_mount *mounts = (const void *)(base + plan->mounts.at);
	uint32_t *i = &mounts_progress.subject;
	int table = prestart_watch_mounts();
	for (*i = 0; *i < plan->n_mounts; ++*i)
		check_mounted(&mounts[*i]);
	return finish(plan, prestart_wait_until_taken(table), CHILD_WITH_LAYERS);
}

/* Hostile commands of the same session share our user namespace. As long as we have capabilities that they do not have, they
 * cannot look into this process; from then on because it is not dumpable. */
static void hide_from_others(void)
{
	mounts_check(CHILD_OP_PRIVILEGES, r_prctl(PR_SET_DUMPABLE, 0));
}

static void enter_user_last(const struct child_plan *plan, int proc)
{
	if (plan->flags & CHILD_PLAN_JOINS_USER) {
		mounts_check(CHILD_OP_UNSHARE, raw_call2(__NR_setns, CHILD_FD_USER_NS, CLONE_NEWUSER));
	} else if (plan->n_ids > 0) {
		mounts_enter_user_with(proc, plan->first_id, plan->n_ids);
	} else {
		mounts_check(CHILD_OP_UNSHARE, raw_call1(__NR_unshare, CLONE_NEWUSER));
		mounts_map_user(proc, plan->uid, plan->gid);
	}
}

void view_drop_capabilities(void)
{
	mounts_progress.stage = CHILD_STAGE_PLAN;
	mounts_progress.subject = ~0u;
	hide_from_others();
	drop_privileges(0);
}

/* The namespace lives as long as somebody has a descriptor of it. What goes from now on the table tells whoever has that. */
__attribute__((noreturn)) static void leave_to_others(const struct child_plan *plan)
{
	const struct child_mount *mounts = (const void *)(base + plan->mounts.at);
	const struct child_message m = {.type = CHILD_READY};
	uint32_t *i = &mounts_progress.subject;
	root_fd = mounts_open_directory(CHILD_OP_PIVOT, "/");
	int table = prestart_watch_mounts();
	for (*i = 0; *i < plan->n_mounts; ++*i)
		check_mounted(&mounts[*i]);
	int own = (int)mounts_check(CHILD_OP_READ_JOB, r_open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
	const int fds[] = {table, own};
	mounts_check(CHILD_OP_READ_JOB, pass_send(CHILD_FD_CONTROL, &m, fds, 2));
	r_exit(0);
}

/* Everything that the command sees, from the host's mounts to its own. */
static struct child_plan *make_view(struct child_plan *plan, int proc)
{
	const struct child_mount *mounts = (const void *)(base + plan->mounts.at);
	mounts_make_private();
	mounts_progress.subject = make_root(mounts, plan->n_mounts);
	make_mounts(plan, CHILD_FIRST, CHILD_FIRST);
	if (plan->flags & CHILD_PLAN_LOOPBACK)
		gate_bring_loopback_up();
	if (plan->flags & CHILD_PLAN_WAITS_FOR_COMMAND)
		plan = wait_for_command(plan);
	if (plan->flags & CHILD_PLAN_WAITS_FOR_PLAN)
		plan = wait_for_plan(plan);
	drop_screens();
	forget_rooms();
	mounts_tell_exposed();
	if (plan->flags & CHILD_PLAN_GATE)
		gate_open(proc);
	enter_root();
	if (plan->flags & CHILD_PLAN_FOR_OTHERS)
		leave_to_others(plan);
	return plan;
}

void view_build(int64_t *ret_idle_ms)
{
	mounts_progress.stage = CHILD_STAGE_PLAN;
	struct child_plan *plan;
	(void)map_plan(CHILD_FD_PLAN, &plan);
	mounts_progress.silent = plan->flags & CHILD_PLAN_WAITS_FOR_PLAN;
	long umask = raw_call1(__NR_umask, 0);
	int is_there = plan->flags & CHILD_PLAN_IS_THERE;
	int proc = mounts_open_directory(CHILD_OP_MAP, "/proc");
	if (!is_there)
		plan = make_view(plan, proc);
	if (plan->flags & CHILD_PLAN_USER_LAST)
		enter_user_last(plan, proc);
	/* Counted in this namespace and those inside it: no more can be made, and nobody inside can change that. */
	if (plan->flags & CHILD_PLAN_NO_NESTED)
		mounts_write_file(proc, "sys/user/max_user_namespaces", "0", 1);
	if (!is_there) /* else that of the holder counts */
		mounts_leave_some_to_the_user(proc);
	(void)r_close(proc);
	hide_from_others();
	drop_privileges(plan->n_ids > 0 ? KEPT_WITH_IDS : 0);
	(void)raw_call1(__NR_umask, umask);
	if (plan->cpus_size)
		mounts_check(CHILD_OP_PRIVILEGES, raw_call3(__NR_sched_setaffinity, 0, plan->cpus_size, plan->cpus));
	*ret_idle_ms = plan->idle_ms;
	(void)raw_call2(__NR_munmap, plan, plan->size);
}
