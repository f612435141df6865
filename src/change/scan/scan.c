/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layer against the live tree, after the sandbox is dead.
 *
 * One walk over the upper directory, with the live directory of the same path beside it (scan_levels.c): the cost is that
 * of what the command touched, not of the project (I8). Nothing is followed or opened that was not looked at first (I6),
 * and nothing is changed, but for modes inside the layer that must be put back (I2).
 *
 * Runs as the user, without privileges: what the live tree does not let us read is noted and reported as changed;
 * what the layer does not let us read, though its entries are ours, is an error.
 */
#include "change/scan/scan_parts.h"

#include "base/path.h"
#include "base/text.h"
#include "change/reason.h"
#include "change/same_root.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

/* ── Saying ── */

void scan_note(struct scan *s, const char *path, int errnum, enum airlock_note_code consequence)
{
	if (!path)
		s->notes->failed = true;
	else if (s->n_notes++ < SCAN_NOTES_MAX)
		notes_add(s->notes, &(struct airlock_note){.code = consequence,
							   .subject = path,
							   .cause = errnum == EXDEV ? NULL : strerror(errnum)});
}

static int finish_notes(struct scan *s)
{
	if (s->n_notes > SCAN_NOTES_MAX)
		NOTE(s->notes, UNREAD_MORE, .number = (int64_t)(s->n_notes - SCAN_NOTES_MAX));
	return s->notes->failed ? base_oom(s->err) : 0;
}

int scan_fail(struct scan *s, int errnum, const char *op, const char *path)
{
	_cleanup_free_ char *full = path_join(s->set->roots[s->root].upper, path ? path : "");
	if (!full || errnum == -ENOMEM)
		return base_oom(s->err);
	return base_errno(s->err, AIRLOCK_ERR_IO, errnum, op, full);
}

