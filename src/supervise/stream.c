/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/stream.h"

#include "base/path.h"
#include "fs/fs.h"
#include "fs/io.h"

#include <fcntl.h>
#include <sys/stat.h>

int stream_init(struct stream *s, int relay_fd, int64_t cap, const char *run_dir, const char *name)
{
	*s = (struct stream){.fd = -EBADF, .file_fd = -EBADF, .run_dir = run_dir, .name = name};
	int rc = relay_init(&s->relay, relay_fd);
	return rc < 0 ? rc : capture_init(&s->capture, cap);
}

void stream_done(struct stream *s)
{
	base_closep(&s->fd);
	base_closep(&s->file_fd);
	relay_done(&s->relay);
	capture_done(&s->capture);
}

int stream_set_fd(struct stream *s, int fd)
{
	base_closep(&s->fd);
	s->fd = fd;
	return relay_unblock(fd);
}

static void open_file(struct stream *s)
{
	_cleanup_free_ char *path = path_join(s->run_dir, s->name);
	if (path && fs_make_private_dir(s->run_dir, NULL) == 0)
		s->file_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->file_fd >= 0)
		(void)fchmod(s->file_fd, 0600); /* whatever the caller's umask removes */
	else
		s->file_errnum = path && errno ? errno : ENOMEM;
}

int stream_file(struct stream *s)
{
	if (s->file_fd < 0 && !s->file_errnum)
		open_file(s);
	return s->file_fd;
}

/* Output never ends the command: if the disk is full, the command continues without the file. */
static void keep_on_disk(struct stream *s, const char *data, size_t len)
{
	if (s->file_errnum)
		return;
	if (s->file_fd < 0)
		open_file(s);
	int rc = s->file_errnum ? 0 : fs_write_all(s->file_fd, data, len);
	if (rc < 0)
		s->file_errnum = -rc;
}

int stream_read(struct stream *s)
{
	char data[RELAY_BUFFER];
	if (s->fd < 0)
		return -1;
	if (relay_is_full(&s->relay))
		return 0;
	ssize_t n = read(s->fd, data, sizeof data);
	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		if (n < 0 && !(s->is_terminal && errno == EIO))
			s->read_errnum = errno;
		base_closep(&s->fd);
		return -1;
	}
	capture_add(&s->capture, data, (size_t)n);
	keep_on_disk(s, data, (size_t)n);
	relay_put(&s->relay, data, (size_t)n);
	if (s->relay.broken) { /* SIGPIPE tells the command, as it would without us */
		base_closep(&s->fd);
		return -1;
	}
	return 1;
}
