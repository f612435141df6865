/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/backups.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "change/image.h"
#include "change/reason.h"
#include "change/transfer.h"
#include "fs/fs.h"
#include "history/records.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* One file that is to have a backup. */
struct wanted {
	size_t change;
	int64_t file;
	char name[256];
};

struct backups {
	const struct host *host;
	const struct apply_request *request;
	struct store *store;
	int64_t project;
	const char *project_dir; /* NULL: none of the roots has records */
	bool applied;		 /* what the request is about is done already */
	char date[16];
	char *dir;
	int dir_fd;
	struct wanted *v;
	size_t n;
	struct airlock_error *err;
};

void backups_date(int64_t ns, char out[16])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	out[0] = '\0';
	if (localtime_r(&seconds, &tm))
		(void)snprintf(out, 16, "%02u-%02u-%02u", (unsigned)tm.tm_year % 100, (unsigned)tm.tm_mon % 12 + 1,
			       (unsigned)tm.tm_mday % 32);
}

void backups_name(char out[256], int64_t id, const char *date, const char *basename)
{
	int head = snprintf(out, 256, "%" PRId64 "-%s-", id, date);
	size_t room = 255 - (size_t)head, len = strlen(basename), fits = 0;
	for (size_t at = 0; at < len;) { /* never in the middle of a character */
		size_t n = text_utf8_length((const unsigned char *)basename + at, len - at);
		n = n ? n : 1;
		if (at + n > room)
			break;
		fits = at += n;
	}
	memcpy(out + head, basename, fits);
	out[(size_t)head + fits] = '\0';
}

static void backups_done(struct backups *b)
{
	store_close(b->store);
	base_closep(&b->dir_fd);
	free(b->dir);
	free(b->v);
}

static int cannot(struct backups *b, const struct airlock_error *why)
{
	int rc = base_error(b->err, why->code, why->op, why->subject, "cannot make the daily backup: %s", why->message);
	base_hint(b->err, "%s", why->hint[0] ? why->hint : "nothing was changed; fix this, then apply the run");
	return rc;
}

/* Where before-images of changes are that are applied. */
struct images {
	int before_fd;
	int *layer_fds;
	size_t n;
};

static void images_done(struct images *m)
{
	base_closep(&m->before_fd);
	for (size_t i = 0; i < m->n; i++)
		base_closep(&m->layer_fds[i]);
	base_freep(&m->layer_fds);
	m->n = 0;
}

/* A missing file has no backup. */
static int images_open(struct images *m, const struct apply_request *r, struct airlock_error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_free_ char *dir = path_join(r->run_dir, "before");
	m->before_fd = -EBADF;
	m->layer_fds = calloc(r->set->n_roots + 1, sizeof *m->layer_fds);
	if (!dir || !m->layer_fds)
		return base_oom(err);
	m->before_fd = open(dir, flags);
	if (m->before_fd < 0 && errno != ENOENT)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (; m->n < r->set->n_roots; m->n++)
		m->layer_fds[m->n] = open(r->set->roots[m->n].upper, flags);
	return 0;
}

static int image_of(const struct images *m, const struct change *c, struct change_image *ret)
{
	return change_find_image(m->before_fd, m->layer_fds[c->root], c, ret);
}

/* ── Before ── */

static bool is_selected(const struct apply_request *r, size_t i)
{
	const struct change *c = &r->set->v[i];
	if (r->undo)
		return c->state == CHANGE_APPLIED && (!r->selected || r->selected[i]);
	return (c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT) &&
	       (r->selected ? r->selected[i] : c->verdict == CHANGE_APPLY);
}

static bool loses_content(const struct change *c)
{
	return c->before.type == CHANGE_FILE &&
	       (c->kind == CHANGE_MODIFIED || c->kind == CHANGE_DELETED || c->kind == CHANGE_TYPE);
}

