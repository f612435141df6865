/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tools/analyze puts this in front of every file that clang-tidy reads. clang-tidy sees one file at a time, so it does not know that
 * the functions that make errors never return success, and it follows paths on which `rc = base_oom(err)` leaves rc at 0. */
#pragma once

#define FAILED(rc)                                                                                                     \
	({                                                                                                             \
		int _failed = (rc);                                                                                    \
		if (_failed >= 0)                                                                                      \
			__builtin_unreachable();                                                                       \
		_failed;                                                                                               \
	})

#if __has_include("base/error.h")
#include "base/error.h"
#define base_error(...) FAILED(base_error(__VA_ARGS__))
#define base_errno(...) FAILED(base_errno(__VA_ARGS__))
#define base_oom(err) FAILED(base_oom(err))
#define base_hint(...) FAILED(base_hint(__VA_ARGS__))
#define base_pass(...) FAILED(base_pass(__VA_ARGS__))
#elif __has_include("output.h") && __has_include(<airlock/config.h>)
#include "output.h"
#define output_fail(...) FAILED(output_fail(__VA_ARGS__))
#define output_hint(...) FAILED(output_hint(__VA_ARGS__))
#endif
