/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Virtual environments of Python. One that the run has made is applied as it is: it is the work of the command that was
 * asked for. One that was there before is in use: editors start its interpreter and shells read its activate script without
 * anybody asking, and the interpreter runs what its start-up files say.
 */
#include "change/gate.h"

#include "base/path.h"

#include <string.h>

static enum change_type entry_of(struct gate *g, size_t root, const char *path, bool after)
{
	return after ? gate_type_after(g, root, path) : gate_type_before(g, root, path);
}

/* Of a new directory, or one that has it already: put into any other it would only be there to excuse what follows. */
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

const char *gate_judge_python_env(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	return makes_venv(g, c->root, c->path) ? NULL : rule->reason;
}

const char *gate_judge_python_start(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	if (!gate_is_in_venv(g, c->root, c->path))
		return rule->reason;
	if (!any_above(g, c->root, c->path, was_venv))
		return NULL;
	size_t n = strlen(c->path);
	if (c->after.type != CHANGE_FILE || n < 4 || strcasecmp(c->path + n - 4, ".pth") != 0)
		return rule->reason;
	return gate_judge_search_path(g, c, rule);
}

/* The link to an interpreter is judged by where it leads. */
const char *gate_judge_python_bin(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	if (c->after.type != CHANGE_FILE)
		return NULL;
	return any_above(g, c->root, c->path, was_venv) ? rule->reason : NULL;
}
