/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock setup AGENT`: reads the agent's files, edits them in memory, and replaces each by a rename. Keeps the old ones beside
 * them, so that --undo can give back the very bytes. */
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
#include "agent_sandbox.h"
#include "setup.h"

#define MAX_BYTES (4 << 20)
#define BACKUP_SUFFIX ".before-airlock"

/* One file of the agent's configuration. */
struct target {
	struct setup su;
	char *path;   /* with links resolved: if the file is a link, it stays one */
	char *text;   /* NULL: there is no such file */
	char *backup; /* where the text of before is kept */
	mode_t mode;
	bool has_airlock; /* already */
};

static void target_done(struct target *t)
{
	free(t->path);
	free(t->text);
	free(t->backup);
}

static int io_error(struct airlock_error *err, const char *doing, const char *path)
{
	return output_fail(err, AIRLOCK_ERR_IO, path, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* ret: NULL if there is no such file. */
static int read_file(const char *path, char **ret, mode_t *ret_mode, struct airlock_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	*ret = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : io_error(err, "read", path);
	int rc = fstat(fd, &st) < 0 ? io_error(err, "read", path) : 0;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES))
		rc = output_fail(err, AIRLOCK_ERR_INVALID, path, "%s is not a file that airlock can edit", path);
	char *text = rc == 0 ? calloc(1, (size_t)st.st_size + 1) : NULL;
	if (rc == 0 && (!text || read(fd, text, (size_t)st.st_size) != st.st_size))
		rc = io_error(err, "read", path);
	if (rc == 0 && strlen(text) != (size_t)st.st_size)
		rc = output_fail(err, AIRLOCK_ERR_INVALID, path, "%s is not a text file", path);
	(void)close(fd);
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret = text;
	*ret_mode = st.st_mode & 0777;
	return 0;
}

static int target_read(struct target *t, struct airlock_error *err)
{
	t->path = agent_file(t->su.agent, t->su.edits->file);
	t->mode = 0600;
	if (!t->path)
		return output_fail(err, AIRLOCK_ERR_INVALID, "HOME", "HOME is not set to an absolute path");
	char *real = realpath(t->path, NULL);
	if (real) {
		free(t->path);
		t->path = real;
	}
	if (asprintf(&t->backup, "%s" BACKUP_SUFFIX, t->path) < 0) {
		t->backup = NULL;
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	}
	return read_file(t->path, &t->text, &t->mode, err);
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

static int remove_file(const char *path, struct airlock_error *err)
{
	return unlink(path) < 0 && errno != ENOENT ? io_error(err, "remove", path) : 0;
}

/* As it was before airlock came: not again if only what is ours is changed or removed. */
static int back_up(const struct target *t, struct airlock_error *err)
{
	if (t->has_airlock)
		return 0;
	return t->text ? replace(t->backup, t->text, t->mode, err) : remove_file(t->backup, err);
}

static int target_write(const struct target *t, const char *text, struct airlock_error *err)
{
	int rc = make_parents(t->path, err);
	if (rc == 0)
		rc = back_up(t, err);
	if (rc < 0)
		return rc;
	return *text ? replace(t->path, text, t->mode, err) : remove_file(t->path, err);
}

/* Prints what the file would contain. If the file cannot be edited, prints what must be added by hand. */
static int print(struct target *t, bool is_only, struct airlock_error *err)
{
	struct airlock_error why = {0};
	char *edited = NULL;
	int rc = setup_edit(&t->su, t->text, SETUP_ADD, &edited, &why);
	if (rc < 0) {
		output_say("%s; add this to %s by hand:", why.message, t->path);
		rc = setup_edit(&t->su, NULL, SETUP_ADD, &edited, err);
	} else if (!is_only) {
		output_say("%s:", t->path);
	}
	if (rc >= 0)
		(void)fputs(edited, stdout);
	free(edited);
	return rc < 0 ? rc : 0;
}

static void tell(const struct target *t, const char *words)
{
	char *path = airlock_text_inert(t->path, strlen(t->path));
	(void)printf("%s: %s %s\n", t->su.agent->title, words, path ? path : t->su.edits->file);
	airlock_free(path);
}

static int add(struct target *t, struct airlock_error *err)
{
	char *edited = NULL, *without = NULL;
	int rc = setup_edit(&t->su, t->text, SETUP_ADD, &edited, err);
	bool changed = rc > 0;
	if (changed) {
		rc = setup_edit(&t->su, t->text, SETUP_REMOVE, &without, err);
		t->has_airlock = rc > 0;
	}
	if (changed && rc >= 0)
		rc = target_write(t, edited, err);
	free(edited);
	free(without);
	if (rc < 0)
		return rc;
	tell(t, changed ? "airlock was added to" : "airlock is already in");
	return 0;
}

/* ── Undo ── */

/* Sets *ret to true if nobody edited the file since setup: setup would make the same text again from the text before it. */
static int is_untouched(const struct target *t, const char *before, bool *ret, struct airlock_error *err)
{
	struct airlock_error ignored = {0};
	char *edited = NULL;
	int rc = setup_edit(&t->su, before, SETUP_ADD, &edited, &ignored);
	*ret = rc > 0 && t->text && strcmp(edited, t->text) == 0;
	free(edited);
	return rc == AIRLOCK_ERR_INTERNAL ? output_fail(err, rc, NULL, "out of memory") : 0;
}

static int give_back(const struct target *t, const char *before, struct airlock_error *err)
{
	int rc = before ? replace(t->path, before, t->mode, err) : remove_file(t->path, err);
	if (rc == 0)
		rc = remove_file(t->backup, err);
	if (rc == 0)
		tell(t, before ? "gave back, as it was before airlock,"
			       : "removed, because it was not there before airlock,");
	return rc < 0 ? rc : 1;
}

static int take_out(struct target *t, struct airlock_error *err)
{
	char *edited = NULL;
	int rc = setup_edit(&t->su, t->text, SETUP_REMOVE, &edited, err);
	bool changed = rc > 0;
	t->has_airlock = true; /* what is kept beside it stays */
	if (changed)
		rc = target_write(t, edited, err);
	free(edited);
	if (rc < 0)
		return rc;
	tell(t,
	     changed ? "edited since setup, so only airlock's own lines were removed from" : "there is no airlock in");
	return changed;
}

/* Returns whether there was something to undo. */
static int undo(struct target *t, struct airlock_error *err)
{
	char *before = NULL;
	mode_t mode = 0;
	bool is_as_set_up = false;
	int rc = read_file(t->backup, &before, &mode, err);
	if (rc == 0)
		rc = is_untouched(t, before, &is_as_set_up, err);
	if (rc == 0)
		rc = is_as_set_up ? give_back(t, before, err) : take_out(t, err);
	free(before);
	return rc;
}

/* ── Check ── */

static bool is_no(const struct target *t, const char *why, const char *rest)
{
	(void)printf("%s: commands do not go through airlock: %s%s\n", t->su.agent->title, why, rest);
	return true;
}

static bool contains(const struct target *t, const char *word)
{
	return t->text && strstr(t->text, word);
}

/* Settings of the agent's own that take the effect of ours away. */
static bool is_switched_off(const struct target *t)
{
	static const char *const switches[][2] = {{"claude", "\"disableAllHooks\": true"}};
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (strcmp(t->su.agent->name, switches[i][0]) == 0 && contains(t, switches[i][1]))
			return is_no(t, "its configuration has ", switches[i][1]);
	return false;
}

/* Codex keeps what a person trusted in another file. */
static bool is_not_trusted(const struct target *t, struct airlock_error *err)
{
	if (!t->su.agent->until_active || t->su.edits->kind != AGENT_EDIT_HOOK)
		return false;
	char *path = agent_file(t->su.agent, "config.toml"), *text = NULL;
	mode_t mode = 0;
	bool trusted = path && read_file(path, &text, &mode, err) == 0 && text &&
		       strstr(text, "hooks.json:pre_tool_use") && strstr(text, "trusted_hash");
	free(path);
	free(text);
	return !trusted && is_no(t, t->su.agent->until_active, "");
}

/* Not with airlock's tools alone: servers run outside of the agent's sandbox. NULL: nothing is to be said. The caller frees. */
static char *read_own_sandbox(const struct setup *su, struct airlock_error *err)
{
	const struct agent *a = su->agent;
	char *path = a->sandbox_file && su->edits != a->mcp ? agent_file(a, a->sandbox_file) : NULL, *text = NULL,
	     *advice = NULL;
	mode_t mode = 0;
	if (path && read_file(path, &text, &mode, err) == 0)
		advice = agent_sandbox_advice(a, path, text);
	free(path);
	free(text);
	return advice;
}

static bool needs_shell(const struct setup *su)
{
	for (size_t i = 0; i < su->n_edits; i++)
		if (su->edits[i].value && strstr(su->edits[i].value, "@SHELL@"))
			return true;
	return false;
}

/* Returns whether something is wrong, after it has said what. */
static int check(struct target *t, struct airlock_error *err)
{
	char *edited = NULL;
	int rc = setup_edit(&t->su, t->text, SETUP_ADD, &edited, err);
	free(edited);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return is_no(t, t->path, " does not have it, or has that of another airlock");
	if (needs_shell(&t->su) && access(t->su.shell, X_OK) < 0)
		return is_no(t, t->su.shell, " cannot be executed");
	return is_switched_off(t) || is_not_trusted(t, err);
}

/* ── The whole ── */

enum what { DO_ADD, DO_PRINT, DO_UNDO, DO_CHECK };

static int one_file(enum what what, struct target *t, bool is_only, struct airlock_error *err)
{
	int rc = target_read(t, err);
	if (rc < 0)
		return rc;
	switch (what) {
	case DO_PRINT:
		return print(t, is_only, err);
	case DO_UNDO:
		return undo(t, err);
	case DO_CHECK:
		return check(t, err);
	case DO_ADD:
		break;
	}
	return add(t, err);
}

static size_t count_same_file(const struct agent_edit *edits)
{
	size_t n = 1;
	while (n < AGENT_EDITS_MAX && edits[n].file && strcmp(edits[n].file, edits->file) == 0)
		n++;
	return n;
}

/* Returns how many of the files had something to undo, or to complain about. */
static int each_file(enum what what, const struct setup *su, struct airlock_error *err)
{
	int found = 0, rc = 0;
	for (const struct agent_edit *e = su->edits; rc >= 0 && e < su->edits + AGENT_EDITS_MAX && e->file;) {
		struct target t = {.su = *su};
		t.su.edits = e;
		t.su.n_edits = count_same_file(e);
		e += t.su.n_edits;
		rc = one_file(what, &t, t.su.n_edits == su->n_edits, err);
		found += rc > 0;
		target_done(&t);
		if (what == DO_CHECK && rc > 0)
			break; /* one reason is enough */
	}
	return rc < 0 ? rc : found;
}

/* Returns whether the agent's own sandbox is in the way, after it has said what to change. */
static bool tell_own_sandbox(enum what what, const struct setup *su)
{
	struct airlock_error ignored = {0};
	char *advice = read_own_sandbox(su, &ignored);
	if (advice)
		(void)printf("%s: %s%s\n", su->agent->title, what == DO_CHECK ? "commands fail: " : "", advice);
	bool is_on = advice;
	free(advice);
	return is_on;
}

static int finish(enum what what, const struct setup *su, int found)
{
	const struct agent *a = su->agent;
	bool is_mcp = su->edits == a->mcp;
	if (what == DO_ADD && is_mcp)
		(void)printf("%s: new sessions have airlock's tools, and no shell of their own\n", a->title);
	else if (what == DO_ADD)
		(void)printf("%s: %s\n", a->title, a->until_active ? a->until_active : "new sessions will use it");
	/* After that, so that nobody switches it off first. */
	if (what == DO_ADD || (what == DO_CHECK && found == 0))
		found += tell_own_sandbox(what, su);
	if (what == DO_CHECK && found == 0)
		(void)printf("%s: %s\n", a->title,
			     is_mcp ? "commands are run by airlock's tools" : "commands go through airlock");
	return what == DO_UNDO ? found == 0 : what == DO_CHECK ? found > 0 : 0;
}

static int choose(const struct invocation *inv, enum what *ret, bool *ret_mcp, struct airlock_error *err)
{
	static const char *const names[] = {[DO_PRINT] = "print", [DO_UNDO] = "undo", [DO_CHECK] = "check"};
	int rc = arguments_flag(&inv->args, "mcp", ret_mcp, err);
	*ret = DO_ADD;
	for (size_t i = DO_PRINT; rc == 0 && i <= DO_CHECK; i++) {
		bool is_asked = false;
		rc = arguments_flag(&inv->args, names[i], &is_asked, err);
		if (rc == 0 && is_asked && *ret != DO_ADD)
			rc = output_fail(err, AIRLOCK_ERR_USAGE, names[i], "--%s and --%s cannot be combined",
					 names[*ret], names[i]);
		if (is_asked)
			*ret = (enum what)i;
	}
	return rc;
}

static int choose_edits(const struct agent *a, enum what what, bool mcp, struct setup *su, struct airlock_error *err)
{
	if (mcp && a->no_mcp)
		return output_fail(err, AIRLOCK_ERR_UNAVAILABLE, a->name,
				   "%s cannot be left with airlock's tools alone: %s", a->title, a->no_mcp);
	if (!mcp && a->no_way && what == DO_ADD)
		output_say("%s: its own tool cannot go through airlock: %s; so it gets airlock's tools instead",
			   a->title, a->no_way);
	su->edits = mcp || a->no_way ? a->mcp : a->edits;
	while (su->n_edits < AGENT_EDITS_MAX && su->edits[su->n_edits].file)
		su->n_edits++;
	return 0;
}

static int set_up(const struct agent *a, const struct invocation *inv, struct airlock_error *err)
{
	enum what what;
	bool mcp = false;
	struct setup su = {.agent = a};
	int rc = choose(inv, &what, &mcp, err);
	if (rc == 0)
		rc = choose_edits(a, what, mcp, &su, err);
	if (rc < 0)
		return rc;
	char *program = agent_program(), *shell = agent_shell();
	char *command = program ? agent_command(a, program, su.edits == a->mcp) : NULL;
	su.program = program;
	su.shell = shell;
	su.command = command;
	rc = command && shell ? each_file(what, &su, err)
			      : output_fail(err, AIRLOCK_ERR_IO, "/proc/self/exe", "cannot find out where airlock is");
	free(program);
	free(shell);
	free(command);
	return rc < 0 ? rc : finish(what, &su, rc);
}

int cmd_setup(const struct invocation *inv, struct airlock_error *err)
{
	const struct agent *a = agent_find(inv->operand);
	if (a)
		return set_up(a, inv, err);
	(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown agent '%s'", inv->operand);
	return output_hint(err, "expected one of: " AGENT_NAMES);
}
