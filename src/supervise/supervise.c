/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main loop of a run: starts the backend, relays input and output, enforces time and limits, and collects the
 * result.
 *
 * One epoll watches everything: the control socket of the first process, both streams, the caller's input, pidfds and
 * a timer. The loop runs through three states (supervise_state.h): setting up until the first process sends HELLO, running
 * until the command has ended, and ending until every process is waited for and both streams are read to their end.
 * control.c handles messages, events.c the watches, ending.c kills and reports. */
#include "supervise/supervise_state.h"

#include "backend/backend_prestart.h"
#include "base/other_ids.h"
#include "base/path.h"
#include "child/program.h"
#include "filter/filter.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOK_US INT64_C(1000000)
#define FIRST_USAGE_US INT64_C(250000) /* most commands are over before */

/* ── Starting ── */

/* The command's ends of everything; closed once the backend has them. */
struct child_ends {
	int in, out, err, control, job, program;
};

static void close_ends(struct child_ends *e)
{
	int *all[] = {&e->in, &e->out, &e->err, &e->control, &e->job, &e->program};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_closep(all[i]);
}

static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

static int open_pipes(struct supervise *s, struct child_ends *e)
{
	int read_out = -EBADF, read_err = -EBADF, write_in = -EBADF;
	int rc = make_pipe(&read_out, &e->out);
	if (rc == 0)
		rc = make_pipe(&read_err, &e->err);
	if (rc == 0)
		rc = make_pipe(&e->in, &write_in);
	int set[] = {read_out >= 0 ? stream_set_fd(&s->out, read_out) : 0,
		     read_err >= 0 ? stream_set_fd(&s->err, read_err) : 0,
		     write_in >= 0 ? input_set_sink(&s->in, write_in, false) : 0};
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(set); i++)
		rc = set[i];
	return rc;
}

static int open_control(struct supervise *s, struct child_ends *e)
{
	int sockets[2], one = 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	s->control_fd = sockets[0];
	e->control = sockets[1];
	return setsockopt(s->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) < 0 ? -errno : 0;
}

static void fill_terminal(const struct supervise_spec *spec, struct child_job *job)
{
	struct winsize size;
	if (spec->terminal_fd >= 0 && ioctl(spec->terminal_fd, TIOCGWINSZ, &size) == 0) {
		job->rows = size.ws_row;
		job->columns = size.ws_col;
	}
}

/* Which ids the sandbox has. */
static struct filter_id_sets known_ids(const struct plan *plan)
{
	struct filter_id_sets known = {
		.users = {geteuid(), geteuid()}, .groups = {{getegid(), getegid()}}, .n_groups = 1};
	if (plan->ids.others)
		known.users = known.groups[0] = (struct filter_id_range){0, IDS_COUNT - 1};
	for (size_t i = 0; i < plan->ids.n_groups && known.n_groups < FILTER_GROUPS_MAX; i++)
		known.groups[known.n_groups++] = (struct filter_id_range){plan->ids.groups[i], plan->ids.groups[i]};
	return known;
}

/* If a backend says that calls are filtered, its first process gets the filter. */
static void fill_filter(const struct supervise *s, struct child_job *job, struct sock_filter **ret_code)
{
	const struct plan *plan = s->spec.plan;
	if (s->iso.syscalls == AIRLOCK_GRADE_NONE)
		return;
	bool unix_sockets = plan->unix_sockets && !s->iso.no_unix_sockets;
	unsigned flags = (plan->nested ? FILTER_NESTED : 0) | (unix_sockets ? 0 : FILTER_NO_UNIX) |
			 (s->iso.no_internet_sockets ? FILTER_NO_INET : 0) | (s->iso.no_ipc ? FILTER_NO_IPC : 0) |
			 (s->iso.no_truncate ? FILTER_NO_TRUNCATE : 0);
	struct filter_program p = filter_program(FILTER_ARCH_OWN, flags);
	job->filter.v = p.code;
	job->filter_len = p.len;
	job->noted = p.noted;
	if (plan->nested || !s->iso.own_user_namespace)
		return;
	struct sock_filter *code = reallocarray(NULL, FILTER_IDS_MAX + p.len, sizeof *code);
	if (!code) /* the kernel's own answer is a refusal too */
		return;
	struct filter_id_sets known = known_ids(plan);
	unsigned short n = filter_ids(FILTER_ARCH_OWN, &known, code);
	memcpy(code + n, p.code, p.len * sizeof *code);
	job->filter.v = *ret_code = code;
	job->filter_len = (uint16_t)(n + p.len);
	job->noted = (uint16_t)(n + p.noted);
}

