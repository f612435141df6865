/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/records_text.h"

#include "base/array.h"
#include "fs/beneath.h"
#include "history/records_look.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text_looks records_text_begin(const char *project_dir)
{
	return (struct text_looks){
		.root_fd = open(project_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	};
}

void records_text_done(struct text_looks *l)
{
	base_closep(&l->root_fd);
	free(l->v);
}

/* Out of memory only means that the next list looks again. */
static void keep(struct text_looks *l, const struct store_file *f, bool is_text)
{
	if (!ARRAY_ROOM(l->v, l->n, l->cap, 256))
		return;
	l->v[l->n++] = (struct text_look){.id = f->id, .ctime = f->ctime, .is_text = is_text};
}

/* false: there is no such file. */
static bool look_at(int dir_fd, const char *name, struct store_file *ret)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	records_from_stat(&st, ret);
	records_look(dir_fd, name, ret);
	return true;
}

static bool look_at_live(const struct text_looks *l, const struct store_file *f, struct store_file *ret)
{
	const char *name;
	if (l->root_fd < 0 || f->is_deleted || *f->path == '/')
		return false;
	_cleanup_close_ int dir = fs_open_parent(l->root_fd, f->path, &name);
	return dir >= 0 && look_at(dir, name, ret);
}

bool records_text(struct text_looks *l, const struct store_file *f)
{
	struct store_file now;
	if (f->is_text != STORE_TEXT_UNKNOWN)
		return f->is_text;
	if (look_at_live(l, f, &now)) {
		/* A file that was changed since is as it is; the record stays about what was recorded. */
		if (now.size == f->size && now.mtime == f->mtime && now.ctime == f->ctime && now.inode == f->inode)
			keep(l, f, now.is_text);
		return now.is_text;
	}
	return *f->last_approved_copy_path && look_at(AT_FDCWD, f->last_approved_copy_path, &now) && now.is_text;
}

void records_text_keep(struct text_looks *l, struct store *store)
{
	struct airlock_error why = {0};
	if (l->n == 0)
		return;
	store_set_wait(store, 0);
	int rc = store_begin(store, &why);
	if (rc < 0)
		return;
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		rc = store_file_set_text(store, l->v[i].id, l->v[i].ctime, l->v[i].is_text, &why);
	if (rc == 0)
		(void)store_commit(store, &why);
	else
		store_rollback(store);
}
