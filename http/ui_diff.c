/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The difference that one change makes, piece by piece, and both versions of its content. A diff is made when its first piece is asked
 * for, and kept for the next ones. */
#include "ui_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_LINES 2000
#define PIECE_BYTES ((size_t)512 << 10)
#define LINE_MAX_BYTES ((size_t)16 << 10) /* of a longer line the beginning is shown */
#define CONTENT_MAX ((off_t)32 << 20)
#define KEPT 4

struct kept_diff {
	char *key;
	char *text;
	size_t *starts; /* of the lines, and behind the last */
	size_t n;
};

struct ui_diffs {
	struct kept_diff v[KEPT];
	size_t next;
};

struct ui_diffs *ui_diffs_new(void)
{
	return calloc(1, sizeof(struct ui_diffs));
}

static void forget(struct kept_diff *d)
{
	free(d->key);
	airlock_free(d->text);
	free(d->starts);
	*d = (struct kept_diff){0};
}

void ui_diffs_free(struct ui_diffs *d)
{
	for (size_t i = 0; d && i < KEPT; i++)
		forget(&d->v[i]);
	free(d);
}

static bool find_lines(struct kept_diff *d)
{
	size_t len = strlen(d->text), n = 0;
	for (const char *at = d->text; *at; n++)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : d->text + len;
	d->starts = calloc(n + 1, sizeof *d->starts);
	if (!d->starts)
		return false;
	for (const char *at = d->text; *at;) {
		d->starts[d->n++] = (size_t)(at - d->text);
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : d->text + len;
	}
	d->starts[d->n] = len;
	return true;
}

/* The path is named by its bytes, or by root and base64. NULL: the reply was sent. */
static char *path_of(struct http_request *r)
{
	char *path = http_query(r, "path"), *root = http_query(r, "root"), *base64 = http_query(r, "base64");
	if (!path && root && base64)
		path = ui_path_of_base64(root, base64);
	free(root);
	free(base64);
	if (path && path[0] == '/')
		return path;
	free(path);
	http_reply_error(r, 400, "invalid", "expected a path");
	return NULL;
}

static const struct kept_diff *make_diff(struct http_request *r, struct ui_diffs *diffs, const struct ui_subject *of,
					 const char *path, char *key)
{
	struct airlock_error err = {0};
	const char *paths[] = {path, NULL};
	struct kept_diff *d = &diffs->v[diffs->next++ % KEPT];
	forget(d);
	d->key = key;
	if (airlock_changes_diff(of->settings, of->name, paths, 0, &d->text, &err) < 0)
		http_reply_failure(r, &err);
	else if (!find_lines(d))
		http_reply_error(r, 503, "internal", "out of memory");
	else
		return d;
	forget(d);
	return NULL;
}

static const struct kept_diff *find_diff(struct http_request *r, const struct ui_subject *of, const char *path,
					 bool is_first)
{
	struct ui *ui = http_data(r);
	char *project = http_query(r, "project"), *key = NULL;
	int len = asprintf(&key, "%s\n%s\n%s", of->name, project ? project : "", path);
	free(project);
	if (len < 0) {
		http_reply_error(r, 503, "internal", "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < KEPT; i++) {
		struct kept_diff *d = &ui->diffs->v[i];
		if (!d->key || strcmp(d->key, key) != 0)
			continue;
		if (is_first) {
			forget(d); /* it may be another by now */
			continue;
		}
		free(key);
		return d;
	}
	return make_diff(r, ui->diffs, of, path, key);
}

static bool put_line(FILE *out, const struct kept_diff *d, size_t i)
{
	const char *line = d->text + d->starts[i];
	size_t len = d->starts[i + 1] - d->starts[i];
	if (len > 0 && line[len - 1] == '\n')
		len--;
	char *text = airlock_text_json(line, len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES);
	if (text && len > LINE_MAX_BYTES) { /* behind the cut, inside of the quotes */
		text[strlen(text) - 1] = '\0';
		(void)fprintf(out, "%s … %zu bytes more\"", text, len - LINE_MAX_BYTES);
	} else if (text) {
		(void)fputs(text, out);
	}
	airlock_free(text);
	return text != NULL;
}

static void reply_piece(struct http_request *r, const struct kept_diff *d, size_t from)
{
	char *text = NULL;
	size_t size = 0, i = from;
	FILE *out = open_memstream(&text, &size);
	bool ok = out && fprintf(out, "{\"from\":%zu,\"total\":%zu,\"lines\":[", from, d->n) > 0;
	for (; ok && i < d->n && i < from + PIECE_LINES && d->starts[i] < d->starts[from] + PIECE_BYTES; i++) {
		if (i > from)
			(void)fputc(',', out);
		ok = put_line(out, d, i);
	}
	if (out && i < d->n)
		(void)fprintf(out, "],\"next\":%zu}", i);
	else if (out)
		(void)fputs("],\"next\":null}", out);
	if (out && fclose(out) == 0 && ok)
		http_reply_bytes(r, 200, "application/json", text, size);
	else
		http_reply_error(r, 503, "internal", "out of memory");
	free(text);
}

static void diff(struct http_request *r)
{
	struct ui_subject of;
	if (!ui_subject_of_query(r, &of))
		return;
	char *path = path_of(r), *first = http_query(r, "from");
	size_t from = first ? strtoul(first, NULL, 10) : 0;
	const struct kept_diff *d = path ? find_diff(r, &of, path, from == 0) : NULL;
	if (d)
		reply_piece(r, d, from < d->n ? from : d->n);
	free(path);
	free(first);
	ui_subject_done(&of);
}

/* Always bytes: whether it is an image is the page's business, and no browser shows this by itself. */
static void content(struct http_request *r)
{
	struct airlock_error err = {0};
	struct ui_subject of;
	struct stat st;
	int fd = -1;
	if (!ui_subject_of_query(r, &of))
		return;
	char *path = path_of(r), *side = http_query(r, "side");
	enum airlock_side which = AIRLOCK_SIDE_AFTER;
	if (side && strcmp(side, "before") == 0)
		which = AIRLOCK_SIDE_BEFORE;
	else if (side && strcmp(side, "project") == 0)
		which = AIRLOCK_SIDE_PROJECT;
	if (path && airlock_changes_content(of.settings, of.name, path, which, &fd, &err) < 0)
		http_reply_failure(r, &err);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_size > CONTENT_MAX)) {
		(void)close(fd);
		http_reply_error(r, 413, "limit", "it is too large to show");
	} else if (fd >= 0) {
		http_reply_file(r, 200, "application/octet-stream", fd, 0, (uint64_t)st.st_size);
	}
	free(path);
	free(side);
	ui_subject_done(&of);
}

const struct http_route ui_diff_routes[] = {
	{"GET", "/ui/diff", diff},
	{"GET", "/ui/content", content},
	{0},
};
