/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves and copies: content that programs obeyed before the run, in the same way, is not new.
 *
 * The same way means: the same row of the table, the same path from where its pattern begins (or, where a program looks at
 * the end of a name only, another name with the same end in the same directory), and no more executable than before. It
 * must not become more important either: a file that lay in some fixture becomes something else at the top of a project.
 * So a file may be moved to a place that is as deep as before or deeper, because whole directories are renamed, and be
 * copied only downward, or beside itself. Everything else is new, whatever it was before.
 */
#include "change/gate/gate.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <string.h>

/* What is done to find the originals of copies, in all: a command can make any number that look like one. A file that is read
 * counts as much as twenty that are only looked at. */
#define MAX_COMPARED 20000
#define COST_OF_READING 20

static size_t depth(const char *path, const char *end)
{
	size_t n = 0;
	for (; path < end; path++)
		n += *path == '/';
	return n;
}

static bool is_more_executable(uint32_t before, uint32_t after)
{
	return (after & 0111) && !(before & 0111);
}

/* The file extension with its dot; "" without one. */
static const char *suffix_of(const char *path)
{
	const char *dot = strrchr(path_basename(path), '.');
	return dot ? dot : "";
}

static bool same_directory(const char *a, const char *b)
{
	size_t n = strlen(a) - strlen(path_basename(a)), m = strlen(b) - strlen(path_basename(b));
	return n == m && memcmp(a, b, n) == 0;
}

/* Both folded, from where the pattern begins. */
static bool same_way(const struct sensitive_rule *rule, const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return true;
	return rule->any_name && same_directory(a, b) && strcmp(suffix_of(a), suffix_of(b)) == 0;
}

/* Whether what was at the live path was obeyed in the same way, at a place that was no less important. */
static bool is_obeyed_at(struct gate *g, const struct change *c, const struct gate_name *name, const char *path)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	gate_fold(path, &folded);
	if (folded.failed)
		return false;
	struct gate_name there = gate_find_name(g, c->root, path, buf_str(&folded), false);
	return there.rule == name->rule && same_way(name->rule, name->at, there.at) &&
	       depth(path, there.raw) <= depth(c->path, name->raw);
}

static bool has_content_of(struct gate *g, const struct change *c, const char *path)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct stat st;
	bool is_in_commit = g->content && g->content->change == c; /* then its size is not known before it is read */
	if (g->compared++ >= MAX_COMPARED || gate_stat_before(g, c->root, path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (!is_in_commit && (uint64_t)st.st_size != c->after.size) || is_more_executable(st.st_mode, c->after.mode))
		return false;
	g->compared += COST_OF_READING;
	return gate_read_before(g, c->root, path, &before) == 0 && gate_read_after(g, c, &after) == 0 &&
	       !before.failed && !after.failed && before.len == after.len &&
	       memcmp(buf_str(&before), buf_str(&after), before.len) == 0;
}

/* The same name in a directory further up. */
static bool is_copy_from_above(struct gate *g, const struct change *c, const struct gate_name *name)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	for (size_t n = (size_t)(name->raw - c->path); n > 0;) {
		for (n--; n > 0 && c->path[n - 1] != '/'; n--)
			;
		buf_reset(&path);
		buf_add(&path, c->path, n);
		buf_adds(&path, name->raw);
		if (!path.failed && has_content_of(g, c, buf_str(&path)) && is_obeyed_at(g, c, name, buf_str(&path)))
			return true;
	}
	return false;
}

static bool is_copy_of_neighbour(struct gate *g, const struct change *c, const struct gate_name *name)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	_cleanup_free_ char *dir = strndup(c->path, (size_t)(path_basename(c->path) - c->path));
	int live = g->roots[c->root].live;
	if (!dir || *dir == '\0' || live < 0 || g->compared >= MAX_COMPARED)
		return false;
	dir[strlen(dir) - 1] = '\0';
	int event = fs_open_beneath(live, dir, O_RDONLY | O_DIRECTORY);
	if (event >= 0)
		event = fs_walk_start(&w, event);
	while (event >= 0 && g->compared < MAX_COMPARED && (event = fs_walk_next(&w)) > 0) {
		_cleanup_free_ char *path = event == FS_WALK_ENTRY ? path_join(dir, w.name) : NULL;
		if (path && strcmp(suffix_of(path), suffix_of(c->path)) == 0 && has_content_of(g, c, path) &&
		    is_obeyed_at(g, c, name, path))
			return true;
	}
	return false;
}

bool gate_was_obeyed(struct gate *g, const struct change *c, const struct gate_name *name)
{
	if (name->rule->how != SENSITIVE_ALWAYS || c->after.type != CHANGE_FILE)
		return false;
	if (c->kind == CHANGE_RENAMED)
		return c->from && has_content_of(g, c, c->from) && is_obeyed_at(g, c, name, c->from);
	return is_copy_from_above(g, c, name) || (name->rule->any_name && is_copy_of_neighbour(g, c, name));
}
