/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "files/pattern.h"

#include <string.h>

#define MAX_FORMS 1024
#define MAX_LENGTH 4096
/* A hostile pattern may ask for exponential work; past this it simply does not match. */
#define MAX_STEPS 1000000

/* ── Braces ── */

/* The end of the brace expression that starts at s[0] == '{', or NULL. */
static const char *closing_brace(const char *s)
{
	int depth = 0;
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '{')
			depth++;
		else if (*s == '}' && --depth == 0)
			return s;
	}
	return NULL;
}

static const char *first_brace(const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '{')
			return s;
	}
	return NULL;
}

/* The end of the alternative that starts at s, before end. */
static const char *alternative_end(const char *s, const char *end)
{
	int depth = 0;
	for (; s < end; s++) {
		if (*s == '\\' && s + 1 < end)
			s++;
		else if (*s == '{')
			depth++;
		else if (*s == '}')
			depth--;
		else if (*s == ',' && depth == 0)
			return s;
	}
	return end;
}

static int expand_one(struct strs *out, const char *text)
{
	if (out->n >= MAX_FORMS)
		return -E2BIG;
	strs_add(out, text);
	return out->failed ? -ENOMEM : 0;
}

/* The first brace of every text in turn, until none has any. */
static int expand(struct strs *out, const char *text)
{
	_cleanup_strs_ struct strs todo = STRS_INIT;
	int rc = expand_one(&todo, text);
	while (rc == 0 && todo.n > 0) {
		_cleanup_free_ char *now = strdup(todo.v[todo.n - 1]);
		strs_remove_at(&todo, todo.n - 1);
		if (!now)
			return -ENOMEM;
		const char *open = first_brace(now), *close = open ? closing_brace(open) : NULL;
		if (!open) {
			rc = expand_one(out, now);
			continue;
		}
		if (!close)
			return -EINVAL;
		for (const char *a = open + 1; rc == 0 && a <= close;) {
			const char *end = alternative_end(a, close);
			if (todo.n >= MAX_FORMS)
				return -E2BIG;
			strs_addf(&todo, "%.*s%.*s%s", (int)(open - now), now, (int)(end - a), a, close + 1);
			rc = todo.failed ? -ENOMEM : 0;
			a = end + 1;
		}
	}
	return rc;
}

int files_pattern_parse(struct files_pattern *p, const char *text)
{
	*p = (struct files_pattern){0};
	p->base_only = !strchr(text, '/');
	while (*text == '/' || (text[0] == '.' && text[1] == '/'))
		text++;
	size_t len = strlen(text);
	_cleanup_free_ char *trimmed = strdup(text);
	if (!trimmed)
		return -ENOMEM;
	for (; len > 0 && trimmed[len - 1] == '/'; len--)
		p->only_directories = true;
	trimmed[len] = '\0';
	if (len == 0)
		return -EINVAL;
	return len > MAX_LENGTH ? -E2BIG : expand(&p->forms, trimmed);
}

void files_pattern_done(struct files_pattern *p)
{
	strs_done(&p->forms);
}

/* ── Matching ── */

/* The class that starts at p[0] == '[': its end, or NULL when it does not close and '[' means itself. */
static const char *match_class(const char *p, unsigned char c, bool *ret)
{
	const char *s = p + 1;
	bool negated = *s == '!' || *s == '^', found = false;
	s += negated;
	const char *first = s;
	for (; *s && (*s != ']' || s == first); s++) {
		unsigned char low = (unsigned char)*s, high = low;
		if (s[1] == '-' && s[2] && s[2] != ']') {
			high = (unsigned char)s[2];
			s += 2;
		}
		found |= c >= low && c <= high;
	}
	if (*s != ']')
		return NULL;
	*ret = found != negated;
	return s + 1;
}

struct matcher {
	unsigned steps;
};

static bool is_double_star(const char *p, const char *start)
{
	return p[0] == '*' && p[1] == '*' && (p == start || p[-1] == '/') && (p[2] == '/' || p[2] == '\0');
}

static bool match(struct matcher *m, const char *p, const char *start, const char *s);

/* "**": any number of whole components, none too. */
static bool match_directories(struct matcher *m, const char *p, const char *start, const char *s)
{
	if (p[2] == '\0')
		return true;
	for (;;) {
		if (match(m, p + 3, start, s))
			return true;
		s = strchr(s, '/');
		if (!s)
			return false;
		s++;
	}
}

static bool match_star(struct matcher *m, const char *p, const char *start, const char *s)
{
	while (*p == '*')
		p++;
	for (;; s++) {
		if (match(m, p, start, s))
			return true;
		if (*s == '\0' || *s == '/')
			return false;
	}
}

/* One character that is no star: where the pattern goes on, or NULL. */
static const char *match_one(const char *p, unsigned char c)
{
	bool matched = false;
	const char *after = *p == '[' && c != '/' ? match_class(p, c, &matched) : NULL;
	if (after)
		return matched ? after : NULL;
	if (*p == '?')
		return c != '/' ? p + 1 : NULL;
	if (*p == '\\' && p[1])
		p++;
	return (unsigned char)*p == c ? p + 1 : NULL;
}

static bool match(struct matcher *m, const char *p, const char *start, const char *s)
{
	while (*p) {
		if (m->steps-- == 0) {
			m->steps = 0;
			return false;
		}
		if (is_double_star(p, start))
			return match_directories(m, p, start, s);
		if (*p == '*')
			return match_star(m, p, start, s);
		if (*s == '\0' || !(p = match_one(p, (unsigned char)*s)))
			return false;
		s++;
	}
	return *s == '\0';
}

bool files_pattern_matches(const struct files_pattern *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *subject = p->base_only && slash ? slash + 1 : path;
	struct matcher m = {MAX_STEPS};
	for (size_t i = 0; i < p->forms.n; i++)
		if (match(&m, p->forms.v[i], p->forms.v[i], subject))
			return true;
	return false;
}
