/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two ways to the same list. The search walks the project, once and on request. Verifying, on every run, only checks
 * where the remembered links lead today. Neither makes anything writable: that needs a person's answer to this link
 * with this target, and a link that was changed since is another link.
 *
 * The search reads directories and link targets, nothing else: d_type identifies the symlinks, so that a file costs no
 * system call. It stays on each directory's mount: what is mounted in a project (a network share, a chroot's /proc)
 * may be endless or hang. The entries of a directory are sorted before they are judged, so that the result does not
 * depend on the file system's order. */
#include "project/link_search.h"

#include "base/array.h"
#include "base/path.h"
#include "fs/fs.h"
#include "fs/inodes.h"
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define PROGRESS_EVERY 4096
/* Limits for a project full of links: each link is checked on every run, each target is a mount. */
#define MAX_PER_TARGET 8
#define MAX_TARGETS 256
#define MAX_REFUSED 256 /* for people to look at */
#define MAX_NOTES 32

struct project_link *links_add(struct links *l, const char *path, const char *target, enum airlock_link_state state)
{
	struct project_link new = {.path = strdup(path), .target = strdup(target), .state = state};
	if (!new.path || !new.target || !ARRAY_ROOM(l->v, l->n, l->cap, 8))
		l->failed = true;
	if (!l->failed) {
		l->v[l->n] = new;
		return &l->v[l->n++];
	}
	free(new.path);
	free(new.target);
	return NULL;
}

const struct project_link *links_find(const struct links *l, const char *path, const char *target)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0 && strcmp(l->v[i].target, target) == 0)
			return &l->v[i];
	return NULL;
}

const struct project_link *links_find_path(const struct links *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0)
			return &l->v[i];
	return NULL;
}

void links_done(struct links *l)
{
	for (size_t i = 0; i < l->n; i++)
		project_link_done(&l->v[i]);
	base_freep(&l->v);
	*l = (struct links)LINKS_INIT;
}

/* The target that a person allowed earlier, if the link leads elsewhere now. */
static void set_before(struct links *l, struct project_link *link, const struct links *remembered)
{
	for (size_t i = 0; link && i < remembered->n; i++) {
		const struct project_link *old = &remembered->v[i];
		if (old->state != AIRLOCK_LINK_ALLOWED || strcmp(old->path, link->path) != 0)
			continue;
		link->before = strdup(old->target);
		l->failed |= !link->before;
		return;
	}
}

/* Adds a link whose target may become a root, with the existing answer. */
static void add_answerable(struct links *l, const char *path, const char *target, const struct links *remembered)
{
	const struct project_link *known = links_find(remembered, path, target);
	struct project_link *new = links_add(l, path, target, known ? known->state : AIRLOCK_LINK_UNANSWERED);
	if (!known)
		set_before(l, new, remembered);
}

static void add_refused(struct links *l, const char *path, const char *target, enum roots_verdict verdict,
			const char *secret)
{
	struct project_link *new = links_add(l, path, target, AIRLOCK_LINK_REFUSED);
	if (!new)
		return;
	new->reason = roots_reason(verdict);
	new->secret = secret ? strdup(secret) : NULL;
	l->failed |= secret && !new->secret;
}

struct link_search {
	const struct roots_rules *rules;
	const struct project_query *q;
	const struct links *remembered;
	struct links *found;
	struct notes *notes;
	size_t notes_left_out;
	struct strs queue; /* directories to search, the project first */
	size_t targets, refused;
	struct fs_inodes seen;
	size_t entries;
	bool full; /* MAX_TARGETS was reached and reported */
};

static bool room_for_note(struct link_search *s)
{
	if (s->notes->n < MAX_NOTES)
		return true;
	s->notes_left_out++;
	return false;
}

static void count_entry(struct link_search *s)
{
	if (++s->entries % PROGRESS_EVERY == 0 && s->q->progress)
		s->q->progress(s->entries, s->q->progress_data);
}

/* The shortest unambiguous name of a link or directory found in dir. */
static char *name_in(const struct link_search *s, const char *dir, const char *rel)
{
	return strcmp(dir, s->rules->project) == 0 ? strdup(rel) : path_join(dir, rel);
}

static void note_unsearched(struct link_search *s, const char *dir, const char *rel, int errnum)
{
	if (errnum == -ENOENT || errnum == -ENOTDIR || errnum == -ELOOP) /* gone or replaced since */
		return;
	_cleanup_free_ char *path = rel ? path_join(dir, rel) : strdup(dir);
	if (!path || !room_for_note(s))
		return;
	if (errnum == -EXDEV)
		NOTE(s->notes, MOUNT_NOT_SEARCHED, .subject = path);
	else
		NOTE(s->notes, NOT_SEARCHED, .subject = path, .cause = strerrordesc_np(-errnum));
}

