/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In a worktree or submodule .git is a file, `gitdir: PATH`, and git writes to PATH. The file lies in the project, where a
 * command can write: alone it proves nothing, or any directory could be made writable by it. What proves it is the way
 * back, written by git in a place commands cannot reach:
 *
 *   worktree   PATH is <common>/worktrees/<id>, and PATH/gitdir names the project's .git: the root is <common>
 *   submodule  core.worktree in PATH/config names the project: the root is PATH
 *
 * In both cases the proof lies inside the directory it opens: whoever could forge it could write there anyway. */
#include "project/git.h"

#include "base/path.h"
#include "fs/fs.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define MAX_POINTER 8192     /* a path and a word */
#define MAX_CONFIG (1 << 20) /* maximum size of a config file worth reading */

struct gitdir {
	char *dir;    /* real path of the target of .git */
	char *common; /* the repository's own directory: dir itself, except for worktrees */
	bool is_worktree;
};

static void gitdir_done(struct gitdir *g)
{
	free(g->dir);
	free(g->common);
}

bool git_is_linked(const char *dir)
{
	_cleanup_free_ char *path = path_join(dir, ".git");
	struct stat st;
	return path && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* First line of a small file without its newline; NULL when there is none. */
static char *read_line(const char *dir, const char *name)
{
	_cleanup_free_ char *path = path_join(dir, name);
	_cleanup_buf_ struct buf b = BUF_INIT;
	if (!path || fs_read_file(path, MAX_POINTER, &b, NULL) < 0 || b.len == 0)
		return NULL;
	/* Only the end of the file ends the path, as in git: a directory name may contain a newline. */
	while (b.len > 0 && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		b.data[--b.len] = '\0';
	return b.len > 0 && strlen(b.data) == b.len ? buf_take(&b) : NULL;
}

/* Real path of path, relative to base; NULL if it does not exist. */
static char *resolve(const char *base, const char *path)
{
	if (path[0] == '/')
		return realpath(path, NULL);
	_cleanup_free_ char *joined = path_join(base, path);
	return joined ? realpath(joined, NULL) : NULL;
}

static char *read_pointer(const char *dir, const char *name, const char *prefix)
{
	_cleanup_free_ char *line = read_line(dir, name);
	size_t n = strlen(prefix);
	return line && strncmp(line, prefix, n) == 0 && line[n] ? resolve(dir, line + n) : NULL;
}

static bool has_entry(const char *dir, const char *name)
{
	_cleanup_free_ char *path = path_join(dir, name);
	struct stat st;
	return path && lstat(path, &st) == 0;
}

/* False if the .git file does not point at a possible git directory. */
static bool find_gitdir(const char *project, struct gitdir *g)
{
	g->dir = read_pointer(project, ".git", "gitdir: ");
	if (!g->dir)
		return false;
	g->is_worktree = has_entry(g->dir, "commondir");
	g->common = g->is_worktree ? read_pointer(g->dir, "commondir", "") : strdup(g->dir);
	struct stat st;
	return g->common && stat(g->common, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The back reference of a worktree names its .git file, perhaps in another spelling. */
static bool worktree_is_proved(const struct gitdir *g, const char *project)
{
	_cleanup_free_ char *worktrees = path_dirname(g->dir);
	_cleanup_free_ char *owner = worktrees ? path_dirname(worktrees) : NULL;
	if (!owner || strcmp(path_basename(worktrees), "worktrees") != 0 || strcmp(owner, g->common) != 0)
		return false;
	_cleanup_free_ char *back = read_line(g->dir, "gitdir");
	if (!back || strcmp(path_basename(back), ".git") != 0)
		return false;
	_cleanup_free_ char *parent = path_dirname(back);
	_cleanup_free_ char *tree = parent ? resolve(g->dir, parent) : NULL;
	return tree && strcmp(tree, project) == 0;
}

static char unescape(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
}

/* Reads one value as git-config writes it: quotes, backslash escapes, a comment after it. False if it is cut off. */
static bool unquote(const char *s, size_t n, struct buf *out)
{
	bool quoted = false;
	size_t keep = 0; /* length without trailing blanks */
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		bool blank = !quoted && (c == ' ' || c == '\t' || c == '\r');
		if (!quoted && (c == '#' || c == ';'))
			break;
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\' && ++i == n)
			return false;
		buf_addc(out, c == '\\' ? unescape(s[i]) : c);
		keep = blank ? keep : out->len;
	}
	if (out->data && !out->failed)
		out->data[out->len = keep] = '\0';
	return !out->failed && !quoted;
}

/* The value of `worktree = …` in this line, or NULL for another line. The text continues after its n bytes. */
static char *worktree_value(const char *line, size_t n)
{
	static const char key[] = "worktree";
	size_t k = sizeof key - 1;
	if (n < k || strncasecmp(line, key, k) != 0)
		return NULL;
	const char *end = line + n;
	line += k + strspn(line + k, " \t");
	if (line >= end || *line != '=')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	struct buf out = BUF_INIT;
	if (unquote(line, (size_t)(end - line), &out))
		return buf_take(&out);
	buf_done(&out);
	return NULL;
}

/* The last core.worktree counts, as in git. Includes are not followed: git writes it into the file itself. */
static char *find_core_worktree(const char *text)
{
	char *found = NULL;
	bool in_core = false;
	for (const char *line = text; *line;) {
		line += strspn(line, " \t\n\r");
		size_t n = strcspn(line, "\n");
		if (line[0] == '[')
			in_core = strncasecmp(line, "[core]", 6) == 0;
		char *value = in_core ? worktree_value(line, n) : NULL;
		if (value) {
			free(found);
			found = value;
		}
		line += n;
	}
	return found;
}

static bool config_names(const char *gitdir, const char *file, const char *project)
{
	_cleanup_free_ char *path = path_join(gitdir, file);
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (!path || fs_read_file(path, MAX_CONFIG, &text, NULL) < 0)
		return false;
	_cleanup_free_ char *value = find_core_worktree(buf_str(&text));
	_cleanup_free_ char *tree = value ? resolve(gitdir, value) : NULL;
	return tree && strcmp(tree, project) == 0;
}

/* git moves the setting to config.worktree when it makes a sparse checkout. */
static bool submodule_is_proved(const struct gitdir *g, const char *project)
{
	return config_names(g->dir, "config", project) || config_names(g->dir, "config.worktree", project);
}

static int note(struct notes *notes, const char *dir, const char *why, struct airlock_error *err)
{
	NOTE(notes, GIT_REFUSED, .subject = dir, .cause = why);
	return notes->failed ? base_oom(err) : 0;
}

/* The location proves something only if no command could have written there. */
static const char *why_not_proved(const struct gitdir *g, const struct roots *roots, const char *project)
{
	if (roots_cover(roots, g->dir))
		return "because the file that points to it is where commands can write";
	if (g->is_worktree ? worktree_is_proved(g, project) : submodule_is_proved(g, project))
		return NULL;
	return "because it does not point back to this project; if it is yours, name it with --allow-write";
}

static int add_proved(const struct gitdir *g, const struct roots_rules *rules, struct roots *roots, struct notes *notes,
		      struct airlock_error *err)
{
	_cleanup_buf_ struct buf why = BUF_INIT;
	const char *secret = NULL;
	enum roots_verdict verdict = roots_judge(rules, g->common, &secret);
	/* Outside the home directory too: the proof is stronger than the location. */
	if (verdict == ROOTS_OK || verdict == ROOTS_OUTSIDE_HOME || verdict == ROOTS_NO_HOME) {
		roots_add(roots, g->common, g->is_worktree ? RULE_ORIGIN(WORKTREE) : RULE_ORIGIN(SUBMODULE));
		return roots->failed ? base_oom(err) : 0;
	}
	roots_add_reason(&why, verdict, secret);
	return note(notes, g->common, buf_str(&why), err);
}

int git_add_root(const struct roots_rules *rules, struct roots *roots, struct notes *notes, struct airlock_error *err)
{
	_cleanup_(gitdir_done) struct gitdir g = {0};
	if (!git_is_linked(rules->project))
		return 0;
	if (!find_gitdir(rules->project, &g)) {
		NOTE(notes, GIT_MISSING);
		return notes->failed ? base_oom(err) : 0;
	}
	if (roots_cover(roots, g.common))
		return 0;
	const char *why = why_not_proved(&g, roots, rules->project);
	return why ? note(notes, g.common, why, err) : add_proved(&g, rules, roots, notes, err);
}
