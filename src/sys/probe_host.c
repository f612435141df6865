/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where we run: containers and the like, kernel settings, file systems. Only reads; tries nothing. */
#include "sys/probe.h"

#include "sys/probe_child.h"

#include "base/macros.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

int sys_read_small(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, ret, size - 1);
	int saved = errno;
	(void)close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n < 0 ? -saved : (int)n;
}

/* root + name, or "" if it does not fit (such a file does not exist). */
static const char *under(const char *root, const char *name, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s%s", root, name);
	return n < 0 || n >= PATH_MAX ? "" : path;
}

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX];
	return access(under(root, name, path), F_OK) == 0;
}

static int get(const char *root, const char *name, char *ret, size_t size)
{
	char path[PATH_MAX];
	return sys_read_small(under(root, name, path), ret, size);
}

static void name_container(struct sys_environment *e, const char *name, size_t len)
{
	if (e->container)
		return;
	e->container = true;
	(void)snprintf(e->container_name, sizeof e->container_name, "%.*s", (int)AL_MIN(len, 24), name);
}

/* The variable `container`, which container managers set for pid 1; readable only by its owner and root. */
static void look_at_init(const char *root, struct sys_environment *e)
{
	char text[4096] = "";
	int n = get(root, "/proc/1/environ", text, sizeof text);
	for (int i = 0; i < n; i += (int)strlen(text + i) + 1)
		if (strncmp(text + i, "container=", 10) == 0 && text[i + 10])
			name_container(e, text + i + 10, strlen(text + i + 10));
}

/* Names of container managers in the control groups of pid 1. */
static void look_at_init_groups(const char *root, struct sys_environment *e)
{
	static const char *const rows[][2] = {
		{"/docker", "docker"}, {"/kubepods", "kubernetes"},  {"/libpod", "podman"},
		{"/lxc", "lxc"},       {"/machine.slice", "nspawn"},
	};
	char text[4096];
	if (get(root, "/proc/1/cgroup", text, sizeof text) <= 0)
		return;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		if (strstr(text, rows[i][0]))
			name_container(e, rows[i][1], strlen(rows[i][1]));
}

static void look_for_container(const char *root, struct sys_environment *e)
{
	char text[64];
	/* systemd writes this for everyone to read. */
	if (get(root, "/run/systemd/container", text, sizeof text) > 0)
		name_container(e, text, strcspn(text, "\n"));
	look_at_init(root, e);
	if (exists(root, "/run/.containerenv"))
		name_container(e, "podman", 6);
	if (exists(root, "/.dockerenv"))
		name_container(e, "docker", 6);
	look_at_init_groups(root, e);
}

/* The first user namespace maps every id to itself in one line. */
static bool is_first_userns(const char *root)
{
	char text[256];
	unsigned long inside, outside, count;
	if (get(root, "/proc/self/uid_map", text, sizeof text) <= 0)
		return true;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers have 32 bits */
	return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
	       count == UINT32_MAX;
}

/* In a chroot no mount of this process has "/" as its mount point, unless the chroot was made at a mount point: then
 * pid 1 (if we may look) has another root in the same mount namespace. */
static bool is_chroot(const char *root)
{
	char path[PATH_MAX], line[2 * PATH_MAX];
	FILE *f = fopen(under(root, "/proc/self/mountinfo", path), "re");
	if (!f)
		return false;
	bool has_root = false;
	while (!has_root && fgets(line, sizeof line, f)) {
		char place[4];
		has_root = sscanf(line, "%*s %*s %*s %*s %3s", place) == 1 && strcmp(place, "/") == 0;
	}
	(void)fclose(f);
	struct stat mine, first, my_ns, first_ns;
	if (!has_root || *root)
		return !has_root;
	return stat("/", &mine) == 0 && stat("/proc/1/root/", &first) == 0 && stat("/proc/self/ns/mnt", &my_ns) == 0 &&
	       stat("/proc/1/ns/mnt", &first_ns) == 0 && my_ns.st_ino == first_ns.st_ino &&
	       (mine.st_ino != first.st_ino || mine.st_dev != first.st_dev);
}