/* Only if /proc shows the command's processes under the pids that the first process knows. */
static void fill_observer(struct supervise *s, struct child_job *job, struct child_region **ret_regions)
{
	size_t n = 0;
	if (!s->spec.observe)
		return;
	s->result.observe_errnum = s->iso.foreign_proc ? EOPNOTSUPP : 0;
	if (s->iso.foreign_proc || !denial_regions(s->spec.observe, ret_regions, &n))
		return;
	job->regions.v = *ret_regions;
	job->n_regions = (uint32_t)n;
	job->flags |= CHILD_OBSERVE | (s->spec.plan->network || s->spec.plan->gate ? 0 : CHILD_OFFLINE);
}

/* The file systems that the command may fill. Backends without mounts show the host's own /tmp. */
static void find_tmpfs(struct supervise *s, const char *paths[CHILD_MAX_TMPFS])
{
	const struct plan *plan = s->spec.plan;
	s->n_tmpfs = 0;
	for (size_t i = 0; !s->spec.backend->in_place && i < plan->n_mounts && s->n_tmpfs < CHILD_MAX_TMPFS; i++)
		if (plan->mounts[i].kind == PLAN_TMPFS) {
			paths[s->n_tmpfs] = plan->mounts[i].target;
			s->tmpfs[s->n_tmpfs++] = &plan->mounts[i];
		}
}

/* Then the host's abstract sockets are reachable too, unless the kernel can separate them. */
static bool shares_network(const struct supervise *s)
{
	return s->iso.network_isolated && !s->iso.network_blocked && !s->iso.ruleset && !s->iso.abstract_sockets;
}

static int make_job(struct supervise *s, struct child_ends *e, struct airlock_error *err)
{
	const struct plan *plan = s->spec.plan;
	struct child_job job = {.cwd = {plan->cwd},
				.argv = {(const char *const *)plan->argv.v},
				.envp = {(const char *const *)plan->envp.v}};
	job.flags = (s->spec.pty ? CHILD_PTY : 0) | (plan->new_session ? CHILD_NEW_SESSION : 0) |
		    (s->spec.n_layers > 0 && !s->iso.foreign_proc ? CHILD_RENAMES : 0) |
		    (s->iso.syscalls != AIRLOCK_GRADE_NONE ? CHILD_REFUSED : 0) | (plan->nested ? CHILD_NESTED : 0) |
		    (s->iso.ruleset ? CHILD_RULESET : 0) | (input_is_none(&s->in) ? CHILD_NULL_INPUT : 0) |
		    (shares_network(s) ? CHILD_SCOPED : 0) | (s->iso.foreign_signals ? CHILD_SIGNALS : 0) |
		    (plan->gate ? CHILD_GATE : 0) | (s->spec.publishes ? CHILD_PUBLISH : 0) |
		    (s->spec.shared.holder_fd ? CHILD_SHARED : 0);
	job.n_ports = (uint32_t)AL_MIN(s->spec.n_ports, (size_t)CHILD_MAX_PORTS);
	for (uint32_t i = 0; i < job.n_ports; i++)
		job.ports[i] = s->spec.ports[i];
	limits_fill_job(&s->limits, &job);
	_cleanup_free_ struct sock_filter *code = NULL; /* the job's, until it is written */
	fill_filter(s, &job, &code);
	_cleanup_free_ struct child_region *regions = NULL; /* the job's, until it is written */
	fill_observer(s, &job, &regions);
	const char *tmpfs[CHILD_MAX_TMPFS];
	find_tmpfs(s, tmpfs);
	job.tmpfs.v = tmpfs;
	job.n_tmpfs = (uint32_t)s->n_tmpfs;
	if (s->spec.pty)
		fill_terminal(&s->spec, &job);
	e->job = child_job_fd(&job);
	return e->job < 0 ? base_errno(err, AIRLOCK_ERR_INIT_FAILED, e->job, "memfd_create", "job") : 0;
}

