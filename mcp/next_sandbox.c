/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox of the next call is started while there are no calls. Calls of an agent are seconds apart; a client that sends the
 * next one at once gets a new sandbox. */
#include "tool_context.h"

#include <airlock/session.h>

#define QUIET_MS 20
#define AGAIN_MS 1000
/* After so long nobody is at work. A started sandbox keeps file systems of the machine busy, so it is dropped. */
#define RETIRE_MS (5 * 60 * 1000)

/* For a call that asks for nothing beyond a command, as most do. Errors are ignored: the call will meet them again and tell. */
static void start_next(struct tool_context *f)
{
	struct airlock_error ignored = {0};
	struct airlock_settings *s = NULL;
	struct airlock_job *job = NULL;
	if (f->options->settings(f->options->data, &s, &ignored) >= 0 &&
	    (airlock_settings_session(s) ||
	     airlock_settings_set(s, "session", f->work, "airlock mcp", &ignored) >= 0) &&
	    airlock_settings_set_command(s, ":", &ignored) >= 0 && airlock_job_prepare(s, &job, &ignored) >= 0)
		(void)airlock_prestart_begin_for(f->prestart, job, &ignored);
	airlock_job_free(job);
	airlock_settings_free(s);
}

static int64_t work(void *data, int64_t quiet_ms)
{
	struct tool_context *f = data;
	if (!f->prestart)
		return -1;
	if (quiet_ms >= RETIRE_MS) {
		airlock_prestart_drop(f->prestart);
		return -1;
	}
	if (!airlock_prestart_dispatch(f->prestart))
		start_next(f);
	return RETIRE_MS;
}

/* It is ready, or gone because a mount of the machine changed. Where mounts change all the time, wait before the next. */
static int64_t news(void *data, int64_t quiet_ms)
{
	const struct tool_context *f = data;
	return airlock_prestart_dispatch(f->prestart) ? RETIRE_MS : quiet_ms + AGAIN_MS;
}

static int fd(void *data)
{
	const struct tool_context *f = data;
	return f->prestart ? airlock_prestart_fd(f->prestart) : -1;
}

const struct mcp_idle tool_idle = {.after_ms = QUIET_MS, .work = work, .news = news, .fd = fd};
