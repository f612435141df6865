/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/keep.h"

#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/inotify.h>

/* A server that prints a line for each request must not fill the disk in a night. */
#define KEPT_BYTES (INT64_C(64) << 20)

#define WRITE_LOCK 1 /* F_WRLCK */

/* The lock belongs to this process, and the host is told whose it is. No command can take one: it never has the file. */
static void say_who_we_are(int fd)
{
	struct {
		short type, whence;
		int64_t start, len;
		int pid;
	} lock = {WRITE_LOCK, 0, r_getpid(), 1, 0};
	if (fd >= 0)
		(void)raw_call3(__NR_fcntl, fd, F_SETLK, &lock);
}

int keep_is_logout(const struct keep *k)
{
	_Alignas(struct inotify_event) char news[4096];
	int found = 0;
	for (long n; (n = r_read(k->login, news, sizeof news)) > 0;)
		for (long at = 0; at + (long)sizeof(struct inotify_event) <= n;) {
			const struct inotify_event *e = (const void *)(news + at);
			found |= e->len > 0 && child_name_hash(e->name) == k->runtime;
			at += (long)sizeof *e + e->len;
		}
	return found;
}

int keep_is_needed(const struct keep *k)
{
	return k->from[0] >= 0 || k->from[1] >= 0;
}

void keep_begin(struct keep *k, struct pass_received *in)
{
	unsigned next = 0;
	int fds[CHILD_KEPT_FDS];
	for (unsigned i = 0; i < CHILD_KEPT_FDS; i++)
		fds[i] = in->m.a & 1 << i ? pass_take_fd(in, next++) : -1;
	for (unsigned i = 0; i < 2; i++) {
		k->from[i] = fds[CHILD_KEPT_STDOUT + i];
		k->to[i] = fds[CHILD_KEPT_STDOUT_FILE + i];
		k->room[i] = KEPT_BYTES;
	}
	k->login = fds[CHILD_KEPT_LOGIN];
	k->runtime = in->m.id;
	say_who_we_are(fds[CHILD_KEPT_KEEPERS]);
}

static void end(struct keep *k, unsigned i)
{
	(void)r_close(k->from[i]);
	if (k->to[i] >= 0)
		(void)r_close(k->to[i]);
	k->from[i] = k->to[i] = -1;
}

/* Output beyond the limit is read and dropped: a writer must not block for ever. */
void keep_copy(struct keep *k, unsigned i)
{
	char data[4096];
	long n = r_read(k->from[i], data, sizeof data);
	if (n == -EINTR || n == -EAGAIN)
		return;
	if (n <= 0) {
		end(k, i);
		return;
	}
	if (n > k->room[i])
		n = k->room[i];
	for (long done = 0, wrote; k->to[i] >= 0 && done < n; done += wrote) {
		wrote = r_write(k->to[i], data + done, (size_t)(n - done));
		if (wrote == -EINTR)
			wrote = 0;
		if (wrote < 0) { /* the disk is full, perhaps not for long */
			k->room[i] = 0;
			return;
		}
	}
	k->room[i] -= n;
}
