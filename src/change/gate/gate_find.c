/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names: which row of sensitive_names counts for a path, and whether a dot-entry is known at all.
 *
 * A path is judged by where it really lies, not by the root through which it was reached: a project in ~/.config is part of
 * ~/.config. So a pattern may begin at every component of the whole path. For components above the root that is worked
 * out once for each root (gate_above), because all of its paths share them; mostly nothing is left of it.
 *
 * For dot-entries the rule is turned round: what neither table knows is held. This goes for the components below the root,
 * and for the root's own name when it lies in the home directory. It does not go for directories further up, where a
 * person may keep projects under any name, nor for the code of others (sensitive_dependencies), where nobody works.
 */
#include "change/gate/gate.h"

#include "base/path.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

/* ── The tables by how a pattern begins ── */

#define KEY_ANY (GATE_ROWS_KEYS - 1)

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* The first byte, and after a dot the second one: most names of the tables begin with a dot. */
static size_t key_of(const char *name)
{
	if (name[0] == '*' || (name[0] == '.' && name[1] == '*'))
		return KEY_ANY;
	return name[0] == '.' ? 256 + (unsigned char)lower(name[1]) : (unsigned char)lower(name[0]);
}

int gate_rows_init(struct gate_rows *rows, const struct sensitive_rule *rules)
{
	size_t n = 0;
	while (rules[n].pattern)
		n++;
	assert(n <= GATE_MAX_ROWS);
	*rows = (struct gate_rows){.rules = rules, .next = calloc(n + 1, sizeof(uint16_t))};
	if (!rows->next)
		return -ENOMEM;
	for (size_t i = n; i > 0; i--) {
		uint16_t *head = &rows->head[key_of(rules[i - 1].pattern)];
		rows->next[i - 1] = *head;
		*head = (uint16_t)i;
	}
	return 0;
}

void gate_rows_done(struct gate_rows *rows)
{
	base_freep(&rows->next);
}

struct gate_rows_at gate_rows_at(const struct gate_rows *rows, const char *at)
{
	size_t key = key_of(at); /* in a name "*" is a byte like others, and no pattern begins with it */
	return (struct gate_rows_at){rows, key == KEY_ANY ? 0 : rows->head[key], rows->head[KEY_ANY]};
}

const struct sensitive_rule *gate_rows_next(struct gate_rows_at *it)
{
	size_t *first = it->own && (!it->any || it->own < it->any) ? &it->own : &it->any;
	if (*first == 0)
		return NULL;
	const struct sensitive_rule *r = &it->rows->rules[*first - 1];
	*first = it->rows->next[*first - 1];
	return r;
}

/* ── Where a row counts ── */

/* A component of a path below a root. */
struct spot {
	struct gate *g;
	size_t root;
	const char *path, *folded; /* the whole path below the root */
	const char *raw, *at;	   /* this component in each */
	bool begins_in_home;	   /* the path begins with the root's own name, and the root lies in the home */
};

static bool next_spot(struct spot *s)
{
	s->raw = gate_rest(s->raw);
	s->at = s->raw ? gate_rest(s->at) : NULL;
	return s->at != NULL;
}

static bool is_dependency(const char *at)
{
	for (const char *const *d = sensitive_dependencies; *d; d++)
		if ((*d)[0] == at[0] && gate_first_is(at, *d))
			return true;
	return false;
}

static bool lies_in_dependencies(const struct spot *s)
{
	for (const char *p = s->folded; p < s->at; p = gate_rest(p))
		if (is_dependency(p))
			return true;
	return false;
}

/* A forge looks at the top of a repository. The root counts as one, whatever it is: a person may push it as such. */
static bool is_at_top(const struct spot *s)
{
	_cleanup_buf_ struct buf git = BUF_INIT;
	if (s->raw == s->path)
		return true;
	buf_add(&git, s->path, (size_t)(s->raw - s->path));
	buf_adds(&git, ".git");
	if (git.failed)
		return true;
	return gate_type_after(s->g, s->root, buf_str(&git)) != CHANGE_NOTHING ||
	       gate_type_before(s->g, s->root, buf_str(&git)) != CHANGE_NOTHING;
}

static bool is_in_home(const struct spot *s)
{
	const char *home = s->g->roots[s->root].home;
	size_t n = (size_t)(s->raw - s->path);
	if (!home)
		return s->begins_in_home && n == 0;
	return *home == '\0' ? n == 0 : n == strlen(home) + 1 && strncmp(s->path, home, n - 1) == 0;
}

