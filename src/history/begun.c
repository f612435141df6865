/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record, one thing a line:
 *
 *   airlock-begun 1
 *   run RUN COMMAND PROJECT WORKING-DIR ASKED-BY STARTED REAL BOOT CLOCK
 *   session NAME TURNS LAST-STEP
 *   tail RUN
 *   mirrored CLOCK
 *   root PATH LAYER DEVICE INODE
 *   lower ROOT LAYER
 *   end CHECKSUM
 */
#include "history/begun.h"

#include "base/hash.h"
#include "base/line_fields.h"
#include "base/path.h"
#include "fs/fs.h"
#include "fs/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MAGIC "airlock-begun 1"
#define RECORD_MAX ((size_t)16 << 20)
#define SPARE ".spare" /* no run: begun_list leaves it out */

void begun_done(struct begun *b)
{
	change_set_free(b->set);
	strs_done(&b->lower_roots);
	strs_done(&b->lowers);
	strs_done(&b->texts);
	*b = (struct begun)BEGUN_INIT;
}

/* ── Places ── */

char *begun_path(const struct host *host, const char *run)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, BEGUN_DIR);
	return dir ? path_join(dir, run) : NULL;
}

/* The next run uses the file again. Making and removing a file for each run is slow on a disk where many files were removed lately. */
void begun_remove(const struct host *host, const char *run)
{
	_cleanup_free_ char *path = begun_path(host, run), *spare = begun_path(host, SPARE);
	if (path && (!spare || renameat2(AT_FDCWD, path, AT_FDCWD, spare, RENAME_NOREPLACE) < 0))
		(void)unlink(path);
}

bool begun_exists(const struct host *host, const char *run)
{
	_cleanup_free_ char *path = begun_path(host, run);
	return !path || access(path, F_OK) == 0;
}

int begun_list(const struct host *host, struct strs *ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, BEGUN_DIR);
	DIR *d = dir ? opendir(dir) : NULL;
	if (!d)
		return !dir ? base_oom(err) : errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			strs_add(ret, e->d_name);
	(void)closedir(d);
	strs_sort(ret);
	return ret->failed ? base_oom(err) : 0;
}

/* ── Writing ── */

static void print(const struct begun *b, struct buf *out)
{
	const struct change_set *set = b->set;
	buf_adds(out, MAGIC "\nrun");
	fields_add_string(out, b->run);
	fields_add_string(out, b->command);
	fields_add_string(out, b->project);
	fields_add_string(out, b->working_dir);
	fields_add_string(out, b->asked_by);
	fields_add_signed(out, b->started_ns);
	fields_add_signed(out, b->real_ns);
	fields_add_signed(out, b->boot_ns);
	fields_add_signed(out, set->started_ns);
	buf_addc(out, '\n');
	if (b->session) {
		buf_adds(out, "session");
		fields_add_string(out, b->session);
		fields_add_number(out, b->turns);
		fields_add_number(out, b->last_step);
		buf_addc(out, '\n');
	}
	if (b->tail_of) {
		buf_adds(out, "tail");
		fields_add_string(out, b->tail_of);
		buf_addc(out, '\n');
	}
	if (b->mirrored) {
		buf_adds(out, "mirrored");
		fields_add_signed(out, set->mirrored_ns);
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < set->n_roots; i++) {
		buf_adds(out, "root");
		fields_add_string(out, set->roots[i].path);
		fields_add_string(out, set->roots[i].upper);
		fields_add_number(out, set->roots[i].device);
		fields_add_number(out, set->roots[i].inode);
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < b->lowers.n; i++) {
		buf_adds(out, "lower");
		fields_add_string(out, b->lower_roots.v[i]);
		fields_add_string(out, b->lowers.v[i]);
		buf_addc(out, '\n');
	}
	uint64_t sum = hash_checksum(buf_str(out), out->len);
	buf_printf(out, "end %016" PRIx64 "\n", sum);
}

static int create(const struct host *host, const char *path, struct airlock_error *err)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, flags, 0600);
	if (fd < 0 && errno == ENOENT) {
		_cleanup_free_ char *dir = path_join(host->state_dir, BEGUN_DIR);
		int rc = dir ? fs_make_private_dir(dir, err) : base_oom(err);
		if (rc < 0)
			return rc;
		fd = open(path, flags, 0600);
	}
	return fd < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "create", path) : fd;
}

bool begun_is_at(int fd, const char *path)
{
	struct stat have, named;
	return fstat(fd, &have) == 0 && lstat(path, &named) == 0 && have.st_ino == named.st_ino &&
	       have.st_dev == named.st_dev;
}

/* Takes the spare file: locks it, writes the text and renames it to the path. Returns its descriptor; -1: there is no spare file, or
 * another process has it. A process renames the spare file only while it has the lock, and no file ever replaces it: so if the file still
 * has its name after we got the lock, it is ours. It gets the path when it is complete. */
