/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/glob.h"

#include "base/macros.h"

#include <ctype.h>
#include <string.h>

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

static bool in_range(unsigned char c, unsigned char low, unsigned char high, int flags)
{
	if (c >= low && c <= high)
		return true;
	unsigned char upper = c >= 'a' && c <= 'z' ? (unsigned char)(c - ('a' - 'A')) : c;
	return flags & GLOB_ANY_CASE && ((lower(c) >= low && lower(c) <= high) || (upper >= low && upper <= high));
}

/* "[:alpha:]" at p: true if there is one; *ret_found if it holds c, *ret_last is its last byte. */
static bool match_named(const char *p, const char *end, unsigned char c, bool *ret_found, const char **ret_last)
{
	static const struct {
		const char *name;
		int (*holds)(int c);
	} names[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
		     {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
		     {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};
	for (size_t i = 0; i < AL_ARRAY_LEN(names) && end - p > 2 && p[1] == ':'; i++) {
		size_t n = strlen(names[i].name);
		if ((size_t)(end - p) < n + 4 || memcmp(p + 2, names[i].name, n) != 0 ||
		    memcmp(p + 2 + n, ":]", 2) != 0)
			continue;
		*ret_found = names[i].holds(c) != 0;
		*ret_last = p + n + 3;
		return true;
	}
	return false;
}

/* The class that begins after '[': true if it holds c. *ret_end is after its ']', NULL when it has none. */
static bool in_class(const char *p, const char *end, unsigned char c, int flags, const char **ret_end)
{
	bool negated = p < end && (*p == '!' || *p == '^'), found = false, named;
	p += negated;
	*ret_end = NULL;
	for (const char *first = p; p < end && (*p != ']' || p == first); p++) {
		if (*p == '[' && match_named(p, end, c, &named, &p)) {
			found |= named;
			continue;
		}
		if (*p == '\\' && p + 1 < end)
			p++;
		unsigned char low = (unsigned char)*p, high = low;
		if (end - p > 2 && p[1] == '-' && p[2] != ']') {
			p += 2;
			if (*p == '\\' && p + 1 < end)
				p++;
			high = (unsigned char)*p;
		}
		found |= in_range(c, low, high, flags);
	}
	if (p < end)
		*ret_end = p + 1;
	return found != negated;
}

/* One pattern character other than '*' against one of the text; NULL: no match, else the rest of the pattern. */
static const char *match_one(const char *p, const char *end, unsigned char c, int flags)
{
	const char *after;
	bool separator = c == '/' && flags & GLOB_PATH;
	if (*p == '?')
		return separator ? NULL : p + 1;
	if (*p == '[') {
		bool in = in_class(p + 1, end, c, flags, &after);
		if (after)
			return in && !separator ? after : NULL;
	}
	if (*p == '\\' && p + 1 < end)
		p++;
	unsigned char own = (unsigned char)*p;
	return own == c || (flags & GLOB_ANY_CASE && lower(own) == lower(c)) ? p + 1 : NULL;
}

static bool is_deep(const char *p, const char *start, const char *end, int flags)
{
	return flags & GLOB_DEEP && end - p >= 2 && p[0] == '*' && p[1] == '*' && (p == start || p[-1] == '/') &&
	       (p + 2 == end || p[2] == '/');
}

/* Two places to come back to are enough: the last '*' (which stays within its component if the text is a path), and the
 * last pair of stars across components. What an earlier one could take instead, the later one takes as well. */
struct retry {
	const char *pattern, *text;
};

bool glob_matches_n(const char *p, size_t pattern_len, const char *t, size_t text_len, int flags)
{
	struct retry one = {0}, deep = {0};
	const char *start = p, *p_end = p + pattern_len, *t_end = t + text_len;
	for (;;) {
		if (is_deep(p, start, p_end, flags)) {
			if (p + 2 == p_end)
				return t < t_end;
			p += 3;
			deep = (struct retry){p, t};
			one.pattern = NULL;
			continue;
		}
		if (p < p_end && *p == '*') {
			while (p < p_end && *p == '*')
				p++;
			one = (struct retry){p, t};
			continue;
		}
		if (p == p_end && t == t_end)
			return true;
		const char *next = p < p_end && t < t_end ? match_one(p, p_end, (unsigned char)*t, flags) : NULL;
		if (next) {
			p = next;
			t++;
			continue;
		}
		if (one.pattern && one.text < t_end && !(flags & GLOB_PATH && *one.text == '/')) {
			t = ++one.text;
			p = one.pattern;
			continue;
		}
		const char *slash = deep.pattern ? memchr(deep.text, '/', (size_t)(t_end - deep.text)) : NULL;
		if (!slash)
			return false;
		deep.text = t = slash + 1;
		p = deep.pattern;
		one.pattern = NULL;
	}
}

bool glob_matches(const char *pattern, const char *text, int flags)
{
	return glob_matches_n(pattern, strlen(pattern), text, strlen(text), flags);
}
