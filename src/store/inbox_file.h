/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The form of the inbox, for those who write and those who take it.
 *
 *   \nrun ID PROJECT COMMAND ASKED_BY WORKING_DIR STARTED STATUS EXIT_CODE CHANGES_STATE CHANGES_COUNT DETAIL CHECKSUM\n
 *   \nchanges ID CHANGES_STATE CHANGES_COUNT CHECKSUM\n
 *   \naudit NUMBER HASH CHECKSUM\n
 *
 * Whatever a kill or a full disk cut off, or a power cut made zeros of, is a line of its own: it spoils itself and no other.
 */
#pragma once

#include "base/line_fields.h"
#include "store/store.h"

#define INBOX_RUN "run"
#define INBOX_CHANGES "changes"
#define INBOX_AUDIT "audit"
#define INBOX_MAX (16 << 20) /* if larger, nothing is appended: something prevents everybody from moving it */

char *inbox_path(const char *state_dir);
/* The text of a line before its checksum. False: the line is damaged. */
bool inbox_read_line(const char *line, size_t len, struct fields *ret);
/* flock that gives up after this time: -EWOULDBLOCK. */
int inbox_lock(int fd, int operation, int wait_ms);
/* The message for a failure with this errno. */
int inbox_error(struct airlock_error *err, int errnum, const char *op, const char *file);
