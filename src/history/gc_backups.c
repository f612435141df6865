/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/gc.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "history/backups.h"
#include "store/projects.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* What a crash left half made; an hour is more than any copy takes that still goes on. */
#define STAGED_NS ((int64_t)3600 * 1000000000)

/* The day in "{id}-{YY-MM-DD}-{basename}". */
static bool day_of(const char *name, char out[9])
{
	static const char form[] = "-00-00-00-";
	size_t digits = strspn(name, "0123456789");
	for (size_t i = 0; digits > 0 && i < sizeof form - 1; i++) {
		char c = name[digits + i];
		if (form[i] == '0' ? c < '0' || c > '9' : c != form[i])
			return false;
	}
	if (digits == 0)
		return false;
	memcpy(out, name + digits + 1, 8);
	out[8] = '\0';
	return true;
}

static int forget(struct gc *g, const struct store_backup *b, const char *copy)
{
	int rc = store_begin(g->store, g->err);
	rc = rc < 0 ? rc : store_backup_remove(g->store, b, copy, g->err);
	if (rc == 0)
		return store_commit(g->store, g->err);
	store_rollback(g->store);
	return rc;
}

static void unlink_backup(struct gc *g, int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		(void)base_errno(g->err, AIRLOCK_ERR_IO, errno, "unlink", name);
}

static void remove_recorded(struct gc *g, int dir_fd, const char *before)
{
	_cleanup_backups_ struct store_backups l = {0};
	if (!g->store || store_backup_before(g->store, before, &l, g->err) < 0)
		return;
	for (size_t i = 0; i < l.n; i++) {
		_cleanup_buf_ struct buf copy = BUF_INIT;
		buf_printf(&copy, "%s/%s/%s", g->e.host.state_dir, BACKUPS_DIR, l.v[i].name);
		strs_add(&g->removed[AIRLOCK_GARBAGE_BACKUP], l.v[i].name);
		if (g->dry_run || copy.failed || forget(g, &l.v[i], copy.data) < 0)
			continue;
		if (dir_fd >= 0)
			unlink_backup(g, dir_fd, l.v[i].name);
	}
}

static bool is_abandoned(const struct gc *g, int dir_fd, const char *name, const char *before)
{
	char day[9];
	struct stat st;
	if (strncmp(name, ".new-", 5) == 0)
		return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		       (int64_t)st.st_ctim.tv_sec * 1000000000 < g->now - STAGED_NS;
	return day_of(name, day) && strcmp(day, before) < 0;
}

/* Of a project that was removed, of a database that was lost, of a crash: their names tell their age. */
static void remove_unrecorded(struct gc *g, int dir_fd, const char *before)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		(void)close(fd);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (!is_abandoned(g, dir_fd, d->d_name, before) ||
		    strs_has(&g->removed[AIRLOCK_GARBAGE_BACKUP], d->d_name))
			continue;
		strs_add(&g->removed[AIRLOCK_GARBAGE_BACKUP], d->d_name);
		if (!g->dry_run)
			unlink_backup(g, dir_fd, d->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

void gc_backups(struct gc *g)
{
	char before[16];
	int64_t keep = g->config->keep_backups_ms;
	if (keep == TEXT_NONE || keep > g->now / 1000000)
		return;
	backups_date(g->now - keep * 1000000, before);
	_cleanup_close_ int dir_fd = gc_open_dir(g, BACKUPS_DIR);
	if (dir_fd < 0 && dir_fd != -ENOENT) {
		(void)base_errno(g->err, AIRLOCK_ERR_IO, dir_fd, "open", BACKUPS_DIR);
		return;
	}
	remove_recorded(g, dir_fd, before);
	if (dir_fd >= 0)
		remove_unrecorded(g, dir_fd, before);
}
