/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "identities.h"

#include "base/macros.h"
#include "sys/id_maps.h"
#include "sys/probe.h"
#include "sys/probe_child.h"
#include "sys/probe_exec.h"
#include "sys/raw_overlay.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* What util-linux can do here, the probes can too, and the other way round. */
static bool shell_can(const char *command)
{
	return system(command) == 0;
}

static const char *agree_with_unshare(const char *dir)
{
	static const struct {
		void (*probe)(struct sys_probe *);
		const char *command;
	} rows[] = {
		{sys_probe_userns, "unshare -Ur true 2>/dev/null"},
		{sys_probe_mountns, "unshare -Urm mount -t tmpfs t /mnt 2>/dev/null"},
		{sys_probe_procfs, "unshare -Urpf --mount-proc true 2>/dev/null"},
		{sys_probe_netns, "unshare -Urn true 2>/dev/null"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct sys_probe p;
		rows[i].probe(&p);
		EXPECT(p.works == shell_can(rows[i].command));
		EXPECT(p.works == (p.errnum == 0));
		EXPECT(*p.detail);
	}
	return NULL;
}

static void namespaces_are_as_unshare_finds_them(void **state)
{
	as_everyone(agree_with_unshare);
}

static const char *try_features(const char *dir)
{
	struct sys_probe p;
	int abi = -1;
	sys_probe_seccomp(&p);
	EXPECT(p.works);
	sys_probe_pidfd_open(&p);
	EXPECT(p.works);
	sys_probe_close_range(&p);
	EXPECT(p.works);
	sys_probe_openat2(&p);
	EXPECT(p.works);
	sys_probe_memfd_exec(&p);
	EXPECT(p.works || p.errnum == EACCES);
	sys_probe_landlock(&p, &abi);
	EXPECT(p.works == (abi > 0));
	EXPECT(p.works || p.errnum == ENOSYS || p.errnum == EOPNOTSUPP);
	return NULL;
}

static void features_of_this_kernel_are_found(void **state)
{
	as_everyone(try_features);
}

static bool is_empty(const char *dir)
{
	int n = 0;
	DIR *d = opendir(dir);
	while (d && readdir(d))
		n++;
	(void)closedir(d);
	return n == 2;
}

static const char *try_overlay(const char *dir)
{
	struct sys_probe o;
	struct sys_probe userns;
	bool has_xattrs = setxattr(dir, "user.test", "1", 1, 0) == 0;
	sys_probe_userns(&userns);
	sys_probe_overlay(dir, NULL, &o);
	EXPECT(o.works || !userns.works || o.errnum == EINVAL || o.errnum == ENODEV || !has_xattrs);
	EXPECT(!o.works || has_xattrs);
	EXPECT(is_empty(dir));
	sys_probe_overlay("/proc/self", NULL, &o);
	EXPECT(!o.works);
	EXPECT(strstr(o.detail, "making a temporary directory"));
	return NULL;
}

static void overlay_leaves_nothing_behind(void **state)
{
	as_everyone(try_overlay);
}

/* fsconfig takes 255 bytes at most; a state directory may have a longer name. */
static const char *try_deep_overlay(const char *dir)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s", dir);
	for (int i = 0; i < 5; i++) {
		n += snprintf(path + n, sizeof path - (size_t)n, "/%0100d", i);
		EXPECT(mkdir(path, 0700) == 0);
	}
	struct sys_probe shallow, deep;
	sys_probe_overlay(dir, NULL, &shallow);
	sys_probe_overlay(path, NULL, &deep);
	EXPECT(shallow.works == deep.works);
	return NULL;
}

static void overlay_below_a_long_path(void **state)
{
	as_everyone(try_deep_overlay);
}

/* More directories than fit into fsconfig's 255 bytes by their whole names, and too many by any. */
#define MANY 40
#define TOO_MANY 100

struct stack_arg {
	struct probe_id_maps maps;
	bool new_user;
	const char *dir;
	char names[TOO_MANY][8];
};

