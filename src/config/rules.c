/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/rules.h"

#include "base/path.h"

#include <string.h>

/* Characters that mean nothing special to any shell, wherever they are in a word. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-"
#define BLANK " \t"

/* Accepts only a command line that the shell splits into words exactly as we do. We do not guess about quotes,
 * variables or a second command: a wrong guess would give one command the settings of another. So rules are a
 * convenience for plain commands, not a protection: what must always hold belongs in the profile. */
static void split_plain(const char *line, struct strs *ret)
{
	if (line[strspn(line, PLAIN BLANK)] != '\0')
		return;
	for (const char *p = line + strspn(line, BLANK); *p; p += strspn(p, BLANK)) {
		size_t len = strcspn(p, BLANK);
		/* NAME=VALUE before the command is an assignment, not the program. */
		if (ret->n == 0 && memchr(p, '=', len))
			return;
		strs_addn(ret, p, len);
		p += len;
	}
}

int rules_command_words(const struct config_inputs *in, struct strs *ret, struct airlock_error *err)
{
	for (size_t i = 0; in->argv && in->argv[i]; i++)
		strs_add(ret, in->argv[i]);
	if (!in->argv && in->shell_command)
		split_plain(in->shell_command, ret);
	return ret->failed ? base_oom(err) : 0;
}

bool rules_match(const struct toml_value *match, const struct strs *words)
{
	if (words->n < match->u.array.n)
		return false;
	for (size_t i = 0; i < match->u.array.n; i++) {
		const char *want = match->u.array.items[i]->u.string.s;
		bool same = strcmp(want, words->v[i]) == 0;
		if (!same && !(i == 0 && strcmp(want, path_basename(words->v[i])) == 0))
			return false;
	}
	return true;
}