void sys_environment_examine(const char *root, const char *flatpak_id, struct sys_environment *ret)
{
	char version[512] = "";
	*ret = (struct sys_environment){0};
	ret->flatpak = (flatpak_id && *flatpak_id) || exists(root, "/.flatpak-info");
	look_for_container(root, ret);
	(void)get(root, "/proc/version", version, sizeof version);
	ret->wsl = strstr(version, "icrosoft") != NULL;
	ret->in_userns = !is_first_userns(root);
	ret->in_chroot = is_chroot(root);
	ret->under_seccomp = prctl(PR_GET_SECCOMP) > 0;
}

void sys_environment_describe(const struct sys_environment *e, char *ret, size_t size)
{
	char container[64];
	(void)snprintf(container, sizeof container, "a container (%s)", e->container_name);
	const struct {
		bool is;
		const char *words;
	} rows[] = {
		{e->flatpak, "a Flatpak"},	    {e->container, container},	{e->wsl, "Windows Subsystem for Linux"},
		{e->in_userns, "a user namespace"}, {e->in_chroot, "a chroot"}, {e->under_seccomp, "a seccomp filter"},
	};
	size_t used = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		if (rows[i].is && used < size)
			used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? ", " : "", rows[i].words);
}

static int64_t read_setting(const char *path)
{
	char text[32], *end;
	if (sys_read_small(path, text, sizeof text) <= 0)
		return -1;
	int64_t value = strtoll(text, &end, 10);
	return end == text ? -1 : value;
}

void sys_kernel_examine(struct sys_kernel *ret)
{
	struct utsname u;
	*ret = (struct sys_kernel){0};
	if (uname(&u) == 0)
		(void)snprintf(ret->release, sizeof ret->release, "%s", u.release);
	ret->apparmor_restrict_userns = read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	ret->unprivileged_userns = read_setting("/proc/sys/kernel/unprivileged_userns_clone");
	ret->max_user_namespaces = read_setting("/proc/sys/user/max_user_namespaces");
}

/* Settings that stop ordinary users do not stop a process with CAP_SYS_ADMIN. */
static bool is_privileged(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	return raw_call2(__NR_capget, &head, data) == 0 && (data[0].effective & (1U << CAP_SYS_ADMIN));
}

static enum sys_userns_obstacle setting_in_the_way(const struct sys_kernel *k, int errnum)
{
	if (k->max_user_namespaces == 0)
		return SYS_USERNS_MAX_ZERO;
	if (errnum == ENOSPC || errnum == EUSERS)
		return SYS_USERNS_MAX_REACHED;
	if (k->unprivileged_userns == 0 && !is_privileged())
		return SYS_USERNS_CLONE_SYSCTL;
	if (k->apparmor_restrict_userns > 0 && !is_privileged())
		return SYS_USERNS_APPARMOR;
	return SYS_USERNS_OTHER;
}

/* A chroot at a mount point cannot be seen from inside. But if no filter and no setting forbids it, EPERM from
 * clone(CLONE_NEWUSER) means a chroot (or, in a user namespace, unmapped ids). */
static bool is_refused_for_chroot(const struct sys_environment *e, const struct sys_probe *userns)
{
	return e->in_chroot || (userns->at_clone && userns->errnum == EPERM && !e->under_seccomp && !e->in_userns);
}

enum sys_userns_obstacle sys_userns_obstacle(const struct sys_probe *userns)
{
	if (userns->works)
		return SYS_USERNS_FREE;
	if (userns->errnum == EINVAL || userns->errnum == ENOSYS)
		return SYS_USERNS_NOT_IN_KERNEL;
	struct sys_environment e;
	struct sys_kernel k;
	sys_environment_examine("", NULL, &e);
	sys_kernel_examine(&k);
	enum sys_userns_obstacle setting = setting_in_the_way(&k, userns->errnum);
	if (setting != SYS_USERNS_OTHER)
		return setting;
	if (is_refused_for_chroot(&e, userns))
		return SYS_USERNS_CHROOT;
	if (e.container)
		return SYS_USERNS_CONTAINER;
	return e.under_seccomp ? SYS_USERNS_SECCOMP : SYS_USERNS_OTHER;
}

