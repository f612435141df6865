/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ownership and attribute shorthands used everywhere.
 *
 *   _cleanup_free_ char *name = NULL;       freed when the scope ends
 *   _cleanup_close_ int fd = -EBADF;        closed when the scope ends
 *   return TAKE_FD(fd);                     ownership moves to the caller
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define AL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define AL_MUST_USE __attribute__((warn_unused_result))
#define AL_UNUSED __attribute__((unused))

#define AL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define AL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define AL_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Destructors keep errno: they run between a failing call and the code that reads its errno. */
static inline void base_freep(void *p)
{
	int saved = errno;
	free(*(void **)p);
	*(void **)p = NULL;
	errno = saved;
}

/* Never retried on EINTR: on Linux the descriptor is gone either way. */
static inline void base_closep(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		(void)close(*fd);
		errno = saved;
	}
	*fd = -EBADF;
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(base_freep)
#define _cleanup_close_ _cleanup_(base_closep)

#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) _p = (p);                                                                                \
		(p) = NULL;                                                                                            \
		_p;                                                                                                    \
	})
#define TAKE_FD(fd)                                                                                                    \
	({                                                                                                             \
		int _f = (fd);                                                                                         \
		(fd) = -EBADF;                                                                                         \
		_f;                                                                                                    \
	})
