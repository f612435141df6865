/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_file.h"

#include "base/path.h"
#include "fs/io.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void config_file_done(struct config_file *f)
{
	base_freep(&f->path);
	base_freep(&f->dir);
	buf_done(&f->text);
	toml_free(f->doc);
	*f = (struct config_file){0};
}

static int refuse(struct airlock_error *err, const char *path, const char *why)
{
	return base_error(err, AIRLOCK_ERR_INVALID, "read", path, "%s %s", path, why);
}

static int open_error(const char *path, int errnum, struct airlock_error *err)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "open", path, "%s does not exist", path);
	case ELOOP:
		return refuse(err, path, "is a symbolic link; a project's settings must be a regular file");
	case ENXIO:
		return refuse(err, path, "is not a regular file");
	default:
		return base_errno(err, AIRLOCK_ERR_IO, errnum, "open", path);
	}
}

/* Whoever can write this file controls the sandbox. */
static int check_owner(const struct stat *st, const char *path, struct airlock_error *err)
{
	int rc = 0;
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		rc = refuse(err, path, "belongs to another user, who could loosen your sandbox");
		base_hint(err, "change its owner, or name another file with --config");
	} else if (st->st_mode & S_IWOTH) {
		rc = refuse(err, path, "is writable by everybody, so anybody could loosen your sandbox");
		base_hint(err, "remove that permission: chmod o-w FILE");
	}
	return rc;
}

static int check_kind(int fd, const char *path, enum config_file_kind kind, struct airlock_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fstat", path);
	if (S_ISDIR(st.st_mode))
		return refuse(err, path, "is a directory, not a file");
	if (!S_ISREG(st.st_mode))
		return refuse(err, path, "is not a regular file");
	return kind == CONFIG_FILE_OURS ? check_owner(&st, path, err) : 0;
}

static int read_all(int fd, const char *path, struct buf *out, struct airlock_error *err)
{
	int rc = fs_read_all(fd, CONFIG_FILE_MAX, out);
	if (rc == -EFBIG)
		return base_error(err, AIRLOCK_ERR_LIMIT, "read", path,
				  "%s is larger than 1 MiB, the limit for a configuration file", path);
	if (rc < 0)
		return rc == -ENOMEM ? base_oom(err) : base_errno(err, AIRLOCK_ERR_IO, rc, "read", path);
	return 0;
}

/* Opens the file once and checks that descriptor, so that we read what we checked. O_NONBLOCK, so that a FIFO without
 * a writer cannot hang us; O_NOCTTY, so that we do not acquire a terminal. */
int config_file_read(const char *path, enum config_file_kind kind, struct buf *ret, struct airlock_error *err)
{
	int no_follow = kind == CONFIG_FILE_PROJECT ? O_NOFOLLOW : 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | no_follow);
	return config_file_read_fd(fd < 0 ? -errno : fd, path, kind, ret, err);
}

int config_file_read_fd(int fd_or_errno, const char *path, enum config_file_kind kind, struct buf *ret,
			struct airlock_error *err)
{
	if (fd_or_errno < 0)
		return open_error(path, -fd_or_errno, err);
	int rc = check_kind(fd_or_errno, path, kind, err);
	return rc < 0 ? rc : read_all(fd_or_errno, path, ret, err);
}

int config_file_parse(struct config_file *f, struct airlock_error *err)
{
	const char *text = buf_str(&f->text);
	if (memchr(text, '\0', f->text.len))
		return refuse(err, f->path, "is not a text file");
	int rc = toml_parse(text, f->text.len, f->path, NULL, &f->doc, err);
	return rc < 0 ? rc : config_file_check(f, err);
}

/* A very long path must not push the sentence out of the message. */
static void add_short_path(struct buf *out, const char *path)
{
	size_t len = strlen(path);
	if (len <= 600)
		buf_adds(out, path);
	else
		buf_printf(out, "%.300s...%s", path, path + len - 300);
}

int config_file_fault(const struct config_file *f, int line, int column, struct airlock_error *err, const char *fmt,
		      ...)
{
	_cleanup_buf_ struct buf subject = BUF_INIT, message = BUF_INIT;
	va_list ap;
	add_short_path(&subject, f->path);
	buf_printf(&subject, ":%d:%d", line, column);
	va_start(ap, fmt);
	buf_vprintf(&message, fmt, ap);
	va_end(ap);
	return base_error(err, AIRLOCK_ERR_INVALID, "config", buf_str(&subject), "%s: %s", buf_str(&subject),
			  buf_str(&message));
}

const struct toml_entry *config_entry(const struct toml_value *table, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; table && i < table->u.table.n; i++) {
		const struct toml_entry *e = &table->u.table.entries[i];
		if (e->key_len == len && memcmp(e->key, name, len) == 0)
			return e;
	}
	return NULL;
}

const struct toml_value *config_file_table(const struct config_file *f, const char *name)
{
	return f->doc ? toml_get(toml_root(f->doc), name) : NULL;
}

const struct toml_value *config_file_profile(const struct config_file *f, const char *name)
{
	const struct toml_value *profiles = config_file_table(f, "profiles");
	return profiles ? toml_get(profiles, name) : NULL;
}

int config_expand_path(const char *text, const char *base, const char *home, char **ret, struct airlock_error *err)
{
	if (!base || text[0] == '\0' || text[0] == '/' || text[0] == '~')
		return policy_expand_path(text, home, ret, err);
	*ret = path_normalize(base, text);
	return *ret ? 0 : base_oom(err);
}
