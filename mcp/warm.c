/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox of the next call, prepared while the server is idle. Calls of an agent are seconds apart; if the next
 * one comes at once, it gets a new sandbox. */
#include "front.h"

#define QUIET_MS 20
#define AGAIN_MS 1000
/* After this idle time the prepared sandbox is dropped: it keeps files and file systems of the machine in use. */
#define RETIRE_MS (5 * 60 * 1000)

/* A call with a command and nothing else, like most calls. Errors here are ignored: they happen again, and are
 * reported, in the real call. */
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

/* It is ready, or it ended because mounts of the machine changed: if those change all the time, there is no point in
 * hurrying. */
static int64_t news(void *data, int64_t quiet_ms)
{
	const struct front *f = data;
	return airlock_warm_dispatch(f->warm) ? RETIRE_MS : quiet_ms + AGAIN_MS;
}

static int fd(void *data)
{
	const struct front *f = data;
	return f->warm ? airlock_warm_fd(f->warm) : -1;
}

const struct mcp_idle front_idle = {.after_ms = QUIET_MS, .work = work, .news = news, .fd = fd};
