/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/host_sockets.h"

#include "base/path.h"
#include "fs/fs.h"
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define LIST_BYTES (64u << 20)
#define FIELDS_BEFORE_NAME 7

/* "Num: RefCount Protocol Flags Type St Inode Path"; the name is the rest of the line. "": it has none. */
static const char *name_in(const char *line)
{
	for (int i = 0; i < FIELDS_BEFORE_NAME; i++) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return line;
}

int host_sockets_names(const char *list, struct host_sockets *ret)
{
	for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *name = name_in(line);
		if (!strchr("\n@", *name) && *name)
			strs_addn(*name == '/' ? &ret->absolute : &ret->relative, name, strcspn(name, "\n"));
	}
	return ret->absolute.failed || ret->relative.failed ? -ENOMEM : 0;
}

void host_sockets_done(struct host_sockets *h)
{
	strs_done(&h->absolute);
	strs_done(&h->relative);
}

/* A socket's name may contain symlinks, so resolve its directory. If that fails, the socket is gone or out of reach. */
static int add_absolute(const struct host_sockets *h, const char *dir, struct strs *ret)
{
	for (size_t i = 0; i < h->absolute.n; i++) {
		const char *name = path_basename(h->absolute.v[i]);
		_cleanup_free_ char *above = path_dirname(h->absolute.v[i]), *real = NULL;
		if (!above)
			return -ENOMEM;
		if (fs_real_path(above, &real, NULL) < 0 || !path_is_beneath(real, dir))
			continue;
		_cleanup_free_ char *path = path_join(real, name);
		if (!path)
			return -ENOMEM;
		strs_add(ret, path);
	}
	return ret->failed ? -ENOMEM : 0;
}

static bool has_base(const struct strs *names, const char *base)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(path_basename(names->v[i]), base) == 0)
			return true;
	return false;
}

/* The kernel does not tell which directory a relative name belongs to, so the tree is searched for sockets of such names. */
static int search_relative(const struct host_sockets *h, const char *dir, struct strs *ret)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int event = fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w); /* who may not read it cannot look for sockets in it */
		if (event != FS_WALK_ENTRY || w.type != DT_SOCK || !has_base(&h->relative, w.name))
			continue;
		const char *rest = fs_walk_path(&w);
		_cleanup_free_ char *path = rest ? path_join(dir, rest) : NULL;
		if (!path)
			return -ENOMEM;
		strs_add(ret, path);
	}
	return event < 0 ? event : ret->failed ? -ENOMEM : 0;
}

int host_sockets_find_in(const struct host_sockets *h, const char *dir, struct strs *ret)
{
	int rc = add_absolute(h, dir, ret);
	return rc == 0 && h->relative.n > 0 ? search_relative(h, dir, ret) : rc;
}

int host_sockets_read(struct host_sockets *ret, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	int rc = fs_read_file("/proc/self/net/unix", LIST_BYTES, &text, err);
	if (rc < 0)
		return rc;
	return host_sockets_names(buf_str(&text), ret) < 0 ? base_oom(err) : 0;
}
