/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "files/place.h"

#include "base/path.h"
#include "change/change.h"

#include <fcntl.h>
#include <string.h>

static int open_dir(const char *path, struct airlock_error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	int code = errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : errno == ENOTDIR ? AIRLOCK_ERR_INVALID : AIRLOCK_ERR_IO;
	return base_errno(err, code, errno, "open", path);
}

int files_place_mount(struct files_place *p, const char *inside, const char *outside, const char *upper, bool read_only,
		      struct airlock_error *err)
{
	_cleanup_close_ int lower_fd = open_dir(outside, err);
	_cleanup_close_ int upper_fd = upper && lower_fd >= 0 ? open_dir(upper, err) : -EBADF;
	if (lower_fd < 0)
		return lower_fd;
	if (upper && upper_fd < 0)
		return upper_fd;
	struct files_mount *v = reallocarray(p->mounts, p->n_mounts + 1, sizeof *v);
	_cleanup_free_ char *in = strdup(inside), *out = strdup(outside);
	p->mounts = v ? v : p->mounts;
	if (!v || !in || !out)
		return base_oom(err);
	p->mounts[p->n_mounts] = (struct files_mount){.inside = TAKE_PTR(in),
						      .outside = TAKE_PTR(out),
						      .lower_fd = TAKE_FD(lower_fd),
						      .upper_fd = TAKE_FD(upper_fd),
						      .root = p->n_mounts,
						      .read_only = read_only};
	p->n_mounts++;
	return 0;
}

void files_place_done(struct files_place *p)
{
	for (size_t i = 0; i < p->n_mounts; i++) {
		free(p->mounts[i].inside);
		free(p->mounts[i].outside);
		base_closep(&p->mounts[i].lower_fd);
		base_closep(&p->mounts[i].upper_fd);
	}
	free(p->mounts);
	free(p->base);
	change_set_free(p->set);
	*p = (struct files_place)FILES_PLACE_INIT;
}

const struct files_mount *files_place_at(const struct files_place *p, const char *inside)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (strcmp(p->mounts[i].inside, inside) == 0)
			return &p->mounts[i];
	return NULL;
}

bool files_place_leads_to(const struct files_place *p, const char *inside)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (path_is_beneath(p->mounts[i].inside, inside))
			return true;
	return false;
}

char *files_place_shown(const struct files_place *p, const char *path)
{
	_cleanup_free_ char *whole = path_normalize(p->workspace ? "/" : p->base, path);
	if (!whole || p->workspace)
		return TAKE_PTR(whole);
	const char *rest = path_rest(whole, p->base);
	return strdup(!rest ? whole : *rest ? rest : ".");
}
