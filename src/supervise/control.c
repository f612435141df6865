/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The supervisor's side of the protocol in child/child_job.h. */
#include "supervise/supervise_state.h"

#include "child/pass.h"
#include "child/program.h"
#include "sys/probe.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int send_with(struct supervise *s, const struct child_message *m, const int *fds, unsigned n_fds)
{
	long n;
	do
		n = pass_send(s->control_fd, m, fds, n_fds);
	while (n == -EINTR);
	return n < 0 ? (int)n : 0;
}

static int send_message(struct supervise *s, const struct child_message *m)
{
	return send_with(s, m, NULL, 0);
}

/* Tells what is removed from the directory above: the runtime directory itself has mounts of the sandbox on it, and would not tell. */
static int watch_login(const char *runtime_dir)
{
	const char *slash = runtime_dir && *runtime_dir ? strrchr(runtime_dir, '/') : NULL;
	_cleanup_free_ char *above =
		slash ? strndup(runtime_dir, slash > runtime_dir ? (size_t)(slash - runtime_dir) : 1) : NULL;
	_cleanup_close_ int fd = above ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -EBADF;
	return fd >= 0 && inotify_add_watch(fd, above, IN_DELETE | IN_ONLYDIR) >= 0 ? TAKE_FD(fd) : -EBADF;
}

int control_keep(struct supervise *s)
{
	_cleanup_close_ int login = watch_login(s->spec.runtime_dir);
	const int all[CHILD_KEPT_FDS] = {[CHILD_KEPT_STDOUT] = s->spec.pty ? -1 : s->out.fd,
					 [CHILD_KEPT_STDERR] = s->spec.pty ? -1 : s->err.fd,
					 [CHILD_KEPT_STDOUT_FILE] = s->spec.pty ? -1 : stream_file(&s->out),
					 [CHILD_KEPT_STDERR_FILE] = s->spec.pty ? -1 : stream_file(&s->err),
					 [CHILD_KEPT_LOCK] = s->spec.keep_locks[0],
					 [CHILD_KEPT_LOCK_2] = s->spec.keep_locks[1],
					 [CHILD_KEPT_LOGIN] = login,
					 [CHILD_KEPT_KEEPERS] = s->spec.keepers_fd};
	struct child_message m = {.type = CHILD_KEEP,
				  .id = login < 0 ? 0 : child_name_hash(strrchr(s->spec.runtime_dir, '/') + 1)};
	int fds[CHILD_KEPT_FDS];
	unsigned n = 0;
	for (unsigned i = 0; i < CHILD_KEPT_FDS; i++)
		if (all[i] >= 0) {
			m.a |= 1 << i;
			fds[n++] = all[i];
		}
	int rc = send_with(s, &m, fds, n);
	if (rc < 0)
		return rc;
	base_closep(&s->control_fd);
	base_closep(&s->out.fd);
	base_closep(&s->err.fd);
	return 0;
}

void control_send_signal(struct supervise *s, int sig, enum child_scope scope)
{
	struct child_message m = {.type = CHILD_SIGNAL, .a = sig, .b = (int32_t)scope};
	(void)send_message(s, &m);
}

void control_want_sockets(struct supervise *s)
{
	struct child_message m = {.type = CHILD_SOCKETS};
	/* Before GO the first process expects nothing else, and it sends the first ones by itself. */
	if (s->phase == PHASE_RUNNING)
		(void)send_message(s, &m);
}

/* The backend's own messages on stderr come before HELLO, the command's after GO: they never mix. A process that gets
 * GO before HELLO prints nothing of its own. */
static void take_setup_text(struct supervise *s)
{
	char text[4096];
	ssize_t n;
	while ((n = read(s->err.fd, text, sizeof text)) > 0)
		if (s->setup_text.len < 8192)
			buf_add(&s->setup_text, text, (size_t)n);
}

