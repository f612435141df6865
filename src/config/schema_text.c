/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values as text: what a key accepts, what it has, and how TOML writes it. */
#include "config/schema.h"

#include <inttypes.h>
#include <string.h>

/* "a", "b" or "c" */
static void add_words(struct buf *out, const struct schema_word *words)
{
	for (size_t i = 0; words[i].word; i++)
		buf_printf(out, "%s\"%s\"", i == 0 ? "" : words[i + 1].word ? ", " : " or ", words[i].word);
}

void schema_add_form(const struct schema_key *key, struct buf *out)
{
	if (key->type == SCHEMA_BOOL)
		buf_adds(out, "true or false");
	else if (key->type == SCHEMA_SHELL) {
		for (const struct schema_word *w = key->words; w->word; w++)
			buf_printf(out, "\"%s\", ", w->word);
		buf_adds(out, "or an absolute path");
	} else if (key->words)
		add_words(out, key->words);
	else
		buf_adds(out, key->form);
}

static bool needs_escape(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20 || c == 0x7f;
}

void schema_add_string(struct buf *out, const char *s)
{
	_cleanup_buf_ struct buf valid = BUF_INIT;
	size_t len = strlen(s);
	if (!text_is_utf8(s, len)) {
		text_add_utf8(&valid, s, len);
		s = buf_str(&valid);
	}
	buf_addc(out, '"');
	while (*s) {
		size_t plain = 0;
		while (s[plain] && !needs_escape(s[plain]))
			plain++;
		buf_add(out, s, plain);
		s += plain;
		if (*s == '"' || *s == '\\')
			buf_printf(out, "\\%c", *s++);
		else if (*s)
			buf_printf(out, "\\u%04X", (unsigned)*s++);
	}
	buf_addc(out, '"');
	out->failed = out->failed || valid.failed;
}

/* Uses the largest unit that is exact: 600000 ms is "10m". */
static void add_in_units(struct buf *out, int64_t value, const char *const *units, const int64_t *factors, size_t n)
{
	if (value == TEXT_NONE) {
		buf_adds(out, "\"none\"");
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (value >= factors[i] && value % factors[i] == 0) {
			buf_printf(out, "\"%" PRId64 "%s\"", value / factors[i], units[i]);
			return;
		}
	buf_printf(out, "%" PRId64, value);
}

static void add_duration(struct buf *out, int64_t ms)
{
	static const char *const units[] = {"d", "h", "m", "s", "ms"};
	static const int64_t factors[] = {86400000, 3600000, 60000, 1000, 1};
	add_in_units(out, ms, units, factors, AL_ARRAY_LEN(units));
}

static void add_size(struct buf *out, int64_t bytes)
{
	static const char *const units[] = {"T", "G", "M", "K"};
	static const int64_t factors[] = {INT64_C(1) << 40, 1 << 30, 1 << 20, 1 << 10};
	add_in_units(out, bytes, units, factors, AL_ARRAY_LEN(units));
}

static void add_share(struct buf *out, int64_t share)
{
	if (share < 0)
		buf_printf(out, "\"%" PRId64 "%%\"", -share);
	else
		add_size(out, share);
}

static void add_number(struct buf *out, int64_t value)
{
	if (value == TEXT_NONE)
		buf_adds(out, "\"none\"");
	else
		buf_printf(out, "%" PRId64, value);
}

/* --memory may not be a multiple of a MiB: then only the size is exact. */
static void add_megabytes(struct buf *out, int64_t bytes)
{
	if (bytes != TEXT_NONE && bytes % (1 << 20) == 0)
		add_number(out, bytes >> 20);
	else
		add_size(out, bytes);
}

void schema_add_value(const struct schema_key *key, const struct config *c, struct buf *out)
{
	const void *at = (const char *)c + key->offset;
	switch (key->type) {
	case SCHEMA_BOOL:
		buf_adds(out, *(const bool *)at ? "true" : "false");
		break;
	case SCHEMA_WORD:
		schema_add_string(out, key->words[*(const int *)at].word);
		break;
	case SCHEMA_DURATION:
	case SCHEMA_WAIT:
		add_duration(out, *(const int64_t *)at);
		break;
	case SCHEMA_MEGABYTES:
		add_megabytes(out, *(const int64_t *)at);
		break;
	case SCHEMA_COUNT:
		add_number(out, *(const int64_t *)at);
		break;
	case SCHEMA_SIZE:
		add_size(out, *(const int64_t *)at);
		break;
	case SCHEMA_SHARE:
		add_share(out, *(const int64_t *)at);
		break;
	default:
		schema_add_string(out, *(const char *const *)at ? *(const char *const *)at : "");
	}
}

static void add_array(struct buf *out, const struct toml_value *v)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < v->u.array.n; i++) {
		buf_adds(out, i ? ", " : "");
		schema_add_toml(out, v->u.array.items[i]);
	}
	buf_addc(out, ']');
}

static void add_table(struct buf *out, const struct toml_value *v)
{
	buf_adds(out, "{ ");
	for (size_t i = 0; i < v->u.table.n; i++) {
		buf_printf(out, "%s%s = ", i ? ", " : "", v->u.table.entries[i].key);
		schema_add_toml(out, v->u.table.entries[i].value);
	}
	buf_adds(out, " }");
}

/* Only what the schema accepts: no floats or dates, and no keys that need quotes. */
void schema_add_toml(struct buf *out, const struct toml_value *v)
{
	switch (v->type) {
	case TOML_STRING:
		schema_add_string(out, v->u.string.s);
		break;
	case TOML_INTEGER:
		buf_printf(out, "%" PRId64, v->u.integer);
		break;
	case TOML_BOOLEAN:
		buf_adds(out, v->u.boolean ? "true" : "false");
		break;
	case TOML_ARRAY:
		add_array(out, v);
		break;
	case TOML_TABLE:
		add_table(out, v);
		break;
	default:
		buf_printf(out, "<%s>", toml_type_name(v->type));
	}
}
