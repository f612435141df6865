/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's configuration and .gitmodules: a file is held for the settings that are new in it, not for being written. `git
 * remote add` and `git checkout -b` write .git/config all the time. */
#include "change/gate.h"
#include "change/gate_config.h"
#include "change/gate_name.h"

#include "base/path.h"
#include "base/text.h"

#include <string.h>

#define NOT_UNDERSTOOD "git would refuse to read it, so it cannot be judged"
#define OPTION_LIKE "runs outside the sandbox: git submodule that looks like an option or another directory"

/* One setting per string, "name=value" or "name", in order. */
static int remember(void *context, const char *name, const char *value)
{
	struct strs *known = context;
	strs_addf(known, "%s%s%s", name, value ? "=" : "", value ? value : "");
	return known->failed ? -ENOMEM : 0;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_known(const struct strs *known, const char *name, const char *value)
{
	_cleanup_strs_ struct strs one = STRS_INIT;
	return remember(&one, name, value) == 0 && known->n > 0 &&
	       bsearch(&one.v[0], known->v, known->n, sizeof(char *), compare_strings);
}

/* What a text before the run set; nothing when git could not read it. */
static void read_known(const struct buf *text, struct strs *known)
{
	if (gitconfig_read(buf_str(text), text->len, remember, known) < 0)
		strs_done(known);
	strs_sort(known);
}

/* A look at each setting of the text after the run. */
struct look {
	struct gate *g;
	size_t root;
	const char *dir; /* of the file, for places that are relative to it */
	const struct strs *known;
	const char *reason;
};

static bool is_boolean(const char *value)
{
	bool ignored;
	return !value || !*value || text_parse_bool(value, &ignored) == 0;
}

/* "helper::address" starts git-remote-helper, and for ext:: any command. */
static bool is_helper_url(const char *url)
{
	static const char scheme[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
	size_t n = strspn(url, scheme);
	return n > 0 && strncmp(url + n, "::", 2) == 0;
}

/* A control character in an address has been used to split what is sent to credential helpers. */
static bool is_bad_url(const char *url)
{
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return true;
	return url[0] == '-' || is_helper_url(url);
}

static bool leads_outside(const struct look *l, const char *place)
{
	_cleanup_free_ char *path = NULL;
	size_t root;
	return !gate_resolve(l->g, l->root, l->dir, place, &root, &path) || gate_has_symlink(l->g, root, path);
}

static bool is_bad_value(const struct look *l, enum sensitive_value how, const char *value)
{
	switch (how) {
	case SENSITIVE_UNLESS_BOOLEAN:
		return !is_boolean(value);
	case SENSITIVE_UNLESS_WORD:
		return !value || value[strspn(value, GATE_WORD)];
	case SENSITIVE_SHELL:
		return value && value[0] == '!';
	case SENSITIVE_URL:
		return value && is_bad_url(value);
	case SENSITIVE_PLACE:
		return !value || leads_outside(l, value);
	default:
		return true;
	}
}

static bool section_is(const char *name, const char *section)
{
	size_t n = strlen(section);
	return strncmp(name, section, n) == 0 && name[n] == '.';
}

static int look_at_setting(void *context, const char *name, const char *value)
{
	struct look *l = context;
	const char *key = strrchr(name, '.');
	for (const struct sensitive_key *k = sensitive_git_keys; key && k->section; k++) {
		bool is_key = strcmp(k->key, "*") == 0 || strcmp(k->key, key + 1) == 0;
		if (!is_key || !section_is(name, k->section) || !is_bad_value(l, k->value, value))
			continue;
		if (is_known(l->known, name, value))
			continue;
		l->reason = k->reason;
		return 1;
	}
	return 0;
}

static const char *look_through(struct look *l, const struct buf *text, gitconfig_entry look_at)
{
	int rc = gitconfig_read(buf_str(text), text->len, look_at, l);
	return rc < 0 ? NOT_UNDERSTOOD : l->reason;
}

const char *gate_config_reason(struct gate *g, size_t root, const char *dir, const struct buf *text)
{
	static const struct strs nothing = STRS_INIT;
	struct look l = {.g = g, .root = root, .dir = dir, .known = &nothing};
	return look_through(&l, text, look_at_setting);
}

static const char *judge_settings(struct gate *g, const struct change *c, gitconfig_entry look_at)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	_cleanup_strs_ struct strs known = STRS_INIT;
	const char *slash = strrchr(c->path, '/');
	_cleanup_free_ char *dir = strndup(c->path, slash ? (size_t)(slash - c->path) : 0);
	const char *reason = dir ? gate_read_both(g, c, &before, &after) : GATE_UNREADABLE;
	if (reason)
		return reason;
	read_known(&before, &known);
	struct look l = {.g = g, .root = c->root, .dir = dir, .known = &known};
	return look_through(&l, &after, look_at);
}

const char *gate_judge_config(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	return judge_settings(g, c, look_at_setting);
}

/* ── .gitmodules ── */

static bool has_dot_dot(const char *path)
{
	for (const char *p = path; p; p = gate_rest(p))
		if (gate_first_is(p, ".."))
			return true;
	return false;
}

/* The name becomes a directory in .git/modules, the path one in the project. */
static bool is_bad_submodule(const char *name, const char *value)
{
	static const size_t prefix = sizeof "submodule." - 1;
	const char *key = strrchr(name, '.') + 1;
	size_t length = (size_t)(key - name);
	_cleanup_free_ char *module = length > prefix ? strndup(name + prefix, length - prefix - 1) : strdup("");
	if (!module || has_dot_dot(module) || module[0] == '-' || module[0] == '/')
		return true;
	if (strcmp(key, "path") != 0)
		return false;
	return !value || value[0] == '-' || value[0] == '/' || has_dot_dot(value);
}

static int look_at_module(void *context, const char *name, const char *value)
{
	struct look *l = context;
	if (look_at_setting(l, name, value))
		return 1;
	if (!section_is(name, "submodule") || !is_bad_submodule(name, value) || is_known(l->known, name, value))
		return 0;
	l->reason = OPTION_LIKE;
	return 1;
}

const char *gate_judge_modules(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	return judge_settings(g, c, look_at_module);
}