static bool has_of_today(struct backups *b, int64_t file, struct airlock_error *err)
{
	_cleanup_backups_ struct store_backups l = {0};
	struct stat st;
	if (store_backup_of_file(b->store, file, &l, err) < 0 || l.n == 0 || strcmp(l.v[0].date, b->date) != 0)
		return false;
	return fstatat(b->dir_fd, l.v[0].name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int want(struct backups *b, size_t i, struct airlock_error *err)
{
	const struct change *c = &b->request->set->v[i];
	struct store_file f;
	_cleanup_free_ char *path = records_path(b->project_dir, b->request->set, c->root, c->path);
	if (!path)
		return base_oom(err);
	int rc = store_file_find(b->store, b->project, path, &f, err);
	if (rc <= 0)
		return rc;
	if (strcmp(f.type, "file") == 0 && !has_of_today(b, f.id, err)) {
		assert(b->v); /* plan made it */
		struct wanted *w = &b->v[b->n++];
		*w = (struct wanted){.change = i, .file = f.id};
		backups_name(w->name, f.id, b->date, path_basename(c->path));
	}
	store_file_done(&f);
	return err->code;
}

/* Open the database for writing first: if that fails, nothing has changed yet. */
static int open_dir(struct backups *b, struct airlock_error *err)
{
	char probe[96];
	b->dir = path_join(b->host->state_dir, BACKUPS_DIR);
	if (!b->dir)
		return base_oom(err);
	int rc = fs_make_private_dir(b->dir, err);
	if (rc < 0)
		return rc;
	b->dir_fd = open(b->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->dir_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", b->dir);
	(void)snprintf(probe, sizeof probe, ".new-%s", b->request->set->run);
	_cleanup_close_ int fd = openat(b->dir_fd, probe, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || unlinkat(b->dir_fd, probe, 0) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "write", b->dir);
	return 0;
}

static int plan(struct backups *b, struct airlock_error *err)
{
	const struct change_set *set = b->request->set;
	b->v = calloc(set->n + 1, sizeof *b->v);
	int rc = b->v ? open_dir(b, err) : base_oom(err);
	for (size_t i = 0; rc == 0 && i < set->n; i++)
		if ((b->applied ? set->v[i].state == CHANGE_APPLIED : is_selected(b->request, i)) &&
		    loses_content(&set->v[i]))
			rc = want(b, i, err);
	return rc;
}

/* 1: the project has records. */
static int open_records(struct backups *b, struct airlock_error *err)
{
	const struct change_set *set = b->request->set;
	for (size_t i = 0; !b->project_dir && i < set->n_roots; i++)
		if (project_is_known(b->host->state_dir, set->roots[i].path))
			b->project_dir = set->roots[i].path;
	if (!b->project_dir)
		return 0;
	int rc = store_open(b->host->state_dir, STORE_WAIT_MS, &b->store, err);
	return rc < 0 ? rc : store_project_find(b->store, b->project_dir, &b->project, err);
}

/* ── After ── */

/* A hard link failed (another file system, or too many links): copy the bytes. The backup gets its name only when it
 * is complete. */
static int copy_image(struct backups *b, const struct change_image *image, const char *name)
{
	char staged[96];
	(void)snprintf(staged, sizeof staged, ".new-%s", b->request->set->run);
	(void)unlinkat(b->dir_fd, staged, 0);
	struct transfer_place from = {image->dir_fd, image->name}, to = {b->dir_fd, staged};
	int rc = transfer_copy(from, to, 0600);
	if (rc == 0 && renameat(b->dir_fd, staged, b->dir_fd, name) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(b->dir_fd, staged, 0);
	return rc;
}

static int make_one(struct backups *b, const struct images *images, const struct wanted *w, struct airlock_error *err)
{
	const struct change *c = &b->request->set->v[w->change];
	struct change_image image;
	if (c->state != CHANGE_APPLIED)
		return 0; /* it was passed over */
	int rc = image_of(images, c, &image);
	if (rc == 0 && linkat(image.dir_fd, image.name, b->dir_fd, w->name, 0) < 0)
		rc = -errno;
	if (rc == -EEXIST) /* a backup of this day that the database lost: the first one of a day counts */
		rc = 0;
	if (rc == -EXDEV || rc == -EMLINK || rc == -EPERM)
		rc = copy_image(b, &image, w->name);
	base_closep(&image.dir_fd);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "link", w->name) : 0;
}

static int make_all(struct backups *b, struct airlock_error *err)
{
	_cleanup_(images_done) struct images images = {.before_fd = -EBADF};
	int rc = b->n > 0 ? images_open(&images, b->request, err) : 0;
	for (size_t i = 0; rc == 0 && i < b->n; i++)
		rc = make_one(b, &images, &b->v[i], err);
	return rc;
}

static int write_down(struct backups *b, const bool *touched, struct airlock_error *err)
{
	int rc = store_begin(b->store, err);
	assert(b->n == 0 || b->v); /* plan made it */
	for (size_t i = 0; rc == 0 && i < b->n; i++) {
		const struct wanted *w = &b->v[i];
		struct stat st;
		_cleanup_free_ char *path = path_join(b->dir, w->name);
		if (!path)
			rc = base_oom(err);
		else if (fstatat(b->dir_fd, w->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			rc = store_backup_add(b->store, w->file, b->date, w->name, b->request->set->run, path, err);
	}
	rc = rc < 0 ? rc : records_refresh(b->store, b->project, b->project_dir, b->request->set, touched, err);
	if (rc == 0)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

/* Takes the apply back: nothing may stay applied without its backup (I5). */
static int take_back(struct backups *b, const bool *touched, const struct airlock_error *why, struct notes *notes)
{
	struct apply_request back = *b->request;
	struct airlock_error undoing = {0};
	back.undo = true;
	back.selected = touched;
	if (apply_execute(&back, notes, &undoing) < 0)
		NOTE(notes, NOT_TAKEN_BACK, .cause = undoing.message);
	for (size_t i = 0; i < b->request->set->n; i++)
		if (touched[i] && b->request->set->v[i].state == CHANGE_HELD)
			(void)change_reason_set(&b->request->set->v[i], change_reason_of(AIRLOCK_REASON_NO_BACKUP));
	return cannot(b, why);
}

static int apply_with_backups(struct backups *b, struct notes *notes)
{
	const struct change_set *set = b->request->set;
	struct airlock_error why = {0};
	_cleanup_free_ bool *touched = calloc(set->n + 1, sizeof *touched);
	int rc = touched ? plan(b, &why) : base_oom(&why);
	if (rc < 0)
		return cannot(b, &why);
	assert(touched); /* base_oom fails */
	for (size_t i = 0; i < set->n; i++)
		touched[i] = is_selected(b->request, i);
	int count = apply_execute(b->request, notes, b->err);
	if (count < 0)
		return count;
	for (size_t i = 0; i < set->n; i++)
		touched[i] = touched[i] && set->v[i].state == CHANGE_APPLIED;
	if (make_all(b, &why) < 0)
		return take_back(b, touched, &why, notes);
	if (write_down(b, touched, &why) < 0)
		NOTE(notes, RECORDS_STALE, .cause = why.message);
	return count;
}

/* ── Undoing ── */

static bool shares_inode(struct backups *b, const char *name, const struct stat *image)
{
	struct stat st;
	return fstatat(b->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == image->st_ino &&
	       st.st_dev == image->st_dev;
}

static int part_one(struct backups *b, const struct change_image *image, const struct change *c,
		    struct airlock_error *err)
{
	struct stat st;
	struct store_file f;
	_cleanup_backups_ struct store_backups l = {0};
	_cleanup_free_ char *path = records_path(b->project_dir, b->request->set, c->root, c->path);
	if (!path)
		return base_oom(err);
	if (fstatat(image->dir_fd, image->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_nlink < 2)
		return 0;
	int rc = store_file_find(b->store, b->project, path, &f, err);
	if (rc <= 0)
		return rc;
	rc = store_backup_of_file(b->store, f.id, &l, err);
	store_file_done(&f);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		if (!shares_inode(b, l.v[i].name, &st))
			continue;
		int copied = copy_image(b, image, l.v[i].name);
		if (copied < 0)
			rc = base_errno(err, AIRLOCK_ERR_IO, copied, "copy", l.v[i].name);
	}
	return rc;
}

/* Where it is not to be found, there is nothing to share. */
static int part(struct backups *b, const struct images *images, const struct change *c, struct airlock_error *err)
{
	struct change_image image;
	if (image_of(images, c, &image) < 0)
		return 0;
	int rc = part_one(b, &image, c, err);
	base_closep(&image.dir_fd);
	return rc;
}

static int undo_with_records(struct backups *b, struct notes *notes)
{
	const struct change_set *set = b->request->set;
	struct airlock_error why = {0};
	_cleanup_free_ bool *touched = calloc(set->n + 1, sizeof *touched);
	_cleanup_(images_done) struct images images = {.before_fd = -EBADF};
	int rc = touched ? open_dir(b, &why) : base_oom(&why);
	rc = rc < 0 ? rc : images_open(&images, b->request, &why);
	assert(rc != 0 || touched); /* base_oom fails */
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		touched[i] = is_selected(b->request, i);
		if (touched[i])
			rc = part(b, &images, &set->v[i], &why);
	}
	if (rc < 0)
		return cannot(b, &why);
	int count = apply_execute(b->request, notes, b->err);
	if (count >= 0 && write_down(b, touched, &why) < 0)
		NOTE(notes, RECORDS_STALE, .cause = why.message);
	return count;
}

int backups_execute(const struct host *host, const char *project_dir, const struct apply_request *request,
		    struct notes *notes, struct airlock_error *err)
{
	struct airlock_error own = {0};
	struct backups b = {.host = host,
			    .project_dir = project_dir,
			    .request = request,
			    .dir_fd = -EBADF,
			    .err = err ? err : &own};
	struct airlock_error why = {0};
	backups_date(store_now(), b.date);
	int rc = open_records(&b, &why);
	if (rc < 0)
		rc = cannot(&b, &why);
	else if (rc == 0)
		rc = apply_execute(request, notes, b.err);
	else
		rc = request->undo ? undo_with_records(&b, notes) : apply_with_backups(&b, notes);
	backups_done(&b);
	return rc;
}

/* ── Applied already ── */

static int back_up_applied(struct backups *b, struct notes *notes)
{
	const struct change_set *set = b->request->set;
	struct airlock_error why = {0};
	_cleanup_free_ bool *touched = calloc(set->n + 1, sizeof *touched);
	if (!touched)
		return base_oom(b->err);
	for (size_t i = 0; i < set->n; i++)
		touched[i] = set->v[i].state == CHANGE_APPLIED;
	int rc = open_records(b, &why);
	if (rc == 0)
		return 0;
	rc = rc < 0 ? rc : plan(b, &why);
	rc = rc < 0 ? rc : make_all(b, &why);
	if (rc < 0)
		return take_back(b, touched, &why, notes);
	if (write_down(b, touched, &why) < 0)
		NOTE(notes, RECORDS_STALE, .cause = why.message);
	return 0;
}

int backups_adopt(const struct host *host, const struct apply_request *request, struct notes *notes,
		  struct airlock_error *err)
{
	struct airlock_error own = {0};
	struct backups b = {
		.host = host, .request = request, .applied = true, .dir_fd = -EBADF, .err = err ? err : &own};
	backups_date(store_now(), b.date);
	int rc = back_up_applied(&b, notes);
	backups_done(&b);
	return rc;
}