static int mount_many(const void *arg, struct probe_report *r)
{
	const struct stack_arg *a = arg;
	char before[PATH_MAX] = "", after[PATH_MAX] = "", name[2] = "";
	enum raw_overlay_step step;
	int lower[TOO_MANY];
	struct raw_overlay o = {.lower = lower, .n_lower = MANY, .upper = -1, .work = -1};
	if (a->new_user && probe_write_id_maps(&a->maps, r) < 0)
		return -1;
	(void)raw_call1(__NR_chdir, a->dir);
	/* Here, because an overlay takes no directories of another mount namespace. */
	for (int i = 0; i < TOO_MANY; i++)
		lower[i] = (int)raw_call4(__NR_openat, AT_FDCWD, a->names[i], O_PATH | O_CLOEXEC, 0);
	(void)raw_call2(__NR_getcwd, before, sizeof before);
	long root = raw_overlay_mount(&o, &step);
	if (root < 0)
		return probe_stop(r, "mounting many", root);
	for (int i = 0; i < MANY; i++) {
		name[0] = (char)('0' + i);
		long rc = raw_call4(__NR_openat, root, name, O_RDONLY | O_CLOEXEC, 0);
		if (rc < 0)
			return probe_stop(r, "a layer is missing", rc);
	}
	(void)raw_call2(__NR_getcwd, after, sizeof after);
	if (strcmp(before, after) != 0)
		return probe_stop(r, "the working directory is another", -EIO);
	o.n_lower = TOO_MANY;
	root = raw_overlay_mount(&o, &step);
	return root == -ENAMETOOLONG && step == RAW_OVERLAY_OPTION ? 0 : probe_stop(r, "too many were taken", -EIO);
}

static const char *try_many(const char *dir)
{
	struct stack_arg a = {.maps = probe_id_maps(), .new_user = !raw_may_mount(), .dir = dir};
	struct probe_report r;
	struct sys_probe overlay;
	sys_probe_overlay(dir, NULL, &overlay);
	if (!overlay.works)
		return NULL; /* nor will this */
	for (int i = 0; i < TOO_MANY; i++) {
		char name[16];
		(void)snprintf(a.names[i], sizeof a.names[i], "%d,:\\", i);
		(void)snprintf(name, sizeof name, "%s/%c", a.names[i], '0' + i % MANY);
		EXPECT(mkdir(in_dir(dir, a.names[i]), 0700) == 0 && put_file(in_dir(dir, name), "x", 0600) == 0);
	}
	probe_try(CLONE_NEWNS | (a.new_user ? CLONE_NEWUSER : 0), mount_many, &a, &r);
	EXPECT(!r.step);
	return NULL;
}

static void an_overlay_of_many_layers(void **state)
{
	as_everyone(try_many);
}

/* In mounts of its own, where /proc is ours. Returns an exit status. */
static int look_at_maps(void)
{
	static const char line[] = "0 0 1000\n";
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("test", "/proc", "tmpfs", 0, NULL) < 0 || mkdir("/proc/self", 0755) < 0)
		return 77;
	bool missing = sys_may_map_ids(0, 1000) == 0;
	bool made = mkdir("/proc/self/uid_map", 0755) == 0 && put_file("/proc/self/gid_map", line, 0644) == 0;
	bool unread = sys_may_map_ids(0, 1000) == -EISDIR;
	made = made && rmdir("/proc/self/uid_map") == 0 && put_file("/proc/self/uid_map", line, 0644) == 0;
	bool there = sys_may_map_ids(0, 1000) == 1, more = sys_may_map_ids(0, 1001) == 0;
	return made && missing && unread && there && more ? 0 : 1;
}

/* Otherwise root's command would silently have fewer ids, and none of its capabilities. */
static void a_map_of_ids_that_cannot_be_read_is_an_error(void **state)
{
	(void)state;
	int status = 0;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_at_maps());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* only root can make such a /proc */
	assert_int_equal(status, 0);
}

static const char *try_cgroup(const char *dir)
{
	struct sys_cgroup c;
	sys_probe_cgroup(&c);
	EXPECT(c.memory == (*c.memory_dir != '\0'));
	EXPECT(c.pids == (*c.pids_dir != '\0'));
	EXPECT((c.kind == SYS_CGROUP_NONE) == (!c.memory && !c.pids));
	EXPECT(c.probe.works == (c.memory && c.pids));
	EXPECT(*c.probe.detail);
	char command[128];
	(void)snprintf(command, sizeof command, "find /sys/fs/cgroup -name airlock-probe-%d 2>/dev/null | grep -q .",
		       (int)getpid());
	EXPECT(!shell_can(command));
	return NULL;
}

