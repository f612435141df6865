/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deleting or renaming a name that does not exist, in a read-only place.
 *
 * The kernel looks whether it may write to the mount before it looks for the name, so unlink("/usr/x") is EROFS where outside
 * the sandbox it is ENOENT, and programs that ignore "not there" fail. Where the first process is told of the call anyway, it
 * answers ENOENT when the name does not exist; in all other cases the kernel carries the call out and decides. ENOENT does
 * nothing, and was true a moment ago, so no race with another thread can make use of it. Nobody listens to deletions for this
 * alone: waiting for another process makes each of them several times slower. Freestanding.
 */
#pragma once

struct seccomp_notif;
/* True if the call would delete (unlink, unlinkat, rmdir) a name that does not exist. nested: the caller may have its
 * own root. */
int missing_is(const struct seccomp_notif *request, int nested);
/* True if only the last name of a path is missing. base: a directory, or AT_FDCWD. Changes path. */
int missing_name(int base, char *path);
