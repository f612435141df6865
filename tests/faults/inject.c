/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program and makes one system call of it, or of a process it starts, fail; or kills everything before that call.
 *
 *   inject --list FILE [OPTION…] -- PROGRAM [ARG…]           writes down every call that could be struck
 *   inject --strike P.E.NR.K --with WHAT [OPTION…] -- PROGRAM [ARG…]
 *
 * A call is named P.E.NR.K: the K-th (from 1) call number NR that process P (0 is the program, then in the order they were
 * made) makes after its E-th exec. That names the same call in the next run, whatever the other processes do meanwhile.
 * WHAT is an errno number, "kill" (every process of the tree, as a power cut would), or "short" (a read or write of one byte).
 *   --report FILE   "pid N", "hit 0|1", "exited N" or "signaled N", a line "left PID NAME" for each process that outlives the program
 *                   by ten seconds, and "hang" when the program itself does not end
 *   --pass NAME     do not look at processes that have become this program, nor at those they start
 *   --seconds N     the time the program has (default 30)
 *   A list says of each call: its name, the program, two arguments, and the place in the program it is made from, as a hash of
 *   the return addresses on the stack. Those are found by frame pointers: the program must be built with them.
 *
 * By ptrace, not by a filter: airlock looks at the filters it runs under, and one process at a time can be chosen. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define MAX_KINDS 512
#define LEFT_GRACE_S 10 /* on a busy machine the end of a namespace takes its time */
#define MAX_CODE 32
#define MAX_FRAMES 48
#define MAX_STACK (8 << 20)
#define MAX_WRAPPER_WORDS 64 /* between the stack pointer and the return address of the wrapper that makes the call */
#define REFUSED 120	     /* our own exit status: tracing is not to be had */

/* As the kernel gives it; libc 2.36 names it differently from the kernel's own header. */
struct call_info {
	uint8_t op, pad[3];
	uint32_t arch;
	uint64_t ip, sp, nr, args[6];
};
enum { CALL_ENTRY = 1, CALL_EXIT = 2 };
#define GET_SYSCALL_INFO 0x420e

struct process {
	pid_t pid;
	unsigned execs;
	bool alive, passed;
	bool struck; /* the result of the call it is in is to be replaced */
	char name[32];
};

struct kind {
	int process;
	unsigned execs;
	uint64_t nr;
	unsigned long count;
};

static struct {
	FILE *list;
	const char *report, *pass;
	int process; /* whose call is struck, or -1 */
	unsigned execs;
	uint64_t nr;
	unsigned long count;
	int errnum;
	bool kills, shortens;
	unsigned seconds;
} want = {.process = -1, .seconds = 30};

static struct process processes[MAX_PROCESSES];
static int n_processes;
static struct kind kinds[MAX_KINDS];
static size_t n_kinds;
static bool hit;
static volatile sig_atomic_t late;

static void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(REFUSED);
}

/* ── Registers ── */

/* Sets the call's number (none: it is not made) or its third argument, at its entry; its result, at its exit. */
enum target { CALL_NUMBER, CALL_LENGTH, CALL_RESULT };

static void set_register(pid_t pid, enum target target, long value)
{
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof regs};
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) < 0)
		return;
#if defined(__x86_64__)
	if (target == CALL_NUMBER)
		regs.orig_rax = (unsigned long long)value;
	else if (target == CALL_LENGTH)
		regs.rdx = (unsigned long long)value;
	else
		regs.rax = (unsigned long long)value;
#elif defined(__aarch64__)
	if (target == CALL_NUMBER) {
		int nr = (int)value;
		struct iovec call = {&nr, sizeof nr};
		(void)ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &call);
		return;
	}
	regs.regs[target == CALL_LENGTH ? 2 : 0] = (unsigned long long)value;
#else
#error "say here where this architecture keeps the number and the result of a call"
#endif
	(void)ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &iov);
}

/* ── The place a call is made from ── */

struct range {
	uint64_t from, to;
};

static size_t read_code(pid_t pid, struct range code[static MAX_CODE])
{
	char path[64], line[512];
	size_t n = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	while (f && n < MAX_CODE && fgets(line, sizeof line, f)) {
		unsigned long from, to;
		char access[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, access) == 3 && access[2] == 'x')
			code[n++] = (struct range){from, to};
	}
	if (f)
		(void)fclose(f);
	return n;
}

static bool is_code(const struct range *code, size_t n, uint64_t word)
{
	for (size_t i = 0; i < n; i++)
		if (word >= code[i].from && word < code[i].to)
			return true;
	return false;
}

static bool peek(pid_t pid, uint64_t address, uint64_t *words, size_t n)
{
	struct iovec here = {words, n * sizeof *words}, there = {(void *)(uintptr_t)address, n * sizeof *words};
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)(n * sizeof *words);
}

static uint64_t frame_pointer(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof regs};
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) < 0)
		return 0;
#if defined(__x86_64__)
	return regs.rbp;
#else
	return regs.regs[29];
