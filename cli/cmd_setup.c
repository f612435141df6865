/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock setup AGENT`: reads the file, edits it in memory, and replaces it by a rename; keeps the old one beside it.
 */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents.h"
#include "output.h"
#include "setup.h"

#define MAX_BYTES (4 << 20)
#define BACKUP_SUFFIX ".before-airlock"

struct target {
	char *path; /* with links resolved: if the file is a link, it stays one */
	char *text; /* NULL: there is no such file */
	mode_t mode;
	bool has_airlock; /* already */
};

static void target_done(struct target *t)
{
	free(t->path);
	free(t->text);
}

static int io_error(struct airlock_error *err, const char *doing, const char *path)
{
	return output_fail(err, AIRLOCK_ERR_IO, path, "cannot %s %s: %s", doing, path, strerror(errno));
}

static int read_text(struct target *t, int fd, struct airlock_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return io_error(err, "read", t->path);
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES)
		return output_fail(err, AIRLOCK_ERR_INVALID, t->path, "%s is not a file that airlock can edit",
				   t->path);
	t->mode = st.st_mode & 0777;
	t->text = calloc(1, (size_t)st.st_size + 1);
	ssize_t n = t->text ? read(fd, t->text, (size_t)st.st_size) : -1;
	if (n != st.st_size)
		return io_error(err, "read", t->path);
	if (strlen(t->text) != (size_t)n)
		return output_fail(err, AIRLOCK_ERR_INVALID, t->path, "%s is not a text file", t->path);
	return 0;
}

static int target_read(struct target *t, const struct agent *a, struct airlock_error *err)
{
	*t = (struct target){.path = agent_file(a), .mode = 0600};
	if (!t->path)
		return output_fail(err, AIRLOCK_ERR_INVALID, "HOME", "HOME is not set to an absolute path");
	char *real = realpath(t->path, NULL);
	if (real) {
		free(t->path);
		t->path = real;
	}
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : io_error(err, "read", t->path);
	int rc = read_text(t, fd, err);
	(void)close(fd);
	return rc;
}

static int make_parents(const char *path, struct airlock_error *err)
{
	char *copy = strdup(path);
	int rc = copy ? 0 : output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && rc == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			rc = io_error(err, "make", copy);
		*slash = '/';
	}
	free(copy);
	return rc;
}

static int fill(int fd, const char *text, mode_t mode)
{
	return !output_write(fd, text, strlen(text)) || fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -1 : 0;
}

/* A reader sees the old file or the new one, never a part. */
static int replace(const char *path, const char *text, mode_t mode, struct airlock_error *err)
{
	char *temporary = NULL;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	int fd = mkostemp(temporary, O_CLOEXEC);
	int rc =
		fd >= 0 && fill(fd, text, mode) == 0 && rename(temporary, path) == 0 ? 0 : io_error(err, "write", path);
	if (fd >= 0) {
		(void)close(fd);
		if (rc < 0)
			(void)unlink(temporary);
	}
	free(temporary);
	return rc;
}

/* As it was before airlock came: not again if only our own hook is changed or removed. */
static int back_up(const struct target *t, struct airlock_error *err)
{
	char *path = NULL;
	if (!t->text || t->has_airlock)
		return 0;
	if (asprintf(&path, "%s" BACKUP_SUFFIX, t->path) < 0)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	int rc = replace(path, t->text, t->mode, err);
	free(path);
	return rc;
}

static int target_write(const struct target *t, const char *text, struct airlock_error *err)
{
	int rc = make_parents(t->path, err);
	if (rc == 0)
		rc = back_up(t, err);
	if (rc < 0)
		return rc;
	if (*text)
		return replace(t->path, text, t->mode, err);
	return unlink(t->path) < 0 && errno != ENOENT ? io_error(err, "remove", t->path) : 0;
}

/* Prints what the file would contain. If the file cannot be edited, prints what must be added by hand. */
static int print(const struct agent *a, const char *command, const struct target *t, struct airlock_error *err)
{
	struct airlock_error why = {0};
	char *edited = NULL;
	int rc = setup_edit(a, command, t->text, SETUP_ADD, &edited, &why);
	if (rc < 0) {
		output_say("%s; add this to %s by hand:", why.message, t->path);
		rc = setup_edit(a, command, NULL, SETUP_ADD, &edited, err);
	}
	if (rc >= 0)
		(void)fputs(edited, stdout);
	free(edited);
	return rc < 0 ? rc : 0;
}

static int tell(const struct agent *a, const struct target *t, bool undo, bool changed)
{
	char *path = airlock_text_inert(t->path, strlen(t->path));
	const char *shown = path ? path : a->file, *words = NULL;
	if (undo)
		words = changed ? "the hook was removed from" : "there is no hook in";
	else
		words = changed ? "the hook was added to" : "the hook is already in";
	(void)printf("%s: %s %s\n", a->title, words, shown);
	if (!undo)
		(void)printf("%s: %s\n", a->title, a->until_active ? a->until_active : "new sessions will use it");
	airlock_free(path);
	return undo && !changed ? 1 : 0;
}

static int find_airlock(const struct agent *a, const char *command, struct target *t, struct airlock_error *err)
{
	char *without = NULL;
	int rc = setup_edit(a, command, t->text, SETUP_REMOVE, &without, err);
	t->has_airlock = rc > 0;
	free(without);
	return rc;
}

static int change(const struct agent *a, const char *command, struct target *t, bool undo, struct airlock_error *err)
{
	char *edited = NULL;
	int rc = setup_edit(a, command, t->text, undo ? SETUP_REMOVE : SETUP_ADD, &edited, err);
	bool changed = rc > 0;
	if (changed)
		rc = find_airlock(a, command, t, err);
	if (changed && rc >= 0)
		rc = target_write(t, edited, err);
	free(edited);
	return rc < 0 ? rc : tell(a, t, undo, changed);
}

static int set_up(const struct agent *a, const struct invocation *inv, struct airlock_error *err)
{
	bool only_print = false, undo = false;
	int rc = arguments_flag(&inv->args, "print", &only_print, err);
	if (rc == 0)
		rc = arguments_flag(&inv->args, "undo", &undo, err);
	if (rc == 0 && only_print && undo)
		rc = output_fail(err, AIRLOCK_ERR_USAGE, "--print", "--print and --undo cannot be combined");
	if (rc < 0)
		return rc;
	struct target t = {0};
	char *program = agent_program(), *command = program ? agent_command(a, program) : NULL;
	rc = command ? target_read(&t, a, err)
		     : output_fail(err, AIRLOCK_ERR_IO, "/proc/self/exe", "cannot find out where airlock is");
	if (rc == 0)
		rc = only_print ? print(a, command, &t, err) : change(a, command, &t, undo, err);
	if (command)
		target_done(&t);
	free(program);
	free(command);
	return rc;
}

int cmd_setup(const struct invocation *inv, struct airlock_error *err)
{
	const struct agent *a = agent_find(inv->operand);
	if (a)
		return set_up(a, inv, err);
	(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown agent '%s'", inv->operand);
	return output_hint(err, "expected one of: " AGENT_NAMES);
}
