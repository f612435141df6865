/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runs/<run>/changes: a text file, one record a line, so that a person can read it when everything else is broken.
 *
 *   airlock-changes 2
 *   run 20261115-193012.482731-7f3a
 *   started 1794771012482731000
 *   direct                                    (when nothing was captured)
 *   session step NAME                         (when it belongs to a session: step, apart or whole)
 *   root 2049 131 /home/u/p /home/u/.local/state/airlock/runs/…/upper/overlay0
 *   change 0 modified file apply held - src/a.c - file 644 120 77 1 MTIME CTIME file 644 130 78 1 MTIME CTIME
 *   reason 0 runs - git%20hook - - -
 *   slot 0 3
 *   image 0 CTIME
 *   index 0 CHECKSUM CHECKSUM
 *   owner 0 0 0 1000 1000
 *   link 0 src/b.c
 *   dir 0 MTIME MTIME src
 *   end 1 SHA-256
 *
 * change: root, kind, type, verdict, state, flags, path, from, before, after. The lines after it begin with a change's place
 * in the list. reason: code, cause, what, program, path, commit. slot: where its before-image is. image: ctime of what waits
 * to be live again. index: of what was staged in an index of git before and after. owner: user and group before and after,
 * where they were changed. link: the file that it is another name of. dir: root, mtime without and with the run's changes, path. The last line makes a file that was cut
 * short or altered anywhere tell so: what is applied later is what was found, or nothing.
 *
 * Version 1, which is only read, had the reasons of a change as one sentence between from and before, and the flag w for
 * AIRLOCK_REASON_APPLIED_WHOLE.
 */
#include "change/change.h"

#include "base/hash.h"
#include "base/path.h"
#include "change/fields.h"
#include "change/names.h"
#include "change/reason.h"
#include "fs/fs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "airlock-changes"
#define RECORD_MAX ((size_t)4 << 30)

/* The booleans of a change, one letter each, in the order they are written. */
static const struct flag {
	char letter;
	size_t offset;
} flags[] = {
	{'o', offsetof(struct change, opaque)},	   {'s', offsetof(struct change, setid_dropped)},
	{'c', offsetof(struct change, copied_up)}, {'t', offsetof(struct change, settled)},
	{'u', offsetof(struct change, undone)},
};

static bool *flag_in(struct change *c, const struct flag *f)
{
	return (bool *)((char *)c + f->offset);
}

static const char *const part_names[] = {
	[CHANGE_PART_STEP] = "step", [CHANGE_PART_APART] = "apart", [CHANGE_PART_WHOLE] = "whole", NULL};

/* ── Writing ── */

static void add_flags(struct buf *b, const struct change *c)
{
	size_t before = b->len;
	for (size_t i = 0; i < AL_ARRAY_LEN(flags); i++)
		if (*flag_in((struct change *)c, &flags[i]))
			buf_addc(b, flags[i].letter);
	if (b->len == before)
		buf_addc(b, '-');
}

static void add_change(struct buf *b, const struct change *c)
{
	const char *const words[] = {change_kind_name(c->kind), change_type_name(c->type),
				     change_verdict_names[c->verdict], change_state_name(c->state)};
	buf_adds(b, "change");
	fields_add_number(b, c->root);
	for (size_t i = 0; i < AL_ARRAY_LEN(words); i++) {
		buf_addc(b, ' ');
		buf_adds(b, words[i]);
	}
	buf_addc(b, ' ');
	add_flags(b, c);
	fields_add_string(b, c->path);
	fields_add_string(b, c->from);
	fields_add_stat(b, &c->before);
	fields_add_stat(b, &c->after);
	buf_addc(b, '\n');
}