#endif
}

static void mix(uint64_t *hash, uint64_t word)
{
	for (int i = 0; i < 8; i++, word >>= 8)
		*hash = (*hash ^ (word & 0xff)) * 0x100000001b3;
}

/* The call itself, the one of the wrapper around it, then frame by frame. Two calls from one place have the same hash; calls from
 * different ones only where a library without frame pointers is in between. */
static uint64_t site(pid_t pid, const struct call_info *info)
{
	struct range code[MAX_CODE];
	size_t n = read_code(pid, code);
	uint64_t hash = 0xcbf29ce484222325, word;
	mix(&hash, info->ip);
	for (uint64_t i = 0; i < MAX_WRAPPER_WORDS && peek(pid, info->sp + i * 8, &word, 1); i++)
		if (is_code(code, n, word)) {
			mix(&hash, word);
			break;
		}
	uint64_t at = frame_pointer(pid), lowest = info->sp, frame[2];
	for (int i = 0; i < MAX_FRAMES; i++, lowest = at + 1, at = frame[0]) {
		if (at < lowest || at - info->sp > MAX_STACK || !peek(pid, at, frame, 2) || !is_code(code, n, frame[1]))
			break;
		mix(&hash, frame[1]);
	}
	return hash;
}

/* ── The processes ── */

static void read_name(struct process *p)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/comm", p->pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(p->name, sizeof p->name, f))
		p->name[strcspn(p->name, "\n")] = '\0';
	(void)fclose(f);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[128];
	pid_t parent = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	if (f)
		(void)fclose(f);
	return parent;
}

static bool is_passed(pid_t pid)
{
	for (int i = 0; i < n_processes; i++)
		if (processes[i].pid == pid && processes[i].alive)
			return processes[i].passed;
	return false;
}

static struct process *find(pid_t pid)
{
	for (int i = 0; i < n_processes; i++)
		if (processes[i].pid == pid && processes[i].alive)
			return &processes[i];
	if (n_processes == MAX_PROCESSES) {
		fprintf(stderr, "inject: more than %d processes\n", MAX_PROCESSES);
		exit(REFUSED);
	}
	struct process *p = &processes[n_processes++];
	*p = (struct process){.pid = pid, .alive = true, .passed = is_passed(parent_of(pid))};
	read_name(p);
	return p;
}

static int n_alive(void)
{
	int n = 0;
	for (int i = 0; i < n_processes; i++)
		n += processes[i].alive;
	return n;
}

static void kill_all(void)
{
	for (int i = 0; i < n_processes; i++)
		if (processes[i].alive)
			(void)kill(processes[i].pid, SIGKILL);
}

/* ── Calls ── */

static unsigned long count_call(int process, unsigned execs, uint64_t nr)
{
	size_t i = 0;
	while (i < n_kinds && (kinds[i].process != process || kinds[i].execs != execs || kinds[i].nr != nr))
		i++;
	if (i == MAX_KINDS)
		return 0;
	if (i == n_kinds)
		kinds[n_kinds++] = (struct kind){process, execs, nr, 0};
	return ++kinds[i].count;
}

static void at_entry(struct process *p, const struct call_info *info)
{
	int number = (int)(p - processes);
	unsigned long count = count_call(number, p->execs, info->nr);
	if (want.list)
		fprintf(want.list, "%d.%u.%llu.%lu %s %llx %llx %llx\n", number, p->execs, (unsigned long long)info->nr,
			count, p->name, (unsigned long long)info->args[1], (unsigned long long)info->args[2],
			(unsigned long long)site(p->pid, info));
	if (number != want.process || p->execs != want.execs || info->nr != want.nr || count != want.count || hit)
		return;
	hit = true;
	if (want.kills)
		kill_all();
	else if (want.shortens && info->args[2] > 1)
		set_register(p->pid, CALL_LENGTH, 1);
	else if (!want.shortens) {
		p->struck = true;
		/* A close that fails has closed all the same: only its answer is another. */
		if (info->nr != SYS_close)
			set_register(p->pid, CALL_NUMBER, -1);
	}
}

static void at_call(struct process *p)
{
	struct call_info info;
	if (ptrace((enum __ptrace_request)GET_SYSCALL_INFO, p->pid, sizeof info, &info) < 0)
		return;
	if (info.op == CALL_ENTRY && !p->passed)
		at_entry(p, &info);
	else if (info.op == CALL_EXIT && p->struck) {
		set_register(p->pid, CALL_RESULT, -want.errnum);
		p->struck = false;
	}
}

static void resume(const struct process *p, int signal)
{
	bool watch = p->struck || (!p->passed && !(hit && !want.list));
	(void)ptrace(watch ? PTRACE_SYSCALL : PTRACE_CONT, p->pid, NULL, (void *)(intptr_t)signal);
}

