/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled seccomp programs, run by an interpreter of our own: the verdict for every number, and for the arguments
 * that matter. tests/integration and tests/security ask the kernel. */
#include "golden.h"

#include "base/buf.h"
#include "base/macros.h"
#include "child/refused_calls.h"
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#define LAST_NUMBER 600
#define X32_BIT 0x40000000

static const uint32_t audit_arch[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
static const char *const arch_name[] = {"x86_64", "aarch64"};

static uint32_t load(const struct seccomp_data *d, uint32_t at)
{
	uint32_t v;
	assert_true(at % 4 == 0 && at + sizeof v <= sizeof *d);
	memcpy(&v, (const char *)d + at, sizeof v);
	return v;
}

/* As the kernel would; every jump must stay inside, and every path must return. */
static uint32_t interpret(struct filter_program p, const struct seccomp_data *d)
{
	uint32_t a = 0;
	for (size_t at = 0; at < p.len; at++) {
		const struct sock_filter *i = &p.code[at];
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			a = load(d, i->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %zu: unknown code %#x", at, i->code);
		}
	}
	fail_msg("the program runs off its end");
	return 0;
}

static uint32_t verdict(enum filter_arch arch, unsigned flags, int nr, const uint64_t args[6])
{
	struct seccomp_data d = {.nr = nr, .arch = audit_arch[arch]};
	if (args)
		memcpy(d.args, args, sizeof d.args);
	return interpret(filter_program(arch, flags), &d);
}

static const char *word(uint32_t action)
{
	static const struct {
		uint32_t action;
		const char *word;
	} words[] = {{SECCOMP_RET_ALLOW, "allow"},
		     {SECCOMP_RET_ERRNO | EPERM, "EPERM"},
		     {SECCOMP_RET_ERRNO | ENOTTY, "ENOTTY"},
		     {SECCOMP_RET_ERRNO | ENOSYS, "ENOSYS"},
		     {SECCOMP_RET_ERRNO | EAFNOSUPPORT, "EAFNOSUPPORT"},
		     {SECCOMP_RET_ERRNO | EPROTONOSUPPORT, "EPROTONOSUPPORT"},
		     {SECCOMP_RET_KILL_PROCESS, "kill"}};
	for (size_t i = 0; i < AL_ARRAY_LEN(words); i++)
		if (words[i].action == action)
			return words[i].word;
	fail_msg("unexpected verdict %#x", action);
	return NULL;
}

/* ── Every number ── */

/* One line a number: the verdict for arguments that are all zero, then for all ones, without flags and with each. */
static void list_numbers(enum filter_arch arch, struct buf *out)
{
	static const uint64_t ones[6] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
	for (int nr = 0; nr <= LAST_NUMBER; nr++) {
		buf_printf(out, "%d", nr);
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags = flags ? flags * 2 : 1) {
			const char *zero = word(verdict(arch, flags, nr, NULL)),
				   *one = word(verdict(arch, flags, nr, ones));
			buf_printf(out, strcmp(zero, one) == 0 ? " %s" : " %s/%s", zero, one);
		}
		buf_addc(out, '\n');
	}
}

static void the_verdict_for_every_number_is_the_golden_one(void **state)
{
	for (int arch = 0; arch <= FILTER_ARCH_AARCH64; arch++) {
		_cleanup_buf_ struct buf found = BUF_INIT;
		char name[32];
		(void)snprintf(name, sizeof name, "filter-%s", arch_name[arch]);
		list_numbers((enum filter_arch)arch, &found);
		compare_with_golden(name, buf_str(&found));
	}
}

static bool is_noted(int nr)
{
	static const int numbers[] = {
#define ROW(name, op, who) SYS_##name,
		REFUSED_CALLS(ROW)};
	for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++)
		if (numbers[i] == nr)
			return true;
	return false;
}

