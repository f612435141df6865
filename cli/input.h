/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading what somebody gives us on a descriptor that is not ours alone. */
#pragma once

#include <sys/types.h>

/* read(2) through signals; waits where the descriptor does not (a pipe below npm). -1 with errno. */
ssize_t input_take(int fd, void *to, size_t size);