static int init_streams(struct supervise *s)
{
	const struct supervise_spec *spec = &s->spec;
	int rc = stream_init(&s->out, spec->stdout_fd, spec->max_output, spec->run_dir, "stdout");
	if (rc == 0)
		rc = stream_init(&s->err, spec->stderr_fd, spec->max_output, spec->run_dir, "stderr");
	return rc < 0 ? rc : input_init(&s->in, spec->stdin_fd, spec->pty);
}

static struct backend_fds fds_of(const struct supervise *s, const struct child_ends *e)
{
	return (struct backend_fds){e->in,	e->out,		e->err,		  e->control,	      e->job,
				    e->program, s->spec.layers, s->spec.n_layers, s->spec.user_ns_fd, s->spec.shared};
}

/* In the prestarted sandbox. False: there is none, or it is not what this plan would make. */
static bool take_prestart(struct supervise *s, const struct child_ends *e)
{
	struct backend_prestart *p = s->spec.prestart;
	struct backend_fds fds = fds_of(s, e);
	if (!backend_prestart_is_usable(p) || !s->spec.backend->prestart)
		return false;
	if (!s->spec.backend->prestart->take(s->spec.ctx, s->spec.plan, &fds, p)) {
		backend_prestart_drop(p);
		return false;
	}
	s->result.prestart = p->kind;
	backend_prestart_hand_over(p, &s->spawned_pid, &s->spawned_fd, &s->control_fd);
	return true;
}

static int start_new(struct supervise *s, struct child_ends *e, struct airlock_error *err)
{
	int rc = open_control(s, e);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "socketpair", "");
	e->program = child_program_fd();
	if (e->program < 0)
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, e->program, "memfd_create", "program");
	struct backend_fds fds = fds_of(s, e);
	rc = s->spec.backend->spawn(s->spec.ctx, s->spec.plan, &fds, &s->spawned_pid, err);
	if (rc == 0)
		s->spawned_fd = (int)syscall(SYS_pidfd_open, s->spawned_pid, 0);
	return rc;
}

static int spawn(struct supervise *s, struct airlock_error *err)
{
	struct child_ends e = {-EBADF, -EBADF, -EBADF, -EBADF, -EBADF, -EBADF};
	int rc = open_pipes(s, &e);
	if (rc < 0)
		rc = base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "pipe", "");
	else
		rc = make_job(s, &e, err);
	if (rc == 0) {
		s->result.prestart = BACKEND_PRESTART_NONE;
		rc = take_prestart(s, &e) ? 0 : start_new(s, &e, err);
	}
	close_ends(&e);
	s->told_to_go = false;
	return rc;
}

/* The kernel does not mount a layer again whose working directory was in use when its mounter was killed. Nothing of the command is in
 * there. */
