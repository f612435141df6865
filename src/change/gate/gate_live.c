/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The git configuration that is in force on this machine (the system's, the person's, that of their environment, the
 * repository's) may lead into the tree: an include, a directory of hooks or templates, a program for filters, diffs or
 * aliases. What it leads to is sensitive there, whatever it is called.
 *
 * The files are read here and never by git: parsed like git does (gate_config.c), a few, none larger than MAX_FILE. What
 * they lead to counts only where the run changes something, so that a file costs little beyond being read.
 *
 * Which repository a person will be in is not known: a root may lie in one whose .git is above it, and a changed path in
 * one that lies in the root. All of them count (g->tops), and every setting counts, also one that a later file overrules:
 * conditional includes and other terminals make it the last one elsewhere. This holds too much at worst.
 */
#include "change/gate/gate.h"
#include "change/gate/gate_config.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "fs/io.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 20)
#define MAX_FILES 64
#define MAX_INCLUDES 8 /* one in another */
#define MAX_VARIABLES 256
#define SYSTEM_FILE "/etc/gitconfig"

static const struct sensitive_rule included = {.pattern = "**",
					       .how = SENSITIVE_GIT_CONFIG,
					       .reason = {AIRLOCK_REASON_RUNS, "included by the git configuration"}};
static const struct sensitive_rule attributes = {
	.pattern = "**",
	.how = SENSITIVE_GIT_ATTRIBUTES,
	.reason = {AIRLOCK_REASON_RUNS, "attributes of the git configuration"}};
static const struct sensitive_rule hook = {
	.pattern = "**", .how = SENSITIVE_ALWAYS, .reason = {AIRLOCK_REASON_RUNS, "git hook"}};
static const struct sensitive_rule program = {
	.pattern = "**", .how = SENSITIVE_ALWAYS, .reason = {AIRLOCK_REASON_RUNS, "started by the git configuration"}};

struct live {
	struct gate *g;
	const char *home; /* may be NULL */
	const char *dir;  /* of the file being read */
	const char *top;  /* of the work tree the file belongs to; NULL: of every one */
	int depth;
};

static void read_settings(struct live *l, const char *file);

/* As git expands it: "~/x"; another user's home is not looked for. */
static char *expand(const struct live *l, const char *value)
{
	if (value[0] == '~' && value[1] == '/')
		return l->home ? path_join(l->home, value + 2) : NULL;
	return strdup(value);
}

/* For each work tree that a relative place may be meant in; once for an absolute one. */
/* NOLINTBEGIN(bugprone-macro-parentheses): i and base are declared */
#define FOR_EACH_BASE(l, i, base)                                                                                      \
	for (size_t i = 0; i < ((l)->top ? 1 : (l)->g->tops.n); i++)                                                   \
		for (const char *base = (l)->top ? (l)->top : (l)->g->tops.v[i]; base; base = NULL)
/* NOLINTEND(bugprone-macro-parentheses) */

static void lead_to(struct live *l, const char *value, const char *rest, const struct sensitive_rule *rule)
{
	_cleanup_free_ char *place = expand(l, value);
	if (!place || !*place)
		return;
	FOR_EACH_BASE(l, i, base)
	{
		_cleanup_free_ char *full = path_normalize(base, place);
		if (full)
			gate_lead_to(l->g, full, rest, rule);
		if (place[0] == '/')
			return;
	}
}

/* A word of a command counts when it names something that is there or that the run makes: most words are none. */
static void lead_to_word(struct live *l, const char *place)
{
	struct gate *g = l->g;
	FOR_EACH_BASE(l, i, base)
	{
		_cleanup_free_ char *full = path_normalize(base, place), *path = NULL;
		size_t root;
		if (!full || !gate_resolve(g, 0, "", full, &root, &path) || !*path)
			continue;
		if (change_set_find(g->set, root, path) || gate_type_before(g, root, path) != CHANGE_NOTHING)
			gate_lead_to(g, full, NULL, &program);
	}
}

/* The first word is looked for in PATH unless it has a slash. */
static void lead_to_program(struct live *l, const char *command)
{
	static const char between[] = " \t\n\"'`;|&()<>$={}!";
	bool is_first = true;
	for (const char *p = command; *(p += strspn(p, between));) {
		size_t n = strcspn(p, between);
		_cleanup_free_ char *word = strndup(p, n), *place = word ? expand(l, word) : NULL;
		p += n;
		if (place && (!is_first || strchr(place, '/')) && place[0] != '-')
			lead_to_word(l, place);
		is_first = false;
	}
}

static bool is_program_key(const char *name)
{
	const char *key = strrchr(name, '.') + 1;
	for (const struct sensitive_key *k = sensitive_git_keys; k->section; k++) {
		size_t n = strlen(k->section);
		if (strncmp(name, k->section, n) == 0 && name[n] == '.' &&
		    (strcmp(k->key, "*") == 0 || strcmp(k->key, key) == 0))
			return k->reason.code == AIRLOCK_REASON_RUNS;
	}
	return false;
}

static bool is_include(const char *name)
{
	size_t n = strlen(name);
	return strcmp(name, "include.path") == 0 ||
	       (strncmp(name, "includeif.", 10) == 0 && n > 15 && strcmp(name + n - 5, ".path") == 0);
}

static void follow_include(struct live *l, const char *value)
{
	_cleanup_free_ char *place = expand(l, value), *full = place ? path_normalize(l->dir, place) : NULL;
	if (!full)
		return;
	gate_lead_to(l->g, full, NULL, &included);
	struct live below = *l;
	below.depth++;
	if (below.depth <= MAX_INCLUDES)
		read_settings(&below, full);
}

static int look_at_live(void *context, const char *name, const char *value)
{
	struct live *l = context;
	if (!value || !*value)
		return 0;
	if (is_include(name))
		follow_include(l, value);
	else if (strcmp(name, "core.hookspath") == 0 || strcmp(name, "init.templatedir") == 0)
		lead_to(l, value, hook.pattern, &hook);
	else if (strcmp(name, "core.attributesfile") == 0)
		lead_to(l, value, NULL, &attributes);
	else if (is_program_key(name))
		lead_to_program(l, value);
	return 0;
}

/* ── Files ── */

/* Outside of the roots opened like git does, symlinks and all: people keep their settings behind one. Only regular files, and
 * without waiting. */
static int read_outside(const char *file, struct buf *ret, int64_t *ret_ctime_ns)
{
	struct stat st;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	*ret_ctime_ns = change_stat_of(&st).ctime_ns;
	return fs_read_all(fd, MAX_FILE, ret);
}

/* In the roots a command may have left a symlink: none is followed there (I6). source_ns: when it was changed last; 0 when the
 * change set itself is about it. */
static int read_file(struct gate *g, const char *file, struct buf *ret)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	size_t root;
	g->source_ns = 0;
	if (!gate_resolve(g, 0, "", file, &root, &path))
		return read_outside(file, ret, &g->source_ns);
	const struct change *c = change_set_find(g->set, root, path);
	if (!(c && gate_is_open(g, c)) && gate_stat_before(g, root, path, &st) == 0)
		g->source_ns = change_stat_of(&st).ctime_ns;
	return gate_read_before(g, root, path, ret);
}

