/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that keeps the namespaces of a session, and with them the processes that its commands left (child/hold.h).
 *
 *   <session>/holder    its pid and traits; locked by it as long as it lives
 *   <session>/keepers   each keeper of processes that go on has a byte of it locked
 *   <session>/busy      whoever runs a command has a shared lock; its time is that of the last beginning or end of one
 *   <session>/own/RUN   a run in a sandbox of its own: the pid of its sandbox; locked by whoever runs it
 *
 *   _cleanup_holder_ struct session_holder h = SESSION_HOLDER_INIT;
 *   if (session_holder_find(dir, &h) == 0)
 *           … h.pid_fd …
 *
 * A pid alone says nothing, because it may be another process by now. The lock says that the holder lives; its pid is taken for
 * true only while the lock is held.
 */
#pragma once

#include "base/error.h"
#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct session_holder {
	int pid_fd;
	pid_t pid;
	unsigned traits; /* enum session_holder_trait */
};
#define SESSION_HOLDER_INIT                                                                                            \
	{                                                                                                              \
		.pid_fd = -EBADF                                                                                       \
	}
void session_holder_done(struct session_holder *h);
#define _cleanup_holder_ _cleanup_(session_holder_done)

/* Traits that all commands in the same namespaces must share. */
enum session_holder_trait {
	SESSION_HOLDER_NESTED = 1 << 0, /* user namespaces can be made inside */
	SESSION_HOLDER_IDS = 1 << 1,	/* there are ids for other users */
};

/* -ENOENT: the session has none that lives. */
int session_holder_find(const char *session_dir, struct session_holder *ret);

/* For one that is to be started: the lock it holds. The session is locked. -EBUSY: there is one. */
int session_holder_lock(const char *session_dir);
/* Once it was started. */
int session_holder_record(int lock_fd, pid_t pid, unsigned traits);

/* The lock of somebody who runs a command, or -errno. */
int session_holder_busy(const char *session_dir);
/* For the holder: the same file, not locked. */
int session_holder_open_busy(const char *session_dir);
/* A command began or ended. */
void session_holder_touch(int busy_fd);

/* The file in which keepers say who they are (child/keep.h). */
int session_keepers_open(const char *session_dir);

/* Ends it and every process of the session, also those of runs in a sandbox of their own, and waits until they are gone. 0 also when
 * there was none; -ETIMEDOUT. */
int session_holder_end(const char *session_dir);

/* The name of the session's control group, which its commands share as root: the same for the same directory. */
#define SESSION_GROUP_SIZE 24
void session_group_name(const char *session_dir, char ret[SESSION_GROUP_SIZE]);

/* ── own_sandbox.c: runs of the session that are not in the holder's namespaces, such as those of whole agents ── */

#define SESSION_OWN_DIR "own"

/* Says that this run has a sandbox of its own, and which process is its outermost one. Returns the lock, to be given to _leave. */
int session_own_enter(const char *session_dir, const char *run, pid_t pid);
void session_own_leave(const char *session_dir, const char *run, int lock_fd);
/* The next of them that lives: 1 and its first process in *ret, with no traits; 0: no more. */
struct session_own_list {
	void *dir;	 /* NULL: at the beginning */
	const char *run; /* the last one's; borrowed until the next */
};
int session_own_next(struct session_own_list *l, const char *session_dir, struct session_holder *ret);
void session_own_done(struct session_own_list *l);
/* Does any other run than this one live in a sandbox of its own? */
bool session_own_has_other(const char *session_dir, const char *run);

/* One file with a pid and a lock, of the holder or of such a run. -ENOENT: nobody has it locked. */
int session_pid_read(int dir_fd, const char *name, struct session_holder *ret);
int session_pid_lock(int dir_fd, const char *name);

/* ── processes.c ── */

struct session_process {
	pid_t pid; /* as the host has it */
	char *command;
	int64_t started_ns; /* since 1970 */
	bool is_background; /* its command has ended */
};

struct session_processes {
	struct session_process *v;
	size_t n, cap;
};
void session_processes_done(struct session_processes *p);
#define _cleanup_processes_ _cleanup_(session_processes_done)

/* The outermost process of a sandbox becomes the first one in it; bwrap stays outside of the namespace. False: there is none. */
bool session_first_process(struct session_holder *h);
/* The pid namespace of a holder; 0: unknown. Does any process in it live? */
ino_t session_holder_namespace(const struct session_holder *h);
bool session_namespace_lives(ino_t namespace);

/* Those of the session that its commands started and that still run, in the holder's namespaces and in their own. */
int session_processes(const char *session_dir, struct session_processes *ret);
