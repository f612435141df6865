/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct json json_begin(struct buf *out, bool pretty)
{
	struct json j = {.out = out, .pretty = pretty};
	j.first[0] = true;
	return j;
}

/* Fast path: almost no string needs escaping. */
static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

static void add_quoted(struct buf *out, const char *s, size_t n)
{
	struct buf clean = BUF_INIT;
	if (is_plain(s, n)) {
		buf_addc(out, '"');
		buf_add(out, s, n);
		buf_addc(out, '"');
		return;
	}
	text_add_utf8(&clean, s, n);
	buf_addc(out, '"');
	size_t plain = 0;
	for (size_t i = 0; i <= clean.len; i++) {
		unsigned char c = i < clean.len ? (unsigned char)clean.data[i] : 0;
		bool special = i == clean.len || c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
		if (!special)
			continue;
		buf_add(out, clean.data + plain, i - plain);
		plain = i + 1;
		if (i == clean.len)
			break;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else
			buf_printf(out, "\\u%04x", c);
	}
	buf_addc(out, '"');
	out->failed |= clean.failed;
	buf_done(&clean);
}

static void indent(struct json *j)
{
	if (!j->pretty)
		return;
	buf_addc(j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		buf_adds(j->out, "  ");
}

static void start_value(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		buf_addc(j->out, ',');
	if (j->depth > 0)
		indent(j);
	j->first[j->depth] = false;
	if (key) {
		add_quoted(j->out, key, strlen(key));
		buf_adds(j->out, j->pretty ? ": " : ":");
	}
}

static void open_level(struct json *j, const char *key, char open, char close)
{
	start_value(j, key);
	buf_addc(j->out, open);
	assert(j->depth < JSON_MAX_DEPTH);
	j->close[j->depth++] = close;
	j->first[j->depth] = true;
}

void json_members(struct json *j, const char *text)
{
	if (!*text)
		return;
	start_value(j, NULL);
	buf_adds(j->out, text);
}

void json_open_object(struct json *j, const char *key)
{
	open_level(j, key, '{', '}');
}

void json_open_array(struct json *j, const char *key)
{
	open_level(j, key, '[', ']');
}

void json_close(struct json *j)
{
	assert(j->depth > 0);
	bool empty = j->first[j->depth];
	j->depth--;
	if (!empty)
		indent(j);
	buf_addc(j->out, j->close[j->depth]);
}

void json_stringn(struct json *j, const char *key, const char *value, size_t n)
{
	start_value(j, key);
	add_quoted(j->out, value, n);
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (value)
		json_stringn(j, key, value, strlen(value));
	else
		json_null(j, key);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	start_value(j, key);
	buf_add_signed(j->out, value);
}

void json_ms(struct json *j, const char *key, int64_t microseconds)
{
	start_value(j, key);
	buf_printf(j->out, "%" PRId64 ".%03d", microseconds / 1000, (int)(microseconds % 1000));
}

void json_time(struct json *j, const char *key, int64_t ns)
{
	struct buf text = BUF_INIT;
	text_add_time(&text, ns);
	json_string(j, key, buf_str(&text));
	j->out->failed |= text.failed;
	buf_done(&text);
}

void json_bool(struct json *j, const char *key, bool value)
{
	start_value(j, key);
	buf_adds(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	start_value(j, key);
	buf_adds(j->out, "null");
}

void json_path(struct json *j, const char *key, const char *path)
{
	size_t n = strlen(path);
	json_stringn(j, key, path, n);
	if (text_is_utf8(path, n))
		return;
	struct buf exact = BUF_INIT, name = BUF_INIT;
	text_add_base64(&exact, path, n);
	buf_printf(&name, "%s_base64", key ? key : "path");
	json_string(j, buf_str(&name), buf_str(&exact));
	j->out->failed |= exact.failed || name.failed;
	buf_done(&exact);
	buf_done(&name);
}

void json_error(struct json *j, const char *key, const struct airlock_error *err)
{
	if (!err || err->code == 0) {
		json_null(j, key);
		return;
	}
	json_open_object(j, key);
	json_string(j, "code", airlock_code_slug(err->code));
	json_string(j, "message", err->message);
	json_string(j, "op", err->op);
	json_string(j, "subject", err->subject);
	json_string(j, "hint", err->hint[0] ? err->hint : NULL);
	json_close(j);
}
