/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows what the TOML reader made of a document, for comparison with other readers.
 *
 *   toml_dump FILE     prints the document as JSON in the encoding of toml-test; on failure the error, exit status 1
 *   toml_dump --batch  for each "LENGTH\n" and LENGTH bytes on stdin prints one line: "ok JSON", "bad MESSAGE" for a
 *                      document that is not TOML, "limit MESSAGE" for one that is too large or too deep
 *
 * Scalars become {"type": …, "value": "text"}. Floats have the 17 digits that determine them.
 */
#include "config/toml.h"
#include "base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_string(struct buf *out, const char *s, size_t len)
{
	buf_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", (unsigned)c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, '"');
}

static void add_tagged(struct buf *out, const char *type, const char *s, size_t len)
{
	buf_printf(out, "{\"type\":\"%s\",\"value\":", type);
	add_string(out, s, len);
	buf_addc(out, '}');
}

static void add_float(struct buf *out, double d)
{
	char text[64];
	if (isnan(d))
		(void)snprintf(text, sizeof text, "nan");
	else
		(void)snprintf(text, sizeof text, "%.17g", d);
	add_tagged(out, "float", text, strlen(text));
}

static const char *datetime_kind(const char *s, size_t len)
{
	if (s[2] == ':')
		return "time-local";
	if (len == strlen("1979-05-27"))
		return "date-local";
	const char *time = s + strlen("1979-05-27T");
	return strpbrk(time, "Zz+-") ? "datetime" : "datetime-local";
}

static void add_value(struct buf *out, const struct toml_value *v);

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

static void add_value(struct buf *out, const struct toml_value *v)
{
	char number[32];
	switch (v->type) {
	case TOML_STRING:
		add_tagged(out, "string", v->u.string.s, v->u.string.len);
		break;
	case TOML_INTEGER:
		(void)snprintf(number, sizeof number, "%" PRId64, v->u.integer);
		add_tagged(out, "integer", number, strlen(number));
		break;
	case TOML_FLOAT:
		add_float(out, v->u.real);
		break;
	case TOML_BOOLEAN:
		add_tagged(out, "bool", v->u.boolean ? "true" : "false", v->u.boolean ? 4 : 5);
		break;
	case TOML_DATETIME:
		add_tagged(out, datetime_kind(v->u.string.s, v->u.string.len), v->u.string.s, v->u.string.len);
		break;
	case TOML_ARRAY:
		add_array(out, v);
		break;
	case TOML_TABLE:
		add_table(out, v);
		break;
	}
}

/* Appends the JSON or the error's message; returns 0 or the error's code. */
static int dump(struct buf *out, const char *text, size_t len, const char *name)
{
	struct airlock_error err = {0};
	struct toml_doc *doc = NULL;
	int rc = toml_parse(text, len, name, NULL, &doc, &err);
	if (rc < 0)
		buf_adds(out, err.message);
	else
		add_value(out, toml_root(doc));
	toml_free(doc);
	return out->failed ? AIRLOCK_ERR_INTERNAL : rc;
}

static int read_all(FILE *f, struct buf *out)
{
	char block[4096];
	for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
		buf_add(out, block, n);
	return ferror(f) || out->failed ? -1 : 0;
}

static int dump_file(const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT, out = BUF_INIT;
	FILE *f = fopen(path, "rbe");
	if (!f || read_all(f, &text) < 0) {
		fprintf(stderr, "toml_dump: cannot read %s\n", path);
		return 2;
	}
	(void)fclose(f);
	int rc = dump(&out, buf_str(&text), text.len, path);
	fprintf(rc < 0 ? stderr : stdout, "%s\n", buf_str(&out));
	return rc < 0 ? 1 : 0;
}

static int dump_next(size_t len)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *text = malloc(len ? len : 1); /* exactly as large, so that ASan sees a byte too many */
	if (!text || fread(text, 1, len, stdin) != len)
		return -1;
	int rc = dump(&out, text, len, "doc");
	if (rc < 0 && rc != AIRLOCK_ERR_INVALID && rc != AIRLOCK_ERR_LIMIT)
		return -1;
	printf("%s %s\n", rc == 0 ? "ok" : rc == AIRLOCK_ERR_LIMIT ? "limit" : "bad", buf_str(&out));
	return 0;
}

static int dump_batch(void)
{
	char line[32];
	while (fgets(line, sizeof line, stdin))
		if (dump_next(strtoul(line, NULL, 10)) < 0)
			return 2;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: toml_dump FILE | --batch\n");
		return 2;
	}
	return strcmp(argv[1], "--batch") == 0 ? dump_batch() : dump_file(argv[1]);
}