/* It waits for GO, so it cannot have died and been replaced before we had a pidfd: sending GO would fail then. */
static bool say_go(struct supervise *s, pid_t pid)
{
	struct airlock_error err = {0};
	s->first_pid = pid;
	s->first_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid <= 0 || s->first_fd < 0) {
		base_errno(&err, AIRLOCK_ERR_INIT_FAILED, errno, "pidfd_open", "first process");
		ending_fail(s, &err, 125);
		return false;
	}
	if (limits_attach(&s->limits, pid, &err) < 0) {
		ending_fail(s, &err, 125);
		return false;
	}
	struct child_message go = {.type = CHILD_GO};
	int rc = send_with(s, &go, &s->spec.record_fd, s->spec.record_fd >= 0 ? 1 : 0);
	if (rc < 0 && rc != -EPIPE && rc != -ECONNRESET) { /* otherwise it is dead, and the socket ends */
		base_errno(&err, AIRLOCK_ERR_INIT_FAILED, rc, "send", "first process");
		ending_fail(s, &err, 125);
	}
	return rc == 0;
}

/* Only with a pid namespace: if it must be killed before HELLO, the command it may have started dies with it. */
void control_go_ahead(struct supervise *s)
{
	if (s->spec.backend->spawns_first_process && s->iso.own_pid_namespace && !s->spawned_dead)
		s->told_to_go = say_go(s, s->spawned_pid);
}

/* The kernel translates the pid into our pid namespace. */
static void on_hello(struct supervise *s, pid_t pid)
{
	if (!s->told_to_go)
		take_setup_text(s);
	if (!s->told_to_go && !say_go(s, pid))
		return;
	struct airlock_error err = {0};
	s->phase = PHASE_RUNNING;
	if (covers_open(s, pid, &err) < 0)
		ending_break(s, &err);
}

static void on_tty(struct supervise *s, int master)
{
	if (master < 0)
		return;
	s->master_fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
	int sink = fcntl(master, F_DUPFD_CLOEXEC, 3);
	int rc = stream_set_fd(&s->out, master);
	s->out.is_terminal = true;
	if (rc == 0)
		rc = sink < 0 ? -errno : input_set_sink(&s->in, sink, true);
	if (rc < 0) {
		struct airlock_error err = {0};
		base_errno(&err, AIRLOCK_ERR_INIT_FAILED, rc, "fcntl", "terminal");
		ending_fail(s, &err, 125);
		return;
	}
	supervise_resize(s);
}

/* Usually a file system cannot have layers, or hold one: name the file systems first. */
static void explain_layer(const struct supervise *s, const char *path, const char *what, const char *why,
			  struct airlock_error *err)
{
	struct sys_fs project, state;
	sys_fs_examine(path, &project);
	sys_fs_examine(s->spec.run_dir, &state);
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, what, path,
		   "changes in %s (%s) cannot be captured with airlock's state on %s: cannot %s: %s", path,
		   project.errnum ? "unknown" : project.type, state.errnum ? "an unknown file system" : state.type,
		   what, why);
	base_hint(
		err,
		"point XDG_STATE_HOME to another file system, or let the command write straight to the project with `--changes direct`; `airlock doctor` says more");
}

/* Says which operation failed on which path, in words that a person can act on. */
static void explain_mount(const struct supervise *s, const struct child_message *m, struct airlock_error *err)
{
	const struct plan *plan = s->spec.plan;
	const char *what = child_op_name((enum child_op)m->op), *why = strerrordesc_np(m->b);
	bool in_plan = (enum child_stage)m->a == CHILD_STAGE_PLAN, is_layer = false;
	const char *path = "";
	if (in_plan && m->subject < plan->n_mounts) {
		path = plan->mounts[m->subject].target;
		is_layer = plan->mounts[m->subject].kind == PLAN_LAYER;
	} else if (!in_plan && m->subject < s->spec.n_layers) { /* later steps concern none of the layers */
		path = s->spec.layers[m->subject].root.text;
		is_layer = true;
	}
	if (is_layer) {
		explain_layer(s, path, what, why, err);
		return;
	}
	base_error(err, AIRLOCK_ERR_INIT_FAILED, what, path, "the sandbox could not be set up: cannot %s%s%s: %s", what,
		   *path ? " for " : "", path, why);
	base_hint(err, "run `airlock doctor` to find the cause; `airlock explain` shows the plan");
}

