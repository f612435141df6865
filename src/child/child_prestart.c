/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* | namespaces | uid          | capabilities           | root, cwd                                    |
 * | the plan's | the caller's | all, as while mounting | the host's; the sandbox's is mounted over it |
 *
 * No command runs here yet, so nothing in this sandbox is hostile. Mount tables are watched by their descriptors: the kernel
 * raises an error condition on an open /proc/self/mountinfo once a mount of that namespace came, went or changed. This
 * is how we learn that a mount went because somebody on the host removed the file it was mounted over.
 */
#include "child/child_prestart.h"

#include "child/child_job.h"
#include "child/mounts.h"
#include "child/pass.h"
#include "child/raw_calls.h"

#include <asm/poll.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

int prestart_watch_mounts(void)
{
	return (int)mounts_check(CHILD_OP_READ_JOB, r_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
}

static void wait_for_message(int mounts_fd)
{
	struct {
		int fd;
		short events, revents;
	} fds[] = {{CHILD_FD_CONTROL, POLLIN, 0}, {mounts_fd, POLLPRI, 0}, {CHILD_FD_MOUNTS, POLLPRI, 0}};
	for (;;) {
		long n = raw_call5(__NR_ppoll, fds, sizeof fds / sizeof *fds, 0, 0, 0);
		if (n > 0 && fds[0].revents)
			return; /* the supervisor looked at both tables before it sent this */
		if (n > 0 || n != -EINTR)
			r_exit(0);
	}
}

int prestart_receive_plan(int *ret_is_taken)
{
	struct pass_received in;
	if (pass_receive(CHILD_FD_CONTROL, PASS_WAIT, &in) <= 0)
		r_exit(0);
	*ret_is_taken = in.n_fds == CHILD_TAKEN_FDS && in.m.type == CHILD_TAKE;
	if (in.n_fds == 1 && in.m.type == CHILD_TELL)
		return in.fds[0];
	if (!*ret_is_taken)
		r_exit(0);
	/* The launcher left no descriptor below CHILD_FD_PLAN free: none of these is in the way of another. */
	for (int i = 0; i < 3; i++)
		mounts_check(CHILD_OP_READ_JOB, r_dup3(in.fds[CHILD_TAKEN_STDIN + i], i, 0));
	mounts_check(CHILD_OP_READ_JOB, r_dup3(in.fds[CHILD_TAKEN_JOB], CHILD_FD_JOB, 0));
	int plan = pass_take_fd(&in, CHILD_TAKEN_PLAN);
	pass_close(&in);
	return plan;
}

int prestart_wait_until_taken(int mounts_fd)
{
	(void)r_prctl(PR_SET_NAME, (unsigned long)"airlock-ready");
	/* A second descriptor for us: a poll takes the news of a change away from everybody else with the same one. */
	int own = prestart_watch_mounts(), is_taken;
	mounts_check(CHILD_OP_READ_JOB, pass_send_fd(CHILD_FD_CONTROL, CHILD_READY, mounts_fd));
	(void)r_close(mounts_fd);
	wait_for_message(own);
	(void)r_close(own);
	int plan = prestart_receive_plan(&is_taken);
	if (!is_taken)
		r_exit(0);
	return plan;
}
