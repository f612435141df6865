/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The result of a file call: filled while the call runs, then read as values, as JSON or as text.
 *
 * JSON and text are made on request and cached in the result, which owns every string it hands out. */
#include "files/files_result.h"

#include "base/array.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "change/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct airlock_files *files_result_new(enum files_kind kind)
{
	struct airlock_files *r = calloc(1, sizeof *r);
	if (r)
		r->kind = kind;
	return r;
}

void airlock_files_free(struct airlock_files *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n && r->entries; i++)
		free((char *)r->entries[i].path);
	for (size_t i = 0; i < r->n && r->matches; i++) {
		free((char *)r->matches[i].path);
		free((char *)r->matches[i].text);
	}
	free(r->entries);
	free(r->matches);
	buf_done(&r->bytes);
	char *all[] = {r->path, r->run, r->json, r->text};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		free(all[i]);
	change_reason_done(&r->reason);
	free(r);
}

void files_result_freep(struct airlock_files **r)
{
	airlock_files_free(*r);
	*r = NULL;
}

/* ── Filling ── */

static const char *type_name(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "symlink" : "other";
}

void files_result_add_entry(struct airlock_files *r, char *path, const struct stat *st, bool is_dir)
{
	if (!path || !ARRAY_ROOM(r->entries, r->n, r->cap, 64)) {
		r->failed = true;
		free(path);
		return;
	}
	r->entries[r->n++] = (struct airlock_files_entry){
		.path = path,
		.type = type_name(st->st_mode),
		.is_dir = is_dir,
		.size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};
}

void files_result_add_match(struct airlock_files *r, const char *path, int64_t line, const char *text, size_t size,
			    bool cut)
{
	struct airlock_files_match m = {
		.path = strdup(path), .line = line, .text = strndup(text, size), .text_size = size, .cut = cut};
	if (!m.path || !m.text || !ARRAY_ROOM(r->matches, r->n, r->cap, 64)) {
		r->failed = true;
		free((char *)m.path);
		free((char *)m.text);
		return;
	}
	r->matches[r->n++] = m;
}

void files_result_set_change(struct airlock_files *r, char *path, enum airlock_files_action action, uint64_t count)
{
	r->failed |= !path;
	free(r->path);
	r->path = path;
	r->change = (struct airlock_files_change){
		.path = path, .action = action, .count = count, .state = AIRLOCK_CHANGES_DIRECT};
}

/* ── Values ── */

size_t airlock_files_entry_count(const struct airlock_files *r)
{
	return r->kind == FILES_ENTRIES ? r->n : 0;
}

const struct airlock_files_entry *airlock_files_entry_at(const struct airlock_files *r, size_t i)
{
	return i < airlock_files_entry_count(r) ? &r->entries[i] : NULL;
}

size_t airlock_files_match_count(const struct airlock_files *r)
{
	return r->kind == FILES_MATCHES ? r->n : 0;
}

const struct airlock_files_match *airlock_files_match_at(const struct airlock_files *r, size_t i)
{
	return i < airlock_files_match_count(r) ? &r->matches[i] : NULL;
}

int airlock_files_truncated(const struct airlock_files *r)
{
	return r->truncated;
}

const struct airlock_files_content *airlock_files_content(const struct airlock_files *r)
{
	return r->kind == FILES_CONTENT ? &r->content : NULL;
}

const struct airlock_files_change *airlock_files_change(const struct airlock_files *r)
{
	return r->kind == FILES_CHANGE ? &r->change : NULL;
}

/* ── JSON ── */

static void add_time(struct json *j, const char *key, int64_t ns)
{
	int64_t seconds = ns / 1000000000, rest = ns % 1000000000;
	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	time_t t = (time_t)seconds;
	struct tm tm;
	char text[64], whole[96];
	if (!gmtime_r(&t, &tm)) {
		json_null(j, key);
		return;
	}
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(whole, sizeof whole, "%s.%06dZ", text, (int)(rest / 1000));
	json_string(j, key, whole);
}

static void add_entries(struct json *j, const struct airlock_files *r)
{
	json_open_array(j, "entries");
	for (size_t i = 0; i < r->n; i++) {
		const struct airlock_files_entry *e = &r->entries[i];
		json_open_object(j, NULL);
		json_path(j, "path", e->path);
		json_bool(j, "is_dir", e->is_dir);
		json_int(j, "size", (int64_t)e->size);
		add_time(j, "modified_at", e->modified_ns);
		json_string(j, "type", e->type);
		json_close(j);
	}
	json_close(j);
	json_bool(j, "truncated", r->truncated);
}

static void add_matches(struct json *j, const struct airlock_files *r)
{
	json_open_array(j, "matches");
	for (size_t i = 0; i < r->n; i++) {
		const struct airlock_files_match *m = &r->matches[i];
		json_open_object(j, NULL);
		json_path(j, "path", m->path);
		json_int(j, "line", m->line);
		json_stringn(j, "text", m->text, m->text_size);
		if (m->cut)
			json_bool(j, "cut", true);
		json_close(j);
	}
	json_close(j);
	json_bool(j, "truncated", r->truncated);
}

