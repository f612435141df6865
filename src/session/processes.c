/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The processes of a session, as the host's /proc has them: those in the pid namespace of its holder, but for the holder and for
 * the first process of each command, which have a parent outside of the namespace, as nothing that a command starts ever has; and but
 * for keepers, which say so by a lock. */
#include "session/holder.h"

#include "base/array.h"
#include "base/buf.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_MAX 4096

void session_processes_done(struct session_processes *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].command);
	free(p->v);
	*p = (struct session_processes){0};
}

static bool is_number(const char *name)
{
	return isdigit((unsigned char)name[0]) != 0;
}

static ino_t pid_namespace(int proc, const char *pid)
{
	char path[PATH_MAX];
	struct stat st;
	(void)snprintf(path, sizeof path, "%s/ns/pid", pid);
	return fstatat(proc, path, &st, 0) < 0 ? 0 : st.st_ino;
}

static ssize_t read_file(int proc, const char *pid, const char *name, char *out, size_t size)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", pid, name);
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

struct process_stat {
	char state;
	int parent;
	unsigned long long started; /* ticks since boot */
};

/* The name of the program stands in brackets, and may have brackets itself. */
static bool read_stat(int proc, const char *pid, struct process_stat *ret)
{
	char text[1024];
	const char *end = read_file(proc, pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
	return end && sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			     &ret->state, &ret->parent, &ret->started) == 3;
}

static bool is_inside(int proc, int pid, ino_t namespace)
{
	char name[16];
	(void)snprintf(name, sizeof name, "%d", pid);
	return pid > 0 && pid_namespace(proc, name) == namespace;
}

static int64_t boot_ns(void)
{
	struct timespec now, up;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	return ((int64_t)now.tv_sec - up.tv_sec) * 1000000000 + now.tv_nsec - up.tv_nsec;
}

/* Its arguments, or in brackets its name where it has none, as ps(1) does. */
static char *command_of(int proc, const char *pid)
{
	char text[COMMAND_MAX], name[64];
	ssize_t n = read_file(proc, pid, "cmdline", text, sizeof text);
	if (n <= 0) {
		char *out = NULL;
		(void)read_file(proc, pid, "comm", name, sizeof name);
		name[strcspn(name, "\n")] = '\0';
		return asprintf(&out, "[%s]", name) < 0 ? NULL : out;
	}
	for (ssize_t i = 0; i < n - 1; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return strdup(text);
}

/* Processes of a running command descend from its first process; those that a command left behind are children of the holder. */
static bool comes_from(int proc, int ancestor, const struct process_stat *st)
{
	struct process_stat above = *st;
	for (int depth = 0; depth < 1000 && above.parent > 0; depth++) {
		char name[16];
		if (above.parent == ancestor)
			return true;
		(void)snprintf(name, sizeof name, "%d", above.parent);
		if (!read_stat(proc, name, &above))
			return false;
	}
	return false;
}

static int add(struct session_processes *p, int proc, const char *pid, int holder, const struct process_stat *st)
{
	char *command = command_of(proc, pid);
	if (!command || !ARRAY_ROOM(p->v, p->n, p->cap, 8)) {
		free(command);
		return -ENOMEM;
	}
	p->v[p->n++] = (struct session_process){
		.pid = (pid_t)strtol(pid, NULL, 10),
		.command = command,
		.is_background = comes_from(proc, holder, st),
		.started_ns = boot_ns() + (int64_t)(st->started * (1000000000ull / (unsigned)sysconf(_SC_CLK_TCK)))};
	return 0;
}

/* ── Keepers ── */

#define KEEPERS_MAX 256

struct keepers {
	pid_t v[KEEPERS_MAX];
	size_t n;
};

/* The kernel says which process has a byte locked, by the pid that we know it by. */
static void find_keepers(const char *session_dir, struct keepers *ret)
{
	_cleanup_close_ int fd = session_keepers_open(session_dir);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	while (fd >= 0 && ret->n < KEEPERS_MAX && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
		ret->v[ret->n++] = lock.l_pid;
		lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock.l_start + lock.l_len};
	}
}

