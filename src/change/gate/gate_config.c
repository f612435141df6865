/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/gate/gate_config.h"

#include <string.h>

/* Like git's: the end of the text is a newline that comes again and again, and "\r\n" is one. */
struct config_reader {
	const char *at, *end;
	bool eof;
	struct buf name, value;
	size_t stem; /* length of "section." or "section.subsection." in name */
};

static int next(struct config_reader *r)
{
	if (r->at == r->end) {
		r->eof = true;
		return '\n';
	}
	if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')
		r->at++;
	return (unsigned char)*r->at++;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static bool is_letter(int c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_key_character(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static void cut(struct buf *b, size_t len)
{
	b->len = AL_MIN(b->len, len);
	if (b->data)
		b->data[b->len] = '\0';
}

/* [section "subsection"]: what follows the blank. */
static int read_subsection(struct config_reader *r, int c)
{
	do {
		if (c == '\n')
			return -EINVAL;
		c = next(r);
	} while (is_blank(c));
	if (c != '"')
		return -EINVAL;
	buf_addc(&r->name, '.');
	while ((c = next(r)) != '"') {
		if (c == '\\')
			c = next(r);
		if (c == '\n' || c == '\0')
			return -EINVAL;
		buf_addc(&r->name, (char)c);
	}
	return next(r) == ']' ? 0 : -EINVAL;
}

static int read_section(struct config_reader *r)
{
	cut(&r->name, 0);
	for (;;) {
		int c = next(r);
		if (r->eof)
			return -EINVAL;
		if (c == ']')
			return r->name.len > 0 ? 0 : -EINVAL;
		if (is_blank(c))
			return read_subsection(r, c);
		if (!is_key_character(c) && c != '.')
			return -EINVAL;
		buf_addc(&r->name, (char)lower(c));
	}
}

/* The character behind a backslash; 0 for a continued line, -EINVAL for what git refuses. */
static int read_escape(struct config_reader *r)
{
	int c = next(r);
	switch (c) {
	case '\n':
		return 0;
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return -EINVAL;
	}
}

static int read_value(struct config_reader *r)
{
	bool quoted = false, comment = false;
	size_t keep = 0; /* without the blanks at the end */
	cut(&r->value, 0);
	buf_adds(&r->value, "");
	for (;;) {
		int c = next(r);
		if (c == '\n') {
			cut(&r->value, keep);
			return quoted ? -EINVAL : 0;
		}
		if (comment)
			continue;
		if (c == '\0')
			return -EINVAL;
		if (is_blank(c) && !quoted) {
			if (r->value.len > 0)
				buf_addc(&r->value, (char)c);
			continue;
		}
		comment = !quoted && (c == ';' || c == '#');
		if (comment)
			continue;
		if (c == '"') {
			quoted = !quoted;
			keep = r->value.len; /* blanks before a quote stay */
			continue;
		}
		if (c == '\\' && (c = read_escape(r)) <= 0) {
			if (c < 0)
				return c;
			keep = r->value.len;
			continue;
		}
		buf_addc(&r->value, (char)c);
		keep = r->value.len;
	}
}

static int read_entry(struct config_reader *r, int c, gitconfig_entry entry, void *context)
{
	const char *value = NULL;
	cut(&r->name, r->stem);
	for (; is_key_character(c) && !r->eof; c = next(r))
		buf_addc(&r->name, (char)lower(c));
	while (c == ' ' || c == '\t')
		c = next(r);
	if (c != '\n') {
		int rc = c == '=' ? read_value(r) : -EINVAL;
		if (rc < 0)
			return rc;
		value = buf_str(&r->value);
	}
	if (r->name.failed || r->value.failed)
		return -ENOMEM;
	return entry(context, r->name.data, value);
}

static int read_all(struct config_reader *r, gitconfig_entry entry, void *context)
{
	bool comment = false;
	for (;;) {
		int c = next(r), rc = 0;
		if (c == '\n' && r->eof)
			return 0;
		comment = c != '\n' && (comment || c == '#' || c == ';');
		if (comment || is_blank(c))
			continue;
		if (c == '[') {
			rc = read_section(r);
			buf_addc(&r->name, '.');
			r->stem = r->name.len;
		} else
			rc = is_letter(c) ? read_entry(r, c, entry, context) : -EINVAL;
		if (rc != 0)
			return rc;
	}
}

int gitconfig_read(const char *text, size_t len, gitconfig_entry entry, void *context)
{
	struct config_reader r = {.at = text, .end = text + len, .name = BUF_INIT, .value = BUF_INIT};
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	int rc = read_all(&r, entry, context);
	buf_done(&r.name);
	buf_done(&r.value);
	return rc;
}