/* A link that leads to a directory outside dir becomes a candidate. */
static void look_at_link(struct fs_walk *w, const char *dir, struct links *candidates)
{
	struct stat st;
	if (fstatat(fs_walk_dirfd(w), w->name, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return;
	const char *rel = fs_walk_path(w);
	_cleanup_free_ char *path = rel ? path_join(dir, rel) : NULL;
	if (!path) {
		candidates->failed = true;
		return;
	}
	_cleanup_free_ char *target = realpath(path, NULL);
	if (target && !path_is_beneath(target, dir))
		(void)links_add(candidates, rel, target, AIRLOCK_LINK_UNANSWERED);
}

/* Skips git's own directory, and a directory already seen under another name. */
static int enter_dir(struct link_search *s, struct fs_walk *w, const char *dir)
{
	if (strcmp(w->name, ".git") == 0)
		return 0;
	int rc = fs_walk_enter(w);
	if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
		return rc;
	if (rc < 0)
		note_unsearched(s, dir, fs_walk_path(w), rc);
	else if (!fs_inodes_add(&s->seen, fs_walk_dir(w)->dev, fs_walk_dir(w)->ino))
		fs_walk_skip(w);
	return 0;
}

/* Returns -errno only for errors that end the whole search. */
static int walk_dir(struct link_search *s, const char *dir, struct fs_walk *w, struct links *candidates)
{
	for (;;) {
		int event = fs_walk_next(w);
		if (event == FS_WALK_END)
			return 0;
		if (event < 0) {
			note_unsearched(s, dir, fs_walk_path(w), event);
			return 0;
		}
		if (event != FS_WALK_LEAVE)
			count_entry(s);
		int rc = 0;
		if (event == FS_WALK_DIR)
			rc = enter_dir(s, w, dir);
		else if (event == FS_WALK_ENTRY && w->type == DT_LNK)
			look_at_link(w, dir, candidates);
		if (rc < 0)
			return rc;
	}
}

static int collect(struct link_search *s, const char *dir, struct links *candidates)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -errno : fs_walk_start(&w, fd);
	if (rc < 0) {
		note_unsearched(s, dir, NULL, rc);
		return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE ? rc : 0;
	}
	if (!fs_inodes_add(&s->seen, fs_walk_dir(&w)->dev, fs_walk_dir(&w)->ino))
		return 0;
	return walk_dir(s, dir, &w, candidates);
}

static void note_refused(struct link_search *s, const char *path, const char *target, enum roots_verdict verdict,
			 const char *secret)
{
	_cleanup_buf_ struct buf why = BUF_INIT;
	if (!room_for_note(s))
		return;
	roots_add_reason(&why, verdict, secret);
	NOTE(s->notes, LINK_REFUSED, .subject = path, .other = target, .cause = buf_str(&why));
}

static size_t count_target(const struct links *l, const char *target)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += strcmp(l->v[i].target, target) == 0;
	return n;
}

/* Continues only into directories that a person has allowed: what is behind other links does not belong to the
 * project. */
static void accept(struct link_search *s, const char *path, const char *target)
{
	size_t known = count_target(s->found, target);
	if (known >= MAX_PER_TARGET && !links_find(s->remembered, path, target))
		return;
	if (known == 0 && s->targets >= MAX_TARGETS) {
		if (!s->full)
			NOTE(s->notes, LINKS_MANY, .number = MAX_TARGETS);
		s->full = true;
		return;
	}
	s->targets += known == 0;
	add_answerable(s->found, path, target, s->remembered);
	if (!s->found->failed && s->found->v[s->found->n - 1].state == AIRLOCK_LINK_ALLOWED &&
	    !strs_has(&s->queue, target))
		strs_add(&s->queue, target);
}

static void judge(struct link_search *s, const char *dir, const struct project_link *candidate)
{
	const char *secret = NULL;
	enum roots_verdict verdict = roots_judge(s->rules, candidate->target, &secret);
	if (verdict == ROOTS_INSIDE)
		return;
	_cleanup_free_ char *path = name_in(s, dir, candidate->path);
	if (!path) {
		s->found->failed = true;
	} else if (verdict == ROOTS_OK) {
		accept(s, path, candidate->target);
	} else {
		note_refused(s, path, candidate->target, verdict, secret);
		if (s->refused++ < MAX_REFUSED)
			add_refused(s->found, path, candidate->target, verdict, secret);
	}
}

static int compare(const void *a, const void *b)
{
	return path_compare(((const struct project_link *)a)->path, ((const struct project_link *)b)->path);
}

static int search_dir(struct link_search *s, const char *dir)
{
	_cleanup_links_ struct links candidates = LINKS_INIT;
	if (strcmp(path_basename(dir), ".git") == 0 && strcmp(dir, s->rules->project) != 0)
		return 0;
	int rc = collect(s, dir, &candidates);
	if (rc < 0)
		return rc;
	if (candidates.n > 1)
		qsort(candidates.v, candidates.n, sizeof *candidates.v, compare);
	for (size_t i = 0; i < candidates.n; i++)
		judge(s, dir, &candidates.v[i]);
	return candidates.failed ? -ENOMEM : 0;
}

