/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a call found or did: values of the public header, and the same as JSON and text. */
#pragma once

#include "airlock/files.h"
#include "base/buf.h"

#include <sys/stat.h>

enum files_kind { FILES_ENTRIES, FILES_MATCHES, FILES_CONTENT, FILES_CHANGE };

struct airlock_files {
	enum files_kind kind;
	struct airlock_files_entry *entries;
	struct airlock_files_match *matches;
	size_t n, cap;
	bool failed; /* out of memory while adding */
	bool truncated;
	struct buf bytes; /* behind content */
	struct airlock_files_content content;
	struct airlock_files_change change;
	char *path, *run;	      /* behind change */
	struct airlock_reason reason; /* likewise */
	char *json, *text;
};

struct airlock_files *files_result_new(enum files_kind kind); /* NULL: out of memory */
/* Takes path (NULL: out of memory). */
void files_result_add_entry(struct airlock_files *r, char *path, const struct stat *st, bool is_dir);
void files_result_add_match(struct airlock_files *r, const char *path, int64_t line, const char *text, size_t size,
			    bool cut);
/* Takes path. */
void files_result_set_change(struct airlock_files *r, char *path, enum airlock_files_action action, uint64_t count);
void files_result_freep(struct airlock_files **r);
#define _cleanup_files_result_ _cleanup_(files_result_freep)
