/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links in the home directory that lead into a root. People keep their settings in a project and link to them:
 * ~/.bashrc → ~/dotfiles/bashrc, ~/.config/nvim → ~/dotfiles/nvim. There the shell obeys a file whose own name says nothing.
 *
 * Looked at are the dot-entries of the home, the entries of ~/.config and those one level further down: a person, not a
 * command, has made these links, because no command writes there. Programs in ~/bin and ~/.local/bin do not count: a
 * person starts them by name.
 */
#include "change/gate/gate.h"
#include "change/gate/gate_name.h"

#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LOOKED_AT 8192 /* entries in all, so that a full home costs a few milliseconds at most */

static const struct sensitive_rule linked = {
	.pattern = "**",
	.how = SENSITIVE_ALWAYS,
	.reason = {AIRLOCK_REASON_STEERS, "a link in the home directory leads here"}};

struct home_links {
	struct gate *g;
	const char *home;
	int looked_at;
};

/* Whether some row names what is called name/below in the home, or something in it. */
static bool has_row(struct gate *g, const char *name, const char *below)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	_cleanup_free_ char *path = path_join(name, below);
	if (!path)
		return true;
	gate_fold(path, &folded);
	struct gate_rows_at it = gate_rows_at(&g->names, buf_str(&folded));
	for (const struct sensitive_rule *r; (r = gate_rows_next(&it));)
		if (gate_name_match(r->pattern, buf_str(&folded)) != GATE_NO)
			return true;
	return folded.failed;
}

/* name: the link, relative to the home. A link to a directory above a root counts only for names that programs are known to
 * obey: others may lead to where somebody keeps all of their projects. */
static void lead_to(struct gate *g, const char *name, const char *target)
{
	for (size_t i = 0; i < g->set->n_roots; i++) {
		const char *root = g->set->roots[i].path, *rest = path_rest(target, root);
		const char *below = rest ? NULL : path_rest(root, target);
		if (rest && *rest)
			gate_add_alias(g, i, strdup(rest), NULL, &linked);
		if (rest || (below && has_row(g, name, below)))
			gate_add_alias(g, i, strdup(rest ? rest : ""), linked.pattern, &linked);
	}
}

/* Both what the link says and where it ends: it may go through another one, and its end need not exist yet. */
static void follow_link(struct home_links *l, const char *dir, const char *name)
{
	char target[PATH_MAX];
	_cleanup_free_ char *relative = *dir ? path_join(dir, name) : strdup(name);
	_cleanup_free_ char *link = relative ? path_join(l->home, relative) : NULL;
	_cleanup_free_ char *base = link ? path_dirname(link) : NULL;
	ssize_t n = base ? readlink(link, target, sizeof target - 1) : -1;
	if (n <= 0) {
		l->g->failed |= !base;
		return;
	}
	target[n] = '\0';
	struct stat st;
	l->g->source_ns = lstat(link, &st) == 0 ? change_stat_of(&st).ctime_ns : 0;
	_cleanup_free_ char *said = path_normalize(base, target), *end = realpath(link, NULL);
	if (said)
		lead_to(l->g, relative, said);
	if (end && (!said || strcmp(end, said) != 0))
		lead_to(l->g, relative, end);
	l->g->source_ns = 0;
}

static bool is_type(DIR *dir, const struct dirent *e, unsigned char type, mode_t mode)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == type;
	return fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == mode;
}

/* dir: relative to the home, "" is the home. depth: how many levels of directories below it are looked at, too. */
static void look_in(struct home_links *l, const char *dir, int depth)
{
	_cleanup_free_ char *path = *dir ? path_join(l->home, dir) : strdup(l->home);
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		(void)close(fd);
	for (const struct dirent *e; d && l->looked_at < MAX_LOOKED_AT && (e = readdir(d));) {
		l->looked_at++;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || (!*dir && e->d_name[0] != '.'))
			continue;
		if (is_type(d, e, DT_LNK, S_IFLNK))
			follow_link(l, dir, e->d_name);
		_cleanup_free_ char *below =
			depth > 0 && is_type(d, e, DT_DIR, S_IFDIR) ? path_join(dir, e->d_name) : NULL;
		if (below)
			look_in(l, below, depth - 1);
	}
	if (d)
		(void)closedir(d);
}

void gate_follow_home(struct gate *g, const char *home)
{
	struct home_links l = {.g = g, .home = home};
	if (!home)
		return;
	look_in(&l, "", 0);
	look_in(&l, ".config", 1);
	look_in(&l, ".config/systemd/user", 0);
}
