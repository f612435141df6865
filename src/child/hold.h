/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that is made before there is a command for it. Freestanding. */
#pragma once

/* From here on no mount of this sandbox comes or goes unnoticed. For hold_until_taken. */
int hold_watch(void);

/* Waits for ADVANCE or TAKE and returns the descriptor of the plan. *ret_taken: it was TAKE, and 0, 1, 2 and CHILD_FD_JOB are
 * the command's. When nobody comes the process ends. */
int hold_for_plan(int *ret_taken);

/* Says READY and waits for TAKE; then 0, 1, 2 and CHILD_FD_JOB are the command's, and the descriptor of the plan with its
 * layers is returned. When nobody comes, or a mount of this sandbox or of the caller's own view changes, the process ends:
 * what was made is not what the next command is to see, and it keeps file systems busy. */
int hold_until_taken(int watch);
