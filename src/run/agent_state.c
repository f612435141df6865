/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent leaves in its state in the home. It writes there directly, so it could leave a symlink through which the agent outside
 * would write elsewhere. When it has ended such things are removed. Should airlock be killed before that, whoever starts the agent next
 * does it: <state>/agents/NAME.RUN says since when, and is locked as long as the run's airlock lives. */
#include "run/agent_state.h"

#include "base/path.h"
#include "fs/fs.h"
#include "fs/io.h"
#include "fs/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKS_DIR "agents"
#define TEXT_SIZE 32

/* ── Cleaning ── */

static bool is_newer(const struct stat *st, int64_t since_ns)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec >= since_ns;
}

static void clean_entry(int dir, const char *name, int64_t since_ns)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_newer(&st, since_ns))
		return;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		(void)unlinkat(dir, name, 0);
	else if (S_ISREG(st.st_mode) && (st.st_mode & (S_ISUID | S_ISGID))) {
		_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			(void)fchmod(fd, st.st_mode & 0777);
	}
}

/* In a directory that cannot be listed a link would not be found, and yet be followed by whoever knows its name. */
static void open_up(int dir, const char *name, int64_t since_ns)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && is_newer(&st, since_ns) &&
	    (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmodat(dir, name, (st.st_mode & 07777) | S_IRWXU, AT_SYMLINK_NOFOLLOW);
}

static void clean_tree(const char *path, int64_t since_ns)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	open_up(AT_FDCWD, path, since_ns);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), event = fd < 0 ? -errno : fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		if (event == FS_WALK_DIR) {
			open_up(fs_walk_dirfd(&w), w.name, since_ns);
			(void)fs_walk_enter(&w);
		} else if (event == FS_WALK_ENTRY)
			clean_entry(fs_walk_dirfd(&w), w.name, since_ns);
	}
}

static void clean_all(const struct recipe *r, int64_t since_ns)
{
	for (size_t i = 0; i < r->state.n; i++)
		clean_tree(r->state.v[i], since_ns);
}

/* ── Marks ── */

/* Cleans up after a run whose airlock was killed. */
static void settle_mark(const struct recipe *r, int dir, const char *name)
{
	char text[TEXT_SIZE] = "";
	int64_t since_ns = 0;
	_cleanup_close_ int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	/* NOLINTNEXTLINE(cert-err34-c): we wrote it; one that says nothing is dropped */
	if (read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%" SCNd64, &since_ns) == 1)
		clean_all(r, since_ns);
	(void)unlinkat(dir, name, 0);
}

static void settle_marks(const struct recipe *r, const char *path)
{
	size_t len = strlen(r->name);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strncmp(e->d_name, r->name, len) == 0 && e->d_name[len] == '.')
			settle_mark(r, dirfd(dir), e->d_name);
	if (dir)
		(void)closedir(dir);
}

/* It gets its name once it is locked: whoever looks meanwhile must not take it for that of a dead run. */
static int make_mark(struct agent_mark *m, const char *dir, int64_t since_ns, struct airlock_error *err)
{
	char text[TEXT_SIZE];
	_cleanup_buf_ struct buf name = BUF_INIT;
	buf_printf(&name, "%s/.XXXXXX", dir);
	if (name.failed)
		return base_oom(err);
	_cleanup_free_ char *temporary = buf_take(&name);
	_cleanup_close_ int fd = mkostemp(temporary, O_CLOEXEC);
	int n = snprintf(text, sizeof text, "%" PRId64 "\n", since_ns);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "create", temporary);
	if (flock(fd, LOCK_EX) < 0 || fs_write_all(fd, text, (size_t)n) < 0 || rename(temporary, m->path) < 0) {
		int errnum = errno;
		(void)unlink(temporary);
		return base_errno(err, AIRLOCK_ERR_IO, errnum, "write", m->path);
	}
	m->fd = TAKE_FD(fd);
	return 0;
}

int agent_state_begin(struct agent_mark *m, const struct airlock_job *job, const char *run, int64_t since_ns,
		      struct airlock_error *err)
{
	const struct recipe *r = job->agent.recipe;
	if (!r || r->state.n == 0)
		return 0;
	_cleanup_free_ char *dir = path_join(job->host.state_dir, MARKS_DIR);
	_cleanup_buf_ struct buf path = BUF_INIT;
	buf_printf(&path, "%s/%s.%s", dir ? dir : "", r->name, run);
	if (!dir || path.failed)
		return base_oom(err);
	int rc = fs_make_private_dir(dir, err);
	if (rc < 0)
		return rc;
	settle_marks(r, dir);
	m->path = buf_take(&path);
	return make_mark(m, dir, since_ns, err);
}

void agent_state_end(struct agent_mark *m, const struct airlock_job *job, int64_t since_ns)
{
	if (m->fd < 0)
		return;
	clean_all(job->agent.recipe, since_ns);
	agent_mark_done(m);
}

void agent_mark_done(struct agent_mark *m)
{
	if (m->fd >= 0)
		(void)unlink(m->path);
	base_closep(&m->fd);
	base_freep(&m->path);
}
