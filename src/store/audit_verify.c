/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/array.h"
#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "store/audit.h"
#include "store/audit_file.h"
#include "store/sql.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define PREFIX "{\"number\":"
#define PREVIOUS ",\"previous\":\""

void audit_first_hash(char out[65])
{
	memset(out, '0', 64);
	out[64] = '\0';
}

bool audit_read_line(const char *line, size_t len, struct audit_line *ret)
{
	const char *at = line + strlen(PREFIX), *end = line + len;
	*ret = (struct audit_line){0};
	if (len < strlen(PREFIX) || memcmp(line, PREFIX, strlen(PREFIX)) != 0)
		return false;
	for (; at < end && *at >= '0' && *at <= '9' && ret->number < INT64_MAX / 16; at++)
		ret->number = ret->number * 10 + (*at - '0');
	if ((size_t)(end - at) < strlen(PREVIOUS) + 66 || memcmp(at, PREVIOUS, strlen(PREVIOUS)) != 0)
		return false;
	memcpy(ret->previous, at + strlen(PREVIOUS), 64);
	return at[strlen(PREVIOUS) + 64] == '"' && line[len - 1] == '}' && ret->number > 0;
}

int audit_list(const char *dir, struct strs *ret)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *e; (e = readdir(d));)
		if (strncmp(e->d_name, "audit-", 6) == 0 && strstr(e->d_name, ".jsonl"))
			strs_add(ret, e->d_name);
	(void)closedir(d);
	strs_sort(ret);
	strs_add(ret, AUDIT_FILE); /* the current file is the last one */
	return ret->failed ? -ENOMEM : 0;
}

struct verifier {
	struct audit_report *report;
	int64_t number; /* of the line before */
	char hash[65];
	int64_t end_number; /* the last line that the database knows; 0: none */
	char *end_hash;
	bool end_seen;
};

/* In the file that was added last. */
static void fault(struct verifier *v, int64_t line, enum airlock_audit_fault_kind kind)
{
	struct audit_report *r = v->report;
	r->files.failed |= !ARRAY_ROOM(r->v, r->n, r->cap, 16);
	if (!r->files.failed)
		r->v[r->n++] = (struct airlock_audit_fault){r->files.v[r->files.n - 1], line, kind};
}

static void verify_line(struct verifier *v, const char *line, size_t len)
{
	struct audit_line l;
	v->report->lines++;
	if (!audit_read_line(line, len, &l)) {
		fault(v, v->number + 1, AIRLOCK_AUDIT_NOT_WHOLE);
		hash_sha256_hex(line, len, v->hash);
		return;
	}
	if (l.number != v->number + 1)
		fault(v, v->number + 1, AIRLOCK_AUDIT_OUT_OF_PLACE);
	else if (strcmp(l.previous, v->hash) != 0)
		fault(v, v->number, v->number ? AIRLOCK_AUDIT_CHANGED : AIRLOCK_AUDIT_BEGINNING);
	v->number = l.number;
	hash_sha256_hex(line, len, v->hash);
	if (l.number == v->end_number) {
		v->end_seen = true;
		if (strcmp(v->hash, v->end_hash) != 0)
			fault(v, l.number, AIRLOCK_AUDIT_CHANGED);
	}
}

static int verify_file(struct verifier *v, const char *path, struct airlock_error *err)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", path);
	(void)flock(fd, LOCK_SH); /* not in the middle of a line */
	FILE *f = fdopen(fd, "r");
	if (!f) {
		(void)close(fd);
		return base_oom(err);
	}
	char *line = NULL;
	size_t cap = 0;
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;)
		verify_line(v, line, (size_t)n - (line[n - 1] == '\n'));
	int rc = ferror(f) ? base_errno(err, AIRLOCK_ERR_IO, errno, "read", path) : 0;
	free(line);
	(void)fclose(f);
	return rc;
}

static int load_end(struct verifier *v, struct store *store, struct airlock_error *err)
{
	if (!store)
		return 0;
	_cleanup_sql_ struct sql q = sql_begin(store, "SELECT number, hash FROM audit", err);
	if (sql_next(&q)) {
		v->end_number = sql_int(&q, 0);
		v->end_hash = sql_text(&q, 1);
	}
	return q.rc;
}

static int verify_all(struct verifier *v, const char *dir, struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	assert(dir); /* base_oom fails */
	int rc = audit_list(dir, &names);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "read", dir);
	for (size_t i = 0; rc == 0 && i < names.n; i++) {
		_cleanup_free_ char *path = path_join(dir, names.v[i]);
		strs_add(&v->report->files, names.v[i]);
		rc = path ? verify_file(v, path, err) : base_oom(err);
	}
	if (rc == 0 && v->end_number > 0 && !v->end_seen) {
		strs_add(&v->report->files, AUDIT_FILE);
		fault(v, v->end_number, AIRLOCK_AUDIT_MISSING);
	}
	return rc;
}

void audit_report_done(struct audit_report *r)
{
	strs_done(&r->files);
	base_freep(&r->v);
}

int audit_verify(const char *state_dir, struct store *store, struct audit_report *ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(state_dir, "audit");
	struct verifier v = {.report = ret};
	audit_first_hash(v.hash);
	int rc = dir ? load_end(&v, store, err) : base_oom(err);
	rc = rc < 0 ? rc : verify_all(&v, dir, err);
	free(v.end_hash);
	return rc < 0 ? rc : ret->files.failed ? base_oom(err) : 0;
}
