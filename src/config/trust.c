/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which projects' settings the user has accepted: one small file per project, named by the hash of its path, with the
 * hash of the settings and the path. Trust is by content: any edit, including one by the sandbox, ends it. */
#include "config/config_file.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"

#include <string.h>

#define RECORD_MAX 8192 /* a hash and a path */

static char *record_path(const char *trust_dir, const char *project_dir)
{
	char name[65];
	hash_sha256_hex(project_dir, strlen(project_dir), name);
	return path_join(trust_dir, name);
}

/* The exact record of these settings for this project. */
static void add_record(struct buf *out, const char *project_dir, const char *content, size_t len)
{
	char digest[65];
	hash_sha256_hex(content, len, digest);
	buf_printf(out, "%s\n%s\n", digest, project_dir);
}

int config_trust(const char *trust_dir, const char *project_dir, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(project_dir, CONFIG_PROJECT_FILE);
	_cleanup_free_ char *record_file = record_path(trust_dir, project_dir);
	_cleanup_buf_ struct buf content = BUF_INIT, record = BUF_INIT;
	if (!file || !record_file)
		return base_oom(err);
	int rc = config_file_read(file, CONFIG_FILE_PROJECT, &content, err);
	if (rc < 0)
		return rc;
	add_record(&record, project_dir, buf_str(&content), content.len);
	return record.failed ? base_oom(err) : fs_write_private_file(record_file, record.data, record.len, err);
}

/* A record that others could have written proves nothing. */
static int read_record(const char *trust_dir, const char *path, struct buf *ret, struct airlock_error *err)
{
	int rc = fs_read_file(path, RECORD_MAX, ret, err);
	if (rc >= 0)
		rc = fs_check_private(trust_dir, err);
	return rc < 0 ? rc : fs_check_private(path, err);
}

int config_is_trusted(const char *trust_dir, const char *project_dir, const char *content, size_t len, bool *ret,
		      struct airlock_error *err)
{
	_cleanup_free_ char *path = record_path(trust_dir, project_dir);
	_cleanup_buf_ struct buf found = BUF_INIT, wanted = BUF_INIT;
	struct airlock_error why = {0};
	if (!path)
		return base_oom(err);
	int rc = read_record(trust_dir, path, &found, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
		return base_pass(err, &why);
	add_record(&wanted, project_dir, content, len);
	if (wanted.failed)
		return base_oom(err);
	*ret = rc >= 0 && found.len == wanted.len && memcmp(found.data, wanted.data, wanted.len) == 0;
	return 0;
}
