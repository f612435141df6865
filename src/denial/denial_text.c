/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "denial/denial.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

static const struct {
	const char *name, *words; /* "write", "write to" */
} attempts[CHILD_SEEN_OPS] = {
	[AIRLOCK_ATTEMPT_OPEN] = {"open", "open"},
	[AIRLOCK_ATTEMPT_CHDIR] = {"chdir", "change to"},
	[AIRLOCK_ATTEMPT_WRITE] = {"write", "write to"},
	[AIRLOCK_ATTEMPT_TRUNCATE] = {"truncate", "truncate"},
	[AIRLOCK_ATTEMPT_MKDIR] = {"mkdir", "make the directory"},
	[AIRLOCK_ATTEMPT_DELETE] = {"delete", "delete"},
	[AIRLOCK_ATTEMPT_RENAME] = {"rename", "rename"},
	[AIRLOCK_ATTEMPT_LINK] = {"link", "make the link"},
	[AIRLOCK_ATTEMPT_SYMLINK] = {"symlink", "make the symlink"},
	[AIRLOCK_ATTEMPT_MKNOD] = {"mknod", "make the node"},
	[AIRLOCK_ATTEMPT_CHMOD] = {"chmod", "change the mode of"},
	[AIRLOCK_ATTEMPT_CHOWN] = {"chown", "change the owner of"},
	[AIRLOCK_ATTEMPT_UTIME] = {"utime", "change the times of"},
	[AIRLOCK_ATTEMPT_CONNECT] = {"connect", "connect to"},
	[AIRLOCK_ATTEMPT_BIND] = {"bind", "make the socket"},
	[AIRLOCK_ATTEMPT_SEND] = {"send", "send to"},
	[AIRLOCK_ATTEMPT_TRACE] = {"trace", "trace a process"},
	[AIRLOCK_ATTEMPT_NAMESPACE] = {"namespace", "make or enter a namespace"},
	[AIRLOCK_ATTEMPT_MOUNT] = {"mount", "mount or unmount"},
	[AIRLOCK_ATTEMPT_PERF] = {"perf", "count events (perf_event_open)"},
	[AIRLOCK_ATTEMPT_BPF] = {"bpf", "use bpf"},
	[AIRLOCK_ATTEMPT_KEYS] = {"keys", "use the kernel's keyrings"},
	[AIRLOCK_ATTEMPT_USERFAULT] = {"userfaultfd", "handle page faults (userfaultfd)"},
	[AIRLOCK_ATTEMPT_FANOTIFY] = {"fanotify", "watch file systems (fanotify)"},
	[AIRLOCK_ATTEMPT_ADMIN] = {"admin", "change the machine's swap, modules, clock or power"},
};

/* The same values under other names. */
_Static_assert((int)CHILD_SEEN_OPEN == AIRLOCK_ATTEMPT_OPEN && (int)CHILD_SEEN_UTIME == AIRLOCK_ATTEMPT_UTIME &&
		       (int)CHILD_SEEN_TRACE == AIRLOCK_ATTEMPT_TRACE &&
		       (int)CHILD_SEEN_ADMIN == AIRLOCK_ATTEMPT_ADMIN &&
		       (int)CHILD_SEEN_OPS == AIRLOCK_ATTEMPT_ADMIN + 1,
	       "attempts");

const char *airlock_attempt_name(enum airlock_attempt attempt)
{
	return attempts[attempt].name;
}

const char *airlock_denial_rule_name(enum airlock_denial_rule rule)
{
	static const char *const names[] = {[AIRLOCK_DENIAL_NONE] = "none",
					    [AIRLOCK_DENIAL_HIDDEN] = "hidden",
					    [AIRLOCK_DENIAL_NOT_VISIBLE] = "not visible",
					    [AIRLOCK_DENIAL_READ_ONLY] = "read-only",
					    [AIRLOCK_DENIAL_NETWORK_OFF] = "network off",
					    [AIRLOCK_DENIAL_CALL] = "system call"};
	return names[rule];
}

void denial_add_what(const struct airlock_denial *d, struct buf *out)
{
	buf_adds(out, attempts[d->attempt].words);
	const char *subject = d->program ? d->program : d->path ? d->path : d->address;
	if (*subject) {
		buf_adds(out, d->program ? ", as " : " ");
		buf_adds(out, subject);
		buf_adds(out, d->program ? " tried" : "");
	}
	buf_printf(out, " (%s: ", airlock_denial_rule_name(d->rule));
	rule_origin_add(out, &d->origin);
	buf_addc(out, ')');
	if (d->count > 1)
		buf_printf(out, ", %llu times", (unsigned long long)d->count);
}

void denial_add_hint(const struct airlock_denial *d, struct buf *out)
{
	static const char *const options[] = {
		[AIRLOCK_REMEDY_NONE] = "",
		[AIRLOCK_REMEDY_ALLOW_WRITE] = "--allow-write ",
		[AIRLOCK_REMEDY_READ] = "--ro ",
		[AIRLOCK_REMEDY_BIND] = "--bind-ro ",
		[AIRLOCK_REMEDY_UNHIDE] = "leave out --hide ",
		[AIRLOCK_REMEDY_NETWORK] = "--network",
		[AIRLOCK_REMEDY_PROFILE] = "--profile ",
		[AIRLOCK_REMEDY_NESTED] =
			("nested = true in the profile, or in a rule for this command (airlock.toml(5)); the profile permissive has it"),
	};
	buf_adds(out, options[d->remedy]);
	if (d->value)
		text_add_shell_word(out, d->value);
	if (d->remedy == AIRLOCK_REMEDY_PROFILE)
		buf_adds(out, " --network");
	if (d->is_to_make)
		buf_adds(out, ", once that directory exists");
}

static char *inert(void (*add)(const struct airlock_denial *d, struct buf *out), const struct airlock_denial *d)
{
	_cleanup_buf_ struct buf raw = BUF_INIT;
	struct buf out = BUF_INIT;
	add(d, &raw);
	text_add_escaped(&out, buf_str(&raw), raw.len);
	out.failed |= raw.failed;
	return buf_take(&out);
}

char *airlock_denial_text(const struct airlock_denial *d)
{
	return inert(denial_add_what, d);
}

char *airlock_denial_hint(const struct airlock_denial *d)
{
	return inert(denial_add_hint, d);
}

static void print_one(const struct airlock_denial *d, enum denial_reader reader, struct json *j)
{
	_cleanup_buf_ struct buf hint = BUF_INIT, text = BUF_INIT;
	denial_add_hint(d, &hint);
	denial_add_what(d, &text);
	json_open_object(j, NULL);
	json_string(j, "op", airlock_attempt_name(d->attempt));
	if (d->program)
		json_string(j, "program", d->program);
	else if (d->path)
		json_path(j, "path", d->path);
	else
		json_string(j, "address", d->address);
	json_string(j, "rule", airlock_denial_rule_name(d->rule));
	rule_origin_add_json(j, "source", &d->origin);
	if (d->region)
		json_path(j, "region", d->region);
	else
		json_null(j, "region");
	json_string(j, "text", buf_str(&text));
	json_string(j, "hint", d->remedy && reader == DENIAL_FOR_PERSON ? buf_str(&hint) : NULL);
	json_int(j, "count", (int64_t)AL_MIN(d->count, (uint64_t)INT64_MAX));
	json_close(j);
}

void denials_print_json(const struct denials *d, enum denial_reader reader, struct json *j, const char *key)
{
	json_open_array(j, key);
	for (size_t i = 0; i < d->n; i++)
		print_one(&d->v[i], reader, j);
	json_close(j);
}
