/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for a person who answers elsewhere: the questions of a run, or of an apply, that is marked as an agent's. */
#pragma once

#include <stdbool.h>

#include <airlock/questions.h>

/* Asks about the job, if there is something to ask and it is an agent's, and waits until somebody has answered or the time is
 * over. signal_fd: a signalfd; a signal that would end us ends the waiting, as a no. The job knows the answer then. */
void answer_wait_job(struct airlock_job *job, int signal_fd, bool is_quiet);
/* The same for a question about changes. Signals end us as ever. */
int answer_wait_changes(const struct airlock_settings *s, const struct airlock_question *q, bool is_quiet,
			enum airlock_answer *ret, struct airlock_error *err);