static void add_head(struct buf *b, const struct change_set *set)
{
	buf_adds(b, MAGIC " 2\nrun");
	fields_add_string(b, set->run);
	buf_printf(b, "\nstarted %" PRId64 "\n", set->started_ns);
	if (set->direct)
		buf_adds(b, "direct\n");
	if (set->session) {
		buf_printf(b, "session %s", part_names[set->part]);
		fields_add_string(b, set->session);
		buf_addc(b, '\n');
	}
	for (size_t i = 0; i < set->n_roots; i++) {
		const struct change_root *root = &set->roots[i];
		buf_printf(b, "root %" PRIu64 " %" PRIu64, root->device, root->inode);
		fields_add_string(b, root->path);
		fields_add_string(b, root->upper);
		buf_addc(b, '\n');
	}
}

static void add_reason(struct buf *b, size_t i, const struct airlock_reason *r)
{
	buf_adds(b, "reason");
	fields_add_number(b, i);
	fields_add_string(b, airlock_reason_name(r->code));
	fields_add_string(b, airlock_reason_name(r->cause));
	fields_add_string(b, r->what);
	fields_add_string(b, r->program);
	fields_add_string(b, r->path);
	fields_add_string(b, r->commit);
	buf_addc(b, '\n');
}

/* ── Writing ── */

/* One line or several about one of the set's changes. Few changes have those after the first. */
typedef void (*add_lines)(struct buf *b, const struct change_set *set, size_t i);

static void add_change_at(struct buf *b, const struct change_set *set, size_t i)
{
	add_change(b, &set->v[i]);
}

static void add_reasons(struct buf *b, const struct change_set *set, size_t i)
{
	for (size_t k = 0; k < set->v[i].n_reasons; k++)
		add_reason(b, i, &set->v[i].reasons[k]);
}

static void add_slot(struct buf *b, const struct change_set *set, size_t i)
{
	if (!set->v[i].slot)
		return;
	buf_adds(b, "slot");
	fields_add_number(b, i);
	fields_add_number(b, set->v[i].slot);
	buf_addc(b, '\n');
}

static void add_image(struct buf *b, const struct change_set *set, size_t i)
{
	if (!set->v[i].image_ns)
		return;
	buf_adds(b, "image");
	fields_add_number(b, i);
	fields_add_signed(b, set->v[i].image_ns);
	buf_addc(b, '\n');
}

static void add_index(struct buf *b, const struct change_set *set, size_t i)
{
	if (!set->v[i].index_mark && !set->v[i].index_mark_after)
		return;
	buf_adds(b, "index");
	fields_add_number(b, i);
	fields_add_number(b, set->v[i].index_mark);
	fields_add_number(b, set->v[i].index_mark_after);
	buf_addc(b, '\n');
}

static void add_owner(struct buf *b, const struct change_set *set, size_t i)
{
	const struct change *c = &set->v[i];
	if (!c->has_owner)
		return;
	buf_adds(b, "owner");
	fields_add_number(b, i);
	fields_add_number(b, c->owner_before.uid);
	fields_add_number(b, c->owner_before.gid);
	fields_add_number(b, c->owner.uid);
	fields_add_number(b, c->owner.gid);
	buf_addc(b, '\n');
}

static void add_link(struct buf *b, const struct change_set *set, size_t i)
{
	if (!set->v[i].link)
		return;
	buf_adds(b, "link");
	fields_add_number(b, i);
	fields_add_string(b, set->v[i].link);
	buf_addc(b, '\n');
}

static void add_dirs(struct buf *b, const struct change_set *set)
{
	for (size_t i = 0; i < set->n_dirs; i++) {
		const struct change_dir *d = &set->dirs[i];
		buf_adds(b, "dir");
		fields_add_number(b, d->root);
		fields_add_signed(b, d->without_ns);
		fields_add_signed(b, d->with_ns);
		fields_add_string(b, d->path);
		buf_addc(b, '\n');
	}
}

static const add_lines kinds_of_lines[] = {add_change_at, add_reasons, add_slot, add_image,
					   add_index,	  add_owner,   add_link};

#define PART_BYTES 65536

