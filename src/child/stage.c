/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stage: overlays over the roots, in namespaces of their own, before the backend runs.
 *
 * | namespaces              | uid          | capabilities           | root       | cwd |
 * | new user + mount (root: | the caller's | all, in the new user   | the host's | any |
 * | new mount)              |              | namespace, until exec  |            |     |
 *
 * Paths are opened once and then named by descriptor (/proc/self/fd/N): nothing in a path is ever parsed as an option,
 * whatever characters it has, and nobody can swap a directory between two looks. Freestanding.
 */
#include "child/stage.h"

#include "child/job.h"
#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/stat.h>

static uint32_t layer_number;

__attribute__((noreturn)) static void give_up(enum child_layer_op op, long rc)
{
	struct child_message m = {.type = CHILD_FAILED,
				  .a = CHILD_STAGE_LAYER,
				  .b = (int32_t)-rc,
				  .detail = (uint32_t)op | layer_number << 16};
	(void)r_write(CHILD_FD_CONTROL, &m, sizeof m);
	r_exit(1);
}

static long check(enum child_layer_op op, long rc)
{
	if (rc < 0)
		give_up(op, rc);
	return rc;
}

static struct child_stage_job *map_stage(void)
{
	struct child_stage_job head;
	if (r_read(CHILD_FD_STAGE, &head, sizeof head) != (long)sizeof head || head.magic != CHILD_JOB_MAGIC)
		give_up(CHILD_LAYER_UNSHARE, -EINVAL);
	long p = raw_call6(__NR_mmap, 0, (long)head.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, CHILD_FD_STAGE, 0);
	if (p < 0 && p > -4096)
		give_up(CHILD_LAYER_UNSHARE, p);
	(void)r_close(CHILD_FD_STAGE);
	return (struct child_stage_job *)p;
}

static void write_file(const char *path, const char *text, size_t len)
{
	long fd = check(CHILD_LAYER_MAP, r_open(path, O_WRONLY | O_CLOEXEC));
	check(CHILD_LAYER_MAP, r_write((int)fd, text, len));
	(void)r_close((int)fd);
}

static size_t put_number(char *out, uint32_t v)
{
	char digits[12];
	size_t n = 0, at = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		out[at++] = digits[--n];
	return at;
}

/* "1000 1000 1": this one id is the same inside and outside. */
static void write_map(const char *path, uint32_t id)
{
	char text[40];
	size_t n = put_number(text, id);
	text[n++] = ' ';
	n += put_number(text + n, id);
	text[n++] = ' ';
	text[n++] = '1';
	write_file(path, text, n);
}

static void enter_namespaces(const struct child_stage_job *job)
{
	int user = job->flags & CHILD_STAGE_USER;
	check(CHILD_LAYER_UNSHARE, raw_call1(__NR_unshare, CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)));
	if (user) {
		write_file("/proc/self/setgroups", "deny", 4);
		write_map("/proc/self/uid_map", job->uid);
		write_map("/proc/self/gid_map", job->gid);
	}
	/* Nothing mounted from here on may reach the host. */
	check(CHILD_LAYER_PRIVATE, raw_call5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
}

/* "/proc/self/fd/N" */
static void name_fd(char out[32], int fd)
{
	static const char prefix[] = "/proc/self/fd/";
	size_t n = sizeof prefix - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = prefix[i];
	n += put_number(out + n, (uint32_t)fd);
	out[n] = '\0';
}

static long set_string(int fs, const char *key, const char *value)
{
	return raw_call5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0);
}

static void set_directory(int fs, const char *key, const char *older_key, int fd)
{
	char name[32];
	name_fd(name, fd);
	long rc = set_string(fs, key, name);
	if (rc == -EINVAL && older_key) /* kernels before "lowerdir+" */
		rc = set_string(fs, older_key, name);
	check(CHILD_LAYER_OPTION, rc);
}

