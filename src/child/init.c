/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first process of a sandbox: pid 1 where there is a pid namespace, a subreaper where there is none.
 *
 * Theory of operation. The backend (bubblewrap, view.c for native, or nobody for passthrough) has made the namespaces and
 * mounts, then executes this program. It starts the command when the supervisor says so, reaps, forwards signals, watches limits no
 * kernel mechanism enforces here, and reports the command's true status over a socket only it and the supervisor hold.
 * When the command ends it exits, and the kernel ends everything else in the pid namespace with it.
 *
 * | namespaces | uid          | capabilities | root            | cwd |
 * | the plan's | the caller's | none         | the sandbox's   | any |
 *
 * The command is hostile and shares uid and /proc with this process, therefore: not dumpable (no ptrace, no /proc/1/fd,
 * environ, exe or mem), nothing in argv or environment, every descriptor but its own closed, all signals blocked.
 * Freestanding: no libc, no allocation, no locks. child_job.h has the protocol.
 */
#include "child/command.h"
#include "child/child_job.h"
#include "child/gate_sockets.h"
#include "child/hold.h"
#include "child/keep.h"
#include "child/notify.h"
#include "child/observe.h"
#include "child/pass.h"
#include "child/raw_calls.h"
#include "child/stage.h"
#include "child/view.h"
#include "child/watch.h"

#include <asm/ioctls.h>
#include <asm/poll.h>
#include <asm/signal.h>
#include <asm/statfs.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#define WATCH_INTERVAL_MS 10
#define FULL_MARGIN 16 /* pages: less is left of a file system that is full */
#define BLIND_MAX 3    /* one look may fail for lack of memory */
#define CLOCK_MONOTONIC_ID 1
#define GRACE_MS 30 /* what ends so soon after its command is no background process */

/* How far the end is, of a command in a session; of others the end of the command is the end of all. */
enum ending {
	ENDING_NOT,
	ENDING_WAITS, /* the command has ended, and not all that it started */
	ENDING_TOLD,  /* the supervisor knows, and says what happens to the rest */
	ENDING_KEPT,  /* the rest goes on, without the supervisor */
};

struct state {
	struct child_job *job;
	int payload; /* pid of the command, 0 before it started */
	int is_pid1;
	int signal_fd;
	int notify_socket[2]; /* the command's child hands its listener (notify.h) over here; -1: none */
	int notify_fd;	      /* the listener, or -1 */
	struct observer observer;
	struct watch_history watched;
	unsigned blind;	   /* consecutive looks that saw no process */
	unsigned reported; /* bits of enum child_limit that were reported */
	int status;	   /* of the command, once it has ended */
	enum ending ending;
	int64_t ended_ms;
	struct keep keep;
};

/* The compiler may call these for plain assignments. */
void *memset(void *p, int c, size_t n);
void *memcpy(void *d, const void *s, size_t n);

void *memset(void *p, int c, size_t n)
{
	for (volatile char *q = p; n--; q++)
		*q = (char)c;
	return p;
}

void *memcpy(void *d, const void *s, size_t n)
{
	volatile char *to = d;
	const volatile char *from = s;
	while (n--)
		*to++ = *from++;
	return d;
}

/* If nobody reads, do not wait: the supervisor notices the end of the socket anyway. */
static void send_or_end(const struct child_message *m)
{
	long n;
	do
		n = r_write(CHILD_FD_CONTROL, m, sizeof *m);
	while (n == -EINTR);
	if (n < 0)
		r_exit(1);
}

static void tell(uint32_t type, int32_t a, int32_t b)
{
	struct child_message m = {.type = type, .a = a, .b = b};
	send_or_end(&m);
}

__attribute__((noreturn)) static void give_up(int stage, long errnum)
{
	tell(CHILD_FAILED, stage, (int32_t)-errnum);
	r_exit(1);
}

/* ── The job ── */