enum { NETWORK = 1, FUSE = 2, OVERLAY = 4 };

static const struct fs_row {
	uint32_t magic;
	const char *type;
	int flags;
} fs_rows[] = {
	{0xEF53, "ext4", 0},
	{0x9123683E, "btrfs", 0},
	{0x58465342, "xfs", 0},
	{0x01021994, "tmpfs", 0},
	{0x2FC12FC1, "zfs", 0},
	{0xF2F52010, "f2fs", 0},
	{0xCA451A4E, "bcachefs", 0},
	{0x52654973, "reiserfs", 0},
	{0x3153464A, "jfs", 0},
	{0x858458F6, "ramfs", 0},
	{0xF15F, "ecryptfs", 0},
	{0x4D44, "vfat", 0},
	{0x2011BAB0, "exfat", 0},
	{0x5346544E, "ntfs", 0},
	{0x7366746E, "ntfs3", 0},
	{0x73717368, "squashfs", 0},
	{0xE0F5E1E2, "erofs", 0},
	{0x9660, "iso9660", 0},
	{0x794C7630, "overlay", OVERLAY},
	{0x61756673, "aufs", OVERLAY},
	{0x65735546, "fuse", FUSE},
	{0x6969, "nfs", NETWORK},
	{0xFF534D42, "cifs", NETWORK},
	{0xFE534D42, "smb", NETWORK},
	{0x517B, "smbfs", NETWORK},
	{0x01021997, "9p", NETWORK},
	{0x5346414F, "afs", NETWORK},
	{0x6B414653, "afs", NETWORK},
	{0x00C36400, "ceph", NETWORK},
	{0x0BD00BD0, "lustre", NETWORK},
	{0x47504653, "gpfs", NETWORK},
	{0x786F4256, "vboxsf", NETWORK},
	{0x9FA0, "proc", 0},
	{0x62656572, "sysfs", 0},
};

static void name_fs(uint32_t magic, struct sys_fs *ret)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(fs_rows); i++) {
		if (fs_rows[i].magic != magic)
			continue;
		(void)snprintf(ret->type, sizeof ret->type, "%s", fs_rows[i].type);
		ret->network = fs_rows[i].flags & NETWORK;
		ret->fuse = fs_rows[i].flags & FUSE;
		ret->overlay = fs_rows[i].flags & OVERLAY;
		return;
	}
	(void)snprintf(ret->type, sizeof ret->type, "type 0x%08" PRIx32, magic);
}

void sys_fs_examine(const char *dir, struct sys_fs *ret)
{
	struct statfs st;
	*ret = (struct sys_fs){0};
	if (statfs(dir, &st) < 0) {
		ret->errnum = errno;
		return;
	}
	name_fs((uint32_t)st.f_type, ret);
	ret->read_only = ((uint64_t)st.f_flags & ST_RDONLY) != 0;
	ret->free_bytes = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	ret->free_inodes = st.f_files ? (uint64_t)st.f_ffree : UINT64_MAX; /* btrfs counts none */
}

void sys_probe_writable(const char *dir, struct sys_probe *ret)
{
	char path[PATH_MAX];
	struct probe_report r = {0};
	int n = snprintf(path, sizeof path, "%s/.airlock-probe-XXXXXX", dir);
	errno = ENAMETOOLONG;
	int fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
	if (fd < 0)
		r = (struct probe_report){.step = "making a file", .errnum = errno};
	else if (write(fd, "probe", 5) != 5)
		r = (struct probe_report){.step = "writing to a file", .errnum = errno};
	if (fd >= 0) {
		(void)unlink(path);
		(void)close(fd);
	}
	probe_conclude(ret, &r, "made, wrote and removed a file");
}

/* ── The sandbox around us ── */

/* Is one of ours the first process? */
static bool is_first(void)
{
	char text[32] = "";
	_cleanup_close_ int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	return n > 0 && (strcmp(text, "airlock-init\n") == 0 || strcmp(text, "airlock-holder\n") == 0);
}

bool sys_is_inside(void)
{
	return getpid() != 1 && is_first() && !sys_may_make_userns();
}
