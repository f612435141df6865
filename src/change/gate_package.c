/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* package.json: just enough of a JSON reader to see the members that are commands. It is stricter than JavaScript's:
 * what this one refuses is held, so that no reader sees a script that was hidden from us. */
#include "change/gate.h"

#include <string.h>

#define NOT_UNDERSTOOD "not a JSON object without repeated members, so its scripts cannot be judged"
#define MAX_DEPTH 200

struct reader {
	const char *at, *end;
	int depth;
};

struct commands {
	struct strs keys;    /* "member", TAB, "name" */
	struct strs records; /* the same, TAB, and the value as it is written */
};

static void commands_done(struct commands *c)
{
	strs_done(&c->keys);
	strs_done(&c->records);
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* \uXXXX; beyond ASCII the exact letter does not matter, only that it is none of ours. */
static bool read_unicode(struct reader *r, struct buf *out)
{
	int value = 0;
	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*r->at++);
		if (digit < 0)
			return false;
		value = value * 16 + digit;
	}
	buf_addc(out, value > 0 && value < 0x80 ? (char)value : '\x80');
	return true;
}

static bool read_escape(struct reader *r, struct buf *out)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	if (r->at == r->end)
		return false;
	char c = *r->at++;
	if (c == 'u')
		return read_unicode(r, out);
	const char *found = c ? strchr(names, c) : NULL;
	if (found)
		buf_addc(out, meanings[found - names]);
	return found != NULL;
}

static bool read_string(struct reader *r, struct buf *out)
{
	if (!take(r, '"'))
		return false;
	while (r->at < r->end) {
		char c = *r->at++;
		if (c == '"')
			return true;
		if ((unsigned char)c < 0x20)
			return false;
		if (c != '\\')
			buf_addc(out, c);
		else if (!read_escape(r, out))
			return false;
	}
	return false;
}

/* The shape of a number is not ours to check; that it has no other characters is. */
static bool skip_number(struct reader *r)
{
	const char *start = r->at;
	while (r->at < r->end && *r->at && strchr("0123456789+-.eE", *r->at))
		r->at++;
	return r->at > start;
}

static bool skip_value(struct reader *r);

typedef bool (*member_reader)(struct reader *r, const char *name, void *context);

static bool read_members(struct reader *r, member_reader read, void *context)
{
	_cleanup_buf_ struct buf name = BUF_INIT;
	if (!take(r, '{'))
		return false;
	if (take(r, '}'))
		return true;
	do {
		buf_reset(&name);
		if (!read_string(r, &name) || !take(r, ':') || name.failed || !read(r, buf_str(&name), context))
			return false;
	} while (take(r, ','));
	return take(r, '}');
}

static bool skip_member(struct reader *r, const char *name, void *context)
{
	return skip_value(r);
}

static bool skip_array(struct reader *r)
{
	if (!take(r, '['))
		return false;
	if (take(r, ']'))
		return true;
	do {
		if (!skip_value(r))
			return false;
	} while (take(r, ','));
	return take(r, ']');
}

static bool skip_text(struct reader *r)
{
	_cleanup_buf_ struct buf ignored = BUF_INIT;
	return read_string(r, &ignored);
}

static bool skip_value(struct reader *r)
{
	skip_blanks(r);
	if (r->at == r->end || ++r->depth > MAX_DEPTH)
		return false;
	bool ok = *r->at == '{'	  ? read_members(r, skip_member, NULL)
		  : *r->at == '[' ? skip_array(r)
		  : *r->at == '"'
			  ? skip_text(r)
			  : take_word(r, "true") || take_word(r, "false") || take_word(r, "null") || skip_number(r);
	r->depth--;
	return ok;
}

/* ── The commands ── */

struct place {
	struct commands *commands;
	const char *member;
};

static bool add_command(struct reader *r, const char *name, void *context)
{
	const struct place *p = context;
	skip_blanks(r);
	const char *start = r->at;
	if (!skip_value(r))
		return false;
	strs_addf(&p->commands->keys, "%s\t%s", p->member, name);
	strs_addf(&p->commands->records, "%s\t%s\t%.*s", p->member, name, (int)(r->at - start), start);
	return true;
}

static bool is_in(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

static bool read_top_member(struct reader *r, const char *name, void *context)
{
	struct place p = {context, name};
	if (!is_in(sensitive_package_members, name))
		return skip_value(r);
	skip_blanks(r);
	if (r->at < r->end && *r->at == '{')
		return read_members(r, add_command, &p);
	return add_command(r, "", &p);
}

static bool has_repeated_key(const struct commands *c)
{
	_cleanup_strs_ struct strs sorted = STRS_INIT;
	strs_add_all(&sorted, &c->keys);
	strs_sort(&sorted);
	for (size_t i = 1; i < sorted.n; i++)
		if (strcmp(sorted.v[i - 1], sorted.v[i]) == 0)
			return true;
	return sorted.failed;
}

static bool read_commands(const struct buf *text, struct commands *ret)
{
	struct reader r = {.at = buf_str(text), .end = buf_str(text) + text->len};
	if (text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
		r.at += 3; /* npm passes over a byte order mark */
	if (!read_members(&r, read_top_member, ret))
		return false;
	skip_blanks(&r);
	return r.at == r.end && !ret->keys.failed && !ret->records.failed && !has_repeated_key(ret);
}

static int compare_records(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In a file that was there before, every script counts: people call them by names they know. In a new one, those that run
 * by themselves. before is sorted, NULL for a new file. */
static bool is_sensitive(const struct strs *before, const char *key, const char *record)
{
	if (before)
		return before->n == 0 || !bsearch(&record, before->v, before->n, sizeof(char *), compare_records);
	return strncmp(key, "scripts\t", 8) != 0 || is_in(sensitive_package_lifecycle, key + 8);
}

const char *gate_judge_package(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	_cleanup_(commands_done) struct commands old = {.keys = STRS_INIT}, new = {.keys = STRS_INIT};
	const char *reason = gate_read_both(g, c, &before, &after);
	if (reason)
		return reason;
	if (!read_commands(&after, &new))
		return NOT_UNDERSTOOD;
	if (!read_commands(&before, &old))
		commands_done(&old); /* then nothing of it worked, and every script is new */
	strs_sort(&old.records);
	bool is_new = gate_type_before(g, c->root, c->path) == CHANGE_NOTHING;
	for (size_t i = 0; i < new.keys.n; i++)
		if (is_sensitive(is_new ? NULL : &old.records, new.keys.v[i], new.records.v[i]))
			return rule->reason;
	return NULL;
}
