/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock playground`. */
#include "run/job.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/fs.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

int airlock_playground_path(const struct airlock_settings *s, char **ret_path, struct airlock_error *err)
{
	struct host host;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	*ret_path = TAKE_PTR(host.playground);
	host_done(&host);
	return 0;
}

/* The directory above it, opened; -ENOENT when there is none yet, which is an empty playground. */
static int open_data_dir(const struct host *host)
{
	int fd = open(host->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

typedef int (*playground_job)(int data_fd, uint64_t *a, uint64_t *b, struct airlock_error *err);

static int with_playground(const struct airlock_settings *s, playground_job job, uint64_t *a, uint64_t *b,
			   struct airlock_error *err)
{
	struct host host;
	struct stat st;
	*a = 0;
	if (b)
		*b = 0;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = open_data_dir(&host);
	if (fd == -ENOENT || (fd >= 0 && fstatat(fd, "playground", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT))
		rc = 0;
	else if (fd < 0)
		rc = base_errno(err, AIRLOCK_ERR_IO, fd, "open", host.data_dir);
	else
		rc = job(fd, a, b, err);
	host_done(&host);
	return rc;
}

static int measure(int data_fd, uint64_t *bytes, uint64_t *entries, struct airlock_error *err)
{
	assert(entries); /* airlock_playground_size's caller wants both */
	int rc = fs_tree_size_at(data_fd, "playground", bytes, entries, err);
	if (rc == 0 && *entries > 0)
		*entries -= 1; /* not the playground itself */
	return rc;
}

static int clear(int data_fd, uint64_t *entries, uint64_t *unused, struct airlock_error *err)
{
	int rc = fs_remove_tree_at(data_fd, "playground", entries, err);
	if (rc < 0)
		return rc;
	if (*entries > 0)
		*entries -= 1;
	return mkdirat(data_fd, "playground", 0700) < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "mkdir", "playground")
							: 0;
}

int airlock_playground_size(const struct airlock_settings *s, uint64_t *ret_bytes, uint64_t *ret_entries,
			    struct airlock_error *err)
{
	return with_playground(s, measure, ret_bytes, ret_entries, err);
}

int airlock_playground_clear(const struct airlock_settings *s, uint64_t *ret_entries, struct airlock_error *err)
{
	return with_playground(s, clear, ret_entries, NULL, err);
}