static void renew_work_directories(const struct supervise *s)
{
	for (size_t i = 0; i < s->spec.n_layers; i++) {
		const char *work = s->spec.layers[i].work.text;
		_cleanup_free_ char *above = *work ? path_dirname(work) : NULL;
		_cleanup_close_ int fd = above ? open(above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
		if (fd >= 0 && fs_remove_tree_at(fd, path_basename(work), NULL, NULL) == 0)
			(void)mkdirat(fd, path_basename(work), 0700); /* without it the mount fails, which is told */
	}
}

/* The prestarted sandbox ended before it was the first process, without a word: a mount changed in the moment it was
 * taken, or somebody killed it. Nothing has run, so a new one may. */
bool supervise_start_again(struct supervise *s)
{
	if (s->result.prestart == BACKEND_PRESTART_NONE || s->timed_out || s->hard_killed || s->result.error.code)
		return false;
	siginfo_t info;
	while (!s->spawned_dead && waitid(P_PID, (id_t)s->spawned_pid, &info, WEXITED) < 0 && errno == EINTR)
		;
	base_closep(&s->spawned_fd);
	base_closep(&s->first_fd);
	s->watched_fd[ON_SPAWNED] = -EBADF;
	s->spec.prestart = NULL;
	renew_work_directories(s);
	int rc = spawn(s, &s->result.error);
	s->spawned_dead = s->spawned_fd < 0;
	if (rc < 0)
		s->result.exit_code = 125;
	else
		control_go_ahead(s);
	return rc == 0;
}

static struct supervise *allocate(const struct supervise_spec *spec)
{
	struct supervise *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->spec = *spec;
	s->epoll_fd = s->timer_fd = s->control_fd = s->master_fd = s->spawned_fd = s->first_fd = s->seen_fd = -EBADF;
	s->covers_fd = -EBADF;
	s->out.fd = s->out.file_fd = s->out.relay.fd = s->err.fd = s->err.file_fd = s->err.relay.fd = -EBADF;
	s->in.source = s->in.sink = -EBADF;
	s->phase = PHASE_OVER; /* nothing to kill yet */
	s->iso = spec->backend->isolation(spec->ctx, spec->plan);
	s->iso.shared_pid_namespace = spec->shared.holder_fd != 0;
	s->iso.own_pid_namespace &= !s->iso.shared_pid_namespace;
	s->result.out = &s->out.capture;
	s->result.err = &s->err.capture;
	return s;
}

int supervise_start(const struct supervise_spec *spec, struct supervise **ret, struct airlock_error *err)
{
	struct supervise *s = allocate(spec);
	if (!s)
		return base_oom(err);
	s->started_us = supervise_now_us();
	s->look_at_us = spec->shared.holder_fd ? s->started_us + LOOK_US : 0;
	s->usage_at_us = spec->look ? s->started_us + FIRST_USAGE_US : 0;
	int rc = events_open(s);
	if (rc == 0)
		rc = init_streams(s);
	if (rc < 0)
		rc = base_errno(err, AIRLOCK_ERR_IO, rc, "start", "");
	if (rc == 0)
		rc = limits_decide(spec->plan, &s->iso, spec->run_id, spec->session_group, &s->limits, err);
	s->result.pids_alone = s->limits.pids_alone;
	if (rc == 0)
		rc = spawn(s, err);
	if (rc < 0) {
		supervise_free(s);
		return rc;
	}
	s->phase = PHASE_SETUP;
	s->spec.prestart = NULL;	     /* borrowed until here */
	s->spawned_dead = s->spawned_fd < 0; /* already gone if the caller ignores SIGCHLD */
	control_go_ahead(s);
	if (spec->plan->timeout_ms.value != TEXT_NONE)
		s->timeout_at_us = s->started_us + spec->plan->timeout_ms.value * 1000;
	events_update(s);
	*ret = s;
	return 0;
}

/* ── Running ── */

static void blame_session(struct supervise *s, const char *did)
{
	struct airlock_error err = {0};
	base_error(&err, AIRLOCK_ERR_CONFLICT, "supervise", "first process",
		   "a process of the session %s the process that airlock watches the command with", did);
	base_hint(&err, "all processes of the session were ended; its changes are still there");
	base_error_clear(&s->result.error); /* which could only say that the sandbox was not there */
	ending_fail(s, &err, 125);
	ending_end_session(s);
}

/* Only a process of the same session can have stopped it, so that it ends nothing and reports nothing. */
static void look_at_first(struct supervise *s)
{
	if (stopped_first(s))
		blame_session(s, "stopped");
}

/* True if a process of the session killed it before its command started; what kills it later is noticed by on_first_dead. Without a shared
 * pid namespace no process inside can. */
static bool was_killed_inside(const struct supervise *s, const siginfo_t *info)
{
	bool killed = info->si_code != CLD_EXITED || info->si_status > 128; /* as bwrap tells its child's signal */
	return killed && (s->first_fd < 0 || s->setup_failed) && s->spec.shared.holder_fd && !s->setup_killed;
}

static void look_at_usage(struct supervise *s, int64_t now)
{
	s->usage_at_us = 0;
	if (s->phase > PHASE_RUNNING || s->hard_killed)
		return;
	struct supervise_verdict v = s->spec.look(s->spec.look_data);
	if (v.exceeded)
		ending_exceed(s, &v);
	else
		s->usage_at_us = now + v.wait_us;
}

static void on_timer(struct supervise *s)
{
	uint64_t expirations;
	(void)!read(s->timer_fd, &expirations, sizeof expirations);
	s->armed_us = -1;
	int64_t now = supervise_now_us();
	if (s->timeout_at_us && now >= s->timeout_at_us) {
		s->timeout_at_us = 0;
		if (s->phase == PHASE_SETUP || s->phase == PHASE_RUNNING) {
			s->timed_out = true;
			ending_request(s, SIGTERM);
		}
	}
	if (s->kill_at_us && now >= s->kill_at_us)
		ending_kill(s);
	if (s->look_at_us && now >= s->look_at_us) {
		s->look_at_us = now + LOOK_US;
		look_at_first(s);
	}
	if (s->usage_at_us && now >= s->usage_at_us)
		look_at_usage(s, now);
	if (s->retry_input_at_us && now >= s->retry_input_at_us) {
		s->retry_input_at_us = 0;
		if (input_is_at_end(&s->in))
			input_say_end(&s->in);
	}
}

static void on_input(struct supervise *s)
{
	if (input_in_background(&s->in))
		s->retry_input_at_us = supervise_now_us() + SUPERVISE_RETRY_INPUT_US;
	else
		input_read(&s->in);
}

#define EXITING 0x4 /* PF_EXITING of the kernel */

/* Somebody ended the session, and with its holder everything in it. The holder cannot be gone yet: as process 1 it waits until
 * everybody in its namespace was waited for, and the first process is ours to wait for. */
static bool is_holder_ending(const struct supervise *s)
{
	char path[64], text[1024];
	unsigned flags = 0;
	if (!s->spec.shared.holder_fd)
		return false;
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)s->spec.shared.holder_pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return true;
	text[n] = '\0';
	const char *after = strrchr(text, ')'); /* a name may hold anything */
	/* NOLINTNEXTLINE(cert-err34-c): a wrong number is no flag */
	return after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & EXITING;
}

