/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/input.h"

#include "base/macros.h"
#include "supervise/relay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define INPUT_BUFFER (32 * 1024)
#define END_OF_FILE_KEY "\x04"

static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

int input_init(struct input *in, int source_fd, bool to_pty)
{
	*in = (struct input){.source = -EBADF, .sink = -EBADF};
	struct stat st;
	if (source_fd < 0)
		return 0;
	in->source = fcntl(source_fd, F_DUPFD_CLOEXEC, 3);
	if (in->source < 0 && errno == EBADF)
		return 0;
	if (in->source < 0 || fstat(in->source, &st) < 0)
		return -errno;
	in->source_plain = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode);
	in->is_terminal = isatty(in->source);
	if (is_null(&st) || (in->is_terminal && !to_pty)) {
		base_closep(&in->source);
		return 0;
	}
	in->data = malloc(INPUT_BUFFER);
	return in->data ? 0 : -ENOMEM;
}

bool input_is_none(const struct input *in)
{
	return in->source < 0;
}

void input_done(struct input *in)
{
	base_closep(&in->source);
	base_closep(&in->sink);
	base_freep(&in->data);
}

void input_say_end(struct input *in)
{
	/* In the middle of a line, the first Ctrl-D only hands over what there is of it. */
	if (write(in->sink, END_OF_FILE_KEY END_OF_FILE_KEY, in->is_mid_line ? 2 : 1) == 2)
		in->is_mid_line = false;
}

static void source_ended(struct input *in)
{
	in->is_over = true;
	if (in->to_pty)
		input_say_end(in);
	else
		base_closep(&in->sink);
}

int input_set_sink(struct input *in, int fd, bool to_pty)
{
	base_closep(&in->sink);
	in->sink = fd;
	in->to_pty = to_pty;
	int rc = relay_unblock(fd);
	if (in->source < 0)
		source_ended(in); /* nothing will ever come: the command sees end of file at once */
	return rc;
}

bool input_wants_source(const struct input *in)
{
	return in->source >= 0 && !in->is_over && in->sink >= 0 && in->len == 0;
}

bool input_wants_sink(const struct input *in)
{
	return in->sink >= 0 && in->len > 0;
}

bool input_is_at_end(const struct input *in)
{
	return in->to_pty && in->is_over && in->sink >= 0 && in->len == 0;
}

bool input_in_background(const struct input *in)
{
	/* The call fails on a terminal that hung up or is not our controlling one: reading those does not stop us. */
	pid_t foreground = in->is_terminal ? tcgetpgrp(in->source) : -1;
	return foreground >= 0 && foreground != getpgrp();
}

void input_read(struct input *in)
{
	if (!input_wants_source(in))
		return;
	ssize_t n = read(in->source, in->data, INPUT_BUFFER);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		source_ended(in);
	} else {
		in->at = 0;
		in->len = (size_t)n;
		in->is_mid_line = in->data[n - 1] != '\n' && in->data[n - 1] != '\r';
	}
	input_write(in);
}

void input_write(struct input *in)
{
	while (input_wants_sink(in)) {
		ssize_t n = write(in->sink, in->data + in->at, in->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { /* the command closed its input: stop reading from the caller */
			base_closep(&in->sink);
			in->is_over = true;
			return;
		}
		in->at += (size_t)n;
		in->len -= (size_t)n;
	}
}
