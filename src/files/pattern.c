/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "files/pattern.h"

#include "base/glob.h"

#include <string.h>

#define MAX_FORMS 1024
#define MAX_LENGTH 4096

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

/* Expands the first brace of every text in turn, until none is left. */
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

bool files_pattern_matches(const struct files_pattern *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *subject = p->base_only && slash ? slash + 1 : path;
	for (size_t i = 0; i < p->forms.n; i++)
		if (glob_matches(p->forms.v[i], subject, GLOB_PATH | GLOB_DEEP))
			return true;
	return false;
}
