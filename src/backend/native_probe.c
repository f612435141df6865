/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests by making a sandbox: with exactly the code that a run uses, and the smallest plan. */
#include "backend/native.h"

#include "backend/bwrap_probe_parts.h"
#include "child/program.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define TIMEOUT_MS 5000
#define FORMAT "airlock native probe 1\n"
#define MAX_FILE 4096
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

/* The result; op is 0 if a call of ours failed before the child could report. */
struct attempt {
	int errnum;
	enum child_op op;
	const char *call;
};

static int smallest_job(void)
{
	static const char *const nothing[] = {NULL};
	struct child_job job = {.cwd = {"/"}, .argv = {nothing}, .envp = {nothing}};
	return child_job_fd(&job);
}

static void recv_message(int socket, struct attempt *ret)
{
	struct child_message m = {0};
	struct pollfd p = {.fd = socket, .events = POLLIN};
	int rc;
	do
		rc = poll(&p, 1, TIMEOUT_MS);
	while (rc < 0 && errno == EINTR);
	ssize_t n = rc > 0 ? recv(socket, &m, sizeof m, MSG_DONTWAIT) : 0;
	if (n == (ssize_t)sizeof m && m.type == CHILD_HELLO)
		return;
	bool told = n == (ssize_t)sizeof m && m.type == CHILD_FAILED;
	*ret = (struct attempt){.errnum = told ? m.b : rc > 0 ? EPROTO : ETIMEDOUT, .op = told ? m.op : 0};
}

static struct attempt attempt(bool own_proc)
{
	struct plan_mount mounts[] = {{.kind = PLAN_READ, .source = (char *)"/", .target = (char *)"/"},
				      {.kind = PLAN_DEV, .target = (char *)"/dev"},
				      {.kind = PLAN_PROC, .target = (char *)"/proc"}};
	struct plan plan = {.mounts = mounts,
			    .n_mounts = AL_ARRAY_LEN(mounts),
			    .namespaces = PLAN_NS_USER | PLAN_NS_MOUNT | PLAN_NS_PID | PLAN_NS_NET | PLAN_NS_IPC |
					  PLAN_NS_UTS | PLAN_NS_CGROUP,
			    .new_session = true};
	struct attempt a = {0};
	int sockets[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return (struct attempt){.errnum = errno, .call = "socketpair"};
	_cleanup_close_ int ours = sockets[0], theirs = sockets[1], job = smallest_job(), program = child_program_fd();
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return (struct attempt){.errnum = errno, .call = "open /dev/null"};
	if (job < 0 || program < 0)
		return (struct attempt){.errnum = job < 0 ? -job : -program, .call = "memfd_create"};
	struct backend_fds fds = {null, null, null, theirs, job, program, NULL, 0};
	char no_file[] = ""; /* this plan hides no file */
	const struct native_scene scene = {own_proc, no_file};
	pid_t pid = 0;
	a.errnum = -native_start(&plan, &scene, &fds, &pid, &a.call);
	if (a.errnum)
		return a;
	base_closep(&theirs);
	recv_message(ours, &a);
	(void)kill(pid, SIGKILL); /* ours, and not yet waited for */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return a;
}

/* ── Words ── */

static void explain(const struct attempt *a, struct airlock_error *ret)
{
	const char *what = a->op ? child_op_name(a->op) : a->call ? a->call : "start";
	struct sys_probe p;
	sys_probe_userns(&p);
	enum bwrap_cause cause = p.works ? BWRAP_OTHER : bwrap_cause_of(sys_userns_obstacle(&p));
	if (cause == BWRAP_OTHER && a->op == CHILD_OP_PROC)
		cause = BWRAP_PROC;
	if (cause == BWRAP_OTHER && a->op == CHILD_OP_LOOPBACK)
		cause = BWRAP_LOOPBACK;
	base_error_clear(ret);
	if (a->errnum == ENOSYS)
		base_error(
			ret, AIRLOCK_ERR_UNAVAILABLE, what, "native",
			"the native backend cannot be used: this kernel, or a filter on this process, lacks a call it needs (%s)",
			what);
	else
		base_error(ret, AIRLOCK_ERR_UNAVAILABLE, what, "native",
			   "the native backend cannot be used: %s: %s%s%s", what, strerrordesc_np(a->errnum),
			   cause == BWRAP_OTHER ? "" : "; ",
			   cause == BWRAP_OTHER ? "" : bwrap_cause_words(cause)->cause);
	ret->errnum = a->errnum;
	if (a->errnum == ENOSYS)
		base_hint(ret, "use Linux 5.12 or newer, or --backend bubblewrap");
	else
		base_hint(ret, "%s", bwrap_cause_words(cause)->fix);
}

/* ── Memory ── */

/* Numbers of namespaces are used again: the next container with the same volume may have those of the last one, and fewer rights.
 * Since Linux 6.8 a mount has a number that no other ever gets; older kernels give the one that is used again. */
static void add_proc_mount(struct buf *key)
{
	struct statx st = {0};
	(void)statx(AT_FDCWD, "/proc", AT_STATX_DONT_SYNC, STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &st);
	buf_printf(key, "proc %llu\n", (unsigned long long)st.stx_mnt_id);
}

static void make_key(struct buf *ret)
{
	buf_adds(ret, FORMAT);
	bwrap_cache_machine_key(ret);
	bwrap_cache_add_namespace(ret, "/proc/self/ns/mnt");
	add_proc_mount(ret);
}

/* The file is the key and one word. */
static bool recall(const char *file, const struct buf *key, struct native_info *ret)
{
	char text[MAX_FILE];
	bwrap_cache_read(file, text, sizeof text);
	if (key->failed || strncmp(text, buf_str(key), key->len) != 0)
		return false;
	const char *word = text + key->len;
	ret->works = strcmp(word, "whole\n") == 0 || strcmp(word, "old proc\n") == 0;
	ret->own_proc = *word == 'w';
	return ret->works;
}

static void remember(const char *file, const struct buf *key, bool own_proc)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct airlock_error ignored = {0};
	buf_add(&text, buf_str(key), key->len);
	buf_adds(&text, own_proc ? "whole\n" : "old proc\n");
	if (!text.failed && !key->failed && text.len < MAX_FILE)
		(void)fs_write_private_file(file, text.data, text.len, &ignored);
}

void native_probe(const char *cache_file, struct native_info *ret)
{
	_cleanup_buf_ struct buf key = BUF_INIT;
	*ret = (struct native_info){0};
	make_key(&key);
	if (cache_file && recall(cache_file, &key, ret))
		return;
	struct attempt a = attempt(true);
	ret->own_proc = a.errnum == 0;
	if (a.op == CHILD_OP_PROC) {
		struct attempt b = attempt(false);
		if (b.errnum == 0)
			a = b;
	}
	ret->works = a.errnum == 0;
	if (!ret->works)
		explain(&a, &ret->why);
	else if (cache_file)
		remember(cache_file, &key, ret->own_proc);
}