/* Written in parts: the text of a record takes more memory than a third of the set itself. */
struct record_writer {
	const struct change_set *set;
	struct hash_sha256 sum;
	size_t kind, i; /* the next line */
	bool begun;
};

static int next_part(void *data, struct buf *part)
{
	struct record_writer *w = data;
	size_t before = part->len;
	char sum[65];
	if (!w->begun)
		add_head(part, w->set);
	w->begun = true;
	while (w->kind < AL_ARRAY_LEN(kinds_of_lines) && part->len < PART_BYTES)
		if (w->i == w->set->n) {
			w->kind++;
			w->i = 0;
		} else {
			kinds_of_lines[w->kind](part, w->set, w->i++);
		}
	bool more = w->kind < AL_ARRAY_LEN(kinds_of_lines);
	if (!more)
		add_dirs(part, w->set);
	hash_sha256_add(&w->sum, buf_str(part) + before, part->len - before);
	if (more)
		return 1;
	hash_sha256_end(&w->sum, sum);
	buf_printf(part, "end %zu %s\n", w->set->n, sum);
	return 0;
}

int change_set_save_first(const struct change_set *set, const char *file, int prepared, struct airlock_error *err)
{
	_cleanup_close_ int unused = prepared;
	struct record_writer w = {.set = set};
	hash_sha256_begin(&w.sum);
	if (set->n > 0)
		return fs_write_private_parts(file, next_part, &w, err);
	/* An empty record needs no fsync. */
	_cleanup_buf_ struct buf b = BUF_INIT;
	while (next_part(&w, &b) > 0)
		;
	if (b.failed)
		return base_oom(err);
	if (fs_create_prepared_file(TAKE_FD(unused), file, b.data, b.len, NULL) == 0)
		return 0;
	return fs_write_private_file(file, b.data, b.len, err);
}

int change_set_save(const struct change_set *set, const char *file, struct airlock_error *err)
{
	return change_set_save_first(set, file, -1, err);
}

/* ── Reading ── */

struct record_reader {
	const char *file;
	struct buf text;
	size_t at;	   /* where the next line begins */
	size_t line_start; /* of the current one */
	unsigned line;
	unsigned version;
	struct change_set *set;
};

static void reader_done(struct record_reader *r)
{
	buf_done(&r->text);
	change_set_free(r->set);
}

static int damaged(struct record_reader *r, struct airlock_error *err, const char *what)
{
	char where[1024];
	(void)snprintf(where, sizeof where, "%s:%u", r->file, r->line);
	return base_error(err, AIRLOCK_ERR_CORRUPT, "parse", where, "%s: the record of changes is damaged: %s", where,
			  what);
}

/* 0, or the error of a line whose fields could not be taken. */
static int verdict_on(struct record_reader *r, int rc, const struct fields *f, struct airlock_error *err)
{
	char what[128];
	if (rc == 0)
		return 0;
	if (rc == -ENOMEM)
		return base_oom(err);
	(void)snprintf(what, sizeof what, "expected %s", f->wanted);
	return damaged(r, err, what);
}

static int next_line(struct record_reader *r, struct fields *ret, struct airlock_error *err)
{
	r->line++;
	r->line_start = r->at;
	const char *start = buf_str(&r->text) + r->at;
	const char *newline = r->at < r->text.len ? memchr(start, '\n', r->text.len - r->at) : NULL;
	if (!newline)
		return damaged(r, err, "it ends too early");
	r->at += (size_t)(newline - start) + 1;
	*ret = fields_of(start, (size_t)(newline - start));
	return 0;
}

static int check_version(struct record_reader *r, struct airlock_error *err)
{
	static const char *const versions[] = {"0", "1", "2", NULL};
	struct fields f;
	int rc = next_line(r, &f, err);
	if (rc < 0)
		return rc;
	rc = fields_take_literal(&f, MAGIC);
	rc = rc < 0 ? rc : fields_take_name(&f, versions, "a version that is known", &r->version);
	return verdict_on(r, rc < 0 ? rc : fields_end(&f), &f, err);
}

