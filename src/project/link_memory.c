/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "project/link_memory.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define MAGIC "airlock links 2"
#define MAGIC_1 "airlock links 1"
#define MAX_BYTES ((size_t)32 << 20)
#define SUM_BYTES 65 /* 64 digits and NUL */

static const char *const state_words[] = {
	[AIRLOCK_LINK_UNANSWERED] = "unanswered",
	[AIRLOCK_LINK_ALLOWED] = "allowed",
	[AIRLOCK_LINK_DENIED] = "denied",
};

static char *file_of(const char *state_dir, const char *project)
{
	char hex[65], *path = NULL;
	hash_sha256_hex(project, strlen(project), hex);
	return asprintf(&path, "%s/projects/%.16s/links", state_dir, hex) < 0 ? NULL : path;
}

static int damaged(struct airlock_error *err, const char *path, const char *why)
{
	return base_error(err, AIRLOCK_ERR_CORRUPT, "read", path, "%s: %s", path, why);
}

/* Different codes for missing and unreadable; anything that is not a valid file of ours counts as damaged. */
static int read_trusted(const char *path, struct buf *ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = fs_check_private(path, &why);
	if (rc == 0)
		rc = fs_read_file(path, MAX_BYTES, ret, &why);
	if (rc == AIRLOCK_ERR_INVALID || rc == AIRLOCK_ERR_LIMIT)
		return base_error(err, AIRLOCK_ERR_CORRUPT, "read", path, "%s", why.message);
	return rc < 0 ? base_pass(err, &why) : rc;
}

static bool sum_is_right(const struct buf *b)
{
	char hex[65];
	if (b->len <= SUM_BYTES || b->data[b->len - 1] != '\0' || b->data[b->len - SUM_BYTES - 1] != '\0')
		return false;
	hash_sha256_hex(b->data, b->len - SUM_BYTES, hex);
	return strcmp(hex, b->data + b->len - SUM_BYTES) == 0;
}

/* Returns the string at *at and moves *at behind it; NULL at the end. */
static const char *next_string(const char **at, const char *end)
{
	const char *s = *at;
	if (s >= end)
		return NULL;
	*at = s + strlen(s) + 1;
	return s;
}

static bool parse_state(const char *word, enum airlock_link_state *ret)
{
	for (size_t i = 0; word && i < AL_ARRAY_LEN(state_words); i++)
		if (strcmp(state_words[i], word) == 0) {
			*ret = (enum airlock_link_state)i;
			return true;
		}
	return false;
}

static int parse_links(const char *at, const char *end, bool has_states, struct links *ret)
{
	const char *path, *target;
	enum airlock_link_state state = AIRLOCK_LINK_UNANSWERED;
	while ((path = next_string(&at, end))) {
		target = next_string(&at, end);
		if (!target || !path[0] || !path_is_normal(target))
			return -EINVAL;
		if (has_states && !parse_state(next_string(&at, end), &state))
			return -EINVAL;
		(void)links_add(ret, path, target, state);
	}
	return ret->failed ? -ENOMEM : 0;
}

static int parse(const struct buf *b, const char *project, const char *file, struct links *ret,
		 struct airlock_error *err)
{
	if (!sum_is_right(b))
		return damaged(err, file, "the checksum is wrong");
	const char *at = b->data, *end = b->data + b->len - SUM_BYTES;
	const char *magic = next_string(&at, end), *owner = next_string(&at, end);
	bool has_states = strcmp(magic, MAGIC) == 0;
	if ((!has_states && strcmp(magic, MAGIC_1) != 0) || !owner)
		return damaged(err, file, "written by another version of airlock");
	if (strcmp(owner, project) != 0)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "read", file, "%s belongs to another project", file);
	int rc = parse_links(at, end, has_states, ret);
	if (rc == -ENOMEM)
		return base_oom(err);
	return rc < 0 ? damaged(err, file, "an entry is not a link") : 0;
}

int memory_load(const char *state_dir, const char *project, struct links *ret, struct airlock_error *err)
{
	_cleanup_free_ char *file = file_of(state_dir, project);
	_cleanup_buf_ struct buf content = BUF_INIT;
	_cleanup_links_ struct links links = LINKS_INIT;
	if (!file)
		return base_oom(err);
	int rc = read_trusted(file, &content, err);
	if (rc == 0)
		rc = parse(&content, project, file, &links, err);
	if (rc < 0)
		return rc;
	links_done(ret);
	*ret = links;
	links = (struct links)LINKS_INIT;
	return 0;
}

static void add_string(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s) + 1);
}

static void render(struct buf *b, const char *project, const struct links *links)
{
	char hex[65];
	add_string(b, MAGIC);
	add_string(b, project);
	for (size_t i = 0; i < links->n; i++) {
		if (links->v[i].state == AIRLOCK_LINK_REFUSED)
			continue;
		add_string(b, links->v[i].path);
		add_string(b, links->v[i].target);
		add_string(b, state_words[links->v[i].state]);
	}
	hash_sha256_hex(b->data, b->len, hex);
	add_string(b, hex);
}

static bool is_there_already(const char *file, const struct buf *content)
{
	_cleanup_buf_ struct buf old = BUF_INIT;
	return read_trusted(file, &old, NULL) == 0 && old.len == content->len &&
	       memcmp(buf_str(&old), buf_str(content), old.len) == 0;
}

int memory_save(const char *state_dir, const char *project, const struct links *links, struct airlock_error *err)
{
	_cleanup_free_ char *file = file_of(state_dir, project);
	_cleanup_buf_ struct buf content = BUF_INIT;
	render(&content, project, links);
	if (!file || content.failed)
		return base_oom(err);
	if (is_there_already(file, &content))
		return 0;
	return fs_write_private_file(file, content.data, content.len, err);
}

int memory_lock(const char *state_dir, const char *project, struct airlock_error *err)
{
	_cleanup_free_ char *file = file_of(state_dir, project);
	_cleanup_free_ char *dir = file ? path_dirname(file) : NULL;
	if (!dir)
		return base_oom(err);
	int rc = fs_make_private_dir(dir, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) < 0) /* held only for a moment */
		return base_errno(err, AIRLOCK_ERR_IO, errno, "lock", dir);
	return TAKE_FD(fd);
}

int memory_forget(const char *state_dir, const char *project, struct airlock_error *err)
{
	_cleanup_free_ char *file = file_of(state_dir, project);
	if (!file)
		return base_oom(err);
	return unlink(file) < 0 && errno != ENOENT ? base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", file) : 0;
}
