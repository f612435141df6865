/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The namespaces that the commands of a session share, and the process that holds them (session/holder.h).
 *
 *   run_holder_join(job, &session, &notes, err);      when the run starts, with the session locked
 *   job->work.holder.pid_fd …                         where the sandbox is made; negative: it has namespaces of its own
 *   run_holder_leave(job);                            when it is over
 */
#pragma once

#include "run/job.h"

/* Finds the session's holder or starts one. A command that asks for something else than its namespaces have runs in its own, and a
 * note says so. */
int run_holder_join(struct airlock_job *job, const struct session *s, struct notes *notes, struct airlock_error *err);
/* For the backend. */
struct backend_shared run_holder_shared(const struct airlock_job *job);
/* The same for a command that is expected: the holder is started if there is none. *ret is borrowed by the backend, and closed by the
 * caller. False: the command would run in namespaces of its own. */
bool run_holder_expect(const struct airlock_job *job, struct session_holder *ret);
/* The sandbox could not be started. True: because the holder was about to end, and there is a new one now. */
bool run_holder_renew(struct airlock_job *job);
/* For a run that has namespaces of its own: says so to the session. Does nothing for others. pid: of the sandbox's outermost process. */
void run_holder_alone(struct airlock_job *job, const char *run, pid_t pid);
/* Whether processes of the session live that are not in the pid namespace of this run. They share /tmp with it, and through a socket
 * there it may have handed them a file of its layers. */
bool run_holder_has_others(const struct airlock_job *job, const char *run);
void run_holder_leave(struct airlock_job *job);

/* Holders that are started from now on end with this program, however it ends. 0 or -errno. */
int run_holder_end_with_program(void);