/* The queue grows while we work through it. */
static int search_all(struct link_search *s)
{
	strs_add(&s->queue, s->rules->project);
	for (size_t i = 0; i < s->queue.n; i++) {
		int rc = search_dir(s, s->queue.v[i]);
		if (rc < 0)
			return rc;
	}
	if (s->notes_left_out > 0)
		NOTE(s->notes, LINKS_LEFT_OUT, .number = (int64_t)s->notes_left_out);
	return s->queue.failed || s->seen.failed || s->found->failed || s->notes->failed ? -ENOMEM : 0;
}

int links_search(const struct roots_rules *rules, const struct project_query *q, const struct links *remembered,
		 struct links *found, struct notes *notes, struct airlock_error *err)
{
	struct link_search s = {.rules = rules, .q = q, .remembered = remembered, .found = found, .notes = notes};
	int rc = search_all(&s);
	strs_done(&s.queue);
	fs_inodes_done(&s.seen);
	if (rc == -ENOMEM)
		return base_oom(err);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "search", rules->project) : 0;
}

/* A link in a linked root counts only as long as that directory is still a root. */
static bool lies_in_a_root(const char *path, const struct roots_rules *rules, const struct links *now)
{
	if (path_is_beneath(path, rules->project))
		return true;
	for (size_t i = 0; i < now->n; i++)
		if (now->v[i].state == AIRLOCK_LINK_ALLOWED && path_is_beneath(path, now->v[i].target))
			return true;
	return false;
}

/* NULL if the link or its target is gone: nothing to report then. */
static char *where_it_leads(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
		return NULL;
	char *target = realpath(path, NULL);
	if (target && stat(target, &st) == 0 && S_ISDIR(st.st_mode))
		return target;
	free(target);
	return NULL;
}

static void verify_one(const struct roots_rules *rules, const struct links *remembered, const char *name,
		       struct links *now, struct notes *notes)
{
	_cleanup_buf_ struct buf why = BUF_INIT;
	_cleanup_free_ char *path = path_normalize(rules->project, name);
	const char *secret = NULL;
	if (!path)
		now->failed = true;
	if (!path || !lies_in_a_root(path, rules, now))
		return;
	_cleanup_free_ char *target = where_it_leads(path);
	/* Judged again: the home directory or the list of secrets may have changed. */
	enum roots_verdict verdict = target ? roots_judge(rules, target, &secret) : ROOTS_INSIDE;
	if (verdict == ROOTS_INSIDE)
		return;
	if (verdict == ROOTS_OK) {
		add_answerable(now, name, target, remembered);
		return;
	}
	add_refused(now, name, target, verdict, secret);
	roots_add_reason(&why, verdict, secret);
	NOTE(notes, LINK_REFUSED, .subject = name, .other = target, .cause = buf_str(&why));
}

int links_verify(const struct roots_rules *rules, const struct links *remembered, struct links *now,
		 struct notes *notes, struct airlock_error *err)
{
	for (size_t i = 0; i < remembered->n; i++) /* a link that was changed may have several entries */
		if (links_find_path(remembered, remembered->v[i].path) == &remembered->v[i])
			verify_one(rules, remembered, remembered->v[i].path, now, notes);
	return now->failed || notes->failed ? base_oom(err) : 0;
}

/* ── One link that a person named ── */

static int no_such_link(const char *path, const char *name, struct airlock_error *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "link", name, "there is no symlink %s", name);
	if (!S_ISLNK(st.st_mode))
		return base_error(err, AIRLOCK_ERR_INVALID, "link", name, "%s is not a symlink", name);
	if (stat(path, &st) < 0 && base_is_absent(errno)) {
		base_error(err, AIRLOCK_ERR_NOT_FOUND, "link", name, "the symlink %s leads to nothing", name);
		return base_hint(err, "create the directory first: you allow a link together with its target");
	}
	base_error(err, AIRLOCK_ERR_INVALID, "link", name, "the symlink %s does not lead to a directory", name);
	return base_hint(err, "a file behind a link is never writable; --allow-write allows it for one run");
}

int links_look(const struct roots_rules *rules, const char *name, struct links *found, struct airlock_error *err)
{
	_cleanup_buf_ struct buf why = BUF_INIT;
	_cleanup_free_ char *path = path_normalize(rules->project, name);
	_cleanup_free_ char *target = path ? where_it_leads(path) : NULL;
	const char *secret = NULL;
	if (!path)
		return base_oom(err);
	if (!target)
		return no_such_link(path, name, err);
	enum roots_verdict verdict = roots_judge(rules, target, &secret);
	if (verdict == ROOTS_INSIDE)
		return base_error(err, AIRLOCK_ERR_INVALID, "link", name,
				  "the symlink %s leads to %s, inside the project: there is nothing to allow or deny",
				  name, target);
	if (verdict == ROOTS_OK)
		return links_add(found, name, target, AIRLOCK_LINK_UNANSWERED) ? 0 : base_oom(err);
	roots_add_reason(&why, verdict, secret);
	return base_error(err, AIRLOCK_ERR_BLOCKED, "link", name, "the symlink %s leads to %s: never made writable, %s",
			  name, target, buf_str(&why));
}
