/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diff_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "pager.h"

/* The library escapes content only together with colours; then every escape sequence in the text is one of its
 * colours. */
static void remove_colours(char *text)
{
	char *out = text;
	for (const char *p = text; *p;) {
		if (*p == '\033') {
			p += strcspn(p, "m");
			p += *p == 'm';
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
}

/* Where commands of this run could write. The changes own the strings. */
static const char **roots_of(const struct airlock_changes *changes)
{
	size_t n = airlock_changes_count(changes);
	const char **roots = calloc(n + 1, sizeof *roots);
	for (size_t i = 0; roots && i < n; i++)
		roots[i] = airlock_changes_at(changes, i)->root;
	return roots;
}

static int page(char *text, const struct airlock_changes *changes, int fd, struct airlock_error *err)
{
	const char **roots = roots_of(changes);
	if (!roots)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (!output_has_colour(fd))
		remove_colours(text);
	pager_show(text, fd, roots);
	free(roots);
	return 0;
}

int diff_show(const struct airlock_settings *s, const struct airlock_changes *changes, const char *const *paths, int fd,
	      struct airlock_error *err)
{
	char *text = NULL;
	bool is_terminal = isatty(fd);
	int rc = airlock_changes_diff(s, airlock_changes_run(changes), paths, is_terminal, &text, err);
	if (rc >= 0 && is_terminal)
		rc = page(text, changes, fd, err);
	else if (rc >= 0)
		(void)fputs(text, stdout);
	airlock_free(text);
	return rc;
}
