/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks: new ones that leave the roots, and those of the live tree through which a sensitive name leads to a file with
 * another one. */
#include "change/gate/gate.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_LINKS 8	 /* one behind the other */
#define MAX_ENTRIES 2000 /* of a root that are looked through, so that the size of a project does not count (I8) */

static char *dirname_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

/* True if everybody may write to a directory between top and path, as to /tmp. What is there is nobody's toolchain. */
static bool is_open_to_all(const char *path, const char *top)
{
	_cleanup_free_ char *dir = path_dirname(path);
	struct stat st;
	while (dir && stat(dir, &st) == 0 && !(st.st_mode & S_IWOTH)) {
		if (strcmp(dir, top) == 0 || strcmp(dir, "/") == 0)
			return false;
		char *parent = path_dirname(dir);
		free(dir);
		dir = parent;
	}
	return true;
}

/* True where people install interpreters: outside the home, or in one of its directories of toolchains, and nowhere that
 * a command may have written to. path is absolute, and no directory on its way is a symlink. */
static bool holds_toolchain(struct gate *g, const char *path)
{
	_cleanup_free_ char *rest = NULL;
	size_t root;
	const char *in_home = g->home ? path_rest(path, g->home) : NULL;
	if (gate_resolve(g, 0, "", path, &root, &rest) || is_open_to_all(path, in_home ? g->home : "/"))
		return false;
	if (!g->home)
		return path_is_beneath(path, "/usr");
	for (const char *const *dir = sensitive_toolchains; in_home && *dir; dir++)
		if (path_rest(in_home, *dir))
			return true;
	return !in_home;
}

/* Only a program, and only where one is installed; a directory, or a link that somebody can turn, would open all it
 * leads to. Asked of the host: that is where the link is going to be followed. */
static bool is_installed_program(struct gate *g, const char *target)
{
	char file[PATH_MAX], dir[PATH_MAX];
	struct stat st;
	if (target[0] != '/' || !realpath(target, file) || stat(file, &st) < 0)
		return false;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111) || (st.st_mode & S_IWOTH))
		return false;
	_cleanup_free_ char *above = path_dirname(target);
	_cleanup_free_ char *link = above && realpath(above, dir) ? path_join(dir, path_basename(target)) : NULL;
	return link && holds_toolchain(g, link) && holds_toolchain(g, file);
}

/* The interpreter of a virtual environment, which is always elsewhere: <dir with pyvenv.cfg>/bin/python3. Not in the
 * playground, where commands write without anybody looking at it. */
static bool is_interpreter(struct gate *g, const struct change *c, const char *target)
{
	const char *name = path_basename(c->path), *other = path_basename(target);
	if (strstr(target, "/playground/") || strstr(target, ".."))
		return false;
	_cleanup_free_ char *bin = dirname_of(c->path);
	if (!bin || strcmp(path_basename(bin), "bin") != 0 || strncmp(name, "py", 2) != 0)
		return false;
	return strncmp(other, "py", 2) == 0 && gate_is_in_venv(g, c->root, bin) && is_installed_program(g, target);
}

const struct airlock_reason *gate_judge_link(struct gate *g, const struct change *c, const char *folded)
{
	_cleanup_buf_ struct buf target = BUF_INIT;
	_cleanup_free_ char *dir = dirname_of(c->path), *path = NULL;
	size_t root;
	if (!dir || gate_read_link(g, c, &target) < 0)
		return change_reason_of(AIRLOCK_REASON_UNREADABLE);
	if (!gate_resolve(g, c->root, dir, buf_str(&target), &root, &path) && !is_interpreter(g, c, buf_str(&target)))
		return change_reason_of(AIRLOCK_REASON_LINK_OUT);
	/* In the place of a directory that sensitive files lie in. */
	const struct sensitive_rule *rule = gate_find_name(g, c->root, c->path, folded, true).rule;
	if (rule && rule->how == SENSITIVE_PYTHON_BIN)
		return gate_judge_rule(g, c, rule); /* any "bin" is on its way */
	return rule ? &rule->reason : NULL;
}

/* ── Live names that lead elsewhere ── */

static const struct sensitive_rule config_rule = {
	"**", SENSITIVE_GIT_CONFIG, {AIRLOCK_REASON_RUNS, "git configuration"}};
const struct sensitive_rule gate_hook_rule = {"**", SENSITIVE_ALWAYS, {AIRLOCK_REASON_RUNS, "git hook"}, false};

/* Takes path. rest NULL: the path itself. */
void gate_add_alias(struct gate *g, size_t root, char *path, const char *rest, const struct sensitive_rule *rule)
{
	struct gate_alias *v = path ? reallocarray(g->aliases, g->n_aliases + 1, sizeof *v) : NULL;
	if (!v) {
		free(path);
		g->failed = true;
		return;
	}
	g->aliases = v;
	v[g->n_aliases++] = (struct gate_alias){root, path, rest, rule, g->source_ns};
}