bool scan_is_shortage(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

int scan_shortage(struct scan *s, int rc, const char *path)
{
	return rc == -ENOMEM ? base_oom(s->err) : base_errno(s->err, AIRLOCK_ERR_IO, rc, "open", path);
}

/* ── Reporting ── */

static int give_reason(struct scan *s, struct change *c, enum airlock_reason_code code)
{
	return change_reason_set(c, change_reason_of(code)) < 0 ? base_oom(s->err) : 0;
}

int scan_judge_setid(struct scan *s, struct change *c)
{
	/* A bit that stays is kept only on the very content it was given to. */
	bool same_content = c->kind == CHANGE_METADATA || c->kind == CHANGE_RENAMED;
	uint32_t kept = same_content && c->before.type == CHANGE_FILE ? c->before.mode : 0;
	uint32_t dropped = c->after.type == CHANGE_FILE ? c->after.mode & ~kept & (S_ISUID | S_ISGID) : 0;
	c->setid_dropped = dropped != 0;
	change_reason_drop(c, REASON_ADJUSTED);
	if (!dropped)
		return 0;
	return give_reason(s, c,
			   dropped == S_ISUID	? AIRLOCK_REASON_SETUID_DROPPED
			   : dropped == S_ISGID ? AIRLOCK_REASON_SETGID_DROPPED
						: AIRLOCK_REASON_SETIDS_DROPPED);
}

static int judge_other(struct scan *s, struct change *c, mode_t mode)
{
	if (S_ISFIFO(mode)) {
		c->verdict = CHANGE_HOLD;
		return give_reason(s, c, AIRLOCK_REASON_NAMED_PIPE);
	}
	c->verdict = CHANGE_SKIP;
	c->state = CHANGE_SKIPPED;
	return give_reason(s, c, S_ISSOCK(mode) ? AIRLOCK_REASON_SOCKET : AIRLOCK_REASON_DEVICE);
}

static struct airlock_owner owner_of(const struct stat *st)
{
	return st ? (struct airlock_owner){st->st_uid, st->st_gid} : (struct airlock_owner){0};
}

bool scan_changes_owner(const struct scan *s, const struct change *c)
{
	return s->compare.owners && (c->owner.uid != c->owner_before.uid || c->owner.gid != c->owner_before.gid);
}

struct change *scan_report(struct scan *s, const char *path, enum change_kind kind, const struct stat *before,
			   const struct stat *after)
{
	struct change *c = change_set_add(s->set, s->root, path);
	if (!c) {
		(void)base_oom(s->err);
		return NULL;
	}
	c->kind = kind;
	c->verdict = CHANGE_APPLY;
	c->state = CHANGE_HELD;
	if (before)
		c->before = change_stat_of(before);
	if (after)
		c->after = change_stat_of(after);
	c->owner_before = owner_of(before ? before : after);
	c->owner = owner_of(after ? after : before);
	c->type = after ? c->after.type : c->before.type;
	scan_top(s)->entries_changed = true;
	int rc = after && c->type == CHANGE_OTHER ? judge_other(s, c, after->st_mode) : scan_judge_setid(s, c);
	return rc < 0 ? NULL : c;
}

/* ── Entries that are not directories ── */

/* The entry the walk is at, on both sides. */
struct pair {
	const char *path; /* borrowed from the walk */
	struct stat upper_st, live_st;
	enum scan_live live;
	bool copied_up;
	bool is_given; /* by the command, to somebody else */
};

static int report_pair(struct scan *s, const struct pair *p, enum change_kind kind)
{
	const struct stat *before = p->live == SCAN_PRESENT ? &p->live_st : NULL;
	struct change *c = scan_report(s, p->path, kind, before, &p->upper_st);
	if (!c)
		return AIRLOCK_ERR_INTERNAL;
	c->copied_up = p->copied_up;
	c->has_owner = before ? scan_changes_owner(s, c) : p->is_given;
	return 0;
}

/* Unlocked for the comparison only: attributes, unlike content, need the permission at every call. */
static int compare_pair(struct scan *s, const struct pair *p, struct comparison *ret)
{
	int dirfd = fs_walk_dirfd(&s->upper);
	const char *name = s->upper.name;
	const struct compare_side upper = {dirfd, name, &p->upper_st};
	const struct compare_side live = {scan_top(s)->live_fd, name, &p->live_st};
	int unlocked = upper_unlock(dirfd, name, &p->upper_st);
	if (unlocked < 0)
		return scan_fail(s, unlocked, "chmod", p->path);
	int rc = compare_entries(&s->compare, &upper, &live, ret);
	int back = unlocked ? upper_relock(dirfd, name, &p->upper_st) : 0;
	if (rc < 0 || back < 0)
		return scan_fail(s, rc < 0 ? rc : back, rc < 0 ? "compare" : "chmod", p->path);
	if (ret->live_errno)
		scan_note(s, p->path, ret->live_errno, AIRLOCK_NOTE_TAKEN_AS_CHANGED);
	return 0;
}

/* The layer is a whole tree, without overlay's marks. */
static bool is_whole(const struct scan *s)
{
	return s->in_place || s->mirror;
}

/* Captured by copy: nobody has touched the live entry since it was copied, whatever a look at its content would cost. */
static bool is_untouched(const struct scan *s, const struct pair *p)
{
	return s->in_place && copy_is_untouched(s->set->origins, &p->live_st, &p->upper_st, s->set->started_ns);
}

static int on_same_type(struct scan *s, const struct pair *p)
{
	struct comparison found = {0};
	if (is_untouched(s, p))
		return 0;
	int rc = compare_pair(s, p, &found);
	if (rc == 0 && !found.differs && S_ISREG(p->upper_st.st_mode) && p->upper_st.st_nlink > 1 && !s->in_place)
		return scan_remember_link(s, p->path, &p->upper_st);
	if (rc < 0 || !found.differs)
		return rc;
	if (S_ISREG(p->upper_st.st_mode))
		scan_note_acl(s, p->path);
	return report_pair(s, p, found.differs & DIFFERS_CONTENT ? CHANGE_MODIFIED : CHANGE_METADATA);
}

static bool is_same_type(const struct stat *a, const struct stat *b)
{
	if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
		return false;
	return !(S_ISCHR(a->st_mode) || S_ISBLK(a->st_mode)) || a->st_rdev == b->st_rdev;
}

static int on_plain(struct scan *s, const struct pair *p)
{
	if (p->live == SCAN_HIDDEN)
		return report_pair(s, p, p->copied_up ? CHANGE_MODIFIED : CHANGE_ADDED);
	if (p->live == SCAN_ABSENT)
		return report_pair(s, p, CHANGE_ADDED);
	if (is_same_type(&p->upper_st, &p->live_st))
		return on_same_type(s, p);
	int rc = report_pair(s, p, CHANGE_TYPE);
	return rc == 0 && S_ISDIR(p->live_st.st_mode) ? scan_delete_content(s, s->upper.name, p->path) : rc;
}

/* Fills everything but copied_up. */
static int look(struct scan *s, struct pair *p)
{
	p->path = fs_walk_path(&s->upper);
	if (!p->path)
		return base_oom(s->err);
	if (fstatat(fs_walk_dirfd(&s->upper), s->upper.name, &p->upper_st, AT_SYMLINK_NOFOLLOW) < 0)
		return scan_fail(s, -errno, "lstat", p->path);
	int rc = s->in_place ? 0 : upper_settle_ids(fs_walk_dirfd(&s->upper), s->upper.name, &p->upper_st);
	if (rc < 0)
		return scan_fail(s, rc, "chown", p->path);
	p->is_given = rc > 0;
	p->live = scan_look_live(s, s->upper.name, &p->live_st);
	return 0;
}

static int on_whiteout(struct scan *s, const struct pair *p)
{
	if (p->live == SCAN_PRESENT)
		return scan_delete(s, s->upper.name, p->path, &p->live_st);
	if (p->live == SCAN_ABSENT)
		return 0;
	struct change *c = scan_report(s, p->path, CHANGE_DELETED, NULL, NULL);
	if (!c)
		return AIRLOCK_ERR_INTERNAL;
	c->type = CHANGE_OTHER; /* something was there: overlay makes no whiteout for nothing */
	return 0;
}

static int on_entry(struct scan *s)
{
	struct pair p = {0};
	struct upper_entry entry;
	int rc = look(s, &p);
	if (rc < 0)
		return rc;
	if (s->mirror) {
		p.copied_up =
			copy_find(s->set->origins, p.upper_st.st_ino) && copy_knew(s->set->origins, s->root, p.path);
		if (scan_top(s)->original && mirror_is_untouched(s->set, &p.upper_st))
			return 0; /* whatever others have done to the live one */
	}
	if (is_whole(s)) /* what looks like a mark there is somebody's file */
		return on_plain(s, &p);
	rc = upper_entry_read(fs_walk_dirfd(&s->upper), s->upper.name, &p.upper_st, &scan_top(s)->marks, &entry);
	if (rc < 0)
		return scan_fail(s, rc, "listxattr", p.path);
	p.copied_up = entry.copied_up;
	return entry.whiteout ? on_whiteout(s, &p) : on_plain(s, &p);
}

/* ── Directories ── */

/* The live directory beside the one to be entered: its state, descriptor and what differs in it. 1: leave it out. */
static int pair_dirs(struct scan *s, const struct pair *p, struct scan_level *l)
{
	struct comparison found = {0};
	if (p->live != SCAN_PRESENT || !S_ISDIR(p->live_st.st_mode))
		return 0;
	l->live_fd = fs_open_dir_at(scan_top(s)->live_fd, s->upper.name, O_PATH);
	if (l->live_fd == -EXDEV) {
		scan_note(s, p->path, EXDEV, AIRLOCK_NOTE_CHANGES_LEFT_OUT);
		return 1;
	}
	if (scan_is_shortage(l->live_fd))
		return scan_shortage(s, l->live_fd, p->path);
	if (l->live_fd < 0) /* gone since it was looked at */
		return 0;
	l->live = SCAN_PRESENT;
	l->live_st = p->live_st;
	if (is_untouched(s, p) || (l->original && mirror_is_untouched(s->set, &p->upper_st)))
		return 0;
	int rc = compare_pair(s, p, &found);
	l->differs = rc < 0 ? 0 : found.differs;
	return rc;
}

/* A directory that has no live one: said before its content. */
static int report_new_dir(struct scan *s, const struct pair *p, const struct scan_level *l)
{
	if (l->live == SCAN_PRESENT || l->original)
		return 0;
	if (p->live == SCAN_HIDDEN)
		return report_pair(s, p, p->copied_up ? CHANGE_METADATA : CHANGE_ADDED);
	return report_pair(s, p, p->live == SCAN_PRESENT && !S_ISDIR(p->live_st.st_mode) ? CHANGE_TYPE : CHANGE_ADDED);
}

static int read_marks(struct scan *s, struct pair *p, struct scan_level *l)
{
	if (s->mirror) {
		const struct stat *live = p->live == SCAN_PRESENT ? &p->live_st : NULL;
		l->original = scan_top(s)->original && mirror_is_original(s->set, s->root, p->path, &p->upper_st, live);
		p->copied_up = l->marks.copied_up = l->original;
	}
	if (is_whole(s))
		return 0;
	int rc = upper_dir_read(fs_walk_dirfd(&s->upper), s->upper.name, &l->marks);
	if (rc < 0)
		return scan_fail(s, rc, "getxattr", p->path);
	l->opaque = scan_top(s)->opaque || l->marks.opaque;
	p->copied_up = l->marks.copied_up;
	return 0;
}

/* Everything about the directory that is found out from outside. 1: leave it out. */
static int prepare_dir(struct scan *s, struct pair *p, struct scan_level *l)
{
	int rc = upper_unlock(fs_walk_dirfd(&s->upper), s->upper.name, &p->upper_st);
	if (rc < 0)
		return scan_fail(s, rc, "chmod", p->path);
	l->unlocked = rc > 0;
	l->upper_st = p->upper_st;
	l->live = p->live == SCAN_HIDDEN ? SCAN_HIDDEN : SCAN_ABSENT;
	rc = read_marks(s, p, l);
	rc = rc != 0 ? rc : pair_dirs(s, p, l);
	return rc != 0 ? rc : report_new_dir(s, p, l);
}

/* The walk and the levels go down together, or neither does. Takes l's descriptor. */
static int enter(struct scan *s, const struct scan_level *l)
{
	int rc = scan_push(s, l);
	if (rc < 0)
		return base_oom(s->err);
	rc = fs_walk_enter(&s->upper);
	if (rc < 0) {
		(void)scan_pop(s);
		return scan_fail(s, rc, "open", fs_walk_path(&s->upper));
	}
	return 0;
}

static int relock(struct scan *s, const struct scan_level *l)
{
	int rc = l->unlocked ? upper_relock(fs_walk_dirfd(&s->upper), s->upper.name, &l->upper_st) : 0;
	return rc < 0 ? scan_fail(s, rc, "chmod", fs_walk_path(&s->upper)) : 0;
}

static int on_dir(struct scan *s)
{
	struct pair p = {0};
	struct scan_level l = {.live_fd = -EBADF};
	int rc = look(s, &p);
	if (rc < 0)
		return rc;
	rc = prepare_dir(s, &p, &l);
	if (rc != 0)
		base_closep(&l.live_fd);
	else
		rc = enter(s, &l);
	if (rc != 0) {
		int back = relock(s, &l);
		return rc < 0 ? rc : back;
	}
	return (l.opaque || is_whole(s)) && l.live == SCAN_PRESENT ? scan_delete_hidden(s) : 0;
}

/* The time of a directory alone is no change: it follows from what was done in it, and a command that left everything in it as
 * it was (git status, which makes and removes a lock file) has changed nothing. */
static int report_old_dir(struct scan *s, const struct scan_level *l)
{
	unsigned differs = l->differs & ~(unsigned)DIFFERS_MTIME;
	const char *path = fs_walk_path(&s->upper);
	bool is_idle = s->in_place && !l->entries_changed && l->differs == DIFFERS_MTIME;
	if (!differs && !is_idle)
		return 0;
	if (!path)
		return base_oom(s->err);
	if (is_idle) {
		int rc = change_set_take_idle(s->set, s->root, strdup(path), change_stat_of(&l->live_st).mtime_ns,
					      change_stat_of(&l->upper_st).mtime_ns);
		return rc < 0 ? base_oom(s->err) : 0;
	}
	struct change *c = scan_report(s, path, CHANGE_METADATA, &l->live_st, &l->upper_st);
	if (!c)
		return AIRLOCK_ERR_INTERNAL;
	c->opaque = l->opaque;
	c->copied_up = l->marks.copied_up;
	c->has_owner = scan_changes_owner(s, c);
	return 0;
}

static int on_leave(struct scan *s)
{
	struct scan_level l = scan_pop(s);
	int rc = report_old_dir(s, &l);
	int back = relock(s, &l);
	return rc < 0 ? rc : back;
}

/* ── The walk ── */

static int walk(struct scan *s)
{
	for (;;) {
		int event = fs_walk_next(&s->upper), rc = 0;
		if (event == FS_WALK_END)
			return 0;
		if (event < 0)
			return scan_fail(s, event, "read", fs_walk_path(&s->upper));
		if (event == FS_WALK_ENTRY)
			rc = on_entry(s);
		else
			rc = event == FS_WALK_DIR ? on_dir(s) : on_leave(s);
		if (rc < 0)
			return rc;
	}
}

/* After a failure: out of every directory again, so that each gets its mode back. */
static void unwind(struct scan *s)
{
	while (s->depth > 1) {
		fs_walk_skip(&s->upper);
		if (fs_walk_next(&s->upper) != FS_WALK_LEAVE)
			return;
		struct scan_level l = scan_pop(s);
		(void)relock(s, &l);
	}
}

/* The live root must be the directory the command worked on. */
static int open_live_root(struct scan *s)
{
	const struct change_root *root = &s->set->roots[s->root];
	_cleanup_close_ int fd = open(root->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		int code =
			errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? AIRLOCK_ERR_CONFLICT : AIRLOCK_ERR_IO;
		return base_errno(s->err, code, errno, "open", root->path);
	}
	if (!same_root(fd, &st, &(struct same_root_key){root->device, root->inode, s->set->started_ns}))
		return base_error(s->err, AIRLOCK_ERR_CONFLICT, "open", root->path,
				  "%s is not the same directory as when the command began", root->path);
	if (root->below_fd > 0) {
		s->live_root = fcntl(root->below_fd, F_DUPFD_CLOEXEC, 3);
		return s->live_root < 0 ? base_errno(s->err, AIRLOCK_ERR_IO, errno, "dup", root->path) : 0;
	}
	s->live_root = root->copy ? open(root->copy, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : TAKE_FD(fd);
	return s->live_root < 0 ? base_errno(s->err, AIRLOCK_ERR_IO, errno, "open", root->copy) : 0;
}

/* The root's own attributes are the layer's, not the command's: it is never a change. Takes fd. */
static int start(struct scan *s, int fd, const struct scan_level *top)
{
	struct scan_level l = *top;
	l.live = SCAN_PRESENT;
	l.live_fd = fcntl(s->live_root, F_DUPFD_CLOEXEC, 3);
	int rc = l.live_fd < 0			    ? -errno
		 : fstat(l.live_fd, &l.live_st) < 0 ? -errno
		 : is_whole(s)			    ? 0
						    : upper_dir_read(fd, NULL, &l.marks);
	if (rc < 0) {
		base_closep(&l.live_fd);
		base_closep(&fd);
		return scan_fail(s, rc, "open", NULL);
	}
	rc = scan_push(s, &l);
	if (rc < 0)
		base_closep(&fd);
	else
		rc = fs_walk_start(&s->upper, fd);
	if (rc < 0)
		return scan_fail(s, rc, "read", NULL);
	return is_whole(s) ? scan_delete_hidden(s) : 0;
}

static int walk_upper(struct scan *s, const struct scan_level *top)
{
	int fd = open(change_root_after(&s->set->roots[s->root]), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? scan_fail(s, -errno, "open", NULL) : start(s, fd, top);
	if (rc == 0)
		rc = walk(s);
	if (rc < 0 && s->upper.depth > 0)
		unwind(s);
	fs_walk_done(&s->upper);
	scan_levels_done(s);
	return rc;
}

static int scan_root(struct scan *s)
{
	const char *upper = change_root_after(&s->set->roots[s->root]);
	struct scan_level top = {.live_fd = -EBADF, .original = true};
	s->in_place = s->set->roots[s->root].copy != NULL;
	s->mirror = s->set->roots[s->root].mirror;
	/* Copies that an ordinary user makes are his own. */
	s->compare.owners = !is_whole(s) || geteuid() == 0;
	int rc = open_live_root(s);
	if (rc < 0)
		return rc;
	if (lstat(upper, &top.upper_st) < 0)
		return scan_fail(s, -errno, "lstat", NULL);
	rc = s->in_place ? 0 : upper_settle_ids(AT_FDCWD, upper, &top.upper_st);
	if (rc < 0)
		return scan_fail(s, rc, "chown", NULL);
	int unlocked = upper_unlock(AT_FDCWD, upper, &top.upper_st);
	if (unlocked < 0)
		return scan_fail(s, unlocked, "chmod", NULL);
	s->first = s->set->n;
	rc = walk_upper(s, &top);
	rc = rc < 0 ? rc : scan_find_renames(s);
	rc = rc < 0 ? rc : scan_note_moved_acls(s);
	int links = scan_find_links(s);
	rc = rc < 0 ? rc : links;
	int back = unlocked ? upper_relock(AT_FDCWD, upper, &top.upper_st) : 0;
	return rc < 0 ? rc : back < 0 ? scan_fail(s, back, "chmod", NULL) : 0;
}

static bool has_each_path_once(const struct change_set *set)
{
	for (size_t i = 1; i < set->n; i++)
		if (set->v[i - 1].root == set->v[i].root && strcmp(set->v[i - 1].path, set->v[i].path) == 0)
			return false;
	return true;
}

int change_scan(struct change_set *set, struct notes *notes, struct airlock_error *err)
{
	_cleanup_notes_ struct notes unheard = NOTES_INIT;
	struct scan s = {.set = set, .notes = notes ? notes : &unheard, .err = err, .live_root = -EBADF};
	int rc = 0;
	for (s.root = 0; rc == 0 && s.root < set->n_roots; s.root++) {
		rc = scan_root(&s);
		base_closep(&s.live_root);
	}
	compare_done(&s.compare);
	rc = rc < 0 ? rc : finish_notes(&s);
	change_set_sort(set);
	assert(rc < 0 || has_each_path_once(set)); /* I7 */
	return rc;
}
