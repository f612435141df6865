/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begun before libc, whose own beginning is most of the time from exec to main, half a millisecond in some virtual machines; the
 * kernel can make namespaces meanwhile. The only thing of this library that is there without anybody having asked for it, and it is there once. */
#include <airlock/airlock.h>

#include "child/ahead.h"
#include "sys/raw.h"

#include <linux/errno.h>
#include <linux/fcntl.h>

static struct ahead early;
static long begun_by; /* the process; 0: nobody, or it has been taken */

/* Where a caller left one of these closed, what we open would be in its place. */
static bool has_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (raw_call3(__NR_fcntl, fd, F_GETFD, 0) < 0)
			return false;
	return true;
}

void airlock_warm_begin_early(void)
{
	if (begun_by == 0 && !early.is_early && has_standard_descriptors() && ahead_begin(&early) == 0) {
		early.is_early = true;
		begun_by = raw_call0(__NR_getpid);
	}
}

struct ahead *ahead_take_early(void)
{
	long self = raw_call0(__NR_getpid);
	return __atomic_compare_exchange_n(&begun_by, &self, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? &early
													   : NULL;
}

/* Nobody had a use for it. At the end of the program: what it began ends before it. */
__attribute__((destructor)) static void end_early(void)
{
	if (!ahead_take_early())
		return;
	(void)raw_call1(__NR_close, early.control_fd);
	while (raw_call4(__NR_wait4, early.starter, 0, 0, 0) == -EINTR)
		;
	while (early.child > 0 && raw_call4(__NR_wait4, early.child, 0, 0, 0) == -EINTR)
		;
}
