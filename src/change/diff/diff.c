/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A change set as a patch in git's format: git apply takes it, and for text patch -p1 does. What the format has no words
 * for (directories, times, modes beyond the executable bit) is said in comments, which both pass over.
 */
#include "change/diff/diff_parts.h"

#include "base/path.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct diff {
	const struct change_set *set;
	struct diff_source source;
	struct diff_out out;
	struct buf before, after, hunks; /* of the change at hand */
	struct airlock_error *err;
};

/* One "diff --git": of a change of type there are two. */
struct part {
	const struct change *change;
	const char *old_path, *new_path;
	enum change_type before, after; /* CHANGE_FILE, CHANGE_SYMLINK or CHANGE_NOTHING */
	bool differs;			/* in content */
	bool binary;
};

/* ── Names and modes ── */

static uint32_t applied_mode(const struct change *c)
{
	return c->setid_dropped ? c->after.mode & 01777u : c->after.mode;
}

static const char *git_mode(enum change_type type, uint32_t mode)
{
	return type == CHANGE_SYMLINK ? "120000" : mode & 0100 ? "100755" : "100644";
}

static char *name_of(const char *prefix, const char *path)
{
	struct buf b = BUF_INIT;
	diff_add_name(&b, prefix, path);
	return buf_take(&b);
}

/* With a name of no special characters the comment reads like a sentence. */
static void comment(struct diff *d, const char *path, const char *what)
{
	_cleanup_free_ char *name = name_of("", path);
	if (name)
		diff_comment(&d->out, "%s: %s", name, what);
	d->out.text->failed |= !name;
}

static void comment_mode(struct diff *d, const struct change *c)
{
	char what[64];
	const char *kind = c->after.type == CHANGE_DIRECTORY ? "directory, " : "";
	(void)snprintf(what, sizeof what, "%smode %04o to %04o", kind, c->before.mode, applied_mode(c));
	comment(d, c->path, what);
}

/* ── Content ── */

static int fail_to_read(struct diff *d, const char *path, int rc)
{
	const char *why = rc == -ENOENT ? "it is not there any more" : strerrordesc_np(-rc);
	char what[128];
	if (rc == -ENOMEM)
		return base_oom(d->err);
	(void)snprintf(what, sizeof what, "cannot be shown: %s", why ? why : "unknown error");
	comment(d, path, what);
	return 0;
}

/* As git: a NUL makes it binary. But what is compressed and short may by chance have none: more than one control character
 * in twenty is no text either, in whatever encoding. */
static bool is_binary(const struct buf *b)
{
	size_t controls = 0;
	if (b->len == 0 || memchr(b->data, '\0', b->len))
		return b->len > 0;
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];
		controls += c < 0x20 && !(c >= '\a' && c <= '\r') && c != 0x1b;
	}
	return b->len >= 32 && controls > b->len / 20;
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static void say_sizes(struct diff *d, const struct part *p)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	buf_adds(&b, "too large to show, ");
	if (p->before)
		text_add_size(&b, (int64_t)p->change->before.size);
	if (p->before && p->after)
		buf_adds(&b, " to ");
	if (p->after)
		text_add_size(&b, (int64_t)p->change->after.size);
	comment(d, p->new_path, buf_str(&b));
}

/* Fills hunks, binary and differs. 1: go on, 0: nothing to show. */
static int make_hunks(struct diff *d, struct part *p)
{
	buf_reset(&d->hunks);
	p->differs = !p->before || !p->after || !is_same(&d->before, &d->after);
	p->binary = is_binary(&d->before) || is_binary(&d->after);
	if (!p->differs || p->binary)
		return 1;
	if (!p->before)
		diff_add_whole(&d->hunks, '+', &d->after);
	else if (!p->after)
		diff_add_whole(&d->hunks, '-', &d->before);
	else {
		struct airlock_error why = {0};
		int rc = diff_run(&d->before, &d->after, &d->hunks, &why);
		p->binary = rc == AIRLOCK_ERR_TIMEOUT;
		if (p->binary)
			comment(d, p->new_path, "too different to show");
		else if (rc < 0 && d->err && !d->err->code)
			*d->err = why;
		return p->binary || rc == 0 ? 1 : rc;
	}
	return 1;
}

