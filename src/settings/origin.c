/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings/origin.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

#define WHO_MAX 200

/* The marks of the environment and the options. word: the last one that is more than a yes, or NULL. */
static int read_marks(const struct settings_view *v, bool *ret_marked, const char **ret_word, struct airlock_error *err)
{
	*ret_marked = false;
	*ret_word = NULL;
	for (size_t i = 0; i < v->n; i++) {
		const struct config_setting *item = &v->items[i];
		bool on = true;
		if (strcmp(item->key, "agent") != 0)
			continue;
		if (!*item->value || strlen(item->value) > WHO_MAX)
			return base_error(err, AIRLOCK_ERR_USAGE, "option", item->origin,
					  "%s: expected a name of 1 to %d bytes, or true", item->origin, WHO_MAX);
		bool is_word = text_parse_bool(item->value, &on) < 0;
		if (is_word)
			*ret_word = item->value;
		*ret_marked |= is_word || on;
	}
	return 0;
}

int origin_decide(const struct airlock_settings *s, const struct settings_view *v, struct origin *ret,
		  struct airlock_error *err)
{
	bool marked = false;
	const char *word = NULL;
	int rc = read_marks(v, &marked, &word, err);
	if (rc < 0)
		return rc;
	const char *who = s->asked_by ? s->asked_by : "library";
	if (marked)
		who = word ? word : "agent";
	*ret = (struct origin){.kind = marked ? ORIGIN_AGENT : ORIGIN_PERSON, .who = strdup(who)};
	return ret->who ? 0 : base_oom(err);
}

void origin_done(struct origin *o)
{
	base_freep(&o->who);
}

void origin_redact(const struct origin *o, struct airlock_error *err)
{
	if (o->kind != ORIGIN_AGENT || !err)
		return;
	/* The hint tells a person how to make an unclaimed directory a project. */
	bool is_about_project = err->code == AIRLOCK_ERR_INVALID && strcmp(err->op, "project") == 0;
	if (err->code == AIRLOCK_ERR_DENIED || err->code == AIRLOCK_ERR_BLOCKED || is_about_project)
		err->hint[0] = '\0';
}

int airlock_settings_is_agent(const struct airlock_settings *s)
{
	struct settings_view v;
	const char *word = NULL;
	bool marked = true; /* an unreadable mark never counts as "a person" */
	if (settings_view(s, &v, NULL) < 0)
		return marked;
	if (read_marks(&v, &marked, &word, NULL) < 0)
		marked = true;
	settings_view_done(&v);
	return marked;
}
