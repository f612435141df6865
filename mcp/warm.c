/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox of the next call, made in quiet times. Calls of an agent are seconds apart; a client that sends the next one
 * at once is served as ever. */
#include "front.h"

#define QUIET_MS 20
/* Nobody works here any more. What is prepared keeps files and file systems of the machine in use, so it goes. */
#define RETIRE_MS (5 * 60 * 1000)

/* A call that asks for nothing beyond a command: what most of them are. Whatever goes wrong here goes wrong again, and is
 * told, when somebody calls. */
static void prepare(struct front *f)
{
	struct airlock_error ignored = {0};
	struct airlock_settings *s = NULL;
	struct airlock_job *job = NULL;
	if (f->options->settings(f->options->data, &s, &ignored) >= 0 &&
	    airlock_settings_set_command(s, ":", &ignored) >= 0 && airlock_job_prepare(s, &job, &ignored) >= 0)
		(void)airlock_warm_prepare(f->warm, job, &ignored);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static int64_t work(void *data, int64_t quiet_ms)
{
	struct front *f = data;
	if (!f->warm)
		return -1;
	if (quiet_ms >= RETIRE_MS) {
		airlock_warm_drop(f->warm);
		return -1;
	}
	if (!airlock_warm_dispatch(f->warm))
		prepare(f);
	return RETIRE_MS;
}

static int fd(void *data)
{
	const struct front *f = data;
	return f->warm ? airlock_warm_fd(f->warm) : -1;
}

static void news(void *data)
{
	const struct front *f = data;
	(void)airlock_warm_dispatch(f->warm);
}

const struct mcp_idle front_idle = {.after_ms = QUIET_MS, .work = work, .fd = fd, .news = news};
