/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "answer_wait.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "output.h"

/* True if a signal came that would end us. One that would stop us does, now: no command is there yet to stop first. */
static bool is_ended(int signal_fd)
{
	struct signalfd_siginfo info;
	bool ends = false;
	while (signal_fd >= 0 && read(signal_fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTSTP)
			(void)raise(SIGSTOP);
		else
			ends |= info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT;
	}
	return ends;
}

/* 0: decided; 1: a signal ended the waiting. */
static int wait_for(struct airlock_asking *asking, int signal_fd, enum airlock_answer *ret)
{
	struct pollfd fds[] = {{.fd = airlock_asking_fd(asking), .events = POLLIN},
			       {.fd = signal_fd, .events = POLLIN}};
	while (airlock_asking_poll(asking, ret) == 1) {
		(void)poll(fds, 2, -1);
		if (is_ended(signal_fd))
			return 1;
	}
	return 0;
}

/* A model reads this, too: it names where the person looks, and nothing that grants. */
static void tell(bool is_quiet)
{
	if (!is_quiet)
		output_say("this needs a person's answer, and waits for it: airlock questions");
}

void answer_wait_job(struct airlock_job *job, int signal_fd, bool is_quiet)
{
	struct airlock_asking *asking = NULL;
	enum airlock_answer answer = AIRLOCK_DENY;
	struct airlock_error why = {0};
	/* A question that cannot be asked is a refusal; the run records it when it starts. */
	if (airlock_job_ask(job, &asking, &why) != 1) {
		if (why.code)
			output_say("nobody can be asked: %s", why.message);
		return;
	}
	if (airlock_asking_poll(asking, &answer) == 1) {
		tell(is_quiet);
		if (wait_for(asking, signal_fd, &answer) == 1)
			airlock_job_answer(job, AIRLOCK_DENY);
	}
	airlock_asking_free(asking);
}

int answer_wait_changes(const struct airlock_settings *s, const struct airlock_question *q, bool is_quiet,
			enum airlock_answer *ret, struct airlock_error *err)
{
	struct airlock_asking *asking = NULL;
	int rc = airlock_question_ask(s, q, &asking, err);
	if (rc < 0)
		return rc;
	if (airlock_asking_poll(asking, ret) == 1) {
		tell(is_quiet);
		(void)wait_for(asking, -1, ret);
	}
	airlock_asking_free(asking);
	return 0;
}
