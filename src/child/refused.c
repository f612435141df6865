/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/refused.h"

#include "child/caller.h"
#include "child/pass.h"
#include "child/raw_calls.h"
#include "child/refused_calls.h"
#include "child/seen_record.h"

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#define COMM_BYTES 16

static const struct refused_call {
	int nr;
	unsigned char op, who;
} rows[] = {
#define ROW(name, op, who) {__NR_##name, CHILD_SEEN_##op, who},
	REFUSED_CALLS(ROW)};
#define N_ROWS (sizeof rows / sizeof *rows)

static const struct refused_call *row_of(int nr)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].nr == nr)
			return &rows[i];
	return 0;
}

int refused_is(int nr)
{
	return row_of(nr) != 0;
}

/* ── Noting ── */

/* The supervisor gets the file even if the run is not observed, but only if it contains something. */
static int has_file(struct observer *o)
{
	if (o->seen)
		return 1;
	if (o->failed)
		return 0;
	long fd = observe_begin(o, o->job);
	o->failed = fd < 0;
	if (fd < 0)
		return 0;
	(void)pass_send_fd(CHILD_FD_CONTROL, CHILD_OBSERVER, (int)fd);
	(void)r_close((int)fd);
	return 1;
}

static int is_for_root(const struct refused_call *r, uint64_t flags)
{
	return r->who == ROOT || (r->who == WITHOUT_USER && !(flags & CLONE_NEWUSER));
}

void refused_note(struct observer *o, int listener, const struct seccomp_notif *request)
{
	const struct refused_call *r = row_of(request->data.nr);
	char comm[COMM_BYTES];
	if (!r || !has_file(o))
		return;
	size_t len = caller_read_name((int)request->pid, comm, sizeof comm);
	unsigned flags = CHILD_SEEN_CALL | (is_for_root(r, request->data.args[0]) ? CHILD_SEEN_FOR_ROOT : 0);
	record_note(o, listener, request->id, (struct record){r->op, flags, comm, len});
}
