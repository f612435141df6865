/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The only table of codes: the CLI's exit status, MCP's error code and the manual all come from it. */
static const struct code_row {
	int code;
	const char *slug;
	int exit_status;
	int jsonrpc;
	const char *meaning;
} codes[] = {
	{AIRLOCK_OK, "ok", 0, 0, "It worked."},
	{AIRLOCK_ERR_USAGE, "usage", 2, -32602, "The command line or call is wrong."},
	{AIRLOCK_ERR_INVALID, "invalid", 125, -32602, "A value, a file or a path cannot be used as it is."},
	{AIRLOCK_ERR_NOT_FOUND, "not_found", 125, -32001, "Something that was named does not exist."},
	{AIRLOCK_ERR_UNAVAILABLE, "unavailable", 125, -32002, "This machine does not support the requested isolation."},
	{AIRLOCK_ERR_INIT_FAILED, "init_failed", 125, -32003, "Setting up the sandbox failed."},
	{AIRLOCK_ERR_BLOCKED, "blocked", 125, -32004, "The policy forbids it."},
	{AIRLOCK_ERR_DENIED, "denied", 125, -32005, "Permission was denied."},
	{AIRLOCK_ERR_TIMEOUT, "timeout", 124, -32006, "The command reached its time limit."},
	{AIRLOCK_ERR_CONFLICT, "conflict", 3, -32007, "Someone else changed the same path."},
	{AIRLOCK_ERR_BUSY, "busy", 125, -32008, "Another airlock process holds the lock."},
	{AIRLOCK_ERR_LIMIT, "limit", 125, -32009, "Too large, too many, or a limit that cannot be enforced here."},
	{AIRLOCK_ERR_CORRUPT, "corrupt", 125, -32010, "One of airlock's own files is damaged."},
	{AIRLOCK_ERR_IO, "io", 125, -32011, "The system refused a call."},
	{AIRLOCK_ERR_INTERNAL, "internal", 125, -32603, "A bug in airlock, or out of memory."},
};

static const struct code_row *find(int code)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return &codes[AL_ARRAY_LEN(codes) - 1];
}

const char *airlock_code_slug(int code)
{
	return find(code)->slug;
}

int airlock_code_exit_status(int code)
{
	return find(code)->exit_status;
}

int base_exit_status(const struct airlock_error *err)
{
	/* Shells exit with 127 if a program does not exist. Other missing things get the status of their code. */
	if (err->code == AIRLOCK_ERR_NOT_FOUND && strcmp(err->op, "exec") == 0)
		return 127;
	return airlock_code_exit_status(err->code);
}

int airlock_code_jsonrpc(int code)
{
	return find(code)->jsonrpc;
}

const char *airlock_code_meaning(int code)
{
	return find(code)->meaning;
}

/* Copies as much as fits. A longer text keeps its beginning and its end, which identify a path. */
static void copy_fitting(char *dst, size_t size, const char *src)
{
	size_t len = src ? strlen(src) : 0;
	if (len < size) {
		memcpy(dst, src ? src : "", len + 1);
		return;
	}
	size_t head = size / 2, tail = size - head - 4;
	memcpy(dst, src, head);
	memcpy(dst + head, "...", 3); /* NOLINT(bugprone-not-null-terminated-result): the end follows */
	memcpy(dst + head + 3, src + len - tail, tail + 1);
}

int base_error(struct airlock_error *err, int code, const char *op, const char *subject, const char *fmt, ...)
{
	assert(base_is_code(code)); /* one error domain: errno goes through base_errno */
	if (!err || err->code != 0)
		return code;
	err->code = code;
	copy_fitting(err->op, sizeof err->op, op);
	copy_fitting(err->subject, sizeof err->subject, subject);
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(err->message, sizeof err->message, fmt, ap);
	va_end(ap);
	return code;
}

int base_errno(struct airlock_error *err, int code, int errnum, const char *op, const char *subject)
{
	assert(base_is_code(code) && !base_is_code(errnum)); /* one error domain: a code is passed on as it is */
	if (!err || err->code != 0)
		return code;
	if (errnum < 0)
		errnum = -errnum;
	err->errnum = errnum;
	return base_error(err, code, op, subject, "%s%s%s: %s", op ? op : "", subject && *subject ? " " : "",
			  subject ? subject : "", strerrordesc_np(errnum) ? strerrordesc_np(errnum) : "unknown error");
}

int base_oom(struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_INTERNAL, "malloc", NULL, "out of memory");
}

bool base_is_absent(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == EACCES || errnum == ELOOP || errnum == ENAMETOOLONG;
}

int base_hint(struct airlock_error *err, const char *fmt, ...)
{
	if (!err)
		return AIRLOCK_ERR_INTERNAL;
	if (err->code != 0 && err->hint[0] == '\0') {
		va_list ap;
		va_start(ap, fmt);
		(void)vsnprintf(err->hint, sizeof err->hint, fmt, ap);
		va_end(ap);
	}
	return err->code;
}

int base_pass(struct airlock_error *err, const struct airlock_error *why)
{
	assert(base_is_code(why->code)); /* an empty one would turn a failure into a success */
	if (err && err->code == 0)
		*err = *why;
	return why->code;
}

void base_error_clear(struct airlock_error *err)
{
	if (err)
		memset(err, 0, sizeof *err);
}
