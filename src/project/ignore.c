/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "project/ignore.h"

#include "base/array.h"
#include "base/glob.h"
#include "fs/beneath.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (1 << 20)

/* ── Files ── */

static void push(struct ignore *ig, const struct ignore_rule *rule)
{
	if (!ARRAY_ROOM(ig->v, ig->n, ig->cap, 16)) {
		ig->failed = true;
		free(rule->pattern);
		return;
	}
	ig->v[ig->n++] = *rule;
}

/* Trailing blanks count only after a backslash. */
static size_t trimmed(const char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	while (len > 0 && line[len - 1] == ' ' && !(len > 1 && line[len - 2] == '\\'))
		len--;
	return len;
}

static void add_line(struct ignore *ig, size_t dir_len, const char *line, size_t len)
{
	struct ignore_rule rule = {.dir_len = dir_len};
	len = trimmed(line, len);
	if (len == 0 || *line == '#')
		return;
	rule.negated = *line == '!';
	line += rule.negated;
	len -= rule.negated;
	if (len > 0 && line[len - 1] == '/') {
		rule.only_dirs = true;
		len--;
	}
	rule.anchored = memchr(line, '/', len) != NULL;
	if (len > 0 && *line == '/') {
		line++;
		len--;
	}
	if (len == 0)
		return;
	rule.pattern = strndup(line, len);
	ig->failed |= !rule.pattern;
	if (rule.pattern)
		push(ig, &rule);
}

void ignore_add(struct ignore *ig, const char *path, const char *text, size_t len)
{
	size_t dir_len = *path ? strlen(path) + 1 : 0;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		add_line(ig, dir_len, text + at, n);
		at += n + 1;
	}
}

static void add_file(struct ignore *ig, int dir_fd, const char *name, const char *path)
{
	_cleanup_close_ int fd = fs_open_beneath(dir_fd, name, O_RDONLY | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > FILE_MAX)
		return;
	_cleanup_free_ char *text = malloc((size_t)st.st_size);
	ssize_t n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n > 0)
		ignore_add(ig, path, text, (size_t)n);
}

void ignore_enter(struct ignore *ig, int dir_fd, const char *path)
{
	if (!ARRAY_ROOM(ig->levels, ig->depth, ig->levels_cap, 16)) {
		ig->failed = true;
		return;
	}
	ig->levels[ig->depth++] = ig->n;
	if (ig->depth == 1) /* the weakest: every .gitignore overrides it */
		add_file(ig, dir_fd, ".git/info/exclude", path);
	add_file(ig, dir_fd, ".gitignore", path);
}

void ignore_leave(struct ignore *ig)
{
	if (ig->depth == 0)
		return;
	for (size_t first = ig->levels[--ig->depth]; ig->n > first;)
		free(ig->v[--ig->n].pattern);
}

void ignore_done(struct ignore *ig)
{
	while (ig->n > 0)
		free(ig->v[--ig->n].pattern);
	free(ig->v);
	free(ig->levels);
	*ig = (struct ignore)IGNORE_INIT;
}

/* The last rule that matches decides. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_dir)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = ig->n; i > 0; i--) {
		const struct ignore_rule *r = &ig->v[i - 1];
		if (r->only_dirs && !is_dir)
			continue;
		if (glob_matches(r->pattern, r->anchored ? path + r->dir_len : name, GLOB_PATH | GLOB_DEEP))
			return !r->negated;
	}
	return false;
}
