/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the probes; only for them. */
#pragma once

#include "backend/bwrap_probe.h"
#include "base/buf.h"

#include <stdint.h>
#include <sys/stat.h>

/* ── Which program: bwrap_probe_find.c ── */
struct bwrap_found {
	char path[PATH_MAX]; /* "" if none was accepted */
	struct stat st;
	char refused[PATH_MAX]; /* the first one that exists and was not accepted, "" if none */
	const char *refusal;	/* why not */
};
void bwrap_find(const char *path_env, const char *const *untrusted_dirs, struct bwrap_found *ret);

/* ── What came of trying it: what the cache holds ── */
struct bwrap_verdict {
	int major, minor, patch;
	enum bwrap_cause cause; /* BWRAP_FINE: it works */
	char detail[256];	/* bwrap's own message, one escaped line, or "" */
};

/* ── Remembering: bwrap_probe_cache.c ── */
/* The properties of the machine and of ourselves on which any verdict depends; shared with the native backend's probe.
 */
void bwrap_cache_machine_key(struct buf *ret);
void bwrap_cache_add_namespace(struct buf *key, const char *name);
/* The file's text if only we can write it, else "". */
void bwrap_cache_read(const char *file, char *ret, size_t size);
/* Everything the verdict depends on, as text. */
void bwrap_cache_key(const struct bwrap_found *found, struct buf *ret);
bool bwrap_cache_load(const char *file, const struct buf *key, struct bwrap_verdict *ret);
void bwrap_cache_store(const char *file, const struct buf *key, const struct bwrap_verdict *v);

/* ── Why not: bwrap_probe_why.c ── */
/* Maps the stderr of a failed sandbox to its cause. */
enum bwrap_cause bwrap_diagnose(const char *complaint);
void bwrap_explain(enum bwrap_cause cause, const char *subject, const char *detail, struct airlock_error *ret);
