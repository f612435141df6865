/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One stream of the command: read from our pipe, kept for the result, written to disk, relayed to the caller. */
#pragma once

#include "supervise/output_capture.h"
#include "supervise/relay.h"

struct stream {
	int fd; /* read end of the command's pipe (or the pty's master); -EBADF when ended */
	struct relay relay;
	struct capture capture;
	int file_fd;	  /* the whole stream on disk; opened when the first byte comes */
	int file_errnum;  /* disk full or the like: the run continues, the rest is not stored; 0: no error */
	int read_errnum;  /* it could not be read to its end; 0: no error */
	bool is_terminal; /* its master returns EIO when the last slave is closed */
	const char *run_dir, *name;
};

int stream_init(struct stream *s, int relay_fd, int64_t cap, const char *run_dir, const char *name);
void stream_done(struct stream *s);
int stream_set_fd(struct stream *s, int fd); /* takes ownership; made non-blocking. -errno */

/* Reads once. 1: there may be more; 0: nothing now, or the relay is full; -1: ended. */
/* The file of the output, which is made if nothing was written yet. -1: there is none. */
int stream_file(struct stream *s);
int stream_read(struct stream *s);