/* The supervisor wrote offsets; the mapping is private, so we turn them into pointers in place. */
static char **strings_of(struct child_job *job, uint64_t offset)
{
	int64_t *slot = (void *)((char *)job + offset);
	for (int64_t *s = slot; *s; s++)
		*s += (int64_t)(intptr_t)job;
	return (char **)slot;
}

static struct child_job *map_job(void)
{
	struct child_job head;
	if (r_read(CHILD_FD_JOB, &head, sizeof head) != (long)sizeof head || head.magic != CHILD_JOB_MAGIC)
		give_up(CHILD_STAGE_SETUP, -EINVAL);
	long p = raw_call6(__NR_mmap, 0, (long)head.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, CHILD_FD_JOB, 0);
	if (p < 0 && p > -4096)
		give_up(CHILD_STAGE_SETUP, p);
	(void)r_close(CHILD_FD_JOB);
	return (struct child_job *)p;
}

/* ── Setting up ── */

static void set_limit(int resource, int64_t value)
{
	if (value == CHILD_NONE)
		return;
	struct {
		uint64_t soft, hard;
	} want = {(uint64_t)value, (uint64_t)value}, have;
	/* Never above the present limit: raising needs a capability that we do not have. */
	if (raw_call4(__NR_prlimit64, 0, resource, 0, &have) == 0 && have.hard < want.hard)
		want.soft = want.hard = have.hard;
	long rc = raw_call4(__NR_prlimit64, 0, resource, &want, 0);
	if (rc < 0)
		give_up(CHILD_STAGE_SETUP, rc);
}

static void set_limits(const struct child_job *job)
{
	set_limit(RLIMIT_DATA, job->max_data);
	set_limit(RLIMIT_NPROC, job->max_processes);
	set_limit(RLIMIT_FSIZE, job->max_file_size);
	/* One byte, not zero: zero still starts a core_pattern pipe handler on the host, one never dumps anything. */
	set_limit(RLIMIT_CORE, 1);
}

static void block_signals(struct state *st)
{
	uint64_t all = ~0ull, chld = 1ull << (SIGCHLD - 1);
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all);
	st->signal_fd = (int)raw_call4(__NR_signalfd4, -1, &chld, sizeof chld, O_CLOEXEC | O_NONBLOCK);
	if (st->signal_fd < 0)
		give_up(CHILD_STAGE_SETUP, st->signal_fd);
}

/* The word to go on. What comes with it is kept open until the end of this process: airlock's record of the run, which is locked as
 * long as anybody can write to the run's layers (history/begun.h). */
static int await_go(void)
{
	struct pass_received in;
	long rc;
	do
		rc = pass_receive(CHILD_FD_CONTROL, PASS_WAIT, &in);
	while (rc == -EINTR);
	return rc > 0 && in.m.type == CHILD_GO;
}

/* ── The terminal ── */