static void on_failed(struct supervise *s, const struct child_message *m)
{
	enum child_stage stage = (enum child_stage)m->a;
	int errnum = m->b;
	struct airlock_error err = {0};
	const char *program = s->spec.plan->argv.n ? s->spec.plan->argv.v[0] : "";
	const char *cwd = s->spec.plan->cwd;
	int exit_code = 125;
	if (stage == CHILD_STAGE_CHDIR && (errnum == ENOENT || errnum == ENOTDIR)) {
		base_error(&err, errnum == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_INVALID, "chdir", cwd,
			   errnum == ENOENT ? "Working directory does not exist: %s"
					    : "Working directory is not a directory: %s",
			   cwd);
	} else if (stage == CHILD_STAGE_CHDIR) {
		base_errno(&err, AIRLOCK_ERR_IO, errnum, "chdir", cwd);
	} else if (stage == CHILD_STAGE_EXEC) {
		exit_code = errnum == ENOENT || errnum == ENOTDIR ? 127 : 126;
		if (exit_code == 127)
			base_error(&err, AIRLOCK_ERR_NOT_FOUND, "exec", program, "%s: command not found", program);
		else
			base_error(&err, AIRLOCK_ERR_INVALID, "exec", program, "%s: cannot be executed: %s", program,
				   strerrordesc_np(errnum));
	} else if (stage == CHILD_STAGE_LAYER || stage == CHILD_STAGE_PLAN) {
		explain_mount(s, m, &err);
	} else if (stage == CHILD_STAGE_FILTER) {
		base_error(&err, AIRLOCK_ERR_INIT_FAILED, "seccomp", program,
			   "the system call filter cannot be installed: %s", strerrordesc_np(errnum));
		base_hint(&err, "the kernel needs CONFIG_SECCOMP_FILTER; nothing was run");
	} else if (stage == CHILD_STAGE_SETUP && errnum == EAGAIN && s->iso.shared_pid_namespace &&
		   s->limits.pids != TEXT_NONE) {
		base_error(
			&err, AIRLOCK_ERR_LIMIT, "limit", "pids",
			"the session already has as many processes as its limit allows, so the command was not started");
		base_hint(&err, "airlock session show lists them, airlock session end ends them");
	} else if (stage == CHILD_STAGE_INPUT) {
		base_errno(&err, AIRLOCK_ERR_INIT_FAILED, errnum, "open standard input", "/dev/null");
	} else {
		base_errno(&err, AIRLOCK_ERR_INIT_FAILED, errnum,
			   stage == CHILD_STAGE_TTY ? "open terminal" : "first process", "");
	}
	err.errnum = errnum;
	ending_fail(s, &err, exit_code);
}

static void on_exited(struct supervise *s, const struct child_message *m)
{
	s->wait_status = m->a;
	s->have_status = true;
	bool ends = s->timed_out || s->hard_killed || s->kill_at_us || s->result.error.code;
	s->nobody_left = m->b == CHILD_LEFT_NOBODY && (s->iso.own_pid_namespace || s->iso.shared_pid_namespace);
	s->result.has_company = m->b == CHILD_LEFT_OTHERS || m->b == CHILD_LEFT_OWN;
	s->releasing = m->b == CHILD_LEFT_OWN && !ends;
	if (m->b == CHILD_LEFT_OWN && ends) /* the end of the socket ends what is left */
		base_closep(&s->control_fd);
	s->result.cpu_us = m->cpu_us;
	s->result.max_rss_kb = m->max_rss_kb;
	for (size_t i = 0; i < s->n_tmpfs; i++)
		if (m->full & 1u << i)
			s->result.full[s->result.n_full++] = s->tmpfs[i];
	s->phase = PHASE_ENDING;
}