static void read_settings(struct live *l, const char *file)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *dir = path_dirname(file);
	const char *outer = l->dir;
	int64_t outer_ns = l->g->source_ns;
	if (dir && ++l->g->n_settings <= MAX_FILES && read_file(l->g, file, &text) == 0) {
		l->dir = dir;
		(void)gitconfig_read(buf_str(&text), text.len, look_at_live, l);
		l->dir = outer;
	}
	l->g->source_ns = outer_ns;
}

static void read_at(struct live *l, const char *dir, const char *name)
{
	_cleanup_free_ char *file = dir ? path_join(dir, name) : NULL;
	if (file)
		read_settings(l, file);
}

/* A file that git reads as its configuration wherever it lies: it may lie in the tree itself. */
static void read_named(struct live *l, const char *file)
{
	gate_lead_to(l->g, file, NULL, &included);
	read_settings(l, file);
}

static void read_named_at(struct live *l, const char *dir, const char *name)
{
	_cleanup_free_ char *file = path_join(dir, name);
	if (file)
		read_named(l, file);
}

/* ── The environment ── */

static const char *variable(const struct strs *variables, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; variables && i < variables->n; i++)
		if (strncmp(variables->v[i], name, n) == 0 && variables->v[i][n] == '=')
			return variables->v[i] + n + 1;
	return NULL;
}

/* "core.hooksPath" as gitconfig_read spells it: section and key in lower case, what is between them as it is. */
static char *spell(const char *key)
{
	const char *first = strchr(key, '.'), *last = strrchr(key, '.');
	char *name = first ? strdup(key) : NULL;
	for (size_t i = 0; name && name[i]; i++)
		if (i < (size_t)(first - key) || i > (size_t)(last - key))
			name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
	return name;
}

/* GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0, … */
static void read_pairs(struct live *l, const struct strs *variables)
{
	const char *count = variable(variables, "GIT_CONFIG_COUNT");
	unsigned long n = count ? strtoul(count, NULL, 10) : 0;
	for (unsigned long i = 0; i < AL_MIN(n, MAX_VARIABLES); i++) {
		_cleanup_buf_ struct buf key = BUF_INIT, value = BUF_INIT;
		buf_printf(&key, "GIT_CONFIG_KEY_%lu", i);
		buf_printf(&value, "GIT_CONFIG_VALUE_%lu", i);
		const char *said = variable(variables, buf_str(&key));
		_cleanup_free_ char *name = said ? spell(said) : NULL;
		if (name)
			(void)look_at_live(l, name, variable(variables, buf_str(&value)));
	}
}

static void read_environment(struct live *l, const struct strs *variables)
{
	static const char *const programs[] = {"GIT_EXTERNAL_DIFF", "GIT_PAGER",   "GIT_EDITOR",
					       "GIT_SSH_COMMAND",   "GIT_SSH",	   "GIT_SEQUENCE_EDITOR",
					       "GIT_PROXY_COMMAND", "GIT_ASKPASS", NULL};
	static const char *const files[] = {"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL", NULL};
	const char *xdg = variable(variables, "XDG_CONFIG_HOME"), *templates = variable(variables, "GIT_TEMPLATE_DIR");
	if (xdg && *xdg == '/') {
		_cleanup_free_ char *ignored = path_join(xdg, "git/attributes");
		read_named_at(l, xdg, "git/config");
		if (ignored)
			gate_lead_to(l->g, ignored, NULL, &attributes);
	}
	for (const char *const *f = files; *f; f++) {
		const char *file = variable(variables, *f);
		if (!file || !*file)
			continue;
		FOR_EACH_BASE(l, i, base)
		{
			_cleanup_free_ char *full = path_normalize(base, file);
			if (full)
				read_named(l, full);
		}
	}
	if (templates)
		lead_to(l, templates, hook.pattern, &hook);
	for (const char *const *p = programs; *p; p++)
		if (variable(variables, *p))
			lead_to_program(l, variable(variables, *p));
	read_pairs(l, variables);
}

/* ── Repositories ── */

static void follow_hook(void *context, const char *path)
{
	gate_lead_to(context, path, NULL, &hook);
}

/* git_dir: of the repository with this work tree. */
static void read_repository(struct live *l, const char *top, const char *git_dir)
{
	_cleanup_free_ char *hooks = path_join(git_dir, "hooks");
	l->top = top;
	read_at(l, git_dir, "config");
	read_at(l, git_dir, "config.worktree");
	if (hooks)
		gate_above_list_hooks(hooks, follow_hook, l->g);
	l->top = NULL;
}

static void read_above(void *context, const struct gate_above_place *place)
{
	struct live *l = context;
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (place->git_dir) {
		read_repository(l, place->dir, place->git_dir);
		return;
	}
	l->g->source_ns = 0;
	if (read_outside(place->envrc, &text, &l->g->source_ns) == 0)
		gate_follow_envrc(l->g, place->dir, &text);
	l->g->source_ns = 0;
}

/* In a root no symlink is followed, so that its hooks are left to gate_find_aliases. */
static void read_root(struct live *l, size_t root)
{
	struct gate *g = l->g;
	const char *path = g->set->roots[root].path;
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *git = gate_is_repository(g, root) ? strdup(path) : path_join(path, ".git"),
			    *envrc = path_join(path, ".envrc");
	if (git) {
		read_at(l, git, "config");
		read_at(l, git, "config.worktree");
	}
	if (envrc && read_file(g, envrc, &text) == 0)
		gate_follow_envrc(g, path, &text);
	g->source_ns = 0;
}

static void read_below(struct live *l, const char *top)
{
	l->top = top;
	read_at(l, top, ".git/config");
	read_at(l, top, ".git/config.worktree");
	l->top = NULL;
}

void gate_follow_text(struct gate *g, const char *home, const char *top, const char *dir, const struct buf *text)
{
	struct live l = {.g = g, .home = home, .dir = dir, .top = top};
	(void)gitconfig_read(buf_str(text), text->len, look_at_live, &l);
}

void gate_follow_settings(struct gate *g, const char *home, const struct strs *variables)
{
	struct live l = {.g = g, .home = home, .dir = "/"};
	if (gate_find_tops(g) < 0) {
		g->failed = true;
		return;
	}
	if (home) { /* without one it is a test of a tree alone */
		read_settings(&l, SYSTEM_FILE);
		read_named_at(&l, home, ".config/git/config");
		read_named_at(&l, home, ".gitconfig");
		read_environment(&l, variables);
		gate_above_each(g, read_above, &l);
	}
	for (size_t i = 0; i < g->set->n_roots; i++)
		read_root(&l, i);
	for (size_t i = g->first_below; i < g->tops.n; i++)
		read_below(&l, g->tops.v[i]);
	g->source_ns = 0;
}
