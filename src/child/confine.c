/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/confine.h"

#include "child/raw_calls.h"

#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

long confine_calls(const struct child_job *job)
{
	if (job->filter_len == 0)
		return 0;
	struct sock_fprog program = {.len = (unsigned short)job->filter_len,
				     .filter = (struct sock_filter *)((char *)job + job->filter)};
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return rc < 0 ? rc : raw_call3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
