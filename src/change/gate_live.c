/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The git configuration that is in force on this machine (the system's, the person's, the repository's) may lead into the
 * tree: an include, a directory of hooks or templates, a program for filters, diffs or aliases. What it leads to is
 * sensitive there, whatever it is called.
 *
 * The files are read here and never by git: parsed like git does (gate_config.c), a few, none larger than MAX_FILE. What
 * they lead to counts only where the run changes something, so that a file costs little beyond being read.
 */
#include "change/gate.h"
#include "change/gate_config.h"
#include "change/gate_name.h"

#include "base/path.h"
#include "fs/io.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 20)
#define MAX_FILES 32
#define MAX_INCLUDES 8 /* one in another */
#define SYSTEM_FILE "/etc/gitconfig"

static const struct sensitive_rule included = {.pattern = "**",
					       .how = SENSITIVE_GIT_CONFIG,
					       .reason = "runs outside the sandbox: included by the git configuration"};
static const struct sensitive_rule attributes = {
	.pattern = "**",
	.how = SENSITIVE_GIT_ATTRIBUTES,
	.reason = "runs outside the sandbox: attributes of the git configuration"};
static const struct sensitive_rule hook = {
	.pattern = "**", .how = SENSITIVE_ALWAYS, .reason = "runs outside the sandbox: git hook"};
static const struct sensitive_rule program = {.pattern = "**",
					      .how = SENSITIVE_ALWAYS,
					      .reason = "runs outside the sandbox: started by the git configuration"};

/* What direnv reads on entering the directory, because an .envrc that a person has allowed says so. */
static const struct sensitive_rule entered = {
	.pattern = "**", .how = SENSITIVE_ALWAYS, .reason = "runs outside the sandbox: .envrc leads here (direnv)"};

struct live {
	struct gate *g;
	const char *home; /* may be NULL */
	const char *dir;  /* of the file being read */
	int depth;
	int *n_files;
	char **hooks; /* core.hooksPath: the last one counts */
};

static void read_settings(struct live *l, const char *file);

/* As git expands it: "~/x"; another user's home is not looked for. */
static char *expand(const struct live *l, const char *value)
{
	if (value[0] == '~' && value[1] == '/')
		return l->home ? path_join(l->home, value + 2) : NULL;
	return strdup(value);
}

static void lead_to(struct live *l, const char *base, const char *value, const char *rest,
		    const struct sensitive_rule *rule)
{
	_cleanup_free_ char *place = expand(l, value);
	struct gate *g = l->g;
	for (size_t i = 0; place && *place && i < g->set->n_roots; i++) {
		_cleanup_free_ char *full = path_normalize(base ? base : g->set->roots[i].path, place);
		char *path = NULL;
		size_t root;
		if (full && gate_resolve(g, i, "", full, &root, &path) && *path)
			gate_add_alias(g, root, path, rest, rule);
		else
			free(path);
	}
}

/* The words of a command that name a changed file. The first one is looked for in PATH unless it has a slash. */
static void lead_to_program(struct live *l, const char *command)
{
	static const char between[] = " \t\n\"'`;|&()<>$={}!";
	struct gate *g = l->g;
	bool is_first = true;
	for (const char *p = command; *(p += strspn(p, between));) {
		size_t n = strcspn(p, between);
		_cleanup_free_ char *word = strndup(p, n), *place = word ? expand(l, word) : NULL;
		p += n;
		if (!place || (is_first && !strchr(place, '/')) || place[0] == '-') {
			is_first = false;
			continue;
		}
		is_first = false;
		for (size_t i = 0; i < g->set->n_roots; i++) {
			_cleanup_free_ char *full = path_normalize(g->set->roots[i].path, place);
			char *path = NULL;
			size_t root;
			if (full && gate_resolve(g, i, "", full, &root, &path) && *path &&
			    change_set_find(g->set, root, path))
				gate_add_alias(g, root, TAKE_PTR(path), NULL, &program);
			free(path);
		}
	}
}

static bool is_program_key(const char *name)
{
	const char *key = strrchr(name, '.') + 1;
	for (const struct sensitive_key *k = sensitive_git_keys; k->section; k++) {
		size_t n = strlen(k->section);
		if (strncmp(name, k->section, n) == 0 && name[n] == '.' &&
		    (strcmp(k->key, "*") == 0 || strcmp(k->key, key) == 0))
			return strncmp(k->reason, "runs ", 5) == 0;
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
	lead_to(l, l->dir, value, NULL, &included);
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
	else if (strcmp(name, "core.hookspath") == 0) {
		free(*l->hooks);
		*l->hooks = strdup(value);
	} else if (strcmp(name, "init.templatedir") == 0)
		lead_to(l, NULL, value, "**", &hook);
	else if (strcmp(name, "core.attributesfile") == 0)
		lead_to(l, NULL, value, NULL, &attributes);
	else if (is_program_key(name))
		lead_to_program(l, value);
	return 0;
}

/* Outside of the roots opened like git does, symlinks and all: people keep their settings behind one. Only regular files, and
 * without waiting. */
static int read_outside(const char *file, struct buf *ret)
{
	struct stat st;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return fs_read_all(fd, MAX_FILE, ret);
}

/* In the roots a command may have left a symlink: none is followed there (I6). */
static int read_file(struct gate *g, const char *file, struct buf *ret)
{
	_cleanup_free_ char *path = NULL;
	size_t root;
	if (g->set->n_roots > 0 && gate_resolve(g, 0, "", file, &root, &path))
		return gate_read_before(g, root, path, ret);
	return read_outside(file, ret);
}

static void read_settings(struct live *l, const char *file)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *dir = path_dirname(file);
	const char *outer = l->dir;
	if (!dir || ++*l->n_files > MAX_FILES || read_file(l->g, file, &text) < 0)
		return;
	l->dir = dir;
	(void)gitconfig_read(buf_str(&text), text.len, look_at_live, l);
	l->dir = outer;
}

static void read_at(struct live *l, const char *dir, const char *name)
{
	_cleanup_free_ char *file = dir ? path_join(dir, name) : NULL;
	if (file)
		read_settings(l, file);
}

/* ── .envrc ── */

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static void lead_to_entered(struct gate *g, size_t root, const char *place)
{
	char *path = NULL;
	size_t there;
	if (gate_resolve(g, root, "", place, &there, &path) && *path)
		gate_add_alias(g, there, path, NULL, &entered);
	else
		free(path);
}

/* One line, which is taken apart: what "source" and the like name, and what stands for a shell of Nix or Guix. Files that are
 * only watched or read are not obeyed. */
static void follow_line(struct gate *g, size_t root, char *line)
{
	static const char *const sources[] = {".",	"source",	    "source_env", "source_env_if_exists",
					      "dotenv", "dotenv_if_exists", NULL};
	static const char *const shells[] = {"flake", "nix", "devenv", "guix", NULL};
	static const char *const recipes[] = {"flake.nix",  "flake.lock",  "shell.nix", "default.nix",
					      "devenv.nix", "devenv.yaml", "guix.scm",	NULL};
	static const char between[] = " \t\r\"';|&()$`";
	bool is_source = false, is_use = false;
	char *state = NULL;
	for (char *w = strtok_r(line, between, &state); w && *w != '#'; w = strtok_r(NULL, between, &state)) {
		if (is_use && is_one_of(w, shells))
			for (const char *const *r = recipes; *r; r++)
				lead_to_entered(g, root, *r);
		if (is_source || strncmp(w, "./", 2) == 0)
			lead_to_entered(g, root, w);
		is_source |= is_one_of(w, sources);
		is_use |= strcmp(w, "use") == 0;
	}
}

/* direnv asks a person about .envrc, once, and not about what it leads to. */
static void follow_envrc(struct gate *g, size_t root)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	char *state = NULL;
	if (gate_read_before(g, root, ".envrc", &text) < 0 || text.len == 0)
		return;
	for (char *line = strtok_r(text.data, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		follow_line(g, root, line);
}

void gate_follow_settings(struct gate *g, const char *home)
{
	int n_files = 0;
	_cleanup_free_ char *hooks = NULL;
	struct live l = {.g = g, .home = home, .dir = "/", .n_files = &n_files, .hooks = &hooks};
	if (home) { /* without one it is a test of a tree alone */
		read_settings(&l, SYSTEM_FILE);
		read_at(&l, home, ".config/git/config");
		read_at(&l, home, ".gitconfig");
	}
	for (size_t i = 0; i < g->set->n_roots; i++) {
		read_at(&l, g->set->roots[i].path, gate_is_repository(g, i) ? "config" : ".git/config");
		follow_envrc(g, i);
	}
	if (hooks)
		lead_to(&l, NULL, hooks, "**", &hook);
}