static void control_groups_are_left_as_they_were(void **state)
{
	as_everyone(try_cgroup);
}

static void control_groups_are_found_in_proc(void **state)
{
	static const struct {
		const char *cgroup, *mountinfo;
		const char *v2, *v2_parent, *memory, *pids;
	} rows[] = {
		/* systemd, a terminal of a desktop */
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/t.scope\n",
		 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
		 "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/t.scope",
		 "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice", "", ""},
		/* a container with its own cgroup namespace */
		{"0::/\n", "31 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup", "", "", ""},
		/* docker with version 1: the mount's root is the container's own group */
		{"5:pids:/docker/ab\n4:memory:/docker/ab\n",
		 "40 39 0:30 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
		 "41 39 0:31 /docker/ab /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n",
		 "", "", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"},
		/* hybrid, two controllers in one hierarchy, a blank in the mount's path */
		{"3:cpu,memory:/a\n1:name=systemd:/\n0::/b\n",
		 "40 39 0:30 / /cg/cpu\\040memory rw - cgroup cgroup rw,cpu,memory\n"
		 "41 39 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n",
		 "/cg/unified/b", "/cg/unified", "/cg/cpu memory/a", ""},
		/* outside of our cgroup namespace, and a mount that does not show our group */
		{"4:memory:/x\n0::/../y\n",
		 "31 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
		 "40 39 0:30 /docker /m rw - cgroup cgroup rw,memory\n",
		 "", "", "", ""},
		{"", "", "", "", "", ""},
		{"garbage\n::\n0:\n", "x - cgroup\n - \n31 24 0:26 / - cgroup2\n", "", "", "", ""},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct sys_cgroup_places at;
		sys_cgroup_parse(rows[i].cgroup, rows[i].mountinfo, &at);
		assert_string_equal(at.v2, rows[i].v2);
		assert_string_equal(at.v2_parent, rows[i].v2_parent);
		assert_string_equal(at.v1_memory, rows[i].memory);
		assert_string_equal(at.v1_pids, rows[i].pids);
	}
}

/* ── In awkward programs ── */