/* Renames are known to have the same content; other files that are too large for us are known to differ. */
static int load(struct diff *d, struct part *p)
{
	const struct change *c = p->change;
	buf_reset(&d->before);
	buf_reset(&d->after);
	int old = p->before ? diff_read(d->source.open_before(d->source.context, c), &d->before) : 0;
	int new = p->after ? diff_read(d->source.open_after(d->source.context, c), &d->after) : 0;
	if (old == -EFBIG || new == -EFBIG) {
		p->binary = p->differs = c->kind != CHANGE_RENAMED;
		if (p->differs)
			say_sizes(d, p);
		return 1;
	}
	if (old < 0)
		return fail_to_read(d, p->old_path, old);
	return new < 0 ? fail_to_read(d, p->new_path, new) : make_hunks(d, p);
}

/* ── Parts ── */

/* The object that git calls no content: without its name patch takes the removal of an empty file for a mistake. */
#define EMPTY "e69de29"
#define NONE "0000000"

static void add_modes(struct diff *d, const struct part *p)
{
	const char *old = git_mode(p->before, p->change->before.mode);
	const char *new = git_mode(p->after, applied_mode(p->change));
	if (!p->before)
		diff_header(&d->out, "new file mode %s", new);
	else if (!p->after)
		diff_header(&d->out, "deleted file mode %s", old);
	else if (strcmp(old, new) != 0) {
		diff_header(&d->out, "old mode %s", old);
		diff_header(&d->out, "new mode %s", new);
	}
	if ((!p->before || !p->after) && !p->binary && d->hunks.len == 0)
		diff_header(&d->out, "index %s..%s", p->before ? EMPTY : NONE, p->after ? EMPTY : NONE);
}

static void add_rename(struct diff *d, const struct part *p)
{
	_cleanup_free_ char *from = name_of("", p->old_path), *to = name_of("", p->new_path);
	if (!p->change->from || !from || !to)
		return;
	if (!p->differs)
		diff_header(&d->out, "similarity index 100%%");
	diff_header(&d->out, "rename from %s", from);
	diff_header(&d->out, "rename to %s", to);
}

static void add_content(struct diff *d, const struct part *p, const char *a, const char *b)
{
	if (p->binary) {
		diff_header(&d->out, "Binary files %s and %s differ", a, b);
		return;
	}
	if (d->hunks.len == 0)
		return;
	diff_header(&d->out, "--- %s", a);
	diff_header(&d->out, "+++ %s", b);
	diff_hunks(&d->out, d->hunks.data, d->hunks.len);
}

static bool says_nothing(const struct part *p)
{
	const struct change *c = p->change;
	return !p->differs && !c->from &&
	       strcmp(git_mode(p->before, c->before.mode), git_mode(p->after, applied_mode(c))) == 0;
}

static int add_part(struct diff *d, struct part *p)
{
	int rc = load(d, p);
	if (rc <= 0)
		return rc;
	if (says_nothing(p)) {
		comment(d, p->new_path, "is already like that");
		return 0;
	}
	_cleanup_free_ char *a = name_of("a/", p->old_path), *b = name_of("b/", p->new_path);
	if (!a || !b || d->before.failed || d->after.failed || d->hunks.failed)
		return base_oom(d->err);
	diff_header(&d->out, "diff --git %s %s", a, b);
	add_modes(d, p);
	add_rename(d, p);
	if (p->differs)
		add_content(d, p, p->before ? a : "/dev/null", p->after ? b : "/dev/null");
	return 0;
}

/* ── Changes ── */

static enum change_type with_content(enum change_type type)
{
	return type == CHANGE_FILE || type == CHANGE_SYMLINK ? type : CHANGE_NOTHING;
}

static int add_content_change(struct diff *d, const struct change *c)
{
	struct part p = {.change = c,
			 .old_path = c->from ? c->from : c->path,
			 .new_path = c->path,
			 .before = with_content(c->before.type),
			 .after = with_content(c->after.type)};
	if (p.before == p.after || !p.before || !p.after)
		return p.before || p.after ? add_part(d, &p) : 0;
	struct part gone = p, new = p;
	gone.after = new.before = CHANGE_NOTHING;
	int rc = add_part(d, &gone);
	return rc < 0 ? rc : add_part(d, &new);
}

static int add_metadata(struct diff *d, const struct change *c)
{
	bool is_file = c->after.type == CHANGE_FILE;
	if (is_file && strcmp(git_mode(CHANGE_FILE, c->before.mode), git_mode(CHANGE_FILE, applied_mode(c))) != 0) {
		_cleanup_free_ char *a = name_of("a/", c->path), *b = name_of("b/", c->path);
		if (!a || !b)
			return base_oom(d->err);
		diff_header(&d->out, "diff --git %s %s", a, b);
		diff_header(&d->out, "old mode %s", git_mode(CHANGE_FILE, c->before.mode));
		diff_header(&d->out, "new mode %s", git_mode(CHANGE_FILE, applied_mode(c)));
	} else if (c->before.mode == applied_mode(c) && is_file) {
		bool times = c->before.mtime_ns != c->after.mtime_ns;
		comment(d, c->path, times ? "modification time" : "extended attributes");
	}
	return 0;
}