/* If the filter handed over another call, the first process would not know it; if one less, nobody would hear of it. */
static void exactly_the_calls_that_the_first_process_knows_are_noted(void **state)
{
	static const uint64_t ones[6] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
	for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++) {
		struct filter_program p = filter_program(FILTER_ARCH_OWN, flags);
		_cleanup_free_ struct sock_filter *code = calloc(p.len, sizeof *code);
		assert_non_null(code);
		memcpy(code, p.code, p.len * sizeof *code);
		assert_int_equal(code[p.noted].k, SECCOMP_RET_ERRNO | EPERM);
		code[p.noted].k = SECCOMP_RET_USER_NOTIF;
		p.code = code;
		for (int nr = 0; nr <= LAST_NUMBER; nr++) {
			struct seccomp_data d = {.nr = nr, .arch = audit_arch[FILTER_ARCH_OWN]};
			memcpy(d.args, ones, sizeof ones);
			bool found = interpret(p, &d) == SECCOMP_RET_USER_NOTIF;
			bool is_allowed = interpret(filter_program(FILTER_ARCH_OWN, flags), &d) == SECCOMP_RET_ALLOW;
			assert_int_equal(found, is_noted(nr) && !is_allowed);
			memset(d.args, 0, sizeof d.args);
			assert_false(interpret(p, &d) == SECCOMP_RET_USER_NOTIF && !is_noted(nr));
		}
	}
}

/* Numbers of the machine this runs on, out of the system's own headers: a slip in a column of the table shows here. */
static void the_denied_calls_have_the_right_numbers(void **state)
{
	static const struct {
		int nr, errnum, errnum_nested;
	} rows[] = {
		{SYS_add_key, EPERM, EPERM},
		{SYS_request_key, EPERM, EPERM},
		{SYS_keyctl, EPERM, EPERM},
		{SYS_mount, EPERM, 0},
		{SYS_umount2, EPERM, 0},
		{SYS_pivot_root, EPERM, 0},
		{SYS_move_mount, EPERM, 0},
		{SYS_open_tree, EPERM, 0},
		{SYS_fsopen, EPERM, 0},
		{SYS_fsconfig, EPERM, 0},
		{SYS_fsmount, EPERM, 0},
		{SYS_fspick, EPERM, 0},
		{SYS_mount_setattr, EPERM, 0},
		{SYS_setns, EPERM, 0},
		{SYS_ptrace, EPERM, 0},
		{SYS_process_vm_readv, EPERM, 0},
		{SYS_process_vm_writev, EPERM, 0},
		{SYS_kcmp, EPERM, 0},
		{SYS_pidfd_getfd, EPERM, EPERM},
		{SYS_kexec_load, EPERM, EPERM},
		{SYS_init_module, EPERM, EPERM},
		{SYS_finit_module, EPERM, EPERM},
		{SYS_delete_module, EPERM, EPERM},
		{SYS_reboot, EPERM, EPERM},
		{SYS_swapon, EPERM, EPERM},
		{SYS_swapoff, EPERM, EPERM},
		{SYS_acct, EPERM, EPERM},
		{SYS_quotactl, EPERM, EPERM},
		{SYS_syslog, EPERM, EPERM},
		{SYS_settimeofday, EPERM, EPERM},
		{SYS_clock_settime, EPERM, EPERM},
		{SYS_adjtimex, EPERM, EPERM},
		{SYS_clock_adjtime, EPERM, EPERM},
		{SYS_fanotify_init, EPERM, EPERM},
		{SYS_vhangup, EPERM, EPERM},
		{SYS_bpf, EPERM, EPERM},
		{SYS_perf_event_open, EPERM, EPERM},
		{SYS_userfaultfd, EPERM, EPERM},
		{SYS_name_to_handle_at, EPERM, EPERM},
		{SYS_open_by_handle_at, EPERM, EPERM},
		{SYS_io_uring_setup, ENOSYS, ENOSYS},
		{SYS_io_uring_enter, ENOSYS, ENOSYS},
		{SYS_io_uring_register, ENOSYS, ENOSYS},
		{SYS_clone3, ENOSYS, 0},
#ifdef __x86_64__
		{SYS_iopl, EPERM, EPERM},
		{SYS_ioperm, EPERM, EPERM},
		{SYS_modify_ldt, EPERM, EPERM},
		{SYS_uselib, ENOSYS, ENOSYS},
#endif
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++) {
			int errnum = flags & FILTER_NESTED ? rows[i].errnum_nested : rows[i].errnum;
			uint32_t want = errnum ? SECCOMP_RET_ERRNO | (uint32_t)errnum : SECCOMP_RET_ALLOW;
			assert_int_equal(verdict(FILTER_ARCH_OWN, flags, rows[i].nr, NULL), want);
		}
}