static int read_run(struct record_reader *r, struct airlock_error *err)
{
	_cleanup_free_ char *run = NULL;
	struct fields f;
	int rc = next_line(r, &f, err);
	if (rc < 0)
		return rc;
	rc = fields_take_literal(&f, "run");
	rc = rc < 0 ? rc : fields_take_string(&f, &run);
	rc = rc < 0 ? rc : fields_end(&f);
	if (rc < 0 || !run)
		return rc < 0 ? verdict_on(r, rc, &f, err) : damaged(r, err, "no run");
	r->set = change_set_new(run);
	return r->set ? 0 : base_oom(err);
}

static int read_started(struct record_reader *r, struct airlock_error *err)
{
	struct fields f;
	int rc = next_line(r, &f, err);
	if (rc < 0)
		return rc;
	rc = fields_take_literal(&f, "started");
	rc = rc < 0 ? rc : fields_take_signed(&f, &r->set->started_ns);
	return verdict_on(r, rc < 0 ? rc : fields_end(&f), &f, err);
}

static int read_root(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	_cleanup_free_ char *path = NULL, *upper = NULL;
	uint64_t device = 0, inode = 0;
	int rc = fields_take_number(f, &device);
	rc = rc < 0 ? rc : fields_take_number(f, &inode);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_take_string(f, &upper);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (!path || !upper || !path_is_normal(path) || r->set->n > 0)
		return damaged(r, err, "no such root");
	rc = change_set_take_root(r->set, TAKE_PTR(path), TAKE_PTR(upper), device, inode);
	return rc < 0 ? base_oom(err) : 0;
}

static int take_words(struct fields *f, struct change *c)
{
	unsigned kind = 0, type = 0, verdict = 0, state = 0;
	int rc = fields_take_name(f, change_kind_names, "a kind of change", &kind);
	rc = rc < 0 ? rc : fields_take_name(f, change_type_names, "a type", &type);
	rc = rc < 0 ? rc : fields_take_name(f, change_verdict_names, "a verdict", &verdict);
	rc = rc < 0 ? rc : fields_take_name(f, change_state_names, "a state", &state);
	c->kind = (enum change_kind)kind;
	c->type = (enum change_type)type;
	c->verdict = (enum change_verdict)verdict;
	c->state = (enum change_state)state;
	return rc;
}

static int take_flags(struct fields *f, unsigned version, struct change *c)
{
	const char *word = "";
	size_t len = 0, at = 0;
	int rc = fields_take_word(f, &word, &len);
	if (version == 1 && len > 0 && word[len - 1] == 'w') /* the sentence says so, too */
		len -= len > 1;
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(flags); i++)
		if (at < len && word[at] == flags[i].letter) {
			*flag_in(c, &flags[i]) = true;
			at++;
		}
	bool none = len == 1 && (word[0] == '-' || (version == 1 && word[0] == 'w'));
	f->wanted = "flags";
	return rc == 0 && len > 0 && (none || at == len) ? 0 : -EINVAL;
}

static int take_strings(struct fields *f, unsigned version, struct change *c)
{
	_cleanup_free_ char *sentence = NULL;
	int rc = fields_take_string(f, &c->path);
	rc = rc < 0 ? rc : fields_take_string(f, &c->from);
	if (rc < 0 || version > 1)
		return rc;
	rc = fields_take_string(f, &sentence);
	return rc < 0 || !sentence ? rc : change_reason_read_sentence(c, sentence);
}

/* Accept only paths below the root: apply trusts the record, so nothing else may ever pass here (I1). */
static bool is_inside(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len <= 2 && strncmp(p, "..", len) == 0))
			return false;
	}
	return path != NULL;
}