static void on_first_dead(struct supervise *s)
{
	if (s->control_fd >= 0)
		control_read(s); /* its last messages may still be in the socket */
	s->first_dead = true;
	s->phase = PHASE_ENDING;
	if (s->have_status)
		return;
	s->session_ended = !s->hard_killed && is_holder_ending(s);
	ending_end_session(s);
}

static void on_covers(struct supervise *s)
{
	struct airlock_error err = {0};
	if (s->covers_fd >= 0 && s->phase == PHASE_RUNNING && !s->hard_killed && covers_check(s, &err) < 0)
		ending_break(s, &err);
}

/* The event may be about a process that was replaced since (supervise_start_again). */
static bool is_spawned_dead(const struct supervise *s)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)s->spawned_pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

static void on_spawned_dead(struct supervise *s)
{
	siginfo_t info = {0};
	if (!is_spawned_dead(s))
		return;
	/* A backend that died during setup may leave a process that waits forever and holds the socket: bwrap's child
	 * waits for its parent. Until the dead one is waited for, its pid cannot be reused. */
	if (s->phase == PHASE_SETUP && s->spec.plan->new_session)
		(void)kill(-s->spawned_pid, SIGKILL);
	s->spawned_dead = true;
	int rc = waitid(P_PID, (id_t)s->spawned_pid, &info, WEXITED | WNOHANG);
	if (s->phase == PHASE_SETUP && s->control_fd >= 0)
		control_read(s);
	if (rc == 0 && info.si_pid != 0 && s->spawned_dead &&
	    was_killed_inside(s, &info)) /* and was not started again */
		blame_session(s, "killed");
}

