/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* glob and grep.
 *
 * grep reads a file through a window and searches it by whole lines; a line longer than the window is searched in
 * pieces and reported once, with its beginning. */
#include "files/files.h"

#include "files/pattern.h"
#include "files/tree.h"

#include <string.h>

#define GLOB_MAX 10000
#define GREP_MAX 1000
#define WINDOW (1024 * 1024) /* lines longer than this are searched in pieces */
#define TEXT_MAX 2000	     /* how much of a line a match shows */
#define NEEDLE_MAX 65536
#define BINARY_HEAD 8192

/* What a search starts with. */
struct search {
	const struct files_place *place;
	struct files_pattern pattern;
	bool any; /* no pattern: everything */
	struct files_tree tree;
	struct airlock_files *result;
	int64_t max;
	struct airlock_error *err;
};

static void search_done(struct search *s)
{
	files_pattern_done(&s->pattern);
	files_tree_done(&s->tree);
	airlock_files_free(s->result);
}

static int parse_pattern(struct search *s, const char *text)
{
	s->any = !text;
	int rc = text ? files_pattern_parse(&s->pattern, text) : 0;
	if (rc == -ENOMEM)
		return base_oom(s->err);
	if (rc == -E2BIG)
		return base_error(s->err, AIRLOCK_ERR_LIMIT, "glob", text, "the pattern is too large");
	if (rc < 0)
		return base_error(s->err, AIRLOCK_ERR_INVALID, "glob", text,
				  *text ? "the pattern %s has an unclosed brace" : "the pattern is empty%s", text);
	return 0;
}

static int search_start(struct search *s, enum files_kind kind, const char *pattern, const char *path)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	path = path ? path : "";
	_cleanup_free_ char *shown = files_place_shown(s->place, path);
	s->tree = (struct files_tree)FILES_TREE_INIT;
	s->result = files_result_new(kind);
	if (!s->result || !shown)
		return base_oom(s->err);
	int rc = parse_pattern(s, pattern);
	if (rc == 0)
		rc = files_find(s->place, path, 0, &at, s->err);
	return rc < 0 ? rc : files_tree_start(&s->tree, s->place, &at, shown, s->err);
}

static bool is_wanted(const struct search *s)
{
	if (!s->any && s->pattern.only_directories && !S_ISDIR(s->tree.now.st.st_mode))
		return false;
	return s->any || files_pattern_matches(&s->pattern, s->tree.now.relative);
}

/* ── glob ── */

static int collect(struct search *s)
{
	int rc;
	while ((rc = files_tree_next(&s->tree, s->err)) > 0) {
		if (!is_wanted(s))
			continue;
		if (s->result->n == (size_t)s->max) {
			s->result->truncated = true;
			return 0;
		}
		const struct stat *st = &s->tree.now.st;
		files_result_add_entry(s->result, strdup(s->tree.path), st, S_ISDIR(st->st_mode));
		if (s->result->failed)
			return base_oom(s->err);
	}
	return rc;
}

int files_glob(const struct files_place *p, const char *pattern, const char *path, int64_t max,
	       struct airlock_files **ret, struct airlock_error *err)
{
	struct search s = {.place = p, .max = max > 0 ? max : GLOB_MAX, .err = err};
	int rc = search_start(&s, FILES_ENTRIES, pattern, path);
	if (rc == 0)
		rc = collect(&s);
	if (rc == 0)
		*ret = TAKE_PTR(s.result);
	search_done(&s);
	return rc;
}

/* ── grep ── */

struct grep {
	struct search *s;
	const char *needle;
	size_t needle_len;
	char *window;
	size_t len;	   /* bytes in the window */
	int64_t line;	   /* number of the line at the window's start */
	bool long_line;	   /* the window starts within a line */
	bool line_matched; /* and that line was reported already */
	char head[TEXT_MAX + 1];
	size_t head_len; /* the beginning of that line */
};

static int64_t count_lines(const char *from, const char *to)
{
	int64_t n = 0;
	while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
		n++;
		from++;
	}
	return n;
}

/* 1: enough. */
static int report(struct grep *g, int64_t line, const char *text, size_t len, bool more)
{
	struct search *s = g->s;
	if (s->result->n == (size_t)s->max) {
		s->result->truncated = true;
		return 1;
	}
	size_t shown = AL_MIN(len, (size_t)TEXT_MAX);
	if (shown == len && !more && shown > 0 && text[shown - 1] == '\r')
		shown--;
	files_result_add_match(s->result, s->tree.path, line, text, shown, len > TEXT_MAX || more);
	return s->result->failed ? base_oom(s->err) : 0;
}

