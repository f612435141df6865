/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Renaming a directory that was there before the run.
 *
 * An overlay without redirects answers EXDEV to that, and many programs (git mv, os.rename) take it for an error. The
 * command's rename calls are therefore handed to the first process (seccomp user notification), which makes the very
 * same call in its place, and where the answer is EXDEV moves the directory entry by entry. It has the command's own
 * identity, mounts and privileges, so nothing becomes possible that was not. Freestanding.
 */
#pragma once

struct seccomp_notif;
struct seccomp_notif_resp;

/* Makes the call and puts the result into the answer. nested: the caller may be in a mount namespace of its own. */
void rename_answer(const struct seccomp_notif *request, int nested, struct seccomp_notif_resp *answer);