static int count_fds(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static const char *run_everything(const char *dir)
{
	struct sys_probe p;
	struct sys_probe o;
	struct sys_exec x;
	int before = count_fds();
	sys_probe_userns(&p);
	bool works = p.works;
	sys_probe_procfs(&p);
	EXPECT(p.works == works || p.errnum == EPERM);
	sys_probe_seccomp(&p);
	EXPECT(p.works);
	sys_probe_overlay(dir, NULL, &o);
	sys_probe_exec("/bin/sh", (const char *const[]){"sh", "-c", "echo out; echo err >&2; exit 7", NULL}, 5000, &x);
	EXPECT(x.exit_code == 7 && x.errnum == 0 && !x.timed_out);
	EXPECT(strcmp(x.out, "out\n") == 0 && strcmp(x.err, "err\n") == 0);
	EXPECT(count_fds() == before);
	EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
	return NULL;
}

static const char *with_sigchld_ignored(const char *dir)
{
	(void)signal(SIGCHLD, SIG_IGN);
	return run_everything(dir);
}

static const char *with_closed_streams(const char *dir)
{
	(void)close(0);
	(void)close(1);
	(void)close(2);
	return run_everything(dir);
}

static volatile sig_atomic_t handler_calls;

static void reap_everything(int signal)
{
	handler_calls++;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Our children must be none of the program's business. */
static const char *with_greedy_handler(const char *dir)
{
	(void)signal(SIGCHLD, reap_everything);
	const char *wrong = run_everything(dir);
	EXPECT(handler_calls == 0);
	return wrong;
}

static void probes_work_in_plain_programs(void **state)
{
	as_everyone(run_everything);
}

static void probes_work_where_sigchld_is_ignored(void **state)
{
	as_everyone(with_sigchld_ignored);
}

static void probes_work_with_descriptors_0_to_2_closed(void **state)
{
	as_everyone(with_closed_streams);
}

static void probes_send_no_sigchld(void **state)
{
	as_everyone(with_greedy_handler);
}

/* A program that has dropped its privileges: no exposure of its memory, an honest answer instead. */
static const char *undumpable(const char *dir)
{
	struct sys_probe p, before;
	sys_probe_userns(&before);
	EXPECT(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
	sys_probe_userns(&p);
	if (!before.works || geteuid() == 0)
		EXPECT(p.works == before.works); /* what is root's is root's own */
	else
		EXPECT(!p.works && p.errnum == EACCES && strstr(p.detail, "not dumpable"));
	return NULL;
}

static void probes_say_when_the_program_is_not_dumpable(void **state)
{
	as_everyone(undumpable);
}

static void *probe_often(void *data)
{
	struct sys_probe p;
	for (int i = 0; i < 20; i++) {
		free(malloc(100));
		sys_probe_seccomp(&p);
		if (!p.works)
			*(bool *)data = false;
	}
	return NULL;
}

static void probes_work_in_many_threads(void **state)
{
	pthread_t threads[4];
	bool good[4] = {true, true, true, true};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, probe_often, &good[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		(void)pthread_join(threads[i], NULL);
		assert_true(good[i]);
	}
}

/* ── Helper programs ── */

static const char *look_around(const char *dir)
{
	struct sys_exec x;
	int leak = open("/", O_RDONLY); /* not CLOEXEC */
	EXPECT(leak >= 0);
	EXPECT(chdir(dir) == 0);
	EXPECT(setenv("SECRET", "x", 1) == 0);
	(void)signal(SIGTERM, SIG_IGN);
	const char *script = "pwd; echo ${SECRET-none}; ls /proc/self/fd | wc -l; kill -TERM $$; echo alive";
	sys_probe_exec("/bin/sh", (const char *const[]){"sh", "-c", script, NULL}, 5000, &x);
	EXPECT(x.exit_code == 128 + SIGTERM);
	EXPECT(strcmp(x.out, "/\nnone\n4\n") == 0); /* 0, 1, 2 and the one ls reads */
	return NULL;
}

static void helpers_get_a_clean_start(void **state)
{
	as_everyone(look_around);
}

static bool dies(pid_t pid)
{
	for (int i = 0; i < 200; i++) {
		char path[64], text[256] = "";
		(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
		if (sys_read_small(path, text, sizeof text) <= 0 || strstr(text, ") Z "))
			return true;
		(void)usleep(10000);
	}
	return false;
}

static const char *hang(const char *dir)
{
	struct sys_exec x;
	sys_probe_exec("/bin/sh", (const char *const[]){"sh", "-c", "sleep 60 & echo $!; sleep 60", NULL}, 1000, &x);
	EXPECT(x.timed_out && x.exit_code == -1 && x.errnum == 0);
	EXPECT(atoi(x.out) > 0 && dies(atoi(x.out)));
	/* One that ends well and leaves somebody behind with its pipes. */
	sys_probe_exec("/bin/sh", (const char *const[]){"sh", "-c", "sleep 60 & echo $!", NULL}, 5000, &x);
	EXPECT(!x.timed_out && x.exit_code == 0);
	EXPECT(atoi(x.out) > 0 && dies(atoi(x.out)));
	return NULL;
}

static void helpers_that_hang_are_killed_with_their_children(void **state)
{
	as_everyone(hang);
}

static const char *flood(const char *dir)
{
	struct sys_exec x;
	const char *script = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2";
	sys_probe_exec("/bin/sh", (const char *const[]){"sh", "-c", script, NULL}, 5000, &x);
	EXPECT(x.exit_code == 0);
	EXPECT(strlen(x.out) == sizeof x.out - 1 && strlen(x.err) == sizeof x.err - 1);
	sys_probe_exec("/nowhere/x", (const char *const[]){"x", NULL}, 5000, &x);
	EXPECT(x.errnum == ENOENT);
	EXPECT(put_file(in_dir(dir, "x"), "garbage", 0700) == 0);
	sys_probe_exec(in_dir(dir, "x"), (const char *const[]){"x", NULL}, 5000, &x);
	EXPECT(x.errnum == ENOEXEC);
	return NULL;
}

static void helpers_may_say_much_or_not_start(void **state)
{
	as_everyone(flood);
}

/* ── Why there are no user namespaces ── */

static const char *blame_the_filter(const char *dir)
{
	struct sys_environment e;
	struct sys_probe p;
	EXPECT(forbid_user_namespaces() == 0);
	sys_probe_userns(&p);
	EXPECT(!p.works && p.errnum == EPERM);
	EXPECT(strncmp(p.detail, "clone", 5) == 0);
	sys_environment_examine("", NULL, &e);
	EXPECT(e.under_seccomp);
	EXPECT(sys_userns_obstacle(&p) == (e.container ? SYS_USERNS_CONTAINER : SYS_USERNS_SECCOMP));
	return NULL;
}

static void a_filter_is_named(void **state)
{
	as_everyone(blame_the_filter);
}

static const char *survive_a_killer(const char *dir)
{
	struct sys_probe p;
	EXPECT(answer_user_namespaces(SECCOMP_RET_KILL_PROCESS) == 0);
	sys_probe_userns(&p);
	EXPECT(!p.works && strstr(p.detail, "child killed"));
	sys_probe_procfs(&p);
	EXPECT(!p.works && strstr(p.detail, "child killed"));
	return NULL;
}

static void a_filter_that_kills_does_not_hit_the_program(void **state)
{
	as_everyone(survive_a_killer);
}

static const char *blame_the_setting(const char *dir)
{
	struct sys_probe p;
	struct sys_environment e;
	sys_probe_userns(&p);
	EXPECT(sys_userns_obstacle(&p) == SYS_USERNS_FREE || !p.works);
	if (!p.works)
		return NULL;
	EXPECT(enter_user_namespace() == 0);
	sys_environment_examine("", NULL, &e);
	EXPECT(e.in_userns);
	EXPECT(write_setting("/proc/sys/user/max_user_namespaces", "0") == 0);
	sys_probe_userns(&p);
	EXPECT(!p.works && p.errnum == ENOSPC);
	EXPECT(sys_userns_obstacle(&p) == SYS_USERNS_MAX_ZERO);
	return NULL;
}

static void the_limit_of_namespaces_is_named(void **state)
{
	as_everyone(blame_the_setting);
}

/* ── The place ── */

struct place {
	const char *file, *text, *description;
};

static const char *describe_places(const char *dir)
{
	static const struct place rows[] = {
		{".flatpak-info", "", "a Flatpak"},
		{".dockerenv", "", "a container (docker)"},
		{"run/.containerenv", "", "a container (podman)"},
		{"run/systemd/container", "lxc\n", "a container (lxc)"},
		{"proc/1/cgroup", "0::/kubepods/x\n", "a container (kubernetes)"},
		{"proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n", "Windows Subsystem for Linux"},
		{"proc/self/uid_map", "0 1000 1\n", "a user namespace"},
		{"proc/self/mountinfo", "22 1 0:1 / /proc rw - proc proc rw\n", "a chroot"},
		{"proc/self/mountinfo", "22 1 0:1 / / rw - ext4 /dev/a rw\n", ""},
		{"proc/self/uid_map", "         0          0 4294967295\n", ""},
		{"proc/1/cgroup", "0::/init.scope\n", ""},
		{"run/systemd/container", "a-very-long-name-of-a-container-manager\n",
		 "a container (a-very-long-name-of-a-co)"},
	};
	static const char *const dirs[] = {"proc", "proc/1", "proc/self", "run", "run/systemd"};
	for (size_t i = 0; i < AL_ARRAY_LEN(dirs); i++)
		EXPECT(mkdir(in_dir(dir, dirs[i]), 0700) == 0);
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct sys_environment e;
		char text[256];
		EXPECT(put_file(in_dir(dir, rows[i].file), rows[i].text, 0600) == 0);
		sys_environment_examine(dir, NULL, &e);
		e.under_seccomp = false; /* ours, not the tree's */
		sys_environment_describe(&e, text, sizeof text);
		EXPECT(strcmp(text, rows[i].description) == 0);
		EXPECT(unlink(in_dir(dir, rows[i].file)) == 0);
	}
	return NULL;
}

static void places_are_recognised(void **state)
{
	as_everyone(describe_places);
}

static void the_variables_of_flatpak_and_containers_count(void **state)
{
	char dir[] = "/tmp/airlock-test-XXXXXX";
	struct sys_environment e;
	assert_non_null(mkdtemp(dir));
	sys_environment_examine(dir, "org.example.App", &e);
	assert_true(e.flatpak);
	sys_environment_examine(dir, "", &e);
	assert_false(e.flatpak || e.container || e.wsl || e.in_userns);
	assert_int_equal(mkdir(in_dir(dir, "proc"), 0700) | mkdir(in_dir(dir, "proc/1"), 0700), 0);
	int fd = open(in_dir(dir, "proc/1/environ"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static const char environ1[] = "TERM=linux\0container=systemd-nspawn\0X=y";
	assert_int_equal(write(fd, environ1, sizeof environ1), sizeof environ1);
	(void)close(fd);
	sys_environment_examine(dir, NULL, &e);
	assert_string_equal(e.container_name, "systemd-nspawn");
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *examine_directories(const char *dir)
{
	struct sys_fs fs;
	struct sys_probe p;
	sys_fs_examine("/proc", &fs);
	EXPECT(fs.errnum == 0 && strcmp(fs.type, "proc") == 0);
	sys_fs_examine(dir, &fs);
	EXPECT(fs.errnum == 0 && *fs.type && !fs.read_only && fs.free_bytes > 0 && fs.free_inodes > 0);
	sys_fs_examine(in_dir(dir, "missing"), &fs);
	EXPECT(fs.errnum == ENOENT);
	sys_probe_writable(dir, &p);
	EXPECT(p.works && is_empty(dir));
	sys_probe_writable("/proc", &p);
	EXPECT(!p.works && p.errnum);
	char deep[2 * PATH_MAX];
	memset(deep, 'x', sizeof deep - 1);
	deep[0] = '/';
	deep[sizeof deep - 1] = '\0';
	sys_probe_writable(deep, &p);
	EXPECT(!p.works && p.errnum == ENAMETOOLONG);
	return NULL;
}

static void directories_are_examined(void **state)
{
	as_everyone(examine_directories);
}

static void kernel_settings_are_read(void **state)
{
	struct sys_kernel k;
	sys_kernel_examine(&k);
	assert_true(k.release[0] >= '3' && k.release[0] <= '9');
	assert_true(k.max_user_namespaces >= -1);
	assert_true(k.apparmor_restrict_userns >= -1 && k.unprivileged_userns >= -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespaces_are_as_unshare_finds_them),
		cmocka_unit_test(features_of_this_kernel_are_found),
		cmocka_unit_test(overlay_leaves_nothing_behind),
		cmocka_unit_test(overlay_below_a_long_path),
		cmocka_unit_test(an_overlay_of_many_layers),
		cmocka_unit_test(control_groups_are_left_as_they_were),
		cmocka_unit_test(control_groups_are_found_in_proc),
		cmocka_unit_test(probes_work_in_plain_programs),
		cmocka_unit_test(probes_work_where_sigchld_is_ignored),
		cmocka_unit_test(probes_work_with_descriptors_0_to_2_closed),
		cmocka_unit_test(probes_send_no_sigchld),
		cmocka_unit_test(probes_say_when_the_program_is_not_dumpable),
		cmocka_unit_test(probes_work_in_many_threads),
		cmocka_unit_test(helpers_get_a_clean_start),
		cmocka_unit_test(helpers_that_hang_are_killed_with_their_children),
		cmocka_unit_test(helpers_may_say_much_or_not_start),
		cmocka_unit_test(a_filter_is_named),
		cmocka_unit_test(a_filter_that_kills_does_not_hit_the_program),
		cmocka_unit_test(the_limit_of_namespaces_is_named),
		cmocka_unit_test(a_map_of_ids_that_cannot_be_read_is_an_error),
		cmocka_unit_test(places_are_recognised),
		cmocka_unit_test(the_variables_of_flatpak_and_containers_count),
		cmocka_unit_test(directories_are_examined),
		cmocka_unit_test(kernel_settings_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
