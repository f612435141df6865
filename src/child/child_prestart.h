/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's side of a prestart (backend/backend_prestart.h): it waits for what the supervisor sends. Freestanding. */
#pragma once

/* Opens the table of this sandbox's mounts: from here on none of them comes or goes unnoticed. */
int prestart_watch_mounts(void);

/* Waits for TELL or TAKE and returns the descriptor of the plan. *ret_is_taken: it was TAKE, and 0, 1, 2 and CHILD_FD_JOB are the
 * command's. Ends the process when the supervisor has closed its end. */
int prestart_receive_plan(int *ret_is_taken);

/* Says READY with that table of mounts and waits for TAKE; then 0, 1, 2 and CHILD_FD_JOB are the command's, and the descriptor of
 * the plan with its layers is returned. Ends the process when the supervisor has closed its end, or when a mount of this
 * sandbox or of the supervisor's changes: the next command is to see other mounts then, and ours keep file systems busy. */
int prestart_wait_until_taken(int mounts_fd);
