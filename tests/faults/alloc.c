/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded into a program: its N-th allocation (from 1) fails, or with "N+" all from the N-th on.
 *   LD_PRELOAD=alloc.so AIRLOCK_FAULT_ALLOCATION=N PROGRAM …
 * With AIRLOCK_FAULT_COUNT=FILE the number of allocations is written there at the end. Only this program: what it starts
 * does not inherit the variables. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
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
static char count_file[4096];

static bool strikes(void)
{
	if (!armed)
		return false;
	calls++;
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
	const char *n = getenv("AIRLOCK_FAULT_ALLOCATION"), *file = getenv("AIRLOCK_FAULT_COUNT");
	char *end = NULL;
	at = n ? strtol(n, &end, 10) : 0;
	for_good = end && *end == '+';
	(void)snprintf(count_file, sizeof count_file, "%s", file ? file : "");
	(void)unsetenv("AIRLOCK_FAULT_ALLOCATION");
	(void)unsetenv("AIRLOCK_FAULT_COUNT");
	(void)unsetenv("LD_PRELOAD");
	armed = true;
}

__attribute__((destructor)) static void tell(void)
{
	armed = false;
	FILE *f = count_file[0] ? fopen(count_file, "we") : NULL;
	if (!f)
		return;
	fprintf(f, "%ld\n", calls);
	(void)fclose(f);
}