static void add_count(struct json *j, const char *key, int64_t n, bool known)
{
	if (known)
		json_int(j, key, n);
	else
		json_null(j, key);
}

static void add_content(struct json *j, const struct airlock_files *r)
{
	const struct airlock_files_content *c = &r->content;
	if (c->is_text)
		json_stringn(j, "content", c->bytes, c->size);
	else {
		_cleanup_buf_ struct buf text = BUF_INIT;
		text_add_base64(&text, c->bytes, c->size);
		json_string(j, "content", buf_str(&text));
		j->out->failed |= text.failed;
	}
	json_string(j, "encoding", c->is_text ? "utf-8" : "base64");
	add_count(j, "start_line", c->start_line, c->start_line > 0);
	add_count(j, "end_line", c->end_line, c->end_line > 0);
	json_int(j, "total_lines", c->total_lines);
	add_count(j, "next_offset", c->next_offset, c->next_offset >= 0);
	json_bool(j, "cut", c->cut);
}

const char *airlock_files_action_name(enum airlock_files_action action)
{
	static const char *const names[] = {[AIRLOCK_FILES_CREATED] = "created",
					    [AIRLOCK_FILES_REPLACED] = "replaced",
					    [AIRLOCK_FILES_EDITED] = "edited",
					    [AIRLOCK_FILES_DELETED] = "deleted",
					    [AIRLOCK_FILES_UNCHANGED] = "unchanged"};
	return names[action];
}

static const char *count_name(enum airlock_files_action action)
{
	return action == AIRLOCK_FILES_EDITED ? "occurrences" : action == AIRLOCK_FILES_DELETED ? "entries" : "bytes";
}

static void add_change(struct json *j, const struct airlock_files *r)
{
	const struct airlock_files_change *c = &r->change;
	json_path(j, "path", c->path);
	json_string(j, "action", airlock_files_action_name(c->action));
	json_int(j, count_name(c->action), (int64_t)c->count);
	json_string(j, "run", c->run);
	json_string(j, "state", airlock_changes_state_name(c->state));
	change_reasons_add_json(j, c->reason, c->reason != NULL);
}

const char *airlock_files_json(struct airlock_files *r)
{
	static void (*const add[])(struct json *, const struct airlock_files *) = {
		[FILES_ENTRIES] = add_entries,
		[FILES_MATCHES] = add_matches,
		[FILES_CONTENT] = add_content,
		[FILES_CHANGE] = add_change,
	};
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	free(r->json);
	json_open_object(&j, NULL);
	add[r->kind](&j, r);
	json_close(&j);
	buf_addc(&out, '\n');
	r->json = buf_take(&out);
	return r->json ? r->json : "";
}

/* ── Text ── */

static void text_entries(struct buf *out, const struct airlock_files *r)
{
	for (size_t i = 0; i < r->n; i++) {
		text_add_escaped(out, r->entries[i].path, strlen(r->entries[i].path));
		buf_adds(out, r->entries[i].is_dir && strcmp(r->entries[i].path, "/") != 0 ? "/\n" : "\n");
	}
}

static void text_matches(struct buf *out, const struct airlock_files *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct airlock_files_match *m = &r->matches[i];
		text_add_escaped(out, m->path, strlen(m->path));
		buf_printf(out, ":%" PRId64 ":", m->line);
		text_add_utf8(out, m->text, m->text_size);
		buf_adds(out, m->cut ? "...\n" : "\n");
	}
}

static void text_content(struct buf *out, const struct airlock_files *r)
{
	if (r->content.is_text)
		buf_add(out, r->content.bytes, r->content.size);
	else
		buf_printf(out, "(%zu bytes that are not text)\n", r->content.size);
}

static void text_change(struct buf *out, const struct airlock_files *r)
{
	const struct airlock_files_change *c = &r->change;
	buf_printf(out, "%s ", airlock_files_action_name(c->action));
	text_add_escaped(out, c->path, strlen(c->path));
	if (c->run)
		buf_printf(out, " (%s, run %s)", airlock_changes_state_name(c->state), c->run);
	if (c->reason) {
		buf_adds(out, ": ");
		change_reason_add_text(out, c->reason);
	}
	buf_addc(out, '\n');
}

const char *airlock_files_text(struct airlock_files *r)
{
	static void (*const add[])(struct buf *, const struct airlock_files *) = {
		[FILES_ENTRIES] = text_entries,
		[FILES_MATCHES] = text_matches,
		[FILES_CONTENT] = text_content,
		[FILES_CHANGE] = text_change,
	};
	struct buf out = BUF_INIT;
	free(r->text);
	add[r->kind](&out, r);
	if (r->truncated)
		buf_adds(&out, "(there is more)\n");
	r->text = buf_take(&out);
	return r->text ? r->text : "";
}
