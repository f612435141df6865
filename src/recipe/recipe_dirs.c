/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that a person adds to an agent, by the agent's own option. A recipe writes the option as usage messages do:
 * "--add-dir DIR", "--add-dir DIR..." (several words), "--include DIR,..." (one word, with commas). */
#include "recipe/recipe.h"

#include <string.h>

enum dir_form { DIR_ONE, DIR_WORDS, DIR_COMMAS };

static const char *const forms[] = {[DIR_ONE] = " DIR", [DIR_WORDS] = " DIR...", [DIR_COMMAS] = " DIR,..."};

/* -1: it is none of the three forms. */
static int form_of(const char *text, size_t *ret_len)
{
	size_t len = strcspn(text, " ");
	if (text[0] != '-' || len < 2)
		return -1;
	for (size_t i = 0; i < AL_ARRAY_LEN(forms); i++)
		if (strcmp(text + len, forms[i]) == 0) {
			*ret_len = len;
			return (int)i;
		}
	return -1;
}

bool recipe_is_dir_option(const char *text)
{
	size_t len;
	return form_of(text, &len) >= 0;
}

static void take_value(const char *value, enum dir_form form, struct strs *ret)
{
	for (const char *p = value; *p;) {
		size_t len = form == DIR_COMMAS ? strcspn(p, ",") : strlen(p);
		if (len > 0)
			strs_take(ret, strndup(p, len));
		p += len + (p[len] == ',');
	}
}

int recipe_added_dirs(const struct recipe *r, const struct strs *argv, struct strs *ret, struct airlock_error *err)
{
	size_t len = 0;
	int form = r->add_dir ? form_of(r->add_dir, &len) : -1;
	for (size_t i = 0; form >= 0 && i < argv->n && strcmp(argv->v[i], "--") != 0; i++) {
		const char *word = argv->v[i];
		if (strncmp(word, r->add_dir, len) != 0)
			continue;
		if (word[len] == '=')
			take_value(word + len + 1, (enum dir_form)form, ret);
		else if (!word[len])
			for (size_t k = 1; i + k < argv->n && argv->v[i + k][0] != '-' && (k == 1 || form == DIR_WORDS);
			     k++)
				take_value(argv->v[i + k], (enum dir_form)form, ret);
	}
	return ret->failed ? base_oom(err) : 0;
}

/* With "=", because the word after an option of several words would be one of them. */
void recipe_add_dir(const struct recipe *r, const char *dir, struct strs *argv)
{
	size_t len = 0;
	if (r->add_dir && form_of(r->add_dir, &len) >= 0)
		strs_addf(argv, "%.*s=%s", (int)len, r->add_dir, dir);
}
