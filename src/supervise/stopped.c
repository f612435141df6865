/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether somebody has stopped the process that watches over the command, or that is going to. Where we spawned it, the kernel says so.
 * bwrap's child is not ours: it is looked at in /proc, and bwrap itself runs outside of the session, where nobody can stop it. */
#include "supervise/supervise_state.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct stopped_stat {
	char letter;
	pid_t parent;
};

/* The name of the program stands in brackets, and may have brackets itself. */
static bool read_state(const char *pid, struct stopped_stat *ret)
{
	char path[NAME_MAX + 16], text[1024];
	(void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *end = strrchr(text, ')');
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
	return end && sscanf(end + 1, " %c %d", &ret->letter, &ret->parent) == 2;
}

static bool is_stopped(const struct stopped_stat *st)
{
	return st->letter == 'T' || st->letter == 't';
}

/* Before the first process has said its pid. The start takes less than the second after which somebody looks, as a rule. */
static bool has_stopped_child(pid_t parent)
{
	struct stopped_stat st;
	bool found = false;
	DIR *proc = opendir("/proc");
	for (struct dirent *e; proc && !found && (e = readdir(proc));)
		found = isdigit((unsigned char)e->d_name[0]) && read_state(e->d_name, &st) && st.parent == parent &&
			is_stopped(&st);
	if (proc)
		(void)closedir(proc);
	return found;
}

bool stopped_first(const struct supervise *s)
{
	siginfo_t info = {0};
	if (s->spawned_dead)
		return false;
	if (s->spec.backend->spawns_first_process)
		return waitid(P_PID, (id_t)s->spawned_pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
		       info.si_pid != 0;
	if (s->first_pid <= 0)
		return has_stopped_child(s->spawned_pid);
	char pid[16];
	struct stopped_stat st;
	(void)snprintf(pid, sizeof pid, "%d", (int)s->first_pid);
	/* If bwrap is its parent, it is the one: bwrap has one child. */
	return read_state(pid, &st) && st.parent == s->spawned_pid && is_stopped(&st);
}
