/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs of a session that have a sandbox of their own. Whoever ends the session or lists its processes has to find them without the
 * holder: <session>/own/RUN names the outermost process of the sandbox, and is locked as long as its airlock waits for it. */
#include "session/holder.h"

#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_dir(const char *session_dir)
{
	_cleanup_free_ char *path = path_join(session_dir, SESSION_OWN_DIR);
	if (!path)
		return -ENOMEM;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int session_own_enter(const char *session_dir, const char *run, pid_t pid)
{
	_cleanup_free_ char *path = path_join(session_dir, SESSION_OWN_DIR);
	if (!path)
		return -ENOMEM;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	_cleanup_close_ int dir = open_dir(session_dir), lock = dir < 0 ? dir : session_pid_lock(dir, run);
	if (lock < 0)
		return lock;
	int rc = session_holder_record(lock, pid, 0);
	return rc < 0 ? rc : TAKE_FD(lock);
}

/* The name goes first: nobody finds a record whose lock is free. */
void session_own_leave(const char *session_dir, const char *run, int lock_fd)
{
	_cleanup_close_ int lock = lock_fd, dir = lock < 0 ? -EBADF : open_dir(session_dir);
	if (dir >= 0)
		(void)unlinkat(dir, run, 0);
}

int session_own_next(struct session_own_list *l, const char *session_dir, struct session_holder *ret)
{
	if (!l->dir) {
		int fd = open_dir(session_dir);
		l->dir = fd < 0 ? NULL : fdopendir(fd);
		if (!l->dir)
			base_closep(&fd);
	}
	for (struct dirent *e; l->dir && (e = readdir(l->dir));)
		if (e->d_name[0] != '.' && session_pid_read(dirfd(l->dir), e->d_name, ret) == 0) {
			l->run = e->d_name;
			if (session_first_process(ret))
				return 1;
			session_holder_done(ret);
		}
	return 0;
}

void session_own_done(struct session_own_list *l)
{
	if (l->dir)
		(void)closedir(l->dir);
	l->dir = NULL;
}

bool session_own_has_other(const char *session_dir, const char *run)
{
	struct session_own_list own = {NULL};
	struct session_holder h = SESSION_HOLDER_INIT;
	bool has = false;
	while (!has && session_own_next(&own, session_dir, &h) > 0) {
		has = strcmp(own.run, run) != 0;
		session_holder_done(&h);
	}
	session_own_done(&own);
	return has;
}