/* Whole lines: from the window's start to end. */
static int search_lines(struct grep *g, const char *start, const char *end)
{
	const char *at = start;
	int64_t line = g->line;
	int rc = 0;
	while (rc == 0 && at < end) {
		const char *hit = memmem(at, (size_t)(end - at), g->needle, g->needle_len);
		if (!hit)
			break;
		line += count_lines(at, hit);
		const char *begin = memrchr(start, '\n', (size_t)(hit - start));
		begin = begin ? begin + 1 : start;
		const char *stop = memchr(hit, '\n', (size_t)(end - hit));
		rc = report(g, line, begin, (size_t)((stop ? stop : end) - begin), false);
		at = stop ? stop + 1 : end;
		line += stop != NULL;
	}
	g->line = line + count_lines(at, end);
	return rc;
}

/* A piece of a line longer than the window: reported once, with its beginning. */
static int search_piece(struct grep *g, const char *data, size_t len, bool ends)
{
	if (!g->long_line) {
		g->long_line = true;
		g->line_matched = false;
		g->head_len = AL_MIN(len, (size_t)TEXT_MAX);
		memcpy(g->head, data, g->head_len);
	}
	int rc = 0;
	if (!g->line_matched && memmem(data, len, g->needle, g->needle_len)) {
		g->line_matched = true;
		rc = report(g, g->line, g->head, g->head_len, true);
	}
	if (ends) {
		g->long_line = false;
		g->line++;
	}
	return rc;
}

static void drop(struct grep *g, size_t n)
{
	memmove(g->window, g->window + n, g->len - n);
	g->len -= n;
}

/* Searches the window up to its last line end, or all of it if it has none or the file has ended. */
static int search_window(struct grep *g, bool over)
{
	int rc = 0;
	if (g->long_line) {
		const char *end = memchr(g->window, '\n', g->len);
		size_t n = end ? (size_t)(end - g->window) + 1 : g->len;
		rc = search_piece(g, g->window, n, end != NULL);
		/* The text may span the border. */
		drop(g, end || over ? n : n - AL_MIN(n, g->needle_len - 1));
		if (rc != 0 || !end)
			return rc;
	}
	const char *last = g->len ? memrchr(g->window, '\n', g->len) : NULL;
	size_t n = over ? g->len : last ? (size_t)(last - g->window) + 1 : 0;
	if (n > 0) {
		rc = search_lines(g, g->window, g->window + n);
		drop(g, n);
	} else if (g->len == WINDOW) {
		rc = search_piece(g, g->window, g->len, false);
		drop(g, g->len - (g->needle_len - 1));
	}
	return rc;
}

static bool is_binary(const struct grep *g)
{
	return memchr(g->window, '\0', AL_MIN(g->len, (size_t)BINARY_HEAD)) != NULL;
}

/* Skips files that cannot be read or have vanished. 1: enough. */
static int search_file(struct grep *g)
{
	_cleanup_close_ int fd = files_tree_open(&g->s->tree);
	bool first = true;
	if (fd < 0)
		return fd == -ENOMEM ? base_oom(g->s->err) : 0;
	g->len = 0;
	g->line = 1;
	g->long_line = false;
	for (;;) {
		ssize_t n = read(fd, g->window + g->len, WINDOW - g->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		g->len += (size_t)n;
		if (first && is_binary(g))
			return 0;
		first = false;
		int rc = n == 0 || g->len == WINDOW ? search_window(g, n == 0) : 0;
		if (rc != 0 || n == 0)
			return rc;
	}
}

static int search_all(struct grep *g)
{
	int rc = 0;
	while (rc == 0 && (rc = files_tree_next(&g->s->tree, g->s->err)) > 0)
		rc = S_ISREG(g->s->tree.now.st.st_mode) && is_wanted(g->s) ? search_file(g) : 0;
	return rc < 0 ? rc : 0;
}

static int check_needle(const char *text, struct airlock_error *err)
{
	if (!*text)
		return base_error(err, AIRLOCK_ERR_INVALID, "grep", "", "the search text is empty");
	if (strchr(text, '\n'))
		return base_error(err, AIRLOCK_ERR_INVALID, "grep", text,
				  "the search text contains a line break; lines are searched one by one");
	if (strlen(text) > NEEDLE_MAX)
		return base_error(err, AIRLOCK_ERR_LIMIT, "grep", "", "the search text is longer than %d bytes",
				  NEEDLE_MAX);
	return 0;
}

int files_grep(const struct files_place *p, const char *text, const char *path, const char *glob, int64_t max,
	       struct airlock_files **ret, struct airlock_error *err)
{
	struct search s = {.place = p, .max = max > 0 ? max : GREP_MAX, .err = err};
	_cleanup_free_ struct grep *g = calloc(1, sizeof *g);
	_cleanup_free_ char *window = malloc(WINDOW);
	if (!g || !window)
		return base_oom(err);
	*g = (struct grep){.s = &s, .needle = text, .needle_len = strlen(text), .window = window};
	int rc = check_needle(text, err);
	if (rc < 0)
		return rc;
	rc = search_start(&s, FILES_MATCHES, glob, path);
	if (rc == 0)
		rc = search_all(g);
	if (rc == 0)
		*ret = TAKE_PTR(s.result);
	search_done(&s);
	return rc;
}
