/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files in which each line stands for itself: held for a sensitive line that was not in them before. */
#include "change/gate/gate.h"

#include "base/path.h"

#include <assert.h>
#include <string.h>

#define BLANKS " \t\r"

/* Calls look for each line without the blanks around it. True when one of them was true. */
static bool any_line(const struct buf *text, bool (*look)(void *context, const char *line), void *context)
{
	const char *p = buf_str(text), *end = p + text->len;
	_cleanup_buf_ struct buf line = BUF_INIT;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p), skip = strspn(p, BLANKS);
		buf_reset(&line);
		if (skip < n)
			buf_add(&line, p + skip, n - skip);
		while (line.len > 0 && strchr(BLANKS, line.data[line.len - 1]))
			line.data[--line.len] = '\0';
		if (line.failed || (line.len > 0 && look(context, line.data)))
			return true;
		p += newline ? n + 1 : n;
	}
	return false;
}

static bool keep(void *context, const char *line)
{
	struct strs *lines = context;
	strs_add(lines, line);
	return false;
}

/* A sensitive line that is not among the known ones. macros: what the kind of file needs to tell, .gitattributes its
 * macros, others a list of words. */
struct line_search {
	bool (*is_sensitive)(const struct strs *macros, const char *line);
	struct strs known, macros;
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_new(void *context, const char *line)
{
	struct line_search *s = context;
	if (!s->is_sensitive(&s->macros, line))
		return false;
	return s->known.n == 0 || !bsearch(&line, s->known.v, s->known.n, sizeof(char *), compare_lines);
}

static const struct airlock_reason *judge_lines(struct line_search *s, const struct buf *before,
						const struct buf *after, const struct sensitive_rule *rule)
{
	(void)any_line(before, keep, &s->known);
	strs_sort(&s->known);
	bool found = s->known.failed || s->macros.failed || any_line(after, is_new, s);
	strs_done(&s->known);
	strs_done(&s->macros);
	return found ? &rule->reason : NULL;
}

/* A NUL ends what we see of a line, and may not end what others see. */
static const struct airlock_reason *read_lines(struct gate *g, const struct change *c, struct buf *before,
					       struct buf *after, const struct sensitive_rule *rule)
{
	const struct airlock_reason *reason = gate_read_both(g, c, before, after);
	if (reason)
		return reason;
	return after->len > 0 && memchr(after->data, '\0', after->len) ? &rule->reason : NULL;
}

/* ── .gitattributes ── */

static bool is_in(const char *const *list, const char *word, size_t n)
{
	for (; *list; list++)
		if (strlen(*list) == n && memcmp(*list, word, n) == 0)
			return true;
	return false;
}

/* filter=x, diff=x or merge=x of a driver that somebody has to define. */
static bool names_driver(const char *attribute, size_t n)
{
	static const char *const kinds[] = {"filter=", "diff=", "merge="};
	for (size_t i = 0; i < AL_ARRAY_LEN(kinds); i++) {
		size_t k = strlen(kinds[i]);
		if (n > k && memcmp(attribute, kinds[i], k) == 0)
			return i == 0 || !is_in(sensitive_known_drivers, attribute + k, n - k);
	}
	return false;
}

static bool is_macro(const struct strs *macros, const char *attribute, size_t n)
{
	return macros->n > 0 && is_in((const char *const *)macros->v, attribute, n);
}

/* The pattern is looked at like an attribute: in quotes it may have blanks, and git lets an attribute follow the closing
 * quote directly. */
static bool has_driver(const struct strs *macros, const char *line)
{
	if (line[0] == '#')
		return false;
	for (const char *p = line; *p;) {
		p += strspn(p, BLANKS);
		size_t n = strcspn(p, BLANKS);
		const char *quote = memrchr(p, '"', n), *word = quote ? quote + 1 : p;
		size_t len = n - (size_t)(word - p);
		if (names_driver(word, len) || is_macro(macros, word, len))
			return true;
		p += n;
	}
	return false;
}

/* "[attr]name filter=x …" gives the name to the driver. A macro may use one that was defined before it. */
static bool keep_macro(void *context, const char *line)
{
	struct strs *macros = context;
	if (strncmp(line, "[attr]", 6) != 0 || !has_driver(macros, line))
		return false;
	const char *name = line + 6 + strspn(line + 6, BLANKS);
	strs_addn(macros, name, strcspn(name, BLANKS));
	return false;
}

const struct airlock_reason *gate_judge_attributes(struct gate *g, const struct change *c,
						   const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct line_search s = {.is_sensitive = has_driver, .known = STRS_INIT, .macros = STRS_INIT};
	const struct airlock_reason *reason = read_lines(g, c, &before, &after, rule);
	if (reason)
		return reason;
	if (after.len >= 3 && memcmp(after.data, "\xef\xbb\xbf", 3) == 0)
		memcpy(after.data, "   ", 3); /* git passes over a byte order mark */
	(void)any_line(&after, keep_macro, &s.macros);
	return judge_lines(&s, &before, &after, rule);
}

/* ── rebase-merge ── */

static bool is_command(const struct strs *macros, const char *line)
{
	size_t n = strcspn(line, BLANKS);
	return (n == 4 && memcmp(line, "exec", 4) == 0) || (n == 1 && line[0] == 'x');
}

static const struct airlock_reason *judge_by(bool (*is_sensitive)(const struct strs *, const char *), struct gate *g,
					     const struct change *c, const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct line_search s = {.is_sensitive = is_sensitive, .known = STRS_INIT, .macros = STRS_INIT};
	const struct airlock_reason *reason = read_lines(g, c, &before, &after, rule);
	return reason ? reason : judge_lines(&s, &before, &after, rule);
}

const struct airlock_reason *gate_judge_todo(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	return judge_by(is_command, g, c, rule);
}

static bool is_no_word(const struct strs *macros, const char *line)
{
	return line[strspn(line, GATE_WORD)] != '\0';
}

const struct airlock_reason *gate_judge_word(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	return judge_by(is_no_word, g, c, rule);
}

/* ── Words that make a setting sensitive ── */

static bool has_word(const struct strs *words, const char *line)
{
	for (size_t i = 0; i < words->n; i++)
		if (strcasestr(line, words->v[i]))
			return true;
	return false;
}

const struct airlock_reason *gate_judge_words(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct line_search s = {.is_sensitive = has_word, .known = STRS_INIT, .macros = STRS_INIT};
	assert(rule && rule->words); /* the table has words for every rule of this kind */
	const struct airlock_reason *reason = read_lines(g, c, &before, &after, rule);
	if (reason)
		return reason;
	for (const char *p = rule->words; *p; p += *p == '|') {
		size_t n = strcspn(p, "|");
		strs_addn(&s.macros, p, n);
		p += n;
	}
	return judge_lines(&s, &before, &after, rule);
}

/* ── Versions: a slash or a colon makes a path or an address of it ── */

static bool is_no_version(const struct strs *macros, const char *line)
{
	return line[0] != '#' && line[strspn(line, GATE_WORD ".+@= ")] != '\0';
}

const struct airlock_reason *gate_judge_version(struct gate *g, const struct change *c,
						const struct sensitive_rule *rule)
{
	return judge_by(is_no_version, g, c, rule);
}

/* ── Variables, in a file that some shells read on entering its directory ── */

/* Variables by which programs are found, or take commands and libraries. */
static bool starts_programs(const char *name, size_t n)
{
	static const char *const names[] = {"PATH",	      "ENV",	 "BASH_ENV", "SHELL", "EDITOR",
					    "VISUAL",	      "PAGER",	 "IFS",	     "HOME",  "ZDOTDIR",
					    "PROMPT_COMMAND", "GOFLAGS", "BROWSER",  "FPATH"};
	static const char *const beginnings[] = {"LD_",	       "DYLD_",	    "PYTHON", "PERL5", "RUBY",
						 "GIT_",       "NODE_OPT",  "XDG_",   "SSH_",  "CARGO",
						 "RUSTC",      "JAVA_TOOL", "_JAVA",  "JDK_",  "NPM_CONFIG",
						 "npm_config", "BASH_FUNC", "LESS",   "MAN",   "PS"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return true;
	for (size_t i = 0; i < AL_ARRAY_LEN(beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* A value that a shell takes as one word without running anything: in single quotes, in double quotes without "$(" and
 * the like, or of plain characters. */
static bool is_plain_value(const char *value)
{
	size_t n = strlen(value);
	char quote = n >= 2 && value[0] == value[n - 1] ? value[0] : '\0';
	if (quote == '\'')
		return memchr(value + 1, '\'', n - 2) == NULL;
	if (quote == '"')
		return strcspn(value + 1, "\"`$\\") == n - 2;
	return value[strcspn(value, " \t;&|<>()`$\\\"'!{}")] == '\0';
}

static bool is_no_plain_variable(const struct strs *macros, const char *line)
{
	if (line[0] == '#')
		return false;
	if (strncmp(line, "export ", 7) == 0)
		line += 7 + strspn(line + 7, BLANKS);
	size_t n = strspn(line, GATE_WORD);
	if (n == 0 || line[n] != '=' || memchr(line, '-', n) || starts_programs(line, n))
		return true;
	return !is_plain_value(line + n + 1);
}

const struct airlock_reason *gate_judge_variables(struct gate *g, const struct change *c,
						  const struct sensitive_rule *rule)
{
	return judge_by(is_no_plain_variable, g, c, rule);
}

/* ── Search paths of Python ── */

/* As site.py reads them: a line that begins with "import" is run, any other is a directory. */
static bool leads_out_or_runs(const struct strs *roots, const char *line)
{
	if (strncmp(line, "import ", 7) == 0 || strncmp(line, "import\t", 7) == 0)
		return true;
	if (line[0] == '#')
		return false;
	if (strstr(line, ".."))
		return true;
	for (size_t i = 0; line[0] == '/' && i < roots->n; i++)
		if (path_rest(line, roots->v[i]))
			return false;
	return line[0] == '/';
}

const struct airlock_reason *gate_judge_search_path(struct gate *g, const struct change *c,
						    const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct line_search s = {.is_sensitive = leads_out_or_runs, .known = STRS_INIT, .macros = STRS_INIT};
	const struct airlock_reason *reason = read_lines(g, c, &before, &after, rule);
	if (reason)
		return reason;
	for (size_t i = 0; i < g->set->n_roots; i++)
		strs_add(&s.macros, g->set->roots[i].path);
	return judge_lines(&s, &before, &after, rule);
}