static int use_spare(const char *spare, const char *path, const struct buf *text)
{
	_cleanup_close_ int fd = open(spare, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat old;
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !begun_is_at(fd, spare) || fstat(fd, &old) < 0)
		return -1;
	/* We overwrite it and then cut off the rest: emptying it first takes longer than making a new file. */
	bool is_ready = fs_write_all(fd, text->data, text->len) == 0 &&
			(old.st_size <= (off_t)text->len || ftruncate(fd, (off_t)text->len) == 0) &&
			renameat2(AT_FDCWD, spare, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
	return is_ready ? TAKE_FD(fd) : -1;
}

int begun_write(const struct host *host, const struct begun *b, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *path = begun_path(host, b->run), *spare = begun_path(host, SPARE);
	print(b, &text);
	if (!path || !spare || text.failed)
		return base_oom(err);
	int used = use_spare(spare, path, &text);
	if (used >= 0)
		return used;
	_cleanup_close_ int fd = create(host, path, err);
	if (fd < 0)
		return fd;
	int rc = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : fs_write_all(fd, text.data, text.len);
	if (rc < 0) {
		(void)unlink(path);
		return base_errno(err, AIRLOCK_ERR_IO, rc, "write", path);
	}
	return TAKE_FD(fd);
}

/* ── Reading ── */

static int take_text(struct begun *b, struct fields *f, const char **ret)
{
	char *text = NULL;
	int rc = fields_take_string(f, &text);
	if (rc < 0 || !text)
		return rc < 0 ? rc : -EINVAL;
	strs_take(&b->texts, text);
	if (b->texts.failed)
		return -ENOMEM;
	*ret = b->texts.v[b->texts.n - 1];
	return 0;
}

static int read_run(struct begun *b, struct fields *f)
{
	if (b->set)
		return -EINVAL;
	int rc = take_text(b, f, &b->run);
	rc = rc < 0 ? rc : take_text(b, f, &b->command);
	rc = rc < 0 ? rc : take_text(b, f, &b->project);
	rc = rc < 0 ? rc : take_text(b, f, &b->working_dir);
	rc = rc < 0 ? rc : take_text(b, f, &b->asked_by);
	rc = rc < 0 ? rc : fields_take_signed(f, &b->started_ns);
	rc = rc < 0 ? rc : fields_take_signed(f, &b->real_ns);
	rc = rc < 0 ? rc : fields_take_signed(f, &b->boot_ns);
	if (rc < 0)
		return rc;
	b->set = change_set_new(b->run);
	return b->set ? fields_take_signed(f, &b->set->started_ns) : -ENOMEM;
}

static int read_session(struct begun *b, struct fields *f)
{
	int rc = b->session ? -EINVAL : take_text(b, f, &b->session);
	rc = rc < 0 ? rc : fields_take_number(f, &b->turns);
	return rc < 0 ? rc : fields_take_number(f, &b->last_step);
}

static int read_tail(struct begun *b, struct fields *f)
{
	return b->tail_of ? -EINVAL : take_text(b, f, &b->tail_of);
}

static int read_mirrored(struct begun *b, struct fields *f)
{
	b->mirrored = true;
	return fields_take_signed(f, &b->set->mirrored_ns);
}

static int read_root(struct begun *b, struct fields *f)
{
	_cleanup_free_ char *path = NULL, *upper = NULL;
	uint64_t device = 0, inode = 0;
	int rc = fields_take_string(f, &path);
	rc = rc < 0 ? rc : fields_take_string(f, &upper);
	rc = rc < 0 ? rc : fields_take_number(f, &device);
	rc = rc < 0 ? rc : fields_take_number(f, &inode);
	if (rc < 0 || !path || !upper || !path_is_normal(path) || !path_is_normal(upper))
		return rc < 0 ? rc : -EINVAL;
	return change_set_take_root(b->set, TAKE_PTR(path), TAKE_PTR(upper), device, inode);
}

static int read_lower(struct begun *b, struct fields *f)
{
	_cleanup_free_ char *root = NULL, *lower = NULL;
	int rc = fields_take_string(f, &root);
	rc = rc < 0 ? rc : fields_take_string(f, &lower);
	if (rc < 0 || !root || !lower || !path_is_normal(lower))
		return rc < 0 ? rc : -EINVAL;
	strs_take(&b->lower_roots, TAKE_PTR(root));
	strs_take(&b->lowers, TAKE_PTR(lower));
	return b->lower_roots.failed || b->lowers.failed ? -ENOMEM : 0;
}

/* 1: the last line. */
static int read_line(struct begun *b, const struct buf *text, size_t at, size_t len)
{
	static const char *const words[] = {"run", "session", "tail", "mirrored", "root", "lower", "end", NULL};
	static int (*const readers[])(struct begun *, struct fields *) = {read_run,	 read_session, read_tail,
									  read_mirrored, read_root,    read_lower};
	struct fields f = fields_of(text->data + at, len);
	unsigned word = 0;
	char sum[20];
	if (at == 0)
		return len == strlen(MAGIC) && memcmp(text->data, MAGIC, len) == 0 ? 0 : -EINVAL;
	int rc = fields_take_name(&f, words, "a line", &word);
	if (rc == 0 && word != 0 && !b->set)
		return -EINVAL;
	if (rc == 0 && word < AL_ARRAY_LEN(readers)) {
		rc = readers[word](b, &f);
		return rc < 0 ? rc : fields_end(&f);
	}
	(void)snprintf(sum, sizeof sum, "%016" PRIx64, hash_checksum(text->data, at));
	rc = rc < 0 ? rc : fields_take_literal(&f, sum);
	rc = rc < 0 ? rc : fields_end(&f);
	return rc < 0 ? rc : 1;
}

static int parse(struct begun *b, const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		const char *newline = memchr(text->data + at, '\n', text->len - at);
		if (!newline)
			return -EINVAL;
		size_t len = (size_t)(newline - text->data) - at;
		int rc = read_line(b, text, at, len);
		at += len + 1;
		if (rc != 0)
			return rc < 0 ? rc : at == text->len ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int begun_load(const struct host *host, const char *run, struct begun *ret, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *path = begun_path(host, run);
	int rc = path ? fs_read_file(path, RECORD_MAX, &text, err) : base_oom(err);
	if (rc < 0)
		return rc;
	rc = parse(ret, &text);
	if (rc == -ENOMEM)
		return base_oom(err);
	if (rc < 0 || strcmp(ret->run, run) != 0)
		return base_error(err, AIRLOCK_ERR_CORRUPT, "parse", run,
				  "the record of the beginning of run %s is damaged", run);
	return 0;
}