static int open_directory(enum child_layer_op op, const char *path)
{
	return (int)check(op, r_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void mount_layer(const char *base, const struct child_layer *l)
{
	int lower = open_directory(CHILD_LAYER_OPEN_LOWER, base + l->lower);
	int upper = open_directory(CHILD_LAYER_OPEN_UPPER, base + l->upper);
	int work = open_directory(CHILD_LAYER_OPEN_WORK, base + l->work);
	int fs = (int)check(CHILD_LAYER_FSOPEN, raw_call2(__NR_fsopen, "overlay", FSOPEN_CLOEXEC));
	check(CHILD_LAYER_OPTION, set_string(fs, "source", "airlock"));
	check(CHILD_LAYER_OPTION, raw_call5(__NR_fsconfig, fs, FSCONFIG_SET_FLAG, "userxattr", 0, 0));
	set_directory(fs, "lowerdir+", "lowerdir", lower);
	set_directory(fs, "upperdir", 0, upper);
	set_directory(fs, "workdir", 0, work);
	check(CHILD_LAYER_CREATE, raw_call5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0));
	int mount = (int)check(CHILD_LAYER_CREATE,
			       raw_call3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	check(CHILD_LAYER_MOUNT,
	      raw_call5(__NR_move_mount, mount, "", lower, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	(void)r_close(mount);
	(void)r_close(fs);
	(void)r_close(work);
	(void)r_close(upper);
	(void)r_close(lower);
}

/* ── Rebuilding ── */

static int make_tmpfs(void)
{
	int fs = (int)check(CHILD_LAYER_REBUILD, raw_call2(__NR_fsopen, "tmpfs", FSOPEN_CLOEXEC));
	check(CHILD_LAYER_REBUILD, set_string(fs, "size", "1m"));
	check(CHILD_LAYER_REBUILD, set_string(fs, "mode", "0755"));
	check(CHILD_LAYER_REBUILD, raw_call5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0));
	long mount = raw_call3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	(void)r_close(fs);
	return (int)check(CHILD_LAYER_REBUILD, mount);
}

static void bind_entry(int old, int new, const char *name)
{
	long tree = raw_call3(__NR_open_tree, old, name,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	struct statx st;
	if (tree < 0 || raw_call5(__NR_statx, tree, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		return; /* gone since it was listed, or out of reach: then it is not there */
	if ((st.stx_mode & S_IFMT) == S_IFDIR)
		check(CHILD_LAYER_REBUILD, raw_call3(__NR_mkdirat, new, name, 0755));
	else
		check(CHILD_LAYER_REBUILD, raw_call4(__NR_mknodat, new, name, S_IFREG | 0644, 0));
	check(CHILD_LAYER_REBUILD, raw_call5(__NR_move_mount, tree, "", new, name, MOVE_MOUNT_F_EMPTY_PATH));
	(void)r_close((int)tree);
}

/* mkdir -p: what is to be mounted there may lie deeper than anything that exists. The name is in our own copy of the job. */
static void make_place(int dir, char *name)
{
	for (char *p = name; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		long rc = raw_call3(__NR_mkdirat, dir, name, 0755);
		*p = '/';
		if (rc != -EEXIST)
			check(CHILD_LAYER_REBUILD, rc);
	}
	check(CHILD_LAYER_REBUILD, raw_call3(__NR_mkdirat, dir, name, 0755));
}

static void rebuild(char *base, const struct child_rebuild *r)
{
	int old = open_directory(CHILD_LAYER_REBUILD, base + r->dir);
	int new = make_tmpfs();
	check(CHILD_LAYER_REBUILD,
	      raw_call5(__NR_move_mount, new, "", old, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	const struct child_entry *e = (const void *)(base + r->entries);
	for (uint32_t i = 0; i < r->n_entries; i++) {
		char *name = base + e[i].name;
		if (e[i].kind == CHILD_ENTRY_BIND)
			bind_entry(old, new, name);
		else if (e[i].kind == CHILD_ENTRY_SYMLINK)
			check(CHILD_LAYER_REBUILD, raw_call3(__NR_symlinkat, base + e[i].text, new, name));
		else
			make_place(new, name);
	}
	(void)r_close(new);
	(void)r_close(old);
}

/* ── Hiding ── */

static void cover(const char *path, int is_dir, const char *empty)
{
	long over = r_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_dir ? O_DIRECTORY : 0));
	if (over == -ENOENT)
		return; /* gone meanwhile: nothing to hide */
	check(CHILD_LAYER_COVER, over);
	long with =
		is_dir ? make_tmpfs() : raw_call3(__NR_open_tree, AT_FDCWD, empty, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	check(CHILD_LAYER_COVER, with);
	check(CHILD_LAYER_COVER,
	      raw_call5(__NR_move_mount, with, "", over, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	(void)r_close((int)with);
	(void)r_close((int)over);
}

/* ── Devices ── */

/* The backend binds these into the sandbox. To root they belong: chmod would reach the host's; touch does for everybody.
 * A read-only mount keeps their inodes as they are, and does not keep anybody from using the devices. */
static void guard_device(const char *path)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
	long tree = raw_call3(__NR_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree == -ENOENT)
		return;
	check(CHILD_LAYER_COVER, tree);
	check(CHILD_LAYER_COVER, raw_call5(__NR_mount_setattr, tree, "", AT_EMPTY_PATH, &read_only, sizeof read_only));
	check(CHILD_LAYER_COVER, raw_call5(__NR_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
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
	struct child_stage_job *job = map_stage();
	char *base = (char *)job;
	enter_namespaces(job);
	guard_devices();
	const struct child_layer *layers = (const void *)(base + job->layers);
	for (layer_number = 0; layer_number < job->n_layers; layer_number++)
		mount_layer(base, &layers[layer_number]);
	const struct child_rebuild *rebuilds = (const void *)(base + job->rebuilds);
	const struct child_cover *covers = (const void *)(base + job->covers);
	for (uint32_t i = 0; i < job->n_covers; i++)
		cover(base + covers[i].path, (int)covers[i].is_dir, base + job->empty);
	/* The deepest first, so that the ones above bind the rebuilt directory and not what it covers. */
	for (uint32_t i = job->n_rebuilds; i > 0; i--)
		rebuild(base, &rebuilds[i - 1]);
	int64_t *argv = (void *)(base + job->argv);
	for (int64_t *a = argv; *a; a++)
		*a += (int64_t)(intptr_t)base;
	const char *no_environment[] = {0};
	give_up(CHILD_LAYER_EXEC, raw_call3(__NR_execve, base + job->file, argv, no_environment));
}
