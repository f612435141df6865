/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/confine.h"

#include "child/notify.h"
#include "child/raw_calls.h"

#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define CONFINE_MAX 1024 /* instructions */

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

static long install(struct sock_fprog *program, unsigned flags)
{
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return rc < 0 ? rc : raw_call3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

long confine_calls(const struct child_job *job)
{
	struct sock_fprog program = {.len = job->filter_len,
				     .filter = (void *)((char *)job + job->filter.at)}; /* only the kernel reads it */
	return job->filter_len == 0 ? 0 : install(&program, 0);
}

/* Changes a copy of the filter: each "allow" becomes a jump to the listener's rules behind it, and the instruction that refuses noted calls asks
 * the first process, which refuses them. All other refusals stay. */
static void lead_on(struct sock_filter *code, const struct child_job *job)
{
	for (unsigned i = 0; i < job->filter_len; i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_ALLOW)
			code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, job->filter_len - i - 1u, 0, 0);
	if (job->filter_len && job->flags & CHILD_REFUSED)
		code[job->noted].k = SECCOMP_RET_USER_NOTIF;
}

long confine_listened(const struct child_job *job)
{
	static struct sock_filter code[CONFINE_MAX];
	const struct sock_filter *own = (const void *)((const char *)job + job->filter.at);
	if (job->filter_len + NOTIFY_RULES_MAX > CONFINE_MAX)
		return -E2BIG;
	for (unsigned i = 0; i < job->filter_len; i++)
		code[i] = own[i];
	lead_on(code, job);
	size_t n = job->filter_len + notify_rules(code + job->filter_len, job->flags, job->filter_len == 0);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	/* Only with calls that wait for the answer whatever signals come: an interrupted call would be made twice. */
	return install(&program, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}