/* What is wrong with a change that could be read, or NULL. */
static const char *fault_of(const struct change_set *set, uint64_t root, const struct change *c)
{
	const struct change *last = set->n > 1 ? &set->v[set->n - 2] : NULL;
	if (root >= set->n_roots)
		return "no such root";
	if (!is_inside(c->path) || (c->from && !is_inside(c->from)))
		return "a path that leaves its root";
	if ((c->kind == CHANGE_RENAMED) != (c->from != NULL))
		return "an old path without a renaming";
	if (c->type == CHANGE_NOTHING)
		return "a change of nothing";
	if (last && (last->root > root || (last->root == root && path_compare(last->path, c->path) >= 0)))
		return "paths out of order";
	return NULL;
}

static int read_change(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t root = 0;
	struct change *c = change_set_take(r->set, 0, strdup(""));
	if (!c)
		return base_oom(err);
	base_freep(&c->path);
	int rc = fields_take_number(f, &root);
	rc = rc < 0 ? rc : take_words(f, c);
	rc = rc < 0 ? rc : take_flags(f, r->version, c);
	rc = rc < 0 ? rc : take_strings(f, r->version, c);
	rc = rc < 0 ? rc : fields_take_stat(f, &c->before);
	rc = rc < 0 ? rc : fields_take_stat(f, &c->after);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	const char *fault = fault_of(r->set, root, c);
	c->root = (size_t)root;
	return fault ? damaged(r, err, fault) : 0;
}

static int take_reason_code(struct fields *f, bool is_optional, enum airlock_reason_code *ret)
{
	const char *word = "";
	size_t len = 0;
	int rc = fields_take_word(f, &word, &len);
	f->wanted = "a reason";
	bool none = is_optional && len == 1 && word[0] == '-';
	return rc < 0 ? rc : none || change_reason_by_name(word, len, ret) ? 0 : -EINVAL;
}

static int take_arguments(struct fields *f, struct airlock_reason *r)
{
	const char **const arguments[] = {&r->what, &r->program, &r->path, &r->commit};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(arguments); i++)
		rc = fields_take_string(f, (char **)arguments[i]);
	return rc;
}

static int read_reason(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	_cleanup_(change_reason_done) struct airlock_reason reason = {0};
	uint64_t i = 0;
	int rc = fields_take_number(f, &i);
	rc = rc < 0 ? rc : take_reason_code(f, false, &reason.code);
	rc = rc < 0 ? rc : take_reason_code(f, true, &reason.cause);
	rc = rc < 0 ? rc : take_arguments(f, &reason);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n)
		return damaged(r, err, "no such change");
	return change_reason_set(&r->set->v[i], &reason) < 0 ? base_oom(err) : 0;
}

static int read_slot(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t i = 0, slot = 0;
	int rc = fields_take_number(f, &i);
	rc = rc < 0 ? rc : fields_take_number(f, &slot);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n)
		return damaged(r, err, "no such change");
	r->set->v[i].slot = slot;
	return 0;
}

static int read_index(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t i = 0, before = 0, after = 0;
	int rc = fields_take_number(f, &i);
	rc = rc < 0 ? rc : fields_take_number(f, &before);
	rc = rc < 0 ? rc : fields_take_number(f, &after);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n)
		return damaged(r, err, "no such change");
	r->set->v[i].index_mark = before;
	r->set->v[i].index_mark_after = after;
	return 0;
}

static int read_owner(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t i = 0, ids[4] = {0};
	int rc = fields_take_number(f, &i);
	for (size_t k = 0; rc == 0 && k < AL_ARRAY_LEN(ids); k++)
		rc = fields_take_number(f, &ids[k]);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n)
		return damaged(r, err, "no such change");
	struct change *c = &r->set->v[i];
	c->has_owner = true;
	c->owner_before = (struct airlock_owner){(uint32_t)ids[0], (uint32_t)ids[1]};
	c->owner = (struct airlock_owner){(uint32_t)ids[2], (uint32_t)ids[3]};
	return 0;
}