_Static_assert((int)CHILD_OPEN == (int)NET_OPENS && (int)CHILD_OPEN_ONCE == (int)NET_OPENS_ONCE &&
		       (int)CHILD_REFUSE == (int)NET_REFUSES,
	       "the answers have the same numbers");

/* The first process never has more of these under way than the socket holds, so this does not wait. */
static void on_connect(struct supervise *s, const struct child_message *m)
{
	struct net_address to = {.family = m->op == 4 ? 4 : 6};
	struct child_message answer = *m;
	memcpy(to.bytes, m->address, sizeof to.bytes);
	answer.a = s->spec.gate ? (int32_t)net_gate_before_connect(s->spec.gate, &to, (unsigned)m->b) : CHILD_OPEN;
	(void)send_message(s, &answer);
}

static void handle(struct supervise *s, struct pass_received *in)
{
	const struct child_message *m = &in->m;
	switch (m->type) {
	case CHILD_HELLO:
		if (s->phase == PHASE_SETUP)
			on_hello(s, in->pid);
		break;
	case CHILD_TTY:
		on_tty(s, pass_take_fd(in, 0));
		break;
	case CHILD_OBSERVER:
		s->result.observe_errnum = m->b;
		base_closep(&s->seen_fd);
		s->seen_fd = pass_take_fd(in, 0);
		break;
	case CHILD_FAILED:
		on_failed(s, m);
		break;
	case CHILD_EXPOSED:
		s->result.exposed = m->a == CHILD_STAGE_PLAN && m->subject < s->spec.plan->n_mounts
					    ? s->spec.plan->mounts[m->subject].target
					    : "a directory of the host";
		s->result.exposed_errnum = m->b;
		break;
	case CHILD_LISTENERS:
		for (unsigned i = 0; s->spec.gate && i < in->n_fds; i++)
			net_gate_take(s->spec.gate, pass_take_fd(in, i));
		break;
	case CHILD_CONNECT:
		on_connect(s, m);
		break;
	case CHILD_SOCKETS:
		for (unsigned i = 0; s->spec.gate && i + 1 < in->n_fds; i += 2) {
			int v4 = pass_take_fd(in, i), v6 = pass_take_fd(in, i + 1);
			net_gate_take_sockets(s->spec.gate, v4, v6);
		}
		break;
	case CHILD_LIMIT:
		s->result.limit_hit = m->a == CHILD_LIMIT_MEMORY ? AIRLOCK_LIMIT_MEMORY : AIRLOCK_LIMIT_PIDS;
		break;
	case CHILD_STOPPED:
		s->stopped = true;
		break;
	case CHILD_EXITED:
		on_exited(s, m);
		break;
	default:
		break;
	}
}

void control_read(struct supervise *s)
{
	for (;;) {
		struct pass_received in;
		long n = pass_receive(s->control_fd, PASS_NO_WAIT, &in);
		if (n == -EAGAIN || n == -EINTR)
			return;
		/* -ECONNRESET: it died with an unread message of ours: reported once, before what it wrote itself. */
		if (n == -ECONNRESET || n == -EBADMSG)
			continue;
		if (n <= 0) { /* every process that held the other end is gone */
			base_closep(&s->control_fd);
			s->watched_fd[ON_CONTROL] = -EBADF;
			if (s->phase == PHASE_SETUP && supervise_start_again(s))
				return;
			if (s->phase == PHASE_SETUP)
				ending_setup_failed(s);
			else if (s->phase == PHASE_RUNNING)
				s->phase = PHASE_ENDING;
			return;
		}
		handle(s, &in);
		pass_close(&in);
	}
}
