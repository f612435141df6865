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

static bool is_below_mount(const struct files_place *p, const char *inside)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (path_is_beneath(inside, p->mounts[i].inside) && strcmp(inside, p->mounts[i].inside) != 0)
			return true;
	return false;
}

int files_place_rule(struct files_place *p, const char *inside, enum files_access access, struct airlock_error *err)
{
	if (!is_below_mount(p, inside))
		return 0;
	struct files_rule *v = reallocarray(p->rules, p->n_rules + 1, sizeof *v);
	char *copy = v ? strdup(inside) : NULL;
	p->rules = v ? v : p->rules;
	if (!copy)
		return base_oom(err);
	p->rules[p->n_rules++] = (struct files_rule){copy, access};
	return 0;
}

enum files_access files_place_access(const struct files_place *p, const char *inside)
{
	enum files_access access = FILES_WRITABLE;
	size_t deepest = 0;
	for (size_t i = 0; i < p->n_rules; i++) {
		size_t len = strlen(p->rules[i].inside);
		if (len >= deepest && path_is_beneath(inside, p->rules[i].inside)) {
			access = p->rules[i].access;
			deepest = len;
		}
	}
	return access;
}

void files_place_done(struct files_place *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		free(p->rules[i].inside);
	free(p->rules);
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
