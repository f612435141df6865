/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/host_sockets.h"

#include "base/path.h"
#include "fs/fs.h"

#include <string.h>

#define LIST_BYTES (64u << 20)
#define FIELDS_BEFORE_NAME 7

/* "Num: RefCount Protocol Flags Type St Inode Path"; the length of the name is the rest of the line. NULL: it has none, an
 * abstract one, or one that was relative to somebody's directory. */
static const char *name_in(const char *line)
{
	for (int i = 0; i < FIELDS_BEFORE_NAME; i++) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return *line == '/' ? line : NULL;
}

int host_sockets_find_in(const char *list, const char *dir, struct strs *ret)
{
	for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *name = name_in(line);
		_cleanup_free_ char *path = name ? strndup(name, strcspn(name, "\n")) : NULL;
		if (name && !path)
			return -ENOMEM;
		const char *rest = path && path_is_normal(path) ? path_rest(path, dir) : NULL;
		if (rest && *rest)
			strs_add(ret, path);
	}
	return ret->failed ? -ENOMEM : 0;
}

int host_sockets_find(const char *dir, struct strs *ret, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	int rc = fs_read_file("/proc/self/net/unix", LIST_BYTES, &text, err);
	if (rc < 0)
		return rc;
	return host_sockets_find_in(buf_str(&text), dir, ret) < 0 ? base_oom(err) : 0;
}