/* A pty of the sandbox's own devpts, so that its name resolves inside. Returns the slave. */
static int open_terminal(const struct child_job *job)
{
	long master = r_open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		give_up(CHILD_STAGE_TTY, master);
	int unlock = 0;
	long rc = r_ioctl((int)master, TIOCSPTLCK, &unlock);
	if (rc < 0)
		give_up(CHILD_STAGE_TTY, rc);
	long slave = raw_call3(__NR_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		give_up(CHILD_STAGE_TTY, slave);
	struct {
		uint16_t row, col, x, y;
	} size = {job->rows, job->columns, 0, 0};
	if (job->rows)
		(void)r_ioctl((int)slave, TIOCSWINSZ, &size);
	rc = pass_send_fd(CHILD_FD_CONTROL, CHILD_TTY, (int)master);
	if (rc < 0)
		give_up(CHILD_STAGE_TTY, rc);
	(void)r_close((int)master);
	return (int)slave;
}

/* This process leads the session of the terminal, and the command is a job in it. If the command led the session
 * itself, it would be an orphaned process group, which the kernel does not stop on Ctrl-Z. False: the command must
 * make its own session. */
static int lead_session(const struct child_job *job, int tty)
{
	if (tty < 0 || !(job->flags & CHILD_NEW_SESSION))
		return 0;
	(void)raw_call0(__NR_setsid); /* fails if we lead a session already */
	return raw_call3(__NR_ioctl, tty, TIOCSCTTY, 0) == 0;
}

/* ── The command ── */

/* The supervisor gets the record, or the reason why there is none. */
static void begin_observing(struct state *st, int why_not)
{
	if (!(st->job->flags & CHILD_OBSERVE))
		return;
	long fd = why_not ? -why_not : observe_begin(&st->observer, st->job);
	if (fd < 0) {
		tell(CHILD_OBSERVER, 0, (int32_t)-fd);
		return;
	}
	(void)pass_send_fd(CHILD_FD_CONTROL, CHILD_OBSERVER, (int)fd);
	(void)r_close((int)fd);
}

/* The command's process sent the listener, or why it has none. -1: none, and why; EMFILE when it was sent and we had no room for
 * a descriptor, ESRCH when nothing was sent. */
static int receive_listener(int socket, int *ret_why)
{
	struct pass_received in;
	if (pass_receive(socket, PASS_WAIT, &in) <= 0) {
		*ret_why = ESRCH;
		return -1;
	}
	*ret_why = in.m.type == CHILD_FAILED ? in.m.b : EMFILE;
	return pass_take_fd(&in, 0);
}

static void take_over_listener(struct state *st)
{
	int why_not = ENOMEM;
	if (st->notify_socket[0] >= 0) {
		(void)r_close(st->notify_socket[1]);
		st->notify_fd = receive_listener(st->notify_socket[0], &why_not);
		(void)r_close(st->notify_socket[0]);
	}
	if (st->notify_fd < 0 && why_not == EMFILE)
		give_up(CHILD_STAGE_FILTER, -EMFILE); /* the filter is installed, and nobody could answer */
	if (st->notify_fd >= 0)
		notify_prepare(st->notify_fd);
	if (st->notify_fd < 0 && st->job->flags & CHILD_GATE)
		gate_open_ports(st->job->ports, st->job->n_ports);
	st->observer.job = st->job;
	begin_observing(st, st->notify_fd >= 0 ? 0 : why_not);
}

static void start_command(struct state *st)
{
	int pipe_fds[2];
	long rc = raw_call2(__NR_pipe2, pipe_fds, O_CLOEXEC);
	if (rc < 0)
		give_up(CHILD_STAGE_SETUP, rc);
	struct child_command command = {.job = st->job,
					.argv = strings_of(st->job, st->job->argv.at),
					.envp = strings_of(st->job, st->job->envp.at),
					.tty = st->job->flags & CHILD_PTY ? open_terminal(st->job) : -1,
					.error_fd = pipe_fds[1]};
	command.joins_session = lead_session(st->job, command.tty);
	if (st->job->flags & (CHILD_RENAMES | CHILD_OBSERVE | CHILD_REFUSED | CHILD_GATE) &&
	    raw_call4(__NR_socketpair, 1 /* AF_UNIX */, 5 /* SOCK_SEQPACKET */ | O_CLOEXEC, 0, st->notify_socket) < 0)
		st->notify_socket[0] = st->notify_socket[1] = -1;
	command.notify_socket = st->notify_socket[1];
	/* As vfork(2): we have nothing to do until it is another program, and nothing needs copying. */
	rc = raw_call5(__NR_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	if (rc < 0)
		give_up(CHILD_STAGE_SETUP, rc);
	if (rc == 0)
		command_become(&command);
	st->payload = (int)rc;
	(void)r_close(pipe_fds[1]);
	struct command_failure f;
	long n;
	do
		n = r_read(pipe_fds[0], &f, sizeof f);
	while (n == -EINTR);
	(void)r_close(pipe_fds[0]);
	if (n == (long)sizeof f)
		give_up(f.stage, -f.errnum);
	take_over_listener(st);
	/* The command has its own copies; while we held the write ends, the supervisor would never see their end. */
	if (command.tty >= 0)
		(void)r_close(command.tty);
	int null = (int)r_open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		(void)(null >= 0 ? r_dup3(null, fd, O_CLOEXEC) : r_close(fd));
	if (null > 2)
		(void)r_close(null);
}

/* ── Until it ends ── */

struct raw_rusage {
	int64_t user_s, user_us, system_s, system_us, max_rss_kb, other[13];
};

/* Full, or so nearly full that only a page or two is left. */
static int is_full(const char *path)
{
	struct statfs fs;
	if (raw_call2(__NR_statfs, path, &fs) < 0 || fs.f_type != TMPFS_MAGIC || fs.f_blocks <= 0)
		return 0;
	return fs.f_bfree <= fs.f_blocks / 1024 + FULL_MARGIN || (fs.f_files > 0 && fs.f_ffree == 0);
}

/* Reported only if the command failed: for others the space was enough. */
static uint32_t full_places(const struct child_job *job, int status)
{
	const uint64_t *paths = (const void *)((const char *)job + job->tmpfs.at);
	uint32_t full = 0;
	for (uint32_t i = 0; status && i < job->n_tmpfs && i < CHILD_MAX_TMPFS; i++)
		if (is_full((const char *)job + paths[i]))
			full |= 1u << i;
	return full;
}

static void report_end(const struct child_job *job, int status, enum child_left left)
{
	struct raw_rusage ru;
	memset(&ru, 0, sizeof ru);
	(void)raw_call2(__NR_getrusage, -1 /* RUSAGE_CHILDREN */, &ru);
	struct child_message m = {.type = CHILD_EXITED, .a = status, .b = left, .full = full_places(job, status)};
	m.cpu_us = (ru.user_s + ru.system_s) * 1000000 + ru.user_us + ru.system_us;
	m.max_rss_kb = ru.max_rss_kb;
	send_or_end(&m);
}

/* Reaps everything. Returns 1 if the command itself was among it. Orphans become children of process 1, or of a subreaper:
 * without children there are no descendants. */
static int reap(struct state *st, int *ret_status, int *ret_childless)
{
	int found = 0, status, options = WNOHANG | (st->job->flags & CHILD_PTY ? WUNTRACED : 0);
	for (;;) {
		long pid = raw_call4(__NR_wait4, -1, &status, options, 0);
		*ret_childless = pid == -ECHILD;
		if (pid <= 0)
			return found;
		if ((status & 0xff) == 0x7f) { /* stopped, as WIFSTOPPED has it */
			if (pid == st->payload)
				tell(CHILD_STOPPED, status >> 8 & 0xff, 0);
		} else if (pid == st->payload && st->ending == ENDING_NOT) {
			*ret_status = status;
			found = 1;
		}
	}
}

static void signal_all(const struct state *st, int sig)
{
	if (st->is_pid1) {
		(void)r_kill(-1, sig);
		return;
	}
	if (st->ending == ENDING_NOT) /* else the pid may be another's */
		(void)r_kill(st->payload,
			     sig); /* in any case: its end begins that of the rest, and a list may be full */
	watch_signal_descendants((int)r_getpid(), sig);
}

/* Without a pid namespace nobody ends the rest for us: kill and reap until nothing is left. We are a subreaper, so an
 * orphan becomes our child: no children means no descendants. Never give up while a process is left: a fork bomb would
 * outlive its timeout. Signal the whole tree now and then, because it grows while only its top is cut. */
static void end_all(const struct state *st)
{
	for (unsigned round = 0;; round++) {
		if (st->is_pid1)
			(void)r_kill(-1, SIGKILL);
		else if (round % 8 == 0)
			watch_signal_descendants((int)r_getpid(), SIGKILL);
		else
			watch_signal_children((int)r_getpid(), SIGKILL);
		int status = 0;
		long pid;
		while ((pid = raw_call4(__NR_wait4, -1, &status, WNOHANG, 0)) > 0)
			;
		if (pid == -ECHILD)
			return;
		if (round % 8 == 7) {
			struct __kernel_timespec ms = {0, 1000000};
			(void)raw_call2(__NR_nanosleep, &ms, 0);
		}
	}
}

static void end_the_rest(const struct state *st)
{
	if (!st->is_pid1)
		end_all(st);
}

/* From here on nobody is told anything. The place of the socket stays taken: other code of this process writes to it. */
static void become_keeper(struct state *st, struct pass_received *in)
{
	long null = r_open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || r_dup3((int)null, CHILD_FD_CONTROL, O_CLOEXEC) < 0)
		r_exit(1);
	(void)r_close((int)null);
	keep_begin(&st->keep, in);
	notify_refuse_waiting(st->notify_fd); /* the supervisor is gone, and nobody else can be asked */
	st->ending = ENDING_KEPT;
}

/* Background processes of the command go on without us, under a keeper. If no keeper can be started, they end. */
static void hand_over(struct state *st, struct pass_received *in)
{
	int ready[2];
	char word;
	long keeper = raw_call2(__NR_pipe2, ready, O_CLOEXEC);
	if (keeper >= 0)
		keeper = raw_call5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
	if (keeper == 0) {
		(void)r_close(ready[0]);
		become_keeper(st, in);
		(void)r_close(ready[1]);
		return;
	}
	if (keeper < 0) {
		end_the_rest(st);
		r_exit(0);
	}
	(void)r_close(ready[1]);
	while (r_read(ready[0], &word, 1) == -EINTR) /* until the host can know it for what it is */
		;
	r_exit(0);
}

static void pass_signal_on(const struct state *st, const struct child_message *m)
{
	if (m->b == CHILD_SCOPE_ALL)
		signal_all(st, m->a);
	else if (st->ending != ENDING_NOT)
		return;
	else if (st->job->flags & CHILD_NEW_SESSION)
		(void)r_kill(-st->payload, m->a);
	else
		(void)r_kill(st->payload, m->a);
}

static void handle_control(struct state *st)
{
	struct pass_received in;
	long rc;
	/* When the supervisor leaves without having read all that we told it, we hear that before its last word. It is told once. */
	do
		rc = pass_receive(CHILD_FD_CONTROL, PASS_WAIT, &in);
	while (rc == -EINTR || rc == -ECONNRESET);
	if (rc <= 0) {
		/* The kernel closes our descriptors before it ends the others. Whoever finds the record of the run unlocked may
		 * rely on it that they are dead. */
		end_all(st);
		r_exit(1);
	}
	if (in.m.type == CHILD_SOCKETS)
		gate_send_sockets();
	else if (in.m.type == CHILD_CONNECT)
		notify_connect(st->notify_fd, &in.m);
	else if (in.m.type == CHILD_SIGNAL)
		pass_signal_on(st, &in.m);
	else if (in.m.type == CHILD_KEEP && st->ending == ENDING_TOLD)
		hand_over(st, &in);
	pass_close(&in);
}

static void report_limit(struct state *st, unsigned limit)
{
	if (st->reported & 1u << limit)
		return;
	st->reported |= 1u << limit;
	tell(CHILD_LIMIT, (int32_t)limit, 0);
}

static void know_limits(struct state *st, int64_t processes)
{
	if (st->job->watch_processes != CHILD_NONE && processes >= st->job->watch_processes)
		report_limit(st, CHILD_LIMIT_PROCESSES);
}

/* `gone`: processes that ended a moment ago and existed when a fork may have been refused. */
static void look_at_limits(struct state *st, int gone)
{
	int all = st->is_pid1 || st->job->flags & CHILD_SHARED; /* limits count the whole session */
	struct watch_totals t = watch_measure(all ? 0 : (int)r_getpid(), st->job->watch_memory, &st->watched);
	/* At least the command must exist. It may have blinded us: prlimit(2) needs only our uid. If it has just
	 * ended, everything else ends with us; asking the kernel to kill all makes it visit every process. */
	st->blind = t.processes == 0 && !gone ? st->blind + 1 : 0;
	if (st->blind >= BLIND_MAX)
		signal_all(st, SIGKILL);
	know_limits(st, t.processes + gone);
	if (st->job->watch_memory != CHILD_NONE && t.memory > st->job->watch_memory) {
		report_limit(st, CHILD_LIMIT_MEMORY);
		signal_all(st, SIGKILL);
	}
}

static int64_t now_ms(void)
{
	struct __kernel_timespec now = {0, 0};
	(void)raw_call2(__NR_clock_gettime, CLOCK_MONOTONIC_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Looking costs more than answering a call, and there may be a call every few microseconds. */
static int is_time(int64_t *last_ms)
{
	int64_t ms = now_ms();
	if (ms - *last_ms < WATCH_INTERVAL_MS)
		return 0;
	*last_ms = ms;
	return 1;
}

/* Other commands of a session may hold open files of ours, so they count. This process and process 1 do not. */
static enum child_left who_is_left(const struct state *st, int childless)
{
	if (st->is_pid1)
		return childless ? CHILD_LEFT_NOBODY : CHILD_LEFT_UNKNOWN;
	if (!(st->job->flags & CHILD_SHARED))
		return CHILD_LEFT_UNKNOWN;
	if (!childless)
		return CHILD_LEFT_OWN;
	return r_kill(-1, 0) == -ESRCH ? CHILD_LEFT_NOBODY : CHILD_LEFT_OTHERS;
}

__attribute__((noreturn)) static void end_here(struct state *st, int childless)
{
	if (st->ending == ENDING_WAITS)
		report_end(st->job, st->status, who_is_left(st, childless));
	end_the_rest(st);
	r_exit(0);
}

static void on_command_end(struct state *st, int status, int childless)
{
	st->status = status;
	st->ending = ENDING_WAITS;
	st->ended_ms = now_ms();
	if (childless && !(st->job->flags & CHILD_SHARED))
		know_limits(st, 1);
	else if (st->job->watch_processes != CHILD_NONE)
		look_at_limits(st, 1);
}

/* The command has ended. What it left goes on if this is a session, and if it does not end by itself in a moment. */
static void go_on_ending(struct state *st, int childless)
{
	if (childless || !(st->job->flags & CHILD_SHARED))
		end_here(st, childless);
	if (st->ending == ENDING_WAITS && now_ms() - st->ended_ms >= GRACE_MS) {
		report_end(st->job, st->status, CHILD_LEFT_OWN);
		st->ending = ENDING_TOLD;
	}
}

/* The user has logged out. The holder, which cannot be killed from here, finds that it holds nothing and ends soon. */
__attribute__((noreturn)) static void end_session(void)
{
	for (int i = 0; i < 1000 && r_kill(-1, SIGKILL) != -ESRCH; i++) {
		struct __kernel_timespec ms = {0, 1000000};
		(void)raw_call2(__NR_nanosleep, &ms, 0);
	}
	r_exit(0);
}

__attribute__((noreturn)) static void supervise(struct state *st)
{
	int64_t looked_ms = 0;
	int watching = st->job->watch_memory != CHILD_NONE || st->job->watch_processes != CHILD_NONE;
	enum { SIGNALS, CONTROL, NOTIFY, OUT, ERR, LOGIN, SOURCES };
	struct {
		int fd;
		short events, revents;
	} fds[SOURCES] = {[SIGNALS] = {st->signal_fd, POLLIN, 0},
			  [CONTROL] = {CHILD_FD_CONTROL, POLLIN, 0},
			  [NOTIFY] = {st->notify_fd, POLLIN, 0}};
	for (;;) {
		struct __kernel_timespec interval = {0, WATCH_INTERVAL_MS * 1000000};
		if (st->ending == ENDING_KEPT && fds[NOTIFY].fd < 0 && !keep_is_needed(&st->keep))
			r_exit(0);
		int is_timed = watching || st->ending == ENDING_WAITS;
		fds[CONTROL].fd = st->ending == ENDING_KEPT ? -1 : CHILD_FD_CONTROL;
		for (unsigned i = 0; i < 2; i++) {
			fds[OUT + i].fd = st->keep.from[i];
			fds[OUT + i].events = POLLIN;
		}
		fds[LOGIN].fd = st->keep.login;
		fds[LOGIN].events = POLLIN;
		fds[NOTIFY].events = gate_is_busy() ? 0 : POLLIN;
		(void)raw_call5(__NR_ppoll, fds, SOURCES, is_timed ? &interval : 0, 0, 0);
		if (fds[SIGNALS].revents) {
			char drop[128];
			while (r_read(st->signal_fd, drop, sizeof drop) > 0)
				;
		}
		for (unsigned i = 0; i < 2; i++)
			if (st->keep.from[i] >= 0 && fds[OUT + i].revents)
				keep_copy(&st->keep, i);
		if (st->keep.login >= 0 && fds[LOGIN].revents && keep_is_logout(&st->keep))
			end_session();
		int status = 0, childless = 0;
		if (st->ending != ENDING_KEPT && reap(st, &status, &childless))
			on_command_end(st, status, childless);
		if (st->ending == ENDING_WAITS || st->ending == ENDING_TOLD)
			go_on_ending(st, childless);
		if (fds[CONTROL].revents)
			handle_control(st);
		if (fds[NOTIFY].revents & POLLIN)
			notify_serve(st->notify_fd, st->job->flags, &st->observer);
		else if (fds[NOTIFY].revents)
			fds[NOTIFY].fd = -1; /* no process is left that could make a call */
		if (watching && is_time(&looked_ms))
			look_at_limits(st, 0);
	}
}

__attribute__((noreturn)) static void be_first_process(void)
{
	struct state st = {.is_pid1 = r_getpid() == 1, .notify_socket = {-1, -1}, .notify_fd = -1, .keep = KEEP_INIT};
	long rc = r_prctl(PR_SET_DUMPABLE, 0);
	(void)r_prctl(PR_SET_NAME, (unsigned long)"airlock-init");
	if (!st.is_pid1 && rc == 0)
		rc = r_prctl(PR_SET_CHILD_SUBREAPER, 1);
	st.job = map_job();
	(void)r_close(CHILD_FD_SELF);
	if (rc == 0)
		rc = r_close_from(CHILD_FD_ARGS + (st.job->flags & CHILD_RULESET ? 1 : 0));
	if (rc < 0)
		give_up(CHILD_STAGE_SETUP, rc);
	block_signals(&st);
	/* The caller's session keyring holds its Kerberos and file-system keys; ours is new and empty. */
	(void)raw_call2(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
	tell(CHILD_HELLO, 0, 0);
	if (!await_go())
		r_exit(1);
	set_limits(st.job);
	if (st.job->watch_memory != CHILD_NONE)
		watch_begin(&st.watched);
	if (st.job->flags & CHILD_PUBLISH)
		gate_send_sockets();
	start_command(&st);
	supervise(&st);
}

/* The kernel puts the argument count at the top of the stack. */
__attribute__((noreturn, used)) void child_main(const long *stack);
__attribute__((noreturn, used)) void child_main(const long *stack)
{
	char *const *argv = (char *const *)(stack + 1);
	if (stack[0] > 1 && argv[1][0] == 's')
		stage_main();
	if (stack[0] > 1) {
		int64_t idle_ms = 0;
		int holds = argv[1][0] == 'h';
		if (argv[1][0] == 'd')
			view_drop_capabilities();
		else
			view_build(&idle_ms);
		for (char *p = argv[1]; *p; p++)
			*p = '\0'; /* /proc/1/cmdline shows it */
		if (holds)
			hold_be(idle_ms);
	}
	be_first_process();
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp,%ebp\n\tmov %rsp,%rdi\n\tand $-16,%rsp\n\tcall child_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29,#0\n\tmov x30,#0\n\tmov x0,sp\n\tbl child_main\n\tbrk #0\n");
#endif
