/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings/settings.h"

#include "airlock/history.h"
#include "airlock/session.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define TWIN_PREFIX "AIRLOCK_"

struct airlock_settings *airlock_settings_new(void)
{
	return calloc(1, sizeof(struct airlock_settings));
}

void airlock_settings_free(struct airlock_settings *s)
{
	if (!s)
		return;
	strs_done(&s->environ);
	strs_done(&s->argv);
	free(s->command);
	free(s->session);
	free(s->asked_by);
	free(s->recipe);
	for (size_t i = 0; i < s->n_items; i++) {
		free((char *)s->items[i].key);
		free((char *)s->items[i].value);
		free((char *)s->items[i].origin);
	}
	free(s->items);
	free(s);
}

int airlock_settings_set_environ(struct airlock_settings *s, char *const *envp, struct airlock_error *err)
{
	strs_done(&s->environ);
	for (; envp && *envp; envp++)
		strs_add(&s->environ, *envp);
	return s->environ.failed ? base_oom(err) : 0;
}

static const struct airlock_option *find_option(const char *name)
{
	for (const struct airlock_option *o = airlock_options(); o->name; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

static int unknown_option(const char *name, struct airlock_error *err)
{
	const char *names[64];
	size_t n = 0;
	for (const struct airlock_option *o = airlock_options(); o->name && n + 1 < AL_ARRAY_LEN(names); o++)
		names[n++] = o->name;
	names[n] = NULL;
	base_error(err, AIRLOCK_ERR_USAGE, "option", name, "unknown option \"%s\"", name);
	const char *near = text_nearest(name, names);
	if (near)
		base_hint(err, "did you mean \"%s\"?", near);
	return AIRLOCK_ERR_USAGE;
}

static int append(struct airlock_settings *s, const char *key, size_t key_len, const char *value, const char *origin,
		  struct airlock_error *err)
{
	if (!ARRAY_ROOM(s->items, s->n_items, s->cap_items, 16))
		return base_oom(err);
	struct config_setting item = {strndup(key, key_len), strdup(value), strdup(origin)};
	s->items[s->n_items++] = item;
	return item.key && item.value && item.origin ? 0 : base_oom(err);
}

int airlock_settings_set(struct airlock_settings *s, const char *name, const char *value, const char *origin,
			 struct airlock_error *err)
{
	const struct airlock_option *o = find_option(name);
	if (!o)
		return unknown_option(name, err);
	const char *implied = o->implies ? strchr(o->implies, '=') : NULL;
	if (!implied)
		return append(s, name, strlen(name), value, origin, err);
	bool on = true;
	if (text_parse_bool(value, &on) < 0)
		return base_error(err, AIRLOCK_ERR_USAGE, "option", origin, "%s must be true or false, not \"%s\"",
				  origin, value);
	return on ? append(s, o->implies, (size_t)(implied - o->implies), implied + 1, origin, err) : 0;
}

int airlock_settings_set_argv(struct airlock_settings *s, const char *const *argv, struct airlock_error *err)
{
	strs_done(&s->argv);
	base_freep(&s->command);
	for (; argv && *argv; argv++)
		strs_add(&s->argv, *argv);
	return s->argv.failed ? base_oom(err) : 0;
}

int airlock_settings_set_command(struct airlock_settings *s, const char *command, struct airlock_error *err)
{
	strs_done(&s->argv);
	free(s->command);
	s->command = strdup(command);
	return s->command ? 0 : base_oom(err);
}

int airlock_settings_set_session(struct airlock_settings *s, const char *name, struct airlock_error *err)
{
	free(s->session);
	s->session = strdup(name);
	return s->session ? 0 : base_oom(err);
}

int airlock_settings_set_asked_by(struct airlock_settings *s, const char *who, struct airlock_error *err)
{
	free(s->asked_by);
	s->asked_by = strdup(who);
	return s->asked_by ? 0 : base_oom(err);
}

void airlock_settings_use_prestart(struct airlock_settings *s, struct airlock_prestart *p)
{
	s->prestart = p;
}

void airlock_settings_explain_by_default(struct airlock_settings *s)
{
	s->for_model = true;
}

const char *settings_getenv(const struct airlock_settings *s, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < s->environ.n; i++)
		if (strncmp(s->environ.v[i], name, len) == 0 && s->environ.v[i][len] == '=')
			return s->environ.v[i] + len + 1;
	return NULL;
}

/* ── Twins ── */

/* "working-dir" → "AIRLOCK_WORKING_DIR", kept in words. */
static const char *twin_name(const char *option, struct strs *words)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, TWIN_PREFIX);
	for (; *option; option++)
		buf_addc(&b, *option == '-' ? '_' : (char)toupper((unsigned char)*option));
	strs_take(words, buf_take(&b));
	return words->failed ? NULL : words->v[words->n - 1];
}