static bool counts_here(const struct sensitive_rule *r, const struct spot *s)
{
	if (r->not_in_dependencies && lies_in_dependencies(s))
		return false;
	switch (r->where) {
	case SENSITIVE_AT_TOP:
		return is_at_top(s);
	case SENSITIVE_IN_HOME:
		return is_in_home(s);
	case SENSITIVE_NOT_IN_HOME:
		return !is_in_home(s);
	case SENSITIVE_ANYWHERE:
		break;
	}
	return true;
}

/* The first row that matches from this component on. A symlink in the place of a directory stands for what would count
 * in there: for that a row matches on_the_way, too. */
static const struct sensitive_rule *rule_at(const struct gate_rows *rows, const struct spot *s, bool on_the_way)
{
	struct gate_rows_at it = gate_rows_at(rows, s->at);
	for (const struct sensitive_rule *r; (r = gate_rows_next(&it));) {
		enum gate_match match = gate_name_match(r->pattern, s->at);
		bool stands_for = on_the_way && (r->how != SENSITIVE_NEVER || rows == &s->g->harmless);
		if ((match == GATE_MATCH || (match == GATE_ON_THE_WAY && stands_for)) && counts_here(r, s))
			return r;
	}
	return NULL;
}

struct gate_name gate_find_name(struct gate *g, size_t root, const char *path, const char *folded, bool on_the_way)
{
	struct spot s = {g, root, path, folded, path, folded, false};
	do {
		const struct sensitive_rule *r = rule_at(&g->names, &s, on_the_way);
		if (r && r->how != SENSITIVE_NEVER)
			return (struct gate_name){r, s.raw, s.at};
	} while (next_spot(&s));
	return (struct gate_name){0};
}

/* ── Dot-entries ── */

static size_t components_of(const char *pattern)
{
	size_t n = 1;
	for (; *pattern; pattern++)
		n += *pattern == '/';
	return n;
}

/* Whether a row has the name, wherever it counts: a workflow in a directory where no forge looks is known all the same. */
static bool has_name(const struct gate_rows *rows, const char *at)
{
	struct gate_rows_at it = gate_rows_at(rows, at);
	for (const struct sensitive_rule *r; (r = gate_rows_next(&it));)
		if (gate_name_match(r->pattern, at) == GATE_MATCH)
			return true;
	return false;
}

enum known { UNKNOWN, KNOWN_TO_ITS_END, KNOWN_HERE };

/* What the tables know of a dot-entry; KNOWN_HERE: of the first *ret_components of it. */
static enum known look_up(const struct spot *s, bool is_link, size_t *ret_components)
{
	/* A name that becomes harmless only by folding is not harmless: to programs of this system "x:y" is not "x". */
	bool is_spelt_out = strlen(s->path) == strlen(s->folded);
	const struct sensitive_rule *r = is_spelt_out ? rule_at(&s->g->harmless, s, is_link) : NULL;
	if (r && r->how == SENSITIVE_CONTAINER) {
		*ret_components = components_of(r->pattern) - 1;
		return KNOWN_HERE;
	}
	return r || has_name(&s->g->names, s->at) ? KNOWN_TO_ITS_END : UNKNOWN;
}

static bool is_unknown_from(struct spot s, bool is_link)
{
	size_t passed = 0; /* components that a container names */
	do {
		if (passed > 0) {
			passed--;
			continue;
		}
		if (gate_first_is(s.at, ".git") || is_dependency(s.at))
			return false; /* git has rules of its own */
		if (s.at[0] != '.' && s.raw[0] != '.')
			continue;
		enum known known = look_up(&s, is_link, &passed);
		if (known != KNOWN_HERE)
			return known == UNKNOWN;
		passed--;
	} while (next_spot(&s));
	return false;
}

/* The root's own name is a dot-entry of the directory above. */
static bool is_unknown_with_root(struct gate *g, const struct change *c, bool is_link)
{
	_cleanup_buf_ struct buf path = BUF_INIT, folded = BUF_INIT;
	buf_printf(&path, "%s/%s", path_basename(g->set->roots[c->root].path), c->path);
	gate_fold(buf_str(&path), &folded);
	if (path.failed || folded.failed) {
		g->failed = true;
		return true;
	}
	const char *raw = buf_str(&path), *at = buf_str(&folded);
	bool begins_in_home = g->roots[c->root].is_in_home;
	return is_unknown_from((struct spot){g, c->root, raw, at, raw, at, begins_in_home}, is_link);
}