static int read_link(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	_cleanup_free_ char *path = NULL;
	uint64_t i = 0;
	int rc = fields_take_number(f, &i);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n || r->set->v[i].link)
		return damaged(r, err, "no such change");
	if (!is_inside(path))
		return damaged(r, err, "a path that leaves its root");
	r->set->v[i].link = TAKE_PTR(path);
	return 0;
}

static int read_image(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t i = 0;
	int64_t ns = 0;
	int rc = fields_take_number(f, &i);
	rc = rc < 0 ? rc : fields_take_signed(f, &ns);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (i >= r->set->n)
		return damaged(r, err, "no such change");
	r->set->v[i].image_ns = ns;
	return 0;
}

static int read_dir(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	_cleanup_free_ char *path = NULL;
	uint64_t root = 0;
	int64_t without = 0, with = 0;
	int rc = fields_take_number(f, &root);
	rc = rc < 0 ? rc : fields_take_signed(f, &without);
	rc = rc < 0 ? rc : fields_take_signed(f, &with);
	rc = rc < 0 ? rc : fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (root >= r->set->n_roots || !path || (path[0] && !is_inside(path)))
		return damaged(r, err, "no such directory");
	rc = change_set_take_dir(r->set, (size_t)root, TAKE_PTR(path), without, with);
	return rc < 0 ? base_oom(err) : 0;
}

static int read_direct(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	r->set->direct = true;
	return verdict_on(r, fields_end(f), f, err);
}

static int read_session(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	unsigned part = 0;
	int rc = r->set->session ? -EINVAL : fields_take_name(f, part_names, "a part of a session", &part);
	rc = rc < 0 ? rc : fields_take_string(f, &r->set->session);
	r->set->part = (enum change_part)part;
	return verdict_on(r, rc < 0 ? rc : fields_end(f), f, err);
}

static int read_end(struct record_reader *r, struct fields *f, struct airlock_error *err)
{
	uint64_t n = 0;
	char sum[65];
	hash_sha256_hex(r->text.data, r->line_start, sum);
	int rc = fields_take_number(f, &n);
	rc = rc < 0 ? rc : fields_take_literal(f, sum);
	rc = rc < 0 ? rc : fields_end(f);
	if (rc < 0)
		return verdict_on(r, rc, f, err);
	if (n != r->set->n || r->at != r->text.len)
		return damaged(r, err, "it is not as long as it was");
	return 0;
}

/* The rest of the file, whose first word says what each line is. */
static int read_lines(struct record_reader *r, struct airlock_error *err)
{
	static const char *const words[] = {"root", "change", "reason", "slot",	   "image", "index", "owner",
					    "link", "dir",    "direct", "session", "end",   NULL};
	static int (*const readers[])(struct record_reader *, struct fields *, struct airlock_error *) = {
		read_root,  read_change, read_reason, read_slot,   read_image,	read_index,
		read_owner, read_link,	 read_dir,    read_direct, read_session};
	for (;;) {
		struct fields f;
		unsigned word = 0;
		int rc = next_line(r, &f, err);
		if (rc < 0)
			return rc;
		rc = verdict_on(r, fields_take_name(&f, words, "root, change or end", &word), &f, err);
		if (rc == 0 && word == AL_ARRAY_LEN(readers))
			return read_end(r, &f, err);
		rc = rc < 0 ? rc : readers[word](r, &f, err);
		if (rc < 0)
			return rc;
	}
}

int change_set_load(const char *file, struct change_set **ret, struct airlock_error *err)
{
	_cleanup_(reader_done) struct record_reader r = {.file = file};
	int rc = fs_read_file(file, RECORD_MAX, &r.text, err);
	rc = rc < 0 ? rc : check_version(&r, err);
	rc = rc < 0 ? rc : read_run(&r, err);
	rc = rc < 0 ? rc : read_started(&r, err);
	rc = rc < 0 ? rc : read_lines(&r, err);
	if (rc == 0)
		*ret = TAKE_PTR(r.set);
	return rc;
}
