/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* | namespaces             | uid          | capabilities | root, cwd             |
 * | user, mount, pid, net, | the caller's | none         | an empty file system, |
 * | ipc, uts of a session  |              |              | with nothing in it    |
 *
 * The commands of the session are hostile, and share uid, pid and user namespace with this process. Being process 1, it gets no
 * signal from them; it is not dumpable, so they cannot look into it; and it reads nothing that they write. It only waits.
 *
 * A command gets in from outside (launch.c), so nobody in here needs a capability. It has mounts of its own: those of this
 * process show nothing, and keep none of the session's layers.
 */
#include "child/hold.h"

#include "child/child_job.h"
#include "child/raw_calls.h"

#include <asm/poll.h>
#include <asm/signal.h>
#include <asm/stat.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#define CLOCK_REALTIME_ID 0
#define LOCK_EXCLUSIVE_NOW (2 | 4) /* LOCK_EX | LOCK_NB */
#define LOCK_RELEASE 8

static int64_t now_ms(void)
{
	struct __kernel_timespec now = {0, 0};
	(void)raw_call2(__NR_clock_gettime, CLOCK_REALTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Nothing is lost with one that has nothing to hold, but for the time that the next command takes to start another. */
#define EMPTY_MS (INT64_C(5) * 60 * 1000)

static int is_empty(void)
{
	return r_kill(-1, 0) == -ESRCH;
}

/* Whether nobody has run a command for too long. Whoever starts or ends one touches the file. A clock that was set back makes the time
 * longer, never shorter. If it is over, the lock stays: who wants to run a command waits until we have ended. */
static int is_over(int64_t idle_ms)
{
	struct statx st;
	if (raw_call2(__NR_flock, HOLD_FD_BUSY, LOCK_EXCLUSIVE_NOW) < 0)
		return 0; /* a command runs */
	if (raw_call5(__NR_statx, HOLD_FD_BUSY, "", AT_EMPTY_PATH, STATX_MTIME, &st) < 0)
		return 0;
	if (idle_ms > EMPTY_MS && is_empty())
		idle_ms = EMPTY_MS;
	return now_ms() - (st.stx_mtime.tv_sec * 1000 + st.stx_mtime.tv_nsec / 1000000) >= idle_ms;
}

/* The file that it has locked goes with the session. */
static int is_removed(void)
{
	struct statx st;
	return raw_call5(__NR_statx, HOLD_FD_LOCK, "", AT_EMPTY_PATH, STATX_NLINK, &st) == 0 && st.stx_nlink == 0;
}

static void reap_all(void)
{
	int status;
	while (raw_call4(__NR_wait4, -1, &status, WNOHANG, 0) > 0)
		;
}

static void say_hello(void)
{
	const struct child_message m = {.type = CHILD_HELLO};
	if (r_write(CHILD_FD_CONTROL, &m, sizeof m) != (long)sizeof m)
		r_exit(1);
	(void)r_close(CHILD_FD_CONTROL);
}

void hold_be(int64_t idle_ms)
{
	const uint64_t all = ~0ull, chld = 1ull << (SIGCHLD - 1);
	static const int others[] = {0, 1, 2, CHILD_FD_SELF, CHILD_FD_PLAN};
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		(void)r_close(others[i]);
	if (r_close_from(HOLD_FD_LIFELINE + 1) < 0)
		r_exit(1);
	if (r_prctl(PR_SET_DUMPABLE, 0) < 0)
		r_exit(1);
	(void)r_prctl(PR_SET_NAME, (unsigned long)"airlock-holder");
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all);
	long signals = raw_call4(__NR_signalfd4, -1, &chld, sizeof chld, O_CLOEXEC | O_NONBLOCK);
	if (signals < 0)
		r_exit(1);
	say_hello();
	struct {
		int fd;
		short events, revents;
	} fds[] = {{(int)signals, POLLIN, 0}, {HOLD_FD_LIFELINE, POLLIN | POLLOUT, 0}};
	for (;;) {
		/* Whether the session was removed can only be looked at. One that holds nothing looks often, and not for long. */
		int64_t look_ms = is_empty() ? 1000 : idle_ms < 10000 ? idle_ms : 10000;
		struct __kernel_timespec wait = {look_ms / 1000, look_ms % 1000 * 1000000};
		long n = raw_call5(__NR_ppoll, fds, 2, &wait, 0, 0);
		if (fds[1].revents & POLLOUT)
			fds[1].fd = -1; /* a file, so there is none */
		else if (fds[1].revents)
			r_exit(0); /* nobody writes to the pipe: it was closed */
		if (n > 0) {
			char drop[128];
			while (r_read((int)signals, drop, sizeof drop) > 0)
				;
			reap_all();
		}
		if (is_removed() || is_over(idle_ms))
			r_exit(0);
		(void)raw_call2(__NR_flock, HOLD_FD_BUSY, LOCK_RELEASE);
	}
}