/* A live path that is sensitive for what it is called, or for what leads to it. */
struct lead {
	size_t root;
	const char *path;
	const char *rest; /* as in struct gate_alias */
	const struct sensitive_rule *rule;
};

/* The target of the live symlink, -1 when it is none. */
static ssize_t read_live_link(struct gate *g, const struct lead *lead, char *target, size_t size, mode_t *ret_mode)
{
	const char *name = lead->path;
	struct stat st;
	_cleanup_close_ int opened = -EBADF;
	int dir = g->roots[lead->root].live; /* a name without slash needs no directory opened: there are many */
	if (strchr(lead->path, '/'))
		/* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): _cleanup_close_ reads it */
		dir = opened = fs_open_parent(dir, lead->path, &name);
	*ret_mode = 0;
	if (dir < 0 || *name == '\0' || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	*ret_mode = st.st_mode;
	const struct change *c = change_set_find(g->set, lead->root, lead->path);
	g->link_ns = c && gate_is_open(g, c) ? 0 : change_stat_of(&st).ctime_ns;
	ssize_t n = S_ISLNK(st.st_mode) ? readlinkat(dir, name, target, size - 1) : -1;
	if (n >= 0)
		target[n] = '\0';
	return n;
}

/* When the live entry is a symlink, where it leads is sensitive as well. True when it is a directory. */
static bool follow(struct gate *g, struct lead lead)
{
	char target[PATH_MAX];
	_cleanup_free_ char *path = NULL;
	mode_t mode;
	size_t root;
	if (read_live_link(g, &lead, target, sizeof target, &mode) < 0)
		return S_ISDIR(mode);
	_cleanup_free_ char *dir = dirname_of(lead.path);
	if (!dir || !gate_resolve(g, lead.root, dir, target, &root, &path))
		return false;
	g->source_ns = g->link_ns;
	gate_lead_in_root(g, root, path, lead.rest, lead.rule);
	g->source_ns = 0;
	return false;
}

/* The first symlink on the way to a live path, turned into what it leads to: *ret_path, the caller's. False: there is none, or
 * it leaves the roots. */
static bool turn_link(struct gate *g, size_t *root, const char *path, char **ret_path)
{
	char target[PATH_MAX];
	mode_t mode;
	for (size_t n = 0; path[n]; n++) {
		n += strcspn(path + n, "/");
		_cleanup_free_ char *prefix = strndup(path, n), *dir = prefix ? dirname_of(prefix) : NULL,
				    *turned = NULL;
		if (!dir)
			return false;
		if (read_live_link(g, &(struct lead){.root = *root, .path = prefix}, target, sizeof target, &mode) >=
		    0) {
			if (!gate_resolve(g, *root, dir, target, root, &turned))
				return false;
			*ret_path = path[n] && *turned ? path_join(turned, path + n + 1)
						       : strdup(path[n] ? path + n + 1 : turned);
			return *ret_path != NULL;
		}
		if (!path[n] || !S_ISDIR(mode))
			return false;
	}
	return false;
}

void gate_lead_in_root(struct gate *g, size_t root, const char *path, const char *rest,
		       const struct sensitive_rule *rule)
{
	_cleanup_free_ char *at = strdup(path);
	int64_t source_ns = g->source_ns;
	for (int links = 0; at && links <= MAX_LINKS; links++) {
		char *next = NULL;
		if (rest || *at)
			gate_add_alias(g, root, strdup(at), rest, rule);
		if (!turn_link(g, &root, at, &next))
			break;
		g->source_ns = AL_MAX(g->source_ns, g->link_ns);
		free(at);
		at = next;
	}
	g->source_ns = source_ns;
}

/* The target of a link that leads to nothing yet; NULL: it is none. */
static char *dangling_target(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target - 1);
	_cleanup_free_ char *dir = n > 0 ? path_dirname(path) : NULL, *real = dir ? realpath(dir, NULL) : NULL;
	if (!real)
		return NULL;
	target[n] = '\0';
	return path_normalize(real, target);
}

/* As the kernel would go: the part of the path that is there without symlinks, and the rest as it is said. */
static char *real_place(const char *full, int links)
{
	_cleanup_free_ char *there = strdup(full);
	while (there && *there) {
		_cleanup_free_ char *real = realpath(there, NULL), *target = real ? NULL : dangling_target(there);
		const char *rest = full + strlen(there);
		if (real)
			return *rest ? path_join(real, rest + 1) : TAKE_PTR(real);
		if (target) {
			_cleanup_free_ char *turned = *rest ? path_join(target, rest + 1) : strdup(target);
			return turned && links < MAX_LINKS ? real_place(turned, links + 1) : NULL;
		}
		*strrchr(there, '/') = '\0';
	}
	return NULL;
}

void gate_lead_to(struct gate *g, const char *full, const char *rest, const struct sensitive_rule *rule)
{
	_cleanup_free_ char *path = NULL, *real = NULL;
	size_t root;
	if (!gate_resolve(g, 0, "", full, &root, &path)) {
		real = real_place(full, 0);
		if (!real || !gate_resolve(g, 0, "", real, &root, &path))
			return;
	}
	gate_lead_in_root(g, root, path, rest, rule);
}

