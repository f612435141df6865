/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a run ends: on request, killed, failed, or by itself; and what is reported about it.
 *
 * With a pid namespace, killing the first process kills everything. Without one, the first process must kill its tree
 * itself, so it is asked first and killed later. Every way out ends in one place, which reads limits and statuses only
 * after all processes are dead. */
#include "supervise/supervise_state.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define GRACE_US (INT64_C(2) * 1000000)
/* Without a pid namespace only the first process can end the tree, and a fork bomb takes it a while. */
#define TREE_GRACE_US (INT64_C(60) * 1000000)

static void kill_fd(int pidfd)
{
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* The backend may be anywhere between its start and the first process: its whole session is killed. If a first process
 * starts anyway, it finds its socket closed and exits. */
static void kill_setup(struct supervise *s)
{
	s->setup_killed = true;
	if (s->spec.plan->new_session && !s->spawned_dead)
		(void)kill(-s->spawned_pid, SIGKILL);
	kill_fd(s->spawned_fd);
	base_closep(&s->control_fd);
	s->watched_fd[ON_CONTROL] = -EBADF;
	ending_setup_failed(s);
}

void ending_end_session(struct supervise *s)
{
	if (s->spec.shared.holder_fd)
		kill_fd(s->spec.shared.holder_fd);
}

/* The death of pid 1 is the death of its namespace. Without a namespace the first process must do the killing, so it
 * is told first and killed itself only if that did not help (second call). */
void ending_kill(struct supervise *s)
{
	if (s->phase == PHASE_OVER)
		return;
	bool told = s->hard_killed;
	s->hard_killed = true;
	if (s->phase == PHASE_SETUP) {
		kill_setup(s);
		return;
	}
	if (!s->iso.own_pid_namespace && !told && s->control_fd >= 0) {
		control_send_signal(s, SIGKILL, CHILD_SCOPE_ALL);
		s->kill_at_us = supervise_now_us() + TREE_GRACE_US;
		return;
	}
	s->kill_at_us = 0;
	kill_fd(s->first_fd);
	ending_end_session(s);
}

void ending_exceed(struct supervise *s, const struct supervise_verdict *v)
{
	s->exceeded = v->exceeded;
	ending_kill(s);
	if (v->ends_session)
		ending_end_session(s);
}

void ending_request(struct supervise *s, int sig)
{
	if (s->phase == PHASE_SETUP) {
		ending_kill(s);
		return;
	}
	control_send_signal(s, sig, CHILD_SCOPE_ALL);
	/* A stopped process accepts no signal but this one. */
	control_send_signal(s, SIGCONT, CHILD_SCOPE_ALL);
	if (s->kill_at_us == 0)
		s->kill_at_us = supervise_now_us() + GRACE_US;
}

void ending_fail(struct supervise *s, const struct airlock_error *err, int exit_code)
{
	if (s->result.error.code == 0) {
		s->result.error = *err;
		s->result.exit_code = exit_code;
	}
	if (s->phase == PHASE_SETUP)
		kill_setup(s);
	kill_fd(s->first_fd);
	s->phase = PHASE_ENDING;
}

void ending_break(struct supervise *s, const struct airlock_error *err)
{
	if (s->result.error.code == 0) {
		s->result.error = *err;
		s->result.exit_code = 125;
	}
	ending_kill(s);
}

/* The backend died without a first process: its own messages say why. */
void ending_setup_failed(struct supervise *s)
{
	char more[4096];
	ssize_t n;
	while ((n = read(s->err.fd, more, sizeof more)) > 0)
		buf_add(&s->setup_text, more, (size_t)n);
	char *text = s->setup_text.data;
	size_t len = s->setup_text.len;
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (s->result.error.code == 0 && !s->timed_out && !s->hard_killed) {
		base_error(&s->result.error, AIRLOCK_ERR_INIT_FAILED, s->spec.backend->name, "",
			   "the sandbox could not be set up%s%s", len ? ": " : "", len ? text : "");
		base_hint(&s->result.error, "run `airlock doctor` to find the cause; `airlock explain` shows the plan");
		s->result.exit_code = 125;
	}
	base_closep(&s->out.fd);
	base_closep(&s->err.fd);
	s->phase = PHASE_ENDING;
	s->setup_failed = s->first_dead = true;
}

static void settle_limit(struct supervise *s)
{
	enum airlock_limit hit = limits_hit(&s->limits);
	if (hit)
		s->result.limit_hit = hit;
	bool by_fsize = s->have_status && s->limits.file_size != TEXT_NONE &&
			((WIFSIGNALED(s->wait_status) && WTERMSIG(s->wait_status) == SIGXFSZ) ||
			 (WIFEXITED(s->wait_status) && WEXITSTATUS(s->wait_status) == 128 + SIGXFSZ));
	if (by_fsize)
		s->result.limit_hit = AIRLOCK_LIMIT_FILE_SIZE;
	if (s->exceeded)
		s->result.limit_hit = s->exceeded;
	if (s->timed_out)
		s->result.limit_hit = AIRLOCK_LIMIT_TIMEOUT;
}

static void say_timeout(struct supervise *s)
{
	_cleanup_buf_ struct buf after = BUF_INIT;
	text_add_duration(&after, s->spec.plan->timeout_ms.value);
	base_error_clear(&s->result.error);
	base_error(&s->result.error, AIRLOCK_ERR_TIMEOUT, "timeout", buf_str(&after), "timed out after %s",
		   buf_str(&after));
	base_hint(&s->result.error, "allow more time with --timeout, or --timeout none");
}

/* Nobody asked for it and no limit was hit: the kernel was out of memory, or the first process could not continue. */
static void say_lost(struct supervise *s)
{
	if (s->result.error.code || s->have_status || s->timed_out || s->hard_killed || s->setup_signal ||
	    s->result.limit_hit)
		return;
	if (s->session_ended) {
		base_error(&s->result.error, AIRLOCK_ERR_CONFLICT, "supervise", "session",
			   "the session was ended while the command ran");
		base_hint(&s->result.error, "what the command had changed by then is kept");
	} else {
		base_error(&s->result.error, AIRLOCK_ERR_INTERNAL, "supervise", "first process",
			   "the sandbox ended before it could report how the command ended");
		base_hint(&s->result.error, "the machine may be out of memory: see `dmesg`");
	}
	if (s->result.exit_code == 0)
		s->result.exit_code = 125;
}

static void settle_status(struct supervise *s)
{
	struct supervise_result *r = &s->result;
	if (s->timed_out) {
		r->status = AIRLOCK_TIMED_OUT;
		r->exit_code = 124;
		say_timeout(s);
	} else if (r->error.code != 0) {
		r->status = AIRLOCK_FAILED;
	} else if (s->have_status && WIFEXITED(s->wait_status)) {
		r->status = AIRLOCK_EXITED;
		r->exit_code = WEXITSTATUS(s->wait_status);
	} else {
		/* Without a status, the first process itself was killed. */
		r->status = AIRLOCK_SIGNALED;
		r->signal = s->have_status ? WTERMSIG(s->wait_status) : s->setup_signal ? s->setup_signal : SIGKILL;
		r->exit_code = 128 + r->signal;
	}
	/* As for every program that could not write its output: a reader of the file would take a part for the whole.
	 */
	if (r->status == AIRLOCK_EXITED && r->exit_code == 0 && r->lost.relayed)
		r->exit_code = 125;
	if (r->status == AIRLOCK_TIMED_OUT && s->have_status && WIFSIGNALED(s->wait_status))
		r->signal = WTERMSIG(s->wait_status);
}

/* Read when every process that could write it is dead. Most of it is empty, mostly. */
static void settle_observed(struct supervise *s)
{
	struct child_seen_head head;
	if (s->seen_fd < 0 || pread(s->seen_fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return;
	size_t len = AL_MIN((size_t)head.used, (size_t)CHILD_SEEN_BYTES);
	_cleanup_free_ char *bytes = malloc(len + 1);
	ssize_t n = bytes ? pread(s->seen_fd, bytes, len, 0) : -1;
	if (n < 0)
		return;
	buf_add(&s->result.seen, bytes, (size_t)n);
	s->result.observed = !s->result.seen.failed;
}

void ending_finish(struct supervise *s)
{
	s->phase = PHASE_OVER;
	base_closep(&s->covers_fd); /* it keeps the mounts */
	s->result.duration_us = supervise_now_us() - s->started_us;
	s->result.lost = (struct supervise_lost){.kept = s->out.file_errnum ? s->out.file_errnum : s->err.file_errnum,
						 .relayed = s->out.relay.errnum};
	if (!s->result.lost.relayed)
		s->result.lost.relayed = s->out.read_errnum ? s->out.read_errnum : s->err.read_errnum;
	settle_limit(s);
	say_lost(s);
	settle_status(s);
	settle_observed(s);
	s->result.limits = s->limits.grade;
	s->timeout_at_us = s->kill_at_us = s->retry_input_at_us = s->look_at_us = s->usage_at_us = 0;
}