static void what_every_program_needs_is_allowed(void **state)
{
	static const int numbers[] = {SYS_read,
				      SYS_write,
				      SYS_openat,
				      SYS_execve,
				      SYS_execveat,
				      SYS_exit_group,
				      SYS_mmap,
				      SYS_futex,
				      SYS_clone,
				      SYS_wait4,
				      SYS_kill,
				      SYS_renameat2,
				      SYS_seccomp,
				      SYS_prctl,
				      SYS_getrandom,
				      SYS_statx,
				      SYS_ppoll,
				      SYS_pidfd_open,
				      SYS_memfd_create,
				      SYS_flock,
				      SYS_close_range,
				      SYS_landlock_create_ruleset,
				      SYS_landlock_add_rule,
				      SYS_landlock_restrict_self};
	for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++)
			assert_int_equal(verdict(FILTER_ARCH_OWN, flags, numbers[i], NULL), SECCOMP_RET_ALLOW);
}

/* ── Arguments ── */

struct argument_row {
	int nr;
	uint64_t args[3];
	const char *plain, *nested, *no_unix, *no_inet;
};

static const struct argument_row argument_rows[] = {
	{SYS_clone, {17}, "allow", "allow", "allow", "allow"},
	{SYS_clone, {0x3d0f00}, "allow", "allow", "allow", "allow"}, /* a thread of libc's */
	{SYS_clone, {0x10000000}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_clone, {0x20000 | 17}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_clone, {0x40000000}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_clone, {1ull << 32 | 0x2000000}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_unshare, {0x600}, "allow", "allow", "allow", "allow"},
	{SYS_unshare, {0x80}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_unshare, {0x20000600}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_ioctl, {0, 0x5412}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_ioctl, {0, 0x100005412}, "EPERM", "EPERM", "EPERM", "EPERM"}, /* the kernel sees the low half only */
	{SYS_ioctl, {0, 0x541c}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_ioctl, {0, 0x5413}, "allow", "allow", "allow", "allow"},
	{SYS_ioctl, {0, 0x541b}, "allow", "allow", "allow", "allow"},	      /* FIONREAD */
	{SYS_ioctl, {0, 0x5401}, "allow", "allow", "allow", "allow"},	      /* TCGETS */
	{SYS_ioctl, {0, 0x40049409}, "allow", "allow", "allow", "allow"},     /* FICLONE */
	{SYS_ioctl, {0, 0x4020940d}, "allow", "allow", "allow", "allow"},     /* FICLONERANGE */
	{SYS_ioctl, {0, 0x80086601}, "allow", "allow", "allow", "allow"},     /* FS_IOC_GETFLAGS */
	{SYS_ioctl, {0, 0x401c5820}, "allow", "allow", "allow", "allow"},     /* FS_IOC_FSSETXATTR */
	{SYS_ioctl, {0, 0xc020660b}, "allow", "allow", "allow", "allow"},     /* FS_IOC_FIEMAP */
	{SYS_ioctl, {0, 0x8912}, "allow", "allow", "allow", "allow"},	      /* SIOCGIFCONF */
	{SYS_ioctl, {0, 0x50009401}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: snapshot */
	{SYS_ioctl, {0, 0x5000940e}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: new subvolume */
	{SYS_ioctl, {0, 0x5000940f}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: remove a subvolume */
	{SYS_ioctl, {0, 0x50009417}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: snapshot, second form */
	{SYS_ioctl, {0, 0x50009418}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: new subvolume, second form */
	{SYS_ioctl, {0, 0x5000943f}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* btrfs: remove one, second form */
	{SYS_ioctl, {0, 0xc028660f}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* EXT4_IOC_MOVE_EXT */
	{SYS_ioctl, {0, 0x6611}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"},     /* EXT4_IOC_SWAP_BOOT */
	{SYS_ioctl, {0, 0xc0c0586d}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* XFS_IOC_SWAPEXT */
	{SYS_ioctl, {0, 0x40285881}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* XFS_IOC_EXCHANGE_RANGE */
	{SYS_ioctl, {0, 0xf501}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"},     /* f2fs: atomic write */
	{SYS_ioctl, {0, 0x4020bc10}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* bcachefs: new subvolume */
	{SYS_ioctl, {0, 0xc0406618}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* FS_IOC_REMOVE_ENCRYPTION_KEY */
	{SYS_ioctl, {0, 0x8004e500}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"}, /* FUSE_DEV_IOC_CLONE */
	{SYS_ioctl, {0, 0x0}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"},	      /* nothing */
	{SYS_ioctl, {0, 0x100000000 | 0x5000940e}, "ENOTTY", "ENOTTY", "ENOTTY", "ENOTTY"},
	{SYS_ioctl, {0, 0xb701}, "ENOTTY", "allow", "ENOTTY", "ENOTTY"}, /* NS_GET_USERNS */
	{SYS_sched_setscheduler, {1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_sched_setscheduler, {0}, "allow", "allow", "allow", "allow"},
	{SYS_sched_setattr, {1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_sched_setattr, {0}, "allow", "allow", "allow", "allow"},
	{SYS_sched_setparam, {1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_sched_setparam, {0}, "allow", "allow", "allow", "allow"},
	{SYS_sched_setaffinity, {1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_sched_setaffinity, {0}, "allow", "allow", "allow", "allow"},
	{SYS_prlimit64, {1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_prlimit64, {0}, "allow", "allow", "allow", "allow"},
	{SYS_prlimit64, {1ull << 32 | 1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_setpriority, {0, 1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_setpriority, {0, 0}, "allow", "allow", "allow", "allow"},
	{SYS_setpriority, {1, 1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_setpriority, {1, 0}, "allow", "allow", "allow", "allow"},
	{SYS_setpriority, {2, 1000}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_ioprio_set, {1, 1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_ioprio_set, {1, 0}, "allow", "allow", "allow", "allow"},
	{SYS_ioprio_set, {2, 1}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_ioprio_set, {2, 0}, "allow", "allow", "allow", "allow"},
	{SYS_ioprio_set, {3, 1000}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_socket, {1, 1, 0}, "allow", "allow", "EAFNOSUPPORT", "allow"},
	{SYS_socket, {1ull << 32 | 1, 2, 0}, "allow", "allow", "EAFNOSUPPORT", "allow"},
	{SYS_socket, {2, 1, 0}, "allow", "allow", "allow", "EAFNOSUPPORT"},
	{SYS_socket, {2, 02000001, 6}, "allow", "allow", "allow", "EAFNOSUPPORT"},
	{SYS_socket, {10, 02004002, 17}, "allow", "allow", "allow", "EAFNOSUPPORT"},
	{SYS_socket, {2, 1, 262}, "EPROTONOSUPPORT", "EPROTONOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT"},  /* MPTCP */
	{SYS_socket, {10, 1, 256}, "EPROTONOSUPPORT", "EPROTONOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT"}, /* SMC */
	{SYS_socket, {2, 5, 132}, "EPERM", "EPERM", "EPERM", "EAFNOSUPPORT"},
	{SYS_socket, {2, 3, 255}, "EPERM", "EPERM", "EPERM", "EAFNOSUPPORT"}, /* raw */
	{SYS_socket, {16, 3, 0}, "allow", "allow", "allow", "EAFNOSUPPORT"},
	{SYS_socket, {16, 3, 9}, "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{SYS_socket, {17, 3, 0}, "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT"}, /* packets */
	{SYS_socket,
	 {38, 5, 0},
	 "EAFNOSUPPORT",
	 "EAFNOSUPPORT",
	 "EAFNOSUPPORT",
	 "EAFNOSUPPORT"}, /* the kernel's ciphers */
	{SYS_socket, {40, 1, 0}, "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT"}, /* hypervisor */
	{SYS_socketpair, {1, 1, 0}, "allow", "allow", "allow", "allow"},
	{SYS_socketpair, {1, 02000005, 0}, "allow", "allow", "allow", "allow"},
	{SYS_socketpair, {1, 2, 0}, "EPERM", "allow", "EPERM", "EPERM"},
	{SYS_socketpair, {30, 1, 0}, "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{SYS_mknodat, {0, 0, 0100644}, "allow", "allow", "allow", "allow"},
	{SYS_mknodat, {0, 0, 0010644}, "allow", "allow", "allow", "allow"}, /* a FIFO */
	{SYS_mknodat, {0, 0, 0020644}, "EPERM", "EPERM", "EPERM", "EPERM"},
	{SYS_mknodat, {0, 0, 0060644}, "EPERM", "EPERM", "EPERM", "EPERM"},
};

/* The list once more, by hand: every type and number, in eight combinations of direction and size, must be on it or be refused. */
static bool is_needed_ioctl(uint32_t request)
{
	static const uint32_t needed[] = {0x1,	      0x2,	  0x40049409, 0x4020940d, 0xc0189436,
					  0x80086601, 0x40086602, 0x80046601, 0x40046602, 0x801c581f,
					  0x401c5820, 0x80087601, 0x80047601, 0xc020660b, 0x81009431,
					  0x80111500, 0x80811501, 0x800c581e, 0xc0686611, 0x80045200};
	for (size_t i = 0; i < AL_ARRAY_LEN(needed); i++)
		if (request == needed[i])
			return true;
	uint32_t type = request >> 8 & 0xff;
	bool types_into_terminal = request == 0x5412 || request == 0x541c || request == 0x541d || request == 0x5423;
	return (type == 0x54 || type == 0x89) && !types_into_terminal;
}

static void no_ioctl_passes_that_is_not_listed(void **state)
{
	static const uint64_t upper[] = {0,	     0x40040000, 0x80080000,	 0xc0200000,
					 0x50000000, 0xc0280000, 0x100000000ull, 0xffffffff40080000ull};
	for (uint64_t low = 0; low < 0x10000; low++)
		for (size_t i = 0; i < AL_ARRAY_LEN(upper); i++) {
			const uint64_t args[6] = {0, upper[i] | low};
			bool passes = strcmp(word(verdict(FILTER_ARCH_OWN, 0, SYS_ioctl, args)), "allow") == 0;
			if (passes != is_needed_ioctl((uint32_t)args[1]))
				fail_msg("ioctl %llx %s", (unsigned long long)args[1],
					 passes ? "passes" : "is refused");
		}
}

static void arguments_decide(void **state)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(argument_rows); i++) {
		const struct argument_row *r = &argument_rows[i];
		const char *want[] = {r->plain, r->nested, r->no_unix, r->no_inet};
		static const unsigned flags[] = {0, FILTER_NESTED, FILTER_NO_UNIX, FILTER_NO_INET};
		uint64_t args[6] = {r->args[0], r->args[1], r->args[2]};
		for (size_t k = 0; k < AL_ARRAY_LEN(flags); k++) {
			const char *found = word(verdict(FILTER_ARCH_OWN, flags[k], r->nr, args));
			if (strcmp(found, want[k]) != 0)
				fail_msg("row %zu, flags %u: %s, expected %s", i, flags[k], found, want[k]);
		}
	}
}

/* Every type and number in every direction and size that a header makes of them: only terminals, sockets and what the
 * table names one by one get through. */
static void every_other_ioctl_is_unknown(void **state)
{
	static const uint32_t sizes[] = {0, 4, 8, 16, 24, 32, 0x1c, 40, 64, 0x1000};
	size_t allowed = 0;
	for (uint32_t number = 0; number <= 0xffff; number++)
		for (uint32_t form = 0; form < 4 * AL_ARRAY_LEN(sizes); form++) {
			uint32_t request = form % 4 << 30 | sizes[form / 4] << 16 | number;
			const uint64_t args[6] = {0, request};
			uint32_t type = number >> 8;
			if (type == 0x54 || type == 0x89 ||
			    verdict(FILTER_ARCH_OWN, 0, SYS_ioctl, args) != SECCOMP_RET_ALLOW)
				continue;
			allowed++;
			assert_true(type == 0 || type == 0x94 || type == 'f' || type == 'X' || type == 'v' ||
				    type == 'R');
		}
	assert_int_equal(allowed, 15);
}

static void objects_of_the_host_s_ipc_need_a_namespace_of_their_own(void **state)
{
	static const int numbers[] = {SYS_shmget, SYS_shmat,  SYS_shmctl, SYS_semget, SYS_semop,   SYS_semctl,
				      SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink};
	for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++)
			assert_string_equal(word(verdict(FILTER_ARCH_OWN, flags, numbers[i], NULL)),
					    flags & FILTER_NO_IPC ? "EPERM" : "allow");
}

/* What Landlock's version 2 does not ask about. Opening for writing it does, and so is every truncation through such a descriptor. */
static void no_file_is_emptied_without_opening_it_for_writing(void **state)
{
	static const struct {
		int nr;
		uint64_t args[3];
		const char *verdict;
	} rows[] = {
		{SYS_truncate, {0}, "EPERM"},
		{SYS_ftruncate, {0}, "allow"},
		{SYS_openat2, {0}, "ENOSYS"},
		{SYS_openat, {0, 0, O_RDONLY | O_TRUNC}, "EPERM"},
		{SYS_openat, {0, 0, 3 | O_TRUNC}, "EPERM"},
		{SYS_openat, {0, 0, O_RDONLY | O_CREAT | O_TRUNC | O_CLOEXEC}, "EPERM"},
		{SYS_openat, {0, 0, O_WRONLY | O_CREAT | O_TRUNC}, "allow"},
		{SYS_openat, {0, 0, O_RDWR | O_TRUNC}, "allow"},
		{SYS_openat, {0, 0, O_RDONLY}, "allow"},
#ifdef __x86_64__
		{SYS_open, {0, O_RDONLY | O_TRUNC}, "EPERM"},
		{SYS_open, {0, 3 | O_TRUNC}, "EPERM"},
		{SYS_open, {0, O_WRONLY | O_TRUNC}, "allow"},
		{SYS_creat, {0}, "allow"},
#endif
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++) {
			const uint64_t args[6] = {rows[i].args[0], rows[i].args[1], rows[i].args[2]};
			assert_string_equal(word(verdict(FILTER_ARCH_OWN, flags, rows[i].nr, args)),
					    flags & FILTER_NO_TRUNCATE ? rows[i].verdict : "allow");
		}
}

/* With no Unix sockets none is had by way of a pair either, whatever else is allowed. */
static void a_datagram_pair_is_a_way_to_every_socket(void **state)
{
	const uint64_t args[6] = {1, 2, 0};
	assert_string_equal(word(verdict(FILTER_ARCH_OWN, FILTER_NESTED | FILTER_NO_UNIX, SYS_socketpair, args)),
			    "EPERM");
}

/* ── What is no call of this machine ── */

static void foreign_architectures_end_the_process(void **state)
{
	static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64LE, AUDIT_ARCH_S390X, 0};
	for (int arch = 0; arch <= FILTER_ARCH_AARCH64; arch++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++) {
			struct filter_program p = filter_program((enum filter_arch)arch, flags);
			for (size_t i = 0; i < AL_ARRAY_LEN(foreign); i++) {
				struct seccomp_data d = {.arch = foreign[i]};
				assert_int_equal(interpret(p, &d), SECCOMP_RET_KILL_PROCESS);
			}
			struct seccomp_data other = {.arch = audit_arch[!arch]};
			assert_int_equal(interpret(p, &other), SECCOMP_RET_KILL_PROCESS);
		}
}

static void numbers_of_x32_and_beyond_do_not_exist(void **state)
{
	static const int numbers[] = {-1, -2, INT32_MIN, INT32_MAX, 1000, 470, X32_BIT, X32_BIT | 59, X32_BIT | 512};
	for (int arch = 0; arch <= FILTER_ARCH_AARCH64; arch++)
		for (unsigned flags = 0; flags <= FILTER_ALL_FLAGS; flags++)
			for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++)
				assert_int_equal(verdict((enum filter_arch)arch, flags, numbers[i], NULL),
						 SECCOMP_RET_ERRNO | ENOSYS);
}

/* ── Ids that are not there ── */

static uint32_t id_verdict(enum filter_arch arch, int nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct sock_filter code[FILTER_IDS_MAX + 1];
	const struct filter_id_sets known = {
		.users = {1000, 1000}, .groups = {{2000, 2000}, {3000, 3005}}, .n_groups = 2};
	unsigned short n = filter_ids(arch, &known, code);
	assert_true(n <= FILTER_IDS_MAX);
	code[n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct seccomp_data data = {.nr = nr, .arch = audit_arch[arch], .args = {a, b, c, d}};
	return interpret((struct filter_program){code, (unsigned short)(n + 1)}, &data);
}

static void ids_that_are_not_there_are_refused_and_others_pass(void **state)
{
	const uint32_t pass = SECCOMP_RET_ALLOW, refused = SECCOMP_RET_ERRNO | EPERM;
	const uint64_t same = (uint32_t)-1;
	static const int fchown_nr[] = {93, 55}, fchownat_nr[] = {260, 54}, setuid_nr[] = {105, 146},
			 setresgid_nr[] = {119, 149};
	for (int i = 0; i <= FILTER_ARCH_AARCH64; i++) {
		enum filter_arch arch = (enum filter_arch)i;
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, 1000, 2000, 0), pass);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, same, 2000, 0), pass);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, ~0ull, same, 0), pass);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, 0, same, 0), refused);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, same, 1000, 0), refused);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 0, 1000, 2001, 0), refused);
		assert_int_equal(id_verdict(arch, fchownat_nr[i], 0, 0, 1000, 2000), pass);
		assert_int_equal(id_verdict(arch, fchownat_nr[i], 0, 0, 1001, 2000), refused);
		assert_int_equal(id_verdict(arch, setuid_nr[i], 1000, 5, 5, 5), pass);
		assert_int_equal(id_verdict(arch, setuid_nr[i], 0, 0, 0, 0), refused);
		assert_int_equal(id_verdict(arch, setresgid_nr[i], 2000, same, 2000, 7), pass);
		assert_int_equal(id_verdict(arch, setresgid_nr[i], 2000, same, 7, 7), refused);
		assert_int_equal(id_verdict(arch, setresgid_nr[i], 3000, 3005, 2000, 7), pass);
		assert_int_equal(id_verdict(arch, setresgid_nr[i], 3000, 3006, 2000, 7), refused);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, 1000, 3003, 0), pass);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, 1000, 2999, 0), refused);
		assert_int_equal(id_verdict(arch, fchown_nr[i], 3, 3003, 2000, 0), refused);
		for (int nr = 0; nr < 50; nr++)
			assert_int_equal(id_verdict(arch, nr, 7, 7, 7, 7), pass);
		assert_int_equal(id_verdict(arch, LAST_NUMBER, 7, 7, 7, 7), pass);
	}
}

static void the_most_groups_fit(void **state)
{
	struct filter_id_sets known = {.n_groups = FILTER_GROUPS_MAX};
	struct sock_filter code[FILTER_IDS_MAX];
	for (int arch = 0; arch <= FILTER_ARCH_AARCH64; arch++)
		assert_in_range(filter_ids((enum filter_arch)arch, &known, code), 100, FILTER_IDS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verdict_for_every_number_is_the_golden_one),
		cmocka_unit_test(exactly_the_calls_that_the_first_process_knows_are_noted),
		cmocka_unit_test(the_denied_calls_have_the_right_numbers),
		cmocka_unit_test(what_every_program_needs_is_allowed),
		cmocka_unit_test(arguments_decide),
		cmocka_unit_test(no_ioctl_passes_that_is_not_listed),
		cmocka_unit_test(every_other_ioctl_is_unknown),
		cmocka_unit_test(objects_of_the_host_s_ipc_need_a_namespace_of_their_own),
		cmocka_unit_test(no_file_is_emptied_without_opening_it_for_writing),
		cmocka_unit_test(a_datagram_pair_is_a_way_to_every_socket),
		cmocka_unit_test(foreign_architectures_end_the_process),
		cmocka_unit_test(numbers_of_x32_and_beyond_do_not_exist),
		cmocka_unit_test(ids_that_are_not_there_are_refused_and_others_pass),
		cmocka_unit_test(the_most_groups_fit),
	};
	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
