/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/confine.h"

#include "child/raw_calls.h"
#include "child/refused.h"

#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

/* If a user namespace was made, this has been done there. Root keeps its uid: it owns files. */
static long drop_capabilities(void)
{
	long rc = 0;
	for (int cap = 0; rc == 0; cap++)
		rc = raw_call5(__NR_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (rc != -EINVAL && rc != -EPERM) /* no more of them; refused to all but root, who needs it */
		return rc;
	rc = raw_call5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (rc < 0)
		return rc;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
	return raw_call2(__NR_capset, &head, none);
}

#define SCOPE_ABSTRACT_SOCKETS 1 /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, Linux 6.12 */

/* A ruleset that restricts no files: it only blocks abstract sockets that were made outside of it. */
static long scope_sockets(void)
{
	uint64_t ruleset[] = {0, 0, SCOPE_ABSTRACT_SOCKETS};
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long fd = rc < 0 ? rc : raw_call3(__NR_landlock_create_ruleset, ruleset, sizeof ruleset, 0);
	rc = fd < 0 ? fd : raw_call2(__NR_landlock_restrict_self, fd, 0);
	if (fd >= 0)
		(void)r_close((int)fd);
	return rc;
}

long confine_files(const struct child_job *job)
{
	if (job->flags & CHILD_SCOPED)
		return scope_sockets();
	if (!(job->flags & CHILD_RULESET))
		return 0;
	long rc = drop_capabilities();
	if (rc == 0)
		rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return rc < 0 ? rc : raw_call2(__NR_landlock_restrict_self, CHILD_FD_ARGS, 0);
}

/* The rules in front, which leave the listener's calls to the listener; the rest is the job's own program. */
static long put_in_front(const struct child_job *job, struct sock_fprog *program)
{
	static struct sock_filter code[BPF_MAXINSNS];
	if (job->filter_len + REFUSED_RULES_MAX > BPF_MAXINSNS)
		return -E2BIG;
	size_t n = refused_rules(code, SECCOMP_RET_ALLOW, (job->flags & CHILD_NESTED) != 0);
	for (uint32_t i = 0; i < job->filter_len; i++)
		code[n + i] = program->filter[i];
	*program = (struct sock_fprog){.len = (unsigned short)(n + job->filter_len), .filter = code};
	return 0;
}

long confine_calls(const struct child_job *job, int listened)
{
	if (job->filter_len == 0)
		return 0;
	struct sock_fprog program = {.len = (unsigned short)job->filter_len,
				     .filter = (void *)((char *)job + job->filter.at)}; /* only the kernel reads it */
	if (listened && job->flags & CHILD_REFUSED && put_in_front(job, &program) < 0)
		return -E2BIG;
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return rc < 0 ? rc : raw_call3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
