/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static int change(struct terminal *t, int fd, const struct termios *mode, int when, struct airlock_error *err)
{
	if (tcsetattr(fd, when, mode) < 0)
		return output_fail(err, AIRLOCK_ERR_IO, NULL, "cannot set the terminal's mode: %s", strerror(errno));
	t->fd = fd;
	return 0;
}

static int save(struct terminal *t, int fd, struct airlock_error *err)
{
	if (tcgetattr(fd, &t->saved) < 0)
		return output_fail(err, AIRLOCK_ERR_IO, NULL, "cannot read the terminal's mode: %s", strerror(errno));
	return 0;
}

int terminal_raw(struct terminal *t, int fd, struct airlock_error *err)
{
	int rc = save(t, fd, err);
	if (rc < 0)
		return rc;
	struct termios raw = t->saved;
	cfmakeraw(&raw);
	return change(t, fd, &raw, TCSADRAIN, err);
}

int terminal_keys(struct terminal *t, int fd, struct airlock_error *err)
{
	int rc = save(t, fd, err);
	if (rc < 0)
		return rc;
	struct termios keys = t->saved;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	keys.c_iflag |= ICRNL;
	keys.c_iflag &= ~(tcflag_t)IXON; /* Ctrl-S would stop the question itself */
	keys.c_oflag |= OPOST | ONLCR;
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	return change(t, fd, &keys, TCSAFLUSH, err);
}

/* ENOTTY: a terminal, but not our controlling one; using it never stops anybody. */
bool terminal_is_ours(int fd)
{
	pid_t foreground = tcgetpgrp(fd);
	return foreground < 0 || foreground == getpgrp();
}

/* Leaves the terminal alone in the background: whoever has it now has set its mode. TCSANOW: waiting for output to
 * drain could hang on a terminal that is gone or stopped. */
void terminal_restore(struct terminal *t)
{
	if (t->fd >= 0 && terminal_is_ours(t->fd))
		(void)tcsetattr(t->fd, TCSANOW, &t->saved);
	t->fd = -1;
}
