/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "permission/permission.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* A command longer than this is shown by its head and its tail, with its length: nothing scrolls the question away. */
#define SHOWN_MAX 1200
#define SHOWN_PART 500

static void add_command(struct buf *out, const char *command)
{
	size_t len = strlen(command);
	if (len <= SHOWN_MAX) {
		text_add_escaped(out, command, len);
		return;
	}
	text_add_escaped(out, command, SHOWN_PART);
	buf_printf(out, " [... %zu of %zu bytes not shown ...] ", len - 2 * SHOWN_PART, len);
	text_add_escaped(out, command + len - SHOWN_PART, SHOWN_PART);
}

static void add_path(struct buf *out, const char *path)
{
	text_add_escaped(out, path, strlen(path));
}

static void add_reason(struct permission_question *q, const char *reason)
{
	q->reasons[q->n_reasons++] = reason;
	q->reasons[q->n_reasons] = NULL;
}

static void describe(const struct permission_inputs *in, struct permission_question *q, struct buf *text)
{
	buf_adds(text, "In ");
	add_path(text, in->working_dir);
	buf_adds(text, "\n");
	if (in->unsandboxed) {
		add_reason(q, "unsandboxed");
		buf_adds(text, "NOT IN SANDBOX: it can read and change everything you can (");
		add_path(text, in->unsandboxed_because);
		buf_adds(text, ")\n");
	}
	for (const char *const *p = in->extra_writable; p && *p; p++) {
		if (p == in->extra_writable)
			add_reason(q, "allow-write");
		buf_adds(text, "It may also write to ");
		add_path(text, *p);
		buf_addc(text, '\n');
	}
	if (in->network)
		add_reason(q, "network");
}

int permission_collect(const struct permission_inputs *in, struct permission_question *ret, struct airlock_error *err)
{
	*ret = (struct permission_question){.one_time_only = true};
	struct buf text = BUF_INIT;
	describe(in, ret, &text);
	if (in->network)
		buf_adds(&text, "Run command with network access: ");
	else if (in->unsandboxed)
		buf_adds(&text, "Run command without a sandbox: ");
	else
		buf_adds(&text, "Run command with these extra writable paths: ");
	add_command(&text, in->command);
	buf_addc(&text, '?');
	ret->text = buf_take(&text);
	ret->command = strdup(in->command);
	if (ret->text && ret->command)
		return 0;
	permission_done(ret);
	return base_oom(err);
}

void permission_done(struct permission_question *q)
{
	base_freep(&q->text);
	base_freep(&q->command);
	*q = (struct permission_question){0};
}

int permission_denied(const struct permission_question *q, bool nobody_asked, struct airlock_error *err)
{
	struct buf what = BUF_INIT;
	for (size_t i = 0; i < q->n_reasons; i++)
		buf_printf(&what, "%s%s", i ? ", " : "", q->reasons[i]);
	base_error(err, AIRLOCK_ERR_DENIED, "ask", buf_str(&what),
		   nobody_asked ? "permission is needed (%s) and there is nobody to ask" : "permission was denied (%s)",
		   buf_str(&what));
	buf_done(&what);
	if (nobody_asked)
		return base_hint(err, "run it in a terminal, or grant it on the command line with --yes");
	return AIRLOCK_ERR_DENIED;
}
