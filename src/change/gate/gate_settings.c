/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git's configuration and .gitmodules: a file is held for the settings that are new in it, not for being written. `git
 * config user.name` and `git checkout -b` write .git/config all the time.
 *
 * A setting passes when the file had it before, or when it is known to be harmless; all others are held, those that are
 * known to be dangerous with their own reason. A remote's address decides where a push goes, so a new or another one is
 * held; only a repository that the run made together with its work tree (a clone, a submodule) may name where it came from.
 * branch.*.remote may name a remote that is there. */
#include "change/gate/gate.h"
#include "change/gate/gate_config.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "base/text.h"

#include <string.h>

static const struct airlock_reason bad_submodule = {AIRLOCK_REASON_RUNS,
						    "git submodule that looks like an option or another directory"};

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
struct setting_look {
	struct gate *g;
	size_t root;
	const char *dir; /* of the file, for places that are relative to it */
	const struct strs *known;
	bool is_clone;	 /* the run made the repository and its work tree */
	bool is_tracked; /* .gitmodules: what is not known to be dangerous passes */
	const struct airlock_reason *reason;
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

static bool leads_outside(const struct setting_look *l, const char *place)
{
	_cleanup_free_ char *path = NULL;
	size_t root;
	return !gate_resolve(l->g, l->root, l->dir, place, &root, &path) || gate_has_symlink(l->g, root, path);
}

static bool is_bad_value(const struct setting_look *l, enum sensitive_value how, const char *value)
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

/* "section.key" of a name, without a subsection. */
static bool name_is(const char *name, const char *pattern)
{
	const char *dot = strchr(pattern, '.'), *key = strrchr(name, '.');
	size_t n = (size_t)(dot - pattern);
	return strncmp(name, pattern, n + 1) == 0 && (strcmp(dot, ".*") == 0 || strcmp(key, dot) == 0);
}

static bool is_harmless(const char *name)
{
	for (const char *const *k = sensitive_harmless_keys; *k; k++)
		if (name_is(name, *k))
			return true;
	return false;
}

/* The subsection of "remote.<name>.url" is a remote that was there before. */
static bool has_remote(const struct setting_look *l, const char *remote)
{
	_cleanup_buf_ struct buf start = BUF_INIT;
	buf_printf(&start, "remote.%s.url=", remote);
	for (size_t i = 0; !start.failed && i < l->known->n; i++)
		if (strncmp(l->known->v[i], start.data, start.len) == 0)
			return true;
	return false;
}

static bool is_set_before(const struct setting_look *l, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < l->known->n; i++)
		if (strncmp(l->known->v[i], name, n) == 0 && (l->known->v[i][n] == '=' || !l->known->v[i][n]))
			return true;
	return false;
}

/* Those that depend on what else is there. */
static bool is_harmless_here(const struct setting_look *l, const char *name, const char *value)
{
	if (name_is(name, "branch.remote") || name_is(name, "branch.pushremote"))
		return value && (l->is_clone || strcmp(value, ".") == 0 || has_remote(l, value));
	if (name_is(name, "remote.gh-resolved")) /* the repository that gh means; "base" is the remote's own */
		return value && strcmp(value, "base") == 0;
	if (name_is(name, "submodule.url"))
		return l->is_clone || !is_set_before(l, name);
	if (name_is(name, "remote.url") || name_is(name, "remote.promisor") ||
	    name_is(name, "remote.partialclonefilter") || name_is(name, "extensions.partialclone"))
		return l->is_clone;
	return false;
}

/* One with a value that is known to be dangerous, or known to be none. */
static const struct sensitive_key *find_key(const struct setting_look *l, const char *name, const char *value,
					    bool *ret_is_bad)
{
	const struct sensitive_key *found = NULL;
	const char *key = strrchr(name, '.');
	*ret_is_bad = false;
	for (const struct sensitive_key *k = sensitive_git_keys; key && k->section; k++) {
		bool is_key = strcmp(k->key, "*") == 0 || strcmp(k->key, key + 1) == 0;
		if (!is_key || !section_is(name, k->section))
			continue;
		found = k;
		*ret_is_bad = is_bad_value(l, k->value, value);
		if (*ret_is_bad)
			return k;
	}
	return found;
}

static int look_at_setting(void *context, const char *name, const char *value)
{
	struct setting_look *l = context;
	bool is_bad;
	if (is_known(l->known, name, value))
		return 0;
	const struct sensitive_key *k = find_key(l, name, value, &is_bad);
	if (is_bad) {
		l->reason = &k->reason;
		return 1;
	}
	/* An address is never harmless by its form alone. */
	bool is_fine = k && k->value != SENSITIVE_URL;
	if (is_fine || l->is_tracked || is_harmless(name) || is_harmless_here(l, name, value))
		return 0;
	/* A dangerous one behind it is worth more to who reads the reason. */
	if (!l->reason)
		l->reason = gate_keep_reason(
			l->g, &(struct airlock_reason){.code = AIRLOCK_REASON_UNKNOWN_SETTING, .what = name});
	return 0;
}

static const struct airlock_reason *look_through(struct setting_look *l, const struct buf *text,
						 gitconfig_entry look_at)
{
	int rc = gitconfig_read(buf_str(text), text->len, look_at, l);
	return rc < 0 ? change_reason_of(AIRLOCK_REASON_INVALID_SETTINGS) : l->reason;
}

const struct airlock_reason *gate_config_reason(struct gate *g, size_t root, const char *dir, const struct buf *text)
{
	static const struct strs nothing = STRS_INIT;
	struct setting_look l = {.g = g, .root = root, .dir = dir, .known = &nothing};
	return look_through(&l, text, look_at_setting);
}

/* dir: of the configuration. Neither it nor, of a .git, the work tree around it was there before. */
static bool is_clone(struct gate *g, const struct change *c, const char *dir)
{
	const char *slash = strrchr(dir, '/');
	bool is_named = strcmp(path_basename(dir), ".git") == 0;
	_cleanup_free_ char *top = is_named ? strndup(dir, slash ? (size_t)(slash - dir) : 0) : strdup(dir);
	return top && *top && gate_type_before(g, c->root, top) == CHANGE_NOTHING;
}

static const struct airlock_reason *judge_settings(struct gate *g, const struct change *c, gitconfig_entry look_at)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	_cleanup_strs_ struct strs known = STRS_INIT;
	const char *slash = strrchr(c->path, '/');
	_cleanup_free_ char *dir = strndup(c->path, slash ? (size_t)(slash - c->path) : 0);
	if (!dir)
		return change_reason_of(AIRLOCK_REASON_UNREADABLE);
	const struct airlock_reason *reason = gate_read_both(g, c, &before, &after);
	if (reason)
		return reason;
	read_known(&before, &known);
	struct setting_look l = {.g = g,
				 .root = c->root,
				 .dir = dir,
				 .known = &known,
				 .is_clone = is_clone(g, c, dir),
				 .is_tracked = look_at != look_at_setting};
	return look_through(&l, &after, look_at);
}

const struct airlock_reason *gate_judge_config(struct gate *g, const struct change *c,
					       const struct sensitive_rule *rule)
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
	struct setting_look *l = context;
	if (look_at_setting(l, name, value))
		return 1;
	if (!section_is(name, "submodule") || !is_bad_submodule(name, value) || is_known(l->known, name, value))
		return 0;
	l->reason = &bad_submodule;
	return 1;
}

const struct airlock_reason *gate_judge_modules(struct gate *g, const struct change *c,
						const struct sensitive_rule *rule)
{
	return judge_settings(g, c, look_at_module);
}
