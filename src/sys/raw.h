/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* System calls without libc: safe after clone, in a threaded program and in a freestanding program. Every wrapper
 * returns ≥ 0 or -errno and touches neither errno nor thread-local storage. */
#pragma once

#include <asm/unistd.h>

#ifdef __clang_analyzer__
/* It takes what an asm statement writes through a pointer for never written, but not what an unknown function may write. */
long raw_call6(long nr, long a, long b, long c, long d, long e, long f);
#else
/* Always inline: the caller may be a child that shares this very stack (launch.c). */
__attribute__((always_inline)) static inline long raw_call6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "add the system call convention of this architecture"
#endif
}
#endif

#define RAW_ARG(x) ((long)(x))
#define raw_call0(nr) raw_call6(nr, 0, 0, 0, 0, 0, 0)
#define raw_call1(nr, a) raw_call6(nr, RAW_ARG(a), 0, 0, 0, 0, 0)
#define raw_call2(nr, a, b) raw_call6(nr, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define raw_call3(nr, a, b, c) raw_call6(nr, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define raw_call4(nr, a, b, c, d) raw_call6(nr, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)
#define raw_call5(nr, a, b, c, d, e) raw_call6(nr, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e), 0)