/* Nothing of it is in what follows. */
static bool is_empty_directory(const struct diff *d, size_t i)
{
	const struct change *c = &d->set->v[i], *next = i + 1 < d->set->n ? c + 1 : NULL;
	return !next || next->root != c->root || !path_rest(next->path, c->path);
}

static void add_directory(struct diff *d, size_t i)
{
	const struct change *c = &d->set->v[i];
	if (c->before.type != CHANGE_DIRECTORY && is_empty_directory(d, i))
		comment(d, c->path, "new directory");
	else if (c->after.type != CHANGE_DIRECTORY && is_empty_directory(d, i))
		comment(d, c->path, "directory removed");
}

static bool is_mode_said(const struct change *c)
{
	return c->after.type == CHANGE_FILE && ((c->before.mode ^ applied_mode(c)) & 07777) == 0111;
}

static int add_change(struct diff *d, size_t i)
{
	const struct change *c = &d->set->v[i];
	if (c->before.type == CHANGE_OTHER || c->after.type == CHANGE_OTHER)
		comment(d, c->path, "special file");
	if (c->before.type == CHANGE_DIRECTORY || c->after.type == CHANGE_DIRECTORY)
		add_directory(d, i);
	if (c->before.type == c->after.type && c->after.type != CHANGE_SYMLINK && c->before.mode != applied_mode(c) &&
	    !is_mode_said(c))
		comment_mode(d, c);
	return c->kind == CHANGE_METADATA ? add_metadata(d, c) : add_content_change(d, c);
}

/* ── Which ── */

static bool is_below(const char *path, const char *dir)
{
	return *dir == '\0' || path_is_beneath(path, dir);
}

static size_t select_path(const struct change_set *set, const char *full, bool *selected)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		const char *rel = path_rest(full, set->roots[c->root].path);
		if (!rel || !(is_below(c->path, rel) || (c->from && is_below(c->from, rel))))
			continue;
		selected[i] = true;
		n++;
	}
	return n;
}

static int select_all(const struct change_set *set, const char *const *paths, bool *selected, struct airlock_error *err)
{
	if (!paths || !*paths)
		memset(selected, true, set->n);
	for (; paths && *paths; paths++) {
		_cleanup_free_ char *full = path_normalize(set->n_roots ? set->roots[0].path : "/", *paths);
		if (!full)
			return base_oom(err);
		if (select_path(set, full, selected) == 0) {
			base_error(err, AIRLOCK_ERR_NOT_FOUND, "diff", *paths, "run %s changed nothing at %s", set->run,
				   *paths);
			return base_hint(err, "airlock changes %s lists what it changed", set->run);
		}
	}
	return 0;
}

/* Paths are relative to their root; all but the first one say which that is. */
static void name_root(struct diff *d, size_t root)
{
	_cleanup_free_ char *name = name_of("", d->set->roots[root].path);
	if (name && root > 0)
		diff_comment(&d->out, "in %s", name);
	d->out.text->failed |= !name;
}

static int write_selected(struct diff *d, const bool *selected)
{
	size_t root = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < d->set->n; i++) {
		if (!selected[i])
			continue;
		if (d->set->v[i].root != root)
			name_root(d, root = d->set->v[i].root);
		rc = add_change(d, i);
	}
	return rc == 0 && d->out.text->failed ? base_oom(d->err) : rc;
}

int diff_write(const struct change_set *set, const char *const *paths, const struct diff_options *options,
	       struct buf *out, struct airlock_error *err)
{
	struct diff d = {.set = set, .out = {out, options->colour, options->inert}, .err = err};
	struct diff_trees *trees = diff_trees_open(set, options->run_dir);
	bool *selected = calloc(set->n + 1, sizeof *selected);
	int rc = trees && selected ? select_all(set, paths, selected, err) : base_oom(err);
	if (rc == 0) {
		d.source = options->source ? *options->source : diff_trees_source(trees);
		rc = write_selected(&d, selected);
	}
	buf_done(&d.before);
	buf_done(&d.after);
	buf_done(&d.hunks);
	diff_trees_close(trees);
	free(selected);
	return rc;
}
