/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads from a descriptor that we share with others. */
#pragma once

#include <sys/types.h>

/* read(2) through signals; waits even if the descriptor is non-blocking (a pipe below npm). -1 with errno. */
ssize_t input_take(int fd, void *to, size_t size);