static int view_add(struct settings_view *v, const char *key, const char *value, const char *origin)
{
	struct config_setting *items = realloc(v->items, (v->n + 1) * sizeof *items);
	if (!items)
		return -ENOMEM;
	v->items = items;
	v->items[v->n++] = (struct config_setting){key, value, origin};
	return 0;
}

static int add_twin_list(struct settings_view *v, const struct airlock_option *o, const char *value, const char *origin)
{
	const char *separators = strcmp(o->name, "env") == 0 || strcmp(o->name, "bind-ro") == 0 ? "\n" : ":";
	while (*value) {
		size_t n = strcspn(value, separators);
		if (n > 0) {
			strs_addn(&v->words, value, n);
			if (v->words.failed || view_add(v, o->name, v->words.v[v->words.n - 1], origin) < 0)
				return -ENOMEM;
		}
		value += n + (value[n] != '\0');
	}
	return 0;
}

static int add_twin(struct settings_view *v, const struct airlock_option *o, const char *value, const char *origin)
{
	if (o->kind == AIRLOCK_OPTION_LIST)
		return add_twin_list(v, o, value, origin);
	if (!o->implies)
		return view_add(v, o->name, value, origin);
	bool on = false;
	if (text_parse_bool(value, &on) < 0)
		return -EINVAL;
	const char *equals = strchr(o->implies, '=');
	strs_addn(&v->words, o->implies, (size_t)(equals - o->implies));
	return !on ? 0 : v->words.failed ? -ENOMEM : view_add(v, v->words.v[v->words.n - 1], equals + 1, origin);
}

static int add_twins(const struct airlock_settings *s, struct settings_view *v, struct airlock_error *err)
{
	for (const struct airlock_option *o = airlock_options(); o->name; o++) {
		const char *origin = twin_name(o->name, &v->words);
		const char *value = origin ? settings_getenv(s, origin) : NULL;
		if (!value || !*value)
			continue;
		int rc = add_twin(v, o, value, origin);
		if (rc == -EINVAL)
			return base_error(err, AIRLOCK_ERR_USAGE, "option", origin,
					  "%s must be true or false, not \"%s\"", origin, value);
		if (rc < 0)
			return base_oom(err);
	}
	return v->words.failed ? base_oom(err) : 0;
}

int settings_view(const struct airlock_settings *s, struct settings_view *ret, struct airlock_error *err)
{
	*ret = (struct settings_view){0};
	int rc = add_twins(s, ret, err);
	for (size_t i = 0; rc == 0 && i < s->n_items; i++)
		if (view_add(ret, s->items[i].key, s->items[i].value, s->items[i].origin) < 0)
			rc = base_oom(err);
	if (rc < 0)
		settings_view_done(ret);
	return rc;
}

void settings_view_done(struct settings_view *v)
{
	free(v->items);
	strs_done(&v->words);
	*v = (struct settings_view){0};
}

static const struct config_setting *last(const struct settings_view *v, const char *key)
{
	for (size_t i = v->n; i > 0; i--)
		if (strcmp(v->items[i - 1].key, key) == 0)
			return &v->items[i - 1];
	return NULL;
}

const char *settings_get(const struct settings_view *v, const char *key)
{
	const struct config_setting *item = last(v, key);
	return item ? item->value : NULL;
}

int settings_get_flag(const struct settings_view *v, const char *key, bool *ret, struct airlock_error *err)
{
	const struct config_setting *item = last(v, key);
	*ret = false;
	if (item && text_parse_bool(item->value, ret) < 0)
		return base_error(err, AIRLOCK_ERR_USAGE, "option", item->origin,
				  "%s must be true or false, not \"%s\"", item->origin, item->value);
	return 0;
}

const char *airlock_settings_session(const struct airlock_settings *s)
{
	for (size_t i = s->n_items; i > 0; i--)
		if (strcmp(s->items[i - 1].key, "session") == 0)
			return *s->items[i - 1].value ? s->items[i - 1].value : NULL;
	const char *named = settings_getenv(s, "AIRLOCK_SESSION");
	return named && *named ? named : NULL;
}
