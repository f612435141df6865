/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change_list.h"

#include <stdio.h>
#include <string.h>

size_t change_list_count(const struct airlock_changes *c, enum airlock_change_state state)
{
	size_t n = 0;
	for (size_t i = 0; i < airlock_changes_count(c); i++)
		n += airlock_changes_at(c, i)->state == state;
	return n;
}

struct change_count change_count(size_t n)
{
	struct change_count c;
	(void)snprintf(c.text, sizeof c.text, n == 1 ? "%zu change" : "%zu changes", n);
	return c;
}

struct change_summary change_list_summary(const struct airlock_changes *c)
{
	static const struct {
		enum airlock_change_state state;
		const char *word;
	} words[] = {{AIRLOCK_CHANGE_APPLIED, "applied"},
		     {AIRLOCK_CHANGE_HELD, "held"},
		     {AIRLOCK_CHANGE_CONFLICT, "in conflict"},
		     {AIRLOCK_CHANGE_SKIPPED, "skipped"},
		     {AIRLOCK_CHANGE_DISCARDED, "discarded"}};
	struct change_summary s = {""};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = change_list_count(c, words[i].state), len = strlen(s.text);
		if (n > 0)
			(void)snprintf(s.text + len, sizeof s.text - len, "%s%zu %s", len ? ", " : "", n,
				       words[i].word);
	}
	return s;
}
