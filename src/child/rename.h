/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Renaming a directory that was there before the run.
 *
 * An overlay without redirects answers EXDEV to that, and many programs (git mv, os.rename) take it for an error. The
 * command's rename calls are therefore handed to the first process (seccomp user notification), which makes the very
 * same call in its place, and where the answer is EXDEV moves the directory entry by entry. It has the command's own
 * identity, mounts and privileges, so nothing becomes possible that was not. Freestanding.
 */
#pragma once

/* In the command's process, before exec: hands over its renames. Returns the listener, or -errno where the kernel has
 * no such thing (then renames are the overlay's). */
long rename_install(void);

/* In the first process: answers one waiting call. */
void rename_serve(int listener);