static bool is_keeper(const struct keepers *k, const char *pid)
{
	pid_t wanted = (pid_t)strtol(pid, NULL, 10);
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i] == wanted)
			return true;
	return false;
}

/* ── All ── */

ino_t session_holder_namespace(const struct session_holder *h)
{
	char pid[16];
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(pid, sizeof pid, "%d", (int)h->pid);
	return proc < 0 ? 0 : pid_namespace(proc, pid);
}

bool session_namespace_lives(ino_t namespace)
{
	DIR *proc = opendir("/proc");
	bool lives = !proc;
	for (struct dirent *e; proc && !lives && (e = readdir(proc));) {
		struct process_stat st;
		lives = is_number(e->d_name) && pid_namespace(dirfd(proc), e->d_name) == namespace &&
			read_stat(dirfd(proc), e->d_name, &st) && st.state != 'Z' && st.state != 'X';
	}
	if (proc)
		(void)closedir(proc);
	return lives;
}

/* A process of bwrap that somebody else started since would not have it as its parent any more. */
static bool replace(struct session_holder *h, int proc, const char *child)
{
	struct process_stat st;
	int pid = (int)strtol(child, NULL, 10);
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 || !read_stat(proc, child, &st) || st.parent != h->pid)
		return false;
	session_holder_done(h);
	*h = (struct session_holder){.pid_fd = TAKE_FD(fd), .pid = pid};
	return true;
}

bool session_first_process(struct session_holder *h)
{
	DIR *proc = opendir("/proc");
	ino_t ours = proc ? pid_namespace(dirfd(proc), "self") : 0;
	bool found = proc && session_holder_namespace(h) != ours;
	for (struct dirent *e; proc && !found && (e = readdir(proc));) {
		struct process_stat st;
		found = is_number(e->d_name) && read_stat(dirfd(proc), e->d_name, &st) && st.parent == h->pid &&
			pid_namespace(dirfd(proc), e->d_name) != ours && replace(h, dirfd(proc), e->d_name);
	}
	if (proc)
		(void)closedir(proc);
	return found;
}

static int add_namespace(struct session_processes *ret, DIR *proc, ino_t namespace, int holder,
			 const struct keepers *keepers)
{
	int rc = 0;
	rewinddir(proc);
	for (struct dirent *e; namespace && rc == 0 && (e = readdir(proc));) {
		struct process_stat st;
		if (!is_number(e->d_name) || is_keeper(keepers, e->d_name) ||
		    pid_namespace(dirfd(proc), e->d_name) != namespace || !read_stat(dirfd(proc), e->d_name, &st) ||
		    st.state == 'Z' || !is_inside(dirfd(proc), st.parent, namespace))
			continue;
		rc = add(ret, dirfd(proc), e->d_name, holder, &st);
	}
	return rc;
}

/* Nothing there goes on when the command has ended, so none of it is in the background. */
static int add_own(struct session_processes *ret, DIR *proc, const char *session_dir)
{
	static const struct keepers nobody = {.n = 0};
	struct session_own_list own = {NULL};
	struct session_holder h = SESSION_HOLDER_INIT;
	int rc = 0;
	while (rc == 0 && session_own_next(&own, session_dir, &h) > 0) {
		rc = add_namespace(ret, proc, session_holder_namespace(&h), -1, &nobody);
		session_holder_done(&h);
	}
	session_own_done(&own);
	return rc;
}

int session_processes(const char *session_dir, struct session_processes *ret)
{
	_cleanup_holder_ struct session_holder h = SESSION_HOLDER_INIT;
	struct keepers keepers = {.n = 0};
	bool has_holder = session_holder_find(session_dir, &h) == 0;
	if (!has_holder && !session_own_has_other(session_dir, ""))
		return 0;
	DIR *proc = opendir("/proc");
	if (!proc)
		return -errno;
	find_keepers(session_dir, &keepers);
	int rc = has_holder ? add_namespace(ret, proc, session_holder_namespace(&h), (int)h.pid, &keepers) : 0;
	if (rc == 0)
		rc = add_own(ret, proc, session_dir);
	(void)closedir(proc);
	return rc;
}
