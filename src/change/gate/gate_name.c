/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/gate/gate_name.h"

#include "base/glob.h"
#include "base/text.h"
#include "change/gate/sensitive.h"

#include <string.h>

static bool is_ignorable(uint32_t c)
{
	for (const struct sensitive_range *r = sensitive_ignorable; r->last; r++)
		if (c >= r->first && c <= r->last)
			return true;
	return false;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* A character beyond ASCII: left out, as the letter it folds to, or as it is. */
static void fold_wide(const char *s, size_t len, struct buf *out)
{
	uint32_t c = text_utf8_decode((const unsigned char *)s, len);
	if (c == 0x17f || c == 0x212a) /* long s and the Kelvin sign: the only two that fold into ASCII */
		buf_addc(out, c == 0x17f ? 's' : 'k');
	else if (!is_ignorable(c))
		buf_add(out, s, len);
}

static void fold_characters(const char *s, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n;) {
		size_t len = text_utf8_length((const unsigned char *)s + i, n - i);
		if (len > 1)
			fold_wide(s + i, len, out);
		else
			buf_addc(out, lower(s[i]));
		i += len ? len : 1;
	}
}

/* Where NTFS would end this name; never at its first byte, a name does not become empty. */
static size_t ntfs_length(const char *s, size_t n)
{
	const char *colon = n > 1 ? memchr(s + 1, ':', n - 1) : NULL;
	if (colon)
		n = (size_t)(colon - s);
	while (n > 1 && (s[n - 1] == '.' || s[n - 1] == ' '))
		n--;
	return n;
}

static void fold_component(const char *s, size_t n, struct buf *out)
{
	size_t start = out->len;
	fold_characters(s, n, out);
	if (out->failed || out->len == start) {
		buf_add(out, s, n);
		return;
	}
	out->len = start + ntfs_length(out->data + start, out->len - start);
	out->data[out->len] = '\0';
	if (strcmp(out->data + start, "git~1") == 0) {
		out->len = start;
		buf_adds(out, ".git");
	}
}

void gate_fold(const char *path, struct buf *out)
{
	for (;;) {
		size_t n = strcspn(path, "/");
		if (n > 0)
			fold_component(path, n, out);
		path += n;
		if (*path == '\0')
			return;
		buf_addc(out, '/');
		path++;
	}
}

enum gate_match gate_name_match(const char *pattern, const char *folded)
{
	for (;;) {
		size_t pn = strcspn(pattern, "/"), sn = strcspn(folded, "/");
		if (strcmp(pattern, "**") == 0)
			return GATE_MATCH;
		if (!glob_matches_n(pattern, pn, folded, sn, GLOB_ANY_CASE))
			return GATE_NO;
		if (folded[sn] == '\0')
			return pattern[pn] ? GATE_ON_THE_WAY : GATE_MATCH;
		if (pattern[pn] == '\0')
			return GATE_NO;
		pattern += pn + 1;
		folded += sn + 1;
	}
}

static bool matches(const char *pattern, bool anchored, const char *path, int flags)
{
	const char *name = strrchr(path, '/');
	if (anchored)
		return glob_matches(pattern, path, flags | GLOB_PATH);
	return glob_matches(pattern, name ? name + 1 : path, flags);
}

/* The same for a directory above path. */
static bool matches_above(const char *pattern, bool anchored, const char *path, int flags)
{
	_cleanup_free_ char *dir = strdup(path);
	for (char *slash; dir && (slash = strrchr(dir, '/'));) {
		*slash = '\0';
		if (matches(pattern, anchored, dir, flags))
			return true;
	}
	return false;
}

/* Cuts off what says that everything in a directory is meant, "/" or "/" and two stars. */
static bool cut_below(char *pattern)
{
	size_t n = strlen(pattern),
	       cut = n > 3 && strcmp(pattern + n - 3, "/**") == 0 ? 3 : n > 1 && pattern[n - 1] == '/';
	pattern[n - cut] = '\0';
	return cut > 0;
}

static bool pattern_matches(const char *text, const char *path, int flags, bool covers)
{
	while (strncmp(text, "./", 2) == 0)
		text += 2;
	_cleanup_free_ char *copy = strdup(text);
	if (!copy)
		return covers; /* out of memory: rather hold */
	bool anchored = *text && memchr(text, '/', strlen(text) - 1);
	bool below = cut_below(copy);
	const char *pattern = copy[0] == '/' ? copy + 1 : copy;
	if (!below && matches(pattern, anchored, path, flags))
		return true;
	return (below || covers) && matches_above(pattern, anchored, path, flags);
}

bool gate_pattern_match(const char *pattern, const char *path, int flags)
{
	return pattern_matches(pattern, path, flags, false);
}

bool gate_pattern_covers(const char *pattern, const char *path, int flags)
{
	return pattern_matches(pattern, path, flags, true);
}

bool gate_first_is(const char *path, const char *word)
{
	size_t n = strlen(word);
	return strncmp(path, word, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *gate_rest(const char *path)
{
	const char *slash = strchr(path, '/');
	return slash ? slash + 1 : NULL;
}
