/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Virtual environments of Python. One that the run has made is applied as it is, but for an interpreter that is a file of its
 * own: editors find it and start it. One that was there before is in use: editors start its interpreter and shells read its
 * activate script without anybody asking, and the interpreter runs what its start-up files say.
 */
#include "change/gate/gate.h"

#include "base/path.h"

#include <string.h>

static enum change_type entry_of(struct gate *g, size_t root, const char *path, bool after)
{
	return after ? gate_type_after(g, root, path) : gate_type_before(g, root, path);
}

/* pyvenv.cfg counts in a new directory, or where it was before. A run could add it to any other directory only to have the files
 * there judged more mildly. */
static bool makes_venv(struct gate *g, size_t root, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (!dir || entry_of(g, root, path, true) != CHANGE_FILE)
		return false;
	return entry_of(g, root, path, false) == CHANGE_FILE || entry_of(g, root, dir, false) == CHANGE_NOTHING;
}

static bool was_venv(struct gate *g, size_t root, const char *path)
{
	return entry_of(g, root, path, false) != CHANGE_NOTHING;
}

/* Asks about pyvenv.cfg in every directory above path. */
static bool any_above(struct gate *g, size_t root, const char *path,
		      bool (*ask)(struct gate *, size_t, const char *config))
{
	_cleanup_buf_ struct buf at = BUF_INIT;
	for (size_t n = strlen(path);; n--) {
		while (n > 0 && path[n - 1] != '/')
			n--;
		buf_reset(&at);
		buf_add(&at, path, n);
		buf_adds(&at, "pyvenv.cfg");
		if (!at.failed && ask(g, root, at.data))
			return true;
		if (n == 0)
			return false;
	}
}

bool gate_is_in_venv(struct gate *g, size_t root, const char *path)
{
	return any_above(g, root, path, makes_venv);
}

const struct airlock_reason *gate_judge_python_env(struct gate *g, const struct change *c,
						   const struct sensitive_rule *rule)
{
	return makes_venv(g, c->root, c->path) ? NULL : &rule->reason;
}

const struct airlock_reason *gate_judge_python_start(struct gate *g, const struct change *c,
						     const struct sensitive_rule *rule)
{
	if (!gate_is_in_venv(g, c->root, c->path))
		return &rule->reason;
	if (!any_above(g, c->root, c->path, was_venv))
		return NULL;
	size_t n = strlen(c->path);
	if (c->after.type != CHANGE_FILE || n < 4 || strcasecmp(c->path + n - 4, ".pth") != 0)
		return &rule->reason;
	return gate_judge_search_path(g, c, rule);
}

/* "python", "python3", "python3.12": what editors start; not "python-config" or other scripts. */
static bool is_interpreter_name(const char *name)
{
	return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* In an environment links lead to another name of the interpreter beside them, or out to the system's, which
 * gate_judge_link looks at. One that leads into the project starts a program that the command may have written. */
static bool leads_into_project(struct gate *g, const struct change *c)
{
	_cleanup_buf_ struct buf target = BUF_INIT;
	_cleanup_free_ char *dir = strndup(c->path, (size_t)(path_basename(c->path) - c->path)), *path = NULL;
	size_t root;
	if (!dir || gate_read_link(g, c, &target) < 0)
		return true;
	return !is_interpreter_name(buf_str(&target)) && gate_resolve(g, c->root, dir, buf_str(&target), &root, &path);
}

const struct airlock_reason *gate_judge_python_bin(struct gate *g, const struct change *c,
						   const struct sensitive_rule *rule)
{
	bool is_interpreter = is_interpreter_name(path_basename(c->path));
	bool was_there = any_above(g, c->root, c->path, was_venv);
	if (!was_there && !(is_interpreter && gate_is_in_venv(g, c->root, c->path)))
		return NULL;
	if (c->after.type == CHANGE_SYMLINK)
		return is_interpreter && leads_into_project(g, c) ? &rule->reason : NULL;
	return &rule->reason;
}
