/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scanning a world, and saying what was found in lines that can be compared.
 *
 *   "Mf src/a.c"  kind (A M D R m T) and type (f d l o) and path; then " <- old", " (reason)", " opaque"
 */
#pragma once

#include "overlay_world.h"

#include "base/error.h"
#include "base/path.h"
#include "change/change.h"
#include "why.h"

/* NULL when the scan failed; err says why. */
static inline struct change_set *world_scan_notes(const char *dir, struct notes *notes, struct airlock_error *err)
{
	struct change_set *set = change_set_new("run");
	if (change_set_add_root(set, in_dir(dir, "lower"), in_dir(dir, "upper"), err) == 0 &&
	    change_scan(set, notes, err) == 0)
		return set;
	change_set_free(set);
	return NULL;
}

static inline struct change_set *world_scan(const char *dir)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	struct airlock_error err = {0};
	struct change_set *set = world_scan_notes(dir, &notes, &err);
	if (!set)
		(void)fprintf(stderr, "# scan: %s\n", err.message);
	for (size_t i = 0; i < notes.n; i++)
		(void)fprintf(stderr, "# note: %s %s\n", airlock_note_name(notes.v[i].code), notes.v[i].subject);
	return set;
}

static inline void world_add_line(struct strs *lines, const struct change *c)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	buf_printf(&b, "%c%c %s", "AMDRmT"[c->kind], "?fdlo"[c->type], c -> path);
	if (c->from)
		buf_printf(&b, " <- %s", c->from);
	if (c->n_reasons)
		buf_printf(&b, " (%s)", why(c));
	if (c->opaque)
		buf_adds(&b, " opaque");
	strs_add(lines, buf_str(&b));
}

/* What the scan of dir finds, one line a change; "failed" when it does not work. Lives until the next call. */
static inline const char *world_found(const char *dir)
{
	static struct buf text = BUF_INIT;
	_cleanup_strs_ struct strs lines = STRS_INIT;
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	buf_reset(&text);
	if (!set)
		return "failed";
	for (size_t i = 0; i < set->n; i++)
		world_add_line(&lines, &set->v[i]);
	for (size_t i = 0; i < lines.n; i++)
		buf_printf(&text, "%s%s", i ? "\n" : "", lines.v[i]);
	return buf_str(&text);
}

/* ── The oracle: two trees compared in the plainest way, to hold the scan against ── */

struct oracle {
	const char *before, *after; /* directories */
	struct strs lines;	    /* sorted "path kind type"; a rename is both its parts */
};

/* What is reached through a symlink is not in the tree. */
static inline char oracle_type(const char *top, const char *path, struct stat *ret)
{
	_cleanup_free_ char *full = path_join(top, path);
	for (char *slash = full + strlen(top); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		bool is_dir = lstat(full, ret) == 0 && S_ISDIR(ret->st_mode);
		*slash = '/';
		if (!is_dir)
			return '-';
	}
	if (lstat(full, ret) < 0)
		return '-';
	return S_ISREG(ret->st_mode) ? 'f' : S_ISDIR(ret->st_mode) ? 'd' : S_ISLNK(ret->st_mode) ? 'l' : 'o';
}

static inline bool oracle_same_content(const struct oracle *o, const char *path, char type)
{
	_cleanup_free_ char *a = path_join(o->before, path), *b = path_join(o->after, path);
	char x[4096] = "", y[4096] = "";
	if (type == 'l')
		return readlink(a, x, sizeof x) == readlink(b, y, sizeof y) && strcmp(x, y) == 0;
	if (type != 'f')
		return true;
	FILE *p = fopen(a, "re"), *q = fopen(b, "re");
	int c, d;
	do {
		c = getc(p);
		d = getc(q);
	} while (c == d && c != EOF);
	(void)fclose(p);
	(void)fclose(q);
	return c == d;
}

static inline void oracle_add(struct oracle *o, const char *path, char kind, char type)
{
	strs_addf(&o->lines, "%s %c%c", path, kind, type);
}

static inline void oracle_names(const char *top, const char *path, struct strs *names)
{
	_cleanup_free_ char *full = path_join(top, path);
	struct dirent **v = NULL;
	struct stat st;
	int n = !*path || oracle_type(top, path, &st) == 'd' ? scandir(full, &v, NULL, NULL) : 0;
	for (int i = 0; i < n; i++) {
		const char *name = v[i]->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strs_has(names, name))
			strs_add(names, name);
		free(v[i]);
	}
	free(v);
}

static inline void oracle_entry(struct oracle *o, const char *path);

static inline void oracle_dir(struct oracle *o, const char *path)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	oracle_names(o->before, path, &names);
	oracle_names(o->after, path, &names);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *below = *path ? path_join(path, names.v[i]) : strdup(names.v[i]);
		oracle_entry(o, below);
	}
}

static inline char oracle_kind(const struct oracle *o, const char *path, char before, char after)
{
	struct stat a, b;
	(void)oracle_type(o->before, path, &a);
	(void)oracle_type(o->after, path, &b);
	if (before != after)
		return before == '-' ? 'A' : after == '-' ? 'D' : 'T';
	if (!oracle_same_content(o, path, before))
		return 'M';
	bool time = a.st_mtim.tv_sec != b.st_mtim.tv_sec || a.st_mtim.tv_nsec != b.st_mtim.tv_nsec;
	bool mode = before != 'l' && a.st_mode != b.st_mode;
	return mode || (time && before != 'd') ? 'm' : 0;
}

static inline void oracle_entry(struct oracle *o, const char *path)
{
	struct stat st;
	char before = oracle_type(o->before, path, &st), after = oracle_type(o->after, path, &st);
	oracle_dir(o, path);
	char kind = oracle_kind(o, path, before, after);
	if (kind)
		oracle_add(o, path, kind, after == '-' ? before : after);
}

static inline void oracle_of_scan(const struct change_set *set, struct oracle *o)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		char type = "?fdlo"[c->type];
		oracle_add(o, c->path, c->kind == CHANGE_RENAMED ? 'A' : "AMDRmT"[c->kind], type);
		if (c->from)
			oracle_add(o, c->from, 'D', type);
	}
}

/* NULL when the scan says what the comparison of dir/lower and dir/after says; else the first difference. */
static inline const char *world_disagreement(const char *dir)
{
	static char text[4096];
	_cleanup_free_ char *lower = strdup(in_dir(dir, "lower")), *kept = strdup(in_dir(dir, "after"));
	struct oracle truth = {.before = lower, .after = kept, .lines = STRS_INIT}, found = {.lines = STRS_INIT};
	struct change_set *set = world_scan(dir);
	if (!set)
		return "the scan failed";
	oracle_dir(&truth, "");
	oracle_of_scan(set, &found);
	strs_sort(&truth.lines);
	strs_sort(&found.lines);
	size_t i = 0;
	while (i < truth.lines.n && i < found.lines.n && strcmp(truth.lines.v[i], found.lines.v[i]) == 0)
		i++;
	bool same = i == truth.lines.n && i == found.lines.n;
	(void)snprintf(text, sizeof text, "expected '%s', found '%s'", i < truth.lines.n ? truth.lines.v[i] : "",
		       i < found.lines.n ? found.lines.v[i] : "");
	strs_done(&truth.lines);
	strs_done(&found.lines);
	change_set_free(set);
	return same ? NULL : text;
}