static void handle(struct supervise *s, enum source what)
{
	switch (what) {
	case ON_CONTROL:
		if (s->control_fd >= 0)
			control_read(s);
		break;
	case ON_STDOUT:
		(void)stream_read(&s->out);
		break;
	case ON_STDERR:
		(void)stream_read(&s->err);
		break;
	case ON_RELAY_OUT:
		relay_flush(&s->out.relay);
		break;
	case ON_RELAY_ERR:
		relay_flush(&s->err.relay);
		break;
	case ON_INPUT_SOURCE:
		on_input(s);
		break;
	case ON_INPUT_SINK:
		input_write(&s->in);
		if (s->in.source_plain)
			input_read(&s->in);
		break;
	case ON_FIRST:
		on_first_dead(s);
		break;
	case ON_COVERS:
		on_covers(s);
		break;
	case ON_SPAWNED:
		on_spawned_dead(s);
		break;
	case ON_TIMER:
		on_timer(s);
		break;
	case ON_GATE:
		net_gate_dispatch(s->spec.gate);
		break;
	case ON_END_WITH:
		s->spec.end_with_fd = -EBADF;
		supervise_signal(s, SIGTERM);
		break;
	case N_SOURCES:
		break;
	}
}

/* Without a pid namespace a process may still hold the pipe; without any process nobody does. What is in the pipe now
 * is all there will be. */
static void close_drained(struct supervise *s, struct stream *st)
{
	if ((s->iso.own_pid_namespace && !s->nobody_left) || st->fd < 0 || relay_is_full(&st->relay))
		return;
	int rc;
	while ((rc = stream_read(st)) > 0)
		;
	if (rc == 0 && !relay_is_full(&st->relay) && !s->releasing)
		base_closep(&st->fd);
}

/* Everything that was written so far is read, and the rest is the first process's. */
static bool is_released(struct supervise *s)
{
	close_drained(s, &s->out);
	close_drained(s, &s->err);
	if (relay_is_full(&s->out.relay) || relay_is_full(&s->err.relay))
		return false;
	s->releasing = false;
	if (control_keep(s) < 0) { /* it ends what is left, and itself */
		base_closep(&s->control_fd);
		s->watched_fd[ON_CONTROL] = -EBADF;
		return false;
	}
	s->watched_fd[ON_CONTROL] = -EBADF;
	s->result.goes_on = true; /* the first process ends now */
	return false;
}

static bool is_over(struct supervise *s)
{
	if (s->releasing)
		return is_released(s);
	bool dead = s->spawned_dead && (s->first_fd < 0 || s->first_dead);
	if (s->phase != PHASE_ENDING || (!dead && !s->nobody_left))
		return false;
	close_drained(s, &s->out);
	close_drained(s, &s->err);
	return s->out.fd < 0 && s->err.fd < 0 && !relay_is_full(&s->out.relay) && !relay_is_full(&s->err.relay);
}

/* If a relay's reader went away, SIGPIPE would kill the host program, and its handlers are not ours to change: so we
 * block the signal for this thread while we write, and consume it if it came. */
struct sigpipe_guard {
	sigset_t before;
	bool was_pending;
};

static void guard_sigpipe(struct sigpipe_guard *g)
{
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigpending(&pending);
	g->was_pending = sigismember(&pending, SIGPIPE) == 1;
	(void)pthread_sigmask(SIG_BLOCK, &set, &g->before);
}

