/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* <state_dir>/projects/<16 hex of sha256 of the project>/project: its path, when it has records in the database. */
#include "project/project.h"

#include "base/hash.h"
#include "fs/fs.h"

#include <string.h>

#define PATH_BYTES (1 << 20)

static char *mark_file(const char *state_dir, const char *dir)
{
	char hex[65];
	struct buf b = BUF_INIT;
	hash_sha256_hex(dir, strlen(dir), hex);
	buf_printf(&b, "%s/projects/%.16s/project", state_dir, hex);
	return buf_take(&b);
}

bool project_is_known(const char *state_dir, const char *dir)
{
	_cleanup_free_ char *file = mark_file(state_dir, dir);
	_cleanup_buf_ struct buf text = BUF_INIT;
	return file && fs_read_file(file, PATH_BYTES, &text, NULL) == 0 && strcmp(buf_str(&text), dir) == 0;
}

int project_set_known(const char *state_dir, const char *dir, bool known, struct airlock_error *err)
{
	_cleanup_free_ char *file = mark_file(state_dir, dir);
	if (!file)
		return base_oom(err);
	if (known)
		return fs_write_private_file(file, dir, strlen(dir), err);
	return unlink(file) < 0 && errno != ENOENT ? base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", file) : 0;
}