static void at_stop(struct process *p, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	if (signal == (SIGTRAP | 0x80)) {
		at_call(p);
		resume(p, 0);
	} else if (event == PTRACE_EVENT_EXEC) {
		p->execs++;
		read_name(p);
		p->passed = p->passed || (want.pass && strcmp(p->name, want.pass) == 0);
		resume(p, 0);
	} else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) /* it is stopped, as by a shell */
		(void)ptrace(PTRACE_LISTEN, p->pid, NULL, NULL);
	else
		resume(p, event ? 0 : signal);
}

/* ── The whole ── */

static void on_alarm(int signal)
{
	late = signal;
}

static void set_alarm(unsigned seconds)
{
	struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART: it is to end a wait */
	(void)sigaction(SIGALRM, &action, NULL);
	/* Again and again: one that came between the look and the wait would be missed. */
	struct itimerval timer = {.it_value.tv_sec = seconds, .it_interval.tv_usec = 200000};
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	late = 0;
}

static void report_left(FILE *report)
{
	for (int i = 0; report && i < n_processes; i++)
		if (processes[i].alive)
			fprintf(report, "left %d %s\n", processes[i].pid, processes[i].name);
}

static void follow(pid_t program, FILE *report)
{
	bool ended = false;
	set_alarm(want.seconds);
	while (n_alive() > 0 || !ended) {
		int status;
		pid_t pid = late ? -1 : waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == ECHILD)
			break;
		if (late) {
			if (report && !ended)
				fprintf(report, "hang\n");
			report_left(report);
			kill_all();
			set_alarm(want.seconds);
			while (waitpid(-1, &status, __WALL) > 0)
				;
			break;
		}
		if (pid < 0)
			continue;
		struct process *p = find(pid);
		if (WIFSTOPPED(status)) {
			at_stop(p, status);
			continue;
		}
		p->alive = false;
		if (pid != program)
			continue;
		ended = true;
		if (report)
			fprintf(report, WIFEXITED(status) ? "exited %d\n" : "signaled %d\n",
				WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
		set_alarm(LEFT_GRACE_S);
	}
}

static pid_t start(char **argv)
{
	int gate[2];
	if (pipe2(gate, O_CLOEXEC) < 0)
		die("pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		char c;
		(void)close(gate[1]);
		if (read(gate[0], &c, 1) != 1)
			_exit(REFUSED);
		if (want.list) /* the same addresses each time */
			(void)personality(ADDR_NO_RANDOMIZE);
		execv(argv[0], argv);
		_exit(REFUSED);
	}
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0)
		die("ptrace");
	find(pid);
	/* Its next stop is one that we ask for: from there on it is followed call by call. */
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || write(gate[1], "", 1) != 1)
		die("ptrace");
	(void)close(gate[0]);
	(void)close(gate[1]);
	return pid;
}

static bool parse_strike(const char *text)
{
	unsigned long long nr;
	bool ok = sscanf(text, "%d.%u.%llu.%lu", &want.process, &want.execs, &nr, &want.count) == 4;
	want.nr = nr;
	return ok;
}

static bool parse_what(const char *text)
{
	char *end;
	want.kills = strcmp(text, "kill") == 0;
	want.shortens = strcmp(text, "short") == 0;
	want.errnum = (int)strtol(text, &end, 10);
	return want.kills || want.shortens || (*text && !*end && want.errnum > 0 && want.errnum < 4096);
}

/* Returns where the program begins in argv, or 0. */
static int parse(int argc, char **argv)
{
	int i = 1;
	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		const char *value = argv[i + 1];
		bool ok = true;
		if (strcmp(argv[i], "--list") == 0)
			ok = (want.list = fopen(value, "we")) != NULL;
		else if (strcmp(argv[i], "--strike") == 0)
			ok = parse_strike(value);
		else if (strcmp(argv[i], "--with") == 0)
			ok = parse_what(value);
		else if (strcmp(argv[i], "--report") == 0)
			want.report = value;
		else if (strcmp(argv[i], "--pass") == 0)
			want.pass = value;
		else if (strcmp(argv[i], "--seconds") == 0)
			ok = (want.seconds = (unsigned)atoi(value)) > 0;
		else
			ok = false;
		if (!ok)
			return 0;
	}
	return i + 1 < argc ? i + 1 : 0;
}

int main(int argc, char **argv)
{
	int at = parse(argc, argv);
	if (!at) {
		fprintf(stderr,
			"usage: inject --list FILE | --strike P.E.NR.K --with WHAT [--report FILE] [--pass NAME] "
			"[--seconds N] -- PROGRAM [ARG…]\n");
		return 2;
	}
	FILE *report = want.report ? fopen(want.report, "we") : NULL;
	if (want.report && !report)
		die(want.report);
	pid_t program = start(argv + at);
	if (report)
		fprintf(report, "pid %d\n", program);
	follow(program, report);
	if (want.list && fclose(want.list) != 0)
		die("the list");
	if (report) {
		fprintf(report, "hit %d\n", hit);
		if (fclose(report) != 0)
			die(want.report);
	}
	return 0;
}
