/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock_text_toml: files of programs on top of the library that are TOML as ours are. */
#include "airlock/airlock.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "config/toml.h"

#include <math.h>

static void add_value(struct buf *out, const struct toml_value *v);

static void add_string(struct buf *out, const char *s, size_t len)
{
	struct json j = json_begin(out, false);
	json_stringn(&j, NULL, s, len);
}

static void add_array(struct buf *out, const struct toml_value *v)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < v->u.array.n; i++) {
		buf_adds(out, i > 0 ? "," : "");
		add_value(out, v->u.array.items[i]);
	}
	buf_addc(out, ']');
}

static void add_table(struct buf *out, const struct toml_value *v)
{
	buf_addc(out, '{');
	for (size_t i = 0; i < v->u.table.n; i++) {
		const struct toml_entry *e = &v->u.table.entries[i];
		buf_adds(out, i > 0 ? "," : "");
		add_string(out, e->key, e->key_len);
		buf_addc(out, ':');
		add_value(out, e->value);
	}
	buf_addc(out, '}');
}

/* Recursion ends with the reader's own limit of depth. */
static void add_value(struct buf *out, const struct toml_value *v)
{
	switch (v->type) {
	case TOML_STRING:
	case TOML_DATETIME:
		add_string(out, v->u.string.s, v->u.string.len);
		break;
	case TOML_INTEGER:
		buf_printf(out, "%lld", (long long)v->u.integer);
		break;
	case TOML_FLOAT: /* JSON has no infinity and no NaN */
		if (isfinite(v->u.real))
			buf_printf(out, "%.17g", v->u.real);
		else
			buf_adds(out, "null");
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
	}
}

int airlock_text_toml(const char *text, size_t len, const char *name, char **ret_json, struct airlock_error *err)
{
	struct toml_doc *doc = NULL;
	struct buf out = BUF_INIT;
	int rc = toml_parse(text, len, name, NULL, &doc, err);
	if (rc < 0)
		return rc;
	add_value(&out, toml_root(doc));
	toml_free(doc);
	*ret_json = buf_take(&out);
	return *ret_json ? 0 : base_oom(err);
}
