/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that a child inherits from its parent. A process that was started earlier equals one started now only if
 * all of this is unchanged. */
#pragma once

#include "base/buf.h"

/* The inherited properties of the calling thread as text to compare: ids, capabilities, limits, priority, namespaces,
 * control groups, host name… Returns 0 or -errno. */
int sys_inherited(struct buf *out);