static void release_sigpipe(struct sigpipe_guard *g)
{
	sigset_t set, pending;
	struct timespec now = {0, 0};
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigpending(&pending);
	if (!g->was_pending && sigismember(&pending, SIGPIPE) == 1)
		(void)sigtimedwait(&set, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &g->before, NULL);
}

int supervise_dispatch(struct supervise *s, int timeout_ms)
{
	if (s->phase == PHASE_OVER)
		return 0;
	struct epoll_event events[N_SOURCES];
	int n = epoll_wait(s->epoll_fd, events, N_SOURCES, timeout_ms);
	struct sigpipe_guard guard;
	guard_sigpipe(&guard);
	for (int i = 0; i < n; i++)
		handle(s, (enum source)events[i].data.u32);
	bool over = is_over(s);
	release_sigpipe(&guard);
	if (over) {
		ending_finish(s);
		return 0;
	}
	events_update(s);
	return 1;
}

int supervise_fd(const struct supervise *s)
{
	return s->epoll_fd;
}

void supervise_signal(struct supervise *s, int sig)
{
	if (s->phase == PHASE_SETUP && s->told_to_go && s->control_fd >= 0)
		control_read(s); /* it may run already */
	if (s->phase == PHASE_OVER)
		return;
	if (sig == SIGKILL || s->phase == PHASE_SETUP) {
		s->setup_signal = s->phase == PHASE_SETUP ? sig : 0;
		ending_kill(s);
		events_update(s);
	} else if (sig == SIGTERM || sig == SIGHUP) {
		ending_request(s, sig);
		events_update(s); /* the grace period's timer */
	} else
		control_send_signal(s, sig, CHILD_SCOPE_COMMAND);
}

pid_t supervise_pid(const struct supervise *s)
{
	return s->spawned_pid;
}

void supervise_want_sockets(struct supervise *s)
{
	control_want_sockets(s);
}

void supervise_resize(struct supervise *s)
{
	struct winsize size;
	if (s->master_fd >= 0 && s->spec.terminal_fd >= 0 && ioctl(s->spec.terminal_fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(s->master_fd, TIOCSWINSZ, &size);
}

bool supervise_take_stop(struct supervise *s)
{
	bool stopped = s->stopped && s->phase == PHASE_RUNNING;
	s->stopped = false;
	return stopped;
}

void supervise_await_end(struct supervise *s)
{
	siginfo_t info;
	if (s->phase != PHASE_OVER)
		return;
	while (!s->spawned_dead && s->spawned_pid > 0 && waitid(P_PID, (id_t)s->spawned_pid, &info, WEXITED) < 0 &&
	       errno == EINTR)
		;
	s->spawned_dead = true;
	if (s->result.goes_on)
		limits_leave(&s->limits);
	else
		limits_done(&s->limits);
}

const struct supervise_result *supervise_result(const struct supervise *s)
{
	return &s->result;
}

enum airlock_limit supervise_exceeded(const struct supervise *s)
{
	return s->exceeded;
}

void supervise_abandon(struct supervise *s)
{
	if (s->phase == PHASE_OVER)
		return;
	/* Nobody reads the rest of its output; that must not delay the end. */
	s->out.relay.broken = s->err.relay.broken = true;
	s->out.relay.len = s->err.relay.len = 0;
	ending_kill(s);
	events_update(s);
	while (supervise_dispatch(s, -1) > 0)
		;
}

void supervise_free(struct supervise *s)
{
	if (!s)
		return;
	supervise_abandon(s);
	supervise_await_end(s);
	stream_done(&s->out);
	stream_done(&s->err);
	input_done(&s->in);
	buf_done(&s->setup_text);
	buf_done(&s->result.seen);
	int *all[] = {&s->epoll_fd,   &s->timer_fd, &s->control_fd, &s->master_fd,
		      &s->spawned_fd, &s->first_fd, &s->covers_fd,  &s->seen_fd};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_closep(all[i]);
	free(s);
}
