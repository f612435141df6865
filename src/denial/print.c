/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "denial/denial.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

static const struct {
	const char *name, *words; /* "write", "write to" */
} ops[CHILD_SEEN_OPS] = {
	[CHILD_SEEN_OPEN] = {"open", "open"},
	[CHILD_SEEN_CHDIR] = {"chdir", "change to"},
	[CHILD_SEEN_WRITE] = {"write", "write to"},
	[CHILD_SEEN_TRUNCATE] = {"truncate", "truncate"},
	[CHILD_SEEN_MKDIR] = {"mkdir", "make the directory"},
	[CHILD_SEEN_DELETE] = {"delete", "delete"},
	[CHILD_SEEN_RENAME] = {"rename", "rename"},
	[CHILD_SEEN_LINK] = {"link", "make the link"},
	[CHILD_SEEN_SYMLINK] = {"symlink", "make the symlink"},
	[CHILD_SEEN_MKNOD] = {"mknod", "make the node"},
	[CHILD_SEEN_CHMOD] = {"chmod", "change the mode of"},
	[CHILD_SEEN_CHOWN] = {"chown", "change the owner of"},
	[CHILD_SEEN_UTIME] = {"utime", "change the times of"},
	[CHILD_SEEN_CONNECT] = {"connect", "connect to"},
	[CHILD_SEEN_BIND] = {"bind", "make the socket"},
	[CHILD_SEEN_SEND] = {"send", "send to"},
	[CHILD_SEEN_TRACE] = {"trace", "trace a process"},
	[CHILD_SEEN_NAMESPACE] = {"namespace", "make or enter a namespace"},
	[CHILD_SEEN_MOUNT] = {"mount", "mount or unmount"},
	[CHILD_SEEN_PERF] = {"perf", "count events (perf_event_open)"},
	[CHILD_SEEN_BPF] = {"bpf", "use bpf"},
	[CHILD_SEEN_KEYS] = {"keys", "use the kernel's keyrings"},
	[CHILD_SEEN_USERFAULT] = {"userfaultfd", "handle page faults (userfaultfd)"},
	[CHILD_SEEN_FANOTIFY] = {"fanotify", "watch file systems (fanotify)"},
	[CHILD_SEEN_ADMIN] = {"admin", "change the machine's swap, modules, clock or power"},
};

const char *denial_op_name(enum child_seen_op op)
{
	return ops[op].name;
}

const char *denial_rule_name(enum denial_rule rule)
{
	static const char *const names[] = {[DENIAL_NONE] = "none",
					    [DENIAL_HIDDEN] = "hidden",
					    [DENIAL_NOT_VISIBLE] = "not visible",
					    [DENIAL_READ_ONLY] = "read-only",
					    [DENIAL_NETWORK_OFF] = "network off",
					    [DENIAL_CALL] = "system call"};
	return names[rule];
}

void denial_add_what(const struct denial *d, struct buf *out)
{
	buf_adds(out, ops[d->op].words);
	const char *subject = d->program ? d->program : d->path ? d->path : d->address;
	if (*subject) {
		buf_adds(out, d->program ? ", as " : " ");
		buf_adds(out, subject);
		buf_adds(out, d->program ? " tried" : "");
	}
	buf_printf(out, " (%s: ", denial_rule_name(d->rule));
	buf_adds(out, d->source);
	buf_addc(out, ')');
	if (d->count > 1)
		buf_printf(out, ", %llu times", (unsigned long long)d->count);
}

void denial_add_hint(const struct denial *d, struct buf *out)
{
	if (!d->option)
		return;
	if (d->rule == DENIAL_CALL) {
		buf_adds(out,
			 "nested = true in the profile, or in a rule for this command (airlock.toml(5)); the profile "
			 "permissive has it");
		return;
	}
	if (strcmp(d->option, "hide") == 0)
		buf_adds(out, "leave out ");
	buf_printf(out, "--%s", d->option);
	if (d->value) {
		buf_addc(out, ' ');
		text_add_shell_word(out, d->value);
	}
	if (d->rule == DENIAL_NETWORK_OFF && strcmp(d->option, "profile") == 0)
		buf_adds(out, " --network");
	if (d->is_to_make)
		buf_adds(out, ", once that directory exists");
}

void denial_add_tool_hint(const struct denial *d, struct buf *out)
{
	if (!d->option) {
		buf_adds(out, "nothing allows it");
		return;
	}
	if (strcmp(d->option, "network") == 0)
		buf_adds(out, "\"network\": true");
	else if (strcmp(d->option, "allow-write") == 0) {
		buf_adds(out, "\"allow_write\": [\"");
		buf_adds(out, d->value);
		buf_adds(out, "\"]");
		if (d->is_to_make)
			buf_adds(out, ", once that directory exists");
	} else
		buf_adds(out, "only a person can");
}

static void print_one(const struct denial *d, enum denial_reader reader, struct json *j)
{
	_cleanup_buf_ struct buf hint = BUF_INIT, text = BUF_INIT;
	denial_add_hint(d, &hint);
	denial_add_what(d, &text);
	json_open_object(j, NULL);
	json_string(j, "op", denial_op_name(d->op));
	if (d->program)
		json_string(j, "program", d->program);
	else if (d->path)
		json_path(j, "path", d->path);
	else
		json_string(j, "address", d->address);
	json_string(j, "rule", denial_rule_name(d->rule));
	json_string(j, "source", d->source);
	if (d->region)
		json_path(j, "region", d->region);
	else
		json_null(j, "region");
	json_string(j, "text", buf_str(&text));
	json_string(j, "hint", d->option && reader == DENIAL_FOR_PERSON ? buf_str(&hint) : NULL);
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