/* The components of a pattern one after the other, until one is not there or has a wildcard. */
static void follow_pattern(struct gate *g, size_t root, const char *pattern, const struct sensitive_rule *rule)
{
	char path[128];
	for (size_t n = 0;; n++) {
		size_t start = n;
		n += strcspn(pattern + n, "/");
		if (n >= sizeof path || memchr(pattern + start, '*', n - start))
			return;
		memcpy(path, pattern, n);
		path[n] = '\0';
		bool last = pattern[n] == '\0';
		if (!follow(g, (struct lead){root, path, last ? NULL : pattern + n + 1, rule}) || last)
			return;
	}
}

/* Marks the rows that begin with a name of the live root: most of them do not, and one list of names costs less than asking
 * for each. False when there are too many names, or it cannot be told. */
static bool mark_rows(struct gate *g, size_t root, bool *marked)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	int fd = fs_open_beneath(g->roots[root].live, ".", O_RDONLY | O_DIRECTORY), seen = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd); /* fs_walk reads a directory to its end */
	if (!dir && fd >= 0)
		(void)close(fd);
	const struct dirent *entry = NULL;
	while (dir && seen++ < MAX_ENTRIES && (entry = readdir(dir))) {
		buf_reset(&folded);
		gate_fold(entry->d_name, &folded);
		struct gate_rows_at it = gate_rows_at(&g->names, buf_str(&folded));
		for (const struct sensitive_rule *r; (r = gate_rows_next(&it));)
			if (gate_name_match(r->pattern, buf_str(&folded)) != GATE_NO)
				marked[r - sensitive_names] = true;
	}
	bool is_complete = dir && !entry && !folded.failed;
	if (dir)
		(void)closedir(dir);
	return is_complete;
}

static void follow_names(struct gate *g, size_t root)
{
	bool marked[GATE_MAX_ROWS] = {false};
	bool is_marked = mark_rows(g, root, marked);
	for (const struct sensitive_rule *r = sensitive_names; r->pattern; r++)
		if (!is_marked || marked[r - sensitive_names])
			follow_pattern(g, root, r->pattern, r);
	for (size_t i = 0; i < g->roots[root].n_above; i++)
		follow_pattern(g, root, g->roots[root].above[i].rest, g->roots[root].above[i].rule);
}

/* Hooks that are symlinks into the work tree, and the whole directory as one. */
static void follow_hooks(struct gate *g, size_t root, const char *hooks)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	if (!follow(g, (struct lead){root, hooks, "**", &gate_hook_rule}))
		return;
	int event = fs_open_beneath(g->roots[root].live, hooks, O_RDONLY | O_DIRECTORY);
	if (event >= 0)
		event = fs_walk_start(&w, event);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		_cleanup_free_ char *path = event == FS_WALK_ENTRY ? path_join(hooks, w.name) : NULL;
		if (path)
			(void)follow(g, (struct lead){root, path, NULL, &gate_hook_rule});
	}
}

void gate_find_aliases(struct gate *g)
{
	for (size_t root = 0; root < g->set->n_roots; root++) {
		if (g->roots[root].live < 0)
			continue;
		follow_names(g, root);
		bool is_git = gate_is_repository(g, root);
		follow_hooks(g, root, is_git ? "hooks" : ".git/hooks");
		(void)follow(g, (struct lead){root, is_git ? "config" : ".git/config", NULL, &config_rule});
	}
}

bool gate_alias_leads_to(const struct gate_alias *a, const char *path)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	const char *rest = *a->path ? path_rest(path, a->path) : path;
	if (!rest || (*rest == '\0') != (a->rest == NULL))
		return false;
	if (!a->rest)
		return true;
	gate_fold(rest, &folded);
	return folded.failed || gate_name_match(a->rest, buf_str(&folded)) == GATE_MATCH;
}

/* A symlink in the place of a directory that leads there: through it, anything could. */
static bool stands_in_the_way(const struct gate_alias *a, const struct change *c)
{
	const char *below = c->after.type == CHANGE_SYMLINK ? path_rest(a->path, c->path) : NULL;
	return below && (*below || a->rest);
}

bool gate_alias_covers(const struct gate_alias *a, const struct change *c)
{
	return a->root == c->root && (gate_alias_leads_to(a, c->path) || stands_in_the_way(a, c));
}

void gate_forget_aliases(struct gate *g, size_t keep)
{
	while (g->n_aliases > keep)
		free(g->aliases[--g->n_aliases].path);
}

const struct airlock_reason *gate_judge_alias(struct gate *g, const struct change *c, const char *folded)
{
	const struct airlock_reason *reason = NULL;
	for (size_t i = 0; i < g->n_aliases && !reason; i++)
		if (gate_alias_covers(&g->aliases[i], c))
			reason = gate_judge_rule(g, c, g->aliases[i].rule);
	return reason;
}