bool gate_is_unknown(struct gate *g, const struct change *c, const char *folded)
{
	const struct gate_root *root = &g->roots[c->root];
	bool is_link = c->after.type == CHANGE_SYMLINK;
	if (root->in_git)
		return false;
	if (root->is_dot_in_home)
		return is_unknown_with_root(g, c, is_link);
	return is_unknown_from((struct spot){g, c->root, c->path, folded, c->path, folded, false}, is_link);
}

/* ── Above the root ── */

static int add_above(struct gate_root *root, const struct sensitive_rule *rule, const char *rest, size_t level)
{
	struct gate_above *v = reallocarray(root->above, root->n_above + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	root->above = v;
	v[root->n_above++] = (struct gate_above){rule, rest, level};
	return 0;
}

/* What is left of a pattern that matches the components at, which the root's path ends with; NULL: nothing. */
static const char *rest_above(const char *pattern, const char *at)
{
	enum gate_match match = gate_name_match(pattern, at);
	if (match == GATE_NO)
		return NULL;
	size_t n = strlen(pattern);
	if (match == GATE_MATCH)
		return n >= 2 && strcmp(pattern + n - 2, "**") == 0 ? pattern + n - 2 : NULL;
	for (; at; at = gate_rest(at))
		pattern = gate_rest(pattern);
	return pattern;
}

/* dir: the directory above the component, with a slash at its end. */
static bool counts_above(const struct sensitive_rule *r, const char *dir, const char *home)
{
	bool in_home = home && strlen(home) + 1 == strlen(dir) && strncmp(dir, home, strlen(home)) == 0;
	if (r->where == SENSITIVE_AT_TOP) {
		_cleanup_free_ char *git = path_join(dir, ".git");
		return !git || faccessat(AT_FDCWD, git, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return r->where == SENSITIVE_IN_HOME ? in_home : r->where == SENSITIVE_NOT_IN_HOME ? !in_home : true;
}

static int find_above(struct gate *g, struct gate_root *root, const struct spot *s, const char *home, size_t level)
{
	_cleanup_free_ char *dir = strndup(s->path, (size_t)(s->raw - s->path));
	if (!dir)
		return -ENOMEM;
	struct gate_rows_at it = gate_rows_at(&g->names, s->at);
	for (const struct sensitive_rule *r; (r = gate_rows_next(&it));) {
		const char *rest = rest_above(r->pattern, s->at);
		if (rest && counts_above(r, dir, home) && add_above(root, r, rest, level) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Where the home lies: below the root, the root itself, or above it, where a root with a dot is a setting of some program. */
static int place_home(struct gate_root *root, const char *path, const char *home)
{
	const char *below = home ? path_rest(home, path) : NULL;
	if (below && !(root->home = strdup(below)))
		return -ENOMEM;
	const char *above = home && !below ? path_rest(path, home) : NULL;
	root->is_dot_in_home = above && path_basename(path)[0] == '.';
	root->is_in_home = above && !strchr(above, '/');
	return 0;
}

int gate_find_above(struct gate *g, size_t i, const char *home)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	struct gate_root *root = &g->roots[i];
	const char *path = g->set->roots[i].path;
	gate_fold(path, &folded);
	if (folded.failed || place_home(root, path, home) < 0)
		return -ENOMEM;
	struct spot s = {g, i, path, buf_str(&folded), path, buf_str(&folded), false};
	int rc = 0;
	for (size_t level = 0; rc == 0 && next_spot(&s); level++)
		if (*s.at)
			rc = find_above(g, root, &s, home, level);
	return rc;
}

const struct sensitive_rule *gate_find_by_place(struct gate *g, const struct change *c, const char *folded)
{
	const struct gate_root *root = &g->roots[c->root];
	bool is_link = c->after.type == CHANGE_SYMLINK;
	for (size_t i = 0; i < root->n_above; i++) {
		const struct gate_above *a = &root->above[i];
		enum gate_match match = gate_name_match(a->rest, folded);
		bool is_exception = a->rule->how == SENSITIVE_NEVER;
		if (match != GATE_MATCH && !(match == GATE_ON_THE_WAY && is_link && !is_exception))
			continue;
		if (!is_exception)
			return a->rule;
		while (i + 1 < root->n_above && root->above[i + 1].level == a->level)
			i++; /* an exception ends its level */
	}
	return NULL;
}
