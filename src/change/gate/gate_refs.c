/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* References in their three forms: a file each, packed-refs, and the log of the stash, whose older entries have no other
 * name. The pseudo-references beside HEAD (ORIG_HEAD, FETCH_HEAD) make nothing anybody's own: a command may write them. */
#include "change/gate/gate_repo.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <string.h>

#define MAX_PACKED_REFS ((size_t)64 << 20)
#define MAX_LOOSE_REF 4096
#define MAX_REFLOG ((size_t)4 << 20)
#define MAX_LOOSE_REFS 250000

static int parse_packed(const struct gate_repo *repo, const struct buf *text, struct oids *ret)
{
	size_t digits = 2 * repo->objects.hash;
	for (const char *p = buf_str(text), *end = p + text->len; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p);
		const char *hex = *p == '^' ? p + 1 : p;
		struct git_oid oid;
		if (*p != '#' && (n < digits || !git_oid_parse(hex, repo->objects.hash, &oid)))
			return -EBADMSG;
		if (*p != '#' && ret->n >= REPO_MAX_REFS)
			return -EDQUOT;
		if (*p != '#' && oids_add(ret, &oid) < 0)
			return -ENOMEM;
		p += newline ? n + 1 : n;
	}
	return 0;
}

/* "OLD NEW NAME <MAIL> …" a line: the new ones. */
static int parse_reflog(const struct gate_repo *repo, const struct buf *text, struct oids *ret)
{
	size_t digits = 2 * repo->objects.hash;
	for (const char *p = buf_str(text); *p; p += strcspn(p, "\n"), p += *p == '\n') {
		struct git_oid oid;
		if (strcspn(p, "\n") < 2 * digits + 1 || !git_oid_parse(p + digits + 1, repo->objects.hash, &oid))
			return -EBADMSG;
		if (oids_add(ret, &oid) < 0)
			return -ENOMEM;
	}
	return 0;
}

int gate_refs_parse(const struct gate_repo *repo, const char *rest, const struct buf *text, struct oids *ret)
{
	struct git_oid oid;
	if (strcmp(rest, "packed-refs") == 0)
		return parse_packed(repo, text, ret);
	if (strncmp(rest, "logs/", 5) == 0)
		return parse_reflog(repo, text, ret);
	if (strncmp(buf_str(text), "ref:", 4) == 0 || text->len == 0)
		return 0; /* what it leads to is a reference of its own */
	if (text->len < 2 * repo->objects.hash || !git_oid_parse(text->data, repo->objects.hash, &oid))
		return 0; /* nor does git find anything in it */
	return oids_add(ret, &oid);
}

bool gate_ref_leads_to_ref(const struct buf *text)
{
	const char *s = buf_str(text);
	return strncmp(s, "ref:", 4) != 0 || strncmp(s + 4 + strspn(s + 4, " \t\r\n\v\f"), "refs/", 5) == 0;
}

bool gate_packed_replaces(const struct buf *before, const struct buf *after)
{
	static const char name[] = " refs/replace/";
	const char *text = buf_str(after), *end = text + after->len;
	for (const char *p; (p = memmem(text, (size_t)(end - text), name, sizeof name - 1)); text = p + 1) {
		const char *line = p, *newline = memchr(p, '\n', (size_t)(end - p));
		while (line > buf_str(after) && line[-1] != '\n')
			line--;
		size_t n = (size_t)((newline ? newline : end) - line);
		if (!memmem(buf_str(before), before->len, line, n))
			return true;
	}
	return false;
}

int gate_unfinished_parse(const struct gate_repo *repo, const struct buf *text, struct oids *ret)
{
	static const char blanks[] = " \t\r\n";
	size_t digits = 2 * repo->objects.hash;
	for (const char *p = buf_str(text) + strspn(buf_str(text), blanks); *p;) {
		size_t n = strcspn(p, blanks);
		struct git_oid oid;
		if (n == digits && git_oid_parse(p, repo->objects.hash, &oid) && oids_add(ret, &oid) < 0)
			return -ENOMEM;
		p += n;
		p += strspn(p, blanks);
	}
	return 0;
}

/* Branches come before tags: a checkout leads to one of them. */
static int note_packed_tips(struct gate_repo *repo, const char *text)
{
	size_t digits = 2 * repo->objects.hash;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		struct git_oid oid;
		if (strcspn(p, "\n") <= digits || strncmp(p + digits, " refs/tags/", 11) == 0 ||
		    !git_oid_parse(p, repo->objects.hash, &oid))
			continue;
		if (repo->tips.n == REPO_MAX_TIPS)
			return 0;
		if (oids_add(&repo->tips, &oid) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int note_tips(struct gate_repo *repo, const char *path, const struct buf *text, size_t first)
{
	int rc = 0;
	if (strcmp(path, "packed-refs") == 0)
		return note_packed_tips(repo, buf_str(text));
	for (size_t i = first; rc == 0 && i < repo->old.n && repo->tips.n < REPO_MAX_TIPS; i++)
		rc = oids_add(&repo->tips, &repo->old.v[i]);
	return rc;
}

static int add_ref(struct gate_repo *repo, const char *path, size_t limit)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	size_t first = repo->old.n;
	int rc = gate_repo_read(repo, path, false, limit, &text);
	if (rc == 0)
		rc = gate_refs_parse(repo, path, &text, &repo->old);
	if (rc == 0)
		rc = note_tips(repo, path, &text, first);
	return rc == -ENOENT || rc == -EBADMSG ? 0 : rc; /* what git cannot read names nothing */
}

/* dir: "refs", or "worktrees", of which each has a HEAD. */
static int add_refs_below(struct gate_repo *repo, const char *dir)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	_cleanup_free_ char *full = *repo->dir ? path_join(repo->dir, dir) : strdup(dir);
	int live = repo->g->roots[repo->root].live;
	if (!full)
		return -ENOMEM;
	int event = live < 0 ? -ENOENT : fs_open_beneath(live, full, O_RDONLY | O_DIRECTORY);
	if (event < 0)
		return 0;
	event = fs_walk_start(&w, event);
	for (size_t seen = 0; event >= 0 && (event = fs_walk_next(&w)) > 0; seen++) {
		if (seen > MAX_LOOSE_REFS)
			return -EDQUOT;
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
		if (event != FS_WALK_ENTRY || (dir[0] == 'w' && strcmp(w.name, "HEAD") != 0))
			continue;
		const char *below = fs_walk_path(&w);
		_cleanup_free_ char *path = below ? path_join(dir, below) : NULL;
		int rc = path ? add_ref(repo, path, MAX_LOOSE_REF) : -ENOMEM;
		if (rc < 0 && rc != -EFBIG)
			return rc;
	}
	return event;
}

static int read_old(struct gate_repo *repo)
{
	int rc = add_ref(repo, "HEAD", MAX_LOOSE_REF);
	rc = rc < 0 ? rc : add_ref(repo, "logs/refs/stash", MAX_REFLOG);
	rc = rc < 0 ? rc : add_refs_below(repo, "worktrees");
	rc = rc < 0 ? rc : add_refs_below(repo, "refs");
	rc = rc < 0 ? rc : add_ref(repo, "packed-refs", MAX_PACKED_REFS);
	oids_sort(&repo->old);
	return rc;
}

int gate_repo_read_old(struct gate_repo *repo)
{
	if (repo->old_rc > 0)
		repo->old_rc = repo->is_new ? 0 : repo->is_reftable ? -EOPNOTSUPP : read_old(repo);
	return repo->old_rc;
}
