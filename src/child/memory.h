/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sealed memory files. */
#pragma once

#include <stddef.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* A CLOEXEC memory file with this content, sealed, or -errno. Older kernels do not know `flag`. */
int memory_sealed(const char *name, unsigned flag, const void *data, size_t len);
