/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

#define EVERY_MS 1000

static int64_t now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct progress progress_begin(bool json, bool has_pty)
{
	bool sees_nothing = json || !isatty(STDOUT_FILENO);
	return (struct progress){.is_on = sees_nothing && !has_pty && isatty(STDERR_FILENO),
				 .is_alone = json,
				 .started_ms = now_ms(),
				 .drawn_ms = now_ms()};
}

int progress_wait_ms(const struct progress *p)
{
	return p->is_on ? EVERY_MS : -1;
}

static void draw(struct progress *p, struct airlock_run *run)
{
	const char *latest = NULL;
	int64_t n = airlock_run_progress(run, &latest), seconds = (now_ms() - p->started_ms) / 1000;
	(void)fprintf(stderr, "\r\033[Kairlock: %" PRId64 " s", seconds);
	if (n >= 0)
		(void)fprintf(stderr, ", %" PRId64 " changed", n);
	p->is_shown = true;
	p->drawn_ms = now_ms();
}

void progress_update(struct progress *p, struct airlock_run *run, bool is_quiet)
{
	if (!p->is_on || !terminal_is_ours(STDERR_FILENO))
		return;
	if (is_quiet || (p->is_alone && now_ms() - p->drawn_ms >= EVERY_MS))
		draw(p, run);
	else if (!p->is_alone)
		progress_erase(p);
}

void progress_erase(struct progress *p)
{
	if (p->is_shown)
		(void)fputs("\r\033[K", stderr);
	p->is_shown = false;
}
