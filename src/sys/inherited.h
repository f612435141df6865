/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a child gets from its parent without anybody passing it on. A process that was started some time ago is like one
 * started now only where all of this is still the same. */
#pragma once

#include "base/buf.h"

/* Of the calling thread, as text to compare: ids, capabilities, limits, priority, namespaces, control groups, host name….
 * 0 or -errno. */
int sys_inherited(struct buf *out);
