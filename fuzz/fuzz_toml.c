/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The TOML reader on any bytes: it must not crash, and what it hands out must keep the promises of config/toml.h. */
#include "base/text.h"
#include "config/toml.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_value(const struct toml_value *v, size_t depth);

static void check_text(const char *s, size_t len)
{
	demand(s[len] == '\0' && text_is_utf8(s, len));
}

static void check_table(const struct toml_value *v, size_t depth)
{
	for (size_t i = 0; i < v->u.table.n; i++) {
		const struct toml_entry *e = &v->u.table.entries[i];
		check_text(e->key, e->key_len);
		demand(e->line > 0 && e->column > 0);
		if (strlen(e->key) == e->key_len)
			demand(toml_get(v, e->key) == e->value);
		check_value(e->value, depth + 1);
	}
}

static void check_value(const struct toml_value *v, size_t depth)
{
	demand(v->line > 0 && v->column > 0 && depth <= 64);
	if (v->type == TOML_STRING || v->type == TOML_DATETIME)
		check_text(v->u.string.s, v->u.string.len);
	else if (v->type == TOML_TABLE)
		check_table(v, depth);
	else if (v->type == TOML_ARRAY)
		for (size_t i = 0; i < v->u.array.n; i++)
			check_value(v->u.array.items[i], depth + 1);
}

/* An error names a place in the file, at most one past the end of a line. */
static void check_error(const struct airlock_error *err, int rc, const char *text, size_t size)
{
	int line = 0, column = 0, used = 0;
	demand(rc == err->code && (rc == AIRLOCK_ERR_INVALID || rc == AIRLOCK_ERR_LIMIT));
	demand(sscanf(err->subject, "f:%d:%d%n", &line, &column, &used) == 2 && err->subject[used] == '\0');
	demand(strncmp(err->message, err->subject, (size_t)used) == 0 && line > 0 && column > 0);
	demand(text_is_utf8(err->message, strlen(err->message)));
	const char *p = text, *end = text + size;
	for (; line > 1; line--) {
		p = memchr(p, '\n', (size_t)(end - p));
		demand(p != NULL);
		p++;
	}
	demand(column - 1 <= end - p);
}

static int parse(const char *text, size_t size, const struct toml_limits *limits)
{
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	int rc = toml_parse(text, size, "f", limits, &doc, &err);
	demand((rc == 0) == (doc != NULL));
	if (rc == 0)
		check_value(toml_root(doc), 0);
	else
		check_error(&err, rc, text, size);
	toml_free(doc);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct toml_limits narrow = {.max_depth = 4, .max_values = 12};
	const char *text = (const char *)data;
	int wide = parse(text, size, NULL), other = parse(text, size, &narrow);
	demand(other == wide || other == AIRLOCK_ERR_LIMIT); /* limits turn no document into a valid one */
	return 0;
}
