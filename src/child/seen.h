/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the first process saw the command try: a memory file that it fills and the supervisor reads when the run is over.
 *
 * A call is noted only where the plan may refuse it (struct child_region), and once: the same again only counts. So
 * there is a bound to it whatever the command does, nobody waits for anybody, and what was noted outlives the first
 * process. Records follow the head one after another; each has a multiple of 8 bytes.
 */
#pragma once

#include <stdint.h>

#define CHILD_SEEN_MAGIC 0x6e656573u
#define CHILD_SEEN_BYTES (128u * 1024)
#define CHILD_SEEN_RECORDS 256u

enum child_seen_op {
	CHILD_SEEN_OPEN = 1, /* for reading */
	CHILD_SEEN_CHDIR,
	CHILD_SEEN_WRITE, /* opened for writing, created if missing */
	CHILD_SEEN_TRUNCATE,
	CHILD_SEEN_MKDIR,
	CHILD_SEEN_DELETE,
	CHILD_SEEN_RENAME, /* from there, or to there */
	CHILD_SEEN_LINK,
	CHILD_SEEN_SYMLINK,
	CHILD_SEEN_MKNOD,
	CHILD_SEEN_CHMOD,
	CHILD_SEEN_CHOWN,
	CHILD_SEEN_UTIME,
	CHILD_SEEN_CONNECT,
	CHILD_SEEN_BIND,
	CHILD_SEEN_SEND,
	/* Calls that the filter refuses (refused.h). */
	CHILD_SEEN_TRACE,
	CHILD_SEEN_NAMESPACE,
	CHILD_SEEN_MOUNT,
	CHILD_SEEN_PERF,
	CHILD_SEEN_BPF,
	CHILD_SEEN_KEYS,
	CHILD_SEEN_USERFAULT,
	CHILD_SEEN_FANOTIFY,
	CHILD_SEEN_ADMIN, /* swap, modules, clock, reboot */
	CHILD_SEEN_OPS,
};

enum {
	CHILD_SEEN_MISSING = 1 << 0, /* it does not exist inside */
	CHILD_SEEN_LOOKED =
		1
		<< 1, /* only its visibility matters; a path of which more than the last name is missing ends with the first missing one */
	CHILD_SEEN_FOREIGN = 1 << 2,  /* the owner of the file, or of its directory, lets nobody write there either */
	CHILD_SEEN_CALL = 1 << 4,     /* the text is the name of the program (comm) */
	CHILD_SEEN_FOR_ROOT = 1 << 5, /* for such a call: outside only root may do it */
	CHILD_SEEN_ADDRESS = 1 << 3,  /* the text is a struct sockaddr: an internet address, or an abstract name */
};

struct child_seen {
	uint32_t size; /* of the record, this head included */
	uint16_t op, flags;
	uint32_t count; /* how often; stays at its maximum */
	uint32_t length;
	uint64_t hash;
	char text[]; /* absolute path inside without symlinks, or the address, or a name; not terminated */
};

struct child_seen_head {
	uint32_t magic, records;
	uint32_t used;	   /* bytes, this head included */
	uint32_t reserved; /* 0 */
	uint64_t lost;	   /* calls for which there was no room */
};
