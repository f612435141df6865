/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/backend.h"

#include "backend/bwrap_probe.h"
#include "backend/native.h"
#include "base/path.h"
#include "fs/fs.h"
#include "sys/landlock.h"

#include <fcntl.h>
#include <string.h>

static const struct backend *const preference[] = {&backend_native, &backend_bubblewrap, &backend_landlock, NULL};

const struct backend *const *backend_preference(void)
{
	return preference;
}

const struct backend *backend_by_name(const char *name)
{
	static const struct backend *const by_name_only[] = {&backend_seatbelt, &backend_passthrough};
	for (size_t i = 0; preference[i]; i++)
		if (strcmp(preference[i]->name, name) == 0)
			return preference[i];
	for (size_t i = 0; i < AL_ARRAY_LEN(by_name_only); i++)
		if (strcmp(by_name_only[i]->name, name) == 0)
			return by_name_only[i];
	return NULL;
}

void backend_found_done(struct backend_found *f)
{
	free(f->bwrap);
	free(f->native);
	*f = (struct backend_found){0};
}

unsigned backend_tmpfs_mode(const char *target)
{
	const char *name = path_basename(target);
	return strcmp(name, "tmp") == 0 || strcmp(name, "shm") == 0 ? 01777 : 0755;
}

/* The empty file that covers hidden files. Not in the state directory, which a rebuilt home leaves out. */
int backend_make_empty_file(const struct backend_context *ctx, const struct plan *plan, struct airlock_error *err)
{
	bool needed = false;
	for (size_t i = 0; i < plan->n_mounts && !needed; i++)
		needed = plan->mounts[i].kind == PLAN_EMPTY_FILE;
	_cleanup_free_ char *path = needed ? path_join(ctx->data_dir, "empty") : NULL;
	struct stat st;
	if (!needed)
		return 0;
	if (!path)
		return base_oom(err);
	bool missing = lstat(path, &st) < 0 && errno == ENOENT;
	if (!missing && S_ISREG(st.st_mode) && st.st_size == 0)
		return 0;
	/* If two runs find none, the later one must not replace the other's file: it may be bound at this moment. */
	_cleanup_close_ int fd = missing ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -EBADF;
	if (fd >= 0 || (missing && errno == EEXIST))
		return 0;
	return fs_write_private_file(path, "", 0, err);
}

#define LANDLOCK_VERSION_SCOPES 6

bool backend_scopes_sockets(void)
{
	return sys_landlock_version() >= LANDLOCK_VERSION_SCOPES;
}
