/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded into a program: its N-th allocation (from 1) fails, or with "N+" all from the N-th on.
 *   LD_PRELOAD=alloc.so AIRLOCK_FAULT_ALLOCATION=N PROGRAM …
 * With AIRLOCK_FAULT_SITES=FILE a line is written there for each allocation: the place it is made from, as a hash of the return
 * addresses on the stack. Only this program: what it starts does not inherit the variables. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where glibc keeps its own; looking them up by name would itself allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static long at, calls;
static bool for_good, armed;
static pid_t own_pid;
static FILE *sites;

#define MAX_FRAMES 64

static void write_site(void)
{
	void *frames[MAX_FRAMES];
	armed = false; /* its own allocations */
	int n = backtrace(frames, MAX_FRAMES);
	uint64_t hash = 0xcbf29ce484222325;
	for (int i = 0; i < n; i++)
		hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001b3;
	(void)fprintf(sites, "%llx\n", (unsigned long long)hash);
	(void)fflush(sites);
	armed = true;
}

static bool strikes(void)
{
	if (!armed)
		return false;
	calls++;
	if (sites && getpid() == own_pid)
		write_site();
	if (at == 0 || calls < at || (calls > at && !for_good))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return strikes() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return strikes() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return strikes() ? NULL : __libc_realloc(old, size);
}

__attribute__((constructor)) static void arm(void)
{
	const char *n = getenv("AIRLOCK_FAULT_ALLOCATION"), *file = getenv("AIRLOCK_FAULT_SITES");
	char *end = NULL;
	at = n ? strtol(n, &end, 10) : 0;
	for_good = end && *end == '+';
	/* Not among the lowest numbers, which a program may give to what it starts. */
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 500) : -1;
	sites = high >= 0 ? fdopen(high, "w") : NULL;
	if (fd >= 0)
		(void)close(fd);
	own_pid = getpid();
	(void)unsetenv("AIRLOCK_FAULT_ALLOCATION");
	(void)unsetenv("AIRLOCK_FAULT_SITES");
	(void)unsetenv("LD_PRELOAD");
	armed = true;
}
