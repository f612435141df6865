/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* | namespaces | uid          | capabilities           | root, cwd                                    |
 * | the plan's | the caller's | all, as while mounting | the host's; the sandbox's is mounted over it |
 *
 * Nothing of the command is here yet, so nothing hostile either. The mount tables are watched by their descriptors: the
 * kernel raises an error condition on an open /proc/self/mountinfo once a mount of that namespace came, went or changed.
 * That is how a mount is noticed that went because somebody on the host removed the file it was mounted over.
 */
#include "child/hold.h"

#include "child/job.h"
#include "child/mounts.h"
#include "child/pass.h"
#include "child/raw_calls.h"

#include <asm/poll.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

int hold_watch(void)
{
	return (int)mounts_check(CHILD_OP_READ_JOB, r_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
}

static void say_ready(int table)
{
	mounts_check(CHILD_OP_READ_JOB, pass_fd(CHILD_FD_CONTROL, CHILD_READY, table));
	(void)r_close(table);
}

static void wait_for_message(int table)
{
	struct {
		int fd;
		short events, revents;
	} fds[] = {{CHILD_FD_CONTROL, POLLIN, 0}, {table, POLLPRI, 0}, {CHILD_FD_MOUNTS, POLLPRI, 0}};
	for (;;) {
		long n = raw_call5(__NR_ppoll, fds, sizeof fds / sizeof *fds, 0, 0, 0);
		if (n > 0 && fds[0].revents)
			return; /* whoever takes it has looked at the tables before */
		if (n > 0 || n != -EINTR)
			r_exit(0);
	}
}

int hold_for_plan(int *ret_taken)
{
	struct child_message m;
	int fds[CHILD_TAKEN_FDS];
	int came = pass_take(CHILD_FD_CONTROL, &m, fds, CHILD_TAKEN_FDS);
	*ret_taken = came == CHILD_TAKEN_FDS && m.type == CHILD_TAKE;
	if (came == 1 && m.type == CHILD_ADVANCE)
		return fds[0];
	if (!*ret_taken)
		r_exit(0);
	/* The launcher left nothing free below CHILD_FD_PLAN: none of them is in the way of another. */
	for (int i = 0; i < 3; i++)
		mounts_check(CHILD_OP_READ_JOB, r_dup3(fds[CHILD_TAKEN_STDIN + i], i, 0));
	mounts_check(CHILD_OP_READ_JOB, r_dup3(fds[CHILD_TAKEN_JOB], CHILD_FD_JOB, 0));
	for (int i = 0; i < CHILD_TAKEN_PLAN; i++)
		(void)r_close(fds[i]);
	return fds[CHILD_TAKEN_PLAN];
}

int hold_until_taken(int watch)
{
	(void)r_prctl(PR_SET_NAME, (unsigned long)"airlock-ready");
	/* One each, for who polls it takes the news away from others. */
	int own = hold_watch();
	say_ready(watch);
	wait_for_message(own);
	(void)r_close(own);
	int is_taken, plan = hold_for_plan(&is_taken);
	if (!is_taken)
		r_exit(0);
	return plan;
}
