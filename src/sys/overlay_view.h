/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several directories seen as one, as an overlay shows them: read-only, and mounted nowhere.
 *
 *   _cleanup_close_ int view = sys_overlay_view(dirs, n, -EBADF);     paths, the topmost directory first
 *   openat(view, "a/b", O_RDONLY | O_CLOEXEC);
 *
 * An ordinary user may mount only in a user namespace of his own: a child makes one, mounts there, and leaves the descriptor.
 * What is in the directories is looked up when somebody looks, so a view is made when it is needed, and is not kept.
 */
#pragma once

#include <stddef.h>

#define SYS_OVERLAY_VIEW_MAX 64

/* At least one directory; of one alone it is that directory itself. user_ns: a user namespace to mount in, or negative: one
 * like the caller's own. Returns the descriptor of the view's root (CLOEXEC), or -errno. */
int sys_overlay_view(const char *const *dirs, size_t n, int user_ns);

/* 1: some process, wherever it is, still has the overlay mounted that writes to upper, or a file of it open. 0: nobody has, so
 * nobody can change it any more. -errno: unknown. The kernel is asked to mount it once more with "index=on", which it refuses while
 * upper is in use; and later because upper was mounted as volatile. user_ns: as above. */
int sys_overlay_is_in_use(const char *upper, const char *work, int user_ns);
